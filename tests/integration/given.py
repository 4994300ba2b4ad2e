"""An engine over either log, and a decider that does what the text of a fact tells it to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter, keyed_digest
from rewound.eventlog.errors import Conflict
from rewound.eventlog.ids import FactId, Kind, Ref, UuidV7Source
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.log import Draft, Log, Recorded
from rewound.eventlog.memory_log import MemoryLog
from rewound.memory import deciding as d
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.engine import Engine
from rewound.projections.views import Views

START_US = 1_750_000_000_000_000


class HandClock:
    """A clock that stands until it is moved."""

    def __init__(self, at: int = START_US) -> None:
        self.at = at

    def now_us(self) -> int:
        return self.at


class Bug(Exception):
    """A mistake of ours, of no kind that anybody foresaw."""


def remember(command: q.Remember, deciding: d.Deciding) -> d.Plan:
    """Each text is a fact; some texts are orders instead."""
    drafts, files = [], []
    for new in command.facts:
        if new.text == "refuse":
            raise Conflict("told to refuse")
        if new.text == "stumble":
            raise Bug("told to stumble")
        bodies = BodyWriter(deciding.ids)
        fact = FactId(deciding.ids.new())
        statement = e.Statement(bodies.piece(new.text))
        drafts.append(Draft(e.FactRemembered(fact, statement), bodies.sealed))
        digest = keyed_digest(deciding.log.key(deciding.home()), b"fact", new.text.encode())
        files.append((digest, Ref(Kind.FACT, fact)))
    orders = {new.text for new in command.facts}

    def reply(recorded: list[Recorded], after: d.Deciding) -> r.Written:
        if "stumble later" in orders:
            raise Bug("told to stumble later")
        if "refuse later" in orders:
            raise Conflict("told to refuse later")
        return written(recorded, after)

    def aftermath(recorded: list[Recorded], after: d.Deciding) -> d.Plan | None:
        if "and more" not in orders:
            return None
        fact = Ref(Kind.FACT, recorded[0].event.creates()[0].id)
        bodies = BodyWriter(after.ids)
        event = e.TagsEdited(fact, bodies.value(["more"]))
        return d.Plan([Draft(event, bodies.sealed, (recorded[0].envelope.event_id,))])

    return d.Plan(drafts, reply, files, aftermath)


def written(recorded: list[Recorded], after: d.Deciding) -> r.Written:
    items = tuple(
        r.Item(
            status="written",
            kind="fact",
            id=str(each.event.creates()[0]) if each.event.creates() else None,
            event=str(Ref(Kind.EVENT, each.envelope.event_id)),
        )
        for each in recorded
    )
    group = str(Ref(Kind.GROUP, recorded[0].envelope.group))
    position = recorded[-1].position
    return r.Written(container=after.name, group=group, position=position, items=items)


REAL = d.load


def deciders() -> dict[Any, Any]:
    return {**REAL(), q.Remember: remember}


def fact(text: str, **more: Any) -> q.Remember:
    return q.Remember(facts=(q.NewFact(text=text),), **more)


class Shop:
    """Opens engines over one log, which stays when they are closed."""

    def __init__(self, folder: Path, *, durable: bool) -> None:
        self.folder = folder
        self.durable = durable
        self.clock = HandClock()
        self.ids = UuidV7Source(self.clock)
        self.map_bytes = 1 << 20
        self.log: Log = self.open_log()

    def open_log(self) -> Log:
        if not self.durable:
            return MemoryLog(clock=self.clock, ids=self.ids)
        return LmdbLog(
            self.folder / "log", clock=self.clock, ids=self.ids, map_bytes=self.map_bytes
        )

    @contextmanager
    def engine(self, views: Views | Path | None = None, **more: Any) -> Iterator[Engine]:
        path = self.folder / "views"
        engine = Engine(self.log, views or path, clock=self.clock, ids=self.ids, **more)
        try:
            yield engine
        finally:
            engine.close()

    def events(self) -> list[Recorded]:
        with self.log.reading() as log:
            return [recorded for _, recorded in log.all_events()]

    def texts(self) -> list[str]:
        """What all remembered facts say, as the log has it."""
        found = []
        with self.log.reading() as log:
            for _, recorded in log.all_events():
                if isinstance(recorded.event, e.FactRemembered):
                    place = recorded.event.statement.text.place(recorded.position)
                    content = log.body(recorded.container, place)
                    found.append("" if content is None else content.decode())
        return found


def facts(engine: Engine, container: str = "default") -> list[str]:
    """What all current facts say, as the views have it."""
    page = engine.call(q.List(container=container, limit=1000))
    assert isinstance(page, r.Page)
    return [item.text for item in page.items]


Ask = Callable[[str], r.Written]
