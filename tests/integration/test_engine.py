"""The engine: groups, acknowledgements, idempotency, and what happens when a step of it fails."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog import events as e
from rewound.eventlog import failpoints
from rewound.eventlog.bodies import BodyWriter, Place, keyed_digest
from rewound.eventlog.envelope import PERSON, Actor, ActorKind
from rewound.eventlog.errors import (
    Conflict,
    InvalidInput,
    KeyReused,
    NotFound,
    ReadOnly,
    Stale,
    StoreBusy,
    StoreFull,
)
from rewound.eventlog.ids import (
    STORE,
    ConversationId,
    EventId,
    FactId,
    KeyId,
    Kind,
    MessageId,
    Ref,
    parse,
)
from rewound.eventlog.log import Draft
from rewound.memory import deciding, writer
from rewound.memory import engine as engines
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.engine import Engine
from rewound.memory.inbox import Closed, Inbox
from rewound.projections.views import Views
from tests.integration.given import Bug, Shop, deciders, fact, facts

MINUTE_US = 60_000_000


@pytest.fixture(autouse=True)
def _decide(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(deciding, "load", deciders)
    yield
    failpoints.disarm()


@pytest.fixture(params=["memory", "lmdb"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path, durable=request.param == "lmdb")
    yield opened
    opened.log.close()


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path, durable=True)
    yield opened
    opened.log.close()


def write(engine: Engine, text: str, **more: Any) -> r.Written:
    reply = engine.call(fact(text, **more))
    assert isinstance(reply, r.Written)
    return reply


@contextmanager
def held(engine: Engine) -> Iterator[None]:
    """The writer waits between two groups, so that what comes meanwhile makes one group."""
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        go_on.wait(30)

    waiting = ThreadPoolExecutor(1)
    task = waiting.submit(engine.between_groups, wait)
    begun.wait(30)
    try:
        yield
    finally:
        go_on.set()
        task.result(30)
        waiting.shutdown()


def together(engine: Engine, *requests: q.Write) -> list[r.Reply | Exception]:
    """Send writes so that they make one group, in that order; their replies or errors."""
    with held(engine):
        sent = [engine.submit(request) for request in requests]
    wait_for(sent, 30)
    return [future.exception() or future.result() for future in sent]  # type: ignore[misc]


# --- writing and reading


def test_what_was_acknowledged_is_read(shop: Shop) -> None:
    with shop.engine() as engine:
        for number in range(20):
            reply = write(engine, f"fact {number}")
            assert reply.position == number + 2  # the container's own event comes first
            assert facts(engine) == [f"fact {each}" for each in range(number + 1)]
    with shop.engine() as engine:
        assert len(facts(engine)) == 20


def test_containers_know_nothing_of_each_other(shop: Shop) -> None:
    with shop.engine() as engine:
        for name in ("north", "north-east", "North", "north "):
            assert write(engine, f"secret of {name!r}", container=name).position == 2
        for name in ("north", "north-east", "North", "north "):
            assert facts(engine, name) == [f"secret of {name!r}"]
        for name in ("nort", "north/x", ""):
            with pytest.raises((NotFound, InvalidInput)):
                facts(engine, name)


def test_parallel_writers_lose_nothing(shop: Shop) -> None:
    with shop.engine() as engine, ThreadPoolExecutor(16) as threads:
        texts = [f"fact {number}" for number in range(200)]
        replies = list(threads.map(lambda text: write(engine, text), texts))
        assert sorted(reply.position for reply in replies) == list(range(2, 202))
        assert sorted(facts(engine)) == sorted(texts)


def test_what_waits_together_is_one_group(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop.engine() as engine:
        write(engine, "first")
        opened = []
        writing = shop.log.writing

        def counted(*, urgent: bool = False) -> Any:
            opened.append(urgent)
            return writing(urgent=urgent)

        monkeypatch.setattr(shop.log, "writing", counted)
        replies = together(engine, *(fact(f"fact {number}") for number in range(300)))
        written = [reply for reply in replies if isinstance(reply, r.Written)]
        assert [reply.position for reply in written] == list(range(3, 303))
        assert opened == [False, False]  # 256, then the rest


def test_a_read_waits_for_a_position(shop: Shop) -> None:
    with shop.engine() as engine, ThreadPoolExecutor(1) as threads:
        assert write(engine, "one").position == 2
        asked = threads.submit(engine.call, q.List(at_least=3))
        time.sleep(0.05)
        assert not asked.done()
        write(engine, "two")
        page = asked.result(30)
        assert isinstance(page, r.Page)
        assert page.total == 2
        with pytest.raises(StoreBusy, match="at position 3, not yet at 9"):
            engine.call(q.List(at_least=9), timeout_s=0.05)


def test_a_write_can_be_waited_for_elsewhere(shop: Shop) -> None:
    with shop.engine() as engine:
        batch = q.Remember(facts=(q.NewFact(text="one"), q.NewFact(text=" ")))
        reply = engine.submit(batch).result(30)
        assert isinstance(reply, r.Written)
        assert [item.status for item in reply.items] == ["written", "refused"]
        assert isinstance(engine.submit(fact("refuse")).exception(30), Conflict)
        cancelled = engine.submit(fact("two"))
        assert not cancelled.cancel()
        cancelled.result(30)


def test_a_plan_may_have_an_aftermath_in_its_group(shop: Shop) -> None:
    with shop.engine() as engine:
        reply = write(engine, "and more")
        events = shop.events()
        assert [type(each.event).__name__ for each in events] == [
            "ContainerConfigured",
            "FactRemembered",
            "TagsEdited",
        ]
        assert {bytes(each.envelope.group) for each in events} == {events[0].envelope.event_id}
        assert len(reply.items) == 2


# --- refusals and failures inside a group


@pytest.mark.parametrize("order", ["refuse", "stumble", "stumble later", "refuse later"])
def test_a_command_that_fails_leaves_nothing_and_spoils_nothing(shop: Shop, order: str) -> None:
    with shop.engine() as engine:
        write(engine, "before")
        replies = together(engine, fact("one"), fact(order), fact("two"), fact(order))
        assert [type(reply) for reply in replies[::2]] == [r.Written, r.Written]
        kind = Bug if order.startswith("stumble") else Conflict
        assert [type(reply) for reply in replies[1::2]] == [kind, kind]
        assert facts(engine) == ["before", "one", "two"] == shop.texts()
        assert [each.position for each in shop.events()] == [1, 2, 3, 4]
        digest_rows = _known(shop, order)
        assert digest_rows == []


def _known(shop: Shop, text: str) -> list[Ref]:
    with shop.log.reading() as log:
        container = next(iter(log.containers()))
        return log.known(container, keyed_digest(log.key(container), b"fact", text.encode()))


@pytest.mark.parametrize("order", ["refuse", "stumble", "stumble later"])
def test_a_container_is_not_made_by_what_fails(shop: Shop, order: str) -> None:
    with shop.engine() as engine:
        with pytest.raises((Conflict, Bug)):
            write(engine, order, container="new")
        assert shop.events() == []
        with pytest.raises(NotFound):
            facts(engine, "new")
        with pytest.raises(NotFound, match="made by the first thing written"):
            engine.call(q.Undo(container="new", id="ev_" + "0" * 26))


def test_when_the_log_cannot_commit_every_command_gets_the_error(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = shop.log.writing

    @contextmanager
    def full(*, urgent: bool = False) -> Iterator[Any]:
        with writing(urgent=urgent) as log:
            yield log
            raise StoreFull("the disk has no room")

    with shop.engine() as engine:
        write(engine, "before")
        monkeypatch.setattr(shop.log, "writing", full)
        replies = together(engine, fact("one"), fact("two"))
        assert [type(reply) for reply in replies] == [StoreFull, StoreFull]
        assert facts(engine) == ["before"] == shop.texts()
        monkeypatch.setattr(shop.log, "writing", writing)
        write(engine, "after")
        assert facts(engine) == ["before", "after"] == shop.texts()


def test_taking_back_works_where_nothing_else_does(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk a group is refused before it begins, unless it is urgent."""
    writing = shop.log.writing

    def full(*, urgent: bool = False) -> Any:
        if not urgent:
            raise StoreFull("the disk is full")
        return writing(urgent=urgent)

    with shop.engine() as engine:
        known = write(engine, "before").items[0].id
        assert known is not None
        monkeypatch.setattr(shop.log, "writing", full)
        replies = together(engine, fact("one"), q.Forget(ids=(known,)), fact("two"))
        assert [type(reply) for reply in replies] == [StoreFull, r.Forgot, StoreFull]
        assert facts(engine) == []


def test_when_the_views_cannot_commit_they_catch_up(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = Views(shop.folder / "views", shop.log)
    writing, catching_up = views.writing, views.catch_up

    @contextmanager
    def failing(*args: Any) -> Iterator[Any]:
        with writing(*args) as opened:
            yield opened
            raise StoreFull("no room for views")

    def failing_too(*args: Any) -> int:
        raise StoreFull("still no room for views")

    with shop.engine(views) as engine:
        write(engine, "before")
        monkeypatch.setattr(views, "writing", failing)
        monkeypatch.setattr(views, "catch_up", failing_too)
        assert write(engine, "during").position == 3  # acknowledged: the log has it
        with pytest.raises(StoreBusy, match="nothing is lost"):
            facts(engine)
        monkeypatch.setattr(views, "writing", writing)
        monkeypatch.setattr(views, "catch_up", catching_up)
        write(engine, "after")
        assert facts(engine) == ["before", "during", "after"]
    views.close()


def test_a_full_map_grows_under_the_same_group(durable: Shop) -> None:
    views = Views(durable.folder / "views", durable.log, map_bytes=1 << 20)
    with durable.engine(views) as engine, ThreadPoolExecutor(8) as threads:
        stop = threading.Event()
        reading = threads.submit(_read_on, engine, stop)
        texts = [f"{number} " + "word " * 1_500 for number in range(200)]
        written = list(threads.map(lambda text: write(engine, text), texts))
        stop.set()
        assert reading.result(30) > 0
        assert len({reply.position for reply in written}) == 200
        assert sorted(facts(engine)) == sorted(texts)
    views.close()
    assert sorted(durable.texts()) == sorted(texts)


def _read_on(engine: Engine, stop: threading.Event) -> int:
    """How often all was read; once at least after `stop`."""
    count = 0
    while True:
        last = stop.is_set()
        try:
            facts(engine)
        except NotFound:
            continue
        count += 1
        if last:
            return count


# --- idempotency and conflicts


def test_a_repeated_key_is_answered_alike_and_appends_nothing(shop: Shop) -> None:
    with shop.engine() as engine:
        first = write(engine, "tea", key="k")
        again, _ = together(engine, fact("tea", key="k"), fact("tea", key="other"))
        assert again == first
        assert len(shop.texts()) == 2
    with shop.engine() as engine:
        assert write(engine, "tea", key="k") == first
        with pytest.raises(KeyReused) as caught:
            write(engine, "coffee", key="k")
        assert caught.value.field == "key"
        assert len(shop.texts()) == 2


def test_keys_are_scoped_by_container_and_actor(shop: Shop) -> None:
    ann = Actor(ActorKind.PERSON, KeyId(bytes(16)))
    bob = Actor(ActorKind.PERSON, KeyId(bytes(15) + b"\1"))
    with shop.engine() as engine:
        for actor in (PERSON, ann, bob):
            engine.call(fact(f"tea {actor.key!r}", key="k"), actor)
        write(engine, "tea", key="k", container="other")
        assert len(shop.texts()) == 4
        engine.call(fact(f"tea {ann.key!r}", key="k"), ann)
        assert len(shop.texts()) == 4


def test_the_same_key_twice_in_one_group_is_done_once(shop: Shop) -> None:
    with shop.engine() as engine:
        replies = together(engine, *[fact("tea", key="k")] * 20)
        assert len(shop.texts()) == 1
        assert all(reply == replies[0] for reply in replies)


def test_a_refusal_is_not_kept(shop: Shop) -> None:
    with shop.engine() as engine:
        for _ in range(2):
            with pytest.raises(Conflict):
                write(engine, "refuse", key="k")
        write(engine, "tea", key="k")


def test_neither_keys_nor_requests_are_kept_readable(durable: Shop) -> None:
    with durable.engine() as engine:
        write(engine, "tea", key="a-key-that-is-easily-found")
    durable.log.close()
    for path in durable.folder.rglob("*"):
        assert path.is_dir() or b"a-key-that-is-easily-found" not in path.read_bytes()


def test_a_command_may_insist_that_nothing_happened(shop: Shop) -> None:
    with shop.engine() as engine:
        first = write(engine, "tea")
        item = first.items[0].id
        assert item is not None
        forget = q.Forget(ids=(item,), unless_after=first.position)
        second = write(engine, "coffee")
        replies = together(engine, forget, forget)
        assert isinstance(replies[0], r.Forgot)
        assert isinstance(replies[1], Conflict)
        restore = q.Restore(ids=(item,), unless_after=second.position)
        with pytest.raises(Stale) as caught:
            engine.call(restore)
        assert caught.value.ids[0] == item


# --- dry runs


def test_a_dry_run_leaves_nothing(shop: Shop) -> None:
    with shop.engine() as engine:
        item = write(engine, "tea").items[0].id
        assert item is not None
        before = shop.events()
        dry = q.Forget(ids=(item,), dry_run=True, key="k")
        replies = together(engine, fact("one"), dry, fact("two"), dry)
        assert [type(reply) for reply in replies] == [r.Written, r.Forgot, r.Written, r.Forgot]
        assert facts(engine) == ["tea", "one", "two"] == shop.texts()
        assert len(shop.events()) == len(before) + 2
        engine.call(msgspec.structs.replace(dry, dry_run=False))
        assert facts(engine) == ["one", "two"]


# --- erasing


def erase(engine: Engine, item: str | None, **more: Any) -> r.Erased:
    assert item is not None
    reply = engine.call(q.Erase(ids=(item,), **more))
    assert isinstance(reply, r.Erased)
    return reply


def holding(folder: Path, needle: bytes) -> list[Path]:
    """Files that hold the bytes; one that goes away meanwhile holds nothing."""
    found = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):
            if needle in path.read_bytes():
                found.append(path)
    return found


def test_after_an_erasure_that_was_waited_for_no_file_holds_the_bytes(durable: Shop) -> None:
    with durable.engine() as engine:
        secret = write(engine, "the canary sings at noon", key="k").items[0].id
        write(engine, "something else")
        assert holding(durable.folder, b"canary")
        assert erase(engine, secret, dry_run=True).compaction == "none"
        assert holding(durable.folder, b"canary")
        assert erase(engine, secret, key="erase").compaction == "done"
        assert not holding(durable.folder, b"canary")
        assert erase(engine, secret, key="erase").compaction == "done"
        assert facts(engine) == ["something else"]


def test_an_erasure_takes_kept_answers_along(durable: Shop) -> None:
    """Answers kept under idempotency keys quote texts: of forgettings, of undos."""
    with durable.engine() as engine:
        written = write(engine, "the canary sings at noon", key="1")
        secret, event = written.items[0].id, written.items[0].event
        assert secret is not None
        assert event is not None
        for number in range(20):
            write(engine, f"something else {number}")
        quoting = engine.call(q.Undo(id=event, key="2"))
        assert b"canary" in msgspec.json.encode(quoting)
        assert isinstance(quoting, r.Undid)
        assert quoting.event is not None
        engine.call(q.Undo(id=quoting.event, key="3"))
        hidden = q.Forget(ids=(secret,), key="4")
        first = engine.call(hidden)
        erase(engine, secret, key="5")
        assert not holding(durable.folder, b"canary")
        before = len(durable.events())
        again = engine.call(hidden)
        assert isinstance(first, r.Forgot)
        assert isinstance(again, r.Forgot)
        assert (again.events, again.position) == (first.events, first.position)
        assert first.items[0].text == "the canary sings at noon"
        assert again.items[0].text is None
        with pytest.raises(Conflict, match="erased") as refused:
            write(engine, "the canary sings at noon", key="1")
        assert refused.value.field == "key"
        with pytest.raises(Conflict, match="erased"):  # never answered with what another wrote
            write(engine, "quite another thing", key="1")
        assert len(durable.events()) == before
        assert not holding(durable.folder, b"canary")


def test_an_erasure_that_is_not_waited_for_is_finished_soon(durable: Shop) -> None:
    with durable.engine() as engine:
        secret = write(engine, "the canary sings at noon").items[0].id
        assert erase(engine, secret, wait=False).compaction == "pending"
        until = time.monotonic() + 30
        while durable.log.needs_compaction() and time.monotonic() < until:
            time.sleep(0.02)
        assert not holding(durable.folder, b"canary")


def test_an_erasure_that_was_cut_short_is_finished_by_the_next_engine(
    durable: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with durable.engine() as engine:
        secret = write(engine, "the canary sings at noon").items[0].id

        def full() -> None:
            raise StoreFull("no room for a copy")

        with monkeypatch.context() as patched:
            patched.setattr(durable.log, "compact", full)
            reply = erase(engine, secret)
            assert reply.compaction == "pending"
            assert "no room for a copy" in reply.notes[-1]
            assert facts(engine) == []
        assert durable.log.needs_compaction()
    assert holding(durable.folder, b"canary")
    with durable.engine():
        until = time.monotonic() + 30
        while durable.log.needs_compaction() and time.monotonic() < until:
            time.sleep(0.02)
    assert not holding(durable.folder, b"canary")


# --- workers


def extraction(
    engine: Engine, source: Ref, place: Place, cause: EventId, start: int = 0
) -> list[Draft]:
    bodies = BodyWriter(engine.ids)
    found = FactId(engine.ids.new())
    statement = e.Statement(bodies.piece("Nina works."))
    span = e.Span(source, place, start, start + 4)
    return [Draft(e.FactExtracted(found, statement, (span,)), bodies.sealed, (cause,))]


def source_of(engine: Engine, shop: Shop) -> tuple[Ref, Place, EventId]:
    """A message to extract from, recorded as a person's event."""
    write(engine, "so that there is a container")
    bodies = BodyWriter(engine.ids)
    message, talk = engine.ids.new(), engine.ids.new()
    event = e.MessageRecorded(
        MessageId(message), ConversationId(talk), 0, e.Role.USER, bodies.piece("Nina works.")
    )
    [recorded] = engine.record("default", [Draft(event, bodies.sealed)], actor=PERSON)
    place = Place(recorded.position, 0)
    return Ref(Kind.MESSAGE, message), place, recorded.envelope.event_id


def test_a_worker_records_what_it_found(shop: Shop) -> None:
    with shop.engine() as engine:
        source, place, cause = source_of(engine, shop)
        [draft] = extraction(engine, source, place, cause)
        [recorded] = engine.record("default", [draft._replace(causes=())], (cause,))
        assert recorded.envelope.causes == (cause,)
        assert recorded.envelope.actor.kind is ActorKind.WORKER
        assert "Nina works." in facts(engine)
        again = engine.record(recorded.container, extraction(engine, source, place, cause))
        assert again[0].position == recorded.position + 1


def test_nothing_is_recorded_for_a_cause_that_was_undone(shop: Shop) -> None:
    with shop.engine() as engine:
        source, place, cause = source_of(engine, shop)
        undone = e.Undone(Ref(Kind.EVENT, cause), (cause,))
        engine.record("default", [Draft(undone)], actor=PERSON)
        before = len(shop.events())
        with pytest.raises(Conflict, match="was undone meanwhile"):
            engine.record("default", extraction(engine, source, place, cause))
        assert len(shop.events()) == before


def test_nothing_is_recorded_from_what_was_forgotten(shop: Shop) -> None:
    with shop.engine() as engine:
        source, place, cause = source_of(engine, shop)
        engine.call(q.Forget(ids=(str(source),)))
        bodies = BodyWriter(engine.ids)
        failed = e.ExtractionFailed(source, bodies.piece("rules"), 1, e.Why.CUT_OFF)
        for drafts in (
            extraction(engine, source, place, cause),
            [Draft(failed, bodies.sealed, (cause,))],
        ):
            with pytest.raises(Conflict, match="was forgotten meanwhile"):
                engine.record("default", drafts)


def test_nothing_is_recorded_from_a_masked_span(shop: Shop) -> None:
    with shop.engine() as engine:
        source, place, cause = source_of(engine, shop)
        [known] = engine.record("default", extraction(engine, source, place, cause))
        engine.call(q.Forget(ids=(str(known.event.creates()[0]),)))
        with pytest.raises(Conflict, match=r"a part of msg_\w+ was forgotten"):
            engine.record("default", extraction(engine, source, place, cause, 2))
        engine.record("default", extraction(engine, source, place, cause, 5))


def test_a_worker_is_told_what_is_not_there(shop: Shop) -> None:
    with shop.engine() as engine:
        source, place, cause = source_of(engine, shop)
        stranger = Ref(Kind.MESSAGE, engine.ids.new())
        with pytest.raises(NotFound, match="no longer there"):
            engine.record("default", extraction(engine, stranger, place, cause))
        with pytest.raises(NotFound, match="is not in this container"):
            engine.record("default", extraction(engine, source, place, EventId(bytes(16))))
        with pytest.raises(NotFound, match="no container 'nowhere'"):
            engine.record("nowhere", extraction(engine, source, place, cause))


# --- the clock


def test_a_log_from_the_future_is_only_read_until_a_person_agrees(shop: Shop) -> None:
    accepted: list[int] = []
    with shop.engine() as engine:
        write(engine, "one")
    last = shop.clock.at = shop.events()[-1].envelope.recorded_at
    shop.clock.at -= 10 * MINUTE_US
    with shop.engine() as engine:
        write(engine, "ten minutes are nothing")
    shop.clock.at -= MINUTE_US
    with shop.engine(accept=accepted.append) as engine:
        assert engine.readonly_reason is not None
        with pytest.raises(ReadOnly, match=r"11 minutes after .* `rewound accept-clock`"):
            write(engine, "two")
        with pytest.raises(ReadOnly):
            engine.record("default", [])
        with pytest.raises(ReadOnly):
            engine.seal()
        assert len(facts(engine)) == 2
        engine.call(q.AcceptClock())
        write(engine, "two")
        assert shop.events()[-1].envelope.recorded_at > last
        assert len(facts(engine)) == 3
    with shop.engine(accepted_us=accepted[0]) as engine:
        write(engine, "three")
    shop.clock.at = last + 20 * MINUTE_US
    with shop.engine(accepted_us=accepted[0]) as engine:
        write(engine, "four")
    shop.clock.at = last
    with shop.engine(accepted_us=accepted[0]) as engine, pytest.raises(ReadOnly):
        write(engine, "set back once more")


def test_reads_are_never_before_the_last_event(shop: Shop) -> None:
    with shop.engine() as engine:
        shop.clock.at += 5 * MINUTE_US
        write(engine, "valid from a moment that the clock has not reached again")
        shop.clock.at -= 5 * MINUTE_US
        assert len(facts(engine)) == 1


# --- life


def sealed(shop: Shop) -> list[e.HeadsSealed]:
    return [each.event for each in shop.events() if isinstance(each.event, e.HeadsSealed)]


def test_closing_seals_what_was_appended(shop: Shop) -> None:
    with shop.engine():
        pass
    assert sealed(shop) == []
    with shop.engine() as engine:
        write(engine, "one")
        write(engine, "two", container="other")
    assert [seal.containers for seal in sealed(shop)] == [2]
    assert shop.events()[-1].container == STORE
    with shop.engine() as engine:
        assert engine.seal() == sealed(shop)[0]
        facts(engine)
    assert len(sealed(shop)) == 1
    with shop.engine() as engine:
        write(engine, "three")
        assert engine.seal().containers == 2  # the store's own is not counted
        assert engine.seal() == sealed(shop)[1]
    assert len(sealed(shop)) == 2


def test_closing_finishes_what_waits(shop: Shop) -> None:
    engine = Engine(shop.log, shop.folder / "views", clock=shop.clock, ids=shop.ids)
    with held(engine):
        sent = [engine.submit(fact(f"fact {number}")) for number in range(50)]
        closing = threading.Thread(target=engine.close)
        closing.start()
    closing.join(30)
    assert all(isinstance(future.result(0), r.Written) for future in sent)
    assert len(shop.texts()) == 50
    engine.close()
    for request in (fact("late"), q.List()):
        with pytest.raises(Closed):
            engine.call(request)


def test_closing_waits_for_reads(shop: Shop) -> None:
    engine = Engine(shop.log, shop.folder / "views", clock=shop.clock, ids=shop.ids)
    write(engine, "one")
    with engine.reading() as views:
        closing = threading.Thread(target=engine.close)
        closing.start()
        closing.join(0.1)
        assert closing.is_alive()
        assert views.sequence() > 0
    closing.join(30)
    assert not closing.is_alive()


def test_the_queue_is_bounded(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "WAITING_MAX", 3)
    monkeypatch.setattr(engines, "WAIT_S", 0.05)
    with shop.engine() as engine:
        with held(engine):
            sent = [engine.submit(fact(f"fact {number}")) for number in range(3)]
            with pytest.raises(StoreBusy, match="3 writes are waiting"):
                engine.submit(fact("one too many"))
            with pytest.raises(StoreBusy, match="3 writes are waiting"):
                engine.call(fact("one too many"), timeout_s=0.05)
        wait_for(sent, 30)
        assert len(facts(engine)) == 3


def test_a_write_may_be_waited_for_only_so_long(shop: Shop) -> None:
    with shop.engine() as engine:
        with held(engine), pytest.raises(StoreBusy, match="may still happen"):
            engine.call(fact("slow"), timeout_s=0.05)
        assert write(engine, "next").position == 3
        assert facts(engine) == ["slow", "next"]


def test_tasks_run_between_groups_and_may_fail(shop: Shop) -> None:
    with shop.engine() as engine:
        name = engine.between_groups(lambda: threading.current_thread().name)
        assert name == "rewound-writer"
        with pytest.raises(ZeroDivisionError):
            engine.between_groups(lambda: 1 // 0)
        write(engine, "still writing")


def test_an_unknown_request_is_refused(shop: Shop) -> None:
    with shop.engine() as engine, pytest.raises(InvalidInput, match="not a request"):
        engine.call(q.Request())


def test_the_inbox_gives_in_order_and_ends() -> None:
    inbox: Inbox[int] = Inbox(10)
    for number in range(5):
        inbox.put(number, 1)
    assert inbox.take(3, 0) == [0, 1, 2]
    inbox.close()
    with pytest.raises(Closed):
        inbox.put(9, 1)
    assert inbox.take(3, 0) == [3, 4]
    assert inbox.take(3, None) is None


# --- crashes


@pytest.mark.parametrize("point", failpoints.ENGINE)
@pytest.mark.parametrize("keyed", [True, False])
def test_a_crash_leaves_all_of_a_command_or_nothing(durable: Shop, point: str, keyed: bool) -> None:
    key = "k" if keyed else None
    engine = Engine(durable.log, durable.folder / "views", clock=durable.clock, ids=durable.ids)
    write(engine, "before")
    acknowledged = point == "engine.before-views-commit"
    with (
        failpoints.armed(point),
        nullcontext() if acknowledged else pytest.raises(failpoints.Crash),
    ):
        name = "new" if point == "engine.after-making-container" else "default"
        write(engine, "crashed", key=key, container=name)
    for request in (fact("after the end"), q.List()):
        with pytest.raises(failpoints.Crash):
            engine.call(request)
    engine.close()
    durable.log.close()
    durable.log = durable.open_log()
    kept = ["before", "crashed"]
    durably = acknowledged or point == "engine.after-log-commit"
    with durable.engine() as again:
        assert facts(again) == durable.texts() == (kept if durably else ["before"])
        if keyed:
            write(again, "crashed", key=key)
            assert facts(again) == durable.texts() == kept
        write(again, "later")
        assert [each.position for each in durable.events() if each.container != STORE] == list(
            range(1, len(facts(again)) + 2)
        )


def test_a_crash_reaches_everyone_who_waits(durable: Shop) -> None:
    engine = Engine(durable.log, durable.folder / "views", clock=durable.clock, ids=durable.ids)
    write(engine, "before")
    failpoints.arm("engine.before-log-commit")
    with held(engine):
        sent = [engine.submit(fact(f"fact {number}")) for number in range(300)]
    wait_for(sent, 30)
    assert all(isinstance(future.exception(), failpoints.Crash) for future in sent)
    engine.close()
    assert durable.texts() == ["before"]


def test_ids_in_replies_can_be_read_back(shop: Shop) -> None:
    with shop.engine() as engine:
        item = write(engine, "tea").items[0]
        assert item.id is not None
        assert item.event is not None
        parse(item.id, Kind.FACT)
        shown = engine.call(q.Get(id=item.id))
        assert isinstance(shown, r.Shown)
        assert shown.item.text == "tea"
