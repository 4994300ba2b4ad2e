"""The facts that a new one is to be compared with: nearest by words and meaning, and those about
the same subject and attribute, of what was stated before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rewound.eventlog.events import FactEdited
from rewound.eventlog.ids import FactId, Kind, Ref
from rewound.memory.claims import in_one_scope
from rewound.projections import bm25, entries, ranking
from rewound.projections.memos import decode_memo, memo_key
from rewound.projections.selection import Criteria, select
from rewound.projections.tokens import query_terms
from rewound.projections.vectors import Query

if TYPE_CHECKING:
    from rewound.llm.judging import Claim
    from rewound.projections.facts import FactRow
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row

PAIRS_MAX: Final = 8
"""Facts that one is compared with. Measured: what it replaces is among the first five nearly
always; the rest are later periods of the same attribute."""

NEAREST: Final = 12
"""Looked at of each ranking, before those stated later or of another scope are left out."""

ABOUT_MAX: Final = 64

Floats = npt.NDArray[np.float64]


class Candidate(NamedTuple):
    """`similarity` is the cosine in thousandths, None where one of the two has no vector."""

    row: Row[FactRow]
    similarity: int | None


class Candidates:
    """Finds candidates in one container at one moment; what all facts share is read once."""

    def __init__(self, view: ContainerView, now_us: int) -> None:
        self._view = view
        criteria = Criteria(now=now_us, what=frozenset({Kind.FACT}), superseded=True)
        self._selected = select(view, criteria)
        self._counted = bm25.statistics(self._selected.columns.length, self._selected.allowed)
        self._ordinals = np.arange(self._selected.columns.n, dtype=np.int64)

    def of(self, row: Row[FactRow], claim: Claim, *, later: bool = False) -> list[Candidate]:
        """What was stated before the fact (with `later`, after it) and may have to do with it,
        likeliest first.

        Versions of its own that a person made are left out.
        """
        words = self._words(claim)
        cosines, compared = self._meaning(row, words)
        score = words / float(np.max(words, initial=1.0)) + cosines
        about = self._about(claim)
        ranked = [*self._best(score[about], about, NEAREST)]
        ranked += self._best_of(words)
        ranked += self._best_of(cosines)
        chosen = sorted(
            dict.fromkeys(ranked), key=lambda each: (-float(score[each]), self._item(each))
        )
        if len(about):
            first = frozenset(about.tolist())
            chosen.sort(key=lambda each: each not in first)
        own = self._versions(row)
        found: list[Candidate] = []
        for ordinal in chosen:
            other = None if self._item(ordinal) in own else self._row(ordinal, row, later=later)
            if other is not None:
                alike = round(1000 * float(cosines[ordinal])) if compared[ordinal] else None
                found.append(Candidate(other, alike))
                if len(found) == PAIRS_MAX:
                    break
        return found

    def _versions(self, row: Row[FactRow]) -> frozenset[bytes]:
        """The fact and the versions that it replaced by a person's edit. What it ended by a verdict
        is compared once more: that verdict may not be the last one, which has to tell of it too."""
        own: set[bytes] = {row.id}
        edits = self._view.about(Ref(Kind.FACT, FactId(row.id))) if row.state.supersedes else ()
        for recorded in edits:
            if isinstance(recorded.event, FactEdited) and recorded.event.fact == row.id:
                own.update(recorded.event.ends)
        return frozenset(own)

    def _row(self, ordinal: int, row: Row[FactRow], *, later: bool) -> Row[FactRow] | None:
        """The fact at an ordinal, if it was stated before, in the same scope, and is another."""
        other = self._view.fact(self._item(ordinal))
        if other is None or not (is_before(row, other) if later else is_before(other, row)):
            return None
        return other if in_one_scope(self._view, other.state, row.state) else None

    def _item(self, ordinal: int) -> bytes:
        return bytes(self._selected.columns.item[ordinal].tobytes())

    # --- rankings, shape (entries,) each

    def _words(self, claim: Claim) -> Floats:
        view, selected = self._view, self._selected
        words = np.zeros(selected.columns.n, np.float64)
        terms = sorted(query_terms(claim.text))
        if terms:
            lists = [view.postings(entries.WORDS, term) for term in terms]
            ordinals, scored = bm25.score(
                lists, selected.columns.length, self._counted, selected.allowed
            )
            words[ordinals] = scored
        return words

    def _meaning(self, row: Row[FactRow], words: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Cosines with the fact's own vector, and where there is one."""
        view, selected = self._view, self._selected
        nothing = np.zeros(selected.columns.n, np.float64)
        query = own_vector(view, row.id)
        if query is not None:
            store = view.index.embeddings.store
            compared = ranking.compare(
                view.txn, store, view.id, selected, query, words, self._ordinals
            )
            if compared is not None:
                return compared.cosines, compared.cosines != 0.0
        return nothing, nothing != 0.0

    def _about(self, claim: Claim) -> npt.NDArray[np.int64]:
        """Ordinals of facts with the same subject and attribute, newest first."""
        if not claim.subject or not claim.attribute:
            return np.zeros(0, np.int64)
        secret = self._view.log.key(self._view.id)
        term = entries.about_term(secret, claim.subject, claim.attribute)
        ordinals = self._view.postings(entries.ABOUT, term)[0].astype(np.int64)
        return ordinals[self._selected.allowed[ordinals]][::-1][:ABOUT_MAX]

    def _best_of(self, scores: Floats) -> Iterable[int]:
        wanted = np.flatnonzero(self._selected.allowed & (scores > 0.0))
        return self._best(scores[wanted], wanted, NEAREST)

    def _best(self, scores: Floats, at: npt.NDArray[np.int64], count: int) -> list[int]:
        if not len(at):
            return []
        item = self._selected.columns.item
        best, _ = bm25.top_k(scores, at.astype(np.uint32), item, count)
        return [int(ordinal) for ordinal in best]


def is_before(other: Row[FactRow], row: Row[FactRow]) -> bool:
    """Whether a fact was first stated before another: ids rise as facts come in."""
    return (other.state.at, other.id) < (row.state.at, row.id)


def own_vector(view: ContainerView, fact: bytes) -> Query | None:
    """The vector of a fact's wording; None while there is none."""
    model = view.index.embeddings.model
    if not model:
        return None
    secret = view.log.key(view.id)
    value = view.log.memo(view.id, memo_key(secret, model, Ref(Kind.FACT, FactId(fact))))
    if value is None:
        return None
    memo = decode_memo(value)
    return Query(memo.numbers, memo.scale, model)
