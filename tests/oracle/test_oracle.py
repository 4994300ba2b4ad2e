"""The judge judged: small logs written by hand, and what each must fold into."""

from typing import Any

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import DocumentId, EventId, FactId, Kind, PassageId, Ref
from rewound.eventlog.instants import parse_instant
from tests.oracle.effect import effective_ids, without
from tests.oracle.fold import merged
from tests.oracle.reads import (
    Asked,
    listing,
    moment,
    recorded_times,
    search_visible,
    standing,
)
from tests.oracle.story import (
    CONTAINER,
    START,
    Story,
    doc,
    doc_ref,
    fact,
    fact_ref,
    msg,
    msg_ref,
    number,
    psg,
    recorded_at,
)


def at(text: str) -> int:
    return parse_instant(text).at


def ids(*positions: int) -> tuple[EventId, ...]:
    return tuple(EventId(number(position)) for position in positions)


# --- which events hold


def test_an_undone_event_and_all_it_caused_do_not_hold() -> None:
    story = Story()
    story.ingest(1, "x")  # 1, and 2 caused by it
    story.remember(1)
    story.undo(1)
    assert effective_ids(story.events) == set(ids(3, 4))


def test_undo_of_undo_of_undo() -> None:
    story = Story()
    first = story.remember(1)
    undo = story.undo(first)
    assert story.dump()["facts"] == {}
    again = story.undo(undo)
    assert fact(1) in story.dump()["facts"]
    story.undo(again)
    assert story.dump()["facts"] == {}


def test_without_removes_what_was_caused_however_far() -> None:
    story = Story()
    story.remember(1)
    story.supersede(2, (1,), causes=(1,))
    story.reinstate(1, 2, 2, causes=(2,))
    story.remember(3)
    assert [r.position for r in without(story.events, set(ids(1)))] == [4]


# --- containers


def test_a_container_keeps_settings_that_are_left_out() -> None:
    story = Story()
    con = Ref(Kind.CONTAINER, CONTAINER)
    story.add(e.ContainerConfigured(CONTAINER, story.text("old"), story.text("Europe/Berlin")))
    story.add(e.ContainerConfigured(CONTAINER))
    assert story.dump()["containers"] == {
        str(con): {"name": "old", "zone": "Europe/Berlin", "removed": False}
    }
    story.add(e.ContainerMoved(CONTAINER, story.piece("new")))
    story.add(e.ContainerRemoved(CONTAINER))
    row = story.dump()["containers"][str(con)]
    assert (row["name"], row["removed"]) == ("new", True)
    story.undo(3, 4)
    row = story.dump()["containers"][str(con)]
    assert (row["name"], row["removed"]) == ("old", False)


# --- documents and passages


def test_a_document_with_all_its_fields() -> None:
    story = Story()
    bodies = (story.piece("One.\n\n"), story.piece("Two."))
    event = e.DocumentIngested(
        DocumentId(number(1)),
        bodies,
        e.Media.MARKDOWN,
        story.text("title"),
        story.text("https://x"),
        story.text("mine"),
        story.value(["b", "a"]),
        story.value({"k": 1}),
        parse_instant("2024-03-01"),
    )
    position = story.add(event, scope={"user": "u"})
    story.cut(1, bodies, position)
    dump = story.dump()
    assert dump["documents"][doc(1)] == {
        "text": "One.\n\nTwo.",
        "media": "markdown",
        "title": "title",
        "address": "https://x",
        "caller_id": "mine",
        "tags": ["a", "b"],
        "importance": None,
        "metadata": {"k": 1},
        "said_at": at("2024-03-01"),
        "infer": True,
        "scope": {"user": "u"},
    }
    assert dump["passages"] == {
        psg(10): {"document": doc(1), "place": "1:0", "start": 0, "end": 6},
        psg(11): {"document": doc(1), "place": "1:1", "start": 0, "end": 4},
    }
    pending = {"state": "pending", "attempts": 0, "retry_at": None, "why": None}
    assert dump["jobs"] == {doc(1): pending}


def replaced(story: Story) -> int:
    """Document 1 with pieces x, y (1, 2) becomes x, z (3, 4); the passage of x is kept."""
    story.ingest(1, "x", "y", tags=story.value(["old"]))
    old = story.events[0].event
    assert isinstance(old, e.DocumentIngested)
    new = story.piece("z")
    at = story.add(
        e.DocumentReplaced(
            DocumentId(number(1)),
            (old.pieces[0].seen_from(1), new),
            kept=(PassageId(number(10)),),
            dropped=(PassageId(number(11)),),
        )
    )
    story.cut(1, (new,), at, first=12)
    return at


def test_a_replaced_document_keeps_old_bodies_and_passages() -> None:
    story = Story()
    replaced(story)
    dump = story.dump()
    assert dump["documents"][doc(1)]["text"] == "xz"
    assert dump["documents"][doc(1)]["tags"] == ["old"]
    assert sorted(dump["passages"]) == [psg(10), psg(12)]
    assert dump["passages"][psg(12)]["place"] == "3:0"
    before = story.dump_at(2)
    assert before["documents"][doc(1)]["text"] == "xy"
    assert sorted(before["passages"]) == [psg(10), psg(11)]


def test_undoing_a_replacement_brings_the_dropped_passages_back() -> None:
    story = Story()
    before = Story()
    before.ingest(1, "x", "y", tags=before.value(["old"]))
    story.undo(replaced(story))
    assert story.dump() == before.dump()


def test_a_replacement_alone_is_no_support() -> None:
    story = Story()
    replaced(story)
    story.undo(1)
    assert story.dump()["documents"] == {}


def test_replaced_tags_take_the_place_of_all_before_them() -> None:
    story = Story()
    story.ingest(1, "x", tags=story.value(["a"]))
    story.add(e.TagsEdited(doc_ref(1), story.value(["b"])))
    story.add(
        e.DocumentReplaced(DocumentId(number(1)), (story.piece("y"),), tags=story.value(["c"]))
    )
    story.add(e.TagsEdited(doc_ref(1), story.value(["d"]), story.value(["c"])))
    assert story.dump()["documents"][doc(1)]["tags"] == ["d"]


def test_importance_is_what_was_last_said_of_it() -> None:
    story = Story()
    story.ingest(1, "x", importance=300)
    told = [story.dump()["documents"][doc(1)]["importance"]]
    weighed = story.add(e.ImportanceSet(doc_ref(1), 0))
    told.append(story.dump()["documents"][doc(1)]["importance"])
    document = DocumentId(number(1))
    story.add(e.DocumentReplaced(document, (story.piece("y"),)))
    told.append(story.dump()["documents"][doc(1)]["importance"])
    replaced = story.add(e.DocumentReplaced(document, (story.piece("z"),), importance=1000))
    told.append(story.dump()["documents"][doc(1)]["importance"])
    story.undo(replaced)
    story.undo(weighed)
    told.append(story.dump()["documents"][doc(1)]["importance"])
    assert told == [300, 0, 0, 1000, 300]


def test_a_removed_document_is_gone_with_its_passages_until_undone() -> None:
    story = Story()
    story.ingest(1, "x")
    before = story.dump()
    removed = story.add(e.DocumentRemoved(DocumentId(number(1)), (PassageId(number(10)),)))
    gone = story.dump()
    assert (gone["documents"], gone["passages"], gone["jobs"]) == ({}, {}, {})
    story.undo(removed)
    assert story.dump() == before


def test_a_document_seen_again_outlives_its_first_event_but_not_its_passages() -> None:
    story = Story()
    story.ingest(1, "x", tags=story.value(["t"]))
    story.seen(doc_ref(1), 1)
    undo = story.undo(1)
    dump = story.dump()
    assert dump["documents"][doc(1)]["text"] == "x"
    assert dump["documents"][doc(1)]["tags"] == ["t"]
    assert dump["passages"] == {}
    old = story.events[0].event
    assert isinstance(old, e.DocumentIngested)
    cut = e.Cut(PassageId(number(77)), old.pieces[0].seen_from(1), 0, 1)
    story.add(e.PassagesCut(DocumentId(number(1)), (cut,)), causes=(undo,))
    assert story.dump()["passages"][psg(77)]["place"] == "1:1"
    story.undo(undo)
    assert sorted(story.dump()["passages"]) == [psg(10)]


def test_seen_again_may_point_to_a_seen_again() -> None:
    story = Story()
    story.remember(1, "tea")
    story.seen(fact_ref(1), 1)
    story.seen(fact_ref(1), 2)
    story.undo(1)
    row = story.dump()["facts"][fact(1)]
    assert (row["text"], row["valid_from"]) == ("tea", recorded_at(1))


# --- messages


def test_a_message_and_its_tags() -> None:
    story = Story()
    story.say(1, "hello", speaker=story.text("Ann"), tags=story.value(["t"]))
    story.add(e.TagsEdited(msg_ref(1), story.value(["u"])))
    story.seen(msg_ref(1), 1)
    row = story.dump()["messages"][msg(1)]
    assert (row["text"], row["speaker"], row["role"], row["tags"]) == (
        "hello",
        "Ann",
        "user",
        ["t", "u"],
    )
    story.undo(1)
    row = story.dump()["messages"][msg(1)]
    assert row["tags"] == ["t", "u"], "an edit counts also before what is the first support now"
    story.undo(3)
    assert story.dump()["messages"] == {}


# --- facts


def test_a_fact_with_all_its_fields() -> None:
    story = Story()
    story.say(1, "I like tea", infer=False)
    span = e.Span(msg_ref(1), Place(1, 0), 2, 10)
    statement = story.statement(
        "Ann likes tea",
        kind=e.FactKind.PREFERENCE,
        valid_from="2024-01-01",
        valid_to="2025-01-01",
        subject="Ann",
        attribute="drink",
        value=story.text("tea"),
        entities=story.value(["Ann", "tea"]),
    )
    event = e.FactRemembered(
        FactId(number(1)),
        statement,
        (span,),
        story.text("mine"),
        story.value(["t"]),
        story.value({"k": [1]}),
        parse_instant("2024-02-02T10:00:00+02:00"),
        expires_at=START,
        importance=700,
    )
    story.add(event, scope={"user": "u", "run": "r"})
    assert story.dump()["facts"] == {
        fact(1): {
            "text": "Ann likes tea",
            "kind": "preference",
            "valid_from": at("2024-01-01"),
            "valid_to": at("2025-01-01"),
            "subject": "Ann",
            "attribute": "drink",
            "value": "tea",
            "entities": ["Ann", "tea"],
            "sources": [[msg(1), "1:0", 2, 10]],
            "tags": ["t"],
            "importance": 700,
            "metadata": {"k": [1]},
            "scope": {"user": "u", "run": "r"},
            "said_at": at("2024-02-02T08:00:00Z"),
            "expires_at": START,
            "caller_id": "mine",
            "supersedes": [],
            "ended": None,
            "repeated_by": [],
            "extends": [],
            "unsaid_at": None,
        }
    }
    assert story.dump()["jobs"] == {}


def test_a_fact_extracted_falls_with_its_source() -> None:
    story = Story()
    source = story.say(1, "I like tea")
    span = e.Span(msg_ref(1), Place(1, 0), 0, 10)
    story.add(e.FactExtracted(FactId(number(1)), story.statement("tea"), (span,)), causes=(source,))
    row = story.dump()["facts"][fact(1)]
    assert (row["valid_from"], row["said_at"], row["metadata"]) == (recorded_at(2), None, None)
    story.undo(source)
    assert story.dump()["facts"] == {}


def test_sources_add_up_over_all_support() -> None:
    story = Story()
    spans = tuple(e.Span(msg_ref(n), Place(n, 0), 0, 1) for n in (1, 2))
    for span in spans:
        statement = story.statement("tea")
        story.add(e.FactExtracted(FactId(number(1)), statement, (span,)))
    story.seen(fact_ref(1), 1)
    both = [[msg(1), "1:0", 0, 1], [msg(2), "2:0", 0, 1]]
    assert story.dump()["facts"][fact(1)]["sources"] == both
    story.undo(1)
    assert story.dump()["facts"][fact(1)]["sources"] == both[::-1]
    story.undo(3)
    assert story.dump()["facts"][fact(1)]["sources"] == both[1:]


@pytest.mark.parametrize(
    ("fields", "end"),
    [
        ({}, recorded_at(2)),
        ({"said_at": parse_instant("2033-01-01")}, at("2033-01-01")),
        ({"said_at": parse_instant("2020-01-01")}, recorded_at(1)),
    ],
    ids=["recorded", "said", "said before it began"],
)
def test_an_edit_ends_the_old_version_in_the_world(fields: dict[str, Any], end: int) -> None:
    story = Story()
    story.remember(1)
    story.edit(2, (1,), **fields)
    old, new = (story.dump()["facts"][fact(n)] for n in (1, 2))
    told = fields["said_at"].at if fields else recorded_at(2)
    assert old["ended"] == {"by": fact(2), "at": told, "corrects": False, "repeats": False}
    assert (old["valid_from"], old["valid_to"]) == (recorded_at(1), end)
    assert (new["supersedes"], new["ended"], new["valid_to"]) == ([fact(1)], None, None)
    assert story.dump_at(1)["facts"][fact(1)]["ended"] is None


def test_a_correction_leaves_an_empty_interval() -> None:
    story = Story()
    story.remember(1)
    story.edit(2, (1,), corrects=True)
    old = story.dump()["facts"][fact(1)]
    assert old["ended"]["corrects"]
    assert old["valid_from"] == old["valid_to"] == recorded_at(1)


def chain(story: Story) -> None:
    """1 <- 2 <- 3 by edits at positions 1, 2, 3, each naming all before it."""
    story.remember(1, "one")
    story.edit(2, (1,), "two")
    story.edit(3, (2, 1), "three")


def current(story: Story) -> list[str]:
    return [item for item, row in story.dump()["facts"].items() if row["ended"] is None]


def test_an_edit_supersedes_all_before_it() -> None:
    story = Story()
    chain(story)
    assert story.dump()["facts"][fact(3)]["supersedes"] == [fact(2), fact(1)]


def test_only_what_is_not_reinstated_stays_superseded() -> None:
    story = Story()
    for value in (1, 2, 3):
        story.remember(value)
    ending = story.supersede(3, (2, 1))
    assert story.dump()["facts"][fact(3)]["supersedes"] == [fact(2), fact(1)]
    story.reinstate(2, ending, 3)
    assert story.dump()["facts"][fact(3)]["supersedes"] == [fact(1)]


def test_seen_again_of_seen_again_states_what_the_first_one_stated() -> None:
    story = Story()
    story.remember(1, "one")
    story.seen(fact_ref(1), 1)
    story.seen(fact_ref(1), 2)
    story.undo(1, 2)
    row = story.dump()["facts"][fact(1)]
    assert (row["text"], row["valid_from"]) == ("one", recorded_at(1))


def test_undo_of_the_middle_of_a_chain_leaves_one_current() -> None:
    story = Story()
    chain(story)
    assert current(story) == [fact(3)]
    story.undo(2)
    assert current(story) == [fact(3)]
    assert story.dump()["facts"][fact(1)]["ended"]["by"] == fact(3)
    assert fact(2) not in story.dump()["facts"]


def test_undo_of_the_end_of_a_chain_and_of_that_undo() -> None:
    story = Story()
    chain(story)
    before = story.dump()
    undo = story.undo(3)
    assert current(story) == [fact(2)]
    story.undo(undo)
    assert story.dump() == before


def test_cascade_takes_a_whole_chain() -> None:
    story = Story()
    chain(story)
    story.undo(1, 2, 3)
    assert story.dump()["facts"] == {}


def test_a_correction_counts_and_else_the_ending_earliest_in_world_time() -> None:
    story = Story()
    for each in (1, 2, 3, 4):
        story.remember(each)
    story.supersede(2, (1,), at=parse_instant("2031-01-01"))
    story.supersede(3, (1,), at=parse_instant("2010-01-01"))
    rows = story.dump()["facts"]
    ended = rows[fact(1)]["ended"]
    assert (ended["by"], ended["at"], ended["corrects"]) == (fact(3), at("2010-01-01"), False)
    assert (rows[fact(2)]["supersedes"], rows[fact(3)]["supersedes"]) == ([fact(1)], [fact(1)])
    correction = story.supersede(4, (1,), corrects=True)
    ended = story.dump()["facts"][fact(1)]["ended"]
    assert (ended["by"], ended["corrects"]) == (fact(4), True)
    story.undo(correction)
    story.undo(6)
    assert story.dump()["facts"][fact(1)]["ended"]["by"] == fact(2)


def test_only_the_version_corrected_itself_was_wrong() -> None:
    story = Story()
    for each in (1, 2, 3):
        story.remember(each)
    story.supersede(3, (2, 1), corrects=True)
    rows = story.dump()["facts"]
    assert [rows[fact(n)]["ended"]["corrects"] for n in (1, 2)] == [False, True]


def test_a_reinstated_fact_is_open_until_the_reinstating_falls() -> None:
    story = Story()
    story.remember(1)
    story.remember(2)
    ending = story.supersede(2, (1,))
    ended = story.dump()
    reinstated = story.reinstate(1, ending, 2)
    rows = story.dump()["facts"]
    assert (rows[fact(1)]["ended"], rows[fact(1)]["valid_to"]) == (None, None)
    assert rows[fact(2)]["supersedes"] == []
    story.undo(reinstated)
    assert story.dump() == ended


def test_a_fact_that_nothing_says_any_more_ends_until_it_is_stated_again() -> None:
    story = Story()
    story.ingest(1, "tea", "milk")
    spans = [e.Span(doc_ref(1), Place(1, slot), 0, 3) for slot in (0, 1)]
    stated = story.add(
        e.FactExtracted(FactId(number(1)), story.statement("tea"), (spans[0],)), causes=(1,)
    )
    open_row = story.dump()["facts"][fact(1)]
    ending = story.end(1)
    row = story.dump()["facts"][fact(1)]
    assert (row["unsaid_at"], row["valid_to"]) == (recorded_at(ending), recorded_at(ending))
    assert row["ended"] is None and standing(row, recorded_at(ending)) == "ended"
    earlier = story.end(1, at="2001-01-01")
    row = story.dump()["facts"][fact(1)]
    assert (row["unsaid_at"], row["valid_to"]) == (at("2001-01-01"), row["valid_from"])
    story.undo(earlier)
    assert story.dump()["facts"][fact(1)]["valid_to"] == recorded_at(ending)
    again = story.seen(fact_ref(1), stated, spans[1])
    row = story.dump()["facts"][fact(1)]
    assert (row["unsaid_at"], row["valid_to"]) == (None, None)
    assert row["sources"] == [[doc(1), "1:1", 0, 3], [doc(1), "1:0", 0, 3]], "where it stands now"
    story.undo(again)
    assert story.dump()["facts"][fact(1)]["valid_to"] == recorded_at(ending)
    story.undo(ending)
    assert story.dump()["facts"][fact(1)] == open_row
    assert story.dump_at(ending)["facts"][fact(1)]["unsaid_at"] == recorded_at(ending)


def test_a_fact_that_ends_before_it_begins_is_never_current() -> None:
    story = Story()
    story.remember(1, said_at=parse_instant("2030-01-01"))
    assert standing(story.dump()["facts"][fact(1)], recorded_at(9)) == "current"
    story.end(1)
    row = story.dump()["facts"][fact(1)]
    assert row["valid_to"] == row["valid_from"] and standing(row, recorded_at(9)) == "ended"


def test_the_last_statement_of_a_fact_counts() -> None:
    """Two events that assert one fact: undo of the later shows the earlier again."""
    story = Story()
    story.remember(1, "early", tags=story.value(["a"]))
    story.remember(1, "late", tags=story.value(["b"]))
    assert story.dump()["facts"][fact(1)]["text"] == "late"
    assert story.dump()["facts"][fact(1)]["tags"] == ["a"]
    story.undo(2)
    assert story.dump()["facts"][fact(1)]["text"] == "early"


# --- forgetting, restoring, erasing


def forgotten(story: Story) -> None:
    """Message 1 (position 1), fact 1 from it (2), forgotten with its span (3)."""
    story.say(1, "I like tea", infer=False)
    span = e.Span(msg_ref(1), Place(1, 0), 2, 10)
    story.remember(1, "Ann likes tea", sources=(span,))
    story.add(e.Forgotten(fact_ref(1), (fact_ref(1),), (span,)))


def restore(story: Story, lifts: tuple[int, ...], masks: tuple[e.Span, ...] = ()) -> int:
    return story.add(e.Restored(fact_ref(1), (fact_ref(1),), ids(*lifts), masks))


def test_forgotten_hides_at_every_position() -> None:
    story = Story()
    forgotten(story)
    for dump in (story.dump(), story.dump_at(2), story.dump_at(1)):
        assert dump["hidden"] == [fact(1)]
        assert dump["masks"] == {"1:0": [[2, 10]]}
    assert fact(1) in story.dump()["facts"]


def test_restored_lifts_the_spans_that_it_names() -> None:
    story = Story()
    forgotten(story)
    restored = restore(story, (3,))
    assert (story.dump()["hidden"], story.dump()["masks"]) == ([], {"1:0": [[2, 10]]})
    story.undo(restored)
    assert story.dump()["hidden"] == [fact(1)]
    restore(story, (3,), (e.Span(msg_ref(1), Place(1, 0), 2, 10),))
    assert (story.dump()["hidden"], story.dump()["masks"]) == ([], {})


def test_a_second_forgetting_needs_its_own_lift() -> None:
    story = Story()
    forgotten(story)
    story.add(e.Forgotten(msg_ref(1), (msg_ref(1), fact_ref(1))))
    restore(story, (3,))
    assert story.dump()["hidden"] == sorted([fact(1), msg(1)])
    restore(story, (4,))
    assert story.dump()["hidden"] == [msg(1)], "only what the restoring names"


def test_an_undone_forgetting_hides_nothing() -> None:
    story = Story()
    forgotten(story)
    story.undo(3)
    assert (story.dump()["hidden"], story.dump()["masks"]) == ([], {})
    assert story.dump_at(3)["hidden"] == [], "the overlay is today's"


def test_erased_is_hidden_for_ever_and_has_no_text() -> None:
    story = Story()
    story.ingest(1, "x", "y", title=story.text("t"))
    story.erase(doc_ref(1), Place(1, 1))  # slot 0 is the title
    dump = story.dump()
    assert dump["hidden"] == [doc(1)]
    assert dump["documents"][doc(1)]["text"] == "y"
    assert dump["documents"][doc(1)]["title"] == "t"
    story = Story()
    story.remember(1, "gone", tags=story.value(["t"]))
    story.erase(fact_ref(1), *story.kept)
    row = story.dump_at(1)["facts"][fact(1)]
    assert (row["text"], row["tags"]) == (None, [])


def test_spans_merge_where_they_touch() -> None:
    assert merged([[5, 7], [0, 2], [2, 3], [6, 9]]) == [[0, 3], [5, 9]]


# --- jobs


def finish(story: Story, places: tuple[Place, ...], why: e.Why = e.Why.DONE) -> int:
    return story.add(
        e.ExtractionFinished(msg_ref(1), story.piece("rules"), (), places, why), causes=(1,)
    )


def fail(story: Story, attempt: int, *, parked: bool = False) -> int:
    event = e.ExtractionFailed(
        msg_ref(1),
        story.piece("model"),
        attempt,
        e.Why.CUT_OFF,
        retry_at=None if parked else START,
        parked=parked,
    )
    return story.add(event, causes=(1,))


def test_a_job_is_pending_failed_parked_done() -> None:
    story = Story()
    story.say(1, "hello")
    assert story.dump()["jobs"][msg(1)]["state"] == "pending"
    fail(story, 1)
    assert story.dump()["jobs"][msg(1)] == {
        "state": "failed",
        "attempts": 1,
        "retry_at": START,
        "why": "cut_off",
    }
    parked = fail(story, 2, parked=True)
    assert story.dump()["jobs"][msg(1)]["state"] == "parked"
    story.undo(parked)
    assert story.dump()["jobs"][msg(1)]["attempts"] == 1
    finished = finish(story, (Place(1, 0),))
    assert story.dump()["jobs"] == {}
    story.undo(finished)
    assert story.dump()["jobs"][msg(1)]["state"] == "failed"


def test_a_message_that_is_asked_for_again_starts_its_job_afresh() -> None:
    story = Story()
    story.say(1, "hello")
    fail(story, 3)
    story.seen(msg_ref(1), 1)
    assert story.dump()["jobs"][msg(1)]["state"] == "failed", "sent again, it waits as it did"
    story.add(e.SeenAgain(msg_ref(1), 1), causes=(1,))
    assert story.dump()["jobs"][msg(1)]["state"] == "pending"


def test_a_job_is_done_when_every_piece_is_covered() -> None:
    story = Story()
    replaced(story)
    source, rules = doc_ref(1), story.piece("rules")
    story.add(e.ExtractionFinished(source, rules, (), (Place(1, 0), Place(1, 1))), causes=(1,))
    assert story.dump()["jobs"][doc(1)]["state"] == "pending", "piece 3:0 is new"
    story.add(e.ExtractionFinished(source, story.piece("rules"), (), (Place(3, 0),)), causes=(3,))
    assert story.dump()["jobs"] == {}


# --- reads


def test_what_a_read_may_show() -> None:
    story = Story()
    forgotten(story)  # message 1 shown, fact 1 hidden
    chain_start = story.next
    story.remember(2, "two")
    story.edit(3, (2,), "three")
    story.remember(4, "expires", expires_at=recorded_at(50))
    now = recorded_at(40)
    dump = story.dump()
    assert search_visible(dump, Asked(now=now)) == {msg(1), fact(3), fact(4)}
    assert search_visible(dump, Asked(now=recorded_at(50))) == {msg(1), fact(3)}
    old = (recorded_at(chain_start), recorded_at(chain_start) + 1)
    assert listing(dump, "fact", Asked(now=now, valid_at=old)) == [fact(2)]
    every = Asked(now=now, include_superseded=True, include_forgotten=True)
    assert listing(dump, "fact", every) == [fact(n) for n in (1, 2, 3, 4)]
    assert listing(dump, "fact", every, erased=[fact(1)]) == [fact(n) for n in (2, 3, 4)]


def test_what_begins_later_is_current_and_what_ends_later_still_is() -> None:
    story = Story()
    for value in (1, 2, 3):
        story.remember(value, said_at=None if value < 3 else parse_instant("2030-01-01"))
    story.remember(4)
    story.supersede(4, (2, 3), at=parse_instant("2031-01-01"))
    dump = story.dump()

    def states(now: int) -> list[str]:
        return [standing(dump["facts"][fact(value)], now) for value in (1, 2, 3)]

    assert states(recorded_at(9)) == ["current", "current", "superseded"], "3 begins later"
    assert states(at("2030-06-01")) == ["current"] * 3
    assert states(at("2031-01-01")) == ["current", "superseded", "superseded"]
    story.remember(5, said_at=parse_instant("2030-01-01"))
    assert standing(story.dump()["facts"][fact(5)], recorded_at(9)) == "current"


def test_since_and_until_take_the_recorded_time_when_none_was_said() -> None:
    story = Story()
    story.say(1, "hi")
    story.ingest(1, "x")
    times = recorded_times(story.events)
    assert times == {msg(1): recorded_at(1), doc(1): recorded_at(2)}

    def visible(**asked: Any) -> set[str]:
        return search_visible(story.dump(), Asked(now=recorded_at(9), recorded=times, **asked))

    assert visible(until=recorded_at(2)) == {msg(1)}
    assert visible(since=recorded_at(2)) == {psg(10)}


def test_filters() -> None:
    story = Story()
    story.ingest(1, "x", tags=story.value(["t"]), metadata=story.value({"k": 1}))
    story.say(1, "hi", said_at=parse_instant("2024-05-05"), caller_id=story.text("m1"))
    story.remember(1, sources=(e.Span(msg_ref(1), Place(3, 0), 0, 2),))
    dump, now = story.dump(), recorded_at(9)

    def visible(**asked: Any) -> set[str]:
        return search_visible(dump, Asked(now=now, **asked))

    assert visible() == {psg(10), msg(1), fact(1)}
    assert visible(tags=("t",)) == visible(metadata={"k": 1}) == visible(source=doc(1)) == {psg(10)}
    assert visible(source="m1") == visible(what=("message", "fact")) == {msg(1), fact(1)}
    assert visible(kinds=("fact",)) == {fact(1)}
    assert visible(kinds=("episode",)) == visible(scope={"user": "u"}) == set()
    day = moment("2024-05-05")
    assert visible(since=day[0], until=day[1]) == {msg(1)}
    assert listing(dump, "document", Asked(now=now)) == [doc(1)]
