"""Verdicts by ablation: functions from an ablation's frames to what they say about its claims."""

from collections.abc import Callable

from blockproof.ablations.frame import Frame
from blockproof.report.verdict import Verdict
from blockproof.report.verdicts import gallery, norm_placement, position, residual, swap, training

VERDICTS: dict[str, Callable[[dict[str, Frame]], list[Verdict]]] = {
    "residual": residual.verdicts,
    "norm_placement": norm_placement.verdicts,
    "position": position.verdicts,
    "swap": swap.verdicts,
    "gallery": gallery.verdicts,
    "training": training.verdicts,
}
