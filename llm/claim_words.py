"""A statement as a list of comparable words: one spelling, one stem, and whether it is denied.

Numbers, times and dates have one spelling each (`4 pm` and `16:00`, `May 5th` and `2026-05-05`),
whoever speaks is `user`, and names of several words stand as one word where a class knows them.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from rewound.eventlog.letting_go import holds_texts
from rewound.llm.english import AUXILIARIES, holds_its_verb, is_surely_finite
from rewound.llm.vocabulary import PHRASES, month_of, number_of, ordinal, stem


class Token(NamedTuple):
    """`low` is the word as compared, `stem` its stem, `clause` the number of its clause.

    `denied` says that it stands where something is denied, ended or left behind: `lives in Rome,
    not Oslo`, `no longer in Oslo`, `instead of Oslo`. `owner` marks a possessive: Nina's. `date`
    marks the parts of a calendar date, whose numbers count nothing.
    """

    low: str
    stem: str
    capital: bool
    clause: int
    denied: bool
    owner: bool = False
    date: bool = False

    @property
    def is_content(self) -> bool:
        return self.low not in FUNCTION_WORDS

    @property
    def is_number(self) -> bool:
        return (self.low[0].isdigit() and not self.date) or self.low[0] == "@"


FUNCTION_WORDS = frozenset(
    "a an the this that these those of in on at to for from by with as into onto upon about over "
    "and or but nor so if then than too very also just still now currently already again is are "
    "was were am be been being has have had having do does did doing will would shall should can "
    "could may might must it its he she they them his her hers their theirs him we us our ours you "
    "your yours not no never longer there here who whom whose which what when where how while "
    "because since until up out off not any some such own both each more most much many only "
    "instead actually really sorry one itself himself herself themselves ourselves let got get "
    "gets `` '' -- '".split()
)

_PIECE = re.compile(
    r"(?P<iso>\b\d{4}-\d\d(?:-\d\d)?\b)"
    r"|(?P<clock>\b(?:[01]?\d|2[0-3])(?::[0-5]\d)? ?[ap]\.?m\b\.?|\b(?:[01]?\d|2[0-3]):[0-5]\d\b)"
    r"|(?P<version>\b[vV]\d+(?:\.\d+)*\b)"
    r"|(?P<mail>[\w.+-]+@[\w-]+\.[\w.-]+\w|https?://\S+\w|(?<!\w)[\w-]+/[\w./-]+\w)"
    r"|(?P<money>[$€£]\s?)?(?P<digits>\d+(?:[.,]\d+)*(?:-\d{2,})*)"
    r"(?P<unit>st\b|nd\b|rd\b|th\b|%|k\b|[a-zA-Z]\w*)?"
    r"|(?P<word>[^\W\d_][\w]*(?:['’][^\W\d_]+)*(?:\+\+|\#)?)(?P<owner>(?<=s)['’](?!\w))?"
    r"|(?P<stop>[.!?;:,()—–\n])"
)
_CONTRACTED = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("is", "not"),
    "let's": ("let",),
}
_ENDINGS = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would"}
_USER = frozenset("i me my mine myself".split())
_CURRENCY = {"$": "usd", "€": "eur", "£": "gbp"}
_UNITS = {
    "dollars": "usd", "dollar": "usd", "euros": "eur", "euro": "eur", "pounds": "gbp",
    "percent": "%", "bucks": "usd",
}  # fmt: skip
_CLOCK = re.compile(r"(\d+)(?::(\d\d))? ?([ap])?", re.I)
_NOON = {"noon": "@12:00", "midday": "@12:00", "midnight": "@0:00"}
_MONTHS_FULL = (
    "january february march april maymonth june july august september october november "
    "december".split()
)


class _Raw(NamedTuple):
    low: str
    capital: bool = False
    owner: bool = False
    stop: str = ""


def _pieces(text: str) -> list[_Raw]:
    found: list[_Raw] = []
    for one in _PIECE.finditer(text):
        kind = one.lastgroup
        if one["stop"]:
            found.append(_Raw("", stop=one["stop"]))
        elif one["iso"]:
            year, month, *day = one["iso"].split("-")
            named = 1 <= int(month) <= 12
            found.append(_Raw(_MONTHS_FULL[int(month) - 1] if named else month))
            found += [_Raw(str(int(part))) for part in day]
            found.append(_Raw(year))
        elif one["clock"]:
            found.append(_Raw(_clock(one["clock"])))
        elif one["version"]:
            found.append(_Raw(one["version"][1:]))
        elif one["mail"]:
            found.append(_Raw(one["mail"].lower(), capital=True))
        elif one["digits"]:
            found += _number(one)
        elif kind in ("word", "owner"):
            found += _word(one["word"], bool(one["owner"]))
    return found


def _clock(text: str) -> str:
    found = _CLOCK.match(text)
    hour, minute = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    half = (found[3] or "").lower() if found else ""
    hour += 12 if half == "p" and hour < 12 else -12 if half == "a" and hour == 12 else 0
    return f"@{hour}:{minute:02}"


def _number(found: re.Match[str]) -> list[_Raw]:
    digits, unit = found["digits"], (found["unit"] or "")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    if re.fullmatch(r"\d+\.0{2}", digits) and found["money"]:
        digits = digits[:-3]
    if unit == "k" and "." not in digits:
        digits, unit = digits + "000", ""
    if unit in ("st", "nd", "rd", "th"):
        return [_Raw(digits + unit)]
    made = [_Raw(digits)]
    if found["money"]:
        made.append(_Raw(_CURRENCY[found["money"].strip()]))
    if unit == "%":
        made.append(_Raw("%"))
    elif unit:
        made = [_Raw((digits + unit).lower(), capital=True)]
    return made


def _word(word: str, owner: bool) -> list[_Raw]:
    capital = word[0].isupper()
    low = word.lower().replace("’", "'")
    if low in _CONTRACTED:
        return [_Raw(part) for part in _CONTRACTED[low]]
    if low.endswith("n't"):
        return [_Raw(low[:-3]), _Raw("not")]
    base, mark, ending = low.rpartition("'")
    if mark and "'" + ending in _ENDINGS:
        return [_Raw(_person(base), capital), _Raw(_ENDINGS["'" + ending])]
    if mark and ending == "s":
        if holds_its_verb(low):
            return [_Raw(_person(base), capital), _Raw("is")]
        return [_Raw(_person(base), capital, True)]
    if low in _NOON:
        return [_Raw(_NOON[low])]
    if low in _USER:
        return [_Raw("user", owner=low in ("my", "mine"))]
    number = number_of(low)
    if number is not None and not (low == "second" and not capital):
        return [_Raw(number)]
    month = month_of(low) if capital else None
    return [_Raw(month or _UNITS.get(low, low), capital, owner)]


def _person(low: str) -> str:
    return "user" if low in _USER else low


# After these a clause denies, ends or leaves behind what it names.
_DENIERS = frozenset(
    "not never no neither nor without hardly cannot nobody no_one none nothing".split()
)
_LEAVERS = frozenset(
    "stop stopped stops quit quits sold traded ditched dropped drops cancelled canceled abandoned "
    "discontinued left leaves leaving removed retired ended ends opposes refuses refused "
    "deprecated closed dumped resigned ceased lost stopping quitting unable dislikes hates "
    "replaced replaces replacing".split()
)
_PAIRS = frozenset(
    (one, other)
    for one, other in (
        pair.split()
        for pair in (
            "instead of, rather than, used to, gave up, given up, away from, moved from, off "
            "of, got rid, gotten rid, switched from, changed from, migrated from, over from, "
            "upgraded from, went from, broke up, fell out, moved off, tired of, sick of, "
            "phased out, moved out, up from, down from, moving from, opposed to, no "
            "connection, stepped down, done with "
        ).split(", ")
    )
)
USED_TO_AFTER = frozenset(
    "get gets got getting gotten am is are was were be been being become becoming".split()
)
"""After these `used to` tells what somebody is accustomed to, not what is over."""

_GIVING_UP = frozenset((("give", "up"), ("giving", "up")))
# Left for Rome, ended up there, dropped off the keys: nothing is given up.
_LEFT_OTHERWISE = frozenset("up off for in by with out down on at to home early it".split())
_CLOSERS = frozenset("but only instead while whereas although though however rather except".split())
_TO_END = frozenset("to with by".split())
# Of what is given away only the thing itself is gone: sold the car to Anya for $200 in Rome.
_GIVEN = frozenset("sold traded lost dropped dumped ditched removed sell selling".split())
_GIVEN_TO_END = frozenset("to for from at in on with by during because".split())
# Not to do these is to do it: do not forget to open the valve.
_KEPT = frozenset("forget hesitate mind worry fail only just sure".split())
_ASKED = frozenset("do does did should must".split())


def tokens_of(text: str) -> tuple[Token, ...]:
    """The words of a statement in order; without its punctuation and marks."""
    return _tokens(text)


@holds_texts
@lru_cache(maxsize=1 << 14)
def _tokens(text: str) -> tuple[Token, ...]:
    raws = _merged(_pieces(text[:CHARACTERS_MAX]))
    tokens: list[Token] = []
    clause = 0
    denying = ""
    since = 0
    for place, raw in enumerate(raws):
        if raw.stop or not raw.low:
            clause += bool(raw.stop)
            if not (raw.stop == "," and denying in _DENIERS and _lists(raws, place)):
                denying = ""
            continue
        low = raw.low
        after = raws[place + 1].low if place + 1 < len(raws) else ""
        if low in _CLOSERS and not (low == "only" and after == "not"):
            denying = ""
        if denying in _WITH_TO and low in _TO_END and place > since + 1:
            denying = ""  # Replaced Oslo with Rome: only the first is left behind.
        if denying in _GIVEN and low in _GIVEN_TO_END and place > since + 1:
            denying = ""
        if denying and low in ("and", "then") and _begins_clause(after):
            denying = ""
        dated = low in _MONTHS_FULL or (low[0].isdigit() and _is_dated(raws, place))
        tokens.append(Token(low, stem(low), raw.capital, clause, bool(denying), raw.owner, dated))
        leaves = low in _LEAVERS and not (place and _describes(raws[place - 1]))
        leaves = leaves and after not in _LEFT_OTHERWISE
        if denying and (leaves or (low, after) in _GIVING_UP):
            denying = ""  # Who does not stop goes on.
            tokens[-1] = tokens[-1]._replace(denied=False)
            continue
        paired = (low, after) in _PAIRS
        if paired and low == "used" and place and raws[place - 1].low in USED_TO_AFTER:
            paired = False
        if paired or leaves or low in _DENIERS:
            if low in _DENIERS and (after in _KEPT or _kept_later(raws, place)):
                continue
            if low == "no" and after == "1":
                denying, since = "not", place
                continue
            denying = denying or (f"{low} {after}" if paired else low)
            since = place + paired
    return tuple(tokens)


CHARACTERS_MAX = 2000
"""Characters of a statement that are compared; a fact has a sentence or two."""

_WITH_TO = frozenset(
    [" ".join(pair) for pair in _PAIRS if pair[1] in ("from", "off")]
    + ["replaced", "replaces", "replacing", "moved off"]
)


_YEAR = re.compile(r"(?:1[89]|20)\d\ds?")


def _is_dated(raws: list[_Raw], place: int) -> bool:
    """A year, or the number of a day beside its month."""
    if _YEAR.fullmatch(raws[place].low):
        before = raws[place - 1].low if place else ""
        after = raws[place + 1].low if place + 1 < len(raws) else ""
        return after not in _COUNTED and before not in ("costs", "is", "are", "of", "usd", "eur")
    near = [raws[n].low for n in (place - 1, place + 1) if 0 <= n < len(raws)]
    further = [raws[n].low for n in (place - 2, place + 2) if 0 <= n < len(raws)]
    through = any(
        raws[n].low in ("to", "-", "and") for n in (place - 1, place + 1) if 0 <= n < len(raws)
    )
    return len(raws[place].low) <= 2 and (
        any(low in _MONTHS_FULL for low in near)
        or (
            through
            and any(raws[n].low in _MONTHS_FULL for n in range(place, min(place + 4, len(raws))))
            and bool(further)
        )
    )


_POINTING = frozenset("that this which another each every other previous old new".split())
_COUNTED = frozenset("usd eur gbp units people euros dollars kroner seats members".split())


def _lists(raws: list[_Raw], place: int) -> bool:
    """Whether a comma stands in a list that ends in `or`: never any papers, books, or talks."""
    for raw in raws[place + 1 : place + 1 + _LIST_WORDS]:
        if raw.low in ("or", "nor"):
            return True
        if (raw.stop and raw.stop != ",") or raw.low in _CLOSERS or raw.low in AUXILIARIES:
            return False
    return False


_LIST_WORDS = 8


def _begins_clause(after: str) -> bool:
    return after in AUXILIARIES or is_surely_finite(after) or after in ("user", "he", "she", "they")


def _describes(before: _Raw) -> bool:
    """The left ear, his lost dog: no verb stands there."""
    return before.owner or before.low in ("the", "a", "an", "his", "her", "their", "its", "be")


def _kept_later(raws: list[_Raw], place: int) -> bool:
    """Do not ever forget; never mind."""
    ahead = [raw.low for raw in raws[place + 1 : place + 3]]
    return len(ahead) > 1 and ahead[0] in ("ever", "be", "you") and ahead[1] in _KEPT


def _merged(raws: list[_Raw]) -> list[_Raw]:
    """Names of several words as one; a day of a month as its number."""
    merged: list[_Raw] = []
    place = 0
    while place < len(raws):
        raw = raws[place]
        three = tuple(one.low for one in raws[place : place + 3])
        joined = PHRASES.get(three[:2]) or PHRASES.get(three)
        if joined:
            length = joined.count("_") + 1
            merged.append(_Raw(joined, raw.capital, raws[place + length - 1].owner))
            place += length
            continue
        before = merged[-1].low if merged else ""
        after = three[1] if len(three) > 1 else ""
        further = three[2] if len(three) > 2 else ""
        day = raw.low[:-2]
        if day.isdigit() and raw.low == ordinal(day) and len(day) < 3:
            if (
                before in _MONTHS_FULL
                or after in _MONTHS_FULL
                or (after == "of" and further in _MONTHS_FULL)
            ):
                raw = _Raw(day)
                merged.append(raw)
                place += 2 if after == "of" else 1
                continue
        if raw.low == "1" and before in _POINTING and after not in _COUNTED:
            raw = _Raw("one")  # That one: no number is told.
        if raw.low == "the" and after == "user":
            place += 1
            continue
        merged.append(raw)
        place += 1
    return merged
