"""Every ablation: its spec, and the view that turns its records into a figure and a table."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from matplotlib.figure import Figure

from blockproof.ablations.frame import Frame
from blockproof.ablations.record import Record
from blockproof.ablations.spec import Spec
from blockproof.ablations.specs import gallery, norm_placement, position, residual, swap, training
from blockproof.ablations.views import gallery as gallery_view
from blockproof.ablations.views import norm_placement as norm_placement_view
from blockproof.ablations.views import position as position_view
from blockproof.ablations.views import residual as residual_view
from blockproof.ablations.views import swap as swap_view
from blockproof.ablations.views import training as training_view
from blockproof.model.schema import ConfigError, hint


class View(Protocol):
    """What a module in ``views`` offers."""

    def frames(self, records: Sequence[Record]) -> dict[str, Frame]:
        """The data behind table and figure."""

    def table(self, frames: dict[str, Frame]) -> Frame:
        """The numbers, one row a variant."""

    def figure(self, frames: dict[str, Frame]) -> Figure:
        """The picture."""


class Ablation(NamedTuple):
    """A question, and how its answer is shown."""

    spec: Spec
    view: View


ABLATIONS: dict[str, Ablation] = {
    "residual": Ablation(residual.SPEC, residual_view),
    "norm_placement": Ablation(norm_placement.SPEC, norm_placement_view),
    "position": Ablation(position.SPEC, position_view),
    "swap": Ablation(swap.SPEC, swap_view),
    "gallery": Ablation(gallery.SPEC, gallery_view),
    "training": Ablation(training.SPEC, training_view),
}


def ablation(name: str) -> Ablation:
    """The ablation of that name.

    Raises:
        ConfigError: if there is none.
    """
    if name not in ABLATIONS:
        raise ConfigError(f"there is no ablation {name!r}{hint(name, ABLATIONS)}")
    return ABLATIONS[name]
