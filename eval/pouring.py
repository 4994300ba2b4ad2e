"""Large stores of made-up facts, poured straight into the log and folded from there.

What ends up in the files is what the engine would have written, but in groups of thousands and
without its decisions: those of one command after the other would take hours for a million facts.
Texts are distinct, their words drawn as language draws them. The first `BASES` have the vectors of
the real model. Every further text is one of those with some words drawn anew, and its vector is
that one's moved by noise, about as far as the model moves such a text: a million texts would take
the model an hour.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from eval.filling import FACT_WORDS, vocabulary
from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.clock import SystemClock
from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import STORE, ContainerId, EventId, FactId, Kind, Ref, UuidV7Source
from rewound.eventlog.instants import Instant
from rewound.eventlog.lmdb_errors import MapGrew
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.log import Draft, Writer
from rewound.llm.embedding import Vectors
from rewound.llm.minilm import MiniLM
from rewound.memory.deciding import container_digest
from rewound.memory.identity import FactContent
from rewound.memory.place import Layout
from rewound.projections.memos import Memo, encode_memo, memo_key, text_digest
from rewound.projections.vectors import quantise
from rewound.projections.views import Views

BASES = 4_096
"""So many texts go through the real model."""

REDRAWN = 3
"""Of the twelve words of a text that is made from another one."""

NOISE = 0.93
"""Length of what is added to a unit vector before it is scaled: a cosine of .73 on average, as the
model gives texts of which a quarter of the words were redrawn (`likeness` measures it)."""

GROUP = 2_000
TAGGED = 20
"""Every so many facts one has the tag `TAG`."""
TAG = "starred"
PREFERRED = 10
"""Every so many facts one is a preference."""
SPAN_US = 5 * 365 * 86_400 * 1_000_000
"""Facts are said evenly over five years."""
_BEGINS_US = 1_600_000_000_000_000
_SEED = 20261130

T = TypeVar("T")


class Text(NamedTuple):
    number: int
    text: str
    base: int
    """Of which of the first ones it was made; its own number for those."""


class Words:
    """Draws words as language does (Zipf 1949), many at once."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(_SEED + seed)
        self._known = vocabulary()
        weights = 1.0 / (np.arange(1, len(self._known) + 1) + 2.0)
        self._ends = np.cumsum(weights / weights.sum())

    def draw(self, *shape: int) -> npt.NDArray[np.int64]:
        """Numbers of words."""
        drawn = np.searchsorted(self._ends, self._rng.random(shape))
        return np.minimum(drawn, len(self._known) - 1)

    def places(self, texts: int) -> npt.NDArray[np.int64]:
        """Which words of each text are drawn anew, shape (texts, REDRAWN)."""
        return self._rng.random((texts, FACT_WORDS)).argsort(axis=1)[:, :REDRAWN]

    def said(self, numbers: Sequence[int]) -> str:
        return " ".join(self._known[number] for number in numbers) + "."


def texts(seed: int = 0) -> Iterator[Text]:
    """Distinct texts without end, the same for the same seed."""
    words = Words(seed)
    bases = words.draw(BASES, FACT_WORDS)
    met = set(map(hash, map(tuple, bases.tolist())))
    for number in range(BASES):
        yield Text(number, words.said(bases[number].tolist()), number)
    number = BASES
    while True:
        drawn = bases.copy()
        np.put_along_axis(drawn, words.places(BASES), words.draw(BASES, REDRAWN), axis=1)
        for base, row in enumerate(map(tuple, drawn.tolist())):
            if hash(row) not in met:
                met.add(hash(row))
                yield Text(number, words.said(row), base)
                number += 1


def likeness(embedder: MiniLM, count: int = 200) -> float:
    """The model's own mean cosine of a text with one that was made from it."""
    some = [*itertools.islice(texts(), BASES, BASES + count)]
    first = {text.number: text.text for text in itertools.islice(texts(), BASES)}
    made = embedder.embed([text.text for text in some])
    of = embedder.embed([first[text.base] for text in some])
    return float((made * of).sum(axis=1).mean())


class Poured(NamedTuple):
    """One fact on its way: its container, its number, what it says, the vector of that."""

    home: ContainerId
    number: int
    text: str
    memo: tuple[float, npt.NDArray[np.int8]]


class Pouring:
    """Fills one store, which must not be there yet."""

    def __init__(self, data: Path, tell: Callable[[str], None]) -> None:
        """`tell` is told of the progress."""
        self._layout = Layout(data.absolute())
        self._tell = tell
        self._clock = SystemClock()
        self._ids = UuidV7Source(self._clock)
        self._embedder = MiniLM()

    def pour(self, count: int, containers: Sequence[str] = ("default",)) -> None:
        """Write `count` facts, about the same number into each container, and fold them."""
        data = self._layout
        data.log.mkdir(mode=0o700, parents=True)
        with closing(LmdbLog(data.log, clock=self._clock, ids=self._ids)) as log:
            named = {ContainerId(self._ids.new()): name for name in containers}
            for names in _groups(named.items()):
                _write(log, partial(self._name, names=names))
            begun = time.perf_counter()
            done = 0
            for facts in _groups(self._facts(count, [*named])):
                _write(log, partial(self._state, facts=facts))
                done += len(facts)
                if done % (25 * GROUP) == 0:
                    self._tell(f"written {done:>9,} {_rate(done, begun)}")
            with closing(Views(data.views, log, model=self._embedder.name)) as views:
                self._fold(views)
        data.pause(True)  # judging a million facts is not what is measured

    def _fold(self, views: Views) -> None:
        begun, told = time.perf_counter(), 0

        def progress(folded: int) -> None:
            nonlocal told
            if folded - told >= 25 * GROUP:
                told = folded
                self._tell(f"folded  {folded:>9,} {_rate(folded, begun)}")

        views.catch_up(progress)

    def _facts(self, count: int, homes: Sequence[ContainerId]) -> Iterator[Poured]:
        some = itertools.islice(texts(), count)
        moved = self._vectors(itertools.islice(texts(), min(count, BASES)))
        for group in _groups(some):
            numbers, scales = quantise(moved([text.base for text in group], group[0].number))
            rows = zip(scales.tolist(), numbers, strict=True)
            for text, memo in zip(group, rows, strict=True):
                home = homes[text.number * len(homes) // count]
                yield Poured(home, text.number, text.text, memo)

    def _vectors(self, first: Iterator[Text]) -> Callable[[Sequence[int], int], Vectors]:
        """The vectors of texts, by what each was made of and the number of the first of them."""
        bases = self._embedder.embed([text.text for text in first])
        self._tell(f"{len(bases):,} texts embedded by the model; the rest are moved by noise")
        rng = np.random.default_rng(_SEED)

        def moved(of: Sequence[int], begin: int) -> Vectors:
            noise = rng.standard_normal((len(of), bases.shape[1])).astype(np.float32)
            noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
            noise[: max(0, len(bases) - begin)] = 0.0
            found = bases[list(of)] + noise
            scaled: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
            return scaled

        return moved

    # --- one group

    def _name(self, writer: Writer, names: Sequence[tuple[ContainerId, str]]) -> None:
        for home, name in names:
            bodies = BodyWriter(self._ids)
            event = e.ContainerConfigured(home, bodies.piece(name))
            writer.append(home, [Draft(event, bodies.sealed)])
            writer.file(STORE, container_digest(writer, name), Ref(Kind.CONTAINER, home))

    def _state(self, writer: Writer, facts: Sequence[Poured]) -> None:
        for home, some in itertools.groupby(facts, attrgetter("home")):
            mine = [*some]
            secret = writer.key(home)
            ids = [FactId(self._ids.new()) for _ in mine]
            drafts = [self._draft(fact, one) for fact, one in zip(ids, mine, strict=True)]
            writer.append(home, drafts)
            for fact, one in zip(ids, mine, strict=True):
                item = Ref(Kind.FACT, fact)
                writer.file(home, _content(one).digests(secret)[0], item)
                memo = Memo(text_digest(secret, one.text), *one.memo)
                key = memo_key(secret, self._embedder.name, item)
                writer.put_memo(home, key, encode_memo(memo), item)

    def _draft(self, fact: FactId, one: Poured) -> Draft:
        bodies = BodyWriter(self._ids)
        content = _content(one)
        event = e.FactRemembered(
            fact,
            e.Statement(bodies.piece(one.text), content.kind),
            tags=bodies.value([TAG] if one.number % TAGGED == 0 else ()),
            said_at=content.said_at,
        )
        return Draft(event, bodies.sealed, event_id=EventId(self._ids.new()))


def _content(one: Poured) -> FactContent:
    return FactContent(
        text=one.text,
        kind=FactKind.PREFERENCE if one.number % PREFERRED == 1 else FactKind.FACT,
        said_at=Instant(_BEGINS_US + one.number * 7_919_000_000 % SPAN_US),
        valid_from=None,
        valid_to=None,
        expires_at=None,
        subject=None,
        attribute=None,
        value=None,
        metadata={},
        scope={},
    )


def _write(log: LmdbLog, run: Callable[[Writer], None]) -> None:
    """One group; again when the map had to grow."""
    while True:
        try:
            with log.writing() as writer:
                run(writer)
            return
        except MapGrew:
            continue


def _groups(items: Iterable[T]) -> Iterator[list[T]]:
    source = iter(items)
    while group := [*itertools.islice(source, GROUP)]:
        yield group


def _rate(done: int, begun: float) -> str:
    return f"at {done / (time.perf_counter() - begun):,.0f} a second"
