"""A training run, update by update, with all that decides how it goes on."""

from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from blockproof.model import labels
from blockproof.model.history import TrainingPoint
from blockproof.model.labels import IGNORE, Batch
from blockproof.model.optimizer import make_optimizer
from blockproof.model.schedule import learning_rate
from blockproof.model.source import Source
from blockproof.model.train_config import TrainConfig
from blockproof.model.transformer import Transformer
from blockproof.model.weights import bare, bare_names, below, load_weights, refuse_misfit


class Trainer:
    """Trains a model in place; ``state`` and ``restore`` make a run that stopped go on to the bit.

    ``data_seed`` alone decides which batches are seen, in which order; dropout draws from torch's
    global state.

    Attributes:
        step: updates that are done.
        batch: the latest one.
    """

    def __init__(self, model: Transformer, source: Source, config: TrainConfig, data_seed: int) -> None:
        self.model, self.source, self.config = model, source, config
        self.optimizer = make_optimizer(model, config)
        self.generator = Generator().manual_seed(data_seed)
        self.step = 0
        self.batch: Batch | None = None
        model.train()

    def backward(self) -> TrainingPoint:
        """Draw a batch and leave its fresh gradients in the model."""
        drawn = self.source.batch(self.config.batch_size, self.generator)
        device = self.model.token.weight.device
        self.batch = Batch(*(ids.to(device) for ids in drawn))
        return backward(self.model, self.batch, self.step, self.config)

    def update(self, point: TrainingPoint) -> None:
        """Take the step that the gradients ask for."""
        update(self.model, self.optimizer, point, self.config)
        self.step += 1

    def state(self) -> dict[str, Tensor]:
        """Weights, moments and random states, by name; with ``step``, all that the rest of a run depends on."""
        names: dict[Tensor, str] = {tensor: name for name, tensor in self.model.named_parameters()}
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for parameter, moments in self.optimizer.state.items():
            tensors |= {f"optimizer.{names[parameter]}.{key}": tensor for key, tensor in moments.items()}
        tensors["random.data"] = self.generator.get_state()
        tensors["random.dropout"] = torch.get_rng_state()
        if (device := self.model.token.weight.device).type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(device)
        return tensors

    def restore(self, tensors: dict[str, Tensor], step: int) -> None:
        """Go on from what ``state`` gave when ``step`` updates were done.

        Raises:
            CheckpointError: if a tensor is missing, left over or of another shape; nothing is changed then.
        """
        tensors = bare_names(tensors)
        refuse_misfit(self._wanted(step), {name: x for name, x in tensors.items() if name != "random.cuda"})
        self.step = step
        load_weights(self.model, below("model.", tensors))
        self.optimizer.state.clear()
        for name, parameter in self.model.named_parameters():
            if moments := below(f"optimizer.{bare(name)}.", tensors):
                self.optimizer.state[parameter] = _beside(parameter, moments)
        self.generator.set_state(tensors["random.data"])
        torch.set_rng_state(tensors["random.dropout"])
        if "random.cuda" in tensors and (device := self.model.token.weight.device).type == "cuda":
            torch.cuda.set_rng_state(tensors["random.cuda"], device)

    def _wanted(self, step: int) -> dict[str, Tensor]:
        """Tensors of the names and shapes that a state has after ``step`` updates."""
        found = {f"model.{bare(name)}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.model.named_parameters() if step else ():
            shapes = {"step": torch.zeros(()), "exp_avg": parameter, "exp_avg_sq": parameter}
            found |= {f"optimizer.{bare(name)}.{key}": tensor for key, tensor in shapes.items()}
        return found | {"random.data": self.generator.get_state(), "random.dropout": torch.get_rng_state()}


def backward(model: nn.Module, batch: Batch, step: int, config: TrainConfig) -> TrainingPoint:
    """Leave fresh gradients of the batch's mean loss in the model.

    With ``micro_batch``, a few windows at a time; every target weighs alike, in whichever part it stands,
    so that the gradients are those of the whole batch at once, to rounding.
    """
    model.zero_grad(set_to_none=True)
    asked = (batch.targets != IGNORE).sum().clamp(min=1)
    size = config.micro_batch or len(batch.inputs)
    total = 0.0
    for inputs, targets in zip(batch.inputs.split(size), batch.targets.split(size), strict=True):
        loss = labels.cross_entropy(model(inputs), targets, reduction="sum") / asked
        loss.backward()
        total += loss.item()
    lr = learning_rate(step, lr=config.lr, steps=config.steps, warmup=config.warmup, schedule=config.schedule)
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return TrainingPoint(step, total, lr, nn.utils.get_total_norm(gradients).item())


def update(model: nn.Module, optimizer: Optimizer, point: TrainingPoint, config: TrainConfig) -> None:
    """Clip the gradients to ``clip``, once they are all there, and take one step at the point's rate."""
    for group in optimizer.param_groups:
        group["lr"] = point.lr
    norm = torch.tensor(point.grad_norm)
    nn.utils.clip_grads_with_norm_(model.parameters(), config.clip, norm)
    optimizer.step()


def _beside(parameter: Tensor, moments: dict[str, Tensor]) -> dict[str, Any]:
    """Moments where the parameter is; AdamW keeps its count of steps on the CPU."""
    return {
        key: x.clone() if key == "step" else x.to(parameter.device, copy=True) for key, x in moments.items()
    }
