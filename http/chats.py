"""A chat as JSON lines: each line read by itself, and cut into the batches that are sent.

Memory stays bounded whatever the file's size: at most `BUFFER_BYTES_MAX` of messages are held, and
no line longer than the limit is ever read whole.

Messages without an id are recognised by the store when a transcript is sent again, but only as a
whole or at its end. So the first batch of a conversation goes as it is; of later batches, messages
without an id get one made of their place and content. Where a batch ends depends on nothing but
the lines before, so a second run, also of a file that has grown, makes the same batches.
"""

from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from typing import IO, Any, NamedTuple

import msgspec

from rewound.http import files
from rewound.memory.inputs import as_time, translated
from rewound.memory.requests import NewMessage, RoleName

BATCH_MESSAGES_MAX = 2_000
BATCH_BYTES_MAX = 2 << 20
BUFFER_BYTES_MAX = 8 << 20


class ChatLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line: a message."""

    content: str
    role: RoleName = "user"
    name: str | None = None
    id: str | int | None = None
    conversation: str | int | None = None
    time: str | int | float | None = None
    tags: tuple[str, ...] | None = None
    metadata: dict[str, Any] | None = None
    importance: float | None = None


class BadLine(msgspec.Struct, frozen=True):
    """A line that was left out, its number from 1, and why."""

    line: int
    why: str


class Sent(NamedTuple):
    """A message, and the line it stood on."""

    line: int
    message: NewMessage


class Batch(NamedTuple):
    """Messages of one conversation, in the order of the file."""

    conversation: str
    sent: list[Sent]


_decode = msgspec.json.Decoder(ChatLine).decode


def lines_of(stream: IO[bytes], bytes_max: int) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines; None for one over the limit, which is skipped and not kept."""
    number = 0
    while raw := stream.readline(bytes_max + 1):
        number += 1
        if len(raw) <= bytes_max or raw.endswith(b"\n"):
            yield number, raw
            continue
        while raw and not raw.endswith(b"\n"):
            raw = stream.readline(1 << 20)
        yield number, None


def parse(
    number: int, raw: bytes | None, bytes_max: int
) -> tuple[str, NewMessage] | BadLine | None:
    """The conversation and message of a line, what is wrong with it, or None for an empty line."""
    if raw is None:
        return BadLine(number, f"longer than {bytes_max / (1 << 20):g} MiB (max_text_mb)")
    text, why = files.decode(raw)
    if why == "empty":
        return None
    if why:
        return BadLine(number, why)
    try:
        line = _decode(text)
        time = as_time(line.time, "time")
    except msgspec.ValidationError as error:
        return BadLine(number, translated(error, ChatLine).message)
    except RecursionError:
        return BadLine(number, "not JSON of a message: it is nested too deeply")
    except msgspec.DecodeError as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        return BadLine(number, f"not JSON: {reason}")
    except ValueError as error:
        return BadLine(number, str(error))
    except Exception as error:
        if getattr(error, "code", "") != "invalid_input":
            raise
        return BadLine(number, str(error))
    conversation = "default" if line.conversation is None else str(line.conversation)
    return conversation, NewMessage(
        content=line.content,
        role=line.role,
        id=None if line.id is None else str(line.id),
        name=line.name,
        time=time,
        tags=line.tags or (),
        metadata=line.metadata or {},
        importance=line.importance,
    )


class Sorter:
    """Gathers messages by conversation and gives them out in batches."""

    def __init__(
        self,
        *,
        messages_max: int = BATCH_MESSAGES_MAX,
        bytes_max: int = BATCH_BYTES_MAX,
        buffer_max: int = BUFFER_BYTES_MAX,
    ) -> None:
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._buffer_max = buffer_max
        self._held: OrderedDict[str, list[Sent]] = OrderedDict()
        """By conversation, the one that was last added to at the end."""
        self._sizes: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._total = 0

    def add(
        self, number: int, conversation: str, message: NewMessage, size: int
    ) -> Iterator[Batch]:
        """Take a message of `size` bytes; give out what is full."""
        held = self._held.setdefault(conversation, [])
        self._sizes.setdefault(conversation, 0)
        if held and self._sizes[conversation] + size > self._bytes_max:
            yield self._give(conversation)
            held = self._held.setdefault(conversation, [])
            self._sizes[conversation] = 0
        self._held.move_to_end(conversation)
        held.append(Sent(number, message))
        self._sizes[conversation] += size
        self._total += size
        if len(held) >= self._messages_max:
            yield self._give(conversation)
        elif self._total > self._buffer_max:
            while self._held and self._total > self._buffer_max // 2:
                yield self._give(next(iter(self._held)))

    def rest(self) -> Iterator[Batch]:
        """Give out everything that is held, in the order in which conversations began."""
        for conversation in sorted(self._held, key=lambda name: self._held[name][0].line):
            yield self._give(conversation)

    @property
    def conversations(self) -> int:
        return len(self._counts)

    def _give(self, conversation: str) -> Batch:
        held = self._held.pop(conversation)
        self._total -= self._sizes.pop(conversation)
        before = self._counts.get(conversation, 0)
        self._counts[conversation] = before + len(held)
        if before:
            held = [
                sent
                if sent.message.id is not None
                else sent._replace(message=_with_id(sent.message, before + place))
                for place, sent in enumerate(held)
            ]
        return Batch(conversation, held)


def _with_id(message: NewMessage, place: int) -> NewMessage:
    parts = (message.role, message.name, message.time, message.content)
    digest = blake2b(msgspec.msgpack.encode(parts), digest_size=8).hexdigest()
    return msgspec.structs.replace(message, id=f"line {place + 1} {digest}")
