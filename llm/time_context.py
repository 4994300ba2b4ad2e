"""The moment and the manner a time expression is read in, and how partial days are completed."""

from datetime import datetime, timedelta
from typing import NamedTuple

from rewound.llm.time_feasts import falls_on
from rewound.llm.time_meanings import Day, Stretch
from rewound.llm.time_stretches import add_months, midnight

_FAR_YEARS = 12


class Context(NamedTuple):
    """`past`: the text looks back. `day_first`: 3/4 is the third of April."""

    now: datetime
    past: bool
    day_first: bool = False

    @property
    def today(self) -> datetime:
        return midnight(self.now)

    @property
    def monday(self) -> datetime:
        return self.today - timedelta(days=self.now.weekday())


def span_of(grain: str, moment: datetime, step: int = 0) -> Stretch:
    """The week, month, … that the moment lies in, or the one `step` further on."""
    day = midnight(moment)
    if grain in ("week", "weekend", "business week", "fortnight"):
        weeks = 2 * step if grain == "fortnight" else step
        first = day - timedelta(days=day.weekday()) + timedelta(days=7 * weeks)
        if grain == "weekend":
            first += timedelta(days=5)
        length = {"weekend": 2, "business week": 5, "fortnight": 14}.get(grain, 7)
        return Stretch(grain, first, first + timedelta(days=length))
    if grain == "month":
        first = add_months(day.replace(day=1), step)
        return Stretch(grain, first, add_months(first, 1))
    if grain in ("quarter", "half"):
        months = 3 if grain == "quarter" else 6
        first = day.replace(month=(day.month - 1) // months * months + 1, day=1)
        first = add_months(first, months * step)
        return Stretch(grain, first, add_months(first, months))
    years = {"decade": 10, "century": 100}.get(grain, 1)
    year = day.year // years * years + years * step
    return Stretch(grain, datetime(year, 1, 1), datetime(year + years, 1, 1))


def on_date(day: Day, context: Context, since: datetime | None = None) -> datetime:
    """The day that is meant: the latest up to today where the text looks back, else the first from
    today on, or from `since` on where that is given. Raises ValueError if there is none."""
    if day.year and day.month and day.day:
        return datetime(day.year, day.month, day.day)
    if day.feast is not None or day.month is not None:
        return _yearly(day, context, since)
    if day.day is not None:
        return _monthly(day, context, since)
    if day.weekday is not None:
        return _weekly(day.weekday, context, since)
    raise ValueError("no day is named")


def _yearly(day: Day, context: Context, since: datetime | None) -> datetime:
    start = since or context.today
    step = -1 if context.past and since is None else 1
    years = [day.year] if day.year else range(start.year, start.year + _FAR_YEARS * step, step)
    for year in years:
        try:
            made = (
                falls_on(day.feast, year)
                if day.feast
                else datetime(year, day.month or 1, day.day or 1)
            )
        except ValueError:  # 29 February.
            continue
        if day.year or (made <= context.now if step < 0 else made >= start):
            return made
    raise ValueError("no such day in a dozen years")


def _monthly(day: Day, context: Context, since: datetime | None) -> datetime:
    start = since or context.today
    step = -1 if context.past and since is None else 1
    for months in range(120):
        first = add_months(start.replace(day=1), months * step)
        try:
            made = first.replace(day=day.day or 1)
        except ValueError:  # The month has no 31st.
            continue
        reached = made <= context.now if step < 0 else made >= start
        if reached and day.weekday in (None, made.weekday()):
            return made
    raise ValueError("no such day in ten years")


def _weekly(weekday: int, context: Context, since: datetime | None) -> datetime:
    start = since or context.today
    if context.past and since is None:
        return start - timedelta(days=(start.weekday() - weekday - 1) % 7 + 1)
    return start + timedelta(days=(weekday - start.weekday()) % 7)


def month_on(stretch: Stretch, context: Context, since: datetime | None = None) -> Stretch:
    """A month, season or day-led week whose year is unsaid, in the year that is meant."""
    if stretch.first is not None or stretch.month is None:
        return stretch
    start = (since or context.today).replace(day=1)
    first = start.replace(month=stretch.month)
    if context.past and since is None:
        if first > start:
            first = first.replace(year=first.year - 1)
    elif first < start:
        first = first.replace(year=first.year + 1)
    return in_year(stretch, first.year)


def in_year(stretch: Stretch, year: int) -> Stretch:
    """The same month or quarter of that year."""
    if stretch.month is None:
        raise ValueError("nothing to put into a year")
    first = datetime(year, stretch.month, 1)
    if stretch.grain.startswith("week "):  # The third week of January.
        rank = int(stretch.grain.split()[1])
        if rank < 0:
            last = add_months(first, 1) - timedelta(days=1)
            monday = last - timedelta(days=last.weekday())
        else:
            fourth = first + timedelta(days=3)
            monday = fourth - timedelta(days=fourth.weekday()) + timedelta(days=7 * (rank - 1))
        return Stretch("week", monday, monday + timedelta(days=7))
    months = {"quarter": 3, "half": 6, "season": 3}.get(stretch.grain, 1)
    made = Stretch(
        stretch.grain, first, add_months(first, months), vague=stretch.vague, edge=stretch.edge
    )
    return with_edge(made, stretch.edge) if stretch.edge else made


def with_edge(stretch: Stretch, edge: str, halves: bool = False) -> Stretch:
    """The beginning, middle or end of a stretch, as parts of months, years and weeks go."""
    first, past = stretch.first, stretch.past
    if first is None or past is None:
        return Stretch(stretch.grain, month=stretch.month, edge=edge, vague=True)
    if stretch.grain == "year" and not halves:
        cuts = {"start": (1, 5), "mid": (5, 9), "end": (9, 13)}[edge]
        marks = [add_months(first, month - 1) for month in cuts]
    elif stretch.grain == "month" and edge == "mid":
        marks = [first.replace(day=11), first.replace(day=21)]
    elif stretch.grain == "week" and edge == "mid":
        marks = [first + timedelta(days=1), first + timedelta(days=4)]
    else:
        middle = {
            "year": add_months(first, 6),
            "decade": add_months(first, 60),
            "month": first + timedelta(days=15),
            "week": first + timedelta(days=3),
        }.get(stretch.grain, midnight(first + (past - first) / 2))
        third = (past - first) / 3
        marks = {
            "start": [first, middle],
            "end": [middle, past],
            "mid": [midnight(first + third), midnight(past - third)],
        }[edge]
    return Stretch(stretch.grain, marks[0], marks[1], edge=edge, vague=True)
