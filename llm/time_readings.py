"""All the time expressions of a text, of every kind, with what they mean and how sure that is.

This is the wide reading, for questions and for measuring: it names durations, times of day and
what recurs too, and says of each how sure it is. What facts are dated by is the narrow reading of
`time_expressions`, which leaves alone whatever could be something else.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from rewound.llm.time_chart import Chart, Grammar, Node
from rewound.llm.time_clock_rules import CLOCK_RULES
from rewound.llm.time_context import Context
from rewound.llm.time_date_rules import DATE_RULES
from rewound.llm.time_day_rules import DAY_RULES
from rewound.llm.time_hour_rules import HOUR_RULES
from rewound.llm.time_length_rules import LENGTH_RULES
from rewound.llm.time_meanings import Day, Month, Number
from rewound.llm.time_moment_rules import MOMENT_RULES
from rewound.llm.time_numbers import digits, spelled
from rewound.llm.time_relative_rules import RELATIVE_RULES
from rewound.llm.time_resolving import NAMES, Reading, resolved
from rewound.llm.time_set_rules import SET_RULES
from rewound.llm.time_span_rules import SPAN_RULES
from rewound.llm.time_stretch_rules import STRETCH_RULES
from rewound.llm.time_stretches import MONTHS

SURE = 0.8
"""From here on a reading counts as sure."""
_MOST_CHARACTERS = 2000
_NOT_MONTH = r"(?! (?:i|we|you|he|she|they|it|not|be|have|need)\b)"
_SHORT = "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_MONTH = re.compile(
    rf"(?<![^\W\d_])(?<!\$)(?:(?:{'|'.join(MONTHS)})(?![^\W\d_]){_NOT_MONTH}"
    rf"|(?:{_SHORT})\b\.?|(?:{_SHORT})(?=\d))",
    re.I,
)
_CROWDED = 0.65
"""How sure a reading is at most beside which words of time were not understood with it."""
_RANK = 0.5
_JOINT = re.compile(
    r"[\s,]*(?:(?:at|on|of|from|to|in|for|the|until|till|by|about)\s+){0,2}[-–/:(]?\s*", re.I
)
_WORDS_BEFORE = re.compile(
    r"(?:\d\s?[-/:.,]?\s?|\b(?:first|second|third|fourth|fifth|\d+(?:st|nd|rd|th)|last|next|half"
    r"|quarter|end|ends|beginning|start|middle|mid|early|late|later|earlier|before|after|until|till"
    r"|since|from|between|than|around|about|days?|weeks?|months?|years?|weekends?|hours?|minutes?"
    r"|past|previous|following|coming|within|each|every)"
    r"(?: (?:of|in|on|at|the|a))*[ -])$",
    re.I,
)
_WORDS_AFTER = re.compile(
    r"(?:\s?[-/:.(]\s?\w|,?\s?\d|\s(?:to|until|till|through|or|and)\s(?:later|earlier|before|after"
    r"|the \d|\d)|\s(?:am|pm|a\.m|p\.m|before|after|ago|later|earlier|from|at|of|in the)\b"
    r"|\sand an? (?:half|quarter)\b"
    r"|\s(?:week|month|year|day|weekend|quarter|hour|morning|afternoon|evening|night)s?\b)",
    re.I,
)


@lru_cache(maxsize=1)
def _grammar() -> Grammar:
    """All rules; compiled at the first reading, for few programs ever read a date."""
    return Grammar(
        (
            *LENGTH_RULES,
            *DATE_RULES,
            *DAY_RULES,
            *CLOCK_RULES,
            *MOMENT_RULES,
            *HOUR_RULES,
            *STRETCH_RULES,
            *RELATIVE_RULES,
            *SPAN_RULES,
            *SET_RULES,
        )
    )


# After a day of the month; any other word makes it a rank: the 27th parameter.
_AFTER_RANK = re.compile(
    r"\s+(?!(?:at|from|to|in|and|or|until|till|between|before|after|on|this|next|last|of|with|for"
    r"|was|is|were|did|when|that|i|we|you|he|she|they|it)\b)[^\W\d_]",
    re.I,
)


def read(text: str, context: Context) -> list[Reading]:
    """The time expressions of a text's first 2,000 characters, in order, without overlap."""
    chart = Chart(text[:_MOST_CHARACTERS], context)
    for start, end, value, rank in digits(chart.text):
        chart.add(Node(start, end, Number(value, rank), 1.0))
    for start, end, value, rank in spelled(chart.text):
        chart.add(Node(start, end, Number(value, rank, spelled=True), 1.0))
    for found in _MONTH.finditer(chart.text):
        word = found[0].lower()[:3]
        number = next(i for i, name in enumerate(MONTHS, 1) if name.startswith(word))
        chart.add(Node(found.start(), found.end(), Month(number, found[0].rstrip(".")), 1.0))
    chart.saturate(_grammar())
    return list(_checked(chart.text, _chosen(chart.nodes(), context)))


def _chosen(nodes: list[Node], context: Context) -> list[Reading]:
    """The longest reading where several begin or overlap, and of those the surest."""
    taken: list[Reading] = []
    named = [node for node in nodes if isinstance(node.value, NAMES)]
    for node in sorted(named, key=_worth):
        if any(other.start < node.end and node.start < other.end for other in taken):
            continue
        reading = resolved(node, context)
        if reading is not None:
            taken.append(reading)
    return sorted(taken, key=lambda reading: reading.start)


def _worth(node: Node) -> tuple[int, float, int]:
    return (node.start - node.end, -node.sure, NAMES.index(type(node.value)))


def _checked(text: str, readings: list[Reading]) -> Iterator[Reading]:
    """The readings, less sure where words of time beside them are left over."""
    for index, reading in enumerate(readings):
        former = readings[index - 1].end if index else 0
        latter = readings[index + 1].start if index + 1 < len(readings) else len(text)
        before, after = text[former : reading.start], text[reading.end : latter]
        joined = (index and _JOINT.fullmatch(before)) or (
            index + 1 < len(readings) and _JOINT.fullmatch(after)
        )
        if joined or _WORDS_BEFORE.search(before) or _WORDS_AFTER.match(after):
            reading = reading._replace(confidence=min(reading.confidence, _CROWDED))
        if _is_rank(reading) and _AFTER_RANK.match(after):
            reading = reading._replace(confidence=min(reading.confidence, _RANK))
        yield reading


def _is_rank(reading: Reading) -> bool:
    """A day of which only its place in the month is said."""
    value = reading.value
    return isinstance(value, Day) and value.day is not None and value.month is None
