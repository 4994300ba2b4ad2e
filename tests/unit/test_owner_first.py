"""A relation beside a name means somebody else: Nina's sister, the sister of Nina."""

import pytest

from rewound.eventlog.instants import parse_instant
from rewound.llm.evidence import evidence
from rewound.llm.extraction import Said
from rewound.llm.grounds import MAY_END, MAY_REVIEW
from rewound.llm.judging import Claim, Pair
from rewound.llm.people import owner_first
from rewound.llm.policy import shipped
from rewound.llm.rules import RulesExtractor

AT = parse_instant("2026-03-02T10:00:00Z").at
WEEK_US = 7 * 86_400_000_000

OTHERS = {
    "Nina's sister lives in Porto.": "Nina's sister",
    "The sister of Nina lives in Porto.": "Nina's sister",
    "The older sister of Nina lives in Porto.": "Nina's older sister",
    "The mother of my friend Nina lives in Porto.": "Sam's friend Nina's mother",
    "Nina's landlord lives in Porto.": "Nina's landlord",
    "The landlord of Nina Berg lives in Porto.": "Nina Berg's landlord",
    "The boss of Nina moved to Porto.": "Nina's boss",
    "The lawyer of Nina is based in Porto.": "Nina's lawyer",
    "Nina's mother's boss lives in Porto.": "Nina's mother's boss",
}


@pytest.mark.parametrize("text", OTHERS)
def test_the_subject_is_who_is_spoken_of(text: str) -> None:
    ((fact,),) = RulesExtractor().extract([Said(text, AT, speaker="Sam")])
    assert (fact.subject, fact.attribute, fact.value) == (OTHERS[text], "home", "Porto")


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.parametrize("own", ["Nina lives in Braga", "Nina moved to Braga"])
def test_neither_home_is_ended_or_asked_about(text: str, own: str) -> None:
    ((fact,),) = RulesExtractor().extract([Said(text, AT, speaker="Sam")])
    other = Claim(
        fact.text, AT, AT, subject=fact.subject, attribute=fact.attribute, value=fact.value
    )
    told = {"subject": "Nina", "attribute": "home", "value": "Braga"}
    hers = Claim(own, AT + WEEK_US, AT + WEEK_US, **told)  # type: ignore[arg-type]
    for new, old in ((hers, other), (other, hers)):
        found = evidence(Pair(new, old))
        assert not found.get(MAY_END) and not found.get(MAY_REVIEW)
        assert shipped().rule(found).outcome.name in ("DISTINCT", "EXTENDS")


def test_what_is_of_no_person_stays() -> None:
    for text in (
        "The price of Apollo is 5 euros",
        "The CTO of Orbit Labs is Tom",
        "The boss of the team is Tom",
        "A friend of Nina lives in Oslo",
        "The sister of my neighbour lives in Oslo",
        "Nina is fond of Oslo",
    ):
        assert owner_first(text) == text
