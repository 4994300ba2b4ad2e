"""A worker's desk: one look at a container, and a way to write bodies of events to come."""

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, BodyWriter, Place
from rewound.eventlog.ids import EventId, FactId, Kind, Ref, parse, parse_any
from rewound.eventlog.log import Recorded
from tests.oracle.fold import Dump
from tests.oracle.ledger import Ledger
from tests.property.driver import Driver


class Desk:
    """One look at a container: its present rows, its events, and a way to write bodies."""

    def __init__(self, driver: Driver, name: str) -> None:
        self.driver = driver
        self.name = name
        self.dump: Dump = driver.oracle(name, by_tag=True)
        self.ledger = Ledger(driver.events(name), driver.bodies(name), by_tag=True)
        self.positions = {r.envelope.event_id: r.position for r in self.ledger.all}

    def bodies(self) -> BodyWriter:
        return self.driver.writer()

    def new_id(self) -> bytes:
        return self.driver.ids.new()

    def of_type(self, *types: type[e.Event]) -> list[Recorded]:
        return [r for r in self.ledger.held if isinstance(r.event, types)]

    def shown(self, table: str) -> list[str]:
        return [item for item in self.dump[table] if item not in self.dump["hidden"]]


def fact_id(shown: str) -> FactId:
    return FactId(parse(shown, Kind.FACT))


def event_id(shown: str) -> EventId:
    return EventId(parse(shown, Kind.EVENT))


def ref_of(shown: str) -> Ref:
    kind, raw = parse_any(shown)
    assert kind is not None
    return Ref(kind, raw)


def rules(bodies: BodyWriter) -> Body:
    return bodies.piece("rules/1")


def unmasked(desk: Desk, place: Place) -> str | None:
    """The text of a place, unless it is erased or partly masked."""
    content = desk.ledger.texts.text(Body(place.slot, b"", at=place.at), place.at)
    masked = f"{place.at}:{place.slot}" in desk.dump["masks"]
    return None if masked else content
