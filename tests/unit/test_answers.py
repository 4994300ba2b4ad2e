"""The answers to questions: items, their life, what happened, what differs, how much there is."""

import enum
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, Place
from rewound.eventlog.envelope import FORMAT, PERSON, Envelope
from rewound.eventlog.errors import InvalidInput, NotFound, WrongKind
from rewound.eventlog.ids import EventId, FactId, GroupId, Kind, Ref, as_uuid, parse, parse_any
from rewound.eventlog.instants import Instant, show_us
from rewound.eventlog.log import Draft, Recorded
from rewound.eventlog.registry import NAMES, encode
from rewound.memory import requests as q
from rewound.memory.answer_items import LISTED_CHARS
from rewound.memory.answering import NO_SIZES, Asking, Sizes, load
from rewound.memory.moments import present
from rewound.memory.telling import TOLD_CHARS, Teller, fields_of
from rewound.projections import dump
from tests.unit.given import DAY_US, HOUR_US, SECOND_US, START_US, Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as store:
        yield store


def ref_of(shown: str) -> Ref:
    kind, raw = parse_any(shown)
    assert kind is not None
    return Ref(kind, raw)


def head(store: Store) -> int:
    position: int = store.ask(q.List(container=store.name)).moment.position
    return position


def said_of(store: Store, document: str, word: str, text: str) -> str:
    """A fact that a worker drew from where a word stands in a document; its id."""
    with store.view() as view:
        row = view.document(parse(document, Kind.DOCUMENT))
        assert row is not None
        places = ((piece, (view.text(piece) or "").find(word)) for piece in row.state.pieces)
        piece, start = next((piece, start) for piece, start in places if start >= 0)
        cause = view.event(row.state.at)
        assert cause is not None
    bodies = store.writer()
    fact = FactId(store.ids.new())
    span = e.Span(ref_of(document), piece.place(0), start, start + len(word))
    event = e.FactExtracted(fact, e.Statement(bodies.piece(text)), (span,))
    store.record([Draft(event, bodies.sealed, (cause.envelope.event_id,))])
    return str(Ref(Kind.FACT, fact))


def answer(store: Store, question: q.Read, sizes: Sizes = NO_SIZES) -> Any:
    """The answer itself, past the checks of what comes in."""
    container = store.container()
    with store.engine.reading() as views:
        asking = Asking(views.log, views, store.clock.at, store.name, container, None, sizes)
        return load()[type(question)](question, asking)


# --- lists


def test_an_unknown_container_is_named(store: Store) -> None:
    for question in (q.List, q.Jobs, q.Stats, q.Events):
        with pytest.raises(NotFound, match="nowhere") as caught:
            store.ask(question(container="nowhere"))
        assert caught.value.field == "container"


def test_a_list_is_oldest_first_with_a_true_total(store: Store) -> None:
    facts = store.remember(*(f"Number {n}." for n in range(7)))
    page = store.ask(q.List(container=store.name, limit=3))
    assert [item.id for item in page.items] == facts[:3]
    assert (page.total, page.limit, page.has_more) == (7, 3, True)
    page = store.ask(q.List(container=store.name, limit=7))
    assert (page.total, page.has_more, page.cursor) == (7, False, None)


def follow(store: Store, **fields: Any) -> Iterator[Any]:
    """Pages, one after the other; whoever asks may write in between."""
    cursor: str | None = None
    while True:
        page = store.ask(q.List(container=store.name, cursor=cursor, **fields))
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def test_r31_every_item_once_while_others_write_and_forget(store: Store) -> None:
    """R31: 1,203 facts of one time; another client adds and forgets while the list is read."""
    at = "2026-01-01T10:00:00Z"
    facts: list[str] = []
    for start in range(0, 1203, 401):
        facts += store.remember(*(f"Number {n}." for n in range(start, start + 401)), said_at=at)
    assert len(set(facts)) == 1203
    seen: list[str] = []
    number = -1
    for number, page in enumerate(follow(store, limit=200)):
        seen += [item.id for item in page.items]
        assert page.limit == 200 and page.total == (1203 if number == 0 else 1202)
        assert page.has_more == (page.cursor is not None)
        store.remember(*(f"Added {number}/{n}." for n in range(5)))
        if number == 0:
            store.forget(facts[7])
    assert seen == facts  # the forgotten one had been shown before
    assert number == 6
    again = [item.id for page in follow(store, limit=1000) for item in page.items]
    assert again[:1202] == [fact for fact in facts if fact != facts[7]]
    assert len(again) == len(set(again)) == 1202 + 7 * 5
    assert store.ask(q.Stats(container=store.name)).info[0].counts["facts"] == len(again)


def test_r31_limits(store: Store) -> None:
    store.remember("One.")
    for limit in (0, -1):
        with pytest.raises(InvalidInput) as caught:
            store.ask(q.List(container=store.name, limit=limit))
        assert caught.value.field == "limit"
    page = answer(store, q.List(container=store.name, limit=100_000))
    assert page.limit == 1000 and "100000 was lowered to 1000" in page.notes[0]
    with pytest.raises(InvalidInput) as caught:
        store.ask(msgspec.structs.replace(q.List(container=store.name), limit="abc"))
    assert caught.value.field == "limit"


def test_r31_cursors_belong_to_their_list(store: Store) -> None:
    store.configure(name="beta")
    store.remember(*(f"Number {n}." for n in range(5)), tags=("a",))
    asked = q.List(container=store.name, limit=2)
    cursor = store.ask(asked).cursor
    assert cursor is not None
    replace = msgspec.structs.replace
    good = replace(asked, cursor=cursor)
    assert len(store.ask(good).items) == 2
    assert len(store.ask(replace(good, limit=10)).items) == 3
    foreign = [
        replace(good, container="beta"),
        replace(good, what="document"),
        replace(good, filters=q.Filters(tags=("a",))),
        replace(good, as_of="@2"),
        replace(good, include_superseded=True),
        replace(good, include_forgotten=True),
        replace(good, valid_at="2026"),
    ]
    other = "A" if cursor[5] != "A" else "B"
    altered = [cursor[:5] + other + cursor[6:], cursor[:-4], cursor + "AAAA", "x", "=", "é" * 9]
    foreign += [replace(good, cursor=text) for text in altered]
    for question in foreign:
        with pytest.raises(InvalidInput) as caught:
            store.ask(question)
        assert caught.value.field == "cursor"


def test_a_cursor_whose_rest_was_forgotten_gives_an_empty_page(store: Store) -> None:
    facts = store.remember("One.", "Two.", "Three.")
    first = store.ask(q.List(container=store.name, limit=2))
    store.forget(facts[2])
    page = store.ask(q.List(container=store.name, limit=2, cursor=first.cursor))
    assert (page.items, page.total, page.has_more, page.cursor) == ((), 2, False, None)


def test_all_pages_show_one_moment(store: Store) -> None:
    facts = store.remember("One.", "Two.", "Three.", expires_at=show_us(START_US + HOUR_US))
    first = store.ask(q.List(container=store.name, limit=1))
    store.clock.at += 2 * HOUR_US
    store.update(facts[2], "Three and a half.", expires_at="2027-01-01")
    page = store.ask(q.List(container=store.name, limit=5, cursor=first.cursor))
    assert [item.text for item in page.items] == ["Two.", "Three."]
    assert page.moment.position == first.moment.position and page.total == 3
    (now,) = store.ask(q.List(container=store.name)).items
    assert now.text == "Three and a half.", "the others have expired"


def test_what_holds_is_listed_by_default(store: Store) -> None:
    tea, _, walk, past = [
        store.remember("Ann likes tea.")[0],
        store.remember("Ann has a dog.")[0],
        store.remember("Ann walks.", expires_at=show_us(START_US + HOUR_US))[0],
        store.remember("Ann was six.", valid_from="2000", valid_to="2001")[0],
    ]
    store.clock.at += 1
    coffee = store.update(tea, "Ann likes coffee.")
    assert tea not in store.listed() and past not in store.listed()
    assert coffee in store.listed() and walk in store.listed()
    assert past in store.listed(valid_at="2000-06") and coffee not in store.listed(valid_at="2000")
    assert {tea, past} <= set(store.listed(include_superseded=True))
    store.clock.at = START_US + HOUR_US - 1
    assert walk in store.listed()
    store.clock.at = START_US + HOUR_US
    assert walk not in store.listed(), "expiry is held against now to the microsecond"
    assert walk in store.listed(as_of=show_us(START_US + HOUR_US - 1))
    assert walk not in store.listed(as_of=show_us(START_US + HOUR_US))
    states = {
        item.id: item.standing.state
        for item in store.ask(q.List(container=store.name, include_superseded=True)).items
    }
    assert [states[each] for each in (tea, coffee, walk, past)] == [
        "superseded", "current", "expired", "ended",
    ]  # fmt: skip


def test_superseded_from_a_day_that_has_not_come_holds_until_then(store: Store) -> None:
    (berlin,) = store.remember("Ann lives in Berlin.")
    store.clock.at += SECOND_US
    paris = store.update(berlin, "Ann lives in Paris.", valid_from="2026-02-01")
    standing = store.get(berlin).standing
    assert (standing.state, standing.by) == ("current", paris)
    assert standing.at == "2026-02-01T00:00:00.000000Z"
    assert store.listed() == [berlin, paris]
    before = head(store)
    store.clock.at = START_US + 31 * DAY_US
    assert store.listed() == [paris] and store.get(berlin).standing.state == "superseded"
    (gone,) = store.ask(q.Diff(container=store.name, start=f"@{before}")).gone
    assert (gone.id, gone.fields) == (berlin, ("over",))


def test_filters_are_conditions_that_all_hold(store: Store) -> None:
    ann = q.Scope(user="ann")
    one = store.remember("One.", tags=("a", "b"), metadata={"k": 1}, scope=ann)[0]
    two = store.remember("Two.", tags=("a",), metadata={"k": True}, kind="episode")[0]
    three = store.remember("Three.", metadata={"k": [1, {"z": None}]}, said_at="2025-03-01")[0]

    def listed(**filters: Any) -> list[str]:
        return store.listed(filters=q.Filters(**filters))

    assert listed(tags=("a",)) == [one, two] and listed(tags=("a", "b")) == [one]
    assert listed(metadata={"k": 1}) == [one] and listed(metadata={"k": True}) == [two]
    assert listed(metadata={"k": [1, {"z": None}]}) == [three]
    assert listed(metadata={"nothing": None}) == []
    assert listed(scope=ann) == [one] and listed(kinds=("episode", "procedure")) == [two]
    assert listed(since="2025-03-01", until="2025-03-01") == [three], "a day is whole"
    assert listed(until="2025-02-28") == [] and listed(since="2025-03-02") == [one, two]
    page = store.ask(q.List(container=store.name, filters=q.Filters(since="2025-03-01")))
    assert page.moment.zone == "UTC"
    page = store.ask(q.List(container=store.name, filters=q.Filters(what=("document",))))
    assert page.items == () and "leaves out" in page.notes[0]
    with pytest.raises(InvalidInput) as caught:
        listed(since="2025-03-02", until="2025-03-01")
    assert caught.value.field == "filters.until"


def test_a_source_is_named_by_id_callers_id_or_conversation(store: Store) -> None:
    notes = store.ingest("Ann has a boat.\n\nBob has none.", id="notes.md")
    other = store.ingest("Nothing here.", id="other.md")
    said = store.say("I sail on Sundays.", conversation="sailing", name="Ann")
    store.say("Something else.", conversation="chess")
    fact = said_of(store, notes, "boat", "Ann owns a boat.")
    conversation = next(
        item for event in store.events() for item in event.items if item.startswith("conv_")
    )

    def listed(what: q.What, source: str, **fields: Any) -> list[str]:
        return store.listed(what=what, filters=q.Filters(source=source), **fields)

    for source in (notes, "notes.md", as_uuid(parse(notes, Kind.DOCUMENT))):
        assert listed("document", source) == [notes] and listed("fact", source) == [fact]
        assert len(listed("passage", source)) >= 1
    assert listed("fact", "other.md") == [] and listed("document", other) == [other]
    for source in (said[0], "sailing", conversation):
        assert listed("message", source) == said
    assert listed("message", "sail") == listed("message", "unheard of") == []
    with pytest.raises(WrongKind, match="is a fact"):
        listed("fact", fact)
    store.forget(notes)
    assert listed("document", "notes.md") == []
    assert listed("document", "notes.md", include_forgotten=True) == [notes]


def test_a_long_document_is_listed_by_its_beginning_and_shown_whole(store: Store) -> None:
    text = "\n\n".join(f"Line {n} of a long text." for n in range(500))
    document = store.ingest(text)
    page = store.ask(q.List(container=store.name, what="document"))
    assert page.items[0].text == text[:LISTED_CHARS] and "beginning (1 " in page.notes[0]
    assert store.get(document).text == text


# --- one item


def test_a_fact_says_where_it_comes_from(store: Store) -> None:
    text = "Bob rows.\n\nAnn has a boat.\n\nThey meet on Sundays."
    document = store.ingest(text, id="notes.md", title="Notes", address="file:///notes.md")
    fact = said_of(store, document, "Ann has", "Ann owns a boat.")
    (source,) = store.get(fact).sources
    assert (source.id, source.kind, source.title) == (document, "document", "Notes")
    assert (source.caller_id, source.address) == ("notes.md", "file:///notes.md")
    assert text[source.start : source.end] == "Ann has", "offsets are of the whole document"
    passage = store.ask(q.List(container=store.name, what="passage")).items[-1]
    (source,) = passage.sources
    assert text[source.start : source.end] == passage.text


def test_offsets_are_of_the_document_as_of_the_moment(store: Store) -> None:
    old = "Ann has a boat.\n\nBob rows."
    document = store.ingest(old, id="notes.md")
    fact = said_of(store, document, "Bob", "Bob rows a boat.")
    before = head(store)
    new = "Ann has a new and longer boat.\n\nBob rows."
    store.ingest(new, id="notes.md")
    (then,) = store.get(fact, as_of=f"@{before}").sources
    assert old[then.start : then.end] == "Bob"
    (now,) = store.get(fact).sources
    assert now.start is None or new[now.start : now.end] == "Bob"
    assert store.get(document, as_of=f"@{before}").text == old and store.get(document).text == new


def test_a_message_says_who_and_when(store: Store) -> None:
    (message,) = store.say("I sail.", name="Ann", time="2026-01-01T09:00:00+01:00", id="m1")
    shown = store.get(message)
    assert (shown.kind, shown.text, shown.role, shown.speaker) == (
        "message", "I sail.", "user", "Ann",
    )  # fmt: skip
    assert (shown.conversation, shown.caller_id) == ("talk", "m1")
    assert shown.said_at == "2026-01-01T09:00:00+01:00" and shown.status == "pending"


def test_an_old_version_is_itself_and_names_the_current_one(store: Store) -> None:
    (first,) = store.remember("Ann likes tea.")
    store.clock.at += SECOND_US
    second = store.update(first, "Ann likes coffee.")
    store.clock.at += SECOND_US
    third = store.update(first, "Ann likes cocoa.", corrects=True)
    shown = store.get(first)
    assert (shown.text, shown.root, shown.current) == ("Ann likes tea.", first, third)
    assert (shown.standing.state, shown.standing.by) == ("superseded", second)
    assert store.get(second).standing.state == "corrected"
    assert store.get(third).supersedes == (second, first)
    assert store.get(first, as_of="@2").current == first, "nothing of later shows"
    assert store.get(as_uuid(parse(first, Kind.FACT))).id == first


def test_what_is_not_there_is_not_found(store: Store) -> None:
    (fact,) = store.remember("One.")
    missing = "fact_00000000000000000000000000"
    store.configure(name="beta")
    for container, item, as_of in ((store.name, missing, None), (store.name, fact, "@1")):
        with pytest.raises(NotFound) as caught:
            store.ask(q.Get(container=container, id=item, as_of=as_of))
        assert caught.value.field == "id"
    with pytest.raises(NotFound) as theirs:
        store.ask(q.Get(container="beta", id=fact))
    with pytest.raises(NotFound) as nobodys:
        store.ask(q.Get(container="beta", id=missing))
    assert theirs.value.message.replace(fact, "x") == nobodys.value.message.replace(missing, "x")
    event = store.events()[0].id
    with pytest.raises(WrongKind, match="is an event"):
        store.get(event)
    with pytest.raises(InvalidInput):
        store.get("nonsense")


def test_what_is_forgotten_is_found_only_when_asked_for(store: Store) -> None:
    document = store.ingest("Bob rows.\n\nAnn has a boat.")
    fact = said_of(store, document, "Ann has", "Ann owns a boat.")
    store.forget(fact)
    with pytest.raises(NotFound, match="include_forgotten") as caught:
        store.get(fact)
    assert "boat" not in caught.value.message
    assert "███████ a boat." in store.get(document).text
    shown = store.get(fact, include_forgotten=True)
    assert shown.text == "Ann owns a boat." and shown.standing.state == "forgotten"
    assert shown.standing.by == store.events(types=("forgotten",))[0].id
    assert "Ann has a boat." in store.get(document, include_forgotten=True).text
    assert fact not in store.listed() and fact in store.listed(include_forgotten=True)
    assert fact not in store.listed(as_of=f"@{head(store) - 1}"), "nor as of before"
    store.forget(document)
    assert store.listed(what="passage") == store.listed(what="document") == []
    assert len(store.listed(what="passage", include_forgotten=True)) >= 1


def test_a_forgotten_source_is_told_by_its_id_only(store: Store) -> None:
    documents = [store.ingest(f"Ann has a boat, says {n}.", title=f"Title {n}") for n in (1, 2)]
    fact = said_of(store, documents[0], "Ann has", "Ann owns a boat.")
    store.forget(documents[1])
    raw = FactId(parse(fact, Kind.FACT))
    bodies = store.writer()
    with store.view() as view:
        row = view.document(parse(documents[0], Kind.DOCUMENT))
        assert row is not None
        span = e.Span(ref_of(documents[0]), row.state.pieces[0].place(0), 0, 3)
    event = e.FactRemembered(raw, e.Statement(bodies.piece("Ann owns a boat.")), (span,))
    store.record([Draft(event, bodies.sealed)])
    store.forget(documents[0])
    assert store.listed() == [] or all(source.title is None for source in store.get(fact).sources)


# --- an item's life


def test_history_is_the_chain_and_all_its_events(store: Store) -> None:
    (first,) = store.remember("Ann likes tea.")
    store.clock.at += SECOND_US
    second = store.update(first, "Ann likes coffee.")
    for item in (first, second):
        life = store.ask(q.History(container=store.name, id=item))
        assert [version.id for version in life.versions] == [first, second]
        assert life.current == second and life.id == item
        assert [event.type for event in life.events] == ["fact remembered", "fact edited"]
    undone = store.undo(life.events[1].id)
    life = store.ask(q.History(container=store.name, id=second))
    assert life.versions == () and life.events[0].undone_by == undone.event
    life = store.ask(q.History(container=store.name, id=second, as_of="@3"))
    assert len(life.versions) == 2 and life.events[1].undone_by is None


def test_history_of_a_forgotten_item_tells_events_without_their_texts(store: Store) -> None:
    (fact,) = store.remember("Ann likes tea.", tags=("drinks",), expires_at="2030-01-01")
    store.forget(fact, reason="she asked for it")
    life = store.ask(q.History(container=store.name, id=fact))
    assert life.versions == () and [event.withheld for event in life.events] == ["forgotten"] * 2
    told = msgspec.json.encode(life)
    for word in (b"tea", b"drinks", b"asked", b"2030"):
        assert word not in told
    life = store.ask(q.History(container=store.name, id=fact, include_forgotten=True))
    assert life.versions[0].text == "Ann likes tea." and life.events[0].withheld is None
    assert life.events[1].texts["reason"] == "she asked for it"


def test_history_of_a_document_has_each_of_its_contents(store: Store) -> None:
    document = store.ingest("One.", id="a")
    store.ingest("Two.", id="a")
    store.ask(q.Update(container=store.name, id=document, add_tags=("t",)))
    life = store.ask(q.History(container=store.name, id=document))
    assert [version.text for version in life.versions] == ["One.", "Two."]
    assert life.versions[1].tags == ("t",) and life.current == document
    with pytest.raises(NotFound):
        store.ask(q.History(container=store.name, id="doc_00000000000000000000000000"))


# --- what happened


def test_events_tell_everything_in_plain_values(store: Store) -> None:
    store.remember(
        "Ann likes tea.", kind="preference", subject="Ann", valid_from="2026-01", tags=("a",),
        metadata={"k": 1}, scope=q.Scope(user="ann"), expires_at="2030-01-01T00:00:00Z",
    )  # fmt: skip
    event = store.events()[-1]
    assert (event.type, event.actor, event.position) == ("fact remembered", "person", 2)
    assert event.texts == {
        "text": "Ann likes tea.", "subject": "Ann", "tags": ["a"], "metadata": {"k": 1},
        "scope": {"user": "ann"}, "entities": ["Ann"],
    }  # fmt: skip
    assert event.data["kind"] == "preference" and event.data["valid_from"] == "2026-01"
    assert event.data["expires_at"] == "2030-01-01T00:00:00.000000Z"
    assert event.data["fact"] == event.items[0] == store.listed()[0]
    assert event.group is not None and event.recorded_at.startswith("2026-01-01T00:00:0")


def test_a_long_text_is_told_by_its_beginning_with_its_length(store: Store) -> None:
    text = "\n\n".join(f"Line {n} of a long text." for n in range(500))
    store.ingest(text)
    event = store.events(types=("document ingested",))[0]
    assert event.texts["text"] == text[:TOLD_CHARS] and event.data["cut"] == {"text": len(text)}


def test_events_page_forwards_and_newest_come_last(store: Store) -> None:
    store.remember(*(f"Number {n}." for n in range(9)))
    positions: list[int] = []
    after: int | None = 0
    while after is not None:
        told = store.ask(q.Events(container=store.name, after=after, limit=4))
        positions += [event.position for event in told.events]
        after = told.next
    assert positions == list(range(1, 11))
    newest = store.ask(q.Events(container=store.name, newest=True, limit=3))
    assert [event.position for event in newest.events] == [8, 9, 10] and newest.next is None


def test_events_of_some_types_since_and_about(store: Store) -> None:
    one, two = store.remember("One.", "Two.")
    store.clock.at += DAY_US
    store.forget(one)
    store.update(two, "Two and a half.")

    def told(**fields: Any) -> list[int]:
        return [event.position for event in store.events(**fields)]

    assert told(types=("forgotten", "Fact-Edited")) == [4, 5]
    assert told(about=one) == [2, 4] and told(about=one, after=2) == [4]
    assert told(since="2026-01-02") == [4, 5] == told(since="@4")
    assert told(since="2026-01-02", as_of="@4") == [4]
    assert told(newest=True, types=("fact remembered",)) == [2, 3]
    group = store.events()[1].group
    assert told(about=group) == [2, 3] and told(about=store.events()[2].id) == [3]
    store.undo(store.events()[4].id)
    assert told(about=store.events()[4].id) == [5, 6]
    assert store.events()[4].undone_by == store.events()[5].id
    assert store.events(as_of="@5")[4].undone_by is None
    with pytest.raises(InvalidInput, match="fact edited") as caught:
        told(types=("fact edit",))
    assert caught.value.field == "types[0]"
    with pytest.raises(NotFound):
        told(about="fact_00000000000000000000000000")


def test_masked_words_do_not_show_in_the_log(store: Store) -> None:
    document = store.ingest("Bob rows.\n\nAnn has a boat.")
    fact = said_of(store, document, "Ann has a boat", "Ann owns a vessel.")
    store.forget(fact)
    told = msgspec.json.encode(store.events())
    assert b"boat" not in told and b"vessel" not in told and b"Bob rows." in told
    told = msgspec.json.encode(store.events(include_forgotten=True))
    assert b"boat" in told and b"vessel" in told


def test_what_is_erased_is_gone_from_every_answer(store: Store) -> None:
    (fact,) = store.remember("Ann likes tea.", tags=("drinks",))
    kept = store.remember("Bob rows.")[0]
    store.ask(q.Erase(container=store.name, ids=(fact,), wait=False))
    for forgotten in (False, True):
        assert store.listed(include_forgotten=forgotten, include_superseded=True) == [kept]
        with pytest.raises(NotFound, match="erased"):
            store.get(fact, include_forgotten=forgotten)
        life = store.ask(q.History(container=store.name, id=fact, include_forgotten=forgotten))
        assert life.versions == () and life.events[0].withheld == "erased"
        told = msgspec.json.encode(store.events(include_forgotten=forgotten))
        assert b"tea" not in told and b"drinks" not in told
    assert store.ask(q.Stats(container=store.name)).info[0].counts["forgotten"] == 0
    (gone,) = store.ask(q.Diff(container=store.name, start="@3")).gone
    assert (gone.id, gone.text, gone.fields) == (fact, None, ("erased",))


@pytest.mark.parametrize("struct", NAMES.values(), ids=NAMES.keys())
def test_every_type_of_event_can_be_told(store: Store, struct: type[e.Event]) -> None:
    """From its fields alone: bodies that are not there count as erased."""
    event = sample(struct)
    name, schema, payload = encode(event)
    moment = 1_767_225_600_000_000
    raw = EventId(bytes(16))
    with store.view() as view:
        envelope = Envelope(
            FORMAT, 900, raw, moment, view.id, Body(7, b""), PERSON, (), GroupId(raw), name, schema,
            msgspec.Raw(payload),
        )  # fmt: skip
        teller = Teller(view, present(view, moment))
        told = teller.tell(Recorded(envelope, event))
    plain = msgspec.json.decode(msgspec.json.encode(told))
    assert plain["type"] == name and told.withheld == "erased"
    named = {field for field in struct.__struct_fields__ if field != "statement"}
    bodies = {"evidence", *(field.name for field in fields_of(struct) if field.core is Body)}
    assert named <= plain.get("data", {}).keys() | bodies


def sample(struct: type[msgspec.Struct]) -> Any:
    """A struct with something in each field."""
    ids = bytes(range(16))
    values: dict[Any, Any] = {
        Body: Body(0, b"", 3), Ref: Ref(Kind.FACT, ids), Instant: Instant(0), Place: Place(1, 0),
        bytes: ids, int: 1, bool: True,
    }  # fmt: skip
    made: dict[str, Any] = {}
    for field in fields_of(struct):
        if field.core in values:
            value = values[field.core]
        elif isinstance(field.core, type) and issubclass(field.core, msgspec.Struct):
            value = sample(field.core)
        elif isinstance(field.core, type) and issubclass(field.core, enum.IntEnum):
            value = next(iter(field.core))
        else:
            value = ids  # an id of its own type
        made[field.name] = (value,) if field.many else value
    return struct(**made)


# --- what differs


def plain_diff(store: Store, start: int, end: int) -> dict[str, set[str]]:
    """Which rows differ between two dumps."""
    with store.view() as view:
        old, new = dump.present(view, start), dump.present(view, end)
    found: dict[str, set[str]] = {"learned": set(), "changed": set(), "gone": set()}
    for table in ("facts", "documents", "messages", "containers"):
        found["learned"] |= new[table].keys() - old[table].keys()
        found["gone"] |= old[table].keys() - new[table].keys()
        both = old[table].keys() & new[table].keys()
        found["changed"] |= {item for item in both if old[table][item] != new[table][item]}
    return found


OVERLAID = {("forgotten",), ("restored",), ("erased",), ("expired",), ("over",)}


def told_diff(store: Store, start: int, end: int) -> dict[str, set[str]]:
    reply = store.ask(q.Diff(container=store.name, start=f"@{start}", end=f"@{end}"))
    return {
        name: {change.id for change in getattr(reply, name) if change.fields not in OVERLAID}
        for name in ("learned", "changed", "gone")
    }


def test_a_diff_equals_comparing_two_dumps(store: Store) -> None:
    tea, dog = store.remember("Ann likes tea.", "Ann has a dog.")
    document = store.ingest("One.\n\nTwo.", id="a", tags=("x",))
    store.say("Hello.", "How are you?")
    store.clock.at += SECOND_US
    coffee = store.update(tea, "Ann likes coffee.")
    edited = store.events()[-1].id
    store.ask(q.Update(container=store.name, id=dog, add_tags=("pets",)))
    store.ingest("One.\n\nThree.", id="a")
    undone = store.undo(edited)
    store.forget(dog)
    store.undo(undone.event)
    store.ask(q.RemoveDocument(container=store.name, id=document))
    store.configure(zone="Europe/Berlin")
    end = head(store)
    for start in range(end + 1):
        for until in range(start, end + 1):
            assert told_diff(store, start, until) == plain_diff(store, start, until), (start, until)
    reply = store.ask(q.Diff(container=store.name, start="@3"))
    changed = {change.id: change for change in reply.changed}
    assert set(changed[tea].fields) == {"valid_to", "ended"}
    assert changed[dog].fields == ("tags",) and changed[dog].text is None
    learned = {change.id: change.text for change in reply.learned}
    assert learned[coffee] == "Ann likes coffee."
    assert {change.id: change.fields for change in reply.gone}[dog] == ("forgotten",)
    assert "without their text" in reply.notes[-1] and reply.start.position == 3
    assert b"dog" not in msgspec.json.encode(reply)


def test_a_diff_says_of_what_was_learned_that_it_holds_no_more(store: Store) -> None:
    (tea,) = store.remember("Ann likes tea.")
    (flat,) = store.remember("Ann lives in Rome.", valid_from="2001", valid_to="2004")
    (brief,) = store.remember("Ann walks.", expires_at=show_us(START_US + HOUR_US))
    store.clock.at += 2 * HOUR_US
    (dog,) = store.remember("Ann has a dog.")
    coffee = store.update(tea, "Ann likes coffee.")
    reply = store.ask(q.Diff(container=store.name, start="@1"))
    assert {change.id: change.fields for change in reply.learned} == {
        tea: ("superseded",), flat: ("ended",), brief: ("expired",), dog: (), coffee: (),
    }  # fmt: skip
    then = store.ask(q.Diff(container=store.name, start="@1", end="@2"))
    assert [(change.id, change.fields) for change in then.learned] == [(tea, ())]


def test_a_diff_tells_what_time_alone_did(store: Store) -> None:
    (fact,) = store.remember("Ann walks.", expires_at=show_us(START_US + HOUR_US))
    store.clock.at += 2 * HOUR_US
    reply = store.ask(q.Diff(container=store.name, start="@2"))
    (gone,) = reply.gone
    assert (gone.id, gone.fields, gone.text) == (fact, ("expired",), "Ann walks.")
    assert store.ask(q.Diff(container=store.name, start="@2", end="@2")).gone == ()


def test_a_diff_runs_forwards_and_within_what_is_known(store: Store) -> None:
    store.remember("One.", "Two.")
    for start, end, as_of in (
        ("@3", "@2", None),
        ("@9", None, None),
        ("@1", "@3", "@2"),
        ("never", None, None),
    ):
        with pytest.raises(InvalidInput):
            store.ask(q.Diff(container=store.name, start=start, end=end, as_of=as_of))
    reply = store.ask(q.Diff(container=store.name, start="@1", as_of="@2"))
    assert [change.text for change in reply.learned] == ["One."]


# --- how much there is


def test_figures_count_what_shows(store: Store) -> None:
    tea, dog = store.remember("Ann likes tea.", "Ann has a dog.")
    store.clock.at += SECOND_US
    store.update(tea, "Ann likes coffee.")
    store.ingest("One.", id="a")
    store.say("Hello.")
    store.forget(dog)
    figures = store.ask(q.Stats(container=store.name))
    (info,) = figures.info
    assert figures.events == info.position == head(store)
    assert info.counts == {
        "documents": 1, "messages": 1, "passages": 1, "facts": 1, "versions": 2, "forgotten": 1,
        "pending": 2,
    }  # fmt: skip
    (then,) = store.ask(q.Stats(container=store.name, as_of="@3")).info
    assert then.counts["facts"] == 1 and then.counts["versions"] == 1, "dog is hidden on all days"
    assert then.position == 3 and then.head != info.head


def test_figures_of_one_container_say_nothing_of_another(store: Store) -> None:
    before = msgspec.json.encode(store.ask(q.Stats(container=store.name)))
    store.configure(name="beta")
    store.name = "beta"
    store.remember("One.")
    store.name = "alpha"
    assert msgspec.json.encode(store.ask(q.Stats(container=store.name))) == before
    whole = store.ask(q.Stats(container=store.name, store=True))
    assert whole.container is None and whole.containers == 2
    assert whole.events == sum(info.position for info in whole.info)


def test_sizes_are_told_for_the_whole_store_only(store: Store) -> None:
    sizes = Sizes(1000, 2000, "pending")
    whole = answer(store, q.Stats(container=store.name, store=True), sizes)
    assert (whole.log_bytes, whole.view_bytes, whole.compaction) == (1000, 2000, "pending")
    own = answer(store, q.Stats(container=store.name), sizes)
    assert (own.log_bytes, own.view_bytes, own.compaction) == (0, 0, "none")


def test_containers_page_by_age(store: Store) -> None:
    for number in range(5):
        store.clock.at += SECOND_US
        store.configure(name=f"c{number}")
    names: list[str] = []
    cursor: str | None = None
    while True:
        page = store.ask(q.Containers(limit=2, cursor=cursor))
        names += [info.name for info in page.containers]
        assert page.total == 6 and page.has_more == (page.cursor is not None)
        cursor = page.cursor
        if cursor is None:
            break
    assert names == ["alpha", "c0", "c1", "c2", "c3", "c4"]
    then = store.ask(q.Containers(as_of=show_us(START_US + 2 * SECOND_US)))
    assert [info.name for info in then.containers] == ["alpha", "c0", "c1"]
    with pytest.raises(InvalidInput) as caught:
        store.ask(q.Containers(as_of="@3"))
    assert caught.value.field == "as_of"


def test_jobs_tell_what_is_unfinished_and_why(store: Store) -> None:
    document = store.ingest("One.")
    (message,) = store.say("Hello.")
    event = store.events(types=("document ingested",))[0]
    bodies = store.writer()
    failed = e.ExtractionFailed(
        ref_of(document), bodies.piece("model"), 3, e.Why.CUT_OFF, retry_at=START_US + HOUR_US
    )
    cause = EventId(parse(event.id, Kind.EVENT))
    store.record([Draft(failed, bodies.sealed, (cause,))])
    jobs = store.ask(q.Jobs(container=store.name))
    assert (jobs.pending, jobs.failed, jobs.parked) == (1, 1, 0)
    first, second = jobs.jobs
    assert (first.source, first.state, first.attempts, first.why) == (
        document, "failed", 3, "cut off",
    )  # fmt: skip
    assert (second.source, second.kind, second.state) == (message, "message", "pending")
    shown = store.get(document)
    assert shown.status == "failed"
    assert shown.status_note == "cut off at attempt 3, next try at 2026-01-01T01:00:00.000000Z"
    few = store.ask(q.Jobs(container=store.name, limit=1))
    assert few.jobs == (first,) and few.has_more and few.total == 2
    rest = store.ask(q.Jobs(container=store.name, limit=1, cursor=few.cursor))
    assert rest.jobs == (second,) and not rest.has_more and rest.cursor is None
    store.forget(message)
    assert store.ask(q.Jobs(container=store.name)).pending == 0


# --- the same moment, the same answer


def test_as_of_answers_are_the_same_whatever_is_written_later(store: Store) -> None:
    (fact,) = store.remember("Ann likes tea.", expires_at=show_us(START_US + DAY_US))
    document = store.ingest("One.\n\nTwo.", id="a", tags=("x",))
    (message,) = store.say("Hello.")
    then = f"@{head(store)}"

    def asked() -> list[bytes]:
        name = store.name
        questions: list[q.Read] = [
            *(q.List(container=name, what=w, as_of=then, limit=1) for w in ("fact", "passage")),
            *(q.Get(container=name, id=each, as_of=then) for each in (fact, document, message)),
            *(q.History(container=name, id=each, as_of=then) for each in (fact, document, message)),
            q.Events(container=name, as_of=then),
            q.Diff(container=name, start="@1", end=then),
            q.Stats(container=name, as_of=then),
            q.Jobs(container=name, as_of=then),
        ]
        return [msgspec.json.encode(store.ask(question)) for question in questions]

    before = asked()
    store.clock.at += 2 * DAY_US
    store.update(fact, "Ann likes coffee.")
    store.ask(q.Update(container=store.name, id=message, add_tags=("y",)))
    store.ingest("Three.", id="a")
    store.undo(store.events()[1].id, cascade=True)
    store.remember("More.")
    assert asked() == before


def test_what_will_hold_later_is_upcoming(store: Store) -> None:
    (fact,) = store.remember("Ann moves to Oslo.", valid_from="2030-01-01")
    standing = store.get(fact).standing
    assert (standing.state, standing.at) == ("upcoming", "2030-01-01T00:00:00.000000Z")
    assert store.listed() == [fact]
