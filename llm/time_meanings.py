"""What a time expression means before it is resolved: days, clocks, stretches, spans, durations.

A meaning may be partial (`5 May` of some year, `4` o'clock of either half of the day). It is
resolved against a moment by `time_resolving`. All reckoning is in local time without a zone.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from rewound.llm.time_stretches import add_months


@dataclass(frozen=True, slots=True)
class Number:
    """A number; `rank` for 21st or first."""

    value: int
    rank: bool = False
    spelled: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    name: str


@dataclass(frozen=True, slots=True)
class Month:
    """The name of a month, not yet known to be one that is meant."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Duration:
    """`grain` is the smallest unit named; `bound` is `more` or `less` where the text says so."""

    years: float = 0
    months: float = 0
    days: float = 0
    seconds: float = 0
    grain: str = "day"
    bound: str = ""
    count: float = 1

    @property
    def total(self) -> int:
        """Seconds, a month taken as 30 days and a year as 365."""
        days = self.years * 365 + self.months * 30 + self.days
        return round(days * 86_400 + self.seconds)

    def after(self, moment: datetime, times: int = 1) -> datetime:
        """The moment so much later; earlier for `times` -1. Raises outside the calendar."""
        months = (self.years * 12 + self.months) * times
        moved = add_months(moment, int(months))
        if self.grain == "business day":
            return _working_days(moved, int(self.days) * times)
        return moved + timedelta(days=self.days * times, seconds=self.seconds * times)


def _working_days(moment: datetime, days: int) -> datetime:
    if abs(days) > 10_000:
        raise ValueError("too many working days")
    step = 1 if days > 0 else -1
    while days:
        moment += timedelta(days=step)
        if moment.weekday() < 5:
            days -= step
    return moment


@dataclass(frozen=True, slots=True)
class Day:
    """A day of which some parts may be unsaid; complete with year, month and day."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    feast: str | None = None

    @property
    def complete(self) -> bool:
        return self.year is not None and self.month is not None and self.day is not None


def day_at(moment: datetime) -> Day:
    return Day(moment.year, moment.month, moment.day)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A named stretch of whole days. `month` alone is a month of an unsaid year; `near` is told
    from where one stands, as `this year` is.

    `edge` says that the beginning, middle or end of something larger is meant, `bare` that the
    words alone may mean something else: `unsure` a number or a name, `loose` the week in which
    something happened, `verb` rather a verb.
    """

    grain: str
    first: datetime | None = None
    past: datetime | None = None
    month: int | None = None
    near: bool = False
    edge: str = ""
    vague: bool = False
    bare: str = ""


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day; `open` when it may as well be twelve hours later."""

    hour: int
    minute: int = 0
    second: int = 0
    open: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the day, in hours."""

    name: str
    first: int
    past: int


@dataclass(frozen=True, slots=True)
class Hours:
    """From one time of day to another; not `told` when bare numbers may mean something else."""

    begin: Clock
    end: Clock
    told: bool


@dataclass(frozen=True, slots=True)
class Moment:
    day: Day
    clock: Clock


@dataclass(frozen=True, slots=True)
class DayPart:
    day: Day
    part: Part


Bound = Day | Stretch | Clock | Moment | DayPart | Part


@dataclass(frozen=True, slots=True)
class Span:
    """From one bound to another, either of which may be open.

    `beyond` means that it begins only where the first bound is over (`after 2015`); the last bound
    belongs to it unless it is not `whole` (`before 2015`). `day` is the day of two times of day.
    """

    begin: Bound | None
    end: Bound | None
    beyond: bool = False
    whole: bool = True
    day: Day | None = None


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Something that comes again and again; only that is known of it."""
