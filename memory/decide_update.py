"""Updating: a new version of a fact by any id of its chain; other tags, another importance for any
item."""

from __future__ import annotations

from rewound.eventlog.errors import InvalidInput, NotFound, WrongKind
from rewound.eventlog.ids import NAMES, Kind, Ref
from rewound.memory import requests as q
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.drafting import Drafting, item, thousandths
from rewound.memory.inputs import NOTHING_TO_CHANGE
from rewound.memory.replies import Item
from rewound.memory.sent_facts import Change, Facts, Version
from rewound.memory.targets import ITEMS, check_scope, named


@decides(q.Update)
def update(command: q.Update, deciding: Deciding) -> Plan:
    """Give a fact another wording, or an item other tags or another importance.

    What is as asked for already is seen again. Raises NotFound, WrongKind, InvalidInput, Stale.
    """
    drafting = Drafting(command, deciding)
    ref = _meant(command, drafting)
    if ref.kind is Kind.FACT:
        return drafting.plan([_update_fact(command, drafting, ref)])
    return drafting.plan([_mark(command, drafting, ref)])


def _meant(command: q.Update, drafting: Drafting) -> Ref:
    ref = named(drafting.view, command.id, field="id")
    given = _given(command)
    wanted = "a fact" if given else "a fact, document or message"
    if ref.kind not in ITEMS or (given and ref.kind is not Kind.FACT):
        raise WrongKind(
            f"{ref} is {NAMES[ref.kind]}, but a change of {given or 'tags'} wants {wanted}",
            field="id",
            ids=(str(ref),),
        )
    check_scope(drafting.view, ref, command.scope, field="id")
    hidden = drafting.view.hidden(ref)
    if hidden is not None and hidden.erased:
        raise NotFound(f"{ref} was erased", field="id", ids=(str(ref),))
    if hidden is not None:
        raise NotFound(
            f"{ref} is forgotten: restore it before changing it", field="id", ids=(str(ref),)
        )
    if drafting.view.row(ref) is None:
        raise NotFound(
            f"{ref} is no longer there: what brought it was undone, or it was removed",
            field="id",
            ids=(str(ref),),
        )
    return ref


def _given(command: q.Update) -> str | None:
    """The first field that only a fact has; None when it is about tags or importance alone."""
    names = ("text", "said_at", "valid_from", "valid_to", "expires_at", "metadata")
    found = next((name for name in names if getattr(command, name) is not None), None)
    return "corrects" if found is None and command.corrects else found


def _mark(command: q.Update, drafting: Drafting, ref: Ref) -> Item:
    row = drafting.view.row(ref)
    assert row is not None, "checked before"
    drafting.touch(ref)
    held = drafting.view.tags(row.state.tags)
    tagged = drafting.edit_tags(ref, held, command.add_tags, command.remove_tags)
    weighed = drafting.set_importance(ref, row.state.importance, command.importance)
    event = tagged or weighed
    if event is not None:
        return item("written", ref, event)
    return item("unchanged", ref, drafting.see_again(ref, row.state.at))


def _update_fact(command: q.Update, drafting: Drafting, ref: Ref) -> Item:
    facts = Facts(drafting)
    version = facts.find(ref.id)
    if version is None:
        raise NotFound(f"{ref} has no version that shows", field="id", ids=(str(ref),))
    drafting.touch(*version.refs())
    older = version.ref != ref
    if older:
        drafting.note(f"{ref} is an older version: the change follows {version.ref}")
    change = _change(command, drafting, version)
    tags = (version.tags | frozenset(command.add_tags)) - frozenset(command.remove_tags)
    if change.differs(version):
        event, edited = facts.edit(version, change, tags)
        return item("written", edited.ref, event, current=edited.id if older else None)
    current = version.id if older else None
    tagged = drafting.edit_tags(version.ref, version.tags, command.add_tags, command.remove_tags)
    weighed = drafting.set_importance(version.ref, version.importance, command.importance)
    marked = tagged or weighed
    if marked is not None:
        return item("written", version.ref, marked, current=current)
    seen = drafting.see_again(version.ref, version.at)
    return item("unchanged", version.ref, seen, current=current)


def _change(command: q.Update, drafting: Drafting, version: Version) -> Change:
    expires = drafting.time(command.expires_at, "expires_at")
    change = Change(
        text=version.text if command.text is None else command.text,
        corrects=command.corrects,
        said_at=drafting.time(command.said_at, "said_at"),
        valid_from=drafting.time(command.valid_from, "valid_from"),
        valid_to=drafting.time(command.valid_to, "valid_to"),
        expires_at=None if expires is None else expires.at,
        metadata=command.metadata,
        importance=thousandths(command.importance),
    )
    in_place = command.add_tags or command.remove_tags or command.importance is not None
    if _given(command) is None and not in_place:
        raise InvalidInput(NOTHING_TO_CHANGE, field="text")
    return change
