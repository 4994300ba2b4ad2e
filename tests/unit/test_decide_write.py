"""Writing: what has happened, what is sent, which events follow and what the reply says.

`tell` prints the events after a position as short lines, so that a test reads: given, when, then.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.errors import Conflict, InvalidInput, NotFound, Stale, WrongKind
from rewound.eventlog.ids import Kind, Ref, parse
from rewound.eventlog.log import Recorded
from rewound.memory import requests as q
from rewound.memory.drafting import NO_EXTRACTOR
from tests.unit.given import DAY_US, Store, open_store

TEA, MILK = "Ann likes tea.", "Ann likes milk."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as opened:
        yield opened


def head(store: Store) -> int:
    with store.view() as view:
        return view.position


def since(store: Store, position: int) -> list[Recorded]:
    with store.log.reading() as reader:
        return list(reader.events(store.container(), position))


def tell(store: Store, position: int) -> list[str]:
    """Names of the event types after a position."""
    return [type(recorded.event).__name__ for recorded in since(store, position)]


def remember(store: Store, *facts: q.NewFact, **fields: Any) -> Any:
    return store.ask(q.Remember(container=store.name, facts=facts, **fields))


def note(text: str, **fields: Any) -> q.NewFact:
    return q.NewFact(text=text, **fields)


def ingest(store: Store, *documents: q.NewDocument, **fields: Any) -> Any:
    return store.ask(q.Ingest(container=store.name, documents=documents, **fields))


def doc(text: str, **fields: Any) -> q.NewDocument:
    return q.NewDocument(text=text, **fields)


def chat(store: Store, *messages: q.NewMessage | str, **fields: Any) -> Any:
    sent = tuple(q.NewMessage(content=m) if isinstance(m, str) else m for m in messages)
    given = {"conversation": "talk", **fields}
    return store.ask(q.AddMessages(container=store.name, messages=sent, **given))


def update(store: Store, item: str, text: str | None = None, **fields: Any) -> Any:
    return store.ask(q.Update(container=store.name, id=item, text=text, **fields))


def statuses(reply: Any) -> list[str]:
    return [item.status for item in reply.items]


def ids(reply: Any) -> list[str]:
    return [item.id for item in reply.items]


def texts(store: Store, **fields: Any) -> list[str]:
    return [item.text for item in store.ask(q.List(container=store.name, **fields)).items]


def passages(store: Store, document: str) -> list[tuple[bytes, str]]:
    """Ids and texts of a document's passages in order."""
    with store.view() as view:
        rows = view.passages_of(parse(document, Kind.DOCUMENT))
        whole = [(row.id, view.text(row.state.body) or "", row.state) for row in rows]
        return [(raw, text[state.start : state.end]) for raw, text, state in whole]


def squeezed(store: Store, document: str) -> str:
    """What the passages hold together, less white space."""
    return "".join("".join(text.split()) for _, text in passages(store, document))


def text_of(store: Store, document: str) -> str:
    with store.view() as view:
        row = view.document(parse(document, Kind.DOCUMENT))
        assert row is not None
        return "".join(view.text(piece) or "" for piece in row.state.pieces)


# --- facts


def test_a_fact_is_kept_word_for_word_with_all_that_came_with_it(store: Store) -> None:
    before = head(store)
    reply = remember(
        store,
        note(
            TEA + "  \n",
            kind="preference",
            said_at="2025-03-01T10:00:00+01:00",
            valid_from="2025-03",
            valid_to="2027",
            expires_at="2026-06-01T00:00:00Z",
            subject="Ann",
            attribute="likes",
            value="tea",
            tags=("b", "a", "b"),
            metadata={"n": 1},
        ),
        scope=q.Scope(user="ann"),
    )
    assert tell(store, before) == ["FactRemembered"]
    assert statuses(reply) == ["written"]
    assert (reply.position, reply.pending, reply.refused) == (before + 1, 0, 0)
    view = store.get(reply.items[0].id)
    assert view.text == TEA + "  \n"
    assert (view.fact_kind, view.subject, view.attribute, view.value) == (
        "preference", "Ann", "likes", "tea"
    )  # fmt: skip
    assert (view.valid_from, view.valid_to) == ("2025-03", "2027")
    assert view.said_at == "2025-03-01T10:00:00+01:00"
    assert view.expires_at is not None and view.expires_at.startswith("2026-06-01T00:00:00")
    assert (view.tags, view.metadata, view.scope) == (("a", "b"), {"n": 1}, {"user": "ann"})


def test_equal_facts_are_one_item_and_say_so(store: Store) -> None:
    first = remember(store, note(TEA, tags=("a",)))
    before = head(store)
    again = remember(store, note("Ann likes tea.\r\n\r\n", tags=("a",)))
    assert ids(again) == ids(first)
    assert statuses(again) == ["seen again"]
    assert tell(store, before) == ["SeenAgain"]
    seen = since(store, before)[0].event
    assert isinstance(seen, e.SeenAgain)
    assert seen.at == before


@pytest.mark.parametrize(
    "other",
    [
        {"metadata": {"n": 1}},
        {"said_at": "2025-03-01"},
        {"kind": "preference"},
        {"valid_from": "2025"},
        {"expires_at": "2027"},
        {"value": "tea"},
    ],
)
def test_what_says_more_is_another_fact(store: Store, other: dict[str, Any]) -> None:
    reply = remember(store, note(TEA), note(TEA, **other), note(TEA, **other))
    assert statuses(reply) == ["written", "written", "seen again"]
    assert len(set(ids(reply))) == 2


def test_times_count_by_what_they_name(store: Store) -> None:
    reply = remember(
        store,
        note(TEA, said_at="2025-03-01T10:00:00Z"),
        note(TEA, said_at="2025-03-01T11:00:00+01:00"),
        note(TEA, said_at="2025-03-01"),
    )
    assert statuses(reply) == ["written", "seen again", "written"]


def test_the_items_of_one_command_see_each_other(store: Store) -> None:
    before = head(store)
    reply = remember(store, note(TEA), note(MILK), note(TEA, tags=("x",)))
    assert statuses(reply) == ["written", "written", "seen again"]
    assert tell(store, before) == ["FactRemembered", "FactRemembered", "SeenAgain", "TagsEdited"]
    assert store.get(reply.items[0].id).tags == ("x",)
    groups = {recorded.envelope.group for recorded in since(store, before)}
    assert len(groups) == 1
    assert reply.group == str(Ref(Kind.GROUP, groups.pop()))


def test_new_tags_on_what_is_known_are_added(store: Store) -> None:
    remember(store, note(TEA, tags=("a",)))
    before = head(store)
    again = remember(store, note(TEA, tags=("b",)))
    assert tell(store, before) == ["SeenAgain", "TagsEdited"]
    assert store.get(again.items[0].id).tags == ("a", "b")


def test_a_duplicate_is_support_of_its_own(store: Store) -> None:
    first = remember(store, note(TEA))
    remember(store, note(TEA))
    store.undo(first.items[0].event)
    assert texts(store) == [TEA]


def test_what_was_undone_is_written_anew(store: Store) -> None:
    first = remember(store, note(TEA))
    store.undo(first.items[0].event)
    again = remember(store, note(TEA))
    assert statuses(again) == ["written"]
    assert ids(again) != ids(first)


def test_a_scope_has_its_own_facts(store: Store) -> None:
    one = remember(store, note(TEA, id="x"), scope=q.Scope(user="ann"))
    other = remember(store, note(TEA, id="x"), scope=q.Scope(user="bob"))
    assert statuses(other) == ["written"]
    assert ids(one) != ids(other)
    assert statuses(remember(store, note(TEA, id="x"), scope=q.Scope(user="bob"))) == ["seen again"]


def test_what_was_superseded_and_is_said_again_now_is_news(store: Store) -> None:
    (old,) = ids(remember(store, note("Nina works at Orbit.")))
    update(store, old, "Nina works at Harbor.")
    again = remember(store, note("Nina works at Orbit."))
    assert statuses(again) == ["written"]
    assert sorted(texts(store)) == ["Nina works at Harbor.", "Nina works at Orbit."]


def test_an_old_statement_with_its_time_stays_superseded(store: Store) -> None:
    told = note("Nina works at Orbit.", said_at="2024-05-01")
    (old,) = ids(remember(store, told))
    (new,) = ids(update(store, old, "Nina works at Harbor."))
    again = remember(store, told)
    assert (statuses(again), ids(again), again.items[0].current) == (["seen again"], [old], new)
    assert any("superseded" in text for text in again.notes)
    assert texts(store) == ["Nina works at Harbor."]


def test_the_wording_of_an_edit_is_known_too(store: Store) -> None:
    (old,) = ids(remember(store, note(TEA)))
    (new,) = ids(update(store, old, MILK))
    assert ids(remember(store, note(MILK))) == [new]


@pytest.mark.parametrize(
    "fields",
    [
        {"valid_from": "2025-03-01", "valid_to": "2025-03-01"},
        {"said_at": "2025-03-01", "valid_to": "2024"},
        {"valid_to": "2025"},
        {"valid_from": "2025-03-01T10:00", "valid_to": "2025-03-01T10:00:00Z"},
    ],
)
def test_a_fact_that_ends_before_it_begins_is_refused(store: Store, fields: dict[str, Any]) -> None:
    before = head(store)
    with pytest.raises(InvalidInput) as refused:
        remember(store, note(TEA, **fields))
    assert refused.value.field == "valid_to"
    assert head(store) == before


def test_of_several_items_the_wrong_ones_are_refused(store: Store) -> None:
    before = head(store)
    reply = remember(
        store,
        note(TEA),
        note(MILK, id="m", said_at="2025", valid_to="2024", tags=("x",)),
        note(MILK),
    )
    assert statuses(reply) == ["written", "refused", "written"]
    assert reply.refused == 1
    refused = reply.items[1]
    assert (refused.kind, refused.id, refused.event, refused.caller_id) == (
        "fact", None, None, "m"
    )  # fmt: skip
    assert (refused.code, refused.field) == ("invalid_input", "valid_to")
    assert tell(store, before) == ["FactRemembered", "FactRemembered"]


def test_when_all_are_wrong_the_first_error_is_raised(store: Store) -> None:
    before = head(store)
    wrong = [note(text, said_at="2025", valid_to="2024") for text in (TEA, MILK)]
    with pytest.raises(InvalidInput) as refused:
        remember(store, *wrong)
    assert refused.value.field == "valid_to"
    assert head(store) == before


def test_a_time_without_an_offset_is_in_the_containers_zone(store: Store) -> None:
    store.configure(zone="Europe/Berlin")
    reply = remember(store, note(TEA, said_at="2025-07-01T10:00:00"))
    assert reply.notes == ("times without an offset were read in Europe/Berlin",)
    assert store.get(reply.items[0].id).said_at == "2025-07-01T10:00:00+02:00"
    assert remember(store, note(MILK, said_at="2025-07-01T10:00:00Z")).notes == ()


def test_what_has_expired_already_is_kept_and_said(store: Store) -> None:
    reply = remember(store, note(TEA, expires_at="2025"))
    assert statuses(reply) == ["written"]
    assert any("expired" in text for text in reply.notes)
    assert texts(store) == []


# --- facts under their caller's id


def test_another_wording_under_a_callers_id_is_a_new_version(store: Store) -> None:
    first = remember(store, note(TEA, id="drink", tags=("a",), metadata={"n": 1}, subject="Ann"))
    before = head(store)
    second = remember(store, note(MILK, id="drink", tags=("b",)))
    assert statuses(second) == ["replaced"]
    assert tell(store, before) == ["FactEdited"]
    view = store.get(second.items[0].id)
    assert (view.text, view.tags, view.metadata, view.subject) == (
        MILK, ("a", "b"), {"n": 1}, "Ann"
    )  # fmt: skip
    assert (view.caller_id, view.supersedes) == ("drink", tuple(ids(first)))
    third = remember(store, note(TEA, id="drink"))
    assert store.get(third.items[0].id).root == first.items[0].id
    assert texts(store) == [TEA]


def test_the_same_under_a_callers_id_is_seen_again(store: Store) -> None:
    first = remember(store, note(TEA, id="drink", metadata={"n": 1}, said_at="2025"))
    before = head(store)
    again = remember(store, note(TEA + "\r\n", id="drink", tags=("x",)))
    assert (statuses(again), ids(again)) == (["seen again"], ids(first))
    assert tell(store, before) == ["SeenAgain", "TagsEdited"]
    changed = remember(store, note(TEA, id="drink", metadata={"n": 2}))
    assert statuses(changed) == ["replaced"]


def test_two_wordings_under_one_id_in_one_command(store: Store) -> None:
    reply = remember(store, note(TEA, id="drink"), note(MILK, id="drink"), note(TEA, id="drink"))
    assert statuses(reply) == ["written", "replaced", "replaced"]
    assert texts(store) == [TEA]
    assert store.get(reply.items[0].id).current == reply.items[2].id


def test_a_callers_id_is_the_item_and_equal_text_is_not(store: Store) -> None:
    reply = remember(store, note(TEA, id="x"), note(TEA, id="y"), note(TEA))
    assert statuses(reply) == ["written"] * 3
    assert len(set(ids(reply))) == 3


def test_what_was_forgotten_under_a_callers_id_is_not_matched(store: Store) -> None:
    first = remember(store, note(TEA, id="drink"))
    store.forget(first.items[0].id)
    again = remember(store, note(MILK, id="drink"))
    assert statuses(again) == ["written"]
    assert store.get(again.items[0].id).supersedes == ()


# --- only if nothing happened since


def test_a_stale_write_is_refused(store: Store) -> None:
    first = remember(store, note(TEA, id="drink"))
    remember(store, note(MILK, id="drink"))
    with pytest.raises(Stale) as refused:
        remember(store, note("Ann likes juice.", id="drink"), unless_after=first.position)
    assert refused.value.field == "unless_after"
    with pytest.raises(Stale):
        update(store, first.items[0].id, "Ann likes juice.", unless_after=first.position)
    reply = remember(
        store,
        note("Ann likes juice.", id="drink"),
        note("Bob likes rum."),
        unless_after=first.position,
    )
    assert statuses(reply) == ["refused", "written"]
    assert reply.items[0].code == "stale"
    assert statuses(remember(store, note(TEA, id="drink"), unless_after=head(store))) == [
        "replaced"
    ]


# --- notes


def test_with_infer_a_text_is_a_note_to_draw_facts_from(store: Store) -> None:
    before = head(store)
    reply = remember(store, note(TEA, tags=("a",), said_at="2025", id="n"), infer=True)
    assert tell(store, before) == ["DocumentIngested", "PassagesCut"]
    item = reply.items[0]
    assert (item.status, item.kind, item.caller_id, item.pending) == (
        "written", "document", "n", True
    )  # fmt: skip
    assert reply.pending == 1
    assert NO_EXTRACTOR in reply.notes
    assert texts(store, what="document") == [TEA]


@pytest.mark.parametrize("field", ["valid_from", "valid_to", "expires_at", "subject", "value"])
def test_a_note_has_nothing_that_belongs_to_one_statement(store: Store, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        remember(store, note(TEA, **{field: "2027"}), infer=True)
    assert refused.value.field == field
    reply = remember(store, note(TEA, kind="episode"), note(MILK), infer=True)
    assert statuses(reply) == ["refused", "written"]


# --- documents


LONG = "\n\n".join(f"Paragraph {n} tells of day {n}. " + "It rained. " * 45 for n in range(20))


def test_a_document_is_kept_verbatim_and_cut_into_passages(store: Store) -> None:
    before = head(store)
    reply = ingest(
        store, doc("\n" + LONG + "\n\n", title="Diary", address="/tmp/d", media="markdown")
    )
    ingested, cut = since(store, before)
    assert isinstance(cut.event, e.PassagesCut)
    assert cut.envelope.causes == (ingested.envelope.event_id,)
    document = reply.items[0].id
    assert text_of(store, document) == "\n" + LONG + "\n\n"
    found = [cut.passage for cut in cut.event.passages]
    assert found == sorted(found)
    assert len(found) > 10
    assert squeezed(store, document) == "".join(LONG.split())
    view = store.get(document)
    assert (view.title, view.address, view.media) == ("Diary", "/tmp/d", "markdown")


def test_r16_the_same_text_is_one_document(store: Store) -> None:
    first = ingest(store, doc(LONG))
    before = head(store)
    twin = ingest(store, doc(LONG.replace("\n", "\r\n") + "\r\n\r\n"))
    assert (statuses(twin), ids(twin)) == (["seen again"], ids(first))
    assert tell(store, before) == ["SeenAgain"]
    batch = ingest(store, doc(TEA), doc(TEA + "\n"), doc(LONG))
    assert statuses(batch) == ["written", "seen again", "seen again"]
    assert len(texts(store, what="document")) == 2


@pytest.mark.parametrize(
    "other", [{"title": "T"}, {"address": "a"}, {"said_at": "2025"}, {"metadata": {"n": 1}}]
)
def test_another_title_or_time_is_another_document(store: Store, other: dict[str, Any]) -> None:
    reply = ingest(store, doc(LONG), doc(LONG, **other))
    assert statuses(reply) == ["written", "written"]


def test_another_content_under_a_callers_id_replaces(store: Store) -> None:
    (document,) = ids(ingest(store, doc(LONG, id="d", tags=("a",), title="Old")))
    old = passages(store, document)
    before = head(store)
    reply = ingest(store, doc(LONG.replace("Paragraph 7 ", "Chapter 7 "), id="d", title="New"))
    assert (statuses(reply), ids(reply)) == (["replaced"], [document])
    replaced, cut = (recorded.event for recorded in since(store, before))
    assert isinstance(replaced, e.DocumentReplaced)
    assert isinstance(cut, e.PassagesCut)
    assert (len(replaced.dropped), len(cut.passages)) == (1, 1)
    assert len(replaced.kept) == len(old) - 1
    new = passages(store, document)
    assert [text for _, text in new if text not in {text for _, text in old}] == [
        text for _, text in new if "Chapter 7" in text
    ]
    assert {raw for raw, _ in new} & {raw for raw, _ in old} == set(replaced.kept)
    assert text_of(store, document) == LONG.replace("Paragraph 7 ", "Chapter 7 ")
    view = store.get(document)
    assert (view.title, view.tags, view.caller_id) == ("New", ("a",), "d")


def test_undoing_a_replacement_brings_the_old_text_back(store: Store) -> None:
    (document,) = ids(ingest(store, doc(LONG, id="d")))
    old = passages(store, document)
    reply = ingest(store, doc("Something else.", id="d"))
    assert [text for _, text in passages(store, document)] == ["Something else."]
    store.undo(reply.items[0].event)
    assert passages(store, document) == old
    assert text_of(store, document) == LONG


def test_pieces_that_moved_or_stand_twice_are_told_apart(store: Store) -> None:
    parts = [f"{n} " + "word " * 90 + "end.\n\n" for n in range(6)]
    (document,) = ids(ingest(store, doc("".join(parts), id="d")))
    again = "".join([parts[3], parts[4], parts[0], parts[1], parts[0], parts[1], *parts[2:]])
    reply = ingest(store, doc(again, id="d"))
    assert statuses(reply) == ["replaced"]
    assert text_of(store, document) == again
    found = passages(store, document)
    assert len({raw for raw, _ in found}) == len(found)
    assert squeezed(store, document) == "".join(again.split())


def test_the_same_under_a_callers_id_is_one_document(store: Store) -> None:
    first = ingest(store, doc(LONG, id="d", tags=("a",)))
    before = head(store)
    again = ingest(store, doc(LONG.replace("\n", "\r\n"), id="d", tags=("b",)))
    assert (statuses(again), ids(again)) == (["seen again"], ids(first))
    assert tell(store, before) == ["SeenAgain", "TagsEdited"]
    assert store.get(first.items[0].id).tags == ("a", "b")


def test_three_versions_in_one_command(store: Store) -> None:
    reply = ingest(store, doc(LONG, id="d"), doc(TEA, id="d"), doc(LONG + TEA, id="d"))
    assert statuses(reply) == ["written", "replaced", "replaced"]
    (document,) = set(ids(reply))
    assert text_of(store, document) == LONG + TEA
    assert squeezed(store, document) == "".join((LONG + TEA).split())


def test_other_metadata_or_media_replaces_and_keeps_the_pieces(store: Store) -> None:
    (document,) = ids(ingest(store, doc(LONG, id="d")))
    old = passages(store, document)
    for changed in ({"metadata": {"n": 1}}, {"metadata": {"n": 1}, "said_at": "2025"}):
        before = head(store)
        assert statuses(ingest(store, doc(LONG, id="d", **changed))) == ["replaced"]
        assert tell(store, before) == ["DocumentReplaced"]
        assert passages(store, document) == old


def test_a_document_that_is_gone_is_not_matched(store: Store) -> None:
    plain, named = doc(LONG), doc(LONG, id="d")
    for new in (plain, named):
        first = ingest(store, new)
        store.forget(first.items[0].id)
        second = ingest(store, new)
        assert statuses(second) == ["written"]
        store.undo(second.items[0].event)
        third = ingest(store, new)
        assert statuses(third) == ["written"]
        assert len({*ids(first), *ids(second), *ids(third)}) == 3


def test_r17_a_large_document_and_its_second_version(store: Store) -> None:
    lines = [f"Line {number}: nothing of note was seen." for number in range(1, 20_001)]
    lines[6], lines[9_999], lines[19_992] = "Line 7: ZXALPHA.", "Line 10000: ZXMID.", "ZXOMEGA."
    first = ingest(store, doc("\n".join(lines), id="log"))
    document = first.items[0].id
    for word in ("ZXALPHA", "ZXMID", "ZXOMEGA"):
        assert store.ask(q.Search(container=store.name, query=word)).hits
    lines[6] = "Line 7: ZXBETA."
    before = head(store)
    reply = ingest(store, doc("\n".join(lines), id="log"))
    assert statuses(reply) == ["replaced"]
    replaced, cut = (recorded.event for recorded in since(store, before))
    assert isinstance(replaced, e.DocumentReplaced)
    assert isinstance(cut, e.PassagesCut)
    assert len(cut.passages) == len(replaced.dropped) == 1
    assert sum(piece.at == 0 for piece in replaced.pieces) == 1
    assert not store.ask(q.Search(container=store.name, query="ZXALPHA")).hits
    for word in ("ZXBETA", "ZXMID", "ZXOMEGA"):
        assert store.ask(q.Search(container=store.name, query=word)).hits
    assert text_of(store, document) == "\n".join(lines)


@pytest.mark.slow
def test_ten_megabytes_of_one_word_are_a_document(store: Store) -> None:
    reply = ingest(store, doc("a" * 10_000_000))
    assert statuses(reply) == ["written"]
    assert len(text_of(store, reply.items[0].id)) == 10_000_000


# --- documents taken as a fact


def test_without_infer_the_whole_text_is_a_fact(store: Store) -> None:
    before = head(store)
    reply = ingest(store, doc(TEA, tags=("a",), metadata={"n": 1}, said_at="2025"), infer=False)
    ingested, cut, stated = since(store, before)
    assert isinstance(cut.event, e.PassagesCut)
    assert isinstance(stated.event, e.FactRemembered)
    assert stated.envelope.causes == (ingested.envelope.event_id,)
    assert stated.event.statement.text.at == ingested.position
    (item,) = reply.items
    assert (item.pending, reply.notes) == (False, ("times without an offset were read in UTC",))
    view = store.get(item.facts[0])
    assert (view.text, view.tags, view.metadata, view.valid_from) == (TEA, ("a",), {"n": 1}, "2025")
    assert [source.id for source in view.sources] == [item.id]


def test_a_fact_of_several_pieces_has_its_own_wording(store: Store) -> None:
    text = LONG[:6_000]
    (item,) = ingest(store, doc(text), infer=False).items
    view = store.get(item.facts[0])
    assert view.text == text
    assert len({(source.start, source.end) for source in view.sources}) > 1


def test_a_text_too_long_for_a_fact_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput) as refused:
        ingest(store, doc("a" * 10_001), infer=False)
    assert "infer" in refused.value.message
    assert statuses(ingest(store, doc("a" * 10_000), infer=False)) == ["written"]


def test_sent_again_the_fact_is_not_stated_twice(store: Store) -> None:
    first = ingest(store, doc(TEA), infer=False)
    again = ingest(store, doc(TEA), infer=False)
    assert again.items[0].facts == first.items[0].facts
    store.update(first.items[0].facts[0], MILK)
    third = ingest(store, doc(TEA), infer=False)
    assert (statuses(third), third.items[0].facts) == (["seen again"], ())
    assert texts(store) == [MILK]


def test_another_text_takes_the_place_of_the_fact(store: Store) -> None:
    first = ingest(store, doc(TEA, id="d"), infer=False)
    before = head(store)
    second = ingest(store, doc(MILK, id="d"), infer=False)
    assert tell(store, before) == [
        "DocumentReplaced", "PassagesCut", "FactRemembered", "FactSuperseded"
    ]  # fmt: skip
    assert texts(store) == [MILK]
    assert store.get(first.items[0].facts[0]).current == second.items[0].facts[0]
    store.undo(second.items[0].event)
    assert texts(store) == [TEA]


def test_turning_infer_on_and_off_keeps_one_document(store: Store) -> None:
    first = ingest(store, doc(TEA))
    assert first.items[0].pending
    second = ingest(store, doc(TEA), infer=False)
    assert (statuses(second), ids(second)) == (["replaced"], ids(first))
    assert not second.items[0].pending
    assert texts(store) == [TEA]
    third = ingest(store, doc(TEA))
    assert (ids(third), third.items[0].pending) == (ids(first), True)


def test_a_document_whose_fact_was_forgotten_is_kept_anew(store: Store) -> None:
    first = ingest(store, doc(TEA), infer=False)
    store.forget(first.items[0].facts[0])
    again = ingest(store, doc(TEA), infer=False)
    assert statuses(again) == ["written"]
    assert texts(store) == [TEA]
    synced = ingest(store, doc(MILK, id="d"), infer=False)
    store.forget(synced.items[0].facts[0])
    assert statuses(ingest(store, doc(MILK, id="d"), infer=False)) == ["seen again"]
    assert MILK not in texts(store)


# --- removing documents


def test_a_removed_document_is_gone_now_and_was_there(store: Store) -> None:
    reply = ingest(store, doc(TEA, id="d"), doc(MILK), infer=False)
    removed = store.ask(q.RemoveDocument(container=store.name, id="d"))
    assert (statuses(removed), ids(removed)) == (["done"], [ids(reply)[0]])
    assert any("1 fact stays" in text for text in removed.notes)
    assert texts(store, what="document") == [MILK]
    assert texts(store, what="passage") == [MILK]
    assert len(texts(store, what="document", as_of=f"@{reply.position}")) == 2
    store.ask(q.RemoveDocument(container=store.name, id=ids(reply)[1]))
    assert texts(store, what="document") == []
    assert sorted(texts(store)) == [MILK, TEA]
    back = ingest(store, doc(TEA, id="d"))
    assert statuses(back) == ["written"]
    store.undo(removed.items[0].event)
    assert len(texts(store, what="document")) == 2


def test_what_is_no_document_cannot_be_removed(store: Store) -> None:
    (fact,) = ids(remember(store, note(TEA)))
    (document,) = ids(ingest(store, doc(MILK)))

    def remove(item: str, **fields: Any) -> Any:
        return store.ask(q.RemoveDocument(container=store.name, id=item, **fields))

    with pytest.raises(WrongKind) as wrong:
        remove(fact)
    assert "a fact" in wrong.value.message
    for unknown in ("nope", document[:-1] + ("0" if document[-1] != "0" else "1")):
        with pytest.raises(NotFound):
            remove(unknown)
    with pytest.raises(NotFound):
        remove(document, scope=q.Scope(user="ann"))
    remove(document)
    with pytest.raises(NotFound):
        remove(document)
    with pytest.raises(NotFound):
        store.ask(q.RemoveDocument(container="nowhere", id=document))


# --- messages


def test_messages_stand_in_order_with_who_said_them(store: Store) -> None:
    before = head(store)
    reply = chat(
        store,
        q.NewMessage(content="Hello.", role="user", name="Ann", time="2025-03-01T10:00:00Z"),
        q.NewMessage(content="Good day.", role="assistant", tags=("x",), metadata={"n": 1}),
    )
    assert tell(store, before) == ["MessageRecorded", "MessageRecorded"]
    first, second = (recorded.event for recorded in since(store, before))
    assert isinstance(first, e.MessageRecorded)
    assert isinstance(second, e.MessageRecorded)
    assert (first.ordinal, second.ordinal) == (0, 1)
    assert first.conversation == second.conversation
    view = store.get(ids(reply)[0])
    assert (view.role, view.speaker, view.conversation) == ("user", "Ann", "talk")
    assert [item.pending for item in reply.items] == [True, True]
    assert reply.pending == 2


def test_a_transcript_sent_again_adds_only_what_is_new(store: Store) -> None:
    first = chat(store, "Hello.", "Good day.", "Tea?")
    again = chat(store, "Hello.", "Good day.\r\n", "Tea?", "Yes.")
    assert statuses(again) == ["seen again"] * 3 + ["written"]
    assert ids(again)[:3] == ids(first)
    later = chat(store, "Tea?", "Yes.", "Here.")
    assert statuses(later) == ["seen again", "seen again", "written"]
    begin = chat(store, "Hello.", "Good day.")
    assert statuses(begin) == ["seen again"] * 2
    assert texts(store, what="message") == ["Hello.", "Good day.", "Tea?", "Yes.", "Here."]


def test_yes_twice_is_two_messages(store: Store) -> None:
    reply = chat(store, "Yes.", "Yes.")
    assert statuses(reply) == ["written", "written"]
    more = chat(store, "Tea?", "Yes.")
    assert statuses(more) == ["written", "written"]


def test_a_single_message_is_compared_with_the_last_one_only(store: Store) -> None:
    chat(store, "Yes.", "Tea?")
    assert statuses(chat(store, "Tea?")) == ["seen again"]
    assert statuses(chat(store, "Yes.")) == ["written"]


@pytest.mark.parametrize(
    "other", [{"role": "assistant"}, {"name": "Bob"}, {"time": "2025-03-01T10:00:00Z"}]
)
def test_another_speaker_or_time_is_another_message(store: Store, other: dict[str, Any]) -> None:
    chat(store, "Hello.", "Yes.")
    assert statuses(chat(store, q.NewMessage(content="Yes.", **other))) == ["written"]


def timed(text: str, minute: int) -> q.NewMessage:
    return q.NewMessage(content=text, time=f"2025-03-01T10:{minute:02}:00Z")


def test_a_timed_part_of_a_transcript_is_found_wherever_it_stands(store: Store) -> None:
    said = [timed("Yes." if n % 2 else f"Question {n}?", n) for n in range(30)]
    chat(store, *said)
    assert statuses(chat(store, *said[10:20])) == ["seen again"] * 10
    assert statuses(chat(store, *said[25:], timed("Bye.", 40))) == ["seen again"] * 5 + ["written"]
    assert statuses(chat(store, "Question 0?", "Question 2?")) == ["written"] * 2


def test_conversations_and_scopes_are_apart(store: Store) -> None:
    chat(store, "Hello.", "Yes.")
    assert statuses(chat(store, "Hello.", "Yes.", conversation="other")) == ["written"] * 2
    assert statuses(chat(store, "Hello.", "Yes.", scope=q.Scope(user="a"))) == ["written"] * 2
    assert statuses(chat(store, "Hello.", "Yes.", scope=q.Scope(user="a"))) == ["seen again"] * 2


def test_a_message_is_its_callers_id(store: Store) -> None:
    def named(number: int, text: str) -> q.NewMessage:
        return q.NewMessage(content=text, id=f"m{number}")

    first = chat(store, named(1, "Yes."), named(2, "Yes."))
    assert statuses(first) == ["written"] * 2
    again = chat(store, named(2, "Yes."), named(3, "No."), named(1, "Yes."))
    assert statuses(again) == ["seen again", "written", "seen again"]
    assert [ids(again)[0], ids(again)[2]] == [ids(first)[1], ids(first)[0]]
    twice = chat(store, named(4, "Oh."), named(4, "Oh."), named(4, "Ah."))
    assert statuses(twice) == ["written", "seen again", "refused"]
    assert (twice.items[2].code, twice.items[2].field) == ("conflict", "id")
    with pytest.raises(Conflict):
        chat(store, named(1, "No."))
    other = chat(store, named(1, "No."), conversation="other")
    assert statuses(other) == ["written"]


def test_messages_with_and_without_ids_keep_their_own_order(store: Store) -> None:
    mixed: list[q.NewMessage | str] = [
        "One.",
        q.NewMessage(content="Two.", id="2"),
        "Three.",
        "Four.",
    ]
    chat(store, *mixed)
    again = chat(store, *mixed, "Five.")
    assert statuses(again) == ["seen again"] * 4 + ["written"]
    assert statuses(chat(store, "Four.", "Five.")) == ["seen again"] * 2


def test_a_forgotten_message_sent_again_is_a_new_one_in_its_place(store: Store) -> None:
    sent = ["Hello.", "My PIN is 7391.", "Thanks.", "Bye."]
    first = chat(store, *sent)
    store.forget(ids(first)[1])
    again = chat(store, *sent)
    assert statuses(again) == ["seen again", "written", "seen again", "seen again"]
    assert ids(again)[1] not in ids(first)
    assert any("forgotten" in text for text in again.notes)
    third = chat(store, *sent, "More.")
    assert statuses(third) == ["seen again"] * 4 + ["written"]
    assert ids(third)[:4] == ids(again)
    with store.view() as view:
        row = view.message(parse(ids(third)[0], Kind.MESSAGE))
        assert row is not None
        shown = view.messages_of(row.state.conversation)
        visible = [row for row in shown if not view.hidden(Ref(Kind.MESSAGE, row.id))]
        assert [view.text(row.state.text) for row in visible] == [*sent, "More."]


def test_a_single_forgotten_message_sent_again_is_new(store: Store) -> None:
    for caller_id in (None, "m"):
        message = q.NewMessage(content="Gym code 4471", id=caller_id)
        first = chat(store, message)
        store.forget(ids(first)[0])
        assert statuses(chat(store, message)) == ["written"]
        assert statuses(chat(store, message)) == ["seen again"]


def test_an_undone_message_is_missing_and_comes_back_alone(store: Store) -> None:
    sent = ["Hello.", "Tea?", "Yes.", "Bye."]
    first = chat(store, *sent)
    store.undo(first.items[1].event)
    again = chat(store, *sent)
    assert statuses(again) == ["seen again", "written", "seen again", "seen again"]
    store.undo(again.items[0].event, cascade=True)
    assert sorted(texts(store, what="message")) == sorted(sent)


def test_a_long_conversation_goes_on_message_by_message(store: Store) -> None:
    chat(store, *(f"Message {n}." for n in range(1_500)))
    for n in range(1_500, 1_510):
        remember(store, *(note(f"Fact {n} {k}.") for k in range(60)))
        assert statuses(chat(store, f"Message {n - 1}.", f"Message {n}.")) == [
            "seen again", "written"
        ]  # fmt: skip
    with store.view() as view:
        events = [recorded.event for recorded in since(store, 0)]
        recorded = [event for event in events if isinstance(event, e.MessageRecorded)]
        assert [event.ordinal for event in recorded] == list(range(1_510))
        assert len(view.messages_of(recorded[0].conversation)) == 1_510


def test_without_infer_a_message_is_a_fact_too(store: Store) -> None:
    before = head(store)
    reply = chat(store, q.NewMessage(content=TEA, time="2025-03-01T10:00:00Z"), infer=False)
    said, stated = since(store, before)
    assert isinstance(said.event, e.MessageRecorded)
    assert isinstance(stated.event, e.FactRemembered)
    assert stated.envelope.causes == (said.envelope.event_id,)
    assert (statuses(reply), reply.pending) == (["written"], 0)
    view = store.get(reply.items[0].facts[0])
    assert (view.text, view.valid_from) == (TEA, "2025-03-01T10:00:00Z")
    assert [source.id for source in view.sources] == ids(reply)
    again = chat(store, q.NewMessage(content=TEA, time="2025-03-01T10:00:00Z"), infer=False)
    assert again.items[0].facts == reply.items[0].facts
    kept = chat(store, q.NewMessage(content=TEA, time="2025-03-01T10:00:00Z"))
    assert any("infer off" in text for text in kept.notes)


def test_a_message_kept_with_infer_can_be_taken_as_a_fact_later(store: Store) -> None:
    chat(store, TEA)
    reply = chat(store, TEA, infer=False)
    assert statuses(reply) == ["seen again"]
    assert texts(store) == [TEA]


def test_a_conversation_that_went_on_makes_a_reply_to_it_stale(store: Store) -> None:
    first = chat(store, "Hello.")
    chat(store, "Hello.", "Good day.")
    with pytest.raises(Stale):
        chat(store, "Anyone?", unless_after=first.position)
    assert statuses(chat(store, "Anyone?", unless_after=head(store))) == ["written"]


# --- updates


def test_r07_a_correction_leaves_one_current_version(store: Store) -> None:
    (first,) = ids(remember(store, note("The demo is at 3 pm.", tags=("demo",))))
    (second,) = ids(update(store, first, "The demo is at 4 pm."))
    reply = update(store, first, "The demo is at 5 pm, room Teal.")
    (third,) = ids(reply)
    assert texts(store) == ["The demo is at 5 pm, room Teal."]
    assert reply.items[0].current == third
    assert any(second in text for text in reply.notes)
    history = store.ask(q.History(container=store.name, id=second))
    assert [version.id for version in history.versions] == [first, second, third]
    assert history.current == third
    hits = store.ask(q.Search(container=store.name, query="demo 3 pm 4 pm")).hits
    assert [hit.id for hit in hits] == [third]
    assert store.get(third).tags == ("demo",)


def test_an_edit_ends_the_whole_chain(store: Store) -> None:
    (first,) = ids(remember(store, note("One.")))
    second, third = store.update(first, "Two."), store.update(first, "Three.")
    edited = since(store, 0)[-1].event
    assert isinstance(edited, e.FactEdited)
    assert [str(Ref(Kind.FACT, raw)) for raw in edited.ends] == [second, first]
    events = store.events(about=second)
    store.undo(events[0].id, cascade=True)
    assert texts(store) == ["One."]
    assert third not in store.listed()


def test_the_same_wording_is_unchanged(store: Store) -> None:
    (fact,) = ids(remember(store, note(TEA, tags=("a",))))
    before = head(store)
    reply = update(store, fact, TEA + "\n", add_tags=("a",))
    assert (statuses(reply), ids(reply)) == (["unchanged"], [fact])
    assert tell(store, before) == ["SeenAgain"]
    tagged = update(store, fact, TEA, add_tags=("b",), remove_tags=("a",))
    assert (statuses(tagged), ids(tagged)) == (["written"], [fact])
    assert store.get(fact).tags == ("b",)
    assert tell(store, before) == ["SeenAgain", "TagsEdited"]


def test_a_new_version_keeps_what_was_not_changed(store: Store) -> None:
    fields: dict[str, Any] = {
        "kind": "preference",
        "subject": "Ann",
        "attribute": "likes",
        "value": "tea",
        "metadata": {"n": 1},
        "tags": ("a", "b"),
        "valid_from": "2025",
        "valid_to": "2028",
        "expires_at": "2027-01-01T00:00:00Z",
    }
    (fact,) = ids(remember(store, note(TEA, **fields), scope=q.Scope(user="ann")))
    (new,) = ids(update(store, fact, MILK, add_tags=("c",), remove_tags=("a",)))
    view = store.get(new)
    assert (view.fact_kind, view.subject, view.attribute, view.value) == (
        "preference", "Ann", "likes", None
    )  # fmt: skip
    assert (view.metadata, view.tags, view.scope) == ({"n": 1}, ("b", "c"), {"user": "ann"})
    assert (view.valid_to, view.expires_at) == ("2028", store.get(fact).expires_at)
    assert view.valid_from == view.recorded_at
    (same,) = ids(update(store, new, MILK, metadata={}))
    assert store.get(same).metadata == {}
    listed = store.ask(q.List(container=store.name, filters=q.Filters(scope=q.Scope(user="ann"))))
    assert [item.id for item in listed.items] == [same]


def test_a_change_holds_from_its_time_and_the_old_until_then(store: Store) -> None:
    (old,) = ids(remember(store, note("Ann lives in Oslo.", valid_from="2020")))
    update(store, old, "Ann lives in Rome.", valid_from="2025-06-01T00:00:00Z")
    assert texts(store, valid_at="2024-01-01T00:00:00Z") == ["Ann lives in Oslo."]
    assert texts(store, valid_at="2025-07-01T00:00:00Z") == ["Ann lives in Rome."]


def test_a_correction_holds_from_when_the_wrong_one_was_said_to(store: Store) -> None:
    (old,) = ids(remember(store, note("Ann lives in Oslo.", valid_from="2020")))
    update(store, old, "Ann lives in Rome.", corrects=True, said_at="2025-12-01")
    assert texts(store, valid_at="2021-01-01T00:00:00Z") == ["Ann lives in Rome."]
    (plain,) = ids(remember(store, note(TEA)))
    store.clock.at += DAY_US
    (right,) = ids(update(store, plain, MILK, corrects=True))
    recorded_at = store.get(plain).recorded_at
    assert store.get(right).valid_from == recorded_at != store.get(right).recorded_at


def test_an_expired_fact_is_alive_again_with_a_new_wording(store: Store) -> None:
    (old,) = ids(remember(store, note(TEA, expires_at="2026-01-01T12:00:00Z")))
    store.clock.at += DAY_US
    assert texts(store) == []
    update(store, old, MILK)
    assert texts(store) == [MILK]


def test_an_update_that_ends_before_it_begins_is_refused(store: Store) -> None:
    (fact,) = ids(remember(store, note(TEA)))
    with pytest.raises(InvalidInput) as refused:
        update(store, fact, TEA, valid_to="2025")
    assert refused.value.field == "valid_to"


def test_tags_of_any_item_can_be_edited(store: Store) -> None:
    items = [
        *ids(remember(store, note(TEA, tags=("a",)))),
        *ids(ingest(store, doc(LONG, tags=("a",)))),
        *ids(chat(store, q.NewMessage(content="Hello.", tags=("a",)))),
    ]
    for item in items:
        before = head(store)
        reply = update(store, item, add_tags=("b", "c"), remove_tags=("a", "z"))
        assert (statuses(reply), ids(reply)) == (["written"], [item])
        assert tell(store, before) == ["TagsEdited"]
        assert store.get(item).tags == ("b", "c")
        same = update(store, item, add_tags=("b",), remove_tags=("a",))
        assert statuses(same) == ["unchanged"]
        assert tell(store, before) == ["TagsEdited", "SeenAgain"]
        assert store.get(item).tags == ("b", "c")
        store.undo(reply.items[0].event)
        assert store.get(item).tags == ("a",)


def test_tags_of_an_older_version_go_to_the_current_one(store: Store) -> None:
    (old,) = ids(remember(store, note(TEA)))
    new = store.update(old, MILK)
    reply = update(store, old, add_tags=("x",))
    assert (ids(reply), reply.items[0].current) == ([new], new)
    assert store.get(new).tags == ("x",)


def test_what_cannot_be_updated(store: Store) -> None:
    reply = remember(store, note(TEA))
    (fact,) = ids(reply)
    (document,) = ids(ingest(store, doc(LONG)))
    passage = str(Ref(Kind.PASSAGE, passages(store, document)[0][0]))
    for item in (document, passage, reply.items[0].event, reply.group):
        with pytest.raises(WrongKind) as wrong:
            update(store, item, MILK)
        assert wrong.value.field == "id"
    with pytest.raises(WrongKind):
        update(store, passage, add_tags=("x",))
    with pytest.raises(NotFound):
        update(store, "fact_" + "0" * 26, MILK)
    with pytest.raises(InvalidInput):
        update(store, "nonsense", MILK)
    with pytest.raises(NotFound):
        update(store, fact, MILK, scope=q.Scope(user="bob"))
    with pytest.raises(NotFound):
        store.ask(q.Update(container="nowhere", id=fact, text=MILK))
    store.forget(fact)
    with pytest.raises(NotFound) as gone:
        update(store, fact, MILK)
    assert "forgotten" in gone.value.message
    store.ask(q.Restore(container=store.name, ids=(fact,)))
    store.undo(reply.items[0].event, cascade=True)
    with pytest.raises(NotFound):
        update(store, fact, MILK)


def test_an_item_is_named_by_its_uuid_too(store: Store) -> None:
    (fact,) = ids(remember(store, note(TEA)))
    assert ids(update(store, parse(fact, Kind.FACT).hex(), add_tags=("x",))) == [fact]


# --- containers


def test_a_container_is_made_by_what_is_first_written_into_it(store: Store) -> None:
    reply = store.ask(q.Remember(container="beta", facts=(note(TEA),)))
    assert (reply.container, reply.position) == ("beta", 2)
    with store.log.reading() as reader:
        made, stated = reader.events(store.container("beta"))
    assert isinstance(made.event, e.ContainerConfigured)
    assert made.envelope.group == stated.envelope.group
    assert reply.group == str(Ref(Kind.GROUP, made.envelope.group))


def test_a_container_can_be_made_and_given_a_zone(store: Store) -> None:
    made = store.configure(name="beta")
    assert (statuses(made), made.position) == (["written"], 1)
    assert made.items[0].kind == "container"
    assert made.group is not None
    zoned = store.configure(name="gamma", zone="Asia/Tokyo")
    assert (statuses(zoned), zoned.position) == (["written"], 2)
    again = store.configure(name="gamma", zone="Asia/Tokyo")
    assert (statuses(again), again.position) == (["unchanged"], 3)
    plain = store.configure(name="gamma")
    assert (statuses(plain), plain.position) == (["unchanged"], 4)
    with store.view("gamma") as view:
        configured = view.configured()
        assert configured is not None
        assert view.text(configured.zone) == "Asia/Tokyo"
        assert view.text(configured.name) == "gamma"


def test_a_zone_that_is_none_is_refused_and_makes_nothing(store: Store) -> None:
    with pytest.raises(InvalidInput) as refused:
        store.configure(name="beta", zone="Mars/Olympus")
    assert refused.value.field == "zone"
    with pytest.raises(KeyError):
        store.container("beta")


def test_a_refused_first_write_makes_no_container(store: Store) -> None:
    with pytest.raises(InvalidInput):
        store.ask(q.Remember(container="beta", facts=(note(TEA, valid_to="2025"),)))
    with pytest.raises(KeyError):
        store.container("beta")


# --- cases


def test_r19_the_lives_of_one_text(store: Store) -> None:
    code = "Gym code 4471"

    def found() -> list[str]:
        hits = store.ask(q.Search(container=store.name, query=code)).hits
        return [hit.text for hit in hits]

    first = remember(store, note(code))
    store.forget(ids(first)[0])
    assert found() == []
    second = remember(store, note(code))
    assert statuses(second) == ["written"]
    assert ids(second) != ids(first)
    assert found() == [code]
    forgotten = store.forget(ids(second)[0])
    assert found() == []
    store.undo(forgotten.events[0])
    assert found() == [code]
    store.undo(second.items[0].event)
    assert found() == []
    third, again = remember(store, note(code)), remember(store, note(code))
    assert (statuses(third), statuses(again)) == (["written"], ["seen again"])
    assert ids(third) == ids(again)
    assert found() == [code]
    for fact in {*ids(first), *ids(second), *ids(third)}:
        about = store.ask(q.History(container=store.name, id=fact, include_forgotten=True))
        assert about.events


@pytest.mark.parametrize("bad", ["half \ud83d emoji", "nul \0 byte"])
def test_r29_what_is_no_text_is_refused_whole(store: Store, bad: str) -> None:
    before = head(store)
    for request in (
        q.Remember(container=store.name, facts=(note(bad),)),
        q.Remember(container=store.name, facts=(note(TEA, tags=(bad,)),)),
        q.Remember(container=store.name, facts=(note(TEA, id=bad),)),
        q.Remember(container=store.name, facts=(note(TEA, metadata={"k": [bad]}),)),
        q.Ingest(container=store.name, documents=(doc(bad),)),
        q.Ingest(container=store.name, documents=(doc(TEA, title=bad),)),
        q.AddMessages(container=store.name, messages=(q.NewMessage(content=bad),)),
        q.AddMessages(container=store.name, messages=(q.NewMessage(content=TEA, name=bad),)),
        q.AddMessages(
            container=store.name, messages=(q.NewMessage(content=TEA),), conversation=bad
        ),
        q.Remember(container=bad, facts=(note(TEA),)),
    ):
        with pytest.raises(InvalidInput):
            store.ask(request)
    assert head(store) == before
    assert statuses(remember(store, note(bad), note(TEA))) == ["refused", "written"]


def test_r29_odd_characters_come_back_as_they_were(store: Store) -> None:
    odd = "\ufffe x \u202e y \u2028 z \u0085 🦊\u200d"
    (fact,) = ids(remember(store, note(odd, tags=(odd,), id=odd, metadata={odd: odd})))
    view = store.get(fact)
    assert (view.text, view.tags, view.metadata, view.caller_id) == (odd, (odd,), {odd: odd}, odd)
    (document,) = ids(ingest(store, doc(odd * 500)))
    assert text_of(store, document) == odd * 500


def test_r46_long_names_are_kept_or_refused_with_the_limit(store: Store) -> None:
    long, alike = "t" * 600, ("u" * 511 + "a", "u" * 511 + "b")
    deep: Any = 1
    for _ in range(200):
        deep = {"d": deep}
    kept = remember(
        store,
        note("One.", tags=(long, "🦊" * 200), id="i" * 2_000),
        note("Two.", tags=(alike[0],), metadata={"__proto__": 1, "id": "x", "space": "y"}),
        note("Three.", tags=(alike[1],), subject="e" * 3_000),
    )
    assert statuses(kept) == ["written"] * 3
    (address,) = ids(ingest(store, doc(TEA, address="a" * 4_000, id="d" * 2_000)))
    assert store.get(address).address == "a" * 4_000
    assert texts(store, filters=q.Filters(tags=(long,))) == ["One."]
    assert texts(store, filters=q.Filters(tags=(alike[0],))) == ["Two."]
    assert texts(store, filters=q.Filters(tags=(alike[1],))) == ["Three."]
    assert statuses(remember(store, note("One.", id="i" * 2_000))) == ["seen again"]
    before = head(store)
    refused = remember(
        store,
        note("Four.", tags=("",)),
        note("Four.", tags=tuple(f"t{n}" for n in range(5_000))),
        note("Four.", id="i" * 2_001),
        note("Four.", metadata=deep),
        note("Four.", metadata={"k": "x" * 2_000_000}),
        note("Five."),
    )
    assert statuses(refused) == ["refused"] * 5 + ["written"]
    fields = [item.field for item in refused.items]
    assert fields[0].startswith("tags")
    assert fields[1:3] == ["tags", "id"]
    assert all(field.startswith("metadata") for field in fields[3:5])
    assert tell(store, before) == ["FactRemembered"]


def test_what_was_forgotten_and_is_sent_again_is_new_and_said_to_be(store: Store) -> None:
    (fact,) = store.remember("Gym code 4471")
    document = store.ingest("The alarm rings at six.")
    for item in (fact, document):
        store.forget(item)
    told = store.ask(q.Remember(container=store.name, facts=(q.NewFact(text="Gym code 4471"),)))
    assert told.items[0].status == "written" and told.items[0].id != fact
    assert any("forgotten was sent again" in note for note in told.notes)
    again = q.NewDocument(text="The alarm rings at six.")
    told = store.ask(q.Ingest(container=store.name, documents=(again,)))
    assert told.items[0].status == "written" and told.items[0].id != document
    assert any("forgotten was sent again" in note for note in told.notes)


def test_a_transcript_with_one_word_changed_adds_that_message_only(store: Store) -> None:
    def sent(*texts: str) -> list[str]:
        messages = tuple(
            q.NewMessage(content=text, time=f"2026-03-02T10:0{number}:00Z")
            for number, text in enumerate(texts)
        )
        command = q.AddMessages(container=store.name, messages=messages, conversation="talk")
        return [item.status for item in store.ask(command).items]

    first = ("Hello.", "We meet at three.", "Where?", "At the harbour.")
    assert sent(*first) == ["written"] * 4
    assert sent("And now for something else.") == ["written"]
    changed = ("Hello.", "We meet at four.", "Where?", "At the harbour.")
    known = ["seen again"] * 4
    assert sent(*changed) == ["seen again", "written", "seen again", "seen again"]
    assert sent(*changed) == known
    assert sent(*first) == known
    assert sent("Quite", "another", "talk.") == ["written"] * 3
