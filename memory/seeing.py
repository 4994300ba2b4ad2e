"""What a read may see: filters as a person writes them become conditions on the search index.

Lists, searches and forgetting by filters all choose by `projections.selection`, so they agree on
what matches; the columns that it reads cost milliseconds where rows would cost seconds.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from rewound.eventlog.bodies import Body
from rewound.eventlog.errors import InvalidInput, WrongKind
from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import NAMES, Kind, Ref, parse_any
from rewound.eventlog.instants import Precision, has_offset
from rewound.memory.moments import When
from rewound.memory.requests import Filters, Scope, What
from rewound.memory.targets import scope_parts
from rewound.projections.columns import Columns
from rewound.projections.reader import ContainerView
from rewound.projections.selection import Criteria, Mask
from rewound.projections.selection import select as selected

KINDS: dict[What, Kind] = {
    "fact": Kind.FACT,
    "passage": Kind.PASSAGE,
    "message": Kind.MESSAGE,
    "document": Kind.DOCUMENT,
}
ALL = frozenset(KINDS.values())
FORGETTABLE = frozenset({Kind.FACT, Kind.MESSAGE, Kind.DOCUMENT})

_ANYONE = Scope()

_NOBODY = bytes(16)
"""A source that no item has: stands for a name that names nothing."""


class Narrowed(NamedTuple):
    """Conditions for the index; `zoned` when a time of the filters was read in the zone."""

    criteria: Criteria
    zoned: bool


def narrowed(
    view: ContainerView,
    filters: Filters,
    when: When,
    *,
    scope: Scope = _ANYONE,
    among: Iterable[Kind] = ALL,
    superseded: bool = False,
    forgotten: bool = False,
    said_by_then: bool = False,
) -> Narrowed:
    """Filters as conditions at a moment, for items of the kinds in `among`.

    With `said_by_then` and a `valid_at`, nothing that was said later: it may hold then, but a
    search for what was true is not answered by it.

    Both `scope`, the read's own, and that of the filters must hold. `superseded` and `forgotten`
    are the reads' flags `include_…`. Raises InvalidInput for times that nothing can lie between,
    WrongKind for a source that cannot be one.
    """
    what = frozenset(among)
    if filters.what:
        what &= {KINDS[name] for name in filters.what}
    since, until = _bounds(filters, when)
    scopes = (*scope_parts(scope).items(), *scope_parts(filters.scope).items())
    sources: tuple[bytes, ...] = ()
    if filters.source is not None:
        sources = sources_named(view, filters.source, when, forgotten=forgotten) or (_NOBODY,)
    criteria = Criteria(
        now=when.now_us,
        at=when.at,
        valid=when.valid,
        what=what,
        kinds=frozenset(FactKind[name.upper()] for name in filters.kinds),
        tags=tuple(dict.fromkeys(filters.tags)),
        metadata=tuple(filters.metadata.items()),
        scope=tuple(dict.fromkeys(scopes)),
        sources=sources,
        since=since,
        until=until,
        superseded=superseded,
        forgotten=forgotten,
        said_before=when.valid[1] if said_by_then and when.valid and when.moment.valid_at else None,
    )
    times = (filters.since, filters.until)
    return Narrowed(criteria, any(time is not None and not has_offset(time) for time in times))


def _bounds(filters: Filters, when: When) -> tuple[int | None, int | None]:
    """[since, until) in µs; a day, month or year given for `until` is included whole."""
    since = until = None
    if filters.since is not None:
        since = when.zone.read(filters.since, "filters.since").at
    if filters.until is not None:
        instant = when.zone.read(filters.until, "filters.until")
        whole = instant.precision <= Precision.DAY
        until = when.zone.end(instant, filters.until) if whole else instant.at
    if since is not None and until is not None and until <= since:
        raise InvalidInput("filters.until must be later than filters.since", field="filters.until")
    return since, until


# --- sources


def sources_named(
    view: ContainerView, text: str, when: When, *, forgotten: bool = False
) -> tuple[bytes, ...]:
    """Ids of the documents and messages that a `source` filter means, and of conversations.

    `text` is one of their ids, a caller's id, or a conversation's name. A forgotten item is not
    found by its name (that would confirm a guess of it) unless `forgotten`.
    """
    found: dict[bytes, None] = {}
    kind, raw = _as_id(text)
    if kind in (None, Kind.CONVERSATION) and raw is not None:
        found.update(dict.fromkeys(_conversation(view, raw, when.at)))
    if raw is not None:
        found[raw] = None
    if kind is None:
        for row in view.scan(Kind.DOCUMENT, when.at):
            if _says(view, row.state.caller_id, text) and (
                forgotten or view.hidden(Ref(Kind.DOCUMENT, row.id)) is None
            ):
                found[row.id] = None
        found.update(dict.fromkeys(_messages_named(view, text, when.at, forgotten)))
    return tuple(found)


def _as_id(text: str) -> tuple[Kind | None, bytes | None]:
    """The id that a text is, if it is one. The kind of a UUID is not known."""
    try:
        kind, raw = parse_any(text)
    except InvalidInput:
        return None, None  # then it is a name
    if kind not in (None, Kind.DOCUMENT, Kind.MESSAGE, Kind.CONVERSATION):
        raise WrongKind(
            f"{text} is {NAMES[kind]}, but filters.source wants a document, a message or a "
            "conversation",
            field="filters.source",
        )
    return kind, raw


def _conversation(view: ContainerView, conversation: bytes, at: int) -> list[bytes]:
    """The conversation, and its messages (by which the facts drawn from them are found)."""
    messages = [row.id for row in view.messages_of(conversation, at)]
    return [conversation, *messages] if messages else []


def _messages_named(view: ContainerView, text: str, at: int, forgotten: bool) -> list[bytes]:
    """Messages with that caller's id, and all of the conversations of that name."""
    found: list[bytes] = []
    conversations: dict[bytes, None] = {}
    for row in view.scan(Kind.MESSAGE, at):
        state = row.state
        of_name = state.conversation not in conversations and _says(
            view, state.conversation_name, text
        )
        if not of_name and not _says(view, state.caller_id, text):
            continue
        if not forgotten and view.hidden(Ref(Kind.MESSAGE, row.id)) is not None:
            continue
        if of_name:
            conversations[state.conversation] = None
        else:
            found.append(row.id)
    for conversation in conversations:
        found += _conversation(view, conversation, at)
    return found


def _says(view: ContainerView, body: Body | None, text: str) -> bool:
    """Whether a body is that text; the stored length spares reading nearly all of them."""
    return body is not None and body.chars == len(text) and view.text(body) == text


# --- choosing


class Seen(NamedTuple):
    """What of a container's index entries a read may show: a mask over `columns`."""

    columns: Columns
    mask: Mask

    @property
    def total(self) -> int:
        return int(np.count_nonzero(self.mask))

    def ids(self, after: bytes = b"", limit: int | None = None) -> list[bytes]:
        """Ids of the items seen, in order, those greater than `after`; at most `limit`."""
        halves = self.columns.item[self.mask].view(">u8").reshape(-1, 2)
        if after:
            high, low = (int.from_bytes(after[:8], "big"), int.from_bytes(after[8:], "big"))
            first, second = halves[:, 0], halves[:, 1]
            later = (first > high) | ((first == high) & (second > low))
            halves = halves[later]
        order = np.lexsort((halves[:, 1], halves[:, 0]))[:limit]
        return [half.tobytes() for half in halves[order]]


def seen(view: ContainerView, criteria: Criteria) -> Seen:
    """What the conditions leave, without what is erased: that is never shown again."""
    found = selected(view, criteria)
    columns, mask = found.columns, found.allowed
    if criteria.forgotten:
        for ref, hidden in view.hidden_items():
            if hidden.erased:
                _leave_out(view, columns, mask, ref)
    return Seen(columns, mask)


def _leave_out(view: ContainerView, columns: Columns, mask: Mask, ref: Ref) -> None:
    for row in view.versions(ref):
        mask[row.ordinal] = False
        if ref.kind is Kind.DOCUMENT:
            mask &= (columns.kind != Kind.PASSAGE) | (columns.group != row.group)


def select(
    view: ContainerView,
    filters: Filters,
    when: When,
    *,
    among: Iterable[Kind] = FORGETTABLE,
    superseded: bool = False,
    forgotten: bool = False,
) -> Iterator[Ref]:
    """Items that meet the filters at a moment, by kind and id.

    By default what can be forgotten: current facts, messages and documents.
    """
    criteria = narrowed(
        view, filters, when, among=among, superseded=superseded, forgotten=forgotten
    ).criteria
    for kind in sorted(criteria.what):
        of_kind = criteria._replace(what=frozenset({kind}))
        for raw in seen(view, of_kind).ids():
            yield Ref(kind, raw)
