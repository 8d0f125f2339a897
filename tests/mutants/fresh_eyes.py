"""Bugs planted by somebody who had read the model's code alone, and no test: each acts in a corner, silently."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "the dropout behind the projection takes the rate of that on the weights",
        (),
        (),
        (
            Patch(
                "model.attention",
                "nn.Dropout(config.attention.output_dropout)",
                "nn.Dropout(config.attention.dropout)",
            ),
        ),
        "contract/test_fields.py::test_no_option_changes_nothing",
        "no_exception",
    ),
    Mutant(
        "of 12 heads, pairs have the same slope of ALiBi",
        (),
        (),
        (
            Patch(
                "model.position",
                "for k in range(1, 2 * (n_heads - power), 2)]",
                "for k in range(2, 2 * (n_heads - power) + 1, 2)]",
            ),
        ),
        "unit/test_position.py::test_slopes_of_heads",
        "loss_falls",
    ),
    Mutant(
        "all distances from the number of buckets on share the last",
        (),
        (),
        (Patch("model.position", "math.log(cls.LONGEST / exact)", "math.log(cls.BUCKETS / exact)"),),
        "unit/test_position.py::test_buckets",
        "loss_falls",
    ),
    Mutant(
        "rotary angles are rounded before their cosine",
        (),
        (),
        (
            Patch(
                "model.position",
                "        cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)\n",
                "        angles = angles.to(heads.dtype)\n        cos, sin = angles.cos(), angles.sin()\n",
            ),
        ),
        "unit/test_position.py::test_far_places_stay_exact_in_any_dtype",
        "loss_falls",
    ),
    Mutant(
        "DeepNorm's smaller weights are drawn over again",
        (),
        (),
        (
            Patch(
                "model.init",
                "    for module in model.modules():\n        if isinstance(module, Variant):\n",
                "        if isinstance(module, Variant):\n",
            ),
        ),
        "unit/test_residual.py::test_deepnorm_starts_smaller_and_carries_more",
        "loss_falls",
    ),
    Mutant(
        "SwiGLU's gate and up change places",
        (),
        (),
        (
            Patch(
                "model.feedforward", "F.silu(self.gate(x)) * self.up(x)", "self.gate(x) * F.silu(self.up(x))"
            ),
        ),
        "contract/test_contract.py::test_computes_what_the_formulas_say",
        "loss_falls",
    ),
    Mutant(
        "a gated residual thins the branch as well",
        (),
        (),
        (
            Patch(
                "model.residual",
                "self.dropout(x) + self.gate * branch",
                "self.dropout(x + self.gate * branch)",
            ),
        ),
        "unit/test_residual.py::test_dropout_thins_what_is_carried_past",
        "loss_falls",
    ),
    Mutant(
        "the draw of the first symbols draws the next one again",
        (),
        (),
        (Patch("model.markov", "for draw in draws[1:]:", "for draw in draws:"),),
        "unit/test_markov.py::test_tokens_follow_the_table",
        "training_lowers_the_loss",
    ),
    Mutant(
        "gains and biases decay by AdamW's default",
        (),
        (),
        (Patch("model.optimizer", 'not in matrices], "weight_decay": 0.0}', "not in matrices]}"),),
        "unit/test_train.py::test_one_step_by_hand",
        "training_lowers_the_loss",
    ),
    Mutant(
        "only the matrices follow the schedule",
        (),
        (),
        (
            Patch(
                "model.trainer",
                '    for group in optimizer.param_groups:\n        group["lr"] = point.lr\n',
                '    optimizer.param_groups[0]["lr"] = point.lr\n',
            ),
        ),
        "unit/test_train.py::test_points_keep_the_rate_that_is_used",
        "training_lowers_the_loss",
    ),
    Mutant(
        "several tokens behind a cache are masked from the top left",
        (),
        (),
        (
            Patch(
                "model.attention",
                "if past is not None and mask is None:",
                "if past is not None and mask is None and x.shape[1] == 1:",
            ),
        ),
        "conformance/test_cache.py::test_decoding_with_a_cache_equals_the_whole_forward",
        "generates",
    ),
    Mutant(
        "top-p counts what top-k has left out",
        (),
        (),
        (
            Patch(
                "model.sampling",
                "= 0.0\n        p /= p.sum()\n    if settings.top_p",
                "= 0.0\n    if settings.top_p",
            ),
            Patch("model.sampling", "scatter(0, ids, p)", "scatter(0, ids, p / p.sum())"),
        ),
        "unit/test_sampling.py::test_what_is_kept",
        "generates",
    ),
    Mutant(
        "newer settings of rotary positions are not read",
        (),
        (),
        (
            Patch(
                "model.hub_config",
                'rope = values.get("rope_parameters")',
                'rope = values.get("rope_scaling")',
            ),
        ),
        "unit/test_hub.py::test_what_ours_cannot_be",
        "generates",
    ),
)
