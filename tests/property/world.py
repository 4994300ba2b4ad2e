"""Random commands: what a test knows of a container, and requests made from choices.

Makers are plain functions (choices, what is known) -> request, so that the Hypothesis machine and
the seeded simulator play the same game. `None` means: nothing to do that with yet.
"""

from collections.abc import Callable
from typing import Any

from rewound.eventlog.instants import show_us
from rewound.memory import replies, requests
from rewound.memory.requests import NewDocument, NewFact, NewMessage, Scope
from tests.property.choices import Choices, chance, one
from tests.property.words import NAMES, article, sentence

MINUTE_US = 60_000_000
DAYS = ("2024-03-01", "2024-06-15", "2025-01-01", "2024-03-01T10:00:00+05:30")
TAGS = ("tagq101", "tagq102", "tagq103")
USERS = ("ann", "bob")


class Known:
    """What replies of one container told: ids to speak of later."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.facts: list[str] = []
        self.documents: list[str] = []
        self.messages: list[str] = []
        self.events: list[str] = []
        self.groups: list[str] = []
        self.undos: list[str] = []
        self.hidden: list[str] = []

    def items(self) -> list[str]:
        return [*self.facts, *self.documents, *self.messages]

    def learn(self, reply: Any) -> None:
        match reply:
            case replies.Written():
                self._note(self.groups, reply.group)
                for item in reply.items:
                    self._note(self.events, item.event)
                    self._file(item.kind, item.id)
                    for fact in item.facts:
                        self._file("fact", fact)
            case replies.Forgot():
                self.events += [event for event in reply.events if event not in self.events]
                self.hidden += [item.id for item in reply.items if item.id not in self.hidden]
            case replies.Undid():
                self._note(self.undos, reply.event)
            case replies.Erased():
                self._note(self.events, reply.event)

    def _file(self, kind: str, item: str | None) -> None:
        pools = {"fact": self.facts, "document": self.documents, "message": self.messages}
        if kind in pools:
            self._note(pools[kind], item)

    @staticmethod
    def _note(pool: list[str], item: str | None) -> None:
        if item is not None and item not in pool:
            pool.append(item)


class Moment:
    """What a maker may look at besides: the time, for expiries."""

    def __init__(self, now: int) -> None:
        self.now = now


Maker = Callable[[Choices, Known, Moment], requests.Write | None]


def tags(c: Choices) -> tuple[str, ...]:
    return (one(c, TAGS),) if chance(c, 30) else ()


def importance(c: Choices) -> float | None:
    return c.below(11) / 10 if chance(c, 20) else None


def day(c: Choices, percent: int = 30) -> str | None:
    return one(c, DAYS) if chance(c, percent) else None


def scope(c: Choices) -> Scope:
    return Scope(user=one(c, USERS)) if chance(c, 20) else Scope()


def metadata(c: Choices) -> dict[str, Any]:
    return {"k": c.below(2), "noteq200": "metaq201"} if chance(c, 15) else {}


def soon(c: Choices, moment: Moment) -> str:
    return show_us(moment.now + (1 + c.below(3)) * MINUTE_US)


def caller(c: Choices, percent: int = 20) -> str | None:
    return f"callerq{300 + c.below(3)}" if chance(c, percent) else None


def about(c: Choices) -> dict[str, Any]:
    """Now and then a subject, an attribute and a value; only the value is a canary."""
    if not chance(c, 40):
        return {}
    value = f"valueq{400 + c.below(5)}"
    return {"subject": one(c, NAMES), "attribute": one(c, ("likes", "has")), "value": value}


def remember(c: Choices, known: Known, moment: Moment) -> requests.Write:
    facts = tuple(
        NewFact(
            text=sentence(c),
            kind=one(c, ("fact", "preference", "episode")),
            id=caller(c),
            said_at=day(c),
            valid_to=one(c, ("2030-01-01", "2025-02-01")) if chance(c, 10) else None,
            expires_at=show_us(moment.now + (1 + c.below(3)) * MINUTE_US)
            if chance(c, 15)
            else None,
            **about(c),
            tags=tags(c),
            metadata=metadata(c),
            importance=importance(c),
        )
        for _ in range(1 + c.below(2))
    )
    return requests.Remember(container=known.name, facts=facts, infer=chance(c, 15), scope=scope(c))


def ingest(c: Choices, known: Known, moment: Moment) -> requests.Write:
    document = NewDocument(
        text=article(c),
        id=caller(c, 40),
        title="titleq210" if chance(c, 20) else None,
        said_at=day(c, 20),
        tags=tags(c),
        metadata=metadata(c),
        importance=importance(c),
    )
    return requests.Ingest(
        container=known.name, documents=(document,), infer=not chance(c, 30), scope=scope(c)
    )


def add_messages(c: Choices, known: Known, moment: Moment) -> requests.Write:
    messages = tuple(
        NewMessage(
            content=sentence(c),
            role=one(c, ("user", "assistant")),
            id=caller(c, 10),
            name="Ann" if chance(c, 50) else None,
            time=day(c, 30),
            tags=tags(c),
            importance=importance(c),
        )
        for _ in range(1 + c.below(3))
    )
    return requests.AddMessages(
        container=known.name,
        messages=messages,
        conversation=one(c, ("talk", "chat")),
        infer=not chance(c, 30),
        scope=scope(c),
    )


def update(c: Choices, known: Known, moment: Moment) -> requests.Write | None:
    if not known.facts:
        return None
    return requests.Update(
        container=known.name,
        id=one(c, known.facts),
        text=sentence(c),
        corrects=chance(c, 30),
        valid_from=day(c, 20),
        add_tags=tags(c),
        importance=importance(c),
    )


def tag(c: Choices, known: Known, moment: Moment) -> requests.Write | None:
    if not known.items():
        return None
    added = (one(c, TAGS),)
    removed = tuple(sorted({one(c, TAGS)} - set(added)))
    return requests.Update(
        container=known.name, id=one(c, known.items()), add_tags=added, remove_tags=removed
    )


def weigh(c: Choices, known: Known, moment: Moment) -> requests.Write | None:
    """Another importance alone."""
    if not known.items():
        return None
    return requests.Update(
        container=known.name, id=one(c, known.items()), importance=c.below(11) / 10
    )


def forget(c: Choices, known: Known, moment: Moment) -> requests.Write | None:
    pool = [*known.items(), *(known.events if chance(c, 20) else ())]
    if not pool:
        return None
    reason = "reasonq220" if chance(c, 20) else None
    return requests.Forget(
        container=known.name, ids=(one(c, pool),), reason=reason, dry_run=chance(c, 10)
    )


def restore(c: Choices, known: Known, moment: Moment) -> requests.Write | None:
    if not known.hidden:
        return None
    return requests.Restore(container=known.name, ids=(one(c, known.hidden),))


def erase(c: Choices, known: Known, moment: Moment) -> requests.Write | None:
    if not known.items():
        return None
    return requests.Erase(container=known.name, ids=(one(c, known.items()),), dry_run=chance(c, 20))


def undo(c: Choices, known: Known, moment: Moment) -> requests.Write | None:
    pool = one(c, [pool for pool in (known.events, known.groups, known.undos) if pool] or [[]])
    if not pool:
        return None
    return requests.Undo(
        container=known.name, id=one(c, pool), cascade=chance(c, 40), dry_run=chance(c, 15)
    )


def remove_document(c: Choices, known: Known, moment: Moment) -> requests.Write | None:
    if not known.documents:
        return None
    return requests.RemoveDocument(container=known.name, id=one(c, known.documents))


def configure(c: Choices, known: Known, moment: Moment) -> requests.Write:
    zone = one(c, ("UTC", "Europe/Berlin", "Asia/Kolkata"))
    return requests.Configure(container=known.name, zone=zone)


MAKERS: tuple[tuple[int, Maker], ...] = (
    (6, remember),
    (4, ingest),
    (4, add_messages),
    (4, update),
    (2, tag),
    (1, weigh),
    (3, forget),
    (2, restore),
    (1, erase),
    (6, undo),
    (1, remove_document),
    (1, configure),
)
_WHEEL = tuple(maker for weight, maker in MAKERS for _ in range(weight))


def command(c: Choices, known: Known, moment: Moment) -> requests.Write:
    """Any command that can be made now."""
    return one(c, _WHEEL)(c, known, moment) or remember(c, known, moment)
