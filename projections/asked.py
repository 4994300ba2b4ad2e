"""What kind of question a query is, read from its words without a model.

English cues: another language is asked by words and meaning alone.
"""

import re
from functools import cache
from typing import NamedTuple

from rewound.projections.tokens import query_terms, tokenize

_ASSISTANT = re.compile(
    r"\b(?:you (?:said|told|mentioned|recommended|suggested|gave|provided|listed|described"
    r"|explained|advised|wrote|created|shared|came up|proposed|warned|quoted)"
    r"|(?:were|was it) you (?:telling|saying|suggesting|recommending|advising)|did you"
    r"|your (?:advice|suggestions?|recommendations?|answer|list|idea)|according to you|remind me"
    r"|the assistant|(?:our )?(?:previous|last|earlier) (?:conversation|chat|discussion))\b"
)
_WHEN = re.compile(
    r"\b(?:when|what (?:date|day|month|year|time)|how long|since when"
    r"|how (?:many|much) (?:days|weeks|months|years|time))\b"
)
_MANY = re.compile(r"\b(?:how (?:many|much|often)|total|number of|average)\b")
_SUGGESTION = re.compile(
    r"\b(?:suggest|recommend|any (?:tips|advice|ideas|suggestions)|ideas|tips|should i|what to"
    r"|can you help|advice|thinking (?:of|about)|looking for)\b"
)
_SEVERAL = re.compile(
    r"\b(?:list|all (?:the|of|my|our|his|her|their)|every|each of|which of|what are|what (?:kinds?|"
    r"sorts?|types?) of|compare[ds]?|comparison|differences?|both|versus|vs|besides|what else)\b"
)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|my|me|we|our)\b")
_INSIDE = re.compile(r"(?<=[\w,;'\u2019] )[\w'\u2019-]+|\b\w[\w-]*(?=['\u2019]s\b)")
"""A word that does not begin its sentence, or has something."""
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH = re.compile(
    rf"\b(?:{'|'.join(name for name in _MONTHS if name != 'may')})\b"
    r"|(?<=\bin )may\b|(?<=\b(?:of|by) )may\b|(?<=\b(?:last|next|this) )may\b"
    r"|(?<=\bsince )may\b|(?<=\buntil )may\b|(?<=\d )may\b|\bmay(?= \d)"
)
"""*May* is mostly a verb."""
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"(?:\b{_DAY} (?:of )?)?(?:{_MONTH.pattern})(?: {_DAY}\b)?|\b(?:19|20)\d\d(?:-\d\d){{0,2}}\b"
)
_SUGGESTING = (
    "suggest suggestion recommend recommendation tip advice idea help helpful useful interesting"
    " thinking looking good find might"
)
_COUNTING = "many much often total number different"
_CHARS = 4_000


class Asked(NamedTuple):
    """Months are 1 to 12."""

    assistant: bool
    """For what the assistant said."""
    suggestion: bool
    """For advice: what the person likes and has is what helps."""
    when: bool
    many: bool
    """For a number."""
    several: bool
    """For more than one thing: a list, a count, a comparison."""
    first_person: bool
    months: frozenset[int]
    years: frozenset[int]

    def says_nothing(self, term: str) -> bool:
        """Whether a term of the query only asks: "any tips" tells nothing of what about."""
        return (self.suggestion and term in _words(_SUGGESTING)) or (
            self.many and term in _words(_COUNTING)
        )


@cache
def _words(said: str) -> frozenset[str]:
    """As terms of the index."""
    return frozenset(tokenize(said))


def names(query: str) -> frozenset[str]:
    """The terms of words that are written as names are: with a capital inside of a sentence."""
    words = (word for word in _INSIDE.findall(query[:_CHARS]) if word[0].isupper())
    return frozenset(term for word in words for term in tokenize(word))


def dates(query: str) -> frozenset[str]:
    """The terms of the months, years and days that a query names. When something was said, or
    held, seldom stands in its words."""
    found = _DATE.findall(query[:_CHARS].lower())
    return frozenset(term for date in found for term in query_terms(date))


def asked(query: str) -> Asked:
    said = query[:_CHARS].lower().replace("\u2019", "'")
    assistant = bool(_ASSISTANT.search(said))
    many = bool(_MANY.search(said))
    return Asked(
        assistant=assistant,
        suggestion=bool(_SUGGESTION.search(said)) and not assistant,
        when=bool(_WHEN.search(said)),
        many=many,
        several=many or bool(_SEVERAL.search(said)),
        first_person=bool(_FIRST_PERSON.search(said)),
        months=frozenset(_MONTHS.index(name) + 1 for name in _MONTH.findall(said)),
        years=frozenset(map(int, _YEAR.findall(said))),
    )
