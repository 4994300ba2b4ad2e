"""Forgetting, restoring, undoing and erasing, as the deciders of these commands promise."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, Place, read_value
from rewound.eventlog.envelope import PERSON
from rewound.eventlog.errors import (
    AlreadyUndone,
    Conflict,
    HasDependents,
    InvalidInput,
    NotFound,
    RewoundError,
    Stale,
    WrongKind,
)
from rewound.eventlog.ids import (
    DocumentId,
    EventId,
    FactId,
    Kind,
    PassageId,
    Ref,
    parse,
    parse_any,
    show,
)
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.log import Draft
from rewound.eventlog.registry import NAMES
from rewound.memory import requests as q
from rewound.memory.carried import HOLDERS, within
from rewound.projections import dump
from tests.oracle.story import CountedIds
from tests.unit.given import START_US, HandClock, Store, open_store

PIN = "My locker PIN is 7391-QUOKKA."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as opened:
        opened.configure()
        yield opened


# --- helpers


def ref(text: str) -> Ref:
    kind, raw = parse_any(text)
    assert kind is not None
    return Ref(kind, raw)


def event_of(store: Store, item: str, name: str | None = None) -> str:
    """The last event about an item, of a type when it is given."""
    found = [ev.id for ev in store.events(about=item) if name in (None, ev.type)]
    assert found, f"no event {name} about {item}"
    last: str = found[-1]
    return last


def events_now(store: Store) -> int:
    with store.view() as view:
        return view.position


def state(store: Store, name: str | None = None) -> dict[str, Any]:
    """All rows of a container, canonical."""
    with store.view(name) as view:
        return dump.present(view)


def search(store: Store, query: str, **fields: Any) -> list[str]:
    reply = store.ask(q.Search(container=store.name, query=query, **fields))
    return [hit.id for hit in reply.hits]


def restore(store: Store, *ids: str) -> Any:
    return store.ask(q.Restore(container=store.name, ids=ids))


def erase(store: Store, *ids: str, **fields: Any) -> Any:
    return store.ask(q.Erase(container=store.name, ids=ids, **fields))


def place_of(store: Store, source: str, piece: int = 0) -> tuple[Place, int]:
    """Where a piece of a document, or a message's text, lies, and how long it is."""
    with store.view() as view:
        row = view.row(ref(source))
        assert row is not None
        body = row.state.text if source.startswith("msg") else row.state.pieces[piece]
        return body.place(0), body.chars


def extract(store: Store, source: str, *said: tuple[str, int, int]) -> list[str]:
    """Facts drawn from [start, end) of a source's first piece, as a worker records them."""
    place, _ = place_of(store, source)
    cause = parse(event_of(store, source), Kind.EVENT)
    with store.view() as view:
        about = ref(source)
        first = next(r for r in view.about(about) if about in r.event.creates())
        cause = first.envelope.event_id
    drafts, facts = [], []
    for text, start, end in said:
        bodies = store.writer()
        fact = FactId(store.ids.new())
        span = e.Span(ref(source), place, start, end)
        event = e.FactExtracted(fact, e.Statement(bodies.piece(text)), (span,))
        drafts.append(Draft(event, bodies.sealed, (EventId(cause),)))
        facts.append(fact)
    bodies = store.writer()
    done = e.ExtractionFinished(ref(source), bodies.piece("a prompt"), tuple(facts), (place,))
    drafts.append(Draft(done, bodies.sealed, (EventId(cause),)))
    store.record(drafts)
    return [show(Kind.FACT, fact) for fact in facts]


def supersede(store: Store, new: str, *old: str) -> str:
    """A judgement: `new` ends a chain, given newest version first. The event that ends it."""
    with store.view() as view:
        stating = next(r for r in view.about(ref(new)) if ref(new) in r.event.creates())
    ended = tuple(FactId(ref(fact).id) for fact in old)
    event = e.FactSuperseded(FactId(ref(new).id), ended)
    recorded = store.record([Draft(event, (), (stating.envelope.event_id,))])
    return show(Kind.EVENT, recorded[0].envelope.event_id)


def again(store: Store, item: str) -> str:
    """The same content sent once more, as a person does."""
    with store.view() as view:
        row = view.row(ref(item))
        assert row is not None
    recorded = store.record([Draft(e.SeenAgain(ref(item), row.state.at))], actor=PERSON)
    return show(Kind.EVENT, recorded[0].envelope.event_id)


def refused(error: type[RewoundError], store: Store, request: q.Write) -> RewoundError:
    """The error of a command, which wrote nothing."""
    before, rows = events_now(store), state(store)
    with pytest.raises(error) as raised:
        store.ask(request)
    assert (events_now(store), state(store)) == (before, rows)
    return raised.value


# --- forget


def test_forgetting_a_fact_hides_its_whole_chain(store: Store) -> None:
    (old,) = store.remember("Ann lives in Berlin.")
    new = store.update(old, "Ann lives in Potsdam.")

    forgot = store.forget(old)

    assert {item.id: item.text for item in forgot.items} == {
        old: "Ann lives in Berlin.",
        new: "Ann lives in Potsdam.",
    }
    assert forgot.count == 2 and len(forgot.events) == 1
    assert new in forgot.notes[0]
    assert store.listed(include_superseded=True) == []


def test_forgetting_a_fact_blacks_out_what_it_was_drawn_from(store: Store) -> None:
    (message,) = store.say(f"Hello. {PIN} Bye.")
    (fact,) = extract(store, message, ("The PIN of the locker is 7391-QUOKKA.", 7, 36))

    forgot = store.forget(fact)

    assert forgot.masked == 1
    assert "QUOKKA" not in store.get(message).text
    assert store.get(message).text.startswith("Hello. █")
    assert search(store, "quokka") == []


def test_forgetting_a_message_takes_only_facts_without_other_support(store: Store) -> None:
    first, second = store.say("Ann likes tea.", "Yes, Ann likes tea, and cake.")
    alone, both = extract(store, first, ("Ann likes tea", 0, 13), ("Ann likes cake", 0, 13))
    place, _ = place_of(store, second)
    with store.view() as view:
        row = view.fact(ref(both).id)
        assert row is not None
    bodies = store.writer()
    span = e.Span(ref(second), place, 0, 10)
    stated = e.FactExtracted(
        FactId(ref(both).id), e.Statement(bodies.piece("Ann likes cake")), (span,)
    )
    store.record([Draft(stated, bodies.sealed, (EventId(ref(event_of(store, second)).id),))])

    assert {item.id for item in store.forget(first).items} == {first, alone}
    assert both in store.listed()
    assert {item.id for item in store.forget(second).items} == {second, both}


def test_a_fact_that_a_person_reworded_stays_when_its_message_is_forgotten(store: Store) -> None:
    (message,) = store.say("I live in Berlin.")
    (drawn,) = extract(store, message, ("The user lives in Berlin", 0, 17))
    own = store.update(drawn, "The user lives in Potsdam.")

    forgot = store.forget(message)

    assert {item.id for item in forgot.items} == {message, drawn}
    assert store.listed() == [own]
    assert own in forgot.notes[0] and "reworded" in forgot.notes[0]


def test_a_version_with_the_same_words_goes_with_its_message(store: Store) -> None:
    """Only its time was changed: the words are still those of the message."""
    (message,) = store.say("I live in Berlin.")
    (drawn,) = extract(store, message, ("The user lives in Berlin", 0, 17))
    update = q.Update(container=store.name, id=drawn, valid_from="2020-01-01")
    dated = store.ask(update).items[0].id

    assert {item.id for item in store.forget(message).items} == {message, drawn, dated}
    assert {item.id for item in erase(store, message).items} == {message, drawn, dated}


def test_what_is_hidden_already_is_refused_with_the_time(store: Store) -> None:
    (fact,) = store.remember(PIN)
    store.clock.at = START_US + 60_000_000
    event = store.forget(fact).events[0]
    error = refused(Conflict, store, q.Forget(container=store.name, ids=(fact,)))
    assert "2026-01-01T00:01:00" in str(error)
    assert error.ids == (fact, event)
    assert "QUOKKA" not in str(error)


def test_one_wrong_id_spoils_the_whole_command(store: Store) -> None:
    (fact,) = store.remember("Ann likes tea.")
    unknown = show(Kind.FACT, bytes(16))
    error = refused(NotFound, store, q.Forget(container=store.name, ids=(fact, unknown)))
    assert error.ids == (unknown,) and error.field == "ids"
    assert store.listed() == [fact]


def test_the_wrong_kind_is_named(store: Store) -> None:
    document = store.ingest("Ann likes tea.")
    with store.view() as view:
        passage = show(Kind.PASSAGE, view.passages_of(ref(document).id)[0].id)
    container = show(Kind.CONTAINER, store.container())
    for command in (q.Forget, q.Erase):
        error = refused(WrongKind, store, command(container=store.name, ids=(passage,)))
        assert "a passage" in str(error) and document in error.ids
        error = refused(WrongKind, store, command(container=store.name, ids=(container,)))
        assert "a container" in str(error)
    error = refused(WrongKind, store, q.Undo(container=store.name, id=document))
    assert "a document" in str(error)
    event = event_of(store, document, "document ingested")
    error = refused(WrongKind, store, q.Erase(container=store.name, ids=(event,)))
    assert "an event" in str(error) and document in error.ids


def test_ids_of_another_container_are_not_there(store: Store) -> None:
    (fact,) = store.remember("Ann likes tea.")
    event = event_of(store, fact)
    store.configure(name="beta")
    for request in (
        q.Forget(container="beta", ids=(fact,)),
        q.Forget(container="beta", ids=(event,)),
        q.Restore(container="beta", ids=(fact,)),
        q.Erase(container="beta", ids=(fact,)),
        q.Undo(container="beta", id=event),
    ):
        refused(NotFound, store, request)


def test_a_uuid_is_taken_for_what_it_names(store: Store) -> None:
    (fact,) = store.remember("Ann likes tea.")
    bits = ref(fact).id.hex()
    plain = f"{bits[:8]}-{bits[8:12]}-{bits[12:16]}-{bits[16:20]}-{bits[20:]}"
    assert [item.id for item in store.forget(plain).items] == [fact]


def test_an_event_or_a_group_means_what_it_brought_in(store: Store) -> None:
    first, second = store.remember("Ann likes tea.", "Ann likes cake.")
    event = event_of(store, first)
    group = store.events(about=first)[0].group
    assert [item.id for item in store.forget(event).items] == [first]
    assert [item.id for item in store.forget(group).items] == [second]
    error = refused(Conflict, store, q.Forget(container=store.name, ids=(group,)))
    assert "forgotten already" in str(error)


def test_an_event_that_brought_nothing_in_is_to_be_undone_instead(store: Store) -> None:
    (fact,) = store.remember("Ann likes tea.")
    store.ask(q.Update(container=store.name, id=fact, add_tags=("t",)))
    event = event_of(store, fact, "tags edited")
    error = refused(InvalidInput, store, q.Forget(container=store.name, ids=(event,)))
    assert "undo" in str(error) and "tags edited" in str(error)


def test_what_was_undone_can_be_forgotten_in_the_past_too(store: Store) -> None:
    (fact,) = store.remember(PIN)
    at = events_now(store)
    store.undo(event_of(store, fact))
    assert store.get(fact, as_of=f"@{at}").text == PIN
    assert "past" in store.forget(fact).notes[0]
    with pytest.raises(NotFound):
        store.get(fact, as_of=f"@{at}")


def test_a_version_that_comes_back_is_still_forgotten(store: Store) -> None:
    (old,) = store.remember("Ann lives in Berlin.")
    new = store.update(old, "Ann lives in Potsdam.")
    undid = store.undo(event_of(store, new, "fact edited"))
    store.forget(old)
    store.undo(undid.event)
    assert store.listed(include_superseded=True) == []
    assert search(store, "Potsdam") == []


def test_a_query_forgets_what_a_search_for_it_shows(store: Store) -> None:
    pin, other = store.remember(PIN, "Ann likes tea.")
    document = store.ingest("The locker is grey.", infer=True)
    refused(NotFound, store, q.Forget(container=store.name, query="zebra"))

    forgot = store.ask(q.Forget(container=store.name, query="locker"))

    # all passages of the document are found, so the document goes as one
    assert {item.id for item in forgot.items} == {pin, document}
    assert store.listed() == [other]


def test_a_query_blacks_out_the_passages_that_it_finds(store: Store) -> None:
    about_tea = "Tea is made of leaves. " * 40
    document = store.ingest(f"{about_tea}\n\n{'The locker is grey. ' * 40}")
    forgot = store.ask(q.Forget(container=store.name, query="locker"))
    assert {item.kind for item in forgot.items} == {"passage"}
    text = store.get(document).text
    assert "locker" not in text and "leaves" in text
    passage = forgot.items[0].id
    assert "locker" in restore(store, passage).items[0].text
    assert "locker" in store.get(document).text


def test_a_query_names_its_limit(store: Store) -> None:
    store.remember(*(f"Locker number {number} is grey." for number in range(5)))
    forgot = store.ask(q.Forget(container=store.name, query="locker", limit=3))
    assert forgot.count == 3 and "limit of 3" in forgot.notes[0]
    assert len(store.listed()) == 2


def test_r20_filters_forget_what_they_name_and_never_everything(store: Store) -> None:
    (fact,) = store.remember("Ann likes tea.", scope=q.Scope(user="ann"))
    store.configure(name="beta")
    other = state(store, "beta")
    for filters in (q.Filters(), q.Filters(scope=q.Scope()), q.Filters(tags=("nobody has it",))):
        error = refused(RewoundError, store, q.Forget(container=store.name, filters=filters))
        assert error.code in ("invalid_input", "not_found")
    refused(InvalidInput, store, q.Forget(container=store.name))
    refused(
        InvalidInput,
        store,
        q.Forget(container=store.name, filters=q.Filters(what=("passage",), tags=("t",))),
    )

    forgot = store.ask(q.Forget(container=store.name, filters=q.Filters(scope=q.Scope(user="ann"))))

    assert [item.id for item in forgot.items] == [fact] and forgot.count == 1
    assert store.listed() == [] and state(store, "beta") == other


def test_filters_take_expired_and_ended_facts_along(store: Store) -> None:
    store.remember("Sale today.", tags=("t",), expires_at="2026-01-01T01:00:00Z")
    (old,) = store.remember("Ann lives in Berlin.", tags=("t",))
    store.update(old, "Ann lives in Potsdam.")
    store.clock.at = START_US + 86_400_000_000
    with_tag = store.listed(include_superseded=True, filters=q.Filters(tags=("t",)))
    assert len(with_tag) >= 2
    store.ask(q.Forget(container=store.name, filters=q.Filters(tags=("t",))))
    assert store.listed(include_superseded=True, filters=q.Filters(tags=("t",))) in ([], [old])


def test_one_forgetting_each_for_what_a_filter_means(store: Store) -> None:
    (message,) = store.say("Ann likes tea.", tags=("t",))
    (drawn,) = extract(store, message, ("Ann likes tea", 0, 13))
    (own,) = store.remember("Ann likes cake.", tags=("t",))
    forgot = store.ask(q.Forget(container=store.name, filters=q.Filters(tags=("t",))))
    assert {item.id for item in forgot.items} == {message, drawn, own}
    assert len(forgot.events) == 2  # the drawn fact goes with its message, and comes back with it
    assert {item.id for item in restore(store, message).items} == {message, drawn}


def test_a_scope_narrows_what_a_command_may_touch(store: Store) -> None:
    (mine,) = store.remember("Ann likes tea.", scope=q.Scope(user="ann"))
    bob = q.Scope(user="bob")
    for request in (
        q.Forget(container=store.name, ids=(mine,), scope=bob),
        q.Forget(container=store.name, ids=(event_of(store, mine),), scope=bob),
        q.Forget(container=store.name, query="tea", scope=bob),
        q.Erase(container=store.name, ids=(mine,), scope=bob),
        q.Undo(container=store.name, id=event_of(store, mine), scope=bob),
    ):
        refused(NotFound, store, request)
    store.forget(mine, scope=q.Scope(user="ann"))
    refused(NotFound, store, q.Restore(container=store.name, ids=(mine,), scope=bob))


def test_a_dry_run_tells_exactly_what_would_be_done(store: Store) -> None:
    (message,) = store.say(f"Hello. {PIN}")
    (fact,) = extract(store, message, ("The PIN is 7391-QUOKKA.", 7, 36))
    before, rows = events_now(store), state(store)
    planned = store.forget(fact, dry_run=True)
    assert (events_now(store), state(store)) == (before, rows)
    assert planned.dry_run and planned.events == () and planned.group is None
    assert planned.position == before
    done = store.forget(fact)
    assert (planned.items, planned.count, planned.masked) == (done.items, done.count, done.masked)


def test_the_query_and_the_reason_are_kept_once_for_all_its_events(store: Store) -> None:
    store.remember("Locker one.", "Locker two.")
    store.ask(q.Forget(container=store.name, query="locker", reason="moved out"))
    told = [ev for ev in store.events(include_forgotten=True) if ev.type == "forgotten"]
    assert [ev.texts["reason"] for ev in told] == ["moved out", "moved out"]
    assert [ev.texts["query"] for ev in told] == ["locker", "locker"]


# --- restore


def test_r19_the_same_text_sent_anew_after_forgetting_is_a_new_item(store: Store) -> None:
    (first,) = store.remember("Gym code 4471")
    store.forget(first)
    (second,) = store.remember("Gym code 4471")
    assert second != first
    assert search(store, "gym code") == [second]
    store.forget(second)
    assert search(store, "gym code") == []

    forgetting = event_of(store, second, "forgotten")
    store.undo(forgetting)
    assert search(store, "gym code") == [second]
    store.undo(event_of(store, second, "fact remembered"))
    assert search(store, "gym code") == []
    error = refused(AlreadyUndone, store, q.Undo(container=store.name, id=forgetting))
    assert error.ids

    (third,) = store.remember("Gym code 4471")
    assert third not in (first, second)
    assert store.remember("Gym code 4471") == [third]
    assert search(store, "gym code") == [third]
    lives = [ev.type for ev in store.events(about=second)]
    assert lives[:2] == ["fact remembered", "forgotten"]


def test_restoring_shows_the_item_and_its_words_again(store: Store) -> None:
    (message,) = store.say(f"Hello. {PIN}")
    (fact,) = extract(store, message, ("The PIN is 7391-QUOKKA.", 7, 36))
    before = state(store)
    store.forget(fact)

    restored = restore(store, fact)

    assert [(item.id, item.text) for item in restored.items] == [(fact, "The PIN is 7391-QUOKKA.")]
    assert restored.masked == 1
    assert state(store) == before
    error = refused(Conflict, store, q.Restore(container=store.name, ids=(fact,)))
    assert "not forgotten" in str(error)


def test_a_fact_forgotten_alone_stays_hidden_when_its_document_comes_back(store: Store) -> None:
    document = store.ingest(f"Hello. {PIN}")
    secret, other = extract(
        store, document, ("The PIN is 7391-QUOKKA.", 7, 36), ("A greeting was sent", 0, 5)
    )
    alone = store.forget(secret).events[0]
    store.forget(document)

    back = restore(store, document)

    assert {item.id for item in back.items} == {document, other}
    assert any(secret in note and alone in note for note in back.notes)
    assert "QUOKKA" not in store.get(document).text
    assert [item.id for item in restore(store, secret).items] == [secret]
    assert "QUOKKA" in store.get(document).text


def test_a_fact_comes_back_although_its_document_stays_forgotten(store: Store) -> None:
    document = store.ingest(f"Hello. {PIN}")
    secret, other = extract(
        store, document, ("The PIN is 7391-QUOKKA.", 7, 36), ("A greeting was sent", 0, 5)
    )
    store.forget(secret)
    store.forget(document)

    assert [item.id for item in restore(store, secret).items] == [secret]

    assert store.listed() == [secret] and store.listed(what="document") == []
    assert {item.id for item in restore(store, document).items} == {document, other}


def test_restoring_both_a_document_and_its_fact_in_one_command(store: Store) -> None:
    document = store.ingest(f"Hello. {PIN}")
    (secret,) = extract(store, document, ("The PIN is 7391-QUOKKA.", 7, 36))
    before = state(store)
    store.forget(document, secret)
    restore(store, document, secret)
    assert state(store) == before


def test_a_forgetting_is_lifted_by_its_event(store: Store) -> None:
    (fact,) = store.remember(PIN)
    event = store.forget(fact).events[0]
    assert [item.id for item in restore(store, event).items] == [fact]
    refused(Conflict, store, q.Restore(container=store.name, ids=(event,)))


def test_what_never_was_forgotten_cannot_be_restored(store: Store) -> None:
    (fact,) = store.remember(PIN)
    document = store.ingest("Ann likes tea.")
    refused(Conflict, store, q.Restore(container=store.name, ids=(fact,)))
    refused(NotFound, store, q.Restore(container=store.name, ids=(show(Kind.FACT, bytes(16)),)))
    store.forget(document)
    with store.view() as view:
        passage = show(Kind.PASSAGE, view.passages_of(ref(document).id)[0].id)
    error = refused(Conflict, store, q.Restore(container=store.name, ids=(passage,)))
    assert document in error.ids


# --- undo


def test_undoing_a_document_takes_its_facts_along_and_back(store: Store) -> None:
    document = store.ingest(f"Hello. {PIN}")
    facts = extract(store, document, ("The PIN is 7391-QUOKKA.", 7, 36), ("A greeting", 0, 5))
    before = state(store)
    event = event_of(store, document, "document ingested")
    planned = store.undo(event, dry_run=True)
    assert state(store) == before and planned.event is None

    undid = store.undo(event)

    assert store.listed() == [] and store.listed(what="document") == []
    assert store.listed(what="passage") == []
    assert undid.dropped[0] == event and len(undid.dropped) == 5
    assert planned.dropped == undid.dropped and planned.changes == undid.changes
    assert {change.id for change in undid.changes if change.view == "facts"} == set(facts)
    assert {change.change for change in undid.changes if change.view != "jobs"} == {"disappears"}
    assert undid.refolded == planned.refolded > 0

    redone = store.undo(undid.event)
    assert redone.returned == undid.dropped and redone.dropped == (undid.event,)
    assert state(store) == before


def test_undoing_the_middle_of_a_superseded_chain_leaves_one_current(store: Store) -> None:
    messages = store.say("I live in Berlin.", "I live in Potsdam.", "I live in Rome.")
    berlin, potsdam, rome = (
        extract(store, message, (text, 0, 10))[0]
        for message, text in zip(messages, ("Berlin", "Potsdam", "Rome"), strict=True)
    )
    supersede(store, potsdam, berlin)
    supersede(store, rome, potsdam, berlin)
    before = state(store)

    undid = store.undo(event_of(store, messages[1], "message recorded"))

    assert store.listed() == [rome]
    assert store.get(berlin).standing.by == rome
    store.undo(undid.event)
    assert state(store) == before


def test_the_middle_of_a_chain_of_edits_is_refused_then_taken_with_cascade(store: Store) -> None:
    (berlin,) = store.remember("Ann lives in Berlin.")
    potsdam = store.update(berlin, "Ann lives in Potsdam.")
    rome = store.update(potsdam, "Ann lives in Rome.")
    before = state(store)
    middle, last = (event_of(store, fact, "fact edited") for fact in (berlin, rome))
    middle = store.events(about=potsdam)[0].id

    error = refused(HasDependents, store, q.Undo(container=store.name, id=middle))
    assert error.ids == (last,)
    assert "1 later command" in str(error) and "cascade" in str(error)
    planned = store.undo(middle, dry_run=True)
    assert planned.dependents == (last,) and "refused" in planned.notes[0]

    undid = store.undo(middle, cascade=True)

    assert undid.dependents == (last,) and undid.dropped == (middle, last)
    assert planned.dropped == undid.dropped
    assert store.listed() == [berlin]
    store.undo(undid.event)
    assert state(store) == before


def test_all_dependents_are_named_those_of_dependents_too(store: Store) -> None:
    (fact,) = store.remember("Ann likes tea.")
    event = event_of(store, fact)
    store.ask(q.Update(container=store.name, id=fact, add_tags=("t",)))
    new = store.update(fact, "Ann likes cake.")
    store.ask(q.Update(container=store.name, id=new, add_tags=("u",)))
    store.forget(new)
    restore(store, new)
    error = refused(HasDependents, store, q.Undo(container=store.name, id=event))
    assert len(error.ids) == 3 and "3 later commands" in str(error)
    undid = store.undo(event, cascade=True)
    assert store.listed() == [] and set(error.ids) < set(undid.dropped)


def test_no_cascade_takes_a_forgetting_along(store: Store) -> None:
    (fact,) = store.remember("The code is zanzibar.")
    event = event_of(store, fact)
    store.forget(fact)
    store.undo(event, cascade=True)
    for number in range(1, 5):
        then = q.List(container=store.name, as_of=f"@{number}")
        assert b"zanzibar" not in msgspec.json.encode(store.ask(then))


def test_a_chain_put_right_for_an_earlier_time_has_one_current_version(store: Store) -> None:
    (rome,) = store.remember("Bob lives in Rome.", valid_from="2020-01-01")
    oslo = store.update(rome, "Bob lives in Oslo.", valid_from="2099-01-01")
    store.update(oslo, "Bob lives in Bonn.", valid_from="2010-01-01")
    assert [store.get(item).text for item in store.listed()] == ["Bob lives in Bonn."]


def test_an_edit_made_after_an_undo_stands_in_the_way_of_its_undo(store: Store) -> None:
    (berlin,) = store.remember("Ann lives in Berlin.")
    store.update(berlin, "Ann lives in Potsdam.")
    undid = store.undo(event_of(store, berlin, "fact edited"))
    rome = store.update(berlin, "Ann lives in Rome.")

    error = refused(HasDependents, store, q.Undo(container=store.name, id=undid.event))

    assert error.ids == (event_of(store, rome, "fact edited"),)
    store.undo(undid.event, cascade=True)
    assert [store.get(item).text for item in store.listed()] == ["Ann lives in Potsdam."]


def test_an_undone_event_says_what_undid_it(store: Store) -> None:
    document = store.ingest("Ann likes tea.")
    event = event_of(store, document, "document ingested")
    cut = event_of(store, document, "passages cut")
    undid = store.undo(event)
    for again_ in (event, cut):
        error = refused(AlreadyUndone, store, q.Undo(container=store.name, id=again_))
        assert error.ids == (undid.event,) and undid.event in str(error)
    group = store.events(types=("document ingested",))[0].group
    error = refused(AlreadyUndone, store, q.Undo(container=store.name, id=group))
    assert error.ids == (undid.event,)


def test_a_group_is_taken_back_whole_as_far_as_it_holds(store: Store) -> None:
    facts = store.remember("Ann likes tea.", "Ann likes cake.", "Ann likes pie.")
    group = store.events(about=facts[0])[0].group
    store.undo(event_of(store, facts[1]))
    undid = store.undo(group)
    assert undid.dropped == tuple(event_of(store, fact) for fact in (facts[0], facts[2]))
    assert store.listed() == []
    store.undo(undid.event)
    assert store.listed() == [facts[0], facts[2]]


def test_the_making_of_a_container_is_never_undone(store: Store) -> None:
    store.ask(q.Remember(container="gamma", facts=(q.NewFact(text="Ann likes tea."),)))
    store.name = "gamma"
    first = store.events()[0]
    error = refused(Conflict, store, q.Undo(container="gamma", id=first.id))
    assert "made the container" in str(error)
    undid = store.undo(first.group)
    assert "container itself stays" in undid.notes[0]
    assert store.listed() == []
    store.undo(undid.event)
    assert len(store.listed()) == 1


def test_a_seal_of_all_chains_is_never_undone(store: Store) -> None:
    store.ask(q.Seal())
    with store.log.reading() as reader:
        _, sealed = list(reader.all_events(reader.sequence() - 1))[-1]
    assert isinstance(sealed.event, e.HeadsSealed)
    event = show(Kind.EVENT, sealed.envelope.event_id)
    error = refused(Conflict, store, q.Undo(container=store.name, id=event))
    assert "cannot be undone" in str(error)


def test_a_document_sent_twice_is_cut_anew_when_its_first_sending_is_undone(store: Store) -> None:
    document = store.ingest("Ann likes tea.")
    first = event_of(store, document, "document ingested")
    again(store, document)
    before, passages = state(store), store.listed(what="passage")

    planned = store.undo(first, dry_run=True)
    undid = store.undo(first)

    assert store.listed(what="document") == [document]
    anew = store.listed(what="passage")
    assert len(anew) == 1 and anew != passages
    assert search(store, "tea") == anew
    assert undid.notes == planned.notes == (f"{document} was cut into passages anew",)
    views = [change.view for change in undid.changes]
    assert views.count("passages") == 2 and len(views) == len(planned.changes)
    cut = store.events(types=("passages cut",))[-1]
    assert cut.causes == (undid.event,) and cut.group == store.events()[-2].group

    store.undo(undid.event)
    assert state(store) == before and store.listed(what="passage") == passages


def test_undoing_a_forgetting_or_a_restoring(store: Store) -> None:
    (fact,) = store.remember(PIN)
    forgetting = store.forget(fact).events[0]
    hidden = state(store)
    store.undo(forgetting)
    assert search(store, "quokka") == [fact]
    restore_of = store.forget(fact)
    restoring = restore(store, fact).events[0]
    undid = store.undo(restoring)
    assert search(store, "quokka") == [] and state(store)["hidden"] == hidden["hidden"]
    assert all(change.text is None for change in undid.changes)
    error = refused(AlreadyUndone, store, q.Undo(container=store.name, id=restoring))
    assert error.ids == (undid.event,)
    store.undo(restore_of.events[0])
    assert search(store, "quokka") == [fact]


def test_a_forgotten_document_stays_so_when_a_fact_of_it_is_undone(store: Store) -> None:
    document = store.ingest(f"Hello. {PIN}")
    (fact,) = extract(store, document, ("The PIN is 7391-QUOKKA.", 7, 36))
    store.forget(document)
    undid = store.undo(event_of(store, fact, "fact extracted"), cascade=True)
    assert undid.dependents == ()
    assert store.listed(what="document") == [] and search(store, "quokka") == []


def test_undo_of_what_is_not_there(store: Store) -> None:
    refused(NotFound, store, q.Undo(container=store.name, id=show(Kind.EVENT, bytes(16))))
    refused(NotFound, store, q.Undo(container=store.name, id=show(Kind.GROUP, bytes(16))))
    fact = store.remember("Ann likes tea.", "Ann likes cake.")[1]
    second = event_of(store, fact)
    not_a_group = show(Kind.GROUP, ref(second).id)
    refused(NotFound, store, q.Undo(container=store.name, id=not_a_group))


# --- only if nothing happened since


def test_every_command_can_ask_that_nothing_happened_since(store: Store) -> None:
    (fact, other) = store.remember("Ann likes tea.", "Ann likes cake.")
    event, seen = event_of(store, fact), events_now(store)
    store.ask(q.Update(container=store.name, id=fact, add_tags=("t",)))
    for request in (
        q.Forget(container=store.name, ids=(fact,), unless_after=seen),
        q.Erase(container=store.name, ids=(fact,), unless_after=seen),
        q.Undo(container=store.name, id=event, cascade=True, unless_after=seen),
    ):
        error = refused(Stale, store, request)
        assert error.field == "unless_after" and fact in error.ids
    store.forget(other, unless_after=seen)
    refused(Stale, store, q.Restore(container=store.name, ids=(other,), unless_after=seen))
    store.undo(event, cascade=True, unless_after=events_now(store))


# --- erase


def test_erasing_a_fact_takes_its_wordings_its_tags_and_why_it_was_forgotten(store: Store) -> None:
    (fact,) = store.remember(PIN, tags=("secret-tag",), metadata={"from": "Kai"})
    new = store.update(fact, "The locker has PIN 7392-QUOKKA.")
    store.ask(q.Update(container=store.name, id=new, add_tags=("added-tag",)))
    store.ask(q.Forget(container=store.name, query="quokka", reason="it is private"))

    erased = erase(store, fact)

    assert {item.id for item in erased.items} == {fact, new}
    assert all(item.text is None for item in erased.items)
    assert erased.bodies >= 7 and erased.stands_in == ()
    assert left(store) & {"secret-tag", "Kai", "added-tag", "quokka", "it is private", PIN} == set()
    refused(Conflict, store, q.Erase(container=store.name, ids=(fact,)))
    refused(Conflict, store, q.Restore(container=store.name, ids=(fact,)))
    refused(Conflict, store, q.Forget(container=store.name, ids=(fact,)))


def test_a_piece_that_held_the_source_leaves_a_hole_in_its_document(store: Store) -> None:
    about_tea = "Tea is made of leaves. " * 40
    document = store.ingest(f"{PIN} {'It is grey. ' * 80}\n\n{about_tea}", title="Lockers")
    _, chars = place_of(store, document)
    (fact,) = extract(store, document, ("The PIN is 7391-QUOKKA.", 0, 29))
    planned = erase(store, fact, dry_run=True)

    erased = erase(store, fact)

    assert [item.id for item in erased.items] == [item.id for item in planned.items]
    assert [item.kind for item in erased.items] == ["fact", "passage"]
    assert "QUOKKA" in (planned.items[1].text or "")
    assert any(document in note for note in erased.notes)
    assert store.listed(what="document") == [document]
    shown = store.get(document)
    assert "leaves" in shown.text and "QUOKKA" not in shown.text and shown.title == "Lockers"
    assert search(store, "leaves") and search(store, "quokka") == []
    assert chars < len(about_tea) + 2_000
    assert "a prompt" not in left(store)


def test_a_message_that_held_the_source_is_gone_with_it(store: Store) -> None:
    message, other = store.say(f"Hello. {PIN}", "Ann likes tea.", name="Nina")
    secret, greeting = extract(
        store, message, ("The PIN is 7391-QUOKKA.", 7, 36), ("A greeting was sent", 0, 5)
    )
    erased = erase(store, secret)
    assert {item.id for item in erased.items} == {secret, message}
    assert store.listed(what="message") == [other]
    assert store.listed() == [greeting]
    assert any(greeting in note and "stay" in note for note in erased.notes)
    assert store.get(other).speaker == "Nina"
    assert any("details" in note for note in erased.notes)


def test_erasing_a_document_takes_the_facts_drawn_from_nothing_else(store: Store) -> None:
    document = store.ingest(f"Hello. {PIN}", title="Lockers", tags=("t",))
    (fact,) = extract(store, document, ("The PIN is 7391-QUOKKA.", 7, 36))
    (own,) = store.remember("Ann likes tea.")
    erased = erase(store, document)
    assert {item.id for item in erased.items} == {document, fact}
    assert store.listed() == [own] and store.listed(what="document") == []
    assert store.listed(what="passage") == []
    assert left(store) & {"Lockers", "a prompt"} == set()
    assert not any("QUOKKA" in text for text in left(store))


def test_a_text_taken_as_a_fact_goes_with_the_document_that_holds_its_words(store: Store) -> None:
    document = store.ingest(PIN, infer=False)
    (fact,) = store.listed()
    assert {item.id for item in erase(store, fact).items} == {fact, document}
    assert left(store) & {PIN} == set()


def test_undone_versions_are_erased_too(store: Store) -> None:
    (fact,) = store.remember("The locker is grey.")
    secret = store.update(fact, PIN)
    store.undo(event_of(store, secret, "fact edited"))
    assert {item.id for item in erase(store, fact).items} == {fact, secret}
    assert not any("QUOKKA" in text for text in left(store))


def test_an_undone_item_can_be_erased(store: Store) -> None:
    (fact,) = store.remember(PIN)
    event = event_of(store, fact)
    undid = store.undo(event)
    erase(store, fact)
    assert not any("QUOKKA" in text for text in left(store))
    refused(Conflict, store, q.Undo(container=store.name, id=undid.event))


def test_the_same_words_elsewhere_are_reported(store: Store) -> None:
    (fact,) = store.remember(PIN)
    document = store.ingest(f"Kai said: {PIN} That was all.")
    (message,) = store.say(f"“{PIN}”")
    (undone,) = store.remember(f"Note: {PIN}")
    store.undo(event_of(store, undone))
    store.forget(message)
    (other,) = store.remember("Ann likes tea.")

    planned = erase(store, fact, dry_run=True)

    assert set(planned.stands_in) == {document, message, undone}
    assert other not in planned.stands_in
    assert erase(store, fact).stands_in == planned.stands_in
    assert erase(store, document, message, undone).stands_in == ()
    assert not any("QUOKKA" in text for text in left(store))


def test_a_dry_run_of_erasing_tells_texts_but_not_forgotten_ones(store: Store) -> None:
    shown, hidden = store.remember("Ann likes tea.", PIN)
    store.forget(hidden)
    before = state(store)
    planned = erase(store, shown, hidden, dry_run=True)
    assert [item.text for item in planned.items] == ["Ann likes tea.", None]
    assert planned.event is None and planned.compaction == "none" and planned.bodies >= 2
    assert state(store) == before and store.get(shown).text == "Ann likes tea."


def test_an_erasure_and_what_it_erased_cannot_be_undone(store: Store) -> None:
    (fact,) = store.remember(PIN)
    remembered = event_of(store, fact)
    forgetting = store.forget(fact).events[0]
    erased = erase(store, fact)
    error = refused(Conflict, store, q.Undo(container=store.name, id=erased.event))
    assert "gone for good" in str(error)
    for event in (remembered, forgetting):
        error = refused(Conflict, store, q.Undo(container=store.name, id=event, cascade=True))
        assert "erased" in str(error)


def test_a_document_can_be_undone_after_a_fact_of_it_was_erased(store: Store) -> None:
    about_tea = "Tea is made of leaves. " * 40
    document = store.ingest(f"{PIN} {'It is grey. ' * 80}\n\n{about_tea}")
    (fact,) = extract(store, document, ("The PIN is 7391-QUOKKA.", 0, 29))
    erase(store, fact)
    undid = store.undo(event_of(store, document, "document ingested"))
    assert store.listed(what="document") == []
    assert any(fact in note for note in undid.notes)
    store.undo(undid.event)
    assert store.listed(what="document") == [document]


def test_every_body_of_every_event_is_found() -> None:
    """Erasing relies on it: a body that is not seen would stay."""
    holders = {
        part
        for event in NAMES.values()
        for hint in get_type_hints(event).values()
        for part in parts_of(hint)
        if Body in {inner for field in get_type_hints(part).values() for inner in parts_of(field)}
    }
    assert holders - set(NAMES.values()) == set(HOLDERS)
    body = Body(0, b"", 1)
    cut = e.Cut(PassageId(bytes(16)), body, 0, 1)
    event = e.PassagesCut(DocumentId(bytes(16)), (cut, cut))
    assert [name for name, _ in within(event)] == ["passages.body", "passages.body"]


def parts_of(hint: Any) -> Iterator[type[Any]]:
    """The structs that a type hint names."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for part in get_args(hint):
        yield from parts_of(part)


def left(store: Store) -> set[str]:
    """Every text and every string of a structured body that the container's log still holds."""
    found: set[str] = set()
    container = store.container()
    with store.log.reading() as reader:
        for recorded in reader.events(container):
            for slot in range(64):
                content = reader.body(container, Place(recorded.position, slot))
                if content is not None:
                    found |= strings(content)
    return found


def strings(content: bytes) -> set[str]:
    try:
        value = read_value(content)
    except ValueError:
        return {content.decode()}
    return {content.decode(errors="replace"), *leaves(value)}


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (leaf for pair in value.items() for part in pair for leaf in leaves(part))
    elif isinstance(value, Sequence):
        yield from (leaf for part in value for leaf in leaves(part))


def test_r22_what_is_forgotten_shows_nowhere_and_what_is_erased_is_on_no_disk(
    tmp_path: Path,
) -> None:
    clock, ids = HandClock(), CountedIds()
    log = LmdbLog(tmp_path / "log", clock=clock, ids=ids)
    store = Store(log, tmp_path, clock, ids, "alpha")
    try:
        (fact,) = store.remember(PIN, tags=("quokka-tag",))
        (message,) = store.say(f"By the way: {PIN}")
        (drawn,) = extract(store, message, ("The PIN is 7391-QUOKKA.", 12, 41))
        at = events_now(store)
        store.forget(fact, drawn, reason="QUOKKA is private", key="once")
        store.forget(message, key="twice")
        for request in everything(store, fact, message, at):
            assert b"QUOKKA" not in answer(store, request), request
        assert b"QUOKKA" in answer(
            store, q.Get(container=store.name, id=fact, include_forgotten=True)
        )

        erased = erase(store, fact, message)

        assert erased.compaction == "done" and erased.stands_in == ()
        error = refused(Conflict, store, q.Undo(container=store.name, id=erased.event))
        assert "erased" in str(error)
    finally:
        store.engine.close()
        log.close()
    held = [path for path in tmp_path.rglob("*") if path.is_file()]
    found = [path.name for path in held if b"quokka" in path.read_bytes().lower()]
    assert held and found == []


def everything(store: Store, fact: str, message: str, at: int) -> list[q.Request]:
    """Every read path, now and as of the time before the forgetting."""
    name = store.name
    asked: list[q.Request] = [q.Diff(container=name, start="@1"), q.Stats(container=name)]
    for as_of in (None, f"@{at}"):
        asked += [
            q.Search(container=name, query="locker PIN", as_of=as_of),
            q.Context(container=name, query="locker PIN", as_of=as_of),
            q.Events(container=name, as_of=as_of),
            q.Jobs(container=name, as_of=as_of),
        ]
        for what in ("fact", "message", "document", "passage"):
            asked.append(q.List(container=name, what=what, as_of=as_of))
        for item in (fact, message):
            asked += [
                q.Get(container=name, id=item, as_of=as_of),
                q.History(container=name, id=item, as_of=as_of),
            ]
    return asked


def answer(store: Store, request: q.Request) -> bytes:
    try:
        return msgspec.json.encode(store.ask(request))
    except RewoundError as error:
        return str(error).encode()
