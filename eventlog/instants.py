"""Instants and intervals: UTC microseconds with the precision and offset they were given in."""

import enum
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import msgspec

from rewound.eventlog.errors import InvalidInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIN_US = -(1 << 63)
MAX_US = (1 << 63) - 1
"""Open ends of an interval, in int64 columns."""


class Precision(enum.IntEnum):
    """How exactly a time was said. The numbers are stored: never renumber."""

    YEAR = 1
    MONTH = 2
    DAY = 3
    MINUTE = 4
    SECOND = 5
    INSTANT = 6


class Instant(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A point in world time.

    `at` is UTC µs (for a day, month or year: where it begins in its own zone); `offset` is the
    speaker's offset from UTC in minutes, None when the container's zone was used.
    """

    at: int
    precision: Precision = Precision.INSTANT
    offset: int | None = None

    def __str__(self) -> str:
        return show_instant(self)


_FORM = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2})"
    r"(?:[T ](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d{1,9}))?)?"
    r"(?P<zone>Z|z|[+-]\d{2}:?\d{2})?)?)?)?"
)


def to_us(moment: datetime) -> int:
    """UTC µs of an aware datetime, exact."""
    delta = moment - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_us(at: int, offset: int | None = 0) -> datetime:
    return (EPOCH + timedelta(microseconds=at)).astimezone(timezone(timedelta(minutes=offset or 0)))


def show_us(at: int) -> str:
    """RFC 3339 in UTC with microseconds: one form, so that equal times print equally."""
    return (EPOCH + timedelta(microseconds=at)).isoformat(timespec="microseconds")[:-6] + "Z"


def show_instant(instant: Instant) -> str:
    """As exact as it was said: `2024`, `2024-03`, `2024-03-01`, or a full RFC 3339 stamp."""
    moment = from_us(instant.at, instant.offset)
    match instant.precision:
        case Precision.YEAR:
            return moment.strftime("%Y").rjust(4, "0")
        case Precision.MONTH:
            return moment.strftime("%Y-%m")
        case Precision.DAY:
            return moment.strftime("%Y-%m-%d")
    style = {Precision.MINUTE: "minutes", Precision.SECOND: "seconds"}.get(instant.precision)
    text = moment.isoformat(timespec=style or "microseconds")
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def end_of(instant: Instant) -> int:
    """UTC µs just past the instant: a day ends where the next begins in its own zone."""
    moment = from_us(instant.at, instant.offset)
    try:
        match instant.precision:
            case Precision.YEAR:
                moment = moment.replace(year=moment.year + 1)
            case Precision.MONTH:
                first = moment.replace(day=1) + timedelta(days=32)
                moment = first.replace(day=1)
            case Precision.DAY:
                moment += timedelta(days=1)
            case Precision.MINUTE:
                moment += timedelta(minutes=1)
            case Precision.SECOND:
                moment += timedelta(seconds=1)
            case _:
                return instant.at + 1
    except (ValueError, OverflowError):
        return MAX_US
    return to_us(moment)


def zone_named(name: str, *, field: str = "zone") -> tzinfo:
    """The zone of an IANA name. Raises InvalidInput."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        shown = name if len(name) <= 40 else name[:37] + "…"
        raise InvalidInput(
            f"{shown!r} is not a time zone: use an IANA name such as Europe/Berlin or UTC",
            field=field,
        ) from None


def parse_instant(text: str, *, zone: tzinfo = UTC, field: str = "time") -> Instant:
    """Read an RFC 3339 stamp, a minute, a day, a month or a year.

    Without an offset the time is in `zone` and the result's `offset` is that zone's at that
    moment. Raises InvalidInput naming `field`.
    """
    found = _FORM.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        part = (found["part"] or "").ljust(6, "0")[:6]
        moment = datetime(
            int(found["year"]),
            int(found["month"] or 1),
            int(found["day"] or 1),
            int(found["hour"] or 0),
            int(found["minute"] or 0),
            int(found["second"] or 0),
            int(part or 0),
            tzinfo=_offset(found["zone"]) if found["zone"] else zone,
        )
        offset = moment.utcoffset() or timedelta(0)
        at = to_us(moment.astimezone(UTC))
    except (ValueError, OverflowError):
        shown = text if len(text) <= 40 else text[:37] + "…"
        raise InvalidInput(
            f"{shown!r} is not a time: use 2026-03-01T10:00:00Z, an offset such as +05:30 instead "
            "of Z, or a day such as 2026-03-01",
            field=field,
        ) from None
    return Instant(at, _precision(found), int(offset.total_seconds() // 60))


def has_offset(text: str) -> bool:
    """True when the stamp names its own zone."""
    found = _FORM.fullmatch(text.strip())
    return bool(found and found["zone"])


def _offset(text: str) -> timezone:
    if text in "Zz":
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))


def _precision(found: re.Match[str]) -> Precision:
    for name, precision in (
        ("part", Precision.INSTANT),
        ("second", Precision.SECOND),
        ("minute", Precision.MINUTE),
        ("day", Precision.DAY),
        ("month", Precision.MONTH),
    ):
        if found[name]:
            return precision
    return Precision.YEAR
