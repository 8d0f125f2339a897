"""Every usual protocol is found, and gives the logits and the loss that the model means."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.tests.checks.labels import next_token_loss
from blockproof.tests.helpers import copies, same
from blockproof.tests.seam.load import SeamError
from blockproof.tests.seam.protocol import BEFORE, INSIDE
from blockproof.tests.seam.subject import ASSUMED, Judged, Subject, subject
from blockproof.tests.unit.seam.styles import CONTEXT, STYLES, Bare, EncoderDecoder, NanoStyle, V

CONVENTIONS = {
    "bare": (None, BEFORE, -100, False),
    "nanoGPT": ("targets", BEFORE, -1, True),
    "lecture": ("targets", BEFORE, -100, False),
    "hub": ("labels", INSIDE, -100, False),
    "dict": ("labels", INSIDE, -100, False),
    "encoder": (None, BEFORE, -100, False),
}
every = pytest.mark.parametrize("style", STYLES)


def of(style: str, **given: Any) -> Subject:
    return subject(style, STYLES[style], **given)


@every
def test_protocol_is_found(style: str) -> None:
    found = of(style).protocol
    assert (found.label, found.shift, found.ignore, found.last_only) == CONVENTIONS[style]
    assert (found.mask, found.places) == (style == "hub", False)


@every
def test_logits_are_of_every_place(style: str) -> None:
    judged, ids = of(style).build(), torch.randint(V, (3, 5))
    inner = judged.inner
    expected = inner.net(ids) if isinstance(inner, Bare) else inner(ids)
    assert torch.equal(judged(ids), expected)
    assert judged(ids).shape == (3, 5, V)


@every
@pytest.mark.parametrize("ignored", [False, True])
def test_loss_is_of_the_next_token(style: str, ignored: bool) -> None:
    judged, tokens = of(style).build(), torch.randint(V, (3, 7))
    out = torch.zeros(3, 6, dtype=torch.bool)
    if ignored and judged.protocol.label:
        out[0, :4] = out[2, 3] = True
    losses = -judged.scored(tokens).log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    assert judged.loss(tokens, out).item() == pytest.approx(losses[~out].mean().item(), rel=1e-5)
    if not ignored:
        assert judged.loss(tokens).item() == pytest.approx(next_token_loss(judged, tokens).item(), rel=1e-5)


@every
def test_sizes_are_found(style: str) -> None:
    found = of(style)
    assert found.vocab_size == V
    assert found.context == (ASSUMED if style == "encoder" else CONTEXT)
    assert len(found.remarks) == (style == "encoder")


def test_what_is_given_goes_first() -> None:
    found = of("hub", vocab_size=9, context=6, label_shift=BEFORE, ignore_index=-7)
    assert (found.vocab_size, found.context, found.protocol.shift, found.protocol.ignore) == (
        9,
        6,
        BEFORE,
        -7,
    )
    assert int(found.ids(50, 99).max()) == 8
    assert found.ids(50, 99).shape == (50, 6)


def test_a_vocabulary_that_is_padded_in_the_head_is_that_of_the_config() -> None:
    class Padded(Bare):
        def forward(self, ids: Tensor) -> Any:
            return torch.nn.functional.pad(self.net(ids), (0, 5))

    assert subject("padded", Padded).vocab_size == V


def test_builds_the_same_model_every_time_and_another_for_another_seed() -> None:
    found = of("bare")
    torch.manual_seed(99)
    first, again, other = found.build(), found.build(), found.build(seed=1)
    assert same(copies(first), copies(again))
    assert not same(copies(first), copies(other))
    assert not first.training
    assert isinstance(first, Judged)


class Wrong(NanoStyle):
    """Gives whatever is asked for."""

    answer: Any = None

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        answer = type(self).answer
        if isinstance(answer, Exception):
            raise answer
        return answer


WRONG: list[tuple[Any, str]] = [
    (None, "gave a NoneType: logits, a tuple"),
    (torch.zeros(2, 4, V), r"gave \(2, 4, 23\) float32 for ids \(2, 3\): logits must be floats \(B, T, V\)"),
    (torch.zeros(2, V, 3), r"gave \(2, 23, 3\)"),
    (torch.zeros(V), r"gave \(23,\)"),
    (torch.zeros(2, 3, V, dtype=torch.int64), "int64 for ids"),
    (ValueError("two\nlines"), "failed for int64 ids .*: ValueError: two"),
]


@pytest.mark.parametrize(("answer", "message"), WRONG)
def test_refuses_what_gives_no_logits(answer: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wrong, "answer", answer)
    with pytest.raises(SeamError, match=message) as caught:
        subject("wrong", Wrong)
    assert "\n" not in str(caught.value)


def failing() -> nn.Module:
    raise RuntimeError("no weights here")


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (failing, "the factory f failed: RuntimeError: no weights here"),
        (lambda: 3, "the factory f gave a int: it must return"),
        (lambda: EncoderDecoder, "the factory f gave a type"),
        (nn.Identity, "has no parameters: register its layers"),
    ],
)
def test_refuses_what_is_no_model(factory: Any, message: str) -> None:
    with pytest.raises(SeamError, match=message):
        subject("f", factory)


def test_a_model_that_reports_no_loss_for_its_labels_is_named() -> None:
    class Silent(NanoStyle):
        def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
            return self.net(idx), None

    judged = subject("silent", Silent).build()
    with pytest.raises(SeamError, match=r"module\(ids, targets=…\) reports no loss"):
        judged.loss(torch.randint(V, (2, 5)))
