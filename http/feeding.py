"""Sending many files or messages: in batches, with a result for each, and one account of it all."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rewound.http import files
from rewound.http.accounts import UNCHANGED
from rewound.http.chats import BadLine, Batch, Sorter, lines_of, parse
from rewound.http.cli_base import State, ask
from rewound.http.cli_errors import Told
from rewound.http.files import Found, Root, Skip
from rewound.memory.replies import Item, Page, Written
from rewound.memory.requests import (
    AddMessages,
    Filters,
    Ingest,
    List,
    MediaName,
    NewDocument,
    NewFact,
    Remember,
    RemoveDocument,
)

BATCH_DOCUMENTS_MAX = 64
BATCH_BYTES_MAX = 4 << 20
LISTED_MAX = 1_000
"""Bad lines that the account of an import lists; further ones are only counted."""

OF_THE_REQUEST = frozenset({"container", "key", "scope", "unless_after", "infer"})
"""Fields that are wrong for all items alike."""

W = TypeVar("W", Ingest, AddMessages, Remember)


class Feed:
    """Sends batches and keeps account. `writing` holds the fields of `Write` for each request."""

    def __init__(self, state: State, writing: dict[str, Any]) -> None:
        self.state = state
        self.writing = writing
        self.counts: Counter[str] = Counter()
        self.groups: dict[str, None] = {}
        self.notes: dict[str, None] = {}
        self.position = 0
        self.pending = 0
        self._requests = 0

    def send(self, kind: type[W], name: str, batch: Sequence[Any], **more: Any) -> list[Item]:
        """The items' results, in order; a batch refused whole is sent item by item."""
        key = self.writing.get("key")
        if key is not None and self._requests:
            key = f"{key}/{self._requests}"
        self._requests += 1
        request = kind(
            container=self.state.container, **self.writing | more | {"key": key, name: tuple(batch)}
        )
        try:
            reply = ask(self.state, request, Written)
        except Exception as error:
            if not isinstance(error, Told) or not _about_items(error):
                raise
            if len(batch) > 1:
                return [item for one in batch for item in self.send(kind, name, [one], **more)]
            reply = Written(
                container=self.state.container,
                group=None,
                position=self.position,
                items=(_refused(batch[0], error),),
            )
        self.account(reply)
        return list(reply.items)

    def account(self, reply: Written) -> None:
        for item in reply.items:
            self.counts["unchanged" if item.status in UNCHANGED else item.status] += 1
        if reply.group:
            self.groups[reply.group] = None
        self.notes |= dict.fromkeys(reply.notes)
        self.position = max(self.position, reply.position)
        self.pending += reply.pending


def _about_items(error: Told) -> bool:
    field = (error.field or "container").split(".")[0]
    return error.code == "invalid_input" and field not in OF_THE_REQUEST


_SORTS: dict[type[Any], str] = {NewDocument: "document", NewFact: "fact"}


def _refused(sent: Any, error: Told) -> Item:
    kind = _SORTS.get(type(sent), "message")
    field = (error.field or "").rpartition(".")[2] or None
    return Item(
        status="refused",
        kind=kind,
        caller_id=sent.id,
        code=error.code,
        field=field,
        message=error.message,
    )


# --- documents


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What `ingest` was told about all of its documents."""

    bytes_max: int
    media: MediaName | None = None
    said_at: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    infer: bool = True
    importance: float | None = None


def document(plan: Plan, text: str, *, caller_id: str | None, path: Path | None) -> NewDocument:
    media: Any = plan.media or (files.media_of(path) if path else "text")
    return NewDocument(
        text=text,
        id=caller_id,
        title=files.title_of(path, text, media) if path else None,
        address=str(path) if path else None,
        media=media,
        said_at=plan.said_at,
        tags=plan.tags,
        metadata=plan.metadata,
        importance=plan.importance,
    )


def ingest_files(
    feed: Feed, plan: Plan, found: Iterable[Found], skipped: list[Skip], step: Callable[[str], None]
) -> list[Item]:
    """Read and send files; `step` is told of each one that is done with."""
    items: list[Item] = []
    batch: list[NewDocument] = []
    size = 0
    for one in found:
        text = files.read(one, plan.bytes_max)
        step(one.id)
        if isinstance(text, Skip):
            skipped.append(text)
            continue
        if batch and (size + len(text) > BATCH_BYTES_MAX or len(batch) >= BATCH_DOCUMENTS_MAX):
            items += feed.send(Ingest, "documents", batch, infer=plan.infer)
            batch, size = [], 0
        batch.append(document(plan, text, caller_id=one.id, path=one.path))
        size += len(text)
    if batch:
        items += feed.send(Ingest, "documents", batch, infer=plan.infer)
    return items


def prune(feed: Feed, root: Root) -> list[Item]:
    """Tell documents that came from the root's folder and are no longer in it as removed."""
    removed: list[Item] = []
    for view_id, caller_id, address in list(_documents(feed)):
        path = Path(address)
        below = caller_id.startswith(f"{root.name}/") and path.is_relative_to(root.base)
        if not below or not files.is_gone(path):
            continue
        container = feed.state.container
        scope = feed.writing.get("scope")
        request = RemoveDocument(
            container=container, id=view_id, **({"scope": scope} if scope else {})
        )
        reply = ask(feed.state, request, Written)
        feed.account(msgspec.structs.replace(reply, items=()))
        removed += [msgspec.structs.replace(item, caller_id=caller_id) for item in reply.items]
    feed.counts["removed"] += len(removed)
    return removed


def _documents(feed: Feed) -> Iterator[tuple[str, str, str]]:
    """Id, caller's id and address of every document that has all three."""
    cursor: str | None = None
    scope = feed.writing.get("scope")
    filters = Filters(scope=scope) if scope else Filters()
    while True:
        request = List(
            container=feed.state.container,
            what="document",
            limit=100,
            cursor=cursor,
            filters=filters,
        )
        page = ask(feed.state, request, Page)
        for view in page.items:
            if view.caller_id and view.address:
                yield view.id, view.caller_id, view.address
        cursor = page.cursor
        if not page.has_more or cursor is None:
            return


# --- messages


def import_lines(
    feed: Feed,
    stream: Any,
    bytes_max: int,
    *,
    infer: bool,
    step: Callable[[int], None],
    sorter: Sorter | None = None,
) -> tuple[list[BadLine], int]:
    """Send every good line; the bad ones, and how many conversations there were."""
    sorter = sorter or Sorter()
    bad: list[BadLine] = []

    def fault(line: BadLine, status: str) -> None:
        feed.counts[status] += 1
        if len(bad) < LISTED_MAX:
            bad.append(line)

    def send(batches: Iterable[Batch]) -> None:
        for batch in batches:
            messages = [sent.message for sent in batch.sent]
            items = feed.send(
                AddMessages, "messages", messages, conversation=batch.conversation, infer=infer
            )
            for sent, item in zip(batch.sent, items, strict=False):
                if item.status == "refused" and len(bad) < LISTED_MAX:
                    where = f"{item.field}: " if item.field else ""
                    bad.append(BadLine(sent.line, where + (item.message or "refused")))

    for number, raw in lines_of(stream, bytes_max):
        parsed = parse(number, raw, bytes_max)
        step(len(raw or b""))
        if parsed is None:
            continue
        feed.counts["lines"] += 1
        if isinstance(parsed, BadLine):
            fault(parsed, "bad")
        else:
            conversation, message = parsed
            send(sorter.add(number, conversation, message, len(raw or b"")))
    send(sorter.rest())
    bad.sort(key=lambda line: line.line)
    return bad, sorter.conversations
