"""The policy: exact, bound by the law, and moved by labels only where they help."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.eventlog.enums import Outcome
from rewound.llm.evidence import evidence
from rewound.llm.fitting import fit, losses, probabilities
from rewound.llm.grounds import MAY_END, SAID_AGAIN
from rewound.llm.judging import Claim, Evidence, Opinion, Pair
from rewound.llm.policy import (
    ENDINGS,
    LABELS_MIN,
    OUTCOMES,
    Labelled,
    Policy,
    refit,
    shipped,
)

SHIPPED = shipped()
NAMES = [name for name in SHIPPED.features if name != "bias"]
EVIDENCE = st.dictionaries(
    st.sampled_from([*NAMES, "a_feature_of_later"]), st.integers(1, 1000), max_size=25
)
OPINIONS = st.none() | st.builds(Opinion, st.sampled_from(Outcome), st.integers(0, 1000))


@given(st.lists(st.tuples(EVIDENCE, OPINIONS), max_size=12))
def test_many_are_ruled_as_each_by_itself(rows: list[tuple[Evidence, Opinion | None]]) -> None:
    together = SHIPPED.rule_all([one for one, _ in rows], [opinion for _, opinion in rows])
    assert together == [SHIPPED.rule(one, opinion) for one, opinion in rows]


@given(EVIDENCE, OPINIONS)
def test_nothing_is_ended_without_the_law(found: Evidence, opinion: Opinion | None) -> None:
    found = {name: value for name, value in found.items() if name != MAY_END}
    assert SHIPPED.rule(found, opinion).outcome not in ENDINGS


@given(EVIDENCE, st.integers(1, 5))
def test_no_weights_lift_the_law(found: Evidence, favoured: int) -> None:
    found = {name: value for name, value in found.items() if name != MAY_END}
    rows = [list(row) for row in SHIPPED.weights]
    rows[favoured - 1] = [weight + 20_000 for weight in rows[favoured - 1]]
    eager = msgspec.structs.replace(
        SHIPPED, weights=tuple(tuple(row) for row in rows), margins=(0,) * 5, doubt=1001
    )
    assert eager.rule(found).outcome not in ENDINGS


@given(EVIDENCE)
def test_chances_sum_to_one_and_the_leaning_is_likely(found: Evidence) -> None:
    chances = SHIPPED.chances([found])[0]
    assert chances.sum() == pytest.approx(1)
    ruling = SHIPPED.rule(found)
    assert ruling.leaning in OUTCOMES
    assert ruling.outcome in (ruling.leaning, Outcome.REVIEW, Outcome.DISTINCT)
    alone = round(1000 * chances[OUTCOMES.index(ruling.leaning)])
    if found.get(SAID_AGAIN):
        assert ruling.outcome is Outcome.DUPLICATE
    elif ruling.leaning in ENDINGS:  # an ending counts as one
        assert ruling.probability >= alone
    else:
        assert ruling.probability == alone


def test_round_trip() -> None:
    assert Policy.from_json(SHIPPED.to_json()) == SHIPPED


def test_a_policy_of_wrong_shape_is_refused() -> None:
    short = msgspec.structs.replace(SHIPPED, contradiction=SHIPPED.contradiction[1:])
    with pytest.raises(ValueError, match="one weight a feature"):
        Policy.from_json(short.to_json())
    fewer = msgspec.structs.replace(SHIPPED, margins=SHIPPED.margins[1:])
    with pytest.raises(ValueError, match="5 rows"):
        Policy.from_json(fewer.to_json())


def test_the_shipped_policy_says_how_well_it_did() -> None:
    assert {"paws_auc", "judging_macro_f1", "judging_ending_precision"} <= SHIPPED.figures.keys()


def test_an_opinion_counts() -> None:
    found = seen("Nina has a brother in Ghent", "Nina has a brother in Lyon")
    alone = SHIPPED.chances([found])[0]
    with_one = SHIPPED.chances([found], [Opinion(Outcome.EXTENDS, 950)])[0]
    assert with_one[3] > alone[3]
    unsure = SHIPPED.chances([found], [Opinion(Outcome.EXTENDS, 200)])[0]
    assert unsure == pytest.approx(alone)


# --- pairs as people say them

DAY = 86_400_000_000


def seen(old: str, new: str, said: str | None = None, gap: int = 30 * DAY) -> Evidence:
    at = 1_740_000_000_000_000
    talk = b"talk" if said else None
    later = Claim(new, at + gap, at + gap, said=said, conversation=talk)
    return evidence(Pair(later, Claim(old, at, at, conversation=talk)))


def outcome(old: str, new: str, said: str | None = None, gap: int = 30 * DAY) -> Outcome:
    return SHIPPED.rule(seen(old, new, said, gap)).outcome


KEPT = [
    "Alder service publishes to the Birch queue.",
    "Birch queue keeps its state in the Cedar database.",
    "We built a page that reads from the Cedar database.",
]


@pytest.mark.parametrize("number", range(20))
def test_a_note_that_mentions_a_thing_ends_nothing_about_it(number: int) -> None:
    note = f"Looked at Cedar again today, note {number}"
    for fact in KEPT:
        assert outcome(fact, note) not in (*ENDINGS, Outcome.DUPLICATE)
        assert outcome(note, fact) not in (*ENDINGS, Outcome.DUPLICATE)


def test_relations_that_share_a_thing_stay() -> None:
    for place, one in enumerate(KEPT):
        for other in KEPT[place + 1 :]:
            assert outcome(one, other) not in (*ENDINGS, Outcome.DUPLICATE)


def test_a_reversed_preference_ends_the_old_one() -> None:
    assert outcome("I love olives.", "I can't stand olives any more.") in ENDINGS


def test_corrections_in_a_conversation_end_what_was_said_before() -> None:
    minute = 60_000_000
    first, second = "The demo is at 3 pm.", "The demo is at 4 pm."
    third = "The demo is at 4:30 pm in room Teal."
    assert outcome(first, second, "Sorry, make that 4 pm.", minute) in ENDINGS
    assert outcome(second, third, "Final: 4:30 pm, room Teal.", minute) in ENDINGS
    assert outcome(first, third, "Final: 4:30 pm, room Teal.", 2 * minute) in ENDINGS


def test_two_things_are_no_duplicate_however_alike_their_statements() -> None:
    found = seen("The ferry leaves at 9:10.", "The train leaves at 9:10.")
    near = found | {"has_similarity": 1000, "similarity": 950, "similar": 875}
    certain = msgspec.structs.replace(SHIPPED, margins=(0, 0, 0, 0, 0))
    assert SHIPPED.rule(near).outcome is not Outcome.DUPLICATE
    assert certain.rule(near).outcome is not Outcome.DUPLICATE


def test_restating_a_long_statement_takes_the_margin_of_long_ones() -> None:
    found = {"restated": 1000}
    doubled = msgspec.structs.replace(
        SHIPPED, features=("bias",), weights=((900,), (0,), (0,), (0,), (0,)), contradiction=(0,)
    )
    assert doubled.rule(found).outcome is Outcome.DUPLICATE
    assert doubled.rule(found | {"long": 1000}).outcome is not Outcome.DUPLICATE


def test_who_says_that_something_was_wrong_is_asked_sooner() -> None:
    flat = msgspec.structs.replace(
        SHIPPED,
        features=("bias",),
        weights=((0,), (-1200,), (-1200,), (0,), (2000,)),
        contradiction=(0,),
        doubt=120,
    )
    near = {"comparable": 1000}
    assert flat.chances([near])[0][1:3].sum() == pytest.approx(0.06, abs=0.01)
    assert flat.rule(near).outcome is Outcome.DISTINCT
    assert flat.rule(near | {"correction": 1000}).outcome is Outcome.REVIEW


HARMLESS = [
    (
        "Use the blue valve for the boiler.",
        "Do not forget to open the blue valve for the boiler before six.",
    ),
    ("Use the blue valve for the boiler.", "The notary is never late."),
    ("Use the blue valve for the boiler.", "I'm not allergic to nuts, only to kiwi."),
    ("Use the blue valve for the boiler.", "Actually, the notary's office is on Elm Road."),
    ("The notary is never late.", "Actually, the notary's office is on Elm Road."),
    ("The notary is never late.", "I'm not allergic to nuts, only to kiwi."),
]


@pytest.mark.parametrize(("old", "new"), HARMLESS)
def test_words_such_as_not_and_never_contradict_nothing_by_themselves(old: str, new: str) -> None:
    assert outcome(old, new) not in (*ENDINGS, Outcome.DUPLICATE)


# --- learning


def moved(count: int, noise: bool = False) -> list[Labelled]:
    """Labels of a domain in which people have homes in several towns but one employer; or labels
    that follow nothing."""
    towns = "Ghent Lyon Oslo Turin Graz Porto Linz Split Riga Bern".split()
    labels: list[Labelled] = []
    for number in range(count):
        one, other = towns[number % 10], towns[(number * 7 + 3) % 10]
        person = f"Nina{number}"
        if number % 2:
            found = seen(f"{person} lives in {one}", f"{person} lives in {other}")
            right = Outcome.DISTINCT
        else:
            found = seen(f"{person} works at {one} Foods", f"{person} works at {other} Labs")
            right = Outcome.UPDATES
        wild = OUTCOMES[(number * number * 31 + number * 17) % 7 % 5]
        labels.append(Labelled(found, wild if noise else right))
    return labels


@pytest.mark.parametrize("count", [20, 50, 100])
def test_labels_of_a_shifted_domain_improve_it(count: int) -> None:
    result = refit(SHIPPED, moved(count))
    assert result.accepted
    assert result.figures["loss_after"] < result.figures["loss_before"]
    assert result.figures["errors_after"] < result.figures["errors_before"]
    assert result.policy.version == SHIPPED.version + 1
    unseen = [label.evidence for label in moved(160)[120:]]
    wrong_before = [SHIPPED.rule(one).leaning for one in unseen[1::2]].count(Outcome.UPDATES)
    wrong_after = [result.policy.rule(one).leaning for one in unseen[1::2]].count(Outcome.UPDATES)
    assert wrong_after < wrong_before


def test_labels_that_are_noise_are_refused() -> None:
    result = refit(SHIPPED, moved(60, noise=True))
    assert not result.accepted
    assert result.policy is SHIPPED
    assert "tells nothing of these labels" in result.why


def test_few_labels_are_refused() -> None:
    result = refit(SHIPPED, moved(LABELS_MIN - 1))
    assert not result.accepted
    assert f"{LABELS_MIN} are needed" in result.why


def test_a_refit_is_deterministic() -> None:
    assert refit(SHIPPED, moved(30)) == refit(SHIPPED, moved(30))


def test_a_fit_finds_what_made_the_labels() -> None:
    features = np.array([[1.0, place / 100] for place in range(-100, 100)])
    allowed = np.array([[float(row[1] < 0.2), float(row[1] >= 0.2)] for row in features])
    start = np.zeros((2, 2))
    weights = fit(features, allowed, start, np.full(2, 0.01))
    assert losses(probabilities(features, weights), allowed).mean() < 0.15
    assert probabilities(np.array([[1.0, 0.2]]), weights)[0, 1] == pytest.approx(0.5, abs=0.15)
