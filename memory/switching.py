"""The worker that puts the vectors of one model in the place of another's.

Passes over all entries make the memos that the new model lacks, while search goes on with the old
vectors; then the words are rebuilt beside the live ones, in a thread of its own, and swapped in one
transaction; then the old model's memos are dropped. All of it is kept beside the views (`Live`) and
in the log's memo: whoever owns the store next goes on where this one was.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from rewound.eventlog.envelope import WORKER
from rewound.eventlog.errors import RewoundError
from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.llm.embedding import EmbeddingAway, EmbeddingBusy, EmbeddingFailed, Served
from rewound.memory.deciding import Memoise
from rewound.memory.embedding import QUIET_S, RETRY_S, Patience
from rewound.memory.vector_making import MemoMaker, known_memo, text_of
from rewound.projections.catalog import WORDS, Live
from rewound.projections.embeddings import EMBEDDED
from rewound.projections.masks import among, forgotten
from rewound.projections.rebuild import NewModel, rebuild
from rewound.projections.switch import Excused, is_complete

if TYPE_CHECKING:
    from rewound.memory.engine import Engine
    from rewound.projections.columns import Columns
    from rewound.projections.embeddings import VectorModels
    from rewound.projections.views import Handles, ViewReader, ViewWriter

LOOKED_AT_MAX = 1_000
"""Entries that one step looks at: some tens of milliseconds, where all have their memo already."""

COUNTED_MAX = 1_000
"""Containers whose entries are counted, to say how far a pass is."""

PASSES_MAX = 3
"""So many passes at most before a swap is tried, which looks at everything once more."""

TRIES_MAX = 3
"""Swaps that were kept from being done, after which what nothing can be made for is let go."""

_ENDS_S = 0.05
_AWAY_S = 1.0

_log = logging.getLogger(__name__)

Stage = Literal["making", "swapping"]


class Progress(NamedTuple):
    """How far a pass is: entries that were looked at, of all there are."""

    stage: Stage
    done: int
    total: int


class _Lacking(NamedTuple):
    container: ContainerId
    texts: dict[Ref, str]


class _Left(NamedTuple):
    container: ContainerId
    items: tuple[Ref, ...]
    ordinal: int
    """The last one that was looked at."""


class SwitchDuty:
    """A duty of the workers: see `workers.py`."""

    name = "switching"
    short = True

    def __init__(self, engine: Engine, *, polite: bool = False) -> None:
        """A `polite` one waits for pauses between what people ask."""
        self._engine = engine
        self._patience = Patience(engine, polite=polite)
        self._maker = MemoMaker(engine)
        self._pass = _Pass("", 0)
        self._refused: set[tuple[ContainerId, Ref]] = set()
        self._swap: _Swap | None = None
        self._tries = 0
        self._dropping = _Pass("", 0)

    @property
    def progress(self) -> Progress:
        """How far this is; of a switch that has not gone on here yet, nothing."""
        done, total = self._pass.done, self._pass.total
        return Progress("making" if self._swap is None else "swapping", done, max(done, total))

    def wait(self) -> None:
        """Until a swap that is under way has come to its end."""
        if self._swap is not None:
            self._swap.thread.join()

    def step(self) -> float | None:
        """Make one batch, or see how the swap is; 0 when there is more to do."""
        engine = self._engine
        if self._swap is not None:
            return self._look_at_swap(self._swap)
        if engine.meaning.embedder is None or engine.readonly_reason is not None:
            return None
        size = self._patience.batch()
        with engine.reading() as views:
            kept = views.index.embeddings.models
            if not kept.leaving and (not kept.coming or kept.coming != engine.meaning.model):
                self._pass, self._dropping = _Pass("", 0), _Pass("", 0)
                return None
            if not size:
                return QUIET_S
            left, lacking = None, None
            if kept.leaving:
                left = self._left_of(views, kept.leaving[0])
            else:
                self._dropping = _Pass("", 0)  # it may leave again: then all are looked at anew
                lacking = self._gather(views, kept, size)
        self._patience.served()
        if kept.leaving:
            return self._drop(kept.leaving[0], left)
        if lacking is not None:
            return self._make(lacking)
        if self._pass.ended:
            return self._end_pass(kept)
        return 0.0

    # --- making

    def _gather(self, views: ViewReader, kept: VectorModels, size: int) -> _Lacking | None:
        """The next items that lack a memo of the model that is coming, of one container."""
        if self._pass.model != kept.coming:
            self._refused.clear()
            self._tries = 0
            self._pass = _Pass(kept.coming, 1)
        going = self._pass
        going.mark()
        found = going.next_entries(views)
        if found is None:
            going.ended = True
            return None
        container, columns, ordinals = found
        away = forgotten(columns)
        served = isinstance(self._engine.meaning.embedder, Served)
        width = self._engine.meaning.width
        texts: dict[Ref, str] = {}
        for ordinal in ordinals:
            if len(texts) >= size:
                break
            going.move(container, ordinal)
            if served and away[ordinal]:
                continue
            item = _item(columns, ordinal)
            text = text_of(views, container, item)
            lacks = known_memo(views.log, container, kept.coming, item, text, width) is None
            if text and lacks and (container, item) not in self._refused:
                texts[item] = text
        return _Lacking(container, texts) if texts else None

    def _make(self, lacking: _Lacking) -> float:
        meaning = self._engine.meaning
        if meaning.trouble_in("background") is not None:
            return self._again(RETRY_S)
        try:
            made = self._maker.memos(meaning, lacking.container, lacking.texts)
        except EmbeddingBusy as error:
            return self._again(float(error.after_s))
        except EmbeddingFailed as error:
            if not self._maker.works(meaning):
                meaning.failed(error, "background")
                return self._again(RETRY_S)
            if isinstance(error, EmbeddingAway):  # as where a text was forgotten on its way
                return self._again(_AWAY_S)
            self._refused |= {(lacking.container, item) for item in lacking.texts}
            return 0.0
        self._refused |= {(lacking.container, item) for item in made.refused}
        try:
            self._engine.memoise(
                Memoise(lacking.container, meaning.model, tuple(made.memos)), WORKER
            )
        except RewoundError:
            return self._again(RETRY_S)  # full, closing or read-only: nothing is lost
        self._pass.made += len(made.memos)
        return 0.0

    def _again(self, wait_s: float) -> float:
        """What was gathered is to be looked at again."""
        self._pass.go_back()
        return wait_s

    def _end_pass(self, kept: VectorModels) -> float:
        """One more pass for what came meanwhile, or the swap."""
        if self._pass.made and self._pass.number < PASSES_MAX:
            self._pass = _Pass(kept.coming, self._pass.number + 1)
            return 0.0
        meaning = self._engine.meaning
        if meaning.width is None:  # all was made before: a word tells whether by this very model
            if meaning.trouble_in("background") is not None:
                return RETRY_S
            try:
                meaning.embed(["a plain sentence"], "background")
            except EmbeddingFailed as error:
                meaning.failed(error, "background")
                return RETRY_S
            self._pass = _Pass(kept.coming, 1)
            return 0.0
        served = isinstance(meaning.embedder, Served)
        refused = frozenset(self._refused)
        in_vain = self._tries >= TRIES_MAX and not self._pass.made
        if in_vain:
            _log.warning("some texts have no vector of %s, and it is not waited for", kept.coming)

        def excused(container: ContainerId, item: Ref, hidden: bool) -> bool:
            return in_vain or (served and hidden) or (container, item) in refused

        self._swap = _Swap(self._engine, kept.coming, excused)
        return _ENDS_S

    # --- the swap

    def _look_at_swap(self, swap: _Swap) -> float:
        if swap.thread.is_alive():
            return _ENDS_S
        self._swap = None
        self._tries = 0 if swap.done else self._tries + 1
        self._pass = _Pass(swap.model, 1)
        if swap.error is not None:
            raise swap.error
        return 0.0

    # --- what is left of a model

    def _left_of(self, views: ViewReader, model: str) -> _Left | None:
        """The next entries whose items may have a memo of the model; None after the last."""
        if self._dropping.model != model:
            self._dropping = _Pass(model, 1)
        found = self._dropping.next_entries(views)
        if found is None:
            return None
        container, columns, ordinals = found
        items = dict.fromkeys(_item(columns, ordinal) for ordinal in ordinals)
        return _Left(container, tuple(items), ordinals[-1])

    def _drop(self, model: str, left: _Left | None) -> float:
        """Drop their memos; after the last one the model has left."""
        try:
            if left is None:
                self._engine.views.amend(lambda live: _has_left(live, model))
                return 0.0
            gone = tuple((item, None) for item in left.items)
            self._engine.memoise(Memoise(left.container, model, gone), WORKER)
        except RewoundError:
            return RETRY_S
        self._dropping.move(left.container, left.ordinal)
        return 0.0


class _Pass:
    """One way through the entries that have vectors, or are to have some: where it is, and what it
    has done."""

    def __init__(self, model: str, number: int) -> None:
        self.model = model
        self.number = number
        self.done = 0
        self.total = 0
        self.made = 0
        self.ended = False
        self._containers: list[ContainerId] | None = None
        self._container = ContainerId(bytes(16))
        self._ordinal = -1
        self._marked = (self._container, self._ordinal, self.done)

    def next_entries(self, views: ViewReader) -> tuple[ContainerId, Columns, list[int]] | None:
        """The next container with entries that were not passed, and their ordinals, not all at
        once; None at the end."""
        if self._containers is None:
            self._begin(views)
        while self._containers:
            container = self._containers[-1]
            columns = views.container(container).columns()
            first = self._ordinal + 1 if container == self._container else 0
            ordinals = first + np.flatnonzero(among(columns.kind[first:], EMBEDDED))
            if len(ordinals):
                return container, columns, ordinals[:LOOKED_AT_MAX].tolist()
            self._containers.pop()
        return None

    def _begin(self, views: ViewReader) -> None:
        """See what there is; containers that come later have vectors of both models at once."""
        self._containers = sorted(views.positions(), reverse=True)
        if len(self._containers) <= COUNTED_MAX:
            self.total = sum(
                int(among(views.container(each).columns().kind, EMBEDDED).sum())
                for each in self._containers
            )

    def mark(self) -> None:
        """Remember the place."""
        self._marked = (self._container, self._ordinal, self.done)

    def go_back(self) -> None:
        """To the place that was marked."""
        self._container, self._ordinal, self.done = self._marked

    def move(self, container: ContainerId, ordinal: int) -> None:
        """Pass an entry."""
        self._container, self._ordinal = container, ordinal
        self.done += 1


class _Swap:
    """The rebuild and swap, under way. It is given up when the store closes."""

    def __init__(self, engine: Engine, model: str, excused: Excused) -> None:
        self.model = model
        self.error: BaseException | None = None
        self._engine = engine
        self._excused = excused
        self.done = False
        self.thread = threading.Thread(target=self._run, name="rewound-swap", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            with self._engine.counted():
                self._rebuild()
        except BaseException as error:  # it is raised by the worker's thread, where crashes end
            self.error = error

    def _rebuild(self) -> None:
        engine = self._engine
        new = NewModel(self.model, self._opening(), self._is_ready)
        done = rebuild(engine.views, [WORDS], cancelled=lambda: engine.closing, model=new)
        self.done = done.equal is not None
        if self.done:
            _log.info("the vectors are those of %s now", self.model)
            if not done.equal:
                _log.error("the rows that were folded anew differ from the old ones")

    def _opening(self) -> bytes:
        with self._engine.views.environment.reading() as txn:
            return self._engine.views.read_live(txn).coming_opening

    def _is_ready(self, writer: ViewWriter, made: Handles) -> bool:
        """Whether it is still wanted, and nothing would be lost."""
        if writer.handles.live.coming != self.model:
            return False
        return is_complete(writer, made, self._excused)


def _item(columns: Columns, ordinal: int) -> Ref:
    return Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes())


def _has_left(live: Live, model: str) -> None:
    live.leaving = [each for each in live.leaving if each != model]
