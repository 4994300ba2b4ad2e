"""The judge judged: repeats, links, verdicts, labels, reviews and policies in small logs."""

from typing import Any

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.instants import parse_instant
from tests.oracle.reads import Asked, listing, standing
from tests.oracle.story import CONTAINER, Story, ev, fact, recorded_at

CON = str(Ref(Kind.CONTAINER, CONTAINER))
REVIEW, UPDATES, DISTINCT = e.Outcome.REVIEW, e.Outcome.UPDATES, e.Outcome.DISTINCT
NOW = recorded_at(50)


def told(*values: int) -> Story:
    """Facts 1, 2, … at positions 1, 2, …"""
    story = Story()
    for value in values:
        story.remember(value, f"text {value}")
    return story


def current(story: Story) -> list[str]:
    rows = story.dump()["facts"]
    return [item for item in rows if standing(rows[item], NOW) == "current"]


# --- repeats


def test_a_repeated_fact_is_support_and_no_version() -> None:
    story = told(1, 2)
    story.repeat(1, 2)
    rows = story.dump()["facts"]
    assert rows[fact(2)]["ended"] == {
        "by": fact(1),
        "at": recorded_at(2),
        "corrects": False,
        "repeats": True,
    }
    assert (rows[fact(2)]["valid_from"], rows[fact(2)]["valid_to"]) == (recorded_at(2),) * 2
    assert (rows[fact(1)]["supersedes"], rows[fact(1)]["repeated_by"]) == ([], [fact(2)])
    assert standing(rows[fact(2)], NOW) == standing(rows[fact(2)], 0) == "repeated"
    assert current(story) == [fact(1)]
    at = (recorded_at(2), recorded_at(3))
    assert listing(story.dump(), "fact", Asked(now=NOW, valid_at=at)) == [fact(1)]
    assert story.dump_at(2)["facts"][fact(2)]["ended"] is None


def test_repeats_are_kept_in_the_order_recorded_and_once() -> None:
    story = told(1, 2, 3)
    for value in (3, 2, 3):
        story.repeat(1, value)
    assert story.dump()["facts"][fact(1)]["repeated_by"] == [fact(3), fact(2)]
    story.undo(4)
    assert story.dump()["facts"][fact(1)]["repeated_by"] == [fact(2), fact(3)]


def test_a_reinstated_repeat_stands_for_itself_until_the_reinstating_falls() -> None:
    story = told(1, 2)
    repeat = story.repeat(1, 2)
    before = story.dump()
    reinstated = story.reinstate(2, repeat, 1)
    rows = story.dump()["facts"]
    assert (rows[fact(2)]["ended"], rows[fact(2)]["valid_to"]) == (None, None)
    assert rows[fact(1)]["repeated_by"] == []
    story.undo(reinstated)
    assert story.dump() == before


def test_a_repeat_falls_with_what_it_repeats() -> None:
    story = told(1, 2)
    story.repeat(1, 2, causes=(1,))
    story.undo(1)
    assert current(story) == [fact(2)]


@pytest.mark.parametrize(
    ("fields", "by", "repeats"),
    [
        ({"at": parse_instant("2001-01-01")}, 3, False),
        ({"at": parse_instant("2031-01-01")}, 1, True),
        ({"corrects": True}, 3, False),
    ],
    ids=["earlier", "later", "corrected"],
)
def test_a_repeat_is_an_ending_among_others(fields: dict[str, Any], by: int, repeats: bool) -> None:
    story = told(1, 2, 3)
    story.supersede(3, (2,), **fields)
    story.repeat(1, 2)
    rows = story.dump()["facts"]
    ended = rows[fact(2)]["ended"]
    assert (ended["by"], ended["repeats"]) == (fact(by), repeats)
    assert rows[fact(2)]["valid_from"] == rows[fact(2)]["valid_to"]
    assert rows[fact(1)]["repeated_by"] == rows[fact(3)]["supersedes"] == [fact(2)]


def test_a_repeat_lies_where_the_fact_begins() -> None:
    """Also when another statement of the fact is the last one: its time is not the event's."""
    story = told(1)
    story.remember(2, said_at=parse_instant("2020-01-01"))
    story.repeat(1, 2)
    row = story.dump()["facts"][fact(2)]
    assert row["ended"]["at"] == row["valid_to"] == parse_instant("2020-01-01").at


# --- links


def test_of_each_pair_the_last_link_counts_and_the_first_says_its_place() -> None:
    story = told(1, 2, 3)

    def extends() -> list[str]:
        return list(story.dump()["facts"][fact(3)]["extends"])

    first = story.link(3, 1)
    story.link(3, 2)
    off = story.link(3, 1, DISTINCT)
    assert extends() == [fact(2)]
    again = story.link(3, 1)
    assert extends() == [fact(1), fact(2)]
    story.undo(first)
    assert extends() == [fact(2), fact(1)]
    story.undo(again)
    assert extends() == [fact(2)]
    story.undo(off)
    assert extends() == [fact(2)], "nothing links 1 any more"
    assert story.dump()["facts"][fact(1)]["extends"] == [], "a link is its source's"
    assert story.dump_at(4)["facts"][fact(3)]["extends"] == [fact(1)]


# --- verdicts


def test_a_verdict_with_all_its_fields() -> None:
    story = told(1, 2, 3)
    fit = story.fit("weights")
    judged = story.judge(
        3,
        (1, REVIEW),
        (2, DISTINCT),
        causes=(3,),
        policy=story.events[fit - 1].envelope.event_id,
        judge=story.text("rules/1"),
        evidence=story.value([{"cosine": 800}, {"cosine": 12}]),
    )
    assert story.dump()["verdicts"] == {
        fact(3): {
            "at": judged,
            "event": ev(judged),
            "policy": ev(fit),
            "pairs": [[fact(1), "review", 900, "updates"], [fact(2), "distinct", 900, "distinct"]],
            "judge": b"rules/1",
            "evidence": [{"cosine": 800}, {"cosine": 12}],
            "labels": {},
        }
    }
    assert story.dump()["reviews"] == {fact(3): {"at": judged, "old": [fact(1)]}}
    story.undo(3)
    dump = story.dump()
    assert (dump["verdicts"], dump["reviews"]) == ({}, {}), "gone with the fact"
    assert story.dump_at(judged)["reviews"] != {}


def test_judging_anew_takes_nobodys_word_away() -> None:
    story = told(1, 2)
    first = story.judge(2, (1, REVIEW))
    label = story.label(first, 2, 1, UPDATES)
    second = story.judge(2, (1, REVIEW))
    row = story.dump()["verdicts"][fact(2)]
    assert (row["event"], row["labels"]) == (ev(second), {fact(1): ["updates", ev(label)]})
    assert story.dump()["reviews"] == {}
    late = story.label(second, 2, 1, DISTINCT)
    assert story.dump()["verdicts"][fact(2)]["labels"] == {fact(1): ["distinct", ev(late)]}
    story.undo(second)
    row = story.dump()["verdicts"][fact(2)]
    assert (row["event"], row["labels"]) == (ev(first), {fact(1): ["updates", ev(label)]})


def test_a_word_on_a_judging_that_was_taken_back_is_none() -> None:
    story = told(1, 2)
    first = story.judge(2, (1, REVIEW))
    story.label(first, 2, 1, UPDATES)
    second = story.judge(2, (1, REVIEW))
    undo = story.undo(first)
    assert story.dump()["verdicts"][fact(2)]["labels"] == {}
    assert story.dump()["reviews"] == {fact(2): {"at": second, "old": [fact(1)]}}
    story.undo(undo)
    assert story.dump()["reviews"] == {}


def test_a_review_is_open_until_somebody_says() -> None:
    story = told(1, 2, 3)
    judged = story.judge(3, (1, REVIEW), (2, REVIEW))
    label = story.label(judged, 3, 1, UPDATES)
    assert story.dump()["reviews"] == {fact(3): {"at": judged, "old": [fact(2)]}}
    other = story.label(judged, 3, 2, DISTINCT)
    assert story.dump()["reviews"] == {}
    assert story.dump_at(judged)["reviews"][fact(3)]["old"] == [fact(1), fact(2)]
    story.undo(label)
    assert story.dump()["reviews"][fact(3)]["old"] == [fact(1)]
    story.undo(other)
    assert story.dump()["reviews"][fact(3)]["old"] == [fact(1), fact(2)]


# --- what is still to be judged


def test_a_fact_is_to_be_judged_until_a_judging_of_it_holds() -> None:
    story = told(1, 2)
    assert story.dump()["unjudged"] == {fact(1): 1, fact(2): 2}
    alone = story.judge(1)
    assert story.dump()["unjudged"] == {fact(2): 2}, "compared with nothing is judged too"
    judged = story.judge(2, (1, DISTINCT), causes=(2,))
    assert story.dump()["unjudged"] == {}
    assert story.dump_at(2)["unjudged"] == {fact(1): 1, fact(2): 2}
    story.undo(alone)
    assert story.dump()["unjudged"] == {fact(1): 1}, "being the older one of a pair is not enough"
    undo = story.undo(2)
    assert fact(2) not in story.dump()["unjudged"], "a fact that is gone"
    story.undo(undo)
    story.undo(judged)
    assert story.dump()["unjudged"] == {fact(1): 1, fact(2): 2}


def test_edits_are_to_be_judged_and_so_is_what_is_only_seen_again() -> None:
    story = told(1)
    edit = story.edit(2, (1,))
    again = story.seen(Ref(Kind.FACT, story.events[0].event.creates()[0].id), 1)
    story.undo(1)
    assert story.dump()["unjudged"] == {fact(1): again, fact(2): edit}
    assert fact(1) in story.dump()["facts"]


# --- policies


def test_the_last_fit_that_holds_is_in_force() -> None:
    story = told(1, 2)
    judged = story.judge(2, (1, REVIEW))
    label = story.label(judged, 2, 1, UPDATES)
    first = story.fit("first")
    second = story.fit("second", label)
    assert story.dump()["policies"] == {CON: {"event": ev(second), "parameters": b"second"}}
    assert story.dump_at(first)["policies"] == {CON: {"event": ev(first), "parameters": b"first"}}
    story.undo(label)
    assert story.dump()["policies"] == {CON: {"event": ev(first), "parameters": b"first"}}
    story.undo(first)
    assert story.dump()["policies"] == {}
    assert story.dump()["containers"] == {}, "a policy makes no container"
