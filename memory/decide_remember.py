"""Remembering: texts taken as facts word for word, or kept as notes to draw facts from."""

from __future__ import annotations

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import Ref
from rewound.eventlog.instants import Instant, parse_instant, show_us
from rewound.memory import requests as q
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.drafting import Drafting, check_one_fact, decide_each, item, thousandths
from rewound.memory.durations import parse_duration
from rewound.memory.identity import FactContent, caller_digests
from rewound.memory.replies import Item
from rewound.memory.sent_documents import Documents
from rewound.memory.sent_facts import Change, Facts, Version

_LAST_US = parse_instant("9999-12-31T23:59:59Z").at


@decides(q.Remember)
def remember(command: q.Remember, deciding: Deciding) -> Plan:
    """Take each text as a fact, or with `infer` as a note: a document of plain text.

    Of several items those that are wrong are refused. Raises InvalidInput, Stale.
    """
    drafting = Drafting(command, deciding)
    if command.infer:
        documents = Documents(drafting)
        items = decide_each(
            drafting, command.facts, lambda _, new: documents.take(_note(new), infer=True)
        )
    else:
        facts = Facts(drafting)
        items = decide_each(drafting, command.facts, lambda _, new: _take(drafting, facts, new))
    return drafting.plan(items)


# --- notes

_FACTS_ONLY = (
    "valid_from", "valid_to", "expires_at", "forget_after", "subject", "attribute", "value",
)  # fmt: skip


def _note(new: q.NewFact) -> q.NewDocument:
    """A note has nothing that belongs to a single statement. Raises InvalidInput."""
    given = [name for name in _FACTS_ONLY if getattr(new, name) is not None]
    if new.kind != "fact":
        given.append("kind")
    if given:
        raise InvalidInput(
            f"{given[0]} belongs to a fact, and with infer the text is a note that facts are drawn "
            "from: turn infer off, or leave it out",
            field=given[0],
        )
    return q.NewDocument(
        text=new.text,
        id=new.id,
        said_at=new.said_at,
        tags=new.tags,
        metadata=new.metadata,
        importance=new.importance,
    )


# --- facts


def _take(drafting: Drafting, facts: Facts, new: q.NewFact) -> Item:
    """What becomes of a text that is to be a fact."""
    check_one_fact(new.text, infer=False)
    content = _content(drafting, new)
    if content.expires_at is not None and content.expires_at <= drafting.now_us:
        drafting.note("a fact that has expired already is kept, but shown only for the past")
    if new.id is not None:
        return _upsert(drafting, facts, new, content)
    lasts_us = None if new.forget_after is None else parse_duration(new.forget_after)
    compared = content if lasts_us is None else _by_length(content, lasts_us)
    digests = compared.digests(drafting.key)
    for ref in drafting.known(*digests):
        version = facts.find(ref.id)
        if version is None or (lasts_us is not None and _has_expired(version, drafting.now_us)):
            continue
        if version.ref == ref:
            return _see_again(drafting, facts, new, version)
        if content.said_at is not None:
            return _see_ended(drafting, new, ref, version)
        # It was superseded, and is said again without a time, that is to say now: news.
    drafting.note_returning(*digests)
    version = facts.add(content, _tags(new), None, thousandths(new.importance))
    drafting.file(digests[0], version.ref)
    return item("written", version.ref, drafting.last)


def _upsert(drafting: Drafting, facts: Facts, new: q.NewFact, content: FactContent) -> Item:
    """A fact under its caller's id: a new version of the chain, unless nothing is new."""
    assert new.id is not None
    digests = caller_digests(drafting.key, "fact", new.id, drafting.scope)
    found = (facts.find(ref.id) for ref in reversed(drafting.known(*digests)))
    version = next((known for known in found if known is not None), None)
    if version is None:
        version = facts.add(content, _tags(new), new.id, thousandths(new.importance))
        drafting.file(digests[0], version.ref)
        return item("written", version.ref, drafting.last, caller_id=new.id)
    change = Change(
        text=content.text,
        kind=content.kind,
        said_at=content.said_at,
        valid_from=content.valid_from,
        valid_to=content.valid_to,
        expires_at=content.expires_at,
        subject=content.subject,
        attribute=content.attribute,
        value=content.value,
        metadata=content.metadata or None,
        importance=thousandths(new.importance),
    )
    if not change.differs(version):
        return _see_again(drafting, facts, new, version)
    drafting.touch(*version.refs())
    event, edited = facts.edit(version, change, version.tags | frozenset(new.tags))
    drafting.file(digests[0], edited.ref)
    return item("replaced", edited.ref, event, caller_id=new.id)


def _see_again(drafting: Drafting, facts: Facts, new: q.NewFact, version: Version) -> Item:
    drafting.touch(*version.refs())
    event = drafting.see_again(version.ref, version.at)
    if new.forget_after is not None and new.id is None and version.expires_at is not None:
        drafting.note(
            f"{version.ref} is known already and still ends at {show_us(version.expires_at)}: "
            "update its expires_at to keep it longer"
        )
    drafting.edit_tags(version.ref, version.tags, new.tags)
    drafting.set_importance(version.ref, version.importance, new.importance)
    facts.marked(version, version.tags | frozenset(new.tags), thousandths(new.importance))
    return item("seen again", version.ref, event, caller_id=new.id)


def _see_ended(drafting: Drafting, new: q.NewFact, ref: Ref, current: Version) -> Item:
    """An old statement, with its time, that another has superseded since: it stays superseded."""
    row = drafting.view.fact(ref.id)
    assert row is not None, "only a version that was there before this command has been superseded"
    drafting.touch(ref, *current.refs())
    event = drafting.see_again(ref, row.state.at)
    drafting.edit_tags(ref, drafting.view.tags(row.state.tags), new.tags)
    drafting.set_importance(ref, row.state.importance, new.importance)
    drafting.note(f"{ref} is known and has been superseded since by {current.ref}")
    return item("seen again", ref, event, current=current.id)


def _by_length(content: FactContent, lasts_us: int) -> FactContent:
    """What a fact is compared by that is to be forgotten after a while: by how long that is, since
    the moment it comes to is another one each time."""
    return msgspec.structs.replace(content, expires_at=-lasts_us)


def _has_expired(version: Version, now_us: int) -> bool:
    return version.expires_at is not None and version.expires_at <= now_us


def _expiry(drafting: Drafting, new: q.NewFact, said_at: Instant | None) -> int | None:
    """From when on it is not shown, in µs. Raises InvalidInput."""
    expires = drafting.time(new.expires_at, "expires_at")
    if new.forget_after is None:
        return None if expires is None else expires.at
    start = drafting.now_us if said_at is None else said_at.at
    end = start + parse_duration(new.forget_after, "forget_after")
    if end > _LAST_US:
        raise InvalidInput("forget_after lies beyond the year 9999", field="forget_after")
    return end


def _content(drafting: Drafting, new: q.NewFact) -> FactContent:
    said_at = drafting.time(new.said_at, "said_at")
    return FactContent(
        text=new.text,
        kind=FactKind[new.kind.upper()],
        said_at=said_at,
        valid_from=drafting.time(new.valid_from, "valid_from"),
        valid_to=drafting.time(new.valid_to, "valid_to"),
        expires_at=_expiry(drafting, new, said_at),
        subject=new.subject,
        attribute=new.attribute,
        value=new.value,
        metadata=new.metadata,
        scope=drafting.scope,
    )


def _tags(new: q.NewFact) -> tuple[str, ...]:
    return tuple(dict.fromkeys(new.tags))
