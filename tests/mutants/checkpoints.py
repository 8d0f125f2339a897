"""Checkpoints and resuming: what is not kept, not restored, renamed, shared, or taken though it is damaged."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

GOES_ON = "unit/test_trainer.py::test_a_run_that_stopped_goes_on_to_the_bit"
NAMES = "unit/test_trainer.py::test_the_state_names_every_tensor_that_matters"
SESSION = "unit/running/test_session.py::test_a_run_that_stopped_goes_on_to_the_bit"
STATE = "state_survives"
RUNS = "none: it goes on, and the loss falls"
WHOLE = "none: without a crash every file is whole"


def trainer(old: str, new: str) -> tuple[Patch]:
    """A change in the file of the run's state."""
    return (Patch("model.trainer", old, new),)


def session(old: str, new: str) -> tuple[Patch]:
    """A change in the file of a run in its folder."""
    return (Patch("model.session", old, new),)


def file(old: str, new: str) -> tuple[Patch]:
    """A change in how a file is written and read."""
    return (Patch("model.tensorfile", old, new),)


MUTANTS = (
    Mutant(
        "names keep the prefix of a compiled model",
        ("R01",), ("karpathy/nanoGPT#325",), (Patch("model.weights", 'if part != COMPILED', "if part"),),
        "unit/test_checkpoint.py::test_a_compiled_models_names_are_the_bare_ones", STATE,
    ),
    Mutant(
        "weights are stored under a wrapper's names",
        ("R01",), ("mlfoundations/open_clip#639",),
        trainer(
            '{f"model.{name}": tensor for name, tensor in self.model',
            '{f"model._orig_mod.{name}": tensor for name, tensor in self.model',
        ),
        NAMES, STATE,
    ),
    Mutant(
        "the optimizer's state is not stored",
        ("R06",), ("r9y9/wavenet_vocoder#132",), trainer("in self.optimizer.state.items():", "in ():"),
        NAMES, STATE,
    ),
    Mutant(
        "the optimizer's state is not restored",
        ("R06",), ("NVlabs/stylegan2-ada-pytorch#108",),
        trainer(
            "for name, parameter in self.model.named_parameters():\n            if moments",
            "for name, parameter in ():\n            if moments",
        ),
        GOES_ON, RUNS,
    ),
    Mutant(
        "bias corrections start again on a resume",
        ("R06",), ("huggingface/transformers#33336",),
        trainer('x.clone() if key == "step"', 'x * 0 if key == "step"'),
        GOES_ON, RUNS,
    ),
    Mutant(
        "the data begin again on a resume",
        ("R05",), ("paiml/entrenar#294",),
        trainer(
            'self.generator.set_state(tensors["random.data"])',
            "self.generator.manual_seed(self.generator.initial_seed())",
        ),
        GOES_ON, RUNS,
    ),
    Mutant(
        "the place in the data is not restored",
        ("R05",), ("karpathy/build-nanogpt#83",),
        trainer('self.generator.set_state(tensors["random.data"])', "pass"),
        GOES_ON, RUNS,
    ),
    Mutant(
        "dropout draws from elsewhere after a resume",
        ("R07",), ("allenai/allennlp#5220",), trainer('torch.set_rng_state(tensors["random.dropout"])', "pass"),
        GOES_ON, RUNS,
    ),
    Mutant(
        "a resume counts its updates from 0",
        ("L04",), ("stanford-oval/genienlp#69",), trainer("self.step = step\n", "self.step = min(step, 0)\n"),
        GOES_ON, RUNS,
    ),
    Mutant(
        "a run goes on in the tensors of its checkpoint",
        (), (), trainer("x.to(parameter.device, copy=True)", "x.to(parameter.device)"),
        "unit/test_trainer.py::test_restoring_does_not_share_memory_with_the_checkpoint", RUNS,
    ),
    Mutant(
        "the recipe of the checkpoint does not come with it",
        ("R08",), ("ReaLLMASIC/ReaLLM-Forge#240",),
        session("cls(recipe, folder", 'cls(Recipe.from_dict({**recipe.to_dict(), "seed": 0}), folder'),
        "unit/running/test_session.py::test_the_recipe_comes_with_the_checkpoint", RUNS,
    ),
    Mutant(
        "text is written by another model than was trained",
        ("R08",), ("ReaLLMASIC/ReaLLM-Forge#240",),
        (
            Patch(
                "model.stored",
                'built(ModelConfig.from_dict(_fact(path, told, "model", dict)), weights)',
                'built(ModelConfig.from_dict({**told["model"], "attention": {**told["model"]["attention"], '
                '"n_heads": 1}}), weights)',
            ),
        ),
        "unit/running/test_commands.py::test_generates_what_the_trained_model_says",
        "none: it writes ids of the vocabulary",
    ),
    Mutant(
        "the checkpoint counts an update too many",
        ("L04",), ("stanford-oval/genienlp#69",),
        session('"step": step, "alphabet"', '"step": step + 1, "alphabet"'),
        SESSION, RUNS,
    ),
    Mutant(
        "a damaged checkpoint is taken",
        (), (), (Patch("model.checkpoint", "if digest != _digest(tensors, about) or", "if not digest or"),),
        "unit/test_checkpoint.py::test_any_flipped_byte_is_refused", WHOLE,
    ),
    Mutant(
        "a checkpoint has its name before it is on the disk",
        (), (), file("            os.fsync(file.fileno())\n", ""),
        "unit/test_tensorfile.py::test_all_is_on_the_disk_before_it_has_its_name", WHOLE,
    ),
    Mutant(
        "a checkpoint is written over the last one",
        (), (),
        file(
            "            file.write(content)\n",
            "            path.write_bytes(content)\n            file.write(content)\n",
        ),
        "unit/test_tensorfile.py::test_a_failed_write_leaves_all_as_it_was", WHOLE,
    ),
    Mutant(
        "a tie is lost where tensors are assigned",
        ("I02", "I04"), ("pytorch/pytorch#188346", "facebookresearch/lingua#74"),
        (
            Patch(
                "model.weights",
                "        for name, kept in ties.items():\n            _tie",
                "        for name, kept in ():\n            _tie",
            ),
        ),
        "unit/test_weights.py::test_a_tie_survives", STATE,
    ),
    Mutant(
        "a second name of a tensor is stored as another tensor",
        ("I05",), ("huggingface/transformers#13030",),
        (
            Patch(
                "model.checkpoint",
                "same = aliases(named)",
                "same, named = {}, {name: tensor.clone() for name, tensor in named.items()}",
            ),
        ),
        "unit/test_checkpoint.py::test_a_tensor_with_two_names_keeps_both", STATE,
    ),
    Mutant(
        "weights that are lacking stay random",
        ("R02",), ("FareedKhan-dev/train-llm-from-scratch#36",),
        (
            Patch(
                "model.weights",
                "    refuse_misfit(own, given)\n"
                "    module.load_state_dict({name: given[bare(name)] for name in module.state_dict()}, "
                "assign=assign)",
                "    module.load_state_dict({name: given[bare(name)] for name in module.state_dict() if "
                "bare(name) in given}, assign=assign, strict=False)",
            ),
        ),
        "unit/test_weights.py::test_what_does_not_fit_is_named_and_nothing_changes", STATE,
    ),
    Mutant(
        "a second Ctrl-C is only a wish as well",
        (), (), (Patch("model.interruption", "if self.asked:", "if self.asked and number < 0:"),),
        "unit/running/test_session.py::test_ctrl_c_twice_stops_at_once", RUNS,
    ),
    Mutant(
        "Ctrl-C is not heard",
        (), (), session(" and not interruption.asked", ""),
        "unit/running/test_session.py::test_ctrl_c_ends_the_update_and_keeps_it", RUNS,
    ),
    Mutant(
        "Ctrl-C stays caught when the run has ended",
        (), (), (Patch("model.interruption", "            signal.signal(each, handler)", "            pass"),),
        "unit/running/test_session.py::test_ctrl_c_ends_the_update_and_keeps_it", RUNS,
    ),
    Mutant(
        "an interrupted command says that it is done",
        (), (), (Patch("model.commands", "        return INTERRUPTED", "        return 0"),),
        "unit/running/test_commands.py::test_an_interrupted_run_says_how_to_go_on", RUNS,
    ),
    Mutant(
        "a new run is put over an old one",
        (), (), (Patch("model.commands", "if (folder / CHECKPOINT).exists():", "if not folder.name:"),),
        "unit/running/test_bad_input.py::test_a_folder_that_holds_a_run", RUNS,
    ),
)  # fmt: skip
