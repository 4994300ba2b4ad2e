"""Law 1 for vectors: each is what the model makes of the text that an entry is found by now, no
text waits that could have one, and views folded from scratch find the same without embedding.
"""

from typing import Any, NamedTuple

import msgspec

from rewound.eventlog.ids import Kind, Ref
from rewound.memory import requests
from rewound.projections.embeddings import EMBEDDED
from rewound.projections.vectors import quantise
from tests.oracle.compare import same
from tests.property.driver import Driver

WORDS = ("Ann likes teaq0", "codeq2 red")
NO_WORDS = "teapot townhall codebook"
"""Shares parts of words with what is stored, and no word."""

NOTHING, WAITS = "nothing", "waits"


class Vector(NamedTuple):
    numbers: tuple[int, ...]
    scale: float

    def near(self, other: "Vector") -> bool:
        """The same but for the last bit of float32."""
        if len(self.numbers) != len(other.numbers):
            return False
        apart = [abs(a - b) for a, b in zip(self.numbers, other.numbers, strict=True)]
        return max(apart) <= 1 and abs(self.scale - other.scale) <= 1e-5 * other.scale


Held = list[Vector | str]
"""Vectors, or what is there instead of one."""


def vectors(driver: Driver, name: str) -> dict[str, Held]:
    """By item and the position that opened a version of it: its vector, or that it waits."""
    found: dict[str, Held] = {}
    with driver.engine.reading() as views:
        view = views.container(driver.container(name))
        columns, embeddings = view.columns(), view.index.embeddings
        for ordinal in range(columns.n):
            ref = Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes())
            slot = int(columns.vector[ordinal]) - 1
            held: Vector | str = NOTHING
            if embeddings.waits(view.id, ordinal):
                held = WAITS
            if slot >= 0:
                assert held != WAITS, f"meaning: {ref} waits for the vector that it has"
                numbers, scale = embeddings.store.vector(views.txn, view.id, slot)
                held = Vector(tuple(numbers.tolist()), scale)
            found.setdefault(f"{ref}@{columns.opened[ordinal]}", []).append(held)
    return {version: sorted(held, key=repr) for version, held in found.items()}


def wanted(driver: Driver, name: str) -> dict[str, list[Vector]]:
    """By item: what the model makes of the texts of its versions, as they are seen today."""
    found: dict[str, list[Vector]] = {}
    model = driver.kept()
    assert model is not None
    with driver.engine.reading() as views:
        view = views.container(driver.container(name))
        columns = view.columns()
        for ordinal in range(columns.n):
            ref = Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes())
            if str(ref) in found:
                continue
            texts = {each.text for each in view.index.worded(view.id, ref) if each.text}
            made = found[str(ref)] = []
            if ref.kind in EMBEDDED and texts:
                for row, scale in zip(*quantise(model.embed([*texts])), strict=True):
                    made.append(Vector(tuple(row.tolist()), float(scale)))
    return found


def text_law(driver: Driver, name: str, *, drained: bool = False) -> None:
    """No vector is of another text than the entry's of today, and none is missing for ever."""
    may = wanted(driver, name)
    for version, held in vectors(driver, name).items():
        of_text = may[version.partition("@")[0]]
        for each in held:
            if isinstance(each, Vector):
                right = any(each.near(made) for made in of_text)
                assert right, f"meaning: {version} has a vector of another text"
            else:
                waits = each == WAITS
                assert waits == bool(of_text), f"meaning: {version} has {each} of {len(of_text)}"
                assert not (waits and drained), f"meaning: {version} waits for ever"


def ranked(driver: Driver, name: str) -> dict[str, Any]:
    """What searches find, with every score and signal to the last bit; nothing without vectors."""
    found: dict[str, Any] = {}
    if driver.embedder is None:
        return found
    for query in (*WORDS, NO_WORDS):
        plain = requests.Search(container=name, query=query, limit=100)
        for asked in (
            plain,
            msgspec.structs.replace(plain, include_superseded=True),
            msgspec.structs.replace(plain, include_forgotten=True),
        ):
            reply = driver.call(asked)
            hits = [(hit.id, hit.score, hit.signals, hit.also) for hit in reply.hits]
            found[repr(asked)] = (reply.unembedded, hits)
    return found


def meaning_law(driver: Driver, name: str, *, drained: bool = False) -> None:
    """The texts, the live views and views folded from scratch agree on every vector."""
    text_law(driver, name, drained=drained)
    live, ranking = vectors(driver, name), ranked(driver, name)
    with driver.beside() as other:
        same(vectors(other, name), live, "meaning: vectors of views from scratch")
        same(ranked(other, name), ranking, "meaning: ranking of views from scratch")
