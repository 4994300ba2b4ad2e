"""Ingesting documents, and noting that one no longer exists where it came from."""

from __future__ import annotations

from rewound.eventlog import events as e
from rewound.eventlog.errors import NotFound, RewoundError, WrongKind
from rewound.eventlog.ids import NAMES, DocumentId, Kind, PassageId, Ref
from rewound.memory import requests as q
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.drafting import Drafting, decide_each, item
from rewound.memory.ending import drawn, unsaid
from rewound.memory.identity import caller_digests
from rewound.memory.sent_documents import Documents
from rewound.memory.targets import check_scope, named


@decides(q.Ingest)
def ingest(command: q.Ingest, deciding: Deciding) -> Plan:
    """Keep each document; without `infer` its whole text is a fact too.

    Of several items those that are wrong are refused. Raises InvalidInput, Stale.
    """
    drafting = Drafting(command, deciding)
    documents = Documents(drafting)
    items = decide_each(
        drafting, command.documents, lambda _, new: documents.take(new, infer=command.infer)
    )
    return drafting.plan(items)


@decides(q.RemoveDocument)
def remove_document(command: q.RemoveDocument, deciding: Deciding) -> Plan:
    """End a document, with the facts that nothing but it supports; reads of the past show them.

    What was remembered, or edited by a person since, stays. Raises NotFound, WrongKind, Stale.
    """
    drafting = Drafting(command, deciding)
    document = _meant(command, drafting)
    ref = Ref(Kind.DOCUMENT, document)
    drafting.touch(ref)
    passages = tuple(PassageId(row.id) for row in drafting.view.passages_of(document))
    event = drafting.add(e.DocumentRemoved(document, passages), drafting.bodies())
    row = drafting.view.document(document)
    assert row is not None, "a document that is meant is there"
    places = {piece.place(0) for piece in row.state.pieces}
    facts = drawn(drafting.view, ref, places)
    ended = unsaid(drafting.view, ref, facts, (), drafting.now_us)
    if ended:
        drafting.add(e.FactsEnded(ended), drafting.bodies(), causes=(event,))
        what = "1 fact" if len(ended) == 1 else f"{len(ended)} facts"
        drafting.note(f"{what} ended that came from it and from nothing else")
    over = frozenset[bytes](ended)
    left = [
        raw for raw in drafting.view.facts_from(ref) if raw not in over and _stays(drafting, raw)
    ]
    if left:
        what = "1 fact stays" if len(left) == 1 else f"{len(left)} facts stay"
        drafting.note(f"{what} that came from it: forget what should go too")
    return drafting.plan([item("done", ref, event)])


def _meant(command: q.RemoveDocument, drafting: Drafting) -> DocumentId:
    """The document by its caller's id, else by its own."""
    digests = caller_digests(drafting.key, "document", command.id, drafting.scope)
    for ref in reversed(drafting.known(*digests)):
        if _shown(drafting, ref):
            return DocumentId(ref.id)
    shown = command.id if len(command.id) <= 40 else command.id[:37] + "…"
    try:
        ref = named(drafting.view, command.id, field="id")
    except WrongKind:
        raise
    except RewoundError:
        raise NotFound(
            f"no document has {shown!r} as its own or its caller's id", field="id"
        ) from None
    if ref.kind is not Kind.DOCUMENT:
        raise WrongKind(f"{ref} is {NAMES[ref.kind]}, but id wants a document", field="id")
    check_scope(drafting.view, ref, command.scope, field="id")
    if not _shown(drafting, ref):
        raise NotFound(f"{ref} is no longer there: it was removed, undone or forgotten", field="id")
    return DocumentId(ref.id)


def _stays(drafting: Drafting, raw: bytes) -> bool:
    row = drafting.view.fact(raw)
    unsaid_before = row is None or row.state.unsaid is not None
    return not unsaid_before and drafting.view.hidden(Ref(Kind.FACT, raw)) is None


def _shown(drafting: Drafting, ref: Ref) -> bool:
    return drafting.view.row(ref) is not None and drafting.view.hidden(ref) is None
