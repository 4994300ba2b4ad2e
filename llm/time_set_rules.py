"""Rules for what comes again and again: every other Friday, weekly, on Mondays at 9."""

import re
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_context import Context
from rewound.llm.time_day_rules import WEEKDAY
from rewound.llm.time_meanings import (
    Clock,
    Day,
    DayPart,
    Duration,
    Hours,
    Month,
    Number,
    Part,
    Recurrence,
    Span,
    Stretch,
    Unit,
)

Found = re.Match[str]


def _recurs(context: Context, *parts: Any) -> Recurrence:
    return Recurrence()


def _every_unit(context: Context, word: Found, _: Found | None, unit: Unit) -> Recurrence | None:
    """Every week; all week is no such thing, all weekends are."""
    return Recurrence() if unit.name == "weekend" or not _whole(word) else None


def _every_named(context: Context, word: Found, value: Any) -> Recurrence | None:
    return None if _whole(word) else Recurrence()


def _whole(word: Found) -> bool:
    return word[0].lower().endswith(("all", "any"))


_EVERY = r"(?:on )?(?:every|each|all|any)"
SET_RULES = (
    Rule(
        (_EVERY, r"?other|second|single|\d+(?:st|nd|rd|th)", Unit),
        _every_unit,
    ),
    Rule((_EVERY, Duration), _recurs),
    Rule((_EVERY, Number, Unit), _recurs),
    Rule((_EVERY, r"?other|single|last", rf"{WEEKDAY}s?"), _recurs),
    Rule((_EVERY, Number, rf"{WEEKDAY}s?"), _recurs),
    Rule((Recurrence, r"of (?:the |every |each )?(?:month|week|year|quarter)"), _recurs),
    Rule((_EVERY, r"?other|single", r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"), _recurs),
    Rule(
        (
            _EVERY,
            r"?other|single",
            r"(?:mornings?|afternoons?|evenings?|nights?|weekdays?|weekends?|workdays?)",
        ),
        _recurs,
    ),
    Rule(
        (_EVERY, (Day, Month, DayPart, Stretch)),
        _every_named,
    ),
    Rule(
        (
            r"(?:daily|weekly|bi-?weekly|monthly|bi-?monthly|quarterly|yearly|annually|annual"
            r"|semi-?annually|hourly|nightly|fortnightly|every ?day|biannual(?:ly)?|biennial)",
        ),
        _recurs,
        0.95,
    ),
    Rule(
        (
            r"(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:on |at |in the |during "
            r"|over )?(?:the )?(?:weekends|weekdays|workdays)",
        ),
        _recurs,
        0.95,
    ),
    Rule((rf"(?:on )?{WEEKDAY} (?:mornings|afternoons|evenings|nights)",), _recurs, 0.95),
    Rule((r"(?:in the |on )?(?:mornings|afternoons|evenings|nights)",), _recurs, 0.75),
    Rule(
        (
            r"(?:once|twice|thrice|one time|\w+ times) (?:an?|per|each|every|in a) (?:day|week"
            r"|month|year|quarter|fortnight|hour|weekend)",
        ),
        _recurs,
    ),
    Rule(
        (
            Recurrence,
            r"?at|from|between|@|,|on|in the|starting at",
            (Clock, Span, Hours, Part, Day),
        ),
        _recurs,
    ),
    Rule(((Clock, Hours, Part), r"?on|,", Recurrence), _recurs),
    Rule((r"at", Recurrence), _recurs),
    Rule((Recurrence, r"?on|,|and|or", Recurrence), _recurs),
    Rule((Recurrence, r"and|or", rf"{WEEKDAY}s?"), _recurs),
)
