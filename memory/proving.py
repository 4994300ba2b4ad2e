"""Whether a model is still the one that made what is kept: a text whose vector is there is embedded
again, and the two are compared. A server at an old address may run another model by now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.projections.masks import forgotten

if TYPE_CHECKING:
    import numpy.typing as npt

    from rewound.projections.vectors import Numbers
    from rewound.projections.views import ViewReader

SURE_S = 60.0
"""So long it is believed that nothing has changed."""

ALIKE = 0.8
"""The least cosine. A model gives its own vectors again to .98 at worst (llama.cpp, in batches);
those of two models have nothing to do with each other."""

CHARS_MAX = 8_000
"""Of a text that is put before a model: it reads less than that."""


class Proof:
    """A text that is found by, and the vector that the model once made of it."""

    def __init__(self, text: str, numbers: Numbers, scale: float) -> None:
        self.text = text
        self._vector = numbers.astype(np.float32) * np.float32(scale)
        self._until = float("-inf")

    def is_old(self) -> bool:
        """Whether it is time to look again."""
        return time.monotonic() >= self._until

    def holds(self, vector: npt.NDArray[np.float32]) -> bool:
        """Whether a unit vector of the text, made now, is the one of then."""
        if vector.shape != self._vector.shape:
            return False
        length = float(np.linalg.norm(self._vector)) or 1.0
        if float(vector @ self._vector) / length < ALIKE:
            return False
        self._until = time.monotonic() + SURE_S
        return True


def proof_of(views: ViewReader, container: ContainerId) -> Proof | None:
    """One of what stands in the container, else of any other; of nothing that is forgotten."""
    for each in dict.fromkeys((container, *views.positions())):
        view = views.container(each)
        columns = view.columns()
        shown = np.flatnonzero((columns.vector != 0) & ~forgotten(columns))
        for ordinal in shown[::-1][:10].tolist():
            item = Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes())
            worded = {entry.ordinal: entry.text for entry in views.index.worded(each, item)}
            if text := worded.get(ordinal):
                slot = int(columns.vector[ordinal]) - 1
                numbers, scale = views.index.embeddings.store.vector(views.txn, each, slot)
                return Proof(text[:CHARS_MAX], numbers, scale)
    return None
