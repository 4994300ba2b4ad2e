"""Finding what says just this text, and nothing more: as it reads now, blacked-out words left out.

Texts are compared as they are when something is sent twice: line ends of one kind, no white space
at the end. The words find the candidates, so that not everything has to be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewound.eventlog.ids import Kind, Ref
from rewound.memory.identity import normalised
from rewound.memory.moments import When
from rewound.memory.requests import Filters, Scope
from rewound.memory.seeing import FORGETTABLE, Seen, narrowed, seen
from rewound.memory.targets import text_of
from rewound.projections import entries
from rewound.projections.tokens import query_terms

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

_TERMS_MAX = 32
"""So many of the text's words must be there before it is compared itself."""


def saying(
    view: ContainerView, text: str, filters: Filters, when: When, scope: Scope
) -> Iterator[Ref]:
    """Facts (all versions that there are now), messages and documents that say just the text."""
    wanted = normalised(text)
    criteria = narrowed(
        view, filters, when, scope=scope, among=FORGETTABLE, superseded=True
    ).criteria
    for kind in sorted(criteria.what):
        found = seen(view, criteria._replace(what=frozenset({kind})))
        if kind is not Kind.DOCUMENT:  # of documents the index holds only the titles
            _narrow(view, found, wanted)
        for raw in found.ids():
            ref = Ref(kind, raw)
            row = view.row(ref)
            if row is None or _chars(row.state, kind) < len(wanted):
                continue
            said = text_of(view, ref)
            if said is not None and normalised(said) == wanted:
                yield ref


def _narrow(view: ContainerView, found: Seen, text: str) -> None:
    """Leave only entries that hold the text's words."""
    for term in query_terms(text)[:_TERMS_MAX]:
        holding = np.zeros(found.columns.n, np.bool_)
        holding[view.postings(entries.WORDS, term)[0]] = True
        np.logical_and(found.mask, holding, out=found.mask)


def _chars(state: Any, kind: Kind) -> int:
    """How long the item's text is: in nearly all cases that settles it."""
    if kind is Kind.DOCUMENT:
        return sum(piece.chars for piece in state.pieces)
    chars: int = state.text.chars
    return chars
