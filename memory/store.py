"""Opening a store: its log, its views and the engine over both. The caller holds the owner lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lmdb import _envid

from rewound.eventlog.clock import Clock
from rewound.eventlog.errors import Damaged
from rewound.eventlog.generations import DATA
from rewound.eventlog.ids import IdSource
from rewound.eventlog.instants import show_us
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.llm.dispatching import Dispatcher
from rewound.llm.embedding import Served
from rewound.llm.slot_files import SlotFiles
from rewound.memory.decomposing import Decomposes
from rewound.memory.embedding import EmbeddingDuty
from rewound.memory.engine import WAIT_S, Engine
from rewound.memory.extracting import Extracting
from rewound.memory.judging import Judging
from rewound.memory.models import NO_MODELS, Models
from rewound.memory.place import Layout, slots_folder
from rewound.memory.reopening import opening_of, reopening
from rewound.memory.reranking import Reranks
from rewound.memory.responding import Responds
from rewound.memory.rewriting import Rewrites
from rewound.memory.summarizing import Summarizing
from rewound.memory.switching import SwitchDuty
from rewound.memory.workers import Duty, Workers
from rewound.projections.ranker import Ranker
from rewound.projections.views import Views


class Store:
    """An open store; `close` finishes what is under way and lets go of every file."""

    def __init__(
        self,
        layout: Layout,
        *,
        clock: Clock,
        ids: IdSource,
        models: Models = NO_MODELS,
        wait_s: float = WAIT_S,
    ) -> None:
        _check_log_is_there(layout)
        with ExitStack() as opened:
            log = self._log = LmdbLog(layout.log, clock=clock, ids=ids)
            opened.callback(log.close)
            ranker = models.make_ranker()
            views = self._views = _open_views(layout, log, ranker)
            opened.callback(views.close)
            nodes = models.make_dispatcher()
            nodes.share(SlotFiles(slots_folder()))
            self.engine = Engine(
                log,
                views,
                clock=clock,
                ids=ids,
                readonly_reason=_why_readonly(log),
                accepted_us=layout.accepted_clock_us(),
                accept=layout.accept_clock,
                upkeep=self._upkeep,
                embedder=models.make_embedder(nodes),
                opening=opening_of(models),
                reopen=reopening(models),
                wait_s=wait_s,
            )
            opened.callback(self.engine.close)
            self.engine.nodes = nodes
            self.engine.onlookers.nodes = nodes.table
            opened.callback(nodes.close)
            self.workers = _workers(self.engine, layout, models, nodes)
            opened.callback(self.workers.stop)
            self._opened = opened.pop_all()

    def drop_in_child(self) -> None:
        """In a forked child: let go of the parent's locks, or they would outlive it."""
        for environment in (self._log.environment, self._views.environment):
            environment._files.close()
        _open_again_in_child()

    def _upkeep(self) -> None:
        """Free what readers that died (other processes looking on) still hold."""
        self._log.reader_check()
        self._views.environment.reader_check()

    def close(self) -> None:
        self._opened.close()


def _workers(engine: Engine, layout: Layout, models: Models, nodes: Dispatcher) -> Workers:
    """What works through what is pending, with the models that are set."""
    duties: list[Duty] = []
    together: list[Duty] = []
    engine.models = models
    engine.reranks = Reranks.of(models, engine.meaning.embedder, nodes)
    engine.counter = models.make_token_counter()
    engine.rewrites = Rewrites.of(models, nodes)
    engine.decomposes = Decomposes.of(models, nodes)
    engine.responds = Responds.of(models, nodes)
    if models.extractor != "none":
        engine.extractor = models.extractor
        extracting = Extracting(
            engine,
            lambda: models.make_extractor(nodes),
            nodes.watch if models.extractor == "model" else lambda: None,
            models.rhythm(),
        )
        nodes.on_arrival(extracting.nodes_are_back)
        duties.append(extracting)
        together += [extracting] if models.extractor != "model" else []
    if engine.meaning.embedder is not None:
        engine.switch = SwitchDuty(engine, polite=True)
        embedding: list[Duty] = [EmbeddingDuty(engine, polite=True), engine.switch]
        duties += embedding
        together += embedding if not _embeds_elsewhere(engine) else []
    if models.judge != "none":
        engine.judge = models.judge
        judging = Judging(engine, lambda: models.make_judge(nodes), models.rows())
        nodes.on_arrival(judging.nodes_are_back)
        duties.append(judging)
        together += [judging] if models.judge != "model" else []
    if models.summarizer != "none":
        summarizing = Summarizing(
            engine, lambda: models.make_summarizer(nodes), models.recent_chars, nodes.watch
        )
        nodes.on_arrival(summarizing.nodes_are_back)
        duties.append(summarizing)
    workers = Workers(
        engine, duties, together=together, paused=layout.paused.exists(), keep=layout.pause
    )
    engine.workers = workers
    nodes.on_return(engine.meaning.nodes_are_back)
    nodes.on_return(engine.reranks.nodes_are_back)
    nodes.on_return(engine.rewrites.nodes_are_back)
    nodes.on_return(engine.decomposes.nodes_are_back)
    nodes.on_return(engine.responds.nodes_are_back)
    nodes.on_arrival(workers.wake)
    return workers


def _embeds_elsewhere(engine: Engine) -> bool:
    """Whether vectors are made by a server: that which is set, or that whose vectors are kept."""
    with engine.reading() as views:
        kept = engine.meaning.of_vectors(views.index.embeddings.models)
    both = [engine.meaning.embedder, kept.embedder if kept is not None else None]
    return any(isinstance(each, Served) for each in both)


def _why_readonly(log: LmdbLog) -> str | None:
    """A store that was replayed to a moment is a picture of it: nothing is to be added."""
    cut_us = log.cut_at_us()
    if cut_us is None:
        return None
    return f"this is a store as it was at {show_us(cut_us)}, made by a replay: it is for reading"


def _check_log_is_there(layout: Layout) -> None:
    """Raises Damaged when there are views but nothing that they were folded from.

    A new log would be begun otherwise, and the loss told by nothing.
    """
    if _has_data(layout.views) and not _has_data(layout.log):
        raise Damaged(
            f"the log is gone from {layout.log}, but the views folded from it are there: put the "
            "log back, or restore the folder from a backup"
        )


def _has_data(folder: Path) -> bool:
    return any(path.stat().st_size for path in folder.glob(f"gen-*/{DATA}"))


def _open_views(layout: Layout, log: LmdbLog, ranker: Ranker | None) -> Views:
    try:
        return Views(layout.views, log, ranker=ranker)
    except Damaged as error:
        raise Damaged(
            f"{error.message}. If the log is whole, delete {layout.views}: all in there is derived "
            "from it, and folded anew"
        ) from error


def _open_again_in_child() -> None:
    """Let a forked child open the files that its parent had open at the fork.

    py-lmdb refuses to open a file twice in one process, and counts what was inherited. That cannot
    be closed here: it would free reader slots of the parent, and hangs when a commit was under way
    at the fork. But it is never used here, nor closed, and the locks that the rule protects
    (fcntl's) are not inherited. So the child's files get identities of their own in py-lmdb's list.
    """
    identify: Callable[[Any, bool], tuple[Any, ...]] = _envid.env_keys

    def identify_here(path: Any, subdir: bool) -> tuple[Any, ...]:
        return tuple((os.getpid(), key) for key in identify(path, subdir))

    _envid.env_keys = identify_here
