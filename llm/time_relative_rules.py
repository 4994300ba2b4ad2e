"""Rules for stretches told from where one stands: last week, the next three months, early June."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_context import Context, in_year, month_on, on_date, span_of, with_edge
from rewound.llm.time_feasts import weekday_of
from rewound.llm.time_length_rules import PLURAL, length, unit_named
from rewound.llm.time_meanings import (
    Clock,
    Day,
    Duration,
    Moment,
    Month,
    Number,
    Span,
    Stretch,
    Unit,
    day_at,
)

Found = re.Match[str]

# What will last, should last or cannot last is no past.
_LAST = (
    r"(?<!will )(?<!n['’]t )(?<!not )(?<!to )(?<!can )(?<!may )(?<!should )(?<!could )(?<!would )"
    r"last"
)
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def _relative_month(step: int) -> Callable[..., Stretch | None]:
    def make(context: Context, _: Found, month: Month) -> Stretch | None:
        if month.name in ("may", "mar"):
            return None
        year = context.now.year
        if step < 0 and month.number >= context.now.month:
            year -= 1
        if step > 0 and month.number <= context.now.month:
            year += 1
        return span_of("month", datetime(year, month.number, 1))

    return make


def _relative(step: int) -> Callable[..., Stretch | Span | None]:
    def make(context: Context, found: Found, unit: Unit) -> Stretch | Span | None:
        if unit.name in ("day", "night", "business day", "second"):
            return None
        if unit.name in ("hour", "minute"):
            ends = sorted([context.now, length(1, unit.name).after(context.now, step or 1)])
            return Span(moment_at(ends[0]), moment_at(ends[1]))
        made = span_of(unit.name, context.now, step)
        return Stretch(made.grain, made.first, made.past, near=True)

    return make


def moment_at(moment: datetime) -> Moment:
    return Moment(day_at(moment), Clock(moment.hour, moment.minute, moment.second))


def _working_week(step: int) -> Callable[..., Stretch]:
    return lambda context, _: span_of("business week", context.now, step)


def _count_ago(sign: int) -> Callable[..., Span | None]:
    def make(context: Context, _: Found, duration: Duration) -> Span | None:
        """The last three months: up to now. The next three weeks: from tomorrow."""
        if duration.bound:
            return None
        if duration.grain in ("hour", "minute", "second"):
            ends = sorted([context.now, duration.after(context.now, sign)])
            return Span(moment_at(ends[0]), moment_at(ends[1]))
        if duration.grain == "quarter" and duration.count < 200:
            steps = sorted([(1 + sign) // 2, (1 + sign) // 2 + sign * int(duration.count)])
            ends = [span_of("quarter", context.now, step).first or context.now for step in steps]
            return Span(day_at(ends[0]), day_at(ends[1]), whole=False)
        if sign < 0:
            return Span(day_at(duration.after(context.today, -1)), day_at(context.today))
        first = context.today + timedelta(days=1)
        return Span(day_at(first), day_at(duration.after(first)), whole=False)

    return make


def _count_units(sign: int) -> Callable[..., Span | None]:
    def make(context: Context, number: Number, found: Found) -> Span | None:
        """The five past years."""
        if number.rank:
            return None
        duration = length(number.value, unit_named(found["unit"]))
        return _count_ago(sign)(context, found, duration)

    return make


def _edge(edge: str) -> Callable[..., Stretch | None]:
    def make(context: Context, found: Found, stretch: Stretch) -> Stretch | None:
        if stretch.edge or stretch.grain == "weekend":
            return None
        if stretch.bare == "verb" and not found[0].lower().endswith(("of", "mid", "late", "early")):
            return None
        return with_edge(stretch, edge, halves=stretch.near)

    return make


def _edge_unit(edge: str) -> Callable[..., Stretch | None]:
    def make(context: Context, _: Found, unit: Unit) -> Stretch | None:
        if unit.name not in ("week", "month", "year", "quarter"):
            return None
        return with_edge(span_of(unit.name, context.now), edge, halves=True)

    return make


def _this_unit(context: Context, _: Found, unit: Unit) -> Stretch | None:
    if unit.name not in ("week", "month", "year", "quarter", "weekend", "decade", "century"):
        return None
    made = span_of(unit.name, context.now)
    return Stretch(made.grain, made.first, made.past, near=True, bare="loose")


def _after_next(step: int) -> Callable[..., Stretch | None]:
    def make(context: Context, unit: Unit, _: Found) -> Stretch | None:
        if unit.name not in ("week", "month", "year", "quarter", "weekend"):
            return None
        return span_of(unit.name, context.now, step)

    return make


def _season(context: Context, found: Found) -> Stretch:
    return Stretch("season", month=_SEASONS[found["season"].lower()], vague=True)


def _relative_season(context: Context, found: Found) -> Stretch:
    step = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1}[found["which"].lower()]
    month = _SEASONS[found["season"].lower()]
    year = context.now.year
    started = datetime(year, month, 1) <= context.now
    over = datetime(year, month, 28) + timedelta(days=64) <= context.now
    if step < 0 and not over:
        year -= 1
    if step > 0 and started:
        year += 1
    return in_year(Stretch("season", month=month, vague=True), year)


def _rest(context: Context, _: Found, stretch: Stretch) -> Span | None:
    if stretch.past is None or stretch.past <= context.today:
        return None
    return Span(day_at(context.today), day_at(stretch.past - timedelta(days=1)))


def _rest_unit(context: Context, found: Found, unit: Unit) -> Span | None:
    if unit.name not in ("week", "month", "year", "quarter"):
        return None
    return _rest(context, found, span_of(unit.name, context.now))


def _half_of(context: Context, number: Number, _: Found, whole: Stretch) -> Stretch | None:
    made = month_on(whole, context)
    if not number.rank or number.value > 2 or made.first is None or made.edge:
        return None
    if made.grain not in ("month", "week"):
        return None
    return replace(with_edge(made, "start" if number.value == 1 else "end"), vague=False)


def _ranked_weekend(context: Context, number: Number | Found, _: Found, whole: Stretch) -> Any:
    made = month_on(whole, context)
    rank = number.value if isinstance(number, Number) else -1
    if made.grain != "month" or made.first is None or rank > 5 or made.edge:
        return None
    if isinstance(number, Number) and not number.rank:
        return None
    saturday = weekday_of(made.first.year, made.first.month, 5, rank)
    return span_of("weekend", saturday)


def _beside(context: Context, found: Found, day: Day) -> Stretch:
    """The week before Christmas: the one that ends where the day's own begins."""
    step = -1 if found["way"].lower() == "before" else 1
    return span_of(found["unit"].lower(), on_date(day, context), step)


def _end_of_unit(context: Context, found: Found) -> Stretch:
    unit = {"w": "week", "m": "month", "q": "quarter", "y": "year"}[found["u"].lower()]
    return with_edge(span_of(unit, context.now), "end", halves=True)


def _opening(context: Context, _: Found, duration: Duration, __: Any, whole: Stretch) -> Any:
    """The first two weeks of June."""
    made = month_on(whole, context)
    if made.first is None or made.past is None or duration.bound or made.edge:
        return None
    past = duration.after(made.first)
    return Span(day_at(made.first), day_at(past), whole=False) if past <= made.past else None


def _closing(context: Context, _: Found, duration: Duration, __: Any, whole: Stretch) -> Any:
    made = month_on(whole, context)
    if made.first is None or made.past is None or duration.bound or made.edge:
        return None
    first = duration.after(made.past, -1)
    return Span(day_at(first), day_at(made.past), whole=False) if first >= made.first else None


def _unit_to_date(context: Context, unit: Unit, _: Found) -> Span | None:
    first = (
        span_of(unit.name, context.now).first if unit.name in ("week", "month", "year") else None
    )
    return Span(day_at(first), day_at(context.today)) if first else None


def _within(context: Context, duration: Duration) -> Span | None:
    if duration.bound or context.past:
        return None
    if duration.grain in ("hour", "minute", "second"):
        return Span(moment_at(context.now), moment_at(duration.after(context.now)))
    return Span(day_at(context.today), day_at(duration.after(context.today)))


RELATIVE_RULES = (
    Rule((r"last|past|previous|this past|the last", Month), _relative_month(-1)),
    Rule((r"next|the next|coming|upcoming|this coming", Month), _relative_month(1)),
    Rule((r"this", Month), _relative_month(0)),
    Rule((r"(?:the )?(?:last|past|previous|preceding)", Unit), _relative(-1)),
    Rule((r"(?:the )?(?:next|coming|upcoming|following)", Unit), _relative(1)),
    Rule((r"this|(?:the )?current|(?:the )?present", Unit), _relative(0)),
    Rule((r"that|(?:the )?same", Unit), _relative(0), 0.5),
    Rule((r"(?:the )?(?:last|past|previous) (?:business|work(?:ing)?) ?week",), _working_week(-1)),
    Rule((r"this (?:business|work(?:ing)?) ?week",), _working_week(0)),
    Rule(
        (r"(?:the )?(?:next|coming|following) (?:business|work(?:ing)?) ?week",), _working_week(1)
    ),
    Rule(
        (
            r"(?:in |over |during |within |for )?(?:the |these |my |our )?"
            rf"(?:{_LAST}|past|previous)",
            Duration,
        ),
        _count_ago(-1),
    ),
    Rule(
        (r"(?:in |over |during |for )?(?:the )?(?:next|coming|upcoming|following)", Duration),
        _count_ago(1),
        0.75,
    ),
    Rule(
        (r"(?:with)?in (?:the )?next", Duration),
        lambda context, _, duration: _within(context._replace(past=False), duration),
        0.75,
    ),
    Rule((Number, rf"(?:last|past|previous) {PLURAL}"), _count_units(-1)),
    Rule((Number, rf"(?:next|coming|following|upcoming) {PLURAL}"), _count_units(1), 0.75),
    Rule(
        (r"within|inside", Duration), lambda context, _, duration: _within(context, duration), 0.8
    ),
    Rule((Number, r"half of|half in", Stretch), _half_of, 0.75),
    Rule((Number, r"weekend of|weekend in", Stretch), _ranked_weekend, 0.75),
    Rule((r"(?:the )?last weekend", r"of|in", Stretch), _ranked_weekend, 0.75),
    Rule(
        (r"(?:the )?(?P<unit>week|month|weekend) (?P<way>before|after|following)", Day),
        _beside,
        0.6,
    ),
    Rule(
        (
            r"(?:in |at |during )?(?:the )?(?:beginning|start) of(?: the)?"
            r"|early(?: in)?(?: the)?|earlier(?: in)?(?: the)?|early-",
            Stretch,
        ),
        _edge("start"),
        0.7,
    ),
    Rule(
        (r"(?:in |at |during )?(?:the )?middle(?: of)?(?: the)?|mid(?:-| )?", Stretch),
        _edge("mid"),
        0.7,
    ),
    Rule(
        (
            r"(?:in |at |during )?(?:the )?end(?: of)?(?: the)?|late(?: in)?(?: the)?"
            r"|later(?: in)?(?: the)?|late-",
            Stretch,
        ),
        _edge("end"),
        0.7,
    ),
    Rule(
        (r"early in the|earlier in the|(?:the )?(?:start|beginning) of(?: the)?", Unit),
        _edge_unit("start"),
        0.7,
    ),
    Rule((r"mid(?:dle)? of the|mid", Unit), _edge_unit("mid"), 0.6),
    Rule(
        (r"later? in the|later? on in the|(?:the )?end of(?: the)?", Unit), _edge_unit("end"), 0.7
    ),
    Rule((r"(?:for |of |in |within |during )?the", Unit), _this_unit, 0.9),
    Rule((Unit, r"after next"), _after_next(2)),
    Rule((Unit, r"before last"), _after_next(-2)),
    Rule(
        (r"(?P<season>spring|summer|autumn|winter|(?<=the )fall|(?<=in )fall|(?<=of )fall)",),
        _season,
        0.5,
    ),
    Rule(
        (
            r"(?:the )?(?P<which>last|past|previous|this|next) (?P<season>spring|summer|autumn"
            r"|winter|fall)",
        ),
        _relative_season,
        0.7,
    ),
    Rule(
        (r"(?:for )?(?:the )?(?:rest|remainder|remaining)(?: of)?(?: the| my)?", Stretch),
        _rest,
        0.85,
    ),
    Rule(
        (r"(?:for )?(?:the )?(?:rest|remainder|remaining)(?: of)?(?: the| my)?", Unit),
        _rest_unit,
        0.85,
    ),
    Rule((r"eo(?P<u>[wmyq])",), _end_of_unit, 0.7),
    Rule((r"(?:the )?first", Duration, r"of|in", Stretch), _opening, 0.75),
    Rule((r"(?:the )?(?:last|final|closing)", Duration, r"of|in", Stretch), _closing, 0.75),
    Rule((Unit, r"to date"), _unit_to_date),
    Rule((r"ytd",), lambda context, _: _unit_to_date(context, Unit("year"), _)),
)
