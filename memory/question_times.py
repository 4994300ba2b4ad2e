"""Times in the words of a question: `last March`, `before I moved` narrow what held when, and
`previously` widens that to all that ever did.

Facts are then taken by their intervals, ended ones too. Messages and passages are not narrowed:
they speak of other times than their own. A question that names its time in a field is left alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from rewound.eventlog.ids import Kind
from rewound.eventlog.instants import MIN_US, show_us
from rewound.memory import requests as q
from rewound.memory.conditions import names_times
from rewound.memory.find import find
from rewound.memory.moments import LAST_US, When
from rewound.projections.facts import FactRow
from rewound.projections.tokens import query_terms

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

_HITS = 5
_SHARE = 0.6
"""What tells of the event must hold this share of the words that name it."""

_YEAR_ONE_US = -62_135_596_800_000_000

_EVENT = re.compile(
    r"\b(?P<how>before|after|since|until|when|while)\s+(?P<what>(?:i|we|he|she|they|my|our|his|her"
    r"|their|the|[A-Z]\w*)\b[^?!.;]{2,120})",
)
_FORMERLY = re.compile(
    r"\b(?:previous(?:ly)?(?! (?:conversation|chat|discussion|session|message))|former(?:ly)?"
    r"|originally|initially|at first|back then|in the past|until (?:now|then)|no longer"
    r"|any ?more(?=\W*$)|over (?:time|the (?:weeks|months|years))|history of|changes? (?:in|of|to)"
    r"|(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bget )used to"
    r"|(?:how|has|have|had)\b[^?!.;]{1,80}\b(changed)"
    r"|(?:did|was|were|had)\b[^?!.;]{1,80}\b(before|change|use to))\b",
    re.I,
)
"""Asks for what was so before, without naming a time: for all that once held. The words that say so
are the groups, or else all of it."""
_UNLIKE = re.compile(
    r"no longer than|at first[- ](?:glance|sight|hand|light)"
    r"|\b(?:is|are|am|was|were|be|been|being|gets?|got|gotten|getting)(?: \w+)?(?: not)? used to"
    r"|(?:['’](?:m|re)|\bnot) used to|\b(?:have|has|had) \w+ used to"
    r"|\bbefore (?=bed|breakfast|brunch|lunch|dinner|supper|noon|midnight|dawn|dark|\d)"
    r"|\b(?:in|on|about)(?: the| a)? history of"
    r"|\b(?:bring|brought|climate|small|loose|spare|exact|enough) change"
    r"|(?:^\W*|\b(?:(?:is|are|was|were) there|(?:do|does|did) \w+ (?:have|want|need)) )any more"
    r"|[\"“„«][^\"“”„«»]+[\"”»]",
    re.I,
)
"""Looks like that, but speaks of a length, of habit, of a time of day, of a subject, of money, of
further things; or is a title in quotes."""
_AUXILIARY = re.compile(r"^(?:did|do|does|is|was|were|are|will|has|have|had)\b", re.I)


def in_words(view: ContainerView, asked: q.Search | q.Context | q.Inquire, when: When) -> When:
    """The moment of a question, narrowed to the stretch of time that its words name, if any."""
    filters = asked.filters
    if not asked.read_times or when.valid is not None or filters.since or filters.until:
        return when
    if filters.where is not None and names_times(filters.where):
        return when
    found = _stretch(asked.query, when) or _around_event(view, asked, when)
    found = found or _formerly(asked.query, when)
    if found is None:
        return when
    words, start, end = found
    window = f"{_shown(start)}/{_shown(end)}"
    moment = msgspec.structs.replace(when.moment, window=window, window_words=words)
    return replace(when, valid=(start, end), moment=moment)


def _shown(at_us: int) -> str:
    return ".." if at_us <= _YEAR_ONE_US else show_us(min(at_us, LAST_US))


def _stretch(query: str, when: When) -> tuple[str, int, int] | None:
    """A stretch that the calendar knows."""
    from rewound.llm.time_windows import window_of  # a grammar: loaded when first asked

    window = window_of(query, when.now_us, when.zone.name)
    return None if window is None else (window.words, window.from_us, window.to_us)


def _around_event(
    view: ContainerView, asked: q.Search | q.Context | q.Inquire, when: When
) -> tuple[str, int, int] | None:
    """A stretch before, after or at an event that a fact tells of."""
    named = _EVENT.search(asked.query)
    if named is None or _AUXILIARY.match(named["what"]):
        return None
    terms = set(query_terms(named["what"]))
    if not terms:
        return None
    filters = msgspec.structs.replace(asked.filters, what=("fact",))
    hits, _ = find(view, named["what"], filters, when, _HITS, scope=asked.scope, superseded=True)
    for match in hits.matches:
        fact = match.row.state
        if match.ref.kind is Kind.FACT and isinstance(fact, FactRow):
            held = set(query_terms(view.wording(fact) or ""))
            if len(terms & held) >= _SHARE * len(terms):
                return named[0], *_bounds(named["how"], fact.valid_from, when.now_us)
    return None


def _formerly(query: str, when: When) -> tuple[str, int, int] | None:
    """All the past, where the question is for what was so before."""
    for found in _FORMERLY.finditer(_UNLIKE.sub("; ", query)):
        words = found[1] or found[2] or found[0]
        at = found.start() + found[0].index(words)
        # A capital within a sentence is that of a title: `the film Previously in Riga`.
        title = words[:1].isupper() and not words.isupper()
        before = found.string[:at].rstrip(" \t\n'(*-–—")
        if not title or not before or before[-1] in ".!?:;…":
            return words, MIN_US, when.now_us + 1
    return None


def _bounds(how: str, at_us: int, now_us: int) -> tuple[int, int]:
    match how:
        case "before" | "until":
            return MIN_US, at_us
        case "after" | "since":
            return at_us, max(now_us, at_us) + 1
    return at_us, at_us + 1
