"""A question taken apart before it is searched, and its parts made ready to be searched as well.

It is searched for the question itself and for each part, so all that the question alone finds is
still found. Where a part needs the answer of an earlier one, that one is searched first, and what
its best hit says in other words than it asks stands where the answer belongs; of a part that asks
who, the first name among them. No model is shown
anything but the question.

When it fails the question is asked as it is and a note says why; then it is left alone for a while.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog.enums import Why
from rewound.llm.askers import asker_here
from rewound.llm.decomposing import TIMEOUT_S, Decomposed, DecomposeFailed, filled, needed
from rewound.memory import requests as q
from rewound.memory.replies import Found
from rewound.memory.reranked_replies import Decomposing

if TYPE_CHECKING:
    from rewound.llm.decomposing import Decomposer
    from rewound.llm.dispatching import Dispatcher
    from rewound.memory.models import Models

TIME_MIN_S = 0.1
"""With less time than that nothing is asked."""

ANSWER_LIKELY = 0.1
"""What is less likely to answer a part would only lead the next one astray."""

ANSWER_WORDS_MAX = 12
ANSWER_CHARS_MAX = 120

_TIME_SHARE = 0.5
"""Of the time of a question: the rest is for the search itself."""

_PAUSE_S = 30.0
"""So long after a failure the decomposer is left alone."""

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_WHO = re.compile(r"\bwho(?:m|se)?\b", re.I)
_OWNING = re.compile(r"['’]s$")

_log = logging.getLogger(__name__)

Searching = Callable[[q.Search], Found]


class Parted(NamedTuple):
    """`queries` to search for besides the question, none for it alone; what the reply is to tell of
    them."""

    queries: tuple[str, ...] = ()
    told: Decomposing | None = None
    notes: tuple[str, ...] = ()


_WHOLE = Parted()


class Decomposes:
    """The stage of one store that takes questions apart. Safe for any number of threads.

    `always`: for each question that does not refuse it.
    """

    def __init__(self, decomposer: Decomposer | None = None, *, always: bool = False) -> None:
        self._decomposer = decomposer
        self._always = always
        self._failed = ""
        self._again_at = 0.0

    @staticmethod
    def of(models: Models, nodes: Dispatcher | None = None) -> Decomposes:
        """What the settings ask for; `nodes` makes the calls at servers."""
        return Decomposes(models.make_decomposer(nodes), always=models.decompose == "always")

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        if self._decomposer is not None:
            self._decomposer.close()

    def nodes_are_back(self) -> None:
        """Ask the decomposer again at once, rather than when its pause is over."""
        self._again_at = 0.0

    def parted(self, request: q.Asks, timeout_s: float, search: Searching) -> Parted:
        """What to search for as well. The decomposer takes at most half of `timeout_s`, which is
        that of the question; `search` finds the answers that parts need."""
        wanted = self._always if request.decompose is None else request.decompose
        if not wanted or not _WORD.search(request.query):
            return _WHOLE
        if self._decomposer is None:
            note = "not taken apart: no decomposer is set (REWOUND_DECOMPOSER)"
            return Parted(notes=(note,)) if request.decompose else _WHOLE
        begun = time.monotonic()
        if begun < self._again_at:
            return Parted(notes=(_as_it_is(self._failed),))
        within_s = min(timeout_s * _TIME_SHARE, TIMEOUT_S)
        if within_s < TIME_MIN_S:
            return Parted(notes=("not taken apart: no time was left",))
        try:
            made = _decomposed(self._decomposer, request.query, within_s)
        except DecomposeFailed as failed:
            if within_s >= TIMEOUT_S and not asker_here().gone:  # else it was the caller
                self._failed, self._again_at = str(failed), time.monotonic() + _PAUSE_S
            _log.warning("the decomposer failed: %s", failed)
            return Parted(notes=(_as_it_is(str(failed)),))
        told = Decomposing(
            decomposer=self._decomposer.name,
            parts=made.parts,
            ms=round((time.monotonic() - begun) * 1000, 1),
            calls=made.calls,
            tokens=made.tokens,
        )
        queries, notes = answered_parts(request, made.parts, search)
        return Parted(queries, told, notes)


def answered_parts(
    request: q.Asks, parts: tuple[str, ...], search: Searching
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The queries of the parts, with the answers that some need, and what to say of those that
    were not found. What was forgotten answers no part."""
    wanted = {number for part in parts for number in needed(part)}
    queries: list[str] = []
    notes: list[str] = []
    answers: dict[int, str] = {}
    for number, part in enumerate(parts, 1):
        missing = [each for each in needed(part) if each not in answers]
        notes += [f"part {number} was searched without the answer of part {n}" for n in missing]
        query = filled(part, answers)
        if query.casefold() not in {each.casefold() for each in (request.query, *queries)}:
            queries.append(query)
        if number in wanted:
            answer = _answer(query, search(_searching(request, query)))
            if answer:
                answers[number] = answer
    return tuple(queries), tuple(notes)


def _searching(request: q.Asks, query: str) -> q.Search:
    """The search for a part: that of the question, for one hit."""
    return q.Search(
        container=request.container,
        scope=request.scope,
        as_of=request.as_of,
        valid_at=request.valid_at,
        at_least=request.at_least,
        query=query,
        limit=1,
        nearest=False,
        filters=request.filters,
        read_times=request.read_times,
        rerank=False,
        rewrite=False,
        decompose=False,
    )


def _answer(query: str, found: Found) -> str:
    """What the best hit says in other words than it was asked for; "" where nothing likely was
    found."""
    from rewound.projections.tokens import is_stopword, tokenize

    if not found.hits or found.hits[0].score < ANSWER_LIKELY:
        return ""
    asked = set(tokenize(query))
    said: list[re.Match[str]] = []
    for word in _WORD.finditer(found.hits[0].text):
        if any(not is_stopword(term) and term not in asked for term in tokenize(word[0])):
            said.append(word)
    if _WHO.search(query):
        said = _first_name(said) or said
    answer = " ".join(dict.fromkeys(_OWNING.sub("", word[0]) for word in said[:ANSWER_WORDS_MAX]))
    return answer[:ANSWER_CHARS_MAX]


def _first_name(said: list[re.Match[str]]) -> list[re.Match[str]]:
    """The first words with capitals that stand together; none where there are none."""
    name: list[re.Match[str]] = []
    for word in said:
        if word[0][0].isupper() and (not name or word.start() == name[-1].end() + 1):
            name.append(word)
        elif name:
            break
    return name


def _decomposed(decomposer: Decomposer, query: str, timeout_s: float) -> Decomposed:
    """Raises DecomposeFailed, whatever the decomposer raises."""
    try:
        return decomposer.decomposed(query, timeout_s)
    except DecomposeFailed:
        raise
    except Exception as error:  # a model may fail in any way: the question itself is there
        what = f"it ended with {type(error).__name__}"
        raise DecomposeFailed(what, Why.MALFORMED) from error


def _as_it_is(why: str) -> str:
    return f"asked as it is, since the decomposer failed: {why}"
