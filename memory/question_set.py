"""A set of questions with known answers: a file of JSON lines that `rewound eval` measures with.

A line is a session (messages of one conversation), a document, or a question that names the ids of
all the messages and documents that answer it. docs/evaluation.md tells the shape.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.instants import parse_instant
from rewound.memory.requests import MediaName, NewDocument, NewMessage

FIELD = "dataset"


class Session(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type",
    tag="session",
):  # fmt: skip
    """One conversation. Every message has an id, which no other item of the file has."""

    id: str
    messages: tuple[NewMessage, ...]


class Document(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type",
    tag="document",
):  # fmt: skip
    """A text that is found in passages; a question names the document."""

    id: str
    text: str
    title: str | None = None
    media: MediaName = "text"
    said_at: str | None = None

    def sent(self) -> NewDocument:
        """As it is put into a store."""
        return NewDocument(
            id=self.id, text=self.text, title=self.title, media=self.media, said_at=self.said_at
        )


class Question(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type",
    tag="question",
):  # fmt: skip
    """`gold` are the ids of what answers it, empty when nothing does. `older` are the ids of what
    answered it once and no longer holds. `kind` is any word: figures are given for each."""

    id: str
    kind: str
    question: str
    gold: tuple[str, ...]
    older: tuple[str, ...] = ()


class QuestionSet(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was read, in its order. `now_us` is a day after the last thing that was said
    in it, None when it names no times: what is asked is asked then."""

    name: str
    sha256: str
    sessions: tuple[Session, ...]
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    now_us: int | None

    @property
    def kinds(self) -> tuple[str, ...]:
        """In the order in which they first come."""
        return tuple(dict.fromkeys(question.kind for question in self.questions))


_DAY_US = 86_400_000_000
_decode = msgspec.json.Decoder(Session | Document | Question).decode


def read(path: Path) -> QuestionSet:
    """Read a file and check that it can be measured with.

    Raises InvalidInput naming the line or the question at fault, OSError when it cannot be read.
    """
    content = path.read_bytes()
    sessions: list[Session] = []
    documents: list[Document] = []
    questions: list[Question] = []
    for line in _lines(content, path.name):
        match line:
            case Session():
                sessions.append(line)
            case Document():
                documents.append(line)
            case Question():
                questions.append(line)
    read_set = QuestionSet(
        name=path.name,
        sha256=hashlib.sha256(content).hexdigest(),
        sessions=tuple(sessions),
        documents=tuple(documents),
        questions=tuple(questions),
        now_us=_now_us(sessions, documents),
    )
    _check(read_set)
    return read_set


def _lines(content: bytes, name: str) -> Iterator[Session | Document | Question]:
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield _decode(line)
        except msgspec.DecodeError as error:
            raise InvalidInput(f"line {number} of {name}: {error}", field=FIELD) from None
        except UnicodeDecodeError:
            raise InvalidInput(f"line {number} of {name} is not UTF-8", field=FIELD) from None


def _now_us(sessions: list[Session], documents: list[Document]) -> int | None:
    said = [message.time for session in sessions for message in session.messages]
    said += [document.said_at for document in documents]
    times = [parse_instant(time, field=FIELD).at for time in said if time is not None]
    return max(times) + _DAY_US if times else None


def _check(given: QuestionSet) -> None:
    if not given.questions:
        raise InvalidInput(
            f"{given.name} asks nothing: it needs lines of type question", field=FIELD
        )
    for noun, ids in (
        ("session", [session.id for session in given.sessions]),
        ("message or document", _item_ids(given)),
        ("question", [question.id for question in given.questions]),
    ):
        twice = [one for one, count in Counter(ids).items() if count > 1]
        if twice:
            raise InvalidInput(
                f"{given.name} has more than one {noun} with the id {twice[0]!r}", field=FIELD
            )
    known = set(_item_ids(given))
    for question in given.questions:
        unknown = [one for one in (*question.gold, *question.older) if one not in known]
        if unknown:
            raise InvalidInput(
                f"question {question.id!r} of {given.name} names {unknown[0]!r}, but no message "
                "and no document has that id",
                field=FIELD,
            )
        if question.older and not question.gold:
            raise InvalidInput(
                f"question {question.id!r} of {given.name} has older answers but no present one: "
                "name that in gold",
                field=FIELD,
            )


def _item_ids(given: QuestionSet) -> list[str]:
    """Ids of all messages and documents. Raises InvalidInput when a message has none."""
    ids = [document.id for document in given.documents]
    for session in given.sessions:
        for number, message in enumerate(session.messages, 1):
            if message.id is None:
                raise InvalidInput(
                    f"message {number} of session {session.id!r} in {given.name} has no id",
                    field=FIELD,
                )
            ids.append(message.id)
    return ids
