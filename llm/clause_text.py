"""The bare text of a clause, without the marks around it, and its times said absolutely."""

import re

from rewound.llm.attributes import Attributes
from rewound.llm.english import Word
from rewound.llm.speakers import Edit
from rewound.llm.time_ranges import TimeExpression

_TAIL = re.compile(
    r"[\s.!。！…,;:|\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+$|(?:\s[:;=]-?"
    r"|[^\w\s]?<3)[()DP3/]*$|[\"”’)\]*_]+$"
)


def plain(text: str) -> str:
    return ending_off(text).lower().replace("’", "'")


def ending_off(text: str) -> str:
    return text[: len(text) - len(ending(text))]


def ending(text: str) -> str:
    """The marks at the end that are no part of the statement; a bracket that is open stays."""
    end = len(text)
    while end:
        found = _TAIL.search(text, max(0, end - 12), end)
        if found is None or (found[0][-1] in ')]"”' and _balanced(text, end)):
            break
        if _abbreviated(text, found.start()):
            break
        end = found.start()
    return text[end:]


def _balanced(text: str, end: int) -> bool:
    opening = {")": "(", "]": "[", '"': '"', "”": "“"}[text[end - 1]]
    return text.rfind(opening, 0, end - 1) >= 0


def _abbreviated(text: str, stop: int) -> bool:
    return text[max(0, stop - 3) : stop + 1].lower() in ("a.m.", "p.m.")


# What stands behind a comma with a time of its own: pregnant, due in October.
_BEHIND = re.compile(
    r"\b(?:is|are|am|has|have)\b[^,]*, (?:and )?(?:\w{3,}ed|bought|built|born|made|found|given"
    r"|sold|set|ending|expiring)\b[^,]*$"
    r"|(?:, (?:and )?| and |\bwho is |\bwho['’]s )(?:due|expected)\b[^,]*$",
    re.I,
)


def dates(text: str, time: TimeExpression) -> bool:
    """Whether a time is when the statement begins or ends, and not a time of a thing in it."""
    return bool(time.valid_from or time.valid_to) and not _BEHIND.search(text, 0, time.start)


_NOW = re.compile(r"\s+now\b(?=\s*(?:$|[,.;!]))", re.I)


def timed(text: str, times: list[TimeExpression]) -> tuple[str, list[Edit]]:
    """What to put at the end, and the edits that say each time absolutely.

    A relative time at the start moves to the end: `Yesterday I planted …` is `… planted … on
    2026-03-01`.
    """
    moved, edits = "", []
    for time in times:
        if time.wording is None:
            continue
        if text[: time.start].strip() == "" and time.relation == "at":
            comma = re.compile(r",?\s*").match(text, time.end)
            edits.append(Edit(0, comma.end() if comma else time.end, ""))
            moved = f" {time.wording}"
        else:
            edits.append(Edit(time.start, time.end, time.wording))
    edits += [
        Edit(now.start(), now.end(), "")
        for time in times
        if time.relation == "since" and (now := _NOW.match(text, time.end))
    ]
    return moved, edits


# Verbs whose past and present look alike, of what is hardly ever done more than once.
_ONCE = frozenset(("quit", "hurt"))
_HABIT = frozenset("every each always usually often sometimes whenever never when if".split())


def is_over(words: list[Word], verb: int) -> bool:
    """`I quit in March`: told of the past though the verb does not show it."""
    if not 0 <= verb < len(words) or words[verb].low not in _ONCE:
        return False
    return not _HABIT & {word.low for word in words}


def leads(text: str, time: TimeExpression) -> bool:
    return time.relation == "at" and not text[: time.start].strip()


_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?|[A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d+|\d+ [A-Z][a-z]+")


_DAYS = frozenset(
    ("due", "deadline", "date", "expiry", "due date", "start date", "end date", "launch date")
)


def is_the_value(dated: TimeExpression, text: str, attributes: Attributes) -> bool:
    """Whether a date is what is stated, and not since when it holds."""
    attribute = attributes.attribute or ""
    if attributes.value is None or not (attribute in _DAYS or attribute.endswith(" deadline")):
        return False
    found = _DATE.search(dated.wording or text[dated.start : dated.end])
    return found is not None and found[0] in attributes.value
