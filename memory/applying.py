"""One command inside a group: from the idempotency check to the reply.

All of it happens in the group's two open write transactions. LMDB has one flat transaction, so
what was appended for one command cannot be taken back alone: a refusal (RewoundError) before the
first append leaves the group clean and is raised as itself, anything else as `Dirtied`, and the
group must be given up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.envelope import Actor
from rewound.eventlog.errors import RewoundError, Stale
from rewound.eventlog.failpoints import failpoint
from rewound.eventlog.ids import STORE, ContainerId, GroupId, IdSource, Kind, Ref, parse_any
from rewound.eventlog.log import Draft, Recorded, Writer
from rewound.memory import answers
from rewound.memory import deciding as d
from rewound.memory import requests as q
from rewound.memory.decide_verdict import decide_verdict
from rewound.memory.recording import decide_record
from rewound.memory.replies import Labelled, Reply, Undid, Written
from rewound.memory.transactions import Dirtied
from rewound.projections.memos import encode_memo, memo_key, text_digest

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView
    from rewound.projections.views import ViewWriter


class Applied(NamedTuple):
    """What became of a command. `recorded` is empty for a repeated idempotency key.

    `changed` says whether there is something to commit although nothing was recorded.
    """

    reply: Reply
    recorded: list[Recorded]
    changed: bool = False


class Given(NamedTuple):
    """What a command is decided with besides the store itself."""

    ids: IdSource
    now_us: int
    extractor: str | None = None
    likeness: d.Likeness | None = None


def apply(
    command: q.Write | d.Record | d.Judge | d.Memoise,
    actor: Actor,
    log: Writer,
    views: ViewWriter,
    given: Given,
) -> Applied:
    """Decide, append, file, fold and answer one command, in the open transactions."""
    try:
        if isinstance(command, d.Memoise):
            return _memoise(command, log, views)
        return _apply(command, actor, log, views, given)
    except (RewoundError, Dirtied):
        raise
    except Exception as error:
        raise Dirtied(error) from error


def _apply(
    command: q.Write | d.Record | d.Judge,
    actor: Actor,
    log: Writer,
    views: ViewWriter,
    given: Given,
) -> Applied:
    named = command.container
    name = named if isinstance(named, str) else ""
    container = d.container_named(log, named) if isinstance(named, str) else named
    if container is not None and isinstance(command, q.Write):
        known = answers.find(command, actor, log, container)
        if known is not None:
            return Applied(_seen_today(known, views.container(container)), [])
    now_us = max(given.now_us, log.last_recorded_at() + 1)
    deciding = d.Deciding(
        log, views, given.ids, now_us, name, container, actor,
        extractor=given.extractor, likeness=given.likeness,
    )  # fmt: skip
    if container is not None or not isinstance(command, d.MAKES_CONTAINER):
        plan = _decided(command, deciding)
        if container is not None:
            _check_stale(command, plan, log, container)
    else:
        plan = None
    try:
        return _carry_out(command, plan, deciding)
    except Exception as error:
        raise Dirtied(error) from error


def _memoise(command: d.Memoise, log: Writer, views: ViewWriter) -> Applied:
    """Keep vectors of texts that are still as they were, and give the index those of its model."""
    embeddings, container = views.index.embeddings, command.container
    wanted = command.model in (embeddings.model, embeddings.models.coming)
    secret = log.key(container)
    changed = False
    for item, memo in command.memos:
        key = memo_key(secret, command.model, item)
        if memo is None:
            changed |= not wanted and log.drop_memo(container, key)
            continue
        worded = views.index.worded(container, item) if wanted else []
        if any(w.text and text_digest(secret, w.text) == memo.digest for w in worded):
            log.put_memo(container, key, encode_memo(memo), item)
            changed = True
            if embeddings.model == command.model:
                embeddings.embed(container, item, worded, memo)
    reply = Written(container="", group=None, position=0, items=())
    return Applied(reply, [], changed=changed)


def _seen_today(reply: Reply, view: ContainerView) -> Reply:
    """A kept answer to an undo or a label, without wordings that were forgotten since."""
    if not isinstance(reply, Undid | Labelled):
        return reply
    changes = []
    for change in reply.changes:
        kind, raw = parse_any(change.id)
        if kind is not None and view.hidden(Ref(kind, raw)) is not None:
            change = msgspec.structs.replace(change, text=None)
        changes.append(change)
    return msgspec.structs.replace(reply, changes=tuple(changes))


def _decided(command: q.Write | d.Record | d.Judge, deciding: d.Deciding) -> d.Plan:
    if isinstance(command, d.Record):
        return decide_record(command, deciding)
    if isinstance(command, d.Judge):
        return decide_verdict(command, deciding)
    decider = d.load().get(type(command))
    if decider is None:
        raise RewoundError(f"{type(command).__name__} is not decided by anything yet")
    return decider(command, deciding)


def _carry_out(
    command: q.Write | d.Record | d.Judge, plan: d.Plan | None, deciding: d.Deciding
) -> Applied:
    """Append and fold what was planned; with no plan yet, make the container and decide first."""
    group = None if isinstance(command, q.Write) else command.group
    made: list[Recorded] = []
    if plan is None:
        deciding, made = _make_container(deciding)
        group = made[0].envelope.group
        plan = _decided(command, deciding)
    container = deciding.home()
    recorded, deciding = _append(plan, deciding, container, group)
    further = plan if plan.aftermath is not None else None
    while further is not None and further.aftermath is not None:
        group = recorded[0].envelope.group if recorded else group
        further = further.aftermath(recorded, deciding)
        if further is not None:
            more, deciding = _append(further, deciding, container, group)
            recorded = [*recorded, *more]
            plan = replace(plan, reply=further.reply or plan.reply)
    reply = _reply(plan, recorded, deciding, container)
    everything = [*made, *recorded]
    if isinstance(command, q.Write) and command.key is not None and not plan.dry_run:
        answers.keep(command, reply, everything, deciding.actor, deciding.log, container)
    return Applied(reply, everything)


def _make_container(deciding: d.Deciding) -> tuple[d.Deciding, list[Recorded]]:
    """A new container under the name asked for, as the first event of the command's group."""
    log, container = deciding.log, ContainerId(deciding.ids.new())
    bodies = BodyWriter(deciding.ids)
    event = e.ContainerConfigured(container, bodies.piece(deciding.name))
    recorded = log.append(container, [Draft(event, bodies.sealed)], actor=deciding.actor)
    log.file(STORE, d.container_digest(log, deciding.name), Ref(Kind.CONTAINER, container))
    deciding.views.fold(recorded, log)
    failpoint("engine.after-making-container")
    return replace(deciding, container=container), recorded


def _append(
    plan: d.Plan, deciding: d.Deciding, container: ContainerId, group: GroupId | None
) -> tuple[list[Recorded], d.Deciding]:
    """Append a plan's drafts, file its digests, destroy what it erases, fold."""
    log = deciding.log
    recorded: list[Recorded] = []
    if plan.drafts:
        recorded = log.append(container, plan.drafts, actor=deciding.actor, group=group)
    failpoint("engine.after-append")
    for digest, item in plan.files:
        log.file(container, digest, item)
    erased = 0
    for event in (each.event for each in recorded):
        if isinstance(event, e.ContentErased):
            # before the fold, which then sees what any later rebuild will see
            made = deciding.views.index.made_of(container, event.places)
            erased += log.erase(container, event.places, [*event.items, *made])
    folded = deciding.views.fold(recorded, log, tell=plan.tell)
    failpoint("engine.after-fold")
    return recorded, deciding.after(folded, erased)


def _reply(
    plan: d.Plan, recorded: list[Recorded], deciding: d.Deciding, container: ContainerId
) -> Reply:
    if plan.reply is not None:
        return plan.reply(recorded, deciding)
    group = str(Ref(Kind.GROUP, recorded[0].envelope.group)) if recorded else None
    position = deciding.log.head(container).position
    return Written(container=deciding.name, group=group, position=position, items=())


def _check_stale(
    command: q.Write | d.Record | d.Judge, plan: d.Plan, log: Writer, container: ContainerId
) -> None:
    """Hold a command to "only if nothing happened to these items after that position"."""
    if not isinstance(command, q.Write) or command.unless_after is None:
        return
    events = [draft.event for draft in plan.drafts]
    items = dict.fromkeys(ref for event in events for ref in (*event.creates(), *event.refers()))
    touched = [ref for ref in items if log.tagged(container, ref.key(), command.unless_after)]
    if touched:
        raise Stale(
            f"something happened to {touched[0]} after position {command.unless_after}: read it "
            "again and decide anew",
            field="unless_after",
            ids=tuple(str(ref) for ref in touched),
        )
