"""Labels: what is kept with an item beside its text, read from its bodies.

The index answers whether an entry has a tag; for what a tag contains its labels are read. That
takes several reads of the store for each entry, so what was read is kept for a while: an entry is a
version, which never changes, and has its ordinal for as long as the index is there.
"""

from collections import OrderedDict
from collections.abc import Mapping
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

from rewound.eventlog.bodies import Body, read_value
from rewound.projections import entries
from rewound.projections import tags as tagging
from rewound.projections.documents import DocumentRow
from rewound.projections.facts import FactRow
from rewound.projections.messages import MessageRow

_LABELS_BYTES = 400
"""What one weighs beside its texts, about."""


class Labels(NamedTuple):
    """Of a fact, message or document; times in µs. `entities` are all names in a fact, `packed` is
    the metadata as its body has it."""

    packed: bytes | None
    tags: tuple[str, ...]
    recorded_at: int
    said_at: int | None
    subject: str | None
    attribute: str | None
    entities: tuple[str, ...]
    speaker: str | None

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Read anew each time: unpacked it would take many times the room."""
        found: Mapping[str, Any] = {} if self.packed is None else read_value(self.packed)
        return found


class Reading:
    """Reads labels, and counts the bytes that they take."""

    def __init__(self, read: entries.Read) -> None:
        self._read_body = read
        self.size_bytes = 0

    def _read(self, body: Body) -> bytes | None:
        content = self._read_body(body)
        self.size_bytes += 0 if content is None else len(content)
        return content

    def labels(self, state: FactRow | MessageRow | DocumentRow) -> Labels:
        read = self._read
        subject = attribute = speaker = None
        named: list[str] = []
        if isinstance(state, FactRow):
            subject = entries.text_of(state.subject, read)
            attribute = entries.text_of(state.attribute, read)
            value = entries.text_of(state.value, read)
            names = (subject, value, *entries.names_of(state, read))
            named = [name for name in names if name]
        elif isinstance(state, MessageRow):
            speaker = entries.text_of(state.speaker, read)
        self.size_bytes += _LABELS_BYTES
        return Labels(
            packed=None if state.metadata is None else read(state.metadata),
            tags=tagging.names(state.tags, read),
            recorded_at=state.recorded_at,
            said_at=None if state.said_at is None else state.said_at.at,
            subject=subject,
            attribute=attribute,
            entities=tuple(named),
            speaker=speaker,
        )


class _Kept(NamedTuple):
    labels: dict[int, Labels]
    size_bytes: int


class LabelCache:
    """Labels of the containers read last, by ordinal, for the threads of one process.

    `clear` at an erasure, with the log's sequence after it: what was read from a snapshot before
    that is not kept any more.
    """

    def __init__(self, *, size_bytes_max: int = 64 << 20) -> None:
        self._size_bytes_max = size_bytes_max
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._size_bytes = 0
        self._from_sequence = 0
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """Bytes held, about."""
        return self._size_bytes

    def of(self, container: bytes) -> Mapping[int, Labels]:
        """What is known of a container. Only to be looked up in: other threads add to it."""
        with self._lock:
            kept = self._kept.get(container)
            if kept is None:
                return {}
            self._kept.move_to_end(container)
            return kept.labels

    def keep(
        self, container: bytes, found: Mapping[int, Labels], size_bytes: int, sequence: int
    ) -> None:
        """Keep what was read from a snapshot of the log at that sequence, as far as there is room.

        Room is made by letting go of the containers that were read longest ago.
        """
        with self._lock:
            if sequence < self._from_sequence:
                return
            known, held = self._kept.get(container) or _Kept({}, 0)
            if held + size_bytes > self._size_bytes_max:
                count = len(found) * (self._size_bytes_max - held) // size_bytes
                size_bytes = size_bytes * count // len(found)
                found = dict(islice(found.items(), count))
            known.update(found)
            self._kept[container] = _Kept(known, held + size_bytes)
            self._kept.move_to_end(container)
            self._size_bytes += size_bytes
            while self._size_bytes > self._size_bytes_max:
                self._size_bytes -= self._kept.popitem(last=False)[1].size_bytes

    def clear(self, sequence: int) -> None:
        """Let go of everything read before that sequence of the log."""
        with self._lock:
            self._from_sequence = max(self._from_sequence, sequence)
            self._kept.clear()
            self._size_bytes = 0
