"""Whether a statement that a model wrote is borne by the words that it was drawn from.

Three things a model likes to invent are looked for in the words themselves: names, numbers and
dates. A date may also be one that the words name by the day they were said on.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.instants import Instant, Precision, end_of, from_us, parse_instant
from rewound.llm.english import VERBS, is_third, words_of
from rewound.llm.scripts import is_other_script
from rewound.llm.sentences import Span, sentences
from rewound.llm.time_expressions import find, place
from rewound.llm.time_ranges import TimeExpression
from rewound.llm.time_stretches import MONTHS, WEEKDAYS

QUOTE_CHARS_MAX = 2_000

# --- where a quote stands

_SAME = {"'": "['’‘`]", "’": "['’‘`]", "‘": "['’‘`]", '"': '["“”„]', "“": '["“”„]', "”": '["“”„]'}
_AROUND = " \t\n\"“”„'’‘…"


def located(text: str, quote: str) -> Span | None:
    """Where a quote stands in a text: as it is, else with other spaces, capitals and quotation
    marks. None for one that does not, or that is too short to mean a place."""
    quote = quote.strip()
    if len(quote) > QUOTE_CHARS_MAX or len(re.findall(r"\w", quote)) < 3:
        return None
    start = text.find(quote)
    if start >= 0:
        return Span(start, start + len(quote))
    bare = quote.removeprefix("...").removesuffix("...").strip(_AROUND)
    pattern = r"\s+".join(
        "".join(_SAME.get(char, re.escape(char)) for char in word) for word in bare.split()
    )
    found = re.search(pattern, text, re.I) if pattern else None
    return Span(found.start(), found.end()) if found else None


# --- what the words bear


class Ground(NamedTuple):
    """What a statement stands on: the words, who said them, and the times that they name."""

    words: str
    speaker: str
    at: int
    zone: str
    times: tuple[TimeExpression, ...]

    @property
    def said_on(self) -> datetime:
        """The local moment of saying it."""
        return from_us(self.at).astimezone(place(self.zone)).replace(tzinfo=None)


def ground(words: str, speaker: str, at: int, zone: str) -> Ground:
    """Of words that may be several sentences."""
    parts = (words[span.start : span.end] for span in sentences(words, 0, len(words)))
    times = tuple(time for part in parts for time in find(part, at, zone))
    return Ground(words, speaker, at, zone, times)


def unborne(statement: str, on: Ground) -> str | None:
    """What of a statement its words do not bear: `a name`, `a number`, `words`; None if it
    stands."""
    known = _Known(on)
    if is_other_script(statement):
        letters = [char for char in statement if char.isalpha() and not char.isascii()]
        held = sum(char in on.words or char in on.speaker for char in letters)
        if held * 2 < len(letters):
            return "words"
    if not all(known.bears_number(number) for number in numbers_of(statement)):
        return "a number"
    return None if all(known.bears(name, first) for name, first in _names(statement)) else "a name"


def missing_names(statement: str, on: Ground) -> list[str]:
    """The names of a statement that its words do not hold."""
    known = _Known(on)
    return [name for name, first in _names(statement) if not known.bears(name, first)]


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Each word with a capital letter or a digit amid letters, and whether it begins a sentence."""
    for word in words_of(text):
        if not any(char.isupper() for char in word.text):
            continue
        before = text[: word.start].rstrip(" \"“'‘(*")
        yield word.text, not before or before[-1] in ".!?:。！？"


_WORD_NUMBERS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
# `one` is seldom a number, and `a` or `first` may be one.
_AMBIGUOUS = frozenset(("one", "zero"))
_NUMBER = re.compile(r"\d(?:[\d.,:/-]*\d)?")
_THOUSANDS = re.compile(r"(?<=\d)[,’'](?=\d{3}(?!\d))")


def numbers_of(text: str) -> list[str]:
    """The numbers of a text, in digits; thousands are not set apart."""
    found = _NUMBER.findall(_THOUSANDS.sub("", text))
    low = (word.low for word in words_of(text))
    return found + [
        str(_WORD_NUMBERS[w]) for w in low if w in _WORD_NUMBERS and w not in _AMBIGUOUS
    ]


_OPENERS = frozenset(
    "the a an this that these those their his her its there it he she they who when while after "
    "before since until if in on at for from with by as and but not no never both each every all "
    "some most many user user's author author's".split()
)


class _Known:
    """The words, numbers and dates that a ground holds."""

    def __init__(self, on: Ground) -> None:
        said = words_of(f"{on.words} {on.speaker}")
        self.words = {part for word in said for part in _parts(word.low)}
        self.numbers = set(numbers_of(on.words)) | {
            str(_WORD_NUMBERS[low]) for low in self.words if low in _AMBIGUOUS
        }
        self.units = {int(unit) for number in self.numbers for unit in re.findall(r"\d+", number)}
        for moment in _moments(on.times):
            self.words |= {MONTHS[moment.month - 1], WEEKDAYS[moment.weekday()]}
            self.units |= {moment.year, moment.month, moment.day}
            self.units |= {moment.hour, moment.hour % 12 or 12, moment.minute}

    def bears_number(self, number: str) -> bool:
        if number in self.numbers:
            return True
        if re.fullmatch(r"\d+[.,]\d+", number):
            return False
        return all(int(unit) in self.units for unit in re.findall(r"\d{1,9}", number))

    def bears(self, name: str, first: bool) -> bool:
        parts = _parts(name.lower().replace("’", "'"))
        return all(self._bears(part, first) for part in parts)

    def _bears(self, part: str, first: bool) -> bool:
        if part in self.words or part in ("i", "user"):
            return True
        if len(part) >= 4 and any(_akin(part, word) for word in self.words if len(word) >= 4):
            return True
        if not first:
            return False
        return part in _OPENERS or part in VERBS or (is_third(part) and self._has_verb(part))

    def _has_verb(self, part: str) -> bool:
        return any(word[:3] == part[:3] for word in self.words)


def _parts(low: str) -> list[str]:
    """A word without its possessive ending; one with hyphens also as its parts."""
    bare = low.removesuffix("'s").rstrip("'")
    return [part for part in (bare, *bare.split("-")) if part] if "-" in bare else [bare]


def _akin(one: str, two: str) -> bool:
    return one.startswith(two) or two.startswith(one)


_MOMENT = timedelta(microseconds=1)


def _moments(times: tuple[TimeExpression, ...]) -> Iterator[datetime]:
    """The first and the last moment of each time, where it has one."""
    for time in times:
        if time.first is not None:
            yield time.first
        if time.past is not None:
            yield time.past - _MOMENT
            yield time.past


# --- times


class Unborne(Exception):
    """A model gave a date that the words do not bear."""


def since(told: str | None, on: Ground) -> Instant | None:
    """When a statement begins to hold, by what a model told: a date, or words such as `last
    Friday`. None when it told nothing that is a time. Raises Unborne."""
    time = _named(told, on)
    return time if isinstance(time, Instant) or time is None else time.valid_from


def until(told: str | None, on: Ground) -> Instant | None:
    """When it ends: the first moment after a last day, a month or a year as it was named."""
    time = _named(told, on)
    if time is None:
        return None
    if isinstance(time, TimeExpression):
        if time.valid_to is not None or time.valid_from is None:
            return time.valid_to
        return _closed(time.valid_from)
    return _closed(time)


def _closed(last: Instant) -> Instant:
    if last.precision != Precision.DAY:
        return last
    return Instant(end_of(last), Precision.DAY, last.offset)


def _named(told: str | None, on: Ground) -> TimeExpression | Instant | None:
    told = (told or "").strip()
    if not told:
        return None
    try:
        given = parse_instant(told[:40], zone=place(on.zone))
    except InvalidInput:
        return _by_words(told[:200], on)
    begin = from_us(given.at, given.offset).replace(tzinfo=None)
    past = begin + timedelta(microseconds=max(end_of(given) - given.at, 1))
    for time in on.times:
        first = time.first or (time.past - timedelta(days=1) if time.past else None)
        if first is None:
            continue
        last = time.past or first + timedelta(days=1)
        if begin < last and first < past:
            return time  # As exact as it was said, whatever the model made of it.
    units = {int(unit) for number in numbers_of(on.words) for unit in re.findall(r"\d+", number)}
    wanted = [begin.year, begin.month, begin.day][: min(int(given.precision), 3)]
    if all(unit in units for unit in wanted):
        return given
    if begin.date() == on.said_on.date():
        return None  # The day it was said on, which is what holds without a date.
    raise Unborne


def _by_words(told: str, on: Ground) -> TimeExpression | None:
    """The time that words name, if the ground names it too. Raises Unborne."""
    meant = find(told, on.at, on.zone)
    if not meant:
        return None
    for time in on.times:
        if any((time.first, time.past) == (each.first, each.past) for each in meant):
            return time
    if located(on.words, told) is not None:
        return meant[0]
    raise Unborne
