"""Moments: what `as_of` and `valid_at` mean for one read of one container.

`as_of` fixes what was known: a position, and the read's own now, against which expiry and validity
are held. `valid_at` is a stretch of world time. A time without an offset is in the zone that the
container has today (settings are today's at every moment), and the reply names that zone.
"""

import re
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import NamedTuple

import msgspec

from rewound.eventlog.errors import InvalidInput, NotFound
from rewound.eventlog.ids import EventId, Kind, parse, show
from rewound.eventlog.instants import (
    MAX_US,
    Instant,
    Precision,
    end_of,
    from_us,
    has_offset,
    parse_instant,
    show_instant,
    show_us,
    to_us,
    zone_named,
)
from rewound.memory.replies import Moment
from rewound.memory.requests import Read
from rewound.projections.reader import ContainerView

NOW = "now"
LAST_US = 253_402_300_799_999_999
"""The last µs of the year 9999, beyond which no time can be written."""

_POSITION = re.compile(r"@[0-9]{1,18}")
_TIME = re.compile(r"\d{4}(-|$)")
_ID_LENGTHS = (32, 36)  # of a UUID without and with its hyphens


class Zone(NamedTuple):
    """The zone in which a container's times without offset are read."""

    name: str
    info: tzinfo

    def read(self, text: str, field: str) -> Instant:
        """Raises InvalidInput naming `field`."""
        return parse_instant(text, zone=self.info, field=field)

    def end(self, instant: Instant, text: str) -> int:
        """µs just past a time that was read from `text`.

        A day ends where the next one begins in this zone, be it 23 or 25 hours long.
        """
        if has_offset(text) or instant.precision > Precision.DAY:
            return end_of(instant)
        start = from_us(instant.at).astimezone(self.info)
        first = start.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        plain = Instant(to_us(first.replace(tzinfo=UTC)), instant.precision, 0)
        try:
            next_day = from_us(end_of(plain)).replace(tzinfo=self.info)
            return to_us(next_day)
        except (OverflowError, ValueError):
            return MAX_US  # the year 9999


class Point(NamedTuple):
    """A moment of system time: everything up to `position`, seen at `now_us`.

    `given` is False for the present, `zoned` True when the container's zone was needed to read it.
    """

    position: int
    now_us: int
    given: bool = False
    zoned: bool = False


@dataclass(frozen=True, slots=True)
class When:
    """The moment that a read is answered for. Times in µs.

    `at` is a position and inclusive; `valid` is [from, to) of world time, None unless asked for.
    """

    at: int
    now_us: int
    valid: tuple[int, int] | None
    zone: Zone
    moment: Moment

    def holding(self) -> tuple[int, int]:
        """The stretch of world time read: the one asked for, else the read's own now."""
        return self.valid or (self.now_us, self.now_us + 1)

    def told(self, *, zoned: bool = False) -> Moment:
        """As the reply says it; `zoned` when another of its times was read in the zone."""
        if not zoned or self.moment.zone is not None:
            return self.moment
        return msgspec.structs.replace(self.moment, zone=self.zone.name)


def zone_of(view: ContainerView) -> Zone:
    """The container's zone as of today, UTC unless it was configured."""
    configured = view.configured()
    name = None if configured is None else view.text(configured.zone)
    return Zone(name or "UTC", zone_named(name or "UTC"))


def present(view: ContainerView, now_us: int) -> When:
    """Here and now: what a command decides by."""
    position = view.position
    return When(position, now_us, None, zone_of(view), Moment(position=position))


def resolve(view: ContainerView, asked: Read, now_us: int) -> When:
    """The moment of a question asked at `now_us`.

    Raises InvalidInput for what is no moment or lies beyond the container's end, WrongKind for the
    id of something else, NotFound for an event that is not there.
    """
    zone = zone_of(view)
    return moment_at(view, zone, point(view, zone, asked.as_of, now_us, "as_of"), asked.valid_at)


def moment_at(view: ContainerView, zone: Zone, known: Point, valid_at: str | None = None) -> When:
    """The moment of a point in system time and, if given, a stretch of world time."""
    valid, shown_valid, zoned = None, None, known.zoned
    if valid_at is not None:
        if _is_now(valid_at):
            valid = (known.now_us, known.now_us + 1)
            shown_valid = show_us(known.now_us)
        else:
            instant = zone.read(valid_at, "valid_at")
            valid = (instant.at, zone.end(instant, valid_at))
            shown_valid = show_instant(instant)
            zoned = zoned or not has_offset(valid_at)
    moment = Moment(
        position=known.position,
        as_of=show_us(known.now_us) if known.given else None,
        valid_at=shown_valid,
        zone=zone.name if zoned else None,
    )
    return When(known.position, known.now_us, valid, zone, moment)


def point(view: ContainerView, zone: Zone, text: str | None, now_us: int, field: str) -> Point:
    """A moment of system time as a person writes it; None and `now` are the present.

    A time less exact than an instant means the last µs of what was named: a day its end.
    """
    if text is None or _is_now(text):
        return Point(view.position, now_us)
    text = text.strip()
    if text.startswith("@"):
        return _at_position(view, text, now_us, field)
    if not _TIME.match(text) and ("_" in text or len(text) in _ID_LENGTHS):
        return _at_event(view, text, field)
    try:
        instant = zone.read(text, field)
    except InvalidInput:
        shown = text if len(text) <= 40 else text[:37] + "…"
        raise InvalidInput(
            f"{shown!r} is not a moment: use a time such as 2026-03-01T10:00:00Z, a day such as "
            "2026-03-01, a position such as @123, an event's id (ev_…), or now",
            field=field,
        ) from None
    last_us = min(zone.end(instant, text) - 1, LAST_US)
    # nothing was recorded before 1970, and the log counts from there
    position = view.log.position_at(view.id, last_us) if last_us >= 0 else 0
    return Point(min(position, view.position), last_us, True, not has_offset(text))


def position_since(view: ContainerView, zone: Zone, text: str, field: str) -> tuple[int, bool]:
    """The position just before everything since a moment, and whether the zone was needed.

    `@5` and an event's id are themselves included, a day from its beginning.
    """
    text = text.strip()
    if text.startswith("@") or (not _TIME.match(text) and "_" in text):
        return max(0, point(view, zone, text, 0, field).position - 1), False
    instant = zone.read(text, field)
    before = view.log.position_at(view.id, instant.at - 1) if instant.at > 0 else 0
    return min(before, view.position), not has_offset(text)


def _is_now(text: str) -> bool:
    return text.strip().lower() == NOW


def _at_position(view: ContainerView, text: str, now_us: int, field: str) -> Point:
    if not _POSITION.fullmatch(text):
        shown = text if len(text) <= 40 else text[:37] + "…"
        raise InvalidInput(
            f"{shown!r} is not a position: write @ and a whole number, such as @123", field=field
        )
    position, head = int(text[1:]), view.position
    if position > head:
        raise InvalidInput(
            f"@{position} lies beyond the end of the container, which is at @{head}", field=field
        )
    if position == 0:
        first = view.event(1)
        return Point(0, now_us if first is None else first.envelope.recorded_at - 1, True)
    recorded = view.event(position)
    assert recorded is not None, f"position {position} is folded but not in the log"
    return Point(position, recorded.envelope.recorded_at, True)


def _at_event(view: ContainerView, text: str, field: str) -> Point:
    raw = EventId(parse(text, Kind.EVENT, field=field))
    found = view.log.find(raw)
    if found is None or found[0] != view.id or found[1] > view.position:
        shown = show(Kind.EVENT, raw)
        raise NotFound(f"there is no event {shown} in this container", field=field, ids=(shown,))
    recorded = view.event(found[1])
    assert recorded is not None, f"position {found[1]} is found but not in the log"
    return Point(found[1], recorded.envelope.recorded_at, True)
