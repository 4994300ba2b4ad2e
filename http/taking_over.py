"""Sending the records of an export: statements, messages and documents, in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from rewound.http.chats import BadLine, Batch, Sorter
from rewound.http.export_records import New
from rewound.http.exports import Export
from rewound.http.feeding import BATCH_BYTES_MAX, BATCH_DOCUMENTS_MAX, LISTED_MAX, Feed
from rewound.memory.requests import (
    AddMessages,
    Ingest,
    NewDocument,
    NewFact,
    NewMessage,
    Remember,
    Scope,
)

BATCH_FACTS_MAX = 500


class Stack(NamedTuple):
    """What may go in one request: of one sort, one scope and one conversation."""

    sort: type[New]
    scope: Scope
    conversation: str


class Taken(NamedTuple):
    """The records that were not kept, and how many conversations there were."""

    bad: list[BadLine]
    conversations: int


def take_over(feed: Feed, export: Export, *, infer: bool, step: Callable[[int], None]) -> Taken:
    """Send all records; those of a scope keep it, unless the command names one for all."""
    bad: list[BadLine] = []
    left_out: Counter[str] = Counter()
    stacks: dict[Stack, list[tuple[int, New]]] = {}
    conversations: set[str] = set()
    for number, record, reader in export.found:
        feed.counts["lines"] += 1
        read = reader(record)
        if read.left_out is not None:
            left_out[read.left_out] += 1
        elif read.new is None:
            feed.counts["bad"] += 1
            bad.append(BadLine(number, read.wrong or "it is empty"))
        else:
            stack = Stack(type(read.new), read.scope, read.conversation)
            stacks.setdefault(stack, []).append((number, read.new))
    for stack, records in stacks.items():
        if stack.sort not in (NewFact, NewDocument):
            conversations.add(stack.conversation)
        for batch in _batches(records, stack):
            bad += _sent(feed, stack, batch, infer=infer)
            step(len(batch))
    for what, number in left_out.items():
        feed.notes[f"{number:,} left out: {what}"] = None
    bad.sort(key=lambda line: line.line)
    return Taken(bad[:LISTED_MAX], len(conversations))


def _batches(records: list[tuple[int, New]], stack: Stack) -> Iterable[list[tuple[int, New]]]:
    if stack.sort is NewMessage:
        for given in _of_talk(records, stack.conversation):
            yield [(sent.line, sent.message) for sent in given.sent]
        return
    most = BATCH_DOCUMENTS_MAX if stack.sort is NewDocument else BATCH_FACTS_MAX
    batch: list[tuple[int, New]] = []
    size = 0
    for number, new in records:
        chars = 0 if isinstance(new, NewMessage) else len(new.text)
        if batch and (size + chars > BATCH_BYTES_MAX or len(batch) >= most):
            yield batch
            batch, size = [], 0
        batch.append((number, new))
        size += chars
    if batch:
        yield batch


def _of_talk(records: list[tuple[int, New]], conversation: str) -> Iterator[Batch]:
    """As a chat of lines is given out: what has no id is known again in any batch of a long one."""
    sorter = Sorter()
    for number, new in records:
        if isinstance(new, NewMessage):
            yield from sorter.add(number, conversation, new, len(new.content))
    yield from sorter.rest()


def _sent(feed: Feed, stack: Stack, batch: list[tuple[int, New]], *, infer: bool) -> list[BadLine]:
    """Send one batch; the records that were refused, with the reason."""
    new = [each for _, each in batch]
    more: dict[str, Any] = {}
    if stack.scope != Scope() and feed.writing.get("scope") in (None, Scope()):
        more["scope"] = stack.scope
    if stack.sort is NewFact:
        items = feed.send(Remember, "facts", new, infer=False, **more)
    elif stack.sort is NewDocument:
        items = feed.send(Ingest, "documents", new, infer=infer, **more)
    else:
        where = stack.conversation
        items = feed.send(AddMessages, "messages", new, conversation=where, infer=infer, **more)
    return [
        BadLine(
            number, f"{item.field}: {item.message}" if item.field else item.message or "refused"
        )
        for (number, _), item in zip(batch, items, strict=True)
        if item.status == "refused"
    ]
