"""The backlog: fair, in order, and never losing what is noticed meanwhile."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, cast

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.envelope import Envelope
from rewound.eventlog.ids import ContainerId, ConversationId, Kind, MessageId, Ref
from rewound.eventlog.log import Recorded
from rewound.memory import backlog as backlogs
from rewound.memory.backlog import Backlog
from rewound.memory.rhythm import Rhythm
from rewound.projections.jobs import JobRow, JobState


class Where:
    """As much of an envelope as the backlog looks at."""

    def __init__(self, container: int, position: int = 1, at_us: int = 0) -> None:
        self.container = home(container)
        self.position = position
        self.recorded_at = at_us


class Views:
    """As much of a snapshot: containers and their jobs."""

    def __init__(self, jobs: dict[ContainerId, dict[Ref, JobRow]]) -> None:
        self.jobs = jobs

    def waiting(self, view: str) -> Iterator[ContainerId]:
        assert view == "jobs"
        return iter(self.jobs)

    def position(self, container: ContainerId) -> int:
        return 1 if container in self.jobs else 0

    def container(self, container: ContainerId) -> Any:
        held = self.jobs[container]
        return type("View", (), {"all_jobs": lambda _: iter(held.items())})()


def home(number: int) -> ContainerId:
    return ContainerId(bytes([9]) * 15 + bytes([number]))


def message(number: int) -> Ref:
    return Ref(Kind.MESSAGE, number.to_bytes(16, "big"))


def recorded(container: int, event: e.Event) -> Recorded:
    return Recorded(cast("Envelope", Where(container)), event)


def said(container: int, number: int, *, infer: bool = True) -> Recorded:
    talk = ConversationId(bytes(16))
    text = Body(0, b"")
    raw = MessageId(message(number).id)
    return recorded(container, e.MessageRecorded(raw, talk, 0, e.Role.USER, text, infer=infer))


def looked(jobs: dict[ContainerId, dict[Ref, JobRow]] | None = None) -> Backlog:
    made = Backlog()
    made.look(cast("Any", Views(jobs or {})))
    return made


def pending(state: JobState = JobState.PENDING, retry_at: int | None = None) -> JobRow:
    return JobRow(state, (), 0, retry_at=retry_at)


def test_what_wants_no_facts_is_not_noticed() -> None:
    backlog = looked()
    assert not backlog.notice([said(1, 1, infer=False)])
    assert not backlog.notice([recorded(1, e.SeenAgain(Ref(Kind.FACT, bytes(16)), 1))])
    assert backlog.batch(9, 0) == [] and backlog.rest_s(0) is None


def test_containers_take_turns_and_each_keeps_its_order() -> None:
    backlog = looked()
    assert backlog.notice([said(1, number) for number in range(5)])
    assert backlog.notice([said(2, 50), said(2, 51)])
    taken = [(entry.container[-1], int.from_bytes(entry.ref.id)) for entry in backlog.batch(5, 0)]
    assert taken == [(1, 0), (2, 50), (1, 1), (2, 51), (1, 2)]
    assert [entry.ref for entry in backlog.batch(9, 0)] == [
        message(each) for each in (0, 50, 1, 51, 2, 3, 4)
    ]


def test_more_containers_than_fit_come_in_turn() -> None:
    backlog = looked()
    for container in range(6):
        backlog.notice([said(container, container)])
    first = {entry.container for entry in backlog.batch(4, 0)}
    second = {entry.container for entry in backlog.batch(4, 0)}
    assert len(first | second) == 6


def test_what_is_noticed_again_is_not_dropped() -> None:
    backlog = looked()
    backlog.notice([said(1, 1)])
    (entry,) = backlog.batch(9, 0)
    backlog.notice([recorded(1, e.SeenAgain(message(1), 1))])
    backlog.drop(entry)
    backlog.postpone(entry, 10**18)
    (again,) = backlog.batch(9, 0)
    backlog.drop(again)
    assert backlog.batch(9, 0) == [] and backlog.rest_s(0) is None


def test_what_is_postponed_comes_in_its_time() -> None:
    backlog = looked()
    backlog.notice([said(1, 1)])
    backlog.postpone(backlog.batch(9, 0)[0], 3_000_000)
    assert backlog.batch(9, 2_999_999) == []
    assert backlog.rest_s(1_000_000) == 2.0
    assert [entry.ref for entry in backlog.batch(9, 3_000_000)] == [message(1)]
    assert backlog.rest_s(0) == 0.0


def test_looking_finds_what_no_event_told_of() -> None:
    jobs = {
        home(1): {
            message(1): pending(),
            message(2): pending(JobState.FAILED, 5_000_000),
            message(3): pending(JobState.PARKED),
        }
    }
    backlog = Backlog()
    assert backlog.rest_s(0) == 0.0  # nobody has looked yet
    backlog.look(cast("Any", Views(jobs)))
    assert [entry.ref for entry in backlog.batch(9, 0)] == [message(1)]
    assert [entry.ref for entry in backlog.batch(9, 5_000_000)] == [message(1), message(2)]


@pytest.mark.parametrize(
    "event",
    [
        e.Undone(Ref(Kind.EVENT, bytes(16)), ()),
        e.Restored(message(1), (message(1),), ()),
    ],
)
def test_what_may_bring_work_back_makes_it_look_again(event: e.Event) -> None:
    jobs: dict[ContainerId, dict[Ref, JobRow]] = {home(1): {}}
    backlog = looked(jobs)
    jobs[home(1)][message(1)] = pending()
    assert backlog.rest_s(0) is None
    assert backlog.notice([recorded(1, event)])
    assert backlog.rest_s(0) == 0.0
    backlog.look(cast("Any", Views(jobs)))
    assert [entry.ref for entry in backlog.batch(9, 0)] == [message(1)]


def test_what_is_too_much_is_looked_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlogs, "QUEUE_MAX", 4)
    jobs = {home(1): {message(number): pending() for number in range(10)}}
    views = cast("Any", Views(jobs))
    backlog = looked(jobs)
    done: list[Ref] = []
    while backlog.rest_s(0) == 0.0:
        backlog.look(views)
        for entry in backlog.batch(3, 0):
            done.append(entry.ref)
            del jobs[home(1)][entry.ref]
            backlog.drop(entry)
    assert done == [message(number) for number in range(10)]


@pytest.mark.parametrize("found", [False, True])
def test_what_was_put_off_is_hurried_before_it_was_found_or_after(found: bool) -> None:
    later = JobRow(JobState.FAILED, (), 0, 1, e.Why.UNREACHABLE, 1_000)
    views = cast("Any", Views({home(1): {message(1): later}}))
    backlog = Backlog()
    if found:
        backlog.look(views)
        assert backlog.batch(9, 0) == []
    backlog.hurry()
    backlog.look(views)
    (entry,) = backlog.batch(9, 0)
    assert entry.ref == message(1)
    assert backlog.is_hurried(entry) and not backlog.is_hurried(entry), "told once"
    backlog.postpone(entry, 1_000)
    assert backlog.batch(9, 0) == [] and backlog.batch(9, 1_000) != []


# --- messages that wait for a quiet moment

CALM = Rhythm(quiet_us=100, messages=3, age_us=1_000)


def heard(number: int, at_us: int, *, talk: int = 0, container: int = 1) -> Recorded:
    conversation = ConversationId(bytes(15) + bytes([talk]))
    event = e.MessageRecorded(
        MessageId(message(number).id), conversation, 0, e.Role.USER, Body(0, b"")
    )
    return Recorded(cast("Envelope", Where(container, at_us=at_us)), event)


def calm() -> Backlog:
    made = Backlog(CALM)
    made.look(cast("Any", Views({})))
    return made


def units(backlog: Backlog, now_us: int, count: int = 9, **more: Any) -> list[list[int]]:
    """What is given out, by unit."""
    batch = backlog.batch(count, now_us, **more)
    return [
        [int.from_bytes(entry.ref.id) for entry in unit]
        for _, unit in groupby(batch, lambda entry: entry.unit)
    ]


def test_messages_come_together_once_it_is_quiet() -> None:
    backlog = calm()
    assert backlog.notice([heard(1, 0), heard(2, 50)])
    assert units(backlog, 149) == [] and backlog.rest_s(100) == pytest.approx(50e-6)
    assert units(backlog, 150) == [[1, 2]]
    assert backlog.rest_s(150) == 0.0


def test_what_fills_a_call_does_not_wait_and_conversations_do_not_mix() -> None:
    backlog = calm()
    backlog.notice([heard(n, n, talk=n % 2) for n in range(8)])
    assert units(backlog, 7) == [[0, 2, 4], [1, 3, 5]]
    assert units(backlog, 200, count=3) == [[0, 2, 4], [1, 3, 5], [6]], "units are counted"


def test_sending_a_waiting_message_again_does_not_hurry_it() -> None:
    backlog = calm()
    backlog.notice([heard(1, 0)])
    assert backlog.notice([recorded(1, e.SeenAgain(message(1), 1))])
    assert units(backlog, 99) == []
    assert units(backlog, 100) == [[1]]
    backlog.notice([recorded(1, e.SeenAgain(message(2), 1))])
    assert units(backlog, 100) == [[1], [2]], "one that did not wait is looked at at once"


def test_who_waits_for_them_has_all() -> None:
    backlog = calm()
    backlog.notice([heard(1, 0), heard(2, 0, talk=1)])
    assert units(backlog, 0, awaited=True) == [[1], [2]]


def test_what_was_put_off_together_comes_together() -> None:
    backlog = calm()
    backlog.notice([heard(1, 0), heard(2, 0)])
    for entry in backlog.batch(9, 100):
        backlog.postpone(entry, 1_000)
    assert units(backlog, 999) == []
    assert units(backlog, 1_000) == [[1, 2]]


def test_what_waited_before_a_restart_waits_after_it() -> None:
    class Talking(Views):
        def container(self, container: ContainerId) -> Any:
            held = self.jobs[container]
            state = type("State", (), {"conversation": b"a"})
            row = type("Row", (), {"state": state})
            view = {"all_jobs": lambda _: iter(held.items()), "message": lambda _, raw: row}
            return type("View", (), view)()

    since = {1: 500, 2: 550}
    jobs = {message(n): JobRow(JobState.PENDING, (), at_us) for n, at_us in since.items()}
    backlog = Backlog(CALM)
    backlog.look(cast("Any", Talking({home(1): jobs})))
    assert units(backlog, 649) == [] and units(backlog, 650) == [[1, 2]]


def test_more_than_can_be_remembered_is_looked_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlogs, "QUEUE_MAX", 4)
    backlog = calm()
    backlog.notice([heard(n, 0, talk=n) for n in range(6)])
    assert backlog.rest_s(0) == pytest.approx(100e-6), "there is no room, and nothing is due"
    assert len(units(backlog, 100)) == 4 and backlog.rest_s(100) == 0.0
