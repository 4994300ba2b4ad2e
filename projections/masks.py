"""Masks over the index entries of a container: bool arrays of shape (entries,).

A passage has no facets of its own but for its source: it is found by those of its document, through
the group that both are of.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from rewound.eventlog.ids import Kind
from rewound.projections.columns import Columns
from rewound.projections.reader import ContainerView

Mask = npt.NDArray[np.bool_]
Term = tuple[int, str]
"""A field of the index, and a term of it."""


def among(values: npt.NDArray[np.uint8], wanted: Iterable[int]) -> Mask:
    """Where a column has one of the values."""
    known = np.zeros(256, np.bool_)
    known[[int(each) for each in wanted]] = True
    return known[values]


def of_group(columns: Columns, documents: Mask) -> Mask:
    """For every entry, whether its group's document is among those given."""
    has = np.zeros(columns.n, np.bool_)
    has[columns.group[documents]] = True
    return has[columns.group]


def forgotten(columns: Columns) -> Mask:
    """What is hidden today, by itself or with its document, at whatever moment it stood."""
    hidden: Mask = columns.hidden != 0
    documents = hidden & (columns.kind == Kind.DOCUMENT)
    hidden |= (columns.kind == Kind.PASSAGE) & of_group(columns, documents)
    return hidden


def unembedded(view: ContainerView, *, hidden: bool) -> Iterator[int]:
    """Ordinals of entries that wait for a vector, the newest first; those that are forgotten only
    with `hidden`."""
    left_out: Mask | None = None
    for ordinal in view.index.embeddings.waiting(view.id):
        if left_out is None and not hidden:
            left_out = forgotten(view.columns())
        if left_out is None or not left_out[ordinal]:
            yield ordinal


class Standing:
    """The entries of a container that stand at a moment, and what each is found by.

    `documents` are the documents among them. Shape (entries,) each.
    """

    def __init__(self, view: ContainerView, columns: Columns, documents: Mask) -> None:
        self.view = view
        self.columns = columns
        self.documents = documents
        self.passages: Mask = columns.kind == Kind.PASSAGE

    def shared(self, own: Mask) -> Mask:
        """What is so of an entry itself, or of its document."""
        return own | (self.passages & of_group(self.columns, self.documents & own))

    def own(self, terms: Iterable[Term]) -> Mask:
        """Entries that hold any of the terms themselves."""
        found = np.zeros(self.columns.n, np.bool_)
        of_fields: dict[int, list[str]] = {}
        for field, term in terms:
            of_fields.setdefault(field, []).append(term)
        for field, names in of_fields.items():
            found[self.view.holding(field, names)] = True
        return found

    def holding(self, terms: Iterable[Term]) -> Mask:
        """Entries that hold any of the terms, themselves or through their document."""
        return self.shared(self.own(terms))

    def own_times(self) -> npt.NDArray[np.int64]:
        """When a fact begins to hold and when the rest was said, µs; a passage has its
        document's."""
        columns, documents = self.columns, self.documents
        of_documents = np.zeros(columns.n, np.int64)
        of_documents[columns.group[documents]] = columns.valid_from[documents]
        return np.where(self.passages, of_documents[columns.group], columns.valid_from)

    def homes(self) -> npt.NDArray[np.int64]:
        """The ordinal of the entry that holds an entry's labels: its own, or its document's."""
        own = np.arange(self.columns.n, dtype=np.int64)
        if not self.passages.any():
            return own
        of_documents = own.copy()
        of_documents[self.columns.group[self.documents]] = np.flatnonzero(self.documents)
        return np.where(self.passages, of_documents[self.columns.group], own)
