"""What is recent: the short-term view of each conversation against what the events say of it."""

from rewound.eventlog.errors import NotFound
from rewound.eventlog.ids import ConversationId, Kind, parse, show
from rewound.eventlog.log import Recorded
from rewound.memory import requests
from rewound.memory.unsummarised import look
from tests.oracle.fold import Dump
from tests.oracle.reads import Asked, listing
from tests.oracle.summed import exact, groups, spoken_against
from tests.property.driver import Driver

QUERY = "Ann likes teaq0"
RECENT = (1, 30, 1_000)
"""Characters of recent messages: the last one, a few, all."""


def recents(name: str, dump: Dump, as_of: str | None = None) -> list[requests.Read]:
    """The short-term views of each conversation, and contexts that hold one."""
    talks = list(dict.fromkeys(row["conversation"] for row in dump["messages"].values()))
    return [
        *(
            requests.Recent(container=name, conversation=talk, recent_chars=chars, as_of=as_of)
            for talk in talks
            for chars in RECENT
        ),
        *(
            requests.Context(container=name, query=QUERY, conversation=talk, as_of=as_of)
            for talk in talks
        ),
    ]


def recent_law(driver: Driver, name: str, position: int | None = None) -> None:
    """Recent messages are the last that fit; what is older is told by the summaries that hold, and
    the facts of the rest: as found out by looking at everything."""
    then = driver.oracle(name) if position is None else driver.oracle_at(name, position)
    as_of = None if position is None else f"@{position}"
    events = driver.events(name)
    for asked in recents(name, then, as_of):
        if not isinstance(asked, requests.Recent):
            continue
        rows = recent_rows(then, asked.conversation)
        try:
            told = driver.call(asked).recent
        except NotFound:
            assert not rows, f"recent: {asked} finds nothing, and there is {rows}"
            continue
        assert asked.recent_chars is not None
        texts = [then["messages"][item]["text"] for item in rows]
        first = first_that_fits(texts, asked.recent_chars)
        assert [turn.id for turn in told.messages] == rows[first:], f"recent: {asked}"
        wanted, untold = summed(events, then, asked.conversation, rows[:first])
        found = sorted((summary.id, summary.count) for summary in told.summaries)
        assert found == sorted(wanted), f"recent: {asked} finds {found}, want {wanted}"
        assert (told.older, told.summed) == (first, first - len(untold)), f"recent: {asked}"
        facts = {
            item
            for item in listing(then, "fact", Asked(now=_now(driver, name, position)))
            if {source for source, *_ in then["facts"][item]["sources"]} & untold
        }
        shown = {fact.id for fact in told.facts}
        assert shown <= facts and len(shown) + told.left_out == len(facts), f"recent: {asked}"


def due_law(driver: Driver, name: str) -> None:
    """What is to be summed up: of each scope, what follows the summary that tells of most, once an
    older message is there that none tells of, nor any that a person took back."""
    dump, events = driver.oracle(name), driver.events(name)
    refused = spoken_against(events)
    talks = dict.fromkeys(row["conversation"] for row in dump["messages"].values())
    for talk, chars in ((talk, chars) for talk in talks for chars in RECENT):
        rows = recent_rows(dump, talk)
        texts = [dump["messages"][item]["text"] for item in rows]
        older = rows[: first_that_fits(texts, chars)]
        wanted: set[str] = set()
        for home, _, ids in groups(dump):
            end = max((end for _, end in exact(events, dump, ids)), default=0)
            if home == talk and set(older) & set(ids[end:]) - refused:
                wanted.add(ids[end])
        with driver.engine.reading() as views:
            view = views.container(driver.container(name))
            due = look(view, ConversationId(parse(talk, Kind.CONVERSATION)), chars).due
        found = {show(Kind.MESSAGE, each.messages[0]) for each in due}
        assert found == wanted, f"due: {talk} within {chars} finds {found}, want {wanted}"


def _now(driver: Driver, name: str, position: int | None) -> int:
    if position is None:
        return driver.now_us()
    return driver.events(name)[position - 1].envelope.recorded_at


def recent_rows(dump: Dump, talk: str) -> list[str]:
    """A conversation's messages that may be shown, in order."""
    rows = dump["messages"].items()
    found = [(row["ordinal"], item) for item, row in rows if row["conversation"] == talk]
    return [item for _, item in sorted(found) if item not in dump["hidden"]]


def first_that_fits(texts: list[str], chars: int) -> int:
    fitting = (n for n in range(len(texts)) if sum(map(len, texts[n:])) <= chars)
    return next(fitting, max(len(texts) - 1, 0))


def summed(
    events: list[Recorded], dump: Dump, talk: str, older: list[str]
) -> tuple[list[tuple[str, int]], set[str]]:
    """The summaries that are to be shown, with the number of messages that each tells of, and the
    older messages that none tells of."""
    order = {_event(r): r.position for r in events}
    shown: list[tuple[str, int]] = []
    untold = set(older)
    for home, _, ids in groups(dump):
        count = len(untold & set(ids))
        if home != talk or not count:
            continue
        holding = exact(events, dump, ids)
        enough = [end for _, end in holding if end >= count]
        end = min(enough) if enough else max((end for _, end in holding), default=0)
        ending = [event for event, many in holding if many == end]
        if ending:
            shown.append((max(ending, key=lambda event: order[event]), end))
            untold -= set(ids[:end])
    return shown, untold


def _event(recorded: Recorded) -> str:
    return show(Kind.EVENT, recorded.envelope.event_id)
