"""Rules for lengths of time: two and a half hours, three years and two months, 30m."""

import re
from collections.abc import Callable
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_context import Context
from rewound.llm.time_meanings import (
    Duration,
    Number,
    Unit,
)

Found = re.Match[str]


UNIT = (
    r"(?P<unit>seconds?|secs?|minutes?|mins?|hours?|hrs?|(?:business|working|work|week) ?days?"
    r"|days?|nights?|weekends?|weeks?|wks?|fortnights?|months?|mos?|quarters?|years?|yrs?"
    r"|decades?|century|centuries)"
)


PLURAL = r"(?P<unit>minutes|hours|days|weeks|weekends|months|quarters|years|decades)"


_UNITS = {
    "sec": "second", "min": "minute", "hr": "hour", "wk": "week", "mo": "month", "yr": "year",
    "centurie": "century",
}  # fmt: skip


_LENGTHS = {
    "second": {"seconds": 1}, "minute": {"seconds": 60}, "hour": {"seconds": 3600},
    "day": {"days": 1}, "night": {"days": 1}, "business day": {"days": 1}, "week": {"days": 7},
    "weekend": {"days": 2}, "fortnight": {"days": 14}, "month": {"months": 1},
    "quarter": {"months": 3}, "year": {"years": 1}, "decade": {"years": 10},
    "century": {"years": 100},
}  # fmt: skip


_GRAINS = ["century", "decade", "year", "quarter", "month", "fortnight", "week", "weekend",
           "business day", "day", "night", "hour", "minute", "second"]  # fmt: skip


def unit_named(word: str) -> str:
    bare = " ".join(word.lower().split())
    bare = _UNITS.get(bare.removesuffix("s"), bare.removesuffix("s"))
    return "business day" if bare not in ("day",) and bare.endswith("day") else bare


def length(count: float, unit: str, bound: str = "") -> Duration:
    parts = {name: each * count for name, each in _LENGTHS[unit].items()}
    grain = "day" if unit == "night" else unit
    return Duration(**parts, grain=grain, bound=bound, count=count)


def _count_unit(context: Context, number: Number, _: Any, unit: Unit) -> Duration | None:
    return None if number.rank else length(number.value, unit.name)


def _words_unit(count: float) -> Callable[..., Duration | None]:
    def make(context: Context, _: Found, unit: Unit) -> Duration | None:
        return length(count, unit.name) if count != 1 or unit.name != "second" else None

    return make


def _all_of(context: Context, _: Found, unit: Unit) -> Duration | None:
    """All day."""
    whole = ("day", "week", "month", "year", "night", "weekend")
    return length(1, unit.name) if unit.name in whole else None


def _figure_unit(context: Context, found: Found) -> Duration | None:
    names = {"h": "hour", "m": "minute", "s": "second", "d": "day", "w": "week", "y": "year"}
    return length(float(found["count"]), names[found["u"].lower()])


def _decimal_unit(context: Context, found: Found, unit: Unit) -> Duration:
    return length(float(found["count"].replace(",", "")), unit.name)


def _and_half(context: Context, duration: Duration, found: Found) -> Duration | None:
    """Two hours and a half, one year and a quarter."""
    share = 0.25 if "quarter" in found[0].lower() else 0.5
    return _joined(duration, length(share, duration.grain))


def _number_half(context: Context, number: Number, found: Found, unit: Unit) -> Duration:
    return length(number.value + 0.5, unit.name)


def _a_half(context: Context, found: Found, unit: Unit) -> Duration:
    return length(1.5, unit.name)


def _sum(context: Context, one: Duration, _: Any, two: Duration) -> Duration | None:
    if one.bound or two.bound or _GRAINS.index(one.grain) >= _GRAINS.index(two.grain):
        return None
    return _joined(one, two)


def _joined(one: Duration, two: Duration) -> Duration:
    return Duration(
        one.years + two.years,
        one.months + two.months,
        one.days + two.days,
        one.seconds + two.seconds,
        two.grain,
    )


def _bounded(bound: str) -> Callable[..., Duration | None]:
    def make(context: Context, _: Found, duration: Duration) -> Duration | None:
        if duration.bound:
            return None
        made = _joined(duration, Duration(grain=duration.grain))
        return Duration(
            made.years, made.months, made.days, made.seconds, made.grain, bound, duration.count
        )

    return make


LENGTH_RULES = (
    Rule((UNIT,), lambda context, found: Unit(unit_named(found["unit"]))),
    Rule((Number, r"?-|more|full|whole|other", Unit), _count_unit),
    Rule((r"an?|one|1|the whole|whole|a full|a whole|a single", Unit), _words_unit(1), 0.85),
    Rule((r"(?<![\w.$])(?P<count>\d{1,3})(?P<u>s)(?![\w'’-])",), _figure_unit, 0.5),
    Rule((r"a hundred", Unit), _words_unit(100)),
    Rule((r"a dozen", Unit), _words_unit(12)),
    Rule((r"another", Unit), _words_unit(1), 0.85),
    Rule((r"another", Duration), lambda context, _, duration: duration, 0.9),
    Rule(
        (r"all", Unit),
        _all_of,
        0.85,
    ),
    Rule((r"(?:three|3)[ -]quarters of an?|3/4 of an?|¾", Unit), _words_unit(0.75)),
    Rule((r"half an?|half-an?|1/2|½|half|a half|an half", Unit), _words_unit(0.5)),
    Rule((r"(?:a )?quarter (?:of an?|an?)", Unit), _words_unit(0.25)),
    Rule((r"(?:an?|one) and (?:a|one) half|1 ?½|1 1/2", Unit), _a_half),
    Rule((Number, r"and a half|½|1/2", Unit), _number_half),
    Rule((r"(?:a )?couple of|(?:a )?couple|a pair of", Unit), _words_unit(2), 0.85),
    Rule((r"a few|few|several|some", Unit), _words_unit(3), 0.6),
    Rule((r"(?<![\w.$])(?P<count>\d{1,4})(?P<u>[hmdwy])(?![\w'’-])",), _figure_unit, 0.9),
    Rule(
        (r"(?<![\w.$])(?P<count>\d{1,3}(?:,\d{3})*\.\d+|\d{1,3}(?:,\d{3})+)", Unit), _decimal_unit
    ),
    Rule((r"(?<![\w.$])(?P<count>\d+\.\d+)", Unit), _decimal_unit),
    Rule((Duration, r"and (?:an? )?(?:half|quarter)(?! hour| an?)"), _and_half),
    Rule((Duration, r"?and|,|&", Duration), _sum),
    Rule(
        (
            r"more than|over|at least|longer than|greater than|not less than|no less than"
            r"|upwards of",
            Duration,
        ),
        _bounded("more"),
    ),
    Rule(
        (
            r"less than|under|at most|shorter than|up to|not more than|no more than|fewer than",
            Duration,
        ),
        _bounded("less"),
    ),
    Rule(
        (r"about|around|roughly|approximately|nearly|almost|for about|circa", Duration),
        lambda context, _, duration: duration,
        0.9,
    ),
)
