"""Numbers as people write them in dates and times: 21, 21st, twenty-one, nineteen ninety six."""

import re
from collections.abc import Iterator

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
).split()
_SMALL = {word: value for value, word in enumerate(_UNITS)}
_SMALL |= {word: 20 + 10 * index for index, word in enumerate(_TENS)}
_RANKS = {word: value for value, word in enumerate(_ORDINALS, 1)}
_RANKS |= {"twentieth": 20, "thirtieth": 30}
_WORD = re.compile(rf"\b(?:{'|'.join([*_SMALL, *_RANKS, 'hundred', 'thousand', 'and'])})\b", re.I)
_DIGITS = re.compile(
    r"(?:(?<![\w.$€£%])(?<![$€£] )|(?<=jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov"
    r"|dec))(?P<number>\d{1,4})(?P<rank>st|nd|rd|th)?(?!\d|\.\d|,\d{3}(?!\d)|%)",
    re.I,
)
_MOST_WORDS = 7


def digits(text: str) -> Iterator[tuple[int, int, int, bool]]:
    """Numbers in digits: start, end, value, and whether it is a rank (21st)."""
    for found in _DIGITS.finditer(text):
        yield found.start(), found.end(), int(found["number"]), found["rank"] is not None


def spelled(text: str) -> Iterator[tuple[int, int, int, bool]]:
    """Every number that a run of words may be read as: start, end, value, whether a rank."""
    words = list(_WORD.finditer(text))
    for index, first in enumerate(words):
        run: list[str] = []
        for place, word in enumerate(words[index : index + _MOST_WORDS], index):
            if run and not re.fullmatch(r"\s*-?\s*", text[words[place - 1].end() : word.start()]):
                break
            run.append(word[0].lower())
            value = _value(run)
            if value is not None:
                yield first.start(), word.end(), value, run[-1] in _RANKS


def _value(words: list[str]) -> int | None:
    """The number that the words are, taken together; None when they are not one."""
    if words[0] == "and" or words[-1] == "and":
        return None
    if words[-1] in _RANKS:
        rank = _RANKS[words[-1]]
        if len(words) == 1:
            return rank
        tens = _SMALL.get(words[0], 0)
        return tens + rank if len(words) == 2 and tens >= 20 and rank < 10 else None
    if "thousand" in words:
        place = words.index("thousand")
        head, tail = _hundreds(words[:place]), _tail(words[place + 1 :])
        return None if head is None or tail is None else head * 1000 + tail
    whole = _hundreds(words)
    return whole if whole is not None else _year(words)


def _tail(words: list[str]) -> int | None:
    bare = words[1:] if words[:1] == ["and"] else words
    return _hundreds(bare) if bare else 0


def _hundreds(words: list[str]) -> int | None:
    if "hundred" in words:
        place = words.index("hundred")
        head, tail = _tens(words[:place]), _tail(words[place + 1 :])
        return None if head is None or tail is None or tail > 99 else head * 100 + tail
    if len(words) == 3 and words[1] == "and" and words[0] in _TENS:  # Twenty and four.
        words = [words[0], words[2]]
    return _tens(words)


def _tens(words: list[str]) -> int | None:
    values = [_SMALL.get(word, -1) for word in words]
    if len(values) == 1 and values[0] >= 0:
        return values[0]
    if len(values) == 2 and values[0] >= 20 and 0 < values[1] < 10:
        return sum(values)
    return None


def _year(words: list[str]) -> int | None:
    """Nineteen ninety six, twenty fifteen."""
    for cut in (1, 2):
        century, rest = _tens(words[:cut]), _tens(words[cut:]) if words[cut:] else None
        if century and rest and 15 <= century <= 20 and 10 <= rest <= 99:
            return century * 100 + rest
    return None
