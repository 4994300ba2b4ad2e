"""Rules for spans from one bound to another: from May to July, since 2021, today before 4 pm."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_clock_rules import clock_of, part_named
from rewound.llm.time_context import Context, on_date
from rewound.llm.time_meanings import (
    Clock,
    Day,
    DayPart,
    Duration,
    Moment,
    Month,
    Number,
    Part,
    Span,
    Stretch,
    day_at,
)
from rewound.llm.time_relative_rules import moment_at

Found = re.Match[str]
ENDS = (Day, Stretch, Moment, DayPart)
_NOW = r"now|today|(?:the )?present|(?:the )?current (?:date|day)|date|this (?:day|moment)"


def _is_time(value: Any) -> bool:
    return isinstance(value, Clock | Part)


def _between(context: Context, *parts: Any) -> Span | None:
    ends = [part for part in parts if isinstance(part, Day | Stretch | Moment | DayPart)]
    if len(ends) != 2:
        return None
    one, two = ends
    if isinstance(one, Stretch) and one.vague and not one.edge:
        return None
    if isinstance(two, Stretch) and two.vague and not two.edge:
        return None
    return Span(one, two)


def _month_days(context: Context, *parts: Any) -> Span | None:
    """19 to 20 November, before or after the month."""
    numbers = [part.value for part in parts if isinstance(part, Number)]
    month = next(part for part in parts if isinstance(part, Month))
    year = None
    if len(numbers) == 3:
        if not 1400 < numbers[2] < 2200:
            return None
        year = numbers.pop()
    if not 1 <= numbers[0] < numbers[1] <= 31:
        return None
    return Span(Day(year, month.number, numbers[0]), Day(year, month.number, numbers[1]))


def _rank_to_day(context: Context, _: Any, number: Number, __: Any, day: Day) -> Span | None:
    """From the 27th to the third of April."""
    if not number.rank or day.day is None:
        return None
    if day.month is not None and number.value < day.day:
        return Span(Day(day.year, day.month, number.value), day)
    return Span(Day(day=number.value), day)


def _day_to_rank(context: Context, _: Any, day: Day, __: Any, number: Number) -> Span | None:
    """From 1 January to the 6th."""
    if day.day is None or not day.day < number.value <= 31 or day.weekday is not None:
        return None
    if day.month is None and not number.rank:
        return None
    return Span(day, Day(day.year, day.month, number.value))


def _since(context: Context, _: Any, begin: Any) -> Span:
    return Span(begin, None)


def _after(context: Context, _: Any, begin: Any) -> Span:
    return Span(begin, None, beyond=True)


def _before(context: Context, _: Any, end: Any) -> Span | None:
    return Span(None, end, whole=False)


def _until(context: Context, _: Any, end: Any) -> Span:
    return Span(None, end)


def _hour_end(context: Context, _: Any, number: Number) -> Span | None:
    clock = clock_of(number.value) if not number.rank and 1 <= number.value <= 12 else None
    return Span(None, clock) if clock else None


def _hour_begin(context: Context, _: Any, number: Number) -> Span | None:
    clock = clock_of(number.value) if not number.rank and 1 <= number.value <= 12 else None
    return Span(clock, None) if clock else None


def _onward(context: Context, begin: Any, _: Found) -> Span:
    return Span(begin, None)


def _or_before(context: Context, end: Any, _: Found) -> Span:
    return Span(None, end)


def _to_now(context: Context, *parts: Any) -> Span:
    begin = next(part for part in parts if isinstance(part, Day | Stretch))
    return Span(begin, day_at(context.today))


def _till_date(context: Context, _: Found) -> Span:
    return Span(None, day_at(context.today))


def _from_now(context: Context, _: Found, end: Any) -> Span | None:
    return Span(day_at(context.today), end) if isinstance(end, Day | Stretch) else None


def _lasting(context: Context, *parts: Any) -> Span | None:
    """Three days from next Monday: as many days, beginning then."""
    duration = next(part for part in parts if isinstance(part, Duration))
    day = next(part for part in parts if isinstance(part, Day | Moment))
    if isinstance(day, Moment):
        return _lasting_from(context, duration, day)
    if duration.grain in ("hour", "minute", "second") or duration.bound:
        return None
    first = on_date(day, context)
    return Span(day_at(first), day_at(duration.after(first)), whole=False)


def _lasting_from(context: Context, duration: Duration, moment: Moment) -> Span | None:
    clock = moment.clock
    begin = on_date(moment.day, context).replace(hour=clock.hour, minute=clock.minute)
    return None if duration.bound else Span(moment_at(begin), moment_at(duration.after(begin)))


def _more_than_ago(sign: int) -> Callable[..., Span | None]:
    def make(context: Context, duration: Duration, *_: Any) -> Span | None:
        """More than two weeks ago: before that day; less than: since it."""
        if not duration.bound or duration.grain in ("hour", "minute", "second"):
            return None
        day = day_at(duration.after(context.today, sign))
        outer = (duration.bound == "more") == (sign < 0)
        return (
            Span(None, day, whole=False)
            if outer
            else Span(day, None, beyond=duration.bound == "more")
        )

    return make


def _bounded_from(sign: int) -> Callable[..., Span | None]:
    def make(context: Context, duration: Duration, _: Found, day: Day) -> Span | None:
        """More than two days before yesterday, less than three days after tomorrow."""
        if not duration.bound or duration.grain in ("hour", "minute", "second"):
            return None
        fixed = on_date(day, context)
        other = duration.after(fixed, sign)
        if duration.bound == "more":
            return Span(day_at(other), None) if sign > 0 else Span(None, day_at(other), whole=False)
        first, last = sorted([fixed, other])
        return Span(day_at(first), day_at(last))

    return make


def _day_span(context: Context, *parts: Any) -> Span | None:
    """Today before 4 pm."""
    day = next(part for part in parts if isinstance(part, Day))
    span = next(part for part in parts if isinstance(part, Span))
    ends = [end for end in (span.begin, span.end) if end is not None]
    if span.day is not None or not all(isinstance(end, Clock) for end in ends):
        return None
    return Span(span.begin, span.end, span.beyond, span.whole, day)


def _span_year(context: Context, span: Span, _: Any, number: Number) -> Span | None:
    """From 5/1 to 5/7, 2020."""
    begin, end = span.begin, span.end
    if not 1400 < number.value < 2200 or number.rank:
        return None
    if not (isinstance(begin, Day) and isinstance(end, Day)) or begin.year or end.year:
        return None
    if begin.month is None or end.month is None:
        return None
    first = number.value - (begin.month > end.month)
    return Span(
        Day(first, begin.month, begin.day), Day(number.value, end.month, end.day), span.beyond
    )


def _now_until(context: Context, *parts: Any) -> Span | None:
    duration = next(part for part in parts if isinstance(part, Duration))
    if duration.grain not in ("hour", "minute", "second"):
        return Span(day_at(context.today), day_at(duration.after(context.today)))
    return Span(moment_at(context.now), moment_at(duration.after(context.now)))


def _late_today(context: Context, _: Found, day: Day) -> Span:
    noon = on_date(day, context) + timedelta(hours=12)
    return Span(Moment(day_at(noon), Clock(12)), day_at(noon + timedelta(days=1)))


def _mid_today(context: Context, _: Found, day: Day) -> Span:
    return Span(Moment(day, Clock(10)), Moment(day, Clock(14)))


def _early_today(context: Context, _: Found, day: Day) -> Span:
    first = on_date(day, context)
    return Span(Moment(day_at(first), Clock(0)), Moment(day_at(first), Clock(12)))


_MEAL = r"(?P<part>breakfast|brunch|lunch|dinner|supper)"
_TO = r"to|-|–|—|~|until|till|through|thru|up to"
_SINCE = r"since|starting from|starting on|starting|beginning|as of|as early as|any ?time from"
_AFTER = r"after|later than|greater than|anytime after|any time after|past|newer than|not before"
_BEFORE = r"before|earlier than|prior to|older than|sooner than|anytime before|in advance of"
_UNTIL = (
    r"until|till|through|up to|up until|no later than|not later than|by|at the latest by"
    r"|as late as|on or before|before or on"
)
SPAN_RULES = (
    Rule((r"from|between", ENDS, _TO + "|and", ENDS), _between),
    Rule((ENDS, r"to|until|till|through|thru|up to", ENDS), _between, 0.9),
    Rule((ENDS, r"-|–|—|~", ENDS), _between, 0.75),
    Rule(
        (r"from|between|on", Month, Number, r"-|–|—|to|until|till|through|and", Number), _month_days
    ),
    Rule((Month, Number, r"-|–|—|to|until|till|through", Number), _month_days),
    Rule((Month, Number, r"-|–|—|to|until|till|through", Number, r"?,|of|in", Number), _month_days),
    Rule((Number, r"-|–|—|to|until|till|through", Number, r"?of|-", Month), _month_days),
    Rule(
        (Number, r"-|–|—|to|until|till|through", Number, r"?of|-", Month, r"?,|of|in", Number),
        _month_days,
    ),
    Rule(
        (
            r"from the|from|between the|between",
            Number,
            r"(?:-|–|—|to|until|till|through|and)(?: the)?",
            Number,
            r"?of|-",
            Month,
        ),
        _month_days,
    ),
    Rule(
        (
            r"from the|from|between the|between",
            Number,
            r"(?:-|–|—|to|until|till|through|and)(?: the)?",
            Number,
            r"?of|-",
            Month,
            r"?,|of|in",
            Number,
        ),
        _month_days,
    ),
    Rule(
        (r"from|between", Day, r"(?:to|until|till|through|and|-)(?: the)?", Number),
        _day_to_rank,
        0.9,
    ),
    Rule(
        (r"from the|between the", Number, r"(?:to|until|till|through|and)(?: the)?", Day),
        _rank_to_day,
        0.7,
    ),
    Rule(
        (
            r"since|starting from|starting on|starting|beginning|as of|as early as|any ?time from"
            r"|on or after|after or on|(?:no|not) earlier than",
            (*ENDS, Clock),
        ),
        _since,
    ),
    Rule((_AFTER, ENDS), _after, 0.9),
    Rule((_AFTER, (Clock, Part)), _after, 0.9),
    Rule((_BEFORE, ENDS), _before, 0.9),
    Rule((_BEFORE, (Clock, Part)), _before, 0.9),
    Rule((_UNTIL, ENDS), _until, 0.9),
    Rule((r"by|until|till|before", Number), _hour_end, 0.5),
    Rule((r"since|after|from", Number), _hour_begin, 0.4),
    Rule((_UNTIL, Clock), _until, 0.9),
    Rule(
        (
            ENDS,
            r"(?:or|and) (?:later|above|greater|onwards?|beyond|newer)|onwards?|(?:and )?upwards?"
            r"|(?:or|and) (?:after|since)(?=\s*(?:[.,;?!)]|$))",
        ),
        _onward,
    ),
    Rule(
        (ENDS, r"(?:or|and) (?:earlier|below|prior|older)|(?:or|and) before(?=\s*(?:[.,;?!)]|$))"),
        _or_before,
    ),
    Rule(((Clock,), r"(?:or|and) (?:later|after)(?=\s*(?:[.,;?!)]|$))|onwards?"), _onward),
    Rule(((Clock,), r"(?:or|and) (?:earlier|before)(?=\s*(?:[.,;?!)]|$))"), _or_before),
    Rule(
        (
            r"from|between|since",
            (Day, Stretch),
            rf"(?:to|until|till|and|up to|through|-) (?:{_NOW})",
        ),
        _to_now,
    ),
    Rule(((Day, Stretch), rf"(?:to|until|till|up to|through|-) (?:{_NOW})"), _to_now),
    Rule(
        (r"from", ENDS, r"on(?!\s+\w)|onwards?|forward"),
        lambda context, _, begin, __: Span(begin, None),
    ),
    Rule((r"(?:till|until|up to|to) (?:date|now)",), _till_date, 0.9),
    Rule((r"(?:from |between )(?:now|today) (?:to|until|till|and|through)", ENDS), _from_now),
    Rule((r"(?:from )?now (?:to|until|till)", Duration, r"later|from now|hence"), _now_until),
    Rule(
        (
            r"for",
            Duration,
            r"(?:,? ?(?:starting|beginning|commencing)(?: from| on)?|from)",
            (Day, Moment),
        ),
        _lasting,
        0.9,
    ),
    Rule((Duration, r"(?:starting|beginning|commencing)(?: from| on)?", (Day, Moment)), _lasting),
    Rule((r"for", Duration, r"from|starting|starting from|beginning", Day), _lasting),
    Rule((r"(?:starting |from |beginning )", Day, r"for", Duration), _lasting),
    Rule((Duration, r"ago|before (?:now|today)|earlier"), _more_than_ago(-1)),
    Rule((Duration, r"(?:after|from) (?:now|today)|later|hence"), _more_than_ago(1)),
    Rule((Duration, r"before|prior to", Day), _bounded_from(-1)),
    Rule((Duration, r"after|from|since", Day), _bounded_from(1)),
    Rule(
        (_AFTER, _MEAL),
        lambda context, _, found: Span(part_named(found["part"].lower()), None, beyond=True),
        0.8,
    ),
    Rule(
        (_BEFORE, _MEAL),
        lambda context, _, found: Span(None, part_named(found["part"].lower())),
        0.8,
    ),
    Rule((Day, r"?,|any ?time|at", Span), _day_span),
    Rule((Span, r"?on|,", Day), _day_span),
    Rule((Span, r"?,|of|in", Number), _span_year),
    Rule((r"later(?: in| on)?", Day), _late_today, 0.8),
    Rule((r"earlier(?: in)?", Day), _early_today, 0.8),
    Rule((r"mid|(?:the )?middle of", Day), _mid_today, 0.6),
    Rule((r"from", Span), lambda context, _, span: span if span.begin and span.end else None),
)
