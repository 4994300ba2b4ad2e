"""What every log has to do: one suite over all implementations."""

import random
import threading
from collections.abc import Callable

import pytest

from rewound.eventlog import envelope as envelopes
from rewound.eventlog.bodies import BodyWriter, Place, digest_of, read_value
from rewound.eventlog.envelope import GENESIS, PERSON, Actor
from rewound.eventlog.errors import Conflict, NotFound, StoreBusy
from rewound.eventlog.events import Event, ImportBegun, MessageRecorded
from rewound.eventlog.ids import ContainerId, EventId, GroupId, KeyId, Kind, Ref
from rewound.eventlog.log import Answered, Audit, Draft, Head, Log, Reader, Writer
from rewound.eventlog.verify import verify
from tests.contract.given import (
    CONVERSATION,
    START_US,
    Given,
    container,
    event_id,
    fact,
    fact_ref,
    message,
    put,
    write,
)

A, B = container(1), container(2)
UNTAGGED = ImportBegun()
CONVERSATION_TAG = Ref(Kind.CONVERSATION, CONVERSATION).key()


class Oops(Exception):
    """Thrown to make a group fail."""


def nothing(*found: object) -> bool:
    return all(each is None for each in found)


def empty(log: Log) -> None:
    """Nothing of container A, or anything, is there."""
    with log.reading() as reader:
        assert isinstance(reader, Audit)
        assert reader.tally() == (0, 0, 0, 0, 0)
        assert (reader.sequence(), reader.last_recorded_at()) == (0, 0)
        assert list(reader.containers()) == []
        assert list(reader.all_events()) == []
        assert list(reader.events(A)) == []
        assert reader.head(A) == reader.head_at(A, 0) == Head(0, GENESIS)
        assert nothing(reader.read(A, 1), reader.raw(A, 1), reader.find(event_id(1)))
        assert reader.tagged(A, CONVERSATION_TAG) == []
        assert reader.position_at(A, START_US) == 0
        assert nothing(reader.body(A, Place(1, 0)), reader.sealed(A, Place(1, 0)))
        assert reader.known(A, b"d" * 16) == []
        assert nothing(reader.answered(A, b"k" * 16), reader.memo(A, b"m" * 16))
        with pytest.raises(NotFound):
            reader.key(A)
        with pytest.raises(NotFound):
            reader.head_at(A, 1)


# --- appending and reading


def test_a_new_log_is_empty(given: Given) -> None:
    empty(given.log)


def test_what_was_appended_is_read_back(given: Given) -> None:
    drafts = [message(given.log, "one"), fact(given.log, "two", 1), message(given.log, "three")]
    told = put(given.log, A, *drafts)
    assert [recorded.position for recorded in told] == [1, 2, 3]
    assert [recorded.event for recorded in told] == [draft.event for draft in drafts]
    with given.reopen().reading() as reader:
        assert list(reader.events(A)) == told
        assert [reader.read(A, at) for at in (1, 2, 3)] == told
        assert [event for _, event in reader.all_events()] == told
        assert reader.read(A, 0) is reader.read(A, 4) is reader.read(A, -1) is None
        assert [reader.find(r.envelope.event_id) for r in told] == [(A, 1), (A, 2), (A, 3)]


def test_what_was_read_outlives_the_read(given: Given) -> None:
    (told,) = put(given.log, A, message(given.log))
    with given.log.reading() as reader:
        kept = reader.read(A, 1)
        events = list(reader.events(A))
    for number in range(50):
        put(given.log, A, message(given.log, str(number) * 500))
    assert kept == events[0] == told
    assert bytes(events[0].envelope.payload) == bytes(told.envelope.payload)


def test_an_envelope_says_who_where_when(given: Given) -> None:
    key = Actor(PERSON.kind, KeyId(b"k" * 16))
    bodies = BodyWriter(given.log.ids)
    scope = bodies.value({"user": "u1", "run": "r7"})
    with given.log.writing() as writer:
        (recorded,) = writer.append(A, [Draft(UNTAGGED, bodies.sealed, (), scope)], actor=key)
        (other,) = writer.append(B, [message(given.log)])
    with given.log.reading() as reader:
        assert reader.read(A, 1) == recorded
        kept = reader.body(A, Place(1, 0))
        assert kept is not None
        assert read_value(kept) == {"user": "u1", "run": "r7"}
    assert recorded.envelope.scope == scope
    assert recorded.envelope.actor == key
    assert other.envelope.actor == PERSON
    assert (recorded.container, other.container) == (A, B)
    assert recorded.envelope.recorded_at == START_US
    assert recorded.envelope.format == envelopes.FORMAT
    assert (recorded.envelope.name, recorded.envelope.schema) == ("import begun", 1)


def test_appending_nothing_changes_nothing(given: Given) -> None:
    with given.log.writing() as writer:
        assert writer.append(A, []) == []
    with given.log.reading() as reader:
        assert (reader.sequence(), list(reader.containers())) == (0, [])


def test_slices_of_events(given: Given) -> None:
    put(given.log, A, *(message(given.log) for _ in range(9)))
    with given.log.reading() as reader:

        def positions(after: int = 0, until: int | None = None) -> list[int]:
            return [recorded.position for recorded in reader.events(A, after, until)]

        assert positions() == list(range(1, 10))
        assert positions(3, 6) == [4, 5, 6]
        assert positions(-5, 2) == [1, 2]
        assert positions(8) == [9]
        assert positions(9) == positions(20) == positions(3, 3) == positions(5, 2) == []
        assert positions(0, 0) == positions(0, -1) == []
        assert positions(7, 99) == [8, 9]
        assert [sequence for sequence, _ in reader.all_events(7)] == [8, 9]
        assert list(reader.all_events(9)) == []


def test_containers_have_positions_of_their_own(given: Given) -> None:
    for _ in range(3):
        put(given.log, A, message(given.log))
        put(given.log, B, message(given.log), message(given.log))
    with given.log.reading() as reader:
        assert list(reader.containers()) == [A, B]
        assert [r.position for r in reader.events(A)] == [1, 2, 3]
        assert [r.position for r in reader.events(B)] == [1, 2, 3, 4, 5, 6]
        order = [(sequence, r.container, r.position) for sequence, r in reader.all_events()]
        assert [sequence for sequence, _, _ in order] == list(range(1, 10))
        assert [(c, p) for _, c, p in order[:4]] == [(A, 1), (B, 1), (B, 2), (A, 2)]
        assert reader.sequence() == 9
        assert reader.head(container(3)).position == 0


def test_the_chain_runs_over_the_stored_envelopes(given: Given) -> None:
    told = put(given.log, A, *(message(given.log) for _ in range(3)))
    told += put(given.log, A, message(given.log))
    put(given.log, B, message(given.log))
    link = GENESIS
    with given.log.reading() as reader:
        for recorded in told:
            raw = reader.raw(A, recorded.position)
            assert raw is not None
            assert raw == envelopes.encode(recorded.envelope)
            link = envelopes.chain(link, raw)
            assert reader.head_at(A, recorded.position) == Head(recorded.position, link)
        assert reader.head(A) == Head(4, link)
        with pytest.raises(NotFound):
            reader.head_at(A, 5)


def test_a_group_is_named_by_its_first_event(given: Given) -> None:
    with given.log.writing() as writer:
        first, second = writer.append(A, [message(given.log), message(given.log)])
        (more,) = writer.append(A, [message(given.log)], group=first.envelope.group)
        (alone,) = writer.append(A, [message(given.log)])
    group = first.envelope.event_id
    assert [r.envelope.group for r in (first, second, more)] == [GroupId(group)] * 3
    assert bytes(alone.envelope.group) == alone.envelope.event_id
    with given.log.reading() as reader:
        assert reader.tagged(A, Ref(Kind.GROUP, group).key()) == [2, 3]


def test_ids_may_be_given(given: Given) -> None:
    drafts = [fact(given.log, "one", 1, given=event_id(7)), fact(given.log, "two", 2)]
    first, second = put(given.log, A, *drafts)
    assert first.envelope.event_id == event_id(7)
    assert second.envelope.group == GroupId(event_id(7))
    with given.log.reading() as reader:
        assert reader.find(event_id(7)) == (A, 1)


@pytest.mark.parametrize("owner", [A, B])
def test_an_event_id_is_used_once(given: Given, owner: ContainerId) -> None:
    put(given.log, A, fact(given.log, "one", 1, given=event_id(7)))
    with pytest.raises(Conflict):
        put(given.log, owner, message(given.log), fact(given.log, "two", 2, given=event_id(7)))
    with given.log.reading() as reader:
        assert (reader.sequence(), reader.find(event_id(7))) == (1, (A, 1))


# --- times


def test_time_never_runs_back(given: Given) -> None:
    times: list[int] = []
    for step in (0, -5_000_000, 0, 7, 7, -1, 10**9):
        given.clock.at += step
        for owner in (A, B):
            told = put(given.log, owner, message(given.log), message(given.log))
            times += [recorded.envelope.recorded_at for recorded in told]
        given.reopen()
    assert times == sorted(set(times))
    assert times[:2] == [START_US, START_US + 1]
    with given.log.reading() as reader:
        assert reader.last_recorded_at() == times[-1]


def test_the_clock_is_taken_when_it_is_ahead(given: Given) -> None:
    put(given.log, A, *(message(given.log) for _ in range(5)))
    given.clock.at += 1000
    (later,) = put(given.log, A, message(given.log))
    assert later.envelope.recorded_at == START_US + 1000


def test_positions_at_a_time(given: Given) -> None:
    for _ in range(7):
        put(given.log, A, message(given.log))
        put(given.log, B, message(given.log))
        given.clock.at += 10
    with given.log.reading() as reader:
        times = [r.envelope.recorded_at for r in reader.events(A)]
        for position, at in enumerate(times, 1):
            assert reader.position_at(A, at) == position
            assert reader.position_at(A, at - 1) == position - 1
        assert reader.position_at(A, times[-1] + 10**9) == 7
        assert reader.position_at(container(3), times[-1]) == 0


# --- tags


def test_events_are_found_by_items_causes_and_groups(given: Given) -> None:
    first, second = put(given.log, A, message(given.log), fact(given.log, "a fact", 1))
    cause = first.envelope.event_id
    put(given.log, A, message(given.log, causes=(cause, cause)), fact(given.log, "again", 1))
    put(given.log, B, message(given.log))
    with given.log.reading() as reader:
        assert isinstance(reader, Audit)
        assert reader.tagged(A, CONVERSATION_TAG) == [1, 3]
        assert reader.tagged(A, fact_ref(1).key()) == [2, 4]
        assert reader.tagged(A, Ref(Kind.EVENT, cause).key()) == [3]
        assert reader.tagged(A, Ref(Kind.GROUP, cause).key()) == [2]
        assert reader.tagged(A, Ref(Kind.EVENT, second.envelope.event_id).key()) == []
        assert reader.tagged(B, fact_ref(1).key()) == []
        assert reader.has_tag(A, fact_ref(1).key(), 4)
        assert not reader.has_tag(A, fact_ref(1).key(), 3)
        assert not reader.has_tag(B, fact_ref(1).key(), 2)


def test_tagged_after_a_position(given: Given) -> None:
    for size in (5, 1, 3, 1):
        put(given.log, A, *(message(given.log) for _ in range(size)))
    with given.log.reading() as reader:
        assert isinstance(reader, Audit)
        for after in range(-1, 12):
            assert reader.tagged(A, CONVERSATION_TAG, after) == list(range(max(after, 0) + 1, 11))
        assert [p for p in range(14) if reader.has_tag(A, CONVERSATION_TAG, p)] == list(
            range(1, 11)
        )


# --- bodies


def test_bodies_lie_with_their_salts(given: Given) -> None:
    draft = message(given.log, "Zürich – 🐝")
    put(given.log, A, message(given.log), draft)
    event = draft.event
    assert isinstance(event, MessageRecorded)
    with given.log.reading() as reader:
        sealed = reader.sealed(A, event.text.place(2))
        assert sealed is not None
        assert sealed == draft.bodies[0]
        assert digest_of(*sealed) == event.text.digest
        assert reader.body(A, Place(2, 0)) == "Zürich – 🐝".encode()
        assert reader.body(A, Place(2, 1)) == b"Ada"
        for place in (Place(2, 2), Place(3, 0), Place(0, 0), Place(-1, 0), Place(2, -1)):
            assert reader.body(A, place) is None
        assert reader.body(A, Place(2, 1 << 16)) is reader.body(A, Place(2, 1 << 40)) is None
        assert reader.body(B, Place(2, 0)) is None


def test_large_and_empty_bodies(given: Given) -> None:
    put(given.log, A, message(given.log, ""), message(given.log, "x" * 3_000_000))
    with given.log.reading() as reader:
        assert reader.body(A, Place(1, 0)) == b""
        assert reader.body(A, Place(2, 0)) == b"x" * 3_000_000


# --- a group is whole or not there


def break_off(change: Callable[[Writer], object]) -> Callable[[Log], None]:
    def run(log: Log) -> None:
        with pytest.raises(Oops), log.writing() as writer:
            change(writer)
            raise Oops

    return run


def test_a_group_that_fails_leaves_nothing(given: Given) -> None:
    def change(writer: Writer) -> None:
        (first, *_) = writer.append(A, [message(given.log), fact(given.log, "one", 1)])
        writer.file(A, b"d" * 16, fact_ref(1))
        writer.answer(A, b"k" * 16, Answered(b"r" * 16, b"reply", (1, 2)))
        writer.put_memo(A, b"m" * 16, b"vector", fact_ref(1))
        assert writer.find(first.envelope.event_id) == (A, 1)
        writer.erase(A, [Place(1, 0)], [])

    break_off(change)(given.log)
    empty(given.log)
    assert not given.log.needs_compaction()
    empty(given.reopen())


def test_a_memo_is_dropped_alone(given: Given) -> None:
    def put_some(writer: Writer) -> None:
        for home in (A, B):
            writer.append(home, [message(given.log)])
            for number in range(3):
                writer.put_memo(home, b"m%d" % number, b"vector", fact_ref(1))

    def drop(writer: Writer) -> None:
        assert [writer.drop_memo(A, b"m1") for _ in range(2)] == [True, False]
        assert not writer.drop_memo(A, b"m") and writer.memo(A, b"m1") is None

    write(given.log, put_some)
    before = everything(given.log)
    break_off(drop)(given.log)
    assert everything(given.log) == before
    write(given.log, drop)
    left: list[bytes | None] = []
    with given.reopen().reading() as reader:
        left += [reader.memo(A, b"m%d" % number) for number in range(3)]
        left += [reader.memo(B, b"m%d" % number) for number in range(3)]
    assert left == [b"vector", None, *[b"vector"] * 4]


def test_a_group_that_fails_leaves_what_was_there(given: Given) -> None:
    put(given.log, A, message(given.log), fact(given.log, "one", 1))

    def file(writer: Writer) -> None:
        writer.file(A, b"d" * 16, fact_ref(1))
        writer.put_memo(A, b"m" * 16, b"old", fact_ref(1))

    write(given.log, file)
    before = everything(given.log)

    def change(writer: Writer) -> None:
        writer.append(A, [message(given.log)])
        writer.append(B, [message(given.log)])
        writer.file(A, b"d" * 16, fact_ref(2))
        writer.put_memo(A, b"m" * 16, b"new", fact_ref(2))
        writer.erase(A, [Place(1, 0), Place(2, 0)], [fact_ref(1)])

    break_off(change)(given.log)
    assert everything(given.log) == before
    assert everything(given.reopen()) == before
    (told,) = put(given.log, A, message(given.log))
    assert told.position == 3


class Unknown(Event, frozen=True):
    """Not a word of the vocabulary."""


def test_an_append_is_all_or_nothing(given: Given) -> None:
    bad = Draft(Unknown())
    with given.log.writing() as writer:
        writer.append(A, [message(given.log)])
        with pytest.raises(KeyError):
            writer.append(A, [message(given.log), bad])
        with pytest.raises(ValueError, match="16 bytes"):
            writer.append(A, [fact(given.log, "short", 1, given=EventId(b"short"))])
        (told,) = writer.append(A, [message(given.log)])
    assert told.position == 2
    with given.log.reading() as reader:
        assert reader.tagged(A, CONVERSATION_TAG) == [1, 2]
        assert verify(reader).ok


# --- who sees what


def test_the_writer_sees_its_own_group(given: Given) -> None:
    put(given.log, A, message(given.log, "old"))
    with given.log.writing() as writer:
        told = writer.append(A, [message(given.log, "new"), fact(given.log, "fact", 1)])
        assert writer.head(A).position == 3
        assert writer.sequence() == 3
        assert writer.last_recorded_at() == told[-1].envelope.recorded_at
        assert writer.read(A, 2) == told[0]
        assert writer.raw(A, 3) == envelopes.encode(told[1].envelope)
        assert writer.head_at(A, 3) == writer.head(A)
        assert writer.find(told[1].envelope.event_id) == (A, 3)
        assert writer.tagged(A, CONVERSATION_TAG) == [1, 2]
        (more,) = writer.append(A, [message(given.log, "newer")])
        assert writer.tagged(A, CONVERSATION_TAG) == [1, 2, 4]
        assert writer.tagged(A, CONVERSATION_TAG, 2) == [4]
        assert writer.body(A, Place(4, 0)) == b"newer"
        assert [sequence for sequence, _ in writer.all_events(1)] == [2, 3, 4]
        assert list(writer.events(A, 1)) == [*told, more]
        assert writer.position_at(A, more.envelope.recorded_at) == 4
        writer.append(B, [message(given.log)])
        assert list(writer.containers()) == [A, B]
    with given.log.reading() as reader:
        assert reader.tagged(A, CONVERSATION_TAG) == [1, 2, 4]
        assert verify(reader).ok


def test_a_read_is_a_snapshot(given: Given) -> None:
    put(given.log, A, message(given.log, "one"), fact(given.log, "two", 1))
    with given.log.reading() as reader:
        before = seen(reader)

        def change() -> None:
            put(given.log, A, message(given.log, "later"))
            put(given.log, B, message(given.log))

            def erase(writer: Writer) -> None:
                writer.erase(A, [Place(1, 0)], [])
                writer.file(A, b"d" * 16, fact_ref(1))

            write(given.log, erase)

        run_in_thread(change)
        assert seen(reader) == before
        assert reader.body(A, Place(1, 0)) == b"one"
        assert reader.known(A, b"d" * 16) == []
    with given.log.reading() as reader:
        assert reader.sequence() == 4
        assert reader.body(A, Place(1, 0)) is None


def test_nobody_sees_an_open_group(given: Given) -> None:
    put(given.log, A, message(given.log))
    before = everything(given.log)
    with given.log.writing() as writer:
        writer.append(A, [message(given.log)])
        writer.append(B, [message(given.log)])
        writer.file(A, b"d" * 16, fact_ref(1))
        assert writer.sequence() == 3
        run_in_thread(lambda: check(everything(given.log) == before))


def check(held: bool) -> None:
    assert held


def run_in_thread(work: Callable[[], None]) -> None:
    """Run to the end in another thread, and raise here what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def test_a_writer_ends_with_its_block(given: Given) -> None:
    with given.log.writing() as writer:
        pass
    item, answered = fact_ref(1), Answered(b"", b"", (1, 1))
    uses: list[Callable[[], object]] = [
        lambda: writer.append(A, [message(given.log)]),
        lambda: writer.file(A, b"d" * 16, item),
        lambda: writer.answer(A, b"k" * 16, answered),
        lambda: writer.put_memo(A, b"m" * 16, b"", item),
        lambda: writer.drop_memo(A, b"m" * 16),
        lambda: writer.erase(A, [], []),
    ]
    for use in uses:
        with pytest.raises(RuntimeError):
            use()
    empty(given.log)


def test_a_writer_is_for_one_thread(given: Given) -> None:
    with given.log.writing() as writer:

        def use() -> None:
            with pytest.raises(RuntimeError):
                writer.append(A, [message(given.log)])

        run_in_thread(use)


def test_one_write_at_a_time(given: Given) -> None:
    begun, ended = threading.Event(), threading.Event()

    def other() -> None:
        begun.set()
        put(given.log, A, message(given.log, "second"))
        ended.set()

    with given.log.writing() as writer:
        writer.append(A, [message(given.log, "first")])
        thread = threading.Thread(target=other)
        thread.start()
        assert begun.wait(10)
        assert not ended.wait(0.05)
    thread.join(60)
    with given.log.reading() as reader:
        assert [reader.body(A, Place(at, 0)) for at in (1, 2)] == [b"first", b"second"]


def test_a_closed_log_is_refused(given: Given) -> None:
    put(given.log, A, message(given.log))
    given.log.close()
    given.log.close()
    with pytest.raises(StoreBusy), given.log.reading():
        pass
    with pytest.raises(StoreBusy), given.log.writing():
        pass


def test_many_writers_leave_no_gap(given: Given) -> None:
    threads, groups = 8, 12

    def work(number: int) -> None:
        choices = random.Random(number)
        for _ in range(groups):
            owner = choices.choice((A, B))
            size = choices.randrange(1, 5)
            given.clock.at += choices.randrange(-20, 20)
            put(given.log, owner, *(message(given.log) for _ in range(size)))

    started = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(100)
    with given.reopen().reading() as reader:
        events = list(reader.all_events())
        assert [sequence for sequence, _ in events] == list(range(1, len(events) + 1))
        times = [recorded.envelope.recorded_at for _, recorded in events]
        assert times == sorted(set(times))
        for owner in (A, B):
            positions = [r.position for _, r in events if r.container == owner]
            assert positions == list(range(1, len(positions) + 1))
        groups_seen = [r.envelope.group for _, r in events]
        assert len(set(groups_seen)) == threads * groups
        assert sorted(range(len(events)), key=lambda at: groups_seen.index(groups_seen[at])) == (
            list(range(len(events)))
        ), "groups lie in one piece"
        assert verify(reader).ok


# --- keys, digests, answers, memo


def test_each_container_has_a_secret(given: Given) -> None:
    put(given.log, A, message(given.log))
    put(given.log, B, message(given.log))
    with given.log.reading() as reader:
        keys = [reader.key(owner) for owner in (A, B)]
    assert [len(key) for key in keys] == [32, 32]
    assert keys[0] != keys[1]
    put(given.log, A, message(given.log))
    with given.reopen().reading() as reader:
        assert [reader.key(owner) for owner in (A, B)] == keys


def test_a_write_may_ask_for_the_secret_first(given: Given) -> None:
    break_off(lambda writer: writer.key(A))(given.log)
    empty(given.log)
    with given.log.writing() as writer:
        key = writer.key(A)
        assert writer.key(A) == key
        writer.append(A, [message(given.log)])
    with given.log.reading() as reader:
        assert reader.key(A) == key


def test_items_are_filed_under_digests(given: Given) -> None:
    items = [fact_ref(number) for number in (5, 3, 9, 1)]
    for item in items:
        with given.log.writing() as writer:
            writer.file(A, b"d" * 16, item)

    def more(writer: Writer) -> None:
        writer.file(A, b"d" * 16, items[1])
        writer.file(A, b"d" * 16, fact_ref(2))
        writer.file(A, b"d" * 15, fact_ref(6))
        writer.file(A, b"d" * 17, fact_ref(7))
        writer.file(B, b"d" * 16, fact_ref(8))
        assert writer.known(A, b"d" * 16) == [*items, fact_ref(2)]

    write(given.log, more)
    with given.reopen().reading() as reader:
        assert reader.known(A, b"d" * 16) == [*items, fact_ref(2)]
        assert reader.known(A, b"d" * 15) == [fact_ref(6)]
        assert reader.known(B, b"d" * 16) == [fact_ref(8)]
        assert reader.known(B, b"e" * 16) == []


def test_answers_are_kept_by_key(given: Given) -> None:
    answered = Answered(b"r" * 16, b"a reply", (3, 5))
    write(given.log, lambda writer: writer.answer(A, b"k" * 16, answered))
    with given.reopen().reading() as reader:
        assert reader.answered(A, b"k" * 16) == answered
        assert reader.answered(B, b"k" * 16) is reader.answered(A, b"k" * 15) is None


def test_a_memo_is_the_last_one_put(given: Given) -> None:
    for value in (b"old", b"v" * 4000, b""):
        with given.log.writing() as writer:
            writer.put_memo(A, b"m" * 32, value, fact_ref(1))
        with given.log.reading() as reader:
            assert reader.memo(A, b"m" * 32) == value
            assert reader.memo(B, b"m" * 32) is None


def test_no_odd_key_reaches_the_store(given: Given) -> None:
    short, long = ContainerId(b"short"), b"x" * 65
    with given.log.writing() as writer:
        uses: list[Callable[[], object]] = [
            lambda: writer.head(short),
            lambda: writer.key(short),
            lambda: writer.append(short, [message(given.log)]),
            lambda: writer.tagged(A, b"a short tag"),
            lambda: writer.known(A, long),
            lambda: writer.known(A, b""),
            lambda: writer.file(A, long, fact_ref(1)),
            lambda: writer.answered(A, long),
            lambda: writer.answer(A, long, Answered(b"", b"", (1, 1))),
            lambda: writer.memo(A, long),
            lambda: writer.put_memo(A, long, b"", fact_ref(1)),
            lambda: writer.find(EventId(b"")),
        ]
        for use in uses:
            with pytest.raises(ValueError):
                use()
    empty(given.log)


# --- erasing


def filled(given: Given) -> None:
    """Three facts in each container, with all that can be filed about them."""
    for owner in (A, B):
        for number in (1, 2, 3):

            def change(writer: Writer, owner: ContainerId = owner, number: int = number) -> None:
                told = writer.append(owner, [fact(given.log, f"fact {number}", number)])
                writer.file(owner, b"c" * 16, fact_ref(number))
                writer.file(owner, b"%d" % number * 16, fact_ref(number))
                writer.put_memo(owner, b"m%d" % number, b"vector", fact_ref(number))
                span = (told[0].position, told[0].position)
                writer.answer(owner, b"k%d" % number, Answered(b"r", b"reply", span))

            write(given.log, change)
    write(given.log, lambda w: w.answer(A, b"whole", Answered(b"r", b"all", (1, 3))))
    write(given.log, lambda w: w.answer(A, b"end", Answered(b"r", b"all", (3, 8))))


def test_erasing_removes_all_that_came_with_an_item(given: Given) -> None:
    filled(given)
    with given.log.writing(urgent=True) as writer:
        assert writer.erase(A, [Place(2, 0), Place(2, 1), Place(9, 0)], [fact_ref(2)]) == 1
        assert writer.body(A, Place(2, 0)) is None
    for compacted in (False, True):
        with given.reopen().reading() as reader:
            assert given.log.needs_compaction() is not compacted
            assert nothing(reader.body(A, Place(2, 0)), reader.sealed(A, Place(2, 0)))
            assert reader.known(A, b"c" * 16) == [fact_ref(1), fact_ref(3)]
            assert reader.known(A, b"2" * 16) == []
            assert reader.memo(A, b"m2") is None
            assert [reader.answered(A, k) is None for k in (b"k1", b"k2", b"k3", b"end")] == (
                [False, True, False, False]
            )
            assert reader.answered(A, b"whole") is None
            assert reader.body(A, Place(1, 0)) == b"fact 1"
            assert reader.memo(A, b"m1") == b"vector"
            assert reader.known(B, b"c" * 16) == [fact_ref(1), fact_ref(2), fact_ref(3)]
            assert reader.body(B, Place(2, 0)) == b"fact 2"
            assert reader.memo(B, b"m2") == b"vector"
            assert reader.answered(B, b"k2") is not None
            assert [r.position for r in reader.events(A)] == [1, 2, 3]
            assert reader.read(A, 2) is not None
        if not compacted:
            given.log.compact()
    write(given.log, lambda writer: writer.file(A, b"c" * 16, fact_ref(2)))
    with given.log.reading() as reader:
        assert reader.known(A, b"c" * 16) == [fact_ref(1), fact_ref(3), fact_ref(2)]


def test_erasing_twice_finds_nothing(given: Given) -> None:
    filled(given)
    for there in (1, 0):
        with given.log.writing() as writer:
            assert writer.erase(A, [Place(2, 0)], [fact_ref(2)]) == there


def test_compacting_changes_nothing_that_is_read(given: Given) -> None:
    filled(given)
    with given.log.writing() as writer:
        writer.erase(B, [Place(1, 0)], [fact_ref(1)])
    before = everything(given.log)
    given.log.compact()
    given.log.compact()
    assert not given.log.needs_compaction()
    assert everything(given.log) == before
    (told,) = put(given.log, A, message(given.log))
    assert told.position == 4


# --- all of it


def seen(reader: Reader) -> list[object]:
    """What a reader tells, in one comparable value."""
    assert isinstance(reader, Audit)
    told: list[object] = [reader.sequence(), reader.last_recorded_at(), reader.tally()]
    told += reader.all_events()
    for owner in reader.containers():
        told += [owner, reader.key(owner), reader.head(owner)]
        for recorded in reader.events(owner):
            told += [recorded, reader.raw(owner, recorded.position)]
            told += [reader.find(recorded.envelope.event_id)]
            told += [reader.sealed(owner, Place(recorded.position, slot)) for slot in range(3)]
            event = recorded.event
            for tag in envelopes.tags_of(recorded.envelope, event.creates(), event.refers()):
                told.append(reader.tagged(owner, tag))
        for number in range(4):
            told.append(reader.known(owner, b"%d" % number * 16))
            told.append(reader.memo(owner, b"m%d" % number))
            told.append(reader.answered(owner, b"k%d" % number))
        told.append(reader.known(owner, b"c" * 16))
    return told


def everything(log: Log) -> list[object]:
    with log.reading() as reader:
        return seen(reader)
