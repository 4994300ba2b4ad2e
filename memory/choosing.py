"""Choosing: which items a forgetting means, by ids, the very words, a query, likeness or filters.

What is named must be there, and nothing named or found never means everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog.errors import Conflict, InvalidInput, NotFound, Stale, WrongKind
from rewound.eventlog.ids import NAMES, FactId, Kind, Ref
from rewound.eventlog.instants import show_us
from rewound.memory import requests as q
from rewound.memory import targets as t
from rewound.memory.condition_checks import may_want_nothing
from rewound.memory.deciding import Deciding
from rewound.memory.find import find
from rewound.memory.moments import present
from rewound.memory.plurals import so_many
from rewound.memory.seeing import select
from rewound.memory.verbatim import saying
from rewound.memory.withholding import lineage

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

_SIMILAR_SHARE = 0.5
"""What scores less than this share of the best hit is not similar."""


class Chosen(NamedTuple):
    """An item to forget. `named` by its own id; `score` when it was found by what was asked."""

    item: Ref
    named: bool = False
    score: float | None = None


def chosen(
    command: q.Forget, deciding: Deciding, view: ContainerView, notes: list[str]
) -> list[Chosen]:
    """Items to forget, sources before facts: those mostly go with them.

    Raises NotFound where nothing is meant, and InvalidInput, WrongKind or Conflict (hidden already)
    for any id that cannot be forgotten; Stale where a batch has nothing left.
    """
    if command.ids:
        return [each for text in command.ids for each in _by_id(view, text, command.scope)]
    if command.text is not None:
        found = _by_text(command, command.text, deciding, view)
    elif command.similar is not None:
        found = _by_likeness(command, command.similar, deciding, view, notes)
    elif command.query is not None:
        found = _by_query(command, command.query, deciding, view, notes)
    else:
        found = _by_filters(command, deciding, view)
    return sorted(found, key=lambda each: each.item.kind is Kind.FACT)


def stale() -> Stale:
    """What is said when a batch no longer stands for what would go."""
    return Stale(
        "what is similar is no longer what was told with this batch, so nothing was forgotten: "
        "look again and take the batch of that answer",
        field="batch",
    )


# --- by id


def _by_id(view: ContainerView, text: str, scope: q.Scope) -> Iterator[Chosen]:
    ref = t.named(view, text, field="ids")
    if ref.kind in (Kind.EVENT, Kind.GROUP):
        yield from map(Chosen, _by_event(view, ref, scope))
        return
    t.check_scope(view, ref, scope, field="ids")
    if ref.kind is Kind.PASSAGE:
        document = t.document_of(view, ref)
        raise WrongKind(
            f"{ref} is {NAMES[ref.kind]}: forget the document that holds it ({document}), or the "
            "facts drawn from it, which blacks out their words",
            field="ids",
            ids=(str(ref), str(document)),
        )
    _check_shown(view, ref)
    yield Chosen(ref, named=True)


def _by_event(view: ContainerView, ref: Ref, scope: q.Scope) -> list[Ref]:
    """What an event or a group brought in and is not hidden yet."""
    events = t.events_of(view, ref, field="ids")
    brought = [item for recorded in events for item in t.brought(recorded)]
    if not brought:
        what = t.event_named(events[0]) if ref.kind is Kind.EVENT else str(ref)
        raise InvalidInput(
            f"{what} brought nothing in that could be forgotten: to take it back, undo it",
            field="ids",
        )
    items = [item for item in dict.fromkeys(brought) if t.in_scope(view, item, scope)]
    if not items:
        raise NotFound(f"{ref} is not in this container", field="ids", ids=(str(ref),))
    shown = [item for item in items if not _all_hidden(view, item)]
    if not shown:
        _check_shown(view, items[0])
    return sorted(shown, key=lambda item: item.kind is Kind.FACT)


# --- by what is said, and by conditions


def _by_text(command: q.Forget, text: str, deciding: Deciding, view: ContainerView) -> list[Chosen]:
    """Facts, messages and documents that say just this, old versions of facts too."""
    filters = command.filters or q.Filters()
    _check_what(filters)
    when = present(view, deciding.now_us)
    found = list(saying(view, text, filters, when, command.scope))
    if not found:
        raise NotFound("nothing says just this, so nothing was forgotten", field="text")
    return [Chosen(ref) for ref in found]


def _by_filters(command: q.Forget, deciding: Deciding, view: ContainerView) -> list[Chosen]:
    """Everything that meets the filters, expired and ended facts too; chains by their newest."""
    filters = command.filters
    if filters is None or filters == q.Filters():
        raise InvalidInput(
            "an empty filter never means everything: name tags, a source, a scope, kinds or times",
            field="filters",
        )
    _check_what(filters)
    when = present(view, deciding.now_us)
    found = [
        Chosen(ref)
        for ref in select(view, filters, when, superseded=True)
        if t.in_scope(view, ref, command.scope) and _is_newest(view, ref)
    ]
    if not found:
        raise NotFound("nothing meets these filters, so nothing was forgotten", field="filters")
    if filters.where is not None and may_want_nothing(filters.where):
        _check_narrows(filters, command.scope, deciding, view, len(found))
    return found


def _check_narrows(
    filters: q.Filters, scope: q.Scope, deciding: Deciding, view: ContainerView, count: int
) -> None:
    """A tree that says what items are not, and that fits them all, stands for everything: so does
    a misspelt tag of what was to be kept. Raises InvalidInput."""
    if filters != q.Filters(where=filters.where, scope=filters.scope):
        return
    when = present(view, deciding.now_us)
    within = q.Filters(scope=filters.scope)
    all_of_it = [
        ref
        for ref in select(view, within, when, superseded=True)
        if t.in_scope(view, ref, scope) and _is_newest(view, ref)
    ]
    if count == len(all_of_it):
        raise InvalidInput(
            "filters.where leaves nothing out, which would mean everything: name what is to go, "
            "such as a tag, a source or times",
            field="filters.where",
        )


def _check_what(filters: q.Filters) -> None:
    if "passage" in filters.what:
        raise InvalidInput(
            "passages are forgotten with their document, by the facts drawn from them, or by a "
            "query: use fact, message or document",
            field="filters.what",
        )


def _is_newest(view: ContainerView, ref: Ref) -> bool:
    row = view.fact(ref.id) if ref.kind is Kind.FACT else None
    return row is None or row.state.ended is None


# --- by a query, and by likeness


def _by_query(
    command: q.Forget, query: str, deciding: Deciding, view: ContainerView, notes: list[str]
) -> list[Chosen]:
    """What a search for the query's words shows, near-duplicates included."""
    filters = command.filters or q.Filters()
    when = present(view, deciding.now_us)
    limit = command.limit or q.QUERY_LIMIT
    ranked, _ = find(view, query, filters, when, limit, scope=command.scope)
    scores: dict[Ref, float] = {}
    for match in ranked.matches:
        for ref in (match.ref, *match.also):
            scores.setdefault(ref, match.closeness)
    if not scores:
        raise NotFound("nothing is found by this query, so nothing was forgotten", field="query")
    if len(ranked.matches) == limit:
        notes.append(f"the limit of {so_many(limit, 'hit')} was reached: more may be found")
    return _whole(view, scores)


def _by_likeness(
    command: q.Forget, similar: str, deciding: Deciding, view: ContainerView, notes: list[str]
) -> list[Chosen]:
    """What a search by words and meaning ranks first, as far as it is half as near as the best.

    At most as many as the limit, near-duplicates counted.
    """
    filters = command.filters or q.Filters()
    when = present(view, deciding.now_us)
    limit = command.limit or q.SIMILAR_LIMIT
    likeness = deciding.likeness
    query = None if likeness is None else likeness.query
    ranked, _ = find(view, similar, filters, when, limit, scope=command.scope, meaning=query)
    scores: dict[Ref, float] = {}
    matches = ranked.matches
    least = _SIMILAR_SHARE * max((match.closeness for match in matches), default=0.0)
    near = [match for match in matches if match.closeness >= least]
    for match in near:
        for ref in (match.ref, *match.also):
            scores.setdefault(ref, match.closeness)
    if not scores:
        if command.batch is not None:
            raise stale()
        raise NotFound("nothing is similar to this, so nothing was forgotten", field="similar")
    if len(near) == limit or len(scores) > limit:
        notes.append(f"the limit of {limit} similar items was reached: more may be similar")
    if query is None and likeness is not None:
        notes.append(likeness.why_not)
    if query is not None and ranked.unembedded:
        notes.append(f"{ranked.unembedded:,} without a vector yet could be found by words only")
    return _whole(view, dict(list(scores.items())[:limit]))


def _whole(view: ContainerView, scores: dict[Ref, float]) -> list[Chosen]:
    """The hits, with a document in place of its passages when all of them are among the hits."""
    whole: dict[Ref, float] = {}
    for ref, score in scores.items():
        row = view.row(ref) if ref.kind is Kind.PASSAGE else None
        item = ref
        if row is not None:
            passages = (Ref(Kind.PASSAGE, r.id) for r in view.passages_of(row.state.document))
            left = [p for p in passages if p not in scores and view.hidden(p) is None]
            item = ref if left else Ref(Kind.DOCUMENT, row.state.document)
        whole.setdefault(item, score)
    return [Chosen(item, score=score) for item, score in whole.items()]


# --- what is hidden already


def _all_hidden(view: ContainerView, ref: Ref) -> bool:
    """Hidden, for a fact with all versions that there are now."""
    versions: Iterable[Ref] = lineage(view, FactId(ref.id)) if ref.kind is Kind.FACT else [ref]
    members = [member for member in versions if view.row(member) is not None] or [ref]
    return all(view.hidden(member) is not None for member in members)


def _check_shown(view: ContainerView, ref: Ref) -> None:
    """Raises Conflict for what is forgotten or erased, saying when."""
    hidden = view.hidden(ref)
    if hidden is None or not _all_hidden(view, ref):
        return
    if hidden.erased:
        raise Conflict(f"{ref} was erased: nothing of it is left", field="ids", ids=(str(ref),))
    forgetting = t.event_of(view, hidden.by[0])
    assert forgetting is not None, "a hidden item names the event that hides it"
    event = Ref(Kind.EVENT, hidden.by[0])
    raise Conflict(
        f"{ref} is forgotten already, since {show_us(forgetting.envelope.recorded_at)} ({event})",
        field="ids",
        ids=(str(ref), str(event)),
    )
