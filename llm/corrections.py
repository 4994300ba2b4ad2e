"""Corrections inside a conversation: `Sorry, make that 4 pm` after `Book the demo for 3 pm`.

A correction names a new value and little else. What it corrects is the latest statement of the
speaker that holds a value of the same sort: a time of day, a day, a room, a sum, a name. Its words
with the new value in the old one's place are the statement that now holds. Where no statement
fits, nothing is said.
"""

import re
from typing import Literal, NamedTuple

from rewound.llm.attribute_table import CLOCK, DAY
from rewound.llm.time_expressions import find

Sort = Literal["room", "clock", "day", "money", "number", "name", "word"]


class Correction(NamedTuple):
    """The new values as they were said, and the one that was wrong, where that is named.

    `plain` says that the words leave no doubt that something is corrected (I mean, make that), so
    that a value of no recognised sort counts too.
    """

    values: tuple[str, ...]
    wrong: str | None
    plain: bool


class Value(NamedTuple):
    """A value of a sort, worded as it stands in a statement: `at` is not part of a clock's. Before
    a name or a word `preposition` is what it was said with."""

    sort: Sort
    text: str
    preposition: str | None = None


_CUE = (
    r"(?:(?:oh|ah|well|ok(?:ay)?|hmm|no|nope|wait|oops|sorry|apologies|my bad|my mistake|actually"
    r"|correction|edit|update|final(?:ly)?(?: (?:answer|time|version|decision|call))?|scratch that"
    r"|on second thoughts?|change of plans?|i misspoke|that(?:['’]s| is| was) wrong|i was wrong"
    r"|typo|rather|better|hold on|one correction|small correction)\b[\s,.:;!…—–-]*)"
)
_REAL = re.compile(
    r"\b(?:no|nope|wait|oops|sorry|apologies|my bad|my mistake|actually|correction|edit|update"
    r"|final\w*|scratch that|second thoughts?|change of plans?|misspoke|wrong|typo|rather)\b",
    re.I,
)
_PLAIN = re.compile(
    r"\b(?:correction|scratch that|misspoke|typo|wrong|edit)\b|\bi mea(?:n|nt)\b", re.I
)
_IT = r"(?:it|that|this|the (?:time|date|day|room))"
_MAKE = re.compile(
    rf"(?:please |can you |could you |let['’]?s )*(?:make|change|move|set|switch|push|put|book"
    rf"|reschedule|update|call|name) {_IT}(?: be)?(?: (?:to|for|at|on|until|back to|in"
    rf"|into))? (?P<x>.+)",
    re.I,
)
_NOW_IS = re.compile(
    rf"(?:but |and )?{_IT}(?:(?:['’]s| is|['’]ll be| will be| should be| was| needs to be"
    rf"| has to be)"
    r"(?P<sure> now| actually| supposed to be| meant to be)?"
    r"|(?P<moved>(?: has| was| got|['’]s)?(?: been)?(?: just)? (?:moved|changed|pushed|postponed"
    r"|rescheduled)(?: back| forward)? to))"
    r"(?P<at> at| on| in| for)? (?P<x>.+)",
    re.I,
)
_RIGHT = re.compile(
    r"(?:it (?:is|was) )?(?P<x>[^,;]{1,30}?)(?: (?:was|is) (?:right|correct|fine)(?: after all)?"
    r"|,? after all)"
    r"|(?:so |let['’]?s )?(?:go )?back to (?P<y>[^,;]{1,30})",
    re.I,
)
"""What was said before holds after all."""
_MEAN = re.compile(
    r"(?:what )?i (?:mean|meant)(?: to (?:say|write))?(?: was| is)?:? (?P<x>.+)"
    r"|(?:it )?should (?:be|read|say) (?P<y>.+)|let['’]?s (?:say|do|go with) (?P<z>.+)",
    re.I,
)
_NOT = re.compile(
    r"(?P<x>[^,;]+?),? (?:and )?(?:not|instead of|rather than) (?:at |on |in |for )?(?P<old>[^,;]+)"
    r"|not (?:at |on |in |for )?(?P<old2>[^,;]+?)(?:,| but|, but) (?:but )?(?P<x2>[^,;]+)",
    re.I,
)
_REST = re.compile(r"(?:,? (?:instead|please|now|then|again|thanks|thank you|sorry))+$", re.I)
_JOINT = re.compile(r",\s+(?:and )?|\s+and\s+|;\s+|\s+(?=in (?:room|the \w+ room)\b)", re.I)
_LONGEST = 120


def correction_in(sentence: str) -> Correction | None:
    """What a sentence, without its end mark, corrects; None for one that corrects nothing."""
    if len(sentence) > _LONGEST:
        return None
    cue = re.match(f"{_CUE}*", sentence, re.I)
    lead = cue[0] if cue else ""
    body = sentence[len(lead) :]
    real = _REAL.search(lead) is not None
    plain = _PLAIN.search(lead) is not None
    mean = _MEAN.fullmatch(body)
    if mean and (real or mean["x"] or body.endswith("instead")):
        said = mean["x"] or mean["y"] or mean["z"]
        return _made(said, plain=plain or mean["x"] is not None)
    right = _RIGHT.fullmatch(body)
    if right and (real or right["y"] or body.endswith("after all")):
        return _made(right["x"] or right["y"], plain=plain)
    make = _MAKE.fullmatch(body)
    if make:
        return _made(make["x"], plain=True)
    now = _NOW_IS.fullmatch(body)
    if now:
        sure = now["sure"] or now["moved"] or re.search(r"\bnow$", now["x"])
        return (
            _made(now["x"], plain=plain) if real or (sure and (now["at"] or now["moved"])) else None
        )
    if real or _NOT.fullmatch(body):
        return _made(body, plain=plain, bare=not real)
    return None


def _made(said: str, plain: bool, bare: bool = False) -> Correction | None:
    """`bare` says that no word of correction stood in front: the wrong value must be named."""
    said = _REST.sub("", said)
    found = _NOT.fullmatch(said)
    wrong = None
    if found:
        said, wrong = found["x"] or found["x2"], found["old"] or found["old2"]
    if bare and (found is None or len(said.split()) > 4):
        return None
    values = tuple(part for part in _JOINT.split(said.strip()) if part)
    if not values or len(values) > 4:
        return None
    return Correction(values, wrong, plain or wrong is not None)


# --- values and where they stand

_IN_ROOM = (
    r"(?:the (?P<of>[A-Z][\w-]*) [Rr]oom|(?:the )?(?:meeting |conference )?(?:room"
    r"|Room) (?P<no>[\w.-]+))"
)
_ROOM = re.compile(rf"(?:in |to )?{_IN_ROOM}")
_CLOCK = re.compile(rf"(?:at |to |for )?(?P<v>{CLOCK})", re.I)
_MONEY = re.compile(
    r"(?:about |around )?(?:[$€£]\s?\d[\d,.]*\d?[kKmM]?|\d[\d,.]*[kKmM]? ?(?:dollars|euros|pounds"
    r"|usd|eur|€|\$))",
    re.I,
)
_NUMBER = re.compile(r"(?P<n>\d[\d,.]*\d|\d)(?: (?P<noun>[a-z]+))?")
_DAY_CLOCK = re.compile(rf"(?P<day>.+?),? (?:at |@ )?(?P<clock>{CLOCK})", re.I)
_SLOTS: dict[Sort, re.Pattern[str]] = {
    "room": re.compile(rf"(?:in |to )?{_IN_ROOM}"),
    "clock": re.compile(
        rf"(?:(?<=\bat )|(?<=\bto )|(?<=\buntil )|(?<=\bfrom )){CLOCK}"
        r"|\b\d{1,2}[:.]\d\d(?: ?[ap]\.?m\b)?|\b\d{1,2} ?[ap]\.?m\b",
        re.I,
    ),
    "day": re.compile(
        rf"(?:\b(?:on|in) )?(?:{DAY}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)(?! \d)"
    ),
    "money": _MONEY,
}


def valued(said: str, at: int, zone: str) -> list[Value]:
    """The value that a part of a correction names; two where a day stands with a time of day."""
    room = _ROOM.fullmatch(said)
    if room:
        return [
            Value("room", f"in the {room['of']} room" if room["of"] else f"in room {room['no']}")
        ]
    if _MONEY.fullmatch(said):
        return [Value("money", said)]
    number = _NUMBER.fullmatch(said)
    clock = _CLOCK.fullmatch(said)
    if clock:
        return [Value("clock", clock["v"])]
    day = _day(said, at, zone)
    if day:
        return [Value("day", day)]
    both = _DAY_CLOCK.fullmatch(said)
    day = _day(both["day"], at, zone) if both else None
    if both and day:
        return [Value("day", day), Value("clock", both["clock"])]
    if number:
        return [Value("number", said)]
    quoted = re.fullmatch(r"[\"“'‘](.{1,60}?)[\"”'’]", said)
    before = re.match(r"(at|on|in|for|to|with|by|from) ", said)
    bare = quoted[1] if quoted else said[before.end() :] if before else said
    if not bare or len(bare.split()) > 4 or _EMPTY.match(bare):
        return []
    sort: Sort = "name" if bare[0].isupper() or quoted else "word"
    return [Value(sort, bare, before[1] if before else None)]


_EMPTY = re.compile(
    r"(?:it|that|this|them|these|those|you|me|i|we|he|she|they|not|never|nothing|so|yes|no|ok"
    r"|thanks?|what|why|how|when|where|who|there|here|the (?:other|first|second|last) one|one|too"
    r"|fine|done|good|great|wait|please|later|sure|true|right|wrong|all|my|is|are|was|\w+ing)\b",
    re.I,
)


def _day(said: str, at: int, zone: str) -> str | None:
    """A day or month said absolutely, with its preposition."""
    times = find(said, at, zone, "future")
    if len(times) != 1 or times[0].first is None:
        return None
    time = times[0]
    outside = said[: time.start] + said[time.end :]
    if re.sub(r"\b(?:on|in|for|to|by|at|the)\b|\W", "", outside):
        return None
    return time.wording or f"on {said[time.start : time.end]}"


def corrected(
    text: str, value: str | None, correction: Correction, at: int, zone: str
) -> str | None:
    """A statement with what was corrected put right; None when it holds nothing of that sort.

    `text` is a finished statement and `value` the value of its attribute, where it has one.
    """
    new = text
    if correction.wrong is not None and not _holds(text, correction.wrong, at, zone):
        return None
    for number, part in enumerate(correction.values):
        values = valued(part, at, zone)
        if not values and number and len(part.split()) > 4:
            break  # A reason, most often.
        if not values:
            return None
        for each in values:
            put = _put(new, each, value, correction)
            if put is None:
                return None
            new = put
    return None if new == text else new


def _holds(text: str, wrong: str, at: int, zone: str) -> bool:
    """Whether a statement has the value that is said to be wrong, or one of its sort."""
    if wrong.lower() in text.lower():
        return True
    return any(
        value.sort in _SLOTS and _SLOTS[value.sort].search(text)
        for value in valued(wrong, at, zone)
    )


def _put(text: str, new: Value, value: str | None, correction: Correction) -> str | None:
    slot = _SLOTS.get(new.sort)
    if slot is not None:
        found = slot.search(text)
        if found:
            old = found[0]
            worded = new.text
            if new.sort == "day" and not re.match(r"(?:on|in) ", old):
                worded = re.sub(r"^(?:on|in) ", "", worded)
            return f"{text[: found.start()]}{worded}{text[found.end() :]}"
        if new.text.isdigit() and (counted := _with_number(text, new.text)):
            return counted
        if new.sort == "money" or not _is_scheduled(text):
            return None
        joint = {"room": ", ", "clock": " at ", "day": " "}[new.sort]
        return f"{text}{joint}{new.text}"
    if new.sort == "number":
        return _with_number(text, new.text)
    wrong = correction.wrong
    replaced = wrong if wrong and wrong in text else value
    if replaced is None or replaced not in text:
        return None
    alike = (new.text[0].isupper() or new.sort == "name") == replaced[0].isupper()
    named = " is called " in text
    sure = correction.plain or named or _alike(new.text, replaced)
    sure = sure or (new.preposition is not None and f" {new.preposition} {replaced}" in text)
    if not (alike or named) or not sure:
        return None
    if new.sort == "word" and len(new.text.split()) != len(replaced.split()):
        return None
    place = text.rindex(replaced)
    return f"{text[:place]}{new.text}{text[place + len(replaced) :]}"


def _alike(one: str, other: str) -> bool:
    """Two codes, hunter2 and hunter3, or two that share words: 12 and 14 Elm Road."""
    if all(" " not in each and re.search(r"\d", each) for each in (one, other)):
        return True
    ones, others = one.split(), other.split()
    return len(ones) == len(others) > 1 and ones[-1] == others[-1]


def _is_scheduled(text: str) -> bool:
    return any(_SLOTS[sort].search(text) for sort in ("clock", "day", "room") if sort in _SLOTS)


_ALONE = re.compile(r"(?<![\w$€£.:-])\d[\d,.]*(?![\w:%-])(?: (?P<noun>[a-z]+))?")


def _with_number(text: str, said: str) -> str | None:
    """Another number in the place of the only one, of the same noun where one is named."""
    number = _NUMBER.fullmatch(said)
    found = [
        one
        for one in _ALONE.finditer(text)
        if number is not None and number["noun"] in (None, one["noun"])
    ]
    if number is None or len(found) != 1:
        return None
    old = found[0]
    end = old.end() if number["noun"] else old.start() + len(old[0].split()[0])
    return f"{text[: old.start()]}{said}{text[end:]}"
