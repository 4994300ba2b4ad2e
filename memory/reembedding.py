"""Another embedder for a store: the change is begun, given up, or looked at. The work is done by
`switching.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewound.eventlog.errors import Conflict, ReadOnly, StoreBusy
from rewound.memory import requests as q
from rewound.memory.replies import Reembedding, VectorSwitch
from rewound.projections.catalog import WORDS, Live
from rewound.projections.masks import unembedded
from rewound.projections.rebuild import NewModel, rebuild

if TYPE_CHECKING:
    from rewound.memory.engine import Engine
    from rewound.memory.switching import SwitchDuty
    from rewound.projections.embeddings import VectorModels
    from rewound.projections.views import ViewReader


def reembed(request: q.Reembed, engine: Engine) -> Reembedding:
    """Raises Conflict when no embedder is set, or there is nothing to be given up."""
    notes: list[str] = []
    if request.action != "status":
        if engine.readonly_reason is not None:
            raise ReadOnly(engine.readonly_reason)
        start = _start if request.action == "start" else _cancel
        notes += start(request, engine)
        if engine.workers is not None:
            engine.workers.wake()
    return _told(engine, notes)


def switch_of(
    kept: VectorModels, wanted: str | None, duty: SwitchDuty | None
) -> VectorSwitch | None:
    """How far a change to another model is, where one is under way. It halts while another model
    is `wanted` than the one that it was begun for."""
    if not kept.coming:
        return None
    halted = kept.coming != wanted
    progress = None if duty is None or halted else duty.progress
    return VectorSwitch(
        old=kept.model,
        new=kept.coming,
        state="halted" if halted else "making" if progress is None else progress.stage,
        done=0 if progress is None else progress.done,
        total=0 if progress is None else progress.total,
    )


def _start(request: q.Reembed, engine: Engine) -> list[str]:
    wanted, opening = engine.meaning.model, engine.opening
    if not wanted:
        raise Conflict("no embedder is set: set REWOUND_EMBEDDER, or `embedder` in the settings")
    with engine.reading() as views:
        kept = views.index.embeddings.models
        searched = engine.meaning.of_vectors(kept) is not None and _any(views)
    if kept.model == wanted:
        if not kept.coming:
            return [f"the vectors are of {wanted} already: what is missing is being made"]
        engine.views.amend(Live.give_up_change)
        return [f"the vectors stay those of {wanted}: the change to {kept.coming} is given up"]
    if not searched or request.now:
        if kept.coming != wanted:
            engine.views.amend(Live.give_up_change)
        return _at_once(engine, kept.model)
    if kept.coming == wanted:
        return [f"vectors of {wanted} are being made already"]

    engine.views.amend(lambda live: live.begin_change(wanted, opening))
    return [
        f"vectors of {wanted} are being made; those of {kept.model} are searched until all are "
        "there"
    ]


def _cancel(request: q.Reembed, engine: Engine) -> list[str]:
    with engine.reading() as views:
        kept = views.index.embeddings.models
    if not kept.coming:
        raise Conflict(f"no change is under way: the vectors are of {kept.model or 'no model'}")
    engine.views.amend(Live.give_up_change)
    return [f"the change to {kept.coming} is given up: the vectors stay those of {kept.model}"]


def _at_once(engine: Engine, kept: str) -> list[str]:
    """Where what is kept cannot be searched, or is not to be."""
    new = NewModel(engine.meaning.model, engine.opening)
    done = rebuild(engine.views, [WORDS], cancelled=lambda: engine.closing, model=new)
    if done.equal is None:
        raise StoreBusy("this was given up because the store closes; nothing has changed")
    notes = [f"the vectors of {kept} are gone; those of {new.name} are made one after the other"]
    if not done.equal:
        notes.append("the new rows differ from the old ones, which are gone")
    return notes


def _any(views: ViewReader) -> bool:
    """Whether there are vectors at all."""
    store = views.index.embeddings.store
    return any(store.head(views.txn, container)[0] for container in views.positions())


def _told(engine: Engine, notes: list[str]) -> Reembedding:
    with engine.reading() as views:
        kept = views.index.embeddings.models
        changed = engine.meaning.changed(kept) if _differs(engine, kept) else None
        waiting = sum(
            1
            for container in list(views.index.embeddings.containers_waiting())
            for _ in unembedded(views.container(container), hidden=False)
        )
    if changed is not None:
        notes.append(changed)
    if kept.model and not engine.meaning.model:
        notes.append("no embedder is set: words alone find")
    if kept.coming and engine.workers is not None and engine.workers.paused:
        notes.append("the workers are paused: `rewound workers resume` lets them go on")
    return Reembedding(
        model=kept.model or None,
        embedder=engine.meaning.model or None,
        switch=switch_of(kept, engine.meaning.model, engine.switch),
        unembedded=waiting,
        notes=tuple(notes),
    )


def _differs(engine: Engine, kept: VectorModels) -> bool:
    return bool(kept.model and engine.meaning.model) and kept.model != engine.meaning.model
