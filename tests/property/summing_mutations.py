"""Mistakes with summaries, made on purpose."""

from pathlib import Path
from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.ids import ConversationId, EventId, MessageId
from rewound.eventlog.log import Draft, Recorded
from rewound.memory import erasing, requests, unsummarised
from rewound.projections import holding
from rewound.projections.reader import ContainerView
from tests.property import checks, recents
from tests.property.driver import Driver
from tests.property.judging_mutations import seeing, with_fold
from tests.property.mutating import NAME, Case, Patch, opened

# --- what is done, and checked


def said(driver: Driver, *texts: str) -> list[Recorded]:
    """The events that recorded these messages of one conversation."""
    messages = tuple(requests.NewMessage(content=text) for text in texts)
    driver.call(requests.AddMessages(container=NAME, messages=messages, conversation="talk"))
    return [r for r in driver.events(NAME) if isinstance(r.event, e.MessageRecorded)]


def sum_up(driver: Driver, told: list[Recorded], after: EventId | None, text: str) -> EventId:
    """A summary of these messages, which goes on from another; the event that wrote it."""
    bodies = driver.writer()
    messages: list[MessageId] = []
    home: ConversationId | None = None
    for r in told:
        assert isinstance(r.event, e.MessageRecorded)
        messages.append(r.event.message)
        home = r.event.conversation
    assert home is not None
    event = e.SummaryWritten(home, bodies.piece(text), tuple(messages), after)
    before = () if after is None else (after,)
    causes = (*before, *(r.envelope.event_id for r in told))
    (recorded,) = driver.record(NAME, [Draft(event, bodies.sealed, causes)])
    return recorded.envelope.event_id


def twice(driver: Driver) -> list[Recorded]:
    """Three messages, of which a summary tells two, and another all of them."""
    told = said(driver, "Ann likes teaq0", "Bob moved to townq4", "Ann likes juice")
    first = sum_up(driver, told[:2], None, "Sum of sumq1")
    sum_up(driver, told[2:], first, "Sum of sumq2")
    return told


def replay(folder: Path) -> None:
    with opened(folder) as driver:
        told = twice(driver)
        sum_up(driver, told, None, "Sum of sumq3")
        checks.replay_law(driver, NAME)


def undo(folder: Path) -> None:
    with opened(folder) as driver:
        told = twice(driver)
        sum_up(driver, told[1:2], None, "Sum of sumq3")
        summary = checks.event_name(driver.events(NAME)[-1])
        checks.undo_twice_law(driver, NAME, summary)
        checks.undo_twice_law(driver, NAME, checks.event_name(told[0]))


def message_of(recorded: Recorded) -> str:
    return str(recorded.event.creates()[0])


def forget(folder: Path) -> None:
    with opened(folder) as driver:
        (first, *_) = twice(driver)
        driver.call(requests.Forget(container=NAME, ids=(message_of(first),)))
        checks.forget_law(driver, NAME, [driver.head(NAME).position])


def erase(folder: Path) -> None:
    with opened(folder, durable=True) as driver:
        (first, *_) = twice(driver)
        kept = checks.Kept()
        kept.look(driver, NAME)
        driver.call(requests.Erase(container=NAME, ids=(message_of(first),)))
        assert kept.gone(driver, NAME) >= {"teaq0", "sumq1", "sumq2"}
        checks.erase_law(driver, NAME, kept)


def recent(folder: Path) -> None:
    """As it was before the summaries, and as it is now."""
    with opened(folder) as driver:
        told = twice(driver)
        recents.recent_law(driver, NAME)
        recents.recent_law(driver, NAME, told[-1].position)


def due(folder: Path) -> None:
    """After the first summary was taken back, and with it the one that goes on from it."""
    with opened(folder) as driver:
        twice(driver)
        recents.due_law(driver, NAME)
        first = next(r for r in driver.events(NAME) if isinstance(r.event, e.SummaryWritten))
        driver.call(requests.Undo(container=NAME, id=checks.event_name(first)))
        recents.due_law(driver, NAME)
        said(driver, "Bob likes coffeeq3")
        recents.due_law(driver, NAME)


# --- how the product is changed


def newest_only(patch: Patch) -> None:
    with_fold(patch, "summaries", seeing(lambda contributors: contributors[-1:]))


def undone_ones_are_kept(patch: Patch) -> None:
    seen: dict[Any, dict[int, Recorded]] = {}

    def remembered(contributors: list[Recorded]) -> list[Recorded]:
        last = contributors[0].event.refers()[-1]
        known = seen.setdefault(last, {})
        known.update((r.position, r) for r in contributors)
        return [known[position] for position in sorted(known)]

    with_fold(patch, "summaries", seeing(remembered))


def looks_at_its_own_messages(patch: Patch) -> None:
    patch.setattr(holding, "links", lambda view, event: [event])


def spares_what_follows(patch: Patch) -> None:
    patch.setattr(erasing, "followers", lambda *_: [])


def any_summary_holds(patch: Patch) -> None:
    patch.setattr(holding.Holding, "_is_exact", lambda *_: True)


def holds_as_of_now(patch: Patch) -> None:
    whole = ContainerView.summaries_of
    patch.setattr(ContainerView, "summaries_of", lambda self, ids, at=None: whole(self, ids))


def writes_again_what_was_undone(patch: Patch) -> None:
    patch.setattr(unsummarised, "taken_back", lambda *_: None)


CASES: dict[str, Any] = {
    "1 summaries": Case(newest_only, replay, "replay: "),
    "3 summaries": Case(undone_ones_are_kept, undo, "undo: "),
    "3 due": Case(writes_again_what_was_undone, due, "due: "),
    "2 recent": Case(holds_as_of_now, recent, "recent: "),
    "4 recent": Case(any_summary_holds, forget, "forget: "),
    "4 summaries": Case(looks_at_its_own_messages, forget, "forget: "),
    "5 summaries": Case(spares_what_follows, erase, "erase: "),
}
