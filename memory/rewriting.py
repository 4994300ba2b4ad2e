"""A question put into other words by a model, before anything is looked for.

It is searched for the question and those words together: the question as it was asked, and after it
the new words that it does not hold. So all that the question's own words find is still found, and
what is said in other words can be found as well. Times and phrases in quotes are read from the
question alone, and the reply's `query` is what was asked.

When it fails the question is asked as it is and a note says why; then it is left alone for a while.
"""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog.enums import Why
from rewound.llm.askers import asker_here
from rewound.llm.rewriting import TIMEOUT_S, RewriteFailed, Rewritten
from rewound.memory import requests as q
from rewound.memory.reranked_replies import Rewriting

if TYPE_CHECKING:
    from rewound.llm.dispatching import Dispatcher
    from rewound.llm.rewriting import Rewriter
    from rewound.memory.models import Models

TIME_MIN_S = 0.1
"""With less time than that nothing is asked."""

_TIME_SHARE = 0.5
"""Of the time of a search: the rest is for the search itself."""

_PAUSE_S = 30.0
"""So long after a failure the rewriter is left alone."""

_QUOTES = re.compile(r"[\"“”„«»「」]")
_WORD = re.compile(r"\w+")
_EDGES = re.compile(r"^\W+|\W+$")

_log = logging.getLogger(__name__)


class Sought(NamedTuple):
    """`words` to search by in place of the question's own, None for just these; what the reply is
    to tell of them."""

    words: str | None = None
    told: Rewriting | None = None
    notes: tuple[str, ...] = ()


_AS_ASKED = Sought()


class Rewrites:
    """The rewriting stage of one store's questions. Safe for any number of threads.

    `always`: for each that does not refuse it.
    """

    def __init__(self, rewriter: Rewriter | None = None, *, always: bool = False) -> None:
        self._rewriter = rewriter
        self._always = always
        self._failed = ""
        self._again_at = 0.0

    @staticmethod
    def of(models: Models, nodes: Dispatcher | None = None) -> Rewrites:
        """What the settings ask for; `nodes` makes the calls at servers."""
        return Rewrites(models.make_rewriter(nodes), always=models.rewrite == "always")

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        if self._rewriter is not None:
            self._rewriter.close()

    def nodes_are_back(self) -> None:
        """Ask the rewriter again at once, rather than when its pause is over."""
        self._again_at = 0.0

    def sought(self, request: q.Read, timeout_s: float) -> Sought:
        """What to search by. It takes at most half of `timeout_s`, which is that of the search."""
        if not isinstance(request, q.Asks):
            return _AS_ASKED
        wanted = self._always if request.rewrite is None else request.rewrite
        if not wanted or not _WORD.search(request.query):
            return _AS_ASKED
        if self._rewriter is None:
            note = "not rewritten: no rewriter is set (REWOUND_REWRITER)"
            return Sought(notes=(note,)) if request.rewrite else _AS_ASKED
        begun = time.monotonic()
        if begun < self._again_at:
            return Sought(notes=(_as_it_is(self._failed),))
        within_s = min(timeout_s * _TIME_SHARE, TIMEOUT_S)
        if within_s < TIME_MIN_S:
            return Sought(notes=("not rewritten: no time was left",))
        try:
            rewritten = _rewritten(self._rewriter, request.query, within_s)
        except RewriteFailed as failed:
            if within_s >= TIMEOUT_S and not asker_here().gone:  # else it was the caller
                self._failed, self._again_at = str(failed), time.monotonic() + _PAUSE_S
            _log.warning("the rewriter failed: %s", failed)
            return Sought(notes=(_as_it_is(str(failed)),))
        words = together(request.query, rewritten.query)
        told = Rewriting(
            rewriter=self._rewriter.name,
            query=words,
            ms=round((time.monotonic() - begun) * 1000, 1),
            calls=rewritten.calls,
            tokens=rewritten.tokens,
        )
        return Sought(words, told)


def together(query: str, rewritten: str) -> str:
    """The question, and after it the words of its rewriting that it does not hold, each once.

    They come without quotes, so that what is quoted is what the question quotes.
    """
    held = set(_WORD.findall(query.casefold()))
    new: list[str] = []
    for piece in _QUOTES.sub(" ", rewritten).split():
        word = _EDGES.sub("", piece)
        parts = _WORD.findall(word.casefold())
        if not held.issuperset(parts):
            new.append(word)
            held.update(parts)
    return " ".join((query, *new))


def _rewritten(rewriter: Rewriter, query: str, timeout_s: float) -> Rewritten:
    """Raises RewriteFailed, whatever the rewriter raises."""
    try:
        return rewriter.rewritten(query, timeout_s)
    except RewriteFailed:
        raise
    except Exception as error:  # a model may fail in any way: the question's own words are there
        what = f"it ended with {type(error).__name__}"
        raise RewriteFailed(what, Why.MALFORMED) from error


def _as_it_is(why: str) -> str:
    return f"asked as it is, since the rewriter failed: {why}"
