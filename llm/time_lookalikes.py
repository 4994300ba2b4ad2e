"""What reads like a time and is none: a part of a code or an address, a name, a number's value.

`H2` in H2SO4 is no half-year, `Monday` in monday.com no day, `Yesterday` in a title no day either,
and who lives on 5 May Road does not live there on a date.
"""

import re

from rewound.llm.time_stretches import MONTHS, WEEKDAYS

_CALENDAR = "|".join((*MONTHS, *WEEKDAYS))
_SHORT = "|".join(name[:3] for name in (*MONTHS, *WEEKDAYS))
_BEFORE = re.compile(r"[A-Za-z0-9_.@:/\\#+&=%~-]+$")
_AFTER = re.compile(r"[A-Za-z0-9_.@:/\\#+&=%~-]+")
# What is left of these, or right of those, is another word: date=2024-05-17, Monday.Then I left.
_PARTED = re.compile(r".*[:=]|[A-Za-z]+[/.]|.*--")
_PARTS = re.compile(r"(?:\.+(?![a-z0-9])|\.\.|:(?!\d)|--|/[A-Za-z]+(?![\w.-])).*")
_LETTERS = re.compile(r"[A-Za-z]+")
_OF_TIMES = re.compile(
    rf"(?:{_CALENDAR}|{_SHORT}|sept|tues?|thurs?|spring|summer|autumn|fall|winter|christmas|easter"
    r"|am|pm|a|p|m|st|nd|rd|th|s|t|z|q|h|w|kw|cw|fy|utc|gmt|cet|cest|est|edt|pst|pdt|bst|to|and"
    r"|till?|until|from|through|now|today|present|mid|pre|post|early|late|since|before|after"
    r"|circa|ca|c|noon|midnight)",
    re.I,
)
_ENDING = re.compile(r"(?:-[a-z]+)+\W*")
_ADDRESS = re.compile(r"://|\w@|@[A-Za-z]")
_CALLED = re.compile(
    r"\b(?:called|named|nicknamed|titled|entitled|baptised|christened"
    r"|(?:name|title|nickname)s? (?:is|was|are|were|of))\s+[\"'“‘«]?$",
    re.I,
)
_QUOTED = (re.compile(r"[\"“«]$"), re.compile(r"[\"”»]"))
_NAMED_PLACE = re.compile(
    r"\s(?:Street|St|Road|Rd|Avenue|Ave|Lane|Square|Place|Drive|Boulevard|Blvd|Bridge|Station"
    r"|Times|Post|Herald|Telegraph|Mirror|Mail|Observer|Express|Gazette|Addams|Microsystems)\b"
)
_TITLE = re.compile(r"(?:Yesterday|Today|Tonight|Tomorrow)\b")
_LOWER_BEFORE = re.compile(r"[a-z]\s$")
_NUMBER_WORDS = (
    r"(?:pin|password|passcode|passphrase|code|combination|serial|number|id|username|handle)"
)
_VALUE = re.compile(
    rf"\b{_NUMBER_WORDS}(?: [\w'’-]+){{0,4}}? ?(?:is|was|=|:)\s+$"
    rf"|\b(?:set|sets|chang\w+|reset\w*|updat\w+|switch\w+)\b[^.;!?]*\b{_NUMBER_WORDS}\b"
    r"[^.;!?]* to\s+$",
    re.I,
)
_NAME = re.compile(rf"(?:{_CALENDAR}|{_SHORT})", re.I)
_SURNAME = re.compile(rf"\s(?!(?:{_CALENDAR}|{_SHORT})\b)[A-Z][a-z]")
_PREPOSITION = re.compile(
    r"\b(?:in|on|of|by|at|to|for|from|since|until|till|during|between|and|after|before|through"
    r"|last|next|this|past|coming|every|each|early|late|mid)[ -]$",
    re.I,
)


def is_lookalike(text: str, start: int, end: int) -> bool:
    """Whether characters [start, end) of a text, which read like a time, are something else."""
    before, after = text[max(0, start - 80) : start], text[end : end + 80]
    if _in_code(before, after) or _CALLED.search(before):
        return True
    if _QUOTED[0].search(before) and _QUOTED[1].match(after):
        return True
    words = text[start:end]
    if words[:1].isdigit() and _VALUE.search(before):
        return True
    if words[:1].isupper() and _TITLE.fullmatch(words) and _LOWER_BEFORE.search(before):
        return True
    return _NAMED_PLACE.match(after) is not None and (words[:1].isupper() or words[:1].isdigit())


def is_name(text: str, start: int, end: int) -> bool:
    """Whether a bare month or weekday is somebody's name: May Lin, Jan Novak."""
    words, before = text[start:end], text[max(0, start - 12) : start]
    return (
        words[:1].isupper()
        and _NAME.fullmatch(words) is not None
        and _PREPOSITION.search(before) is None
        and _SURNAME.match(text, end) is not None
    )


def _in_code(before: str, after: str) -> bool:
    """Whether a longer word of letters that name no time goes on at either side."""
    found = _BEFORE.search(before), _AFTER.match(after)
    left, right = (one[0] if one else "" for one in found)
    if _ADDRESS.search(left) or _ADDRESS.search(right):
        return True
    left, right = _PARTED.sub("", left, count=1), _PARTS.sub("", right, count=1)
    return _tells_no_time(left) or (not _ENDING.fullmatch(right) and _tells_no_time(right))


def _tells_no_time(part: str) -> bool:
    return any(not _OF_TIMES.fullmatch(word) for word in _LETTERS.findall(part))
