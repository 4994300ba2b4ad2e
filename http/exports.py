"""Exports of other memories: which of them a file is, and where in it the records lie.

    memry               {"format": "memry-backup", "tables": {"memories": [{"content": …}, …]}}
    mcp-memory-service  {"export_metadata": {…}, "memories": [{"content": …}, …]}
    MemMachine          {"content": {"episodic_memory": […], "semantic_memory": […]}}
    Supermemory         {"memoryEntries": [{"memory": …}, …]}, {"memories": …}, {"documents": …}
    Mem0                {"results": [{"memory": …}, …]}
    ChatGPT, Claude     a list of conversations (`chat_exports.py`)

Supermemory and Mem0 have no export of their own: what their APIs list is one. Several pages may
stand in a list, or a page a line. A zip is looked through for its `conversations*.json`.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator
from lzma import LZMAError
from typing import IO, Any, Final, NamedTuple, cast
from zipfile import BadZipFile, ZipFile

import msgspec

from rewound.http.chat_exports import chatgpt, claude
from rewound.http.chats import ChatLine
from rewound.http.cli_errors import Refusal
from rewound.http.export_records import Read, Reader, document, episode, fact, feature

HEAD_BYTES = 4096
_MARK = b"\xef\xbb\xbf"
_ZIP = b"PK\x03\x04"
_BROKEN_ZIP = (
    BadZipFile, zlib.error, LZMAError, struct.error, EOFError, OSError, ValueError, RuntimeError
)  # fmt: skip
"""What zipfile raises for a zip that is cut, changed or locked."""
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape of JSON, its group half a character without the other half."""
_CONVERSATIONS = re.compile(r"(^|/)conversations[^/]*\.json$")
EXPORT_BYTES_MAX = 1 << 30

Page = dict[str, Any]

_FIRST_KEY = re.compile(rb'\{\s*"([^"\\]{1,60})"\s*:\s*(\{?)')
_OF_A_LINE: Final = frozenset(name.encode() for name in ChatLine.__struct_fields__)
_LISTS: Final = ("memoryEntries", "memories", "documents", "results")


class Found(NamedTuple):
    """A record, its number from 1, and what reads it."""

    number: int
    record: Page
    reader: Reader


class Export(NamedTuple):
    """`source` is whose it is; its records in their order."""

    source: str
    found: list[Found]


def opened(stream: IO[bytes]) -> Export | IO[bytes]:
    """The export that a stream holds, else a stream of a chat's lines. Raises Refusal."""
    head = stream.read(HEAD_BYTES)
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        stream = io.BytesIO(_in_utf8(_all(head, stream)))
        head = stream.read(HEAD_BYTES)
    if not may_be_one(head):
        return cast("IO[bytes]", io.BufferedReader(_Joined(head, stream)))
    raw = _all(head, stream)
    pages, by_line = _packed(raw) if raw.startswith(_ZIP) else pages_of(raw)
    export = recognised(pages, every=by_line)
    if export is not None:
        return export
    if by_line or not pages:
        return io.BytesIO(raw)
    if not any(isinstance(page, dict) and "content" in page for page in pages):
        raise Refusal(
            "the file is JSON, but neither a chat (objects with a content, one a line or a list) "
            f"nor an export of {', '.join(SOURCES)}",
            field="file",
        )
    return io.BytesIO(b"".join(msgspec.json.encode(page) + b"\n" for page in pages))


def _all(head: bytes, stream: IO[bytes]) -> bytes:
    raw = head + stream.read(EXPORT_BYTES_MAX)
    if len(raw) > EXPORT_BYTES_MAX:
        raise Refusal("an export of over 1 GiB is not read: give it in parts", field="file")
    return raw


def _in_utf8(raw: bytes) -> bytes:
    """What PowerShell writes in UTF-16; as it is where it is not whole."""
    try:
        return raw.decode("utf-16").encode()
    except UnicodeError:
        return raw


class _Joined(io.RawIOBase):
    """What was read of a stream already, and the rest of it."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        part = self._head[:size] or self._stream.read(size)
        self._head = self._head[size:]
        buffer[: len(part)] = part
        return len(part)


def _packed(raw: bytes) -> tuple[list[Any], bool]:
    """The conversations in a zip, as it is delivered. Raises Refusal when there are none."""
    try:
        with ZipFile(io.BytesIO(raw)) as packed:
            inside = [each for each in packed.infolist() if _CONVERSATIONS.search(each.filename)]
            if sum(each.file_size for each in inside) > EXPORT_BYTES_MAX:
                raise Refusal("an export of over 1 GiB is not read: give it in parts", field="file")
            unpacked = [packed.read(each) for each in inside]
    except _BROKEN_ZIP:
        return [], True
    pages = [page for each in unpacked for page in pages_of(each)[0]]
    if not pages:
        raise Refusal("the zip holds no conversations.json with conversations", field="file")
    return pages, False


def may_be_one(head: bytes) -> bool:
    """Whether a file that begins like this is no chat of one message a line."""
    head = head.removeprefix(_MARK).lstrip()
    if head.startswith((b"[", _ZIP)):
        return True
    first = _FIRST_KEY.match(head)
    return first is not None and (first[1] not in _OF_A_LINE or first[2] == b"{")


def pages_of(raw: bytes) -> tuple[list[Any], bool]:
    """What a file holds in JSON: a value, the values of a list, or one a line (then true).

    Half a character is read as U+FFFD. Raises Refusal for JSON of several lines that is cut or
    broken: line by line nothing of it would be of use.
    """
    raw = raw.removeprefix(_MARK)
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        whole = _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], raw)
        if whole != raw:
            return pages_of(whole)
        try:
            return msgspec.json.Decoder().decode_lines(raw), True
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            if not _is_json(raw.lstrip().partition(b"\n")[0]):
                reason = str(error).removeprefix("JSON is malformed: ")
                raise Refusal(f"the file is not JSON: {reason}", field="file") from None
            return [], True
    return value if isinstance(value, list) else [value], False


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def recognised(pages: list[Any], *, every: bool = False) -> Export | None:
    """Whose export the pages are, or None when they are nobody's that is known.

    A page that is odd among others of an export is told as a record that is wrong, unless `every`
    one must be right.
    """
    for source, records in _SOURCES.items():
        of_pages = [records(page) if isinstance(page, dict) else None for page in pages]
        known = sum(each is not None for each in of_pages)
        if not known or (every and known < len(pages)):
            continue
        read = [
            one
            for page, found in zip(pages, of_pages, strict=True)
            for one in ([(page, _odd)] if found is None else found)
        ]
        return Export(source, [Found(number, *one) for number, one in enumerate(read, 1)])
    return None


def _odd(page: Any) -> Read:
    del page
    return Read(wrong="it is nothing that such an export holds")


# --- where the records lie: of one page, each with what reads it, or None for another's page

Records = Iterable[tuple[Page, Reader]]


def _memry(page: Page) -> Records | None:
    tables = page.get("tables")
    if page.get("format") != "memry-backup" or not isinstance(tables, dict):
        return None
    return _records(tables.get("memories"), fact)


def _mcp_memory_service(page: Page) -> Records | None:
    return _records(page.get("memories"), fact) if "export_metadata" in page else None


def _mem_machine(page: Page) -> Records | None:
    content = page.get("content")
    if not isinstance(content, dict) or not {"episodic_memory", "semantic_memory"} & set(content):
        return None
    return [
        *_records(content.get("episodic_memory"), episode),
        *_records(content.get("semantic_memory"), feature),
    ]


def _listed(name: str, page: Page, *, mem0: bool) -> Records | None:
    """Records under one name, or a record itself. Those of Mem0 name their user."""
    if isinstance(page.get("memory"), str):
        return [(page, fact)] if _is_mem0(page) == mem0 else None
    records = page.get(name)
    if not isinstance(records, list) or not all(isinstance(each, dict) for each in records):
        return None
    if any(_is_mem0(each) for each in records) != mem0:
        return None
    return [(each, fact if isinstance(each.get("memory"), str) else document) for each in records]


def _is_mem0(record: Page) -> bool:
    return "user_id" in record or "hash" in record


def _mem0(page: Page) -> Records | None:
    return _listed("results", page, mem0=True)


def _supermemory(page: Page) -> Records | None:
    """Its v5 lists all three kinds, two of them empty."""
    found = [_listed(name, page, mem0=False) for name in _LISTS]
    known = [each for each in found if each is not None]
    return [one for each in known for one in each] if known else None


def _records(records: Any, reader: Reader) -> Iterator[tuple[Page, Reader]]:
    for record in records if isinstance(records, list) else ():
        yield record if isinstance(record, dict) else {}, reader


_SOURCES: dict[str, Callable[[Page], Records | None]] = {
    "memry": _memry,
    "mcp-memory-service": _mcp_memory_service,
    "MemMachine": _mem_machine,
    "Mem0": _mem0,
    "Supermemory": _supermemory,
    "ChatGPT": chatgpt,
    "Claude": claude,
}
"""Source -> its records in a page, in the order in which they are tried."""
SOURCES = tuple(_SOURCES)
