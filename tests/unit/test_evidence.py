"""What two claims have to do with each other, and the law on endings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.llm.alignment import align
from rewound.llm.attribute_table import parse
from rewound.llm.claim_words import tokens_of
from rewound.llm.cues import about, cues_of
from rewound.llm.evidence import evidence
from rewound.llm.grounds import MAY_END
from rewound.llm.judging import Claim, Evidence, Pair

DAY = 86_400_000_000


def pair(old: str, new: str, said: str | None = None, days: int = 30) -> Pair:
    at = 1_740_000_000_000_000
    talk = b"talk" if said else None
    later = Claim(new, at + days * DAY, at + days * DAY, said=said, conversation=talk)
    return Pair(later, Claim(old, at, at, conversation=talk))


def seen(old: str, new: str, said: str | None = None, days: int = 30) -> Evidence:
    return evidence(pair(old, new, said, days))


ENDS = [
    ("Nina works at Orbit Labs", "Nina joined Harbor Foods"),
    ("Nina lives in Rome", "Nina moved to Oslo"),
    ("I love olives.", "I can't stand olives any more."),
    ("The report is due on Friday", "The deadline for the report was moved to Monday"),
    ("We use MySQL", "We use Postgres instead of MySQL"),
    ("Shira plays the flute", "Shira gave up the flute"),
    ("Ticket PAY-1 is open", "Ticket PAY-1 was closed"),
    ("Mia gets 3 euros a week", "Mia gets 4 euros a week"),
    ("Tom and Ann led the tour", "Ann led the tour with Bea, not Tom"),
    ("Ines has published twelve papers on moss", "Ines has never published any papers on moss"),
    ("Ines works as a mining engineer", "Ines does not work in mining"),
    ("Ines has an interest in moss and ferns", "Ines has no interest in moss"),
    ("Ines speaks three languages: Welsh and two more", "Ines only speaks Welsh"),
    ("Ines plays the oboe in a band", "Otto plays the oboe in a band, while Ines does not"),
    ("Ines has seen ten glaciers", "Otto has seen ten glaciers, whereas Ines has never seen one"),
    ("I'm in the 12345 zip code", "I'm in the 54321 zip code"),
]
NEVER = [
    ("Nina lives in Rome", "Nina's sister lives in Oslo"),
    ("Nina lives in Rome", "Nina plans to move to Oslo"),
    ("Nina has a brother in Ghent", "Nina has a brother in Lyon"),
    ("The user speaks French", "The user speaks Danish"),
    ("Ines has published a paper on moss", "Otto has never published any papers on moss"),
    ("The users table has a unique index", "The phones table has no unique index"),
    ("I am in my forties", "I am still getting used to being in my forties"),
    ("Ines follows her dream", "Ines won't give up on her dream"),
    ("I paid $200 to attend", "I sold my previous one for $200"),
    ("I'm not entirely sure about the prices", "I'm not entirely sure what I am doing"),
    ("I got rid of the old lamp", "I cleared the attic and got rid of the old lamp"),
    ("Ines is up for it", "Ines hasn't"),
    ("I tried two of them", "I actually tried that one"),
    ("My budget is $300", "My budget is $400"),
    ("The meeting is at 2 pm", "The meeting with Otto is at 10 am"),
    ("My favorite cake is this lemon tart", "My favorite cake is delicious"),
    ("The red helmet costs 40 euros", "The blue helmet costs 55 euros"),
    ("Use the blue valve for the boiler.", "Do not forget to open the blue valve for the boiler."),
    ("Use the blue valve for the boiler.", "The notary is never late."),
    ("The notary is never late.", "Actually, the notary's office is on Elm Road."),
    ("Alder service publishes to the Birch queue.", "Looked at Cedar again today, note 3"),
    ("Birch queue keeps its state in the Cedar database.", "Looked at Cedar again today, note 3"),
    (
        "Birch queue keeps its state in the Cedar database.",
        "Alder service publishes to the Birch queue.",
    ),
]


@pytest.mark.parametrize(("old", "new"), ENDS)
def test_what_may_end(old: str, new: str) -> None:
    assert seen(old, new)[MAY_END] == 1000


@pytest.mark.parametrize(("old", "new"), NEVER)
def test_what_never_ends(old: str, new: str) -> None:
    assert MAY_END not in seen(old, new)


def test_values_are_compared() -> None:
    assert seen("Nina lives in Rome", "Nina moved to Rome")["value_equal"] == 1000
    assert seen("Nina lives in Rome", "Nina lives in Oslo")["value_apart"] == 1000
    finer = seen("Nina works at Orbit", "Nina works at Orbit Labs")
    assert finer["value_refined"] == finer["value_fuller"] == 1000


def test_opposites_and_members_of_a_class_exclude_each_other() -> None:
    assert seen("The tea is hot", "The tea is cold")["opposites"] == 1000
    assert seen("She wears a red hat", "She wears a blue hat")["excluded"] == 1000
    assert "excluded" not in seen("She wears a red hat", "She wears a felt hat")


def test_cues_count_in_what_was_said_about_the_matter() -> None:
    said = "Sorry, make that 4 pm. The cake is from Lena."
    assert seen("The demo is at 3 pm", "The demo is at 4 pm", said)["correction_said"] == 1000
    assert "correction_said" not in seen("The cake is big", "The cake is from Lena", said)


def test_a_short_sentence_belongs_to_the_next() -> None:
    assert about("Oops! The train leaves at nine. It rains.", "The train leaves at 9") == (
        "Oops! The train leaves at nine."
    )


def test_cues() -> None:
    assert cues_of("She no longer smokes").change
    assert cues_of("Not Monday, I meant Tuesday").correction
    assert cues_of("Until 2019 he lived there").past
    assert not any(cues_of("The notary has an office"))


def test_similarity_is_told_apart_from_none() -> None:
    bare = pair("Nina lives in Rome", "Nina lives in Oslo")
    assert "has_similarity" not in evidence(bare)
    found = evidence(bare._replace(similarity=0))
    assert found["has_similarity"] == 1000
    assert found.get("similarity", 0) == 0


def test_rows_of_the_user_make_an_attribute_that_ends() -> None:
    rows = parse('[{"attribute": "parking", "verbs": ["parks her car in"]}]')
    two = pair("Nina parks her car in lot Elm", "Nina parks her car in lot Oak")
    assert evidence(two, rows)["conflict"] == 1000
    many = parse('[{"attribute": "parking", "verbs": ["parks her car in"], "single": false}]')
    assert "conflict" not in evidence(two, many)


def test_alignment() -> None:
    laid = align(tokens_of("She wears a red hat today"), tokens_of("She wears a blue felt hat"))
    assert laid.shared == 4
    assert [([t.low for t in gap.old], [t.low for t in gap.new]) for gap in laid.gaps] == [
        (["red"], ["blue", "felt"]),
        (["today"], []),
    ]


TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(
        st.sampled_from(
            "Nina lives works at in Rome Oslo not never no longer 4 pm May 5 the a is was "
            "instead of, and Nina's sister . ; 20 $ % sold".split(" ")
        ),
        max_size=14,
    ).map(" ".join),
)


@given(TEXTS, TEXTS)
def test_evidence_is_bounded_and_the_same_each_time(old: str, new: str) -> None:
    found = seen(old, new)
    assert found == seen(old, new)
    assert all(0 < value <= 1000 for value in found.values())


@given(TEXTS)
def test_a_statement_does_not_end_itself(text: str) -> None:
    found = seen(text, text)
    assert "conflict" not in found
    assert "frame_conflict" not in found


def test_a_limit_that_only_one_has_leaves_both_standing() -> None:
    old, new = "I wake up at 7:30 AM", "I wake up at 6:00 AM"
    assert seen(old, new)[MAY_END]
    fridays = "On Fridays, I like a head start, so I wake up at 6:00 AM."
    found = seen(old, new, fridays)
    assert found["limits_differ"]
    assert MAY_END not in found
    assert seen(old, new, "Every day now, I wake up at 6:00 AM.")[MAY_END]


def test_a_class_that_moves_to_another_day_is_no_difference_of_limits() -> None:
    assert "limits_differ" not in seen("Yoga is every Tuesday", "Yoga is every Thursday")
    assert "limits_differ" not in seen("Rent is 900 euros", "Rent is 950 euros a month")
    assert seen("The room is $90 per night", "The room is $400 per week")["limits_differ"]


def test_what_vectors_tell_is_evidence_only_where_there_are_some() -> None:
    bare = pair("A dog runs", "A dog sleeps")
    assert not {"against", "has_against"} & evidence(bare).keys()
    found = evidence(bare._replace(against=700))
    assert (found["against"], found["has_against"]) == (700, 1000)
