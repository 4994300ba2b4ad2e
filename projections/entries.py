"""Entries of the search index: what of each row can be found and filtered by.

Every version of a row of facts, passages, messages and documents has one entry, numbered by an
ordinal. An entry is found by its words (field WORDS) and narrowed by facets, which are terms of
other fields: digests under the container's key, since a tag is as private as a text.
"""

import enum
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from rewound.eventlog.bodies import Body, keyed_digest, read_text, read_value
from rewound.eventlog.instants import MAX_US, MIN_US
from rewound.eventlog.spelling import composed
from rewound.projections import tags as tagging
from rewound.projections.documents import DocumentRow, PassageRow
from rewound.projections.facts import FactRow
from rewound.projections.measures import terms_of
from rewound.projections.messages import MessageRow

WORDS = ord("w")
TAGS = ord("t")
METADATA = ord("m")
SCOPE = ord("s")
SOURCES = ord("d")
CONVERSATIONS = ord("c")
ABOUT = ord("a")
"""Facts by their subject, and by subject and attribute."""
ENTITIES = ord("e")
"""Facts by the names in them: subject, value and entities."""
ATTRIBUTES = ord("b")
SPEAKERS = ord("p")
"""Messages by who said them."""
CALLED = ord("q")
"""The same by each word of a name that has several: Nina Kowalski is called Nina too."""
HAS = ord("h")
"""Everything by what it has at all: the names of `Has`, and the keys of its metadata."""
MEASURES = ord("n")
"""Everything by the numbers and times in its metadata, in their order (`measures`)."""


class Has(enum.StrEnum):
    """What an entry may have or not, as terms of the field HAS."""

    TAG = "tag"
    SUBJECT = "subject"
    ATTRIBUTE = "attribute"
    ENTITY = "entity"
    SPEAKER = "speaker"
    SOURCE = "source"


_SHOWN = {
    TAGS: Has.TAG,
    ATTRIBUTES: Has.ATTRIBUTE,
    ABOUT: Has.SUBJECT,
    ENTITIES: Has.ENTITY,
    SPEAKERS: Has.SPEAKER,
    SOURCES: Has.SOURCE,
}


class StandingCode(enum.IntEnum):
    """How a fact stands, as the index holds it."""

    CURRENT = 0
    SUPERSEDED = 1
    CORRECTED = 2
    ENDED = 3
    """Nothing says so any more, and it had not begun."""


class Entry(NamedTuple):
    """The numbers of one entry; times in µs."""

    id: bytes
    kind: int
    detail: int
    """The fact's kind, or the message's role."""
    valid_from: int
    valid_to: int
    expires: int
    standing: int
    support: int = 0
    """How often a fact was said: its sources, or 1 without one, and the facts that repeat it."""
    importance: int = 0
    """As the column has it: 1 + thousandths, 0 where nobody said any of the item itself."""


SUPPORT_MAX = 255

Read = Callable[[Body], bytes | None]
AnyRow = FactRow | PassageRow | MessageRow | DocumentRow


def entry_of(key: bytes, state: AnyRow) -> Entry:
    kind, raw = key[0], key[1:17]
    match state:
        case FactRow():
            standing = StandingCode.CURRENT
            if state.ended is not None:
                corrected = state.ended.corrects
                standing = StandingCode.CORRECTED if corrected else StandingCode.SUPERSEDED
            elif state.unsaid is not None and state.valid_to <= state.valid_from:
                standing = StandingCode.ENDED
            expires = MAX_US if state.expires_at is None else state.expires_at
            said = max(1, len({span.source for span in state.sources})) + len(state.repeated_by)
            return Entry(
                raw, kind, state.kind, state.valid_from, state.valid_to, expires, standing,
                min(said, SUPPORT_MAX), _importance(state.importance),
            )  # fmt: skip
        case MessageRow() | DocumentRow():
            said = state.recorded_at if state.said_at is None else state.said_at.at
            detail = state.role if isinstance(state, MessageRow) else 0
            return Entry(
                raw, kind, int(detail), said, MAX_US, MAX_US, StandingCode.CURRENT,
                importance=_importance(state.importance),
            )  # fmt: skip
        case PassageRow():
            return Entry(raw, kind, 0, MIN_US, MAX_US, MAX_US, StandingCode.CURRENT)


def _importance(thousandths: int | None) -> int:
    return 0 if thousandths is None else 1 + thousandths


def body_of(state: AnyRow) -> Body | None:
    """The body whose words find the entry (for a document, its title)."""
    match state:
        case FactRow() | MessageRow():
            return state.text
        case PassageRow():
            return state.body
        case DocumentRow():
            return state.title


def blacked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the spans blacked out, length kept, so that offsets do not move."""
    for start, end in spans:
        text = text[:start] + "█" * (min(end, len(text)) - start) + text[end:]
    return text


def words_of(state: AnyRow, read: Read, spans: Iterable[tuple[int, int]]) -> str | None:
    """The text that is indexed, seen through its mask; None when it is erased."""
    body = body_of(state)
    content = None if body is None else read(body)
    if content is None:
        return None
    text = blacked(read_text(content), spans)
    if isinstance(state, PassageRow):
        return text[state.start : state.end]
    if isinstance(state, MessageRow) and state.speaker is not None:
        speaker = read(state.speaker)
        # People ask "what did Nina say about …": the name belongs to what can be found.
        return text if speaker is None else f"{read_text(speaker)}: {text}"
    return text


def facets_of(state: AnyRow, key: bytes, secret: bytes, read: Read) -> dict[int, list[str]]:
    """Field -> terms. A passage has its document's facets through its group, not its own."""
    facets: dict[int, list[str]] = {}
    if isinstance(state, PassageRow):
        return {SOURCES: [state.document.hex()], HAS: [Has.SOURCE]}
    names = tagging.names(state.tags, read)
    if names:
        facets[TAGS] = [tag_term(secret, name) for name in names]
    metadata = value_of(state.metadata, read)
    keys: list[str] = []
    if metadata:
        facets[METADATA] = [metadata_term(secret, k, value) for k, value in metadata.items()]
        keys, measures = terms_of(secret, metadata)
        if measures:
            facets[MEASURES] = measures
    scope = value_of(state.scope, read)
    if scope:
        facets[SCOPE] = [scope_term(secret, k, value) for k, value in scope.items()]
    if isinstance(state, FactRow):
        if state.sources:
            facets[SOURCES] = sorted({span.source.id.hex() for span in state.sources})
        facets |= _about(state, secret, read)
    else:
        facets[SOURCES] = [key[1:17].hex()]
    if isinstance(state, MessageRow):
        facets[CONVERSATIONS] = [state.conversation.hex()]
        speaker = text_of(state.speaker, read)
        if speaker:
            facets[SPEAKERS] = [speaker_term(secret, speaker)]
            if called := _called(speaker):
                facets[CALLED] = [speaker_term(secret, word) for word in called]
    had: list[str] = [_SHOWN[field] for field in facets if field in _SHOWN]
    if had or keys:
        facets[HAS] = had + keys
    return facets


def _called(name: str) -> list[str]:
    """The words of a name that may stand for it; none where there is one only."""
    words = folded(name).split()
    told = (word.strip(",()\"'") for word in words[:_NAME_WORDS_MAX])
    fitting = sorted({word for word in told if len(word) > 1 and word[-1] != "."})
    return fitting if len(words) > 1 else []


_NAME_WORDS_MAX = 8


def _about(state: FactRow, secret: bytes, read: Read) -> dict[int, list[str]]:
    """What a fact is about and whom it names."""
    subject, attribute, value = (
        text_of(body, read) for body in (state.subject, state.attribute, state.value)
    )
    names = names_of(state, read)
    facets: dict[int, list[str]] = {}
    if subject:
        terms = [about_term(secret, subject)]
        if attribute:
            terms.append(about_term(secret, subject, attribute))
        facets[ABOUT] = terms
    if attribute:
        facets[ATTRIBUTES] = [attribute_term(secret, attribute)]
    named = [name for name in (subject, value, *names) if name]
    if named:
        facets[ENTITIES] = sorted({entity_term(secret, name) for name in named})
    return facets


def folded(name: str) -> str:
    """A name as it is compared: composed, without case, article or doubled blanks."""
    words = composed(composed(name).casefold()).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)


_ARTICLES = frozenset({"the", "a", "an"})


def about_term(secret: bytes, subject: str, attribute: str = "") -> str:
    parts = (folded(subject).encode(), folded(attribute).encode())
    return keyed_digest(secret, b"about", *parts).hex()


def entity_term(secret: bytes, name: str) -> str:
    return keyed_digest(secret, b"entity", folded(name).encode()).hex()


def attribute_term(secret: bytes, attribute: str) -> str:
    return keyed_digest(secret, b"attribute", folded(attribute).encode()).hex()


def speaker_term(secret: bytes, speaker: str) -> str:
    return keyed_digest(secret, b"speaker", folded(speaker).encode()).hex()


def tag_term(secret: bytes, name: str) -> str:
    return keyed_digest(secret, b"tag", composed(name).encode()).hex()


def metadata_term(secret: bytes, name: str, value: Any) -> str:
    shown = composed(msgspec.json.encode(value, order="deterministic").decode()).encode()
    return keyed_digest(secret, b"metadata", composed(name).encode(), shown).hex()


def scope_term(secret: bytes, name: str, value: str) -> str:
    return keyed_digest(secret, b"scope", name.encode(), value.encode()).hex()


def source_terms(sources: Iterable[bytes]) -> list[tuple[int, str]]:
    """Field and term of everything that is, or is from, a document, message or conversation."""
    return [(field, raw.hex()) for raw in sources for field in (SOURCES, CONVERSATIONS)]


def names_of(state: FactRow, read: Read) -> list[str]:
    """The entities that a fact names, beside its subject and value."""
    content = None if state.entities is None else read(state.entities)
    names: list[str] = [] if content is None else read_value(content)
    return names


def text_of(body: Body | None, read: Read) -> str | None:
    content = None if body is None else read(body)
    return None if content is None else read_text(content)


def value_of(body: Body | None, read: Read) -> dict[str, Any]:
    content = None if body is None else read(body)
    if content is None:
        return {}
    value: dict[str, Any] = read_value(content)
    return value
