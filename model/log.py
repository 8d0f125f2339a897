"""What a training run tells while it runs: a bar on the terminal, JSON lines on disk, TensorBoard if wanted."""

import json
import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from blockproof.model.nested import leaves
from blockproof.model.schema import ConfigError

Point = Mapping[str, Any]


class Log(AbstractContextManager["Log"]):
    """Takes points, each a mapping with ``step``; a run that goes on adds to what is there.

    Points of the file that stand behind ``step`` were never reached by the checkpoint: they are left out.
    """

    def __init__(self, folder: Path, *, step: int, steps: int, tensorboard: bool = False) -> None:
        self.board = _board(folder) if tensorboard else None  # first: it may not be installed
        self.file = folder / "log.jsonl"
        kept = [point for point in read_log(self.file) if point["step"] < step] if step else []
        fresh = self.file.with_suffix(".new")  # the old lines stay until the kept ones are all there
        fresh.write_text("".join(f"{line(point)}\n" for point in kept), encoding="utf-8")
        fresh.replace(self.file)
        self.lines = self.file.open("a", encoding="utf-8", buffering=1)  # a line is on disk when it is done
        self.bar = tqdm(total=steps, initial=step, unit="update", dynamic_ncols=True, disable=None)

    def write(self, point: Point) -> None:
        """Keep a point."""
        self.lines.write(f"{line(point)}\n")
        if self.board is not None:
            for name, value in leaves(point, "/").items():
                if isinstance(value, int | float) and name != "step":
                    self.board.add_scalar(name, value, point["step"])

    def show(self, point: Point) -> None:
        """Put a point's numbers beside the bar."""
        self.bar.set_postfix({name: f"{value:.3g}" for name, value in point.items() if name != "step"})

    def advance(self) -> None:
        """Move the bar by an update."""
        self.bar.update()

    def tell(self, sentence: str) -> None:
        """A line above the bar."""
        self.bar.write(sentence)

    def __exit__(self, *exception: object) -> None:
        self.bar.close()
        self.lines.close()
        if self.board is not None:
            self.board.close()


def line(point: Point) -> str:
    """A point as strict JSON; a number that is not finite has no place there and becomes null."""
    return json.dumps(_finite(point), allow_nan=False)


def read_log(file: Path) -> list[dict[str, Any]]:
    """The points of a log; a last line that was cut off when the run was killed is left out."""
    points = []
    for text in file.read_text("utf-8").splitlines() if file.exists() else []:
        try:
            points.append(json.loads(text))
        except json.JSONDecodeError:
            break
    return points


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 (an option, rarely installed)
    except ImportError as error:
        raise ConfigError("--tensorboard needs the package: pip install tensorboard") from error
    return SummaryWriter(str(folder / "tensorboard"))
