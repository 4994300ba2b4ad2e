"""What a source or a conversation is named by: ids, a caller's ids, and conversations' names."""

from collections.abc import Collection, Iterator

from rewound.eventlog.bodies import Body
from rewound.eventlog.errors import InvalidInput, WrongKind
from rewound.eventlog.ids import NAMES, Kind, Ref, parse_any
from rewound.eventlog.spelling import composed, lengths
from rewound.memory.moments import When
from rewound.projections.reader import ContainerView

NOBODY = bytes(16)
"""A source that no item has: stands for a name that names nothing."""

_SOURCES = (None, Kind.DOCUMENT, Kind.MESSAGE, Kind.CONVERSATION)


def sources_named(
    view: ContainerView,
    texts: Collection[str],
    when: When,
    *,
    forgotten: bool = False,
    field: str = "filters.source",
) -> tuple[bytes, ...]:
    """Ids of the documents and messages that a condition on the source means, and of conversations.

    Each text is one of their ids, a caller's id, or a conversation's name. A forgotten item is not
    found by its name (that would confirm a guess of it) unless `forgotten`.
    """
    found: dict[bytes, None] = {}
    names: set[str] = set()
    for text in texts:
        kind, raw = _as_id(text)
        if kind not in _SOURCES:
            raise WrongKind(
                f"{text} is {NAMES[kind]}, but {field} wants a document, a message or a "
                "conversation",
                field=field,
            )
        if kind in (None, Kind.CONVERSATION) and raw is not None:
            found.update(dict.fromkeys(_conversation(view, raw, when.at)))
        if raw is not None:
            found[raw] = None
        if kind is None:
            names.add(composed(text))
    if names:
        for row in view.scan(Kind.DOCUMENT, when.at):
            if _says(view, row.state.caller_id, names) and (
                forgotten or view.hidden(Ref(Kind.DOCUMENT, row.id)) is None
            ):
                found[row.id] = None
        found.update(dict.fromkeys(_messages_named(view, names, when.at, forgotten)))
    return tuple(found)


def conversations_named(
    view: ContainerView,
    texts: Collection[str],
    when: When,
    *,
    forgotten: bool = False,
    field: str,
) -> tuple[bytes, ...]:
    """Ids of conversations, by their id or name, and of their messages."""
    found: dict[bytes, None] = {}
    names: set[str] = set()
    for text in texts:
        kind, raw = _as_id(text)
        if kind not in (None, Kind.CONVERSATION):
            raise WrongKind(
                f"{text} is {NAMES[kind]}, but {field} wants a conversation", field=field
            )
        if raw is not None:
            found.update(dict.fromkeys(_conversation(view, raw, when.at)))
        if kind is None:
            names.add(composed(text))
    if names:
        conversations: dict[bytes, None] = {}
        for row in view.scan(Kind.MESSAGE, when.at):
            if row.state.conversation not in conversations and (
                _says(view, row.state.conversation_name, names)
                and (forgotten or view.hidden(Ref(Kind.MESSAGE, row.id)) is None)
            ):
                conversations[row.state.conversation] = None
        found.update(dict.fromkeys(_of_all(view, conversations, when.at)))
    return tuple(found)


def _as_id(text: str) -> tuple[Kind | None, bytes | None]:
    """The id that a text is, if it is one. The kind of a UUID is not known."""
    try:
        return parse_any(text)
    except InvalidInput:
        return None, None  # then it is a name


def _conversation(view: ContainerView, conversation: bytes, at: int) -> list[bytes]:
    """The conversation, and its messages (by which the facts drawn from them are found)."""
    messages = [row.id for row in view.messages_of(conversation, at)]
    return [conversation, *messages] if messages else []


def _of_all(view: ContainerView, conversations: Collection[bytes], at: int) -> Iterator[bytes]:
    for conversation in conversations:
        yield from _conversation(view, conversation, at)


def _messages_named(
    view: ContainerView, names: Collection[str], at: int, forgotten: bool
) -> list[bytes]:
    """Messages with such a caller's id, and all of the conversations of such a name."""
    found: list[bytes] = []
    conversations: dict[bytes, None] = {}
    for row in view.scan(Kind.MESSAGE, at):
        state = row.state
        of_name = state.conversation not in conversations and _says(
            view, state.conversation_name, names
        )
        if not of_name and not _says(view, state.caller_id, names):
            continue
        if not forgotten and view.hidden(Ref(Kind.MESSAGE, row.id)) is not None:
            continue
        if of_name:
            conversations[state.conversation] = None
        else:
            found.append(row.id)
    return [*found, *_of_all(view, conversations, at)]


def _says(view: ContainerView, body: Body | None, names: Collection[str]) -> bool:
    """Whether a body is one of the names; the stored length spares reading nearly all of them."""
    if body is None or all(body.chars not in lengths(name) for name in names):
        return False
    text = view.text(body)
    return text is not None and composed(text) in names
