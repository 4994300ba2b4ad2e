"""Replay: the store as it was, built independently from its log, and compared with the live one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rewound.eventlog.cutting import copy_until
from rewound.eventlog.errors import InvalidInput, RewoundError
from rewound.eventlog.ids import STORE, ContainerId, Kind, Ref
from rewound.eventlog.instants import show_us
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.log import Reader
from rewound.memory import answering
from rewound.memory import requests as q
from rewound.memory.deciding import container_named, no_container
from rewound.memory.moments import point, zone_of
from rewound.memory.place import Layout
from rewound.memory.replies import Moment, Replayed
from rewound.projections.dump import present
from rewound.projections.reader import ContainerView, Snapshot
from rewound.projections.replay import Replay, cut, replay
from rewound.projections.views import Views

if TYPE_CHECKING:
    from rewound.memory.engine import Engine

_QUERIES = 20
"""Searches compared in each container, made of words that it holds."""

_PAGE = 1000
_DIFFERENCES_MAX = 20


def replay_store(request: q.Replay, engine: Engine) -> Replayed:
    """Raises InvalidInput when `to` cannot be a store of its own."""
    with engine.reading() as live:
        home = container_named(live.log, request.container)
        if home is None:
            raise no_container(request.container)
        view = live.container(home)
        moment = point(view, zone_of(view), request.at, engine.now_us(0), "at")
    target = _target(request.to, engine)
    with _views(target, engine) as views:
        made = replay(views, engine.log, moment.now_us)
        differences: list[str] = []
        with engine.reading() as live:
            then_log = cut(views, live.log, made)
            with views.reading(then_log) as then:
                rows = _counts(then)
                if request.verify:
                    differences = list(_differences(engine, live, then, moment.now_us))
                if target is not None:
                    _copy_log(engine, target, made, then.positions(), moment.now_us)
    return Replayed(
        at=Moment(position=moment.position, as_of=show_us(moment.now_us)),
        events=made.events,
        containers=rows.pop("containers"),
        rows=rows,
        agrees=not differences if request.verify else None,
        differences=tuple(differences[:_DIFFERENCES_MAX]),
        to=request.to,
    )


def _target(to: str | None, engine: Engine) -> Path | None:
    """The new folder, made. Raises InvalidInput naming what is wrong with it."""
    if to is None:
        return None
    try:
        path = Path(to).expanduser().resolve()
        if _holds_something(path):
            raise InvalidInput(
                "the folder to build the store in must be new or empty: name another one",
                field="to",
            )
        if isinstance(engine.log, LmdbLog):
            store = engine.log.environment.path.parent.resolve()
            if path.is_relative_to(store):
                raise InvalidInput(
                    "the folder to build the store in lies in the store itself: name one elsewhere",
                    field="to",
                )
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "there is no such home folder"
        raise InvalidInput(
            f"the folder to build the store in cannot be made: {reason}", field="to"
        ) from None
    return path


def _holds_something(path: Path) -> bool:
    """Something is there that is not an empty folder."""
    return os.path.lexists(path) and (not path.is_dir() or any(path.iterdir()))


def _empty(path: Path, engine: Engine) -> Views:
    """Views that rank as the live ones do."""
    live = engine.views
    return Views(path, engine.log, model=live.model, opening=live.opening, ranker=live.ranker)


@contextmanager
def _views(target: Path | None, engine: Engine) -> Iterator[Views]:
    """Empty views to replay into: in the target's folder, or in one that goes away again."""
    if target is not None:
        views = _empty(Layout(target).views, engine)
        try:
            yield views
        finally:
            views.close()
        return
    scratch = Path(tempfile.mkdtemp(prefix="rewound-replay-"))
    try:
        views = _empty(scratch, engine)
        try:
            yield views
        finally:
            views.close()
    finally:
        shutil.rmtree(scratch)


def _copy_log(
    engine: Engine, target: Path, made: Replay, heads: dict[ContainerId, int], until_us: int
) -> None:
    if not isinstance(engine.log, LmdbLog):
        raise RewoundError("only a store on disk can be copied into a folder")
    source = engine.log.environment
    copy_until(source, Layout(target).log, made.sequence, heads, until_us)


def _counts(then: Snapshot) -> dict[str, int]:
    """Rows of the whole replayed store by view."""
    names = ("containers", "documents", "messages", "passages", "facts")
    counts: dict[str, int] = {name: 0 for name in names}
    for container in then.positions():
        if container == STORE:
            continue
        view = then.container(container)
        counts["containers"] += 1
        for kind in (Kind.DOCUMENT, Kind.MESSAGE, Kind.PASSAGE, Kind.FACT):
            counts[f"{kind.name.lower()}s"] += sum(1 for _ in view.scan(kind))
    return counts


def _differences(engine: Engine, live: Snapshot, then: Snapshot, at_us: int) -> Iterator[str]:
    """What the replayed store answers otherwise than the live one asked about that moment."""
    for container, position in then.positions().items():
        if container == STORE:
            continue
        old, new = live.container(container), then.container(container)
        name = _name_of(new)
        before, after = present(old, position), present(new)
        for view in before:
            if before[view] != after[view]:
                yield f"{name}: rows of {view} differ"
        for question in _questions(name, new, show_us(at_us)):
            answers = [_answer(engine, question, snapshot, container) for snapshot in (live, then)]
            if answers[0] != answers[1]:
                yield f"{name}: {type(question).__name__.lower()} answers differ"


def _name_of(view: ContainerView) -> str:
    configured = view.configured()
    return (configured and view.text(configured.name)) or ""


def _questions(name: str, view: ContainerView, as_of: str) -> Iterator[q.Read]:
    whats: tuple[q.What, ...] = ("fact", "document", "message", "passage")
    for what in whats:
        yield q.List(container=name, as_of=as_of, what=what, limit=_PAGE)
    for words in _words(view):
        yield q.Search(
            container=name,
            as_of=as_of,
            query=words,
            limit=10,
            rerank=False,
            rewrite=False,
            decompose=False,
        )
        yield q.Context(container=name, as_of=as_of, query=words)


def _words(view: ContainerView) -> list[str]:
    """First words of items spread over the container, as queries."""
    found: list[str] = []
    for kind in (Kind.FACT, Kind.MESSAGE, Kind.PASSAGE):
        rows = [row for row in view.scan(kind) if not view.hidden(Ref(kind, row.id))]
        for row in rows[:: max(1, len(rows) // _QUERIES)][:_QUERIES]:
            state: Any = row.state
            text = view.text(state.body if kind is Kind.PASSAGE else state.text)
            words = (text or "").split()[:6]
            if any(character.isalnum() for word in words for character in word):
                found.append(" ".join(words)[:200])
    return found


def _answer(engine: Engine, question: q.Read, snapshot: Snapshot, container: ContainerId) -> bytes:
    log: Reader = snapshot.log
    now_us = engine.now_us(0)
    meaning = None
    if isinstance(question, q.Search | q.Context):
        asked = engine.meaning.of_vectors(snapshot.index.embeddings.models)
        meaning = None if asked is None else asked.of(question.query)
    asking = answering.Asking(
        log, snapshot, now_us, question.container, container, None, meaning=meaning
    )
    reply = answering.load()[type(question)](question, asking)
    return msgspec.json.encode(reply)
