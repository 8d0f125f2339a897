"""Comparisons: intervals that are too narrow, pairs that are none, one side alone, and NaN that passes."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

MEAN = "unit/ablations/test_statistics.py::test_is_the_t_interval_of_the_mean"
FINITE = "unit/ablations/test_statistics.py::test_refuses_what_is_not_finite"
SURE = "unit/ablations/test_statistics.py::test_a_sign_is_sure_only_beyond_zero_and_from_five_seeds"
SIDES = "unit/report/test_verdicts.py::test_every_side"
CLEAR = "none: a clear effect has the same verdict"

QUANTILE = "stats.t.ppf((1 + LEVEL) / 2, n - 1)"
SIGN = "(self.low > 0 or self.high < 0)"


def statistics(old: str, new: str) -> tuple[Patch]:
    """A change in the file of intervals."""
    return (Patch("ablations.statistics", old, new),)


def verdict(old: str, new: str) -> tuple[Patch]:
    """A change in how a verdict follows from an interval."""
    return (Patch("report.verdict", old, new),)


MUTANTS = (
    Mutant(
        "the deviation is the population's",
        (), (), statistics("for value in values) / (n - 1))", "for value in values) / n)"), MEAN, CLEAR,
    ),
    Mutant(
        "the quantile is one-sided",
        (), (), statistics(QUANTILE, "stats.t.ppf(LEVEL, n - 1)"), MEAN, CLEAR,
    ),
    Mutant(
        "the quantile is the normal law's",
        (), (), statistics(QUANTILE, "stats.norm.ppf((1 + LEVEL) / 2)"), MEAN, CLEAR,
    ),
    Mutant(
        "the interval is of one value, not of the mean",
        (), (), statistics("* spread / math.sqrt(n)", "* spread"), MEAN, CLEAR,
    ),
    Mutant(
        "an interval of NaN is no error",
        ("X04",), ("NervanaSystems/ngraph#2028",),
        statistics("if n == 0 or not all(math.isfinite(value) for value in values):", "if n == 0:"),
        FINITE, CLEAR,
    ),
    Mutant(
        "values that are not finite are left out in silence",
        ("X03",), ("intel/auto-round#1681",),
        statistics(
            "    n = len(values)\n",
            "    values = [value for value in values if math.isfinite(value)]\n    n = len(values)\n",
        ),
        FINITE, CLEAR,
    ),
    Mutant(
        "a sign is sure on one side alone",
        (), (), statistics(SIGN, "self.low > 0"), SURE, CLEAR,
    ),
    Mutant(
        "a sign is sure from any number of seeds",
        ("X02",), ("NVIDIA-NeMo/RL#3999",), statistics("self.n >= MIN_SEEDS and ", ""), SURE, CLEAR,
    ),
    Mutant(
        "a sign is sure by its mean",
        (), (), statistics(SIGN, "self.mean != 0"), SURE, CLEAR,
    ),
    Mutant(
        "variants are compared without their common seeds",
        (), (), statistics("zip(one, other, strict=True)", "zip(one, sorted(other), strict=True)"),
        "unit/ablations/test_statistics.py::test_pairing_takes_out_what_variants_share", CLEAR,
    ),
    Mutant(
        "seeds without a partner are left out in silence",
        (), (), statistics("strict=True", "strict=False"),
        "unit/ablations/test_statistics.py::test_pairs_need_a_partner", CLEAR,
    ),
    Mutant(
        "pairs are by rank, not by seed",
        (), (),
        (
            Patch(
                "ablations.views.compare",
                "paired_interval(wide[one].tolist(), wide[other].tolist())",
                "paired_interval(sorted(wide[one]), sorted(wide[other]))",
            ),
        ),
        "unit/ablations/test_compare.py::test_each_seed_is_compared_with_itself", CLEAR,
    ),
    Mutant(
        "the best rate is the one of the luckiest seed",
        (), (), (Patch("ablations.views.compare", '["score"].mean()', '["score"].min()'),),
        "unit/ablations/test_compare.py::test_the_best_rate_has_the_lowest_mean", CLEAR,
    ),
    Mutant(
        "a claim holds by its mean",
        (), (), verdict("if difference.low > 0:", "if difference.mean > 0:"), SIDES, CLEAR,
    ),
    Mutant(
        "a claim never fails",
        (), (), verdict("return FAILS if difference.high < 0 else UNDECIDED", "return UNDECIDED"), SIDES, CLEAR,
    ),
    Mutant(
        "a claim that is not sure fails",
        (), (), verdict("return FAILS if difference.high < 0 else UNDECIDED", "return FAILS"), SIDES, CLEAR,
    ),
    Mutant(
        "the variant with the most seeds decides whether there are enough",
        (), (), verdict("fewest = min(seeds)", "fewest = max(seeds)"),
        "unit/report/test_verdict.py::test_the_variant_with_the_fewest_seeds_decides", CLEAR,
    ),
    Mutant(
        "four seeds give a verdict",
        (), (), verdict("if fewest >= MIN_SEEDS", "if fewest >= MIN_SEEDS - 1"),
        "unit/report/test_verdicts.py::test_four_seeds_give_no_verdict_but_the_evidence", CLEAR,
    ),
    Mutant(
        "times agree by their mean, however they vary",
        ("X07",), ("jannikmi/timezonefinder#462",),
        (
            Patch(
                "report.verdicts.training",
                "if ratio.low > 1 / AGREES and ratio.high < AGREES:",
                "if 1 / AGREES < ratio.mean < AGREES:",
            ),
        ),
        "unit/report/test_verdict.py::test_times_agree_only_with_their_whole_interval", CLEAR,
    ),
    Mutant(
        "runs agree on one side alone",
        (), (),
        (
            Patch(
                "report.agreement",
                "distance = abs(measured(record) - measured(other))",
                "distance = measured(record) - measured(other)",
            ),
        ),
        "unit/report/test_agreement.py::test_one_record", CLEAR,
    ),
    Mutant(
        "NaN agrees with any number",
        ("X04",), ("NervanaSystems/ngraph#2028",),
        (
            Patch(
                "report.agreement",
                "return distance <= SPREADS * spread[variant(other)]",
                "return not distance > SPREADS * spread[variant(other)]",
            ),
        ),
        "unit/report/test_agreement.py::test_nan_agrees_with_nothing", CLEAR,
    ),
    Mutant(
        "runs that ended otherwise agree",
        (), (),
        (
            Patch(
                "report.agreement",
                'if record.result["ended"] != other.result["ended"]:',
                "if not record.result:",
            ),
        ),
        "unit/report/test_agreement.py::test_one_record", CLEAR,
    ),
)  # fmt: skip
