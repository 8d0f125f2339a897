"""Claims about overfitting one tiny batch: how low the loss goes, and what a failure points to."""

from blockproof.tests.checks.overfit import BAND
from blockproof.tests.claims.claim import FAILS, Claim, Found
from blockproof.tests.claims.measuring import verdict
from blockproof.tests.claims.overfitting import ABOVE, AT, BELOW, DROPOUT, HIGH, LOW, run

ALL_DIFFERENT = "no two sequences share a beginning and then part"
OTHERWISE = "it is not padding, nor parameters that others can stand in for"
FAULTS = ("leak", "no mask", "no shift", "double shift")
FIRST = ("no shift", "no mask")
OTHERS = (
    "padding scored",
    "embedding not trained",
    "attention not trained",
    "dropout on",
    "rate too low",
    "rate too high",
)


def named(*causes: str) -> dict[str, float]:
    """The final losses, under names that a sentence can hold."""
    return {cause.replace(" ", "_"): run(cause).final for cause in causes}


def almost_zero() -> Found:
    """A sound model, on sequences that part early and on some that begin differently."""
    alike, different = run("sound"), run("no two alike")
    zero = different.final < BAND
    return Found(
        verdict(alike.final < BAND and zero, ALL_DIFFERENT, zero and alike.symptom == AT),
        "On sequences of which no two begin alike, a sound model ends at {different:.4f} nats. On pairs "
        "that share their beginning it ends at {alike:.4f}; no honest model gets below {floor:.4f} there, "
        "since the beginning does not tell how it goes on.",
        {"different": different.final, "alike": alike.final, "floor": alike.floor},
    )


def one_sided() -> Found:
    """Four faults against the usual bound, and against the floor from both sides."""
    pass_usual = sum(run(fault).final <= run(fault).floor + BAND for fault in FAULTS)
    caught = sum(run(fault).symptom != AT for fault in FAULTS)
    return Found(
        verdict(pass_usual == 0 and run("sound").symptom == AT),
        "The floor is {floor:.4f}. A sound model ends at {sound:.4f}; with a mask off by one {leak:.4f}, "
        "without a mask {no_mask:.4f}, without the shift {no_shift:.4f}, with a double shift "
        "{double_shift:.4f}. A bound from above passes {passed} of these {faults} faults; one from both "
        "sides catches {caught}.",
        {
            **{"floor": run("sound").floor, "passed": pass_usual, "faults": len(FAULTS), "caught": caught},
            **named("sound", *FAULTS),
        },
    )


def looked_at_first() -> Found:
    """Whether the two causes that are to be looked at first can make the test fail."""
    fails = [run(cause).symptom == ABOVE for cause in FIRST]
    return Found(
        verdict(all(fails)),
        "Without the shift the loss ends at {no_shift:.4f}, without the mask at {no_mask:.4f}, and the "
        "floor is {floor:.4f}: {failing} of these {causes} causes make it end too high. A double shift ends "
        "at {double_shift:.4f}.",
        {
            **{"floor": run("sound").floor, "failing": sum(fails), "causes": len(FIRST)},
            **named(*FIRST, "double shift"),
        },
    )


def looked_at_next() -> Found:
    """The other causes of the list, one by one."""
    symptoms = {cause: run(cause).symptom for cause in OTHERS}
    quiet = {cause for cause, symptom in symptoms.items() if symptom != ABOVE}
    as_found = quiet == {"padding scored", "attention not trained"} and symptoms["padding scored"] == BELOW
    return Found(
        verdict(not quiet, OTHERWISE, as_found),
        "Against a floor of {floor:.3f}, the loss ends at {embedding_not_trained:.3f} if the optimizer "
        "lacks the embedding, at {dropout_on:.3f} with dropout of {rate} left on, at {rate_too_low:.3f} "
        "with a learning rate of {low:g} and at {rate_too_high:.3f} with one of {high:g}. If it lacks "
        "attention alone, the rest makes up for it: {attention_not_trained:.3f}. Scored padding lowers the "
        "loss, to {padding_scored:.3f} where the floor is {padded:.3f}.",
        {
            **{"floor": run("sound").floor, "padded": run("padding scored").floor},
            **{"rate": DROPOUT, "low": LOW, "high": HIGH, **named(*OTHERS)},
        },
    )


CLAIMS = (
    Claim(
        "C9",
        "on one tiny batch, the loss of a sound model goes almost to 0",
        f"holds when {ALL_DIFFERENT}",
        almost_zero,
    ),
    Claim("C9, bound", "a loss near 0 on a tiny batch shows that a model is sound", FAILS, one_sided),
    Claim(
        "C10",
        "where overfitting fails, a missing label shift and a missing mask are to be looked for first",
        FAILS,
        looked_at_first,
    ),
    Claim(
        "C10, next",
        "next come padding labels, parameters not trained, dropout left on, an extreme rate",
        f"holds when {OTHERWISE}",
        looked_at_next,
    ),
)
