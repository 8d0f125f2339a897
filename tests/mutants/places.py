"""Positions: not told, told twice, told by another rule, or worked out in too few bits."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

TURN = "unit/test_position.py::test_rotation_matches_the_reference"
TOLD = "unit/test_position.py::test_place_is_told"
FAR = "unit/test_position.py::test_far_places_stay_exact_in_any_dtype"
EMBEDDED = "unit/test_position.py::test_embedded_matches_the_reference"

ROTATE = "q, k = position.rotate(q, queries), position.rotate(k, queries)"
ANGLES = "angles = _angles(places, heads.shape[-1])  # (T, d / 2)"
TABLES = "cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)"
TURNED = "return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)"


def position(old: str, new: str) -> Patch:
    """A change in the file of positions."""
    return Patch("model.position", old, new)


MUTANTS = (
    Mutant(
        "places are counted along the batch",
        ("C10",),
        ("KasperGroesLudvigsen/influenza_transformer#9",),
        (
            Patch(
                "model.transformer", "torch.arange(ids.shape[1], device", "torch.arange(ids.shape[0], device"
            ),
        ),
        "contract/test_contract.py::test_logits_of_every_length",
        "none: B != T is enough",
    ),
    Mutant(
        "neighbours are turned together, not halves",
        ("G01",),
        ("rasbt/LLMs-from-scratch#750",),
        (
            position(
                "first, second = heads.chunk(2, dim=-1)", "first, second = heads[..., ::2], heads[..., 1::2]"
            ),
            position(
                TURNED,
                "return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)",
            ),
        ),
        TURN,
        "overfits",
    ),
    Mutant(
        "neighbours are turned together and put back as halves",
        ("G02",),
        ("ooples/AiDotNet#2074",),
        (
            position(
                "first, second = heads.chunk(2, dim=-1)", "first, second = heads[..., ::2], heads[..., 1::2]"
            ),
        ),
        TURN,
        "overfits",
    ),
    Mutant(
        "two features of a pair turn by two angles",
        ("G03",),
        ("baidu/ERNIE-Image#6",),
        (
            position(
                TURNED,
                TURNED.replace("first * sin + second * cos", "first * sin.flip(-1) + second * cos.flip(-1)"),
            ),
        ),
        TURN,
        "overfits",
    ),
    Mutant(
        "values are turned too",
        ("G04",),
        ("lucidrains/x-transformers#182",),
        (Patch("model.attention", ROTATE, f"{ROTATE}\n        v = position.rotate(v, queries)"),),
        "unit/test_position.py::test_shifting_all_places_changes_nothing_where_distance_counts",
        "overfits",
    ),
    Mutant(
        "angles in half precision",
        ("G05",),
        ("EleutherAI/gpt-neox#1003",),
        (position(ANGLES, "angles = _angles(places, heads.shape[-1]).half().double()"),),
        FAR,
        "overfits",
    ),
    Mutant(
        "angles are cast with the model",
        ("G06",),
        ("huggingface/transformers#25681",),
        (position(ANGLES, "angles = _angles(places, heads.shape[-1]).to(heads.dtype)"),),
        FAR,
        "overfits",
    ),
    Mutant(
        "sine and cosine in bfloat16",
        ("G07",),
        ("KellerJordan/modded-nanogpt#39",),
        (
            position(
                TABLES, "cos, sin = (t.bfloat16().to(heads.dtype) for t in (angles.cos(), angles.sin()))"
            ),
        ),
        FAR,
        "overfits",
    ),
    Mutant(
        "a table in float32 widens queries and keys",
        ("G08",),
        ("facebookresearch/xformers#325",),
        (position(TABLES, "cos, sin = angles.cos().float(), angles.sin().float()"),),
        "unit/test_attention.py::test_runs_in_half_precision",
        "overfits",
    ),
    Mutant(
        "pairs are counted from 1",
        ("G10",),
        ("stanford-cs336/assignment1-basics#4",),
        (position("10000.0 ** (-2 * i / width)", "10000.0 ** (-2 * (i + 1) / width)"),),
        TURN,
        "overfits",
    ),
    Mutant(
        "places are counted from 1",
        ("G10",),
        ("stanford-cs336/assignment1-basics#4",),
        (position("return places[:, None] *", "return (places[:, None] + 1) *"),),
        EMBEDDED,
        "overfits",
    ),
    Mutant(
        "queries and keys are not turned",
        ("G11",),
        ("vllm-project/vllm#30413",),
        (Patch("model.attention", ROTATE, "pass"),),
        TOLD,
        "overfits",
    ),
    Mutant(
        "keys are not turned",
        ("G11",),
        ("vllm-project/vllm#30413",),
        (Patch("model.attention", ROTATE, "q = position.rotate(q, queries)"),),
        "unit/test_position.py::test_shifting_all_places_changes_nothing_where_distance_counts",
        "overfits",
    ),
    Mutant(
        "positions are added after the last block",
        ("G11",),
        ("vllm-project/vllm#30413",),
        (
            Patch("model.transformer", "self.position(self.token(ids), places)", "self.token(ids)"),
            Patch(
                "model.transformer",
                "F.linear(self.norm(x), matrix",
                "F.linear(self.norm(self.position(x, places)), matrix",
            ),
        ),
        TOLD,
        "loss_falls",
    ),
    Mutant(
        "learned positions are not added",
        ("P16",),
        ("agentdr1/LA_MIL#3",),
        (position("return x + self.table(places)", "return x"),),
        "conformance/test_start.py::test_every_parameter_learns",
        "overfits",
    ),
)
