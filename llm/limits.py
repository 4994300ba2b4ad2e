"""What limits a statement: on Fridays, per night, for the trip.

Two statements of one attribute may both hold where their limits differ: who gets up at six on
Fridays gets up at half past seven on other days. Limits stand in the statement or in the sentence
that it was drawn from.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from rewound.eventlog.letting_go import holds_texts
from rewound.llm.claim_words import tokens_of
from rewound.llm.cues import about
from rewound.llm.judging import Claim


class Limits(NamedTuple):
    """`days`: on which days of the week, again and again. `rates`: for each of what. `parts`: at
    which part of the day or year. `purposes`: for what, by its words."""

    days: frozenset[str]
    rates: frozenset[str]
    parts: frozenset[str]
    purposes: frozenset[str]


_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DAYS = re.compile(rf"\b(?:(?:every|each)\s+({_DAY})|({_DAY})s|(week-?(?:end|day)|workday)s?)\b")
_RATES = re.compile(
    r"(?:\bper\s+|\beach\s+|\d[\d.,]*k?\s+(?:[a-z$€£]+\s+)?an?\s+|/\s?)"
    r"(night|day|week|month|year|hour|person|head|session|class|lesson|trip|visit|item|piece|meal"
    r"|ticket|seat|game|season|nt|mo|yr|hr)\b"
)
_PARTS = re.compile(
    r"\b(?:in|during)\s+(?:the\s+)?(morning|afternoon|evening|summer|winter|spring|autumn|fall"
    r"|holiday|vacation)s?\b"
)
_PURPOSES = re.compile(
    r"\bfor\s+(?:the|my|our|his|her|their|this|that|an?)\s+((?:[a-z-]+\s?){1,3})"
)


@holds_texts
@lru_cache(maxsize=1 << 14)
def _limits(text: str) -> Limits:
    low = text.lower()
    return Limits(
        frozenset(next(filter(None, one.groups())) for one in _DAYS.finditer(low)),
        frozenset(one[1] for one in _RATES.finditer(low)),
        frozenset(one[1] for one in _PARTS.finditer(low)),
        frozenset(word for one in _PURPOSES.finditer(low) for word in one[1].split()),
    )


def limits_of(claim: Claim) -> Limits:
    """The limits that a claim is made with: in its words, and in what was said up to the end of
    the part that shares most of them."""
    if not claim.said:
        return _limits(claim.text)
    wanted = {token.stem for token in tokens_of(claim.text) if token.is_content}
    parts = _PART.split(about(claim.said, claim.text))
    shared = [len(wanted & {token.stem for token in tokens_of(part)}) for part in parts]
    return _limits(". ".join((claim.text, *parts[: shared.index(max(shared)) + 1])))


_PART = re.compile(r"[,;:]\s+|\s+(?:but|and)\s+")


def differ(one: Limits, other: Limits) -> bool:
    """Whether one is limited where the other is not, or both by different rates or purposes.

    Different days alone are no difference of limits: a class that moves from Tuesday to Thursday.
    A rate that only one of them names is none either: a rent is a rent a month.
    """
    return (
        bool(one.days) != bool(other.days)
        or bool(one.rates and other.rates and one.rates != other.rates)
        or bool(one.parts and other.parts and one.parts != other.parts)
        or bool(one.purposes and other.purposes and not one.purposes & other.purposes)
    )
