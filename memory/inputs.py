"""What a request must be: every field of every request has a check, found in `checks.py`.

`sift` checks a request. Of a batch it takes out the items that cannot be taken, so that one bad
message does not keep a whole transcript away; `merged` puts them into the reply as refused. A
single bad item, and anything wrong beside the items, raises InvalidInput.
"""

from typing import Any, NamedTuple, TypeVar

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.instants import has_offset, parse_instant
from rewound.memory import fields as f
from rewound.memory import requests as q
from rewound.memory.checks import ITEMS, REQUESTS, later
from rewound.memory.conversions import as_moment, as_scope, as_time, convert, translated
from rewound.memory.replies import Item, Reply, Written

__all__ = [
    "Refusal",
    "as_moment",
    "as_scope",
    "as_time",
    "check",
    "check_item",
    "convert",
    "merged",
    "refusal_of",
    "sift",
    "translated",
]

R = TypeVar("R", bound=q.Request)
W = TypeVar("W", bound=Reply)

NOTHING_TO_CHANGE = "nothing to change: give a text, add_tags, remove_tags or an importance"

BATCHES: dict[type[q.Request], str] = {
    q.Remember: "facts",
    q.Ingest: "documents",
    q.AddMessages: "messages",
}


class Refusal(NamedTuple):
    """An item of a batch that was taken out, and its number as sent."""

    number: int
    item: Item


def check(request: q.Request) -> None:
    """Check a request whole. Raises InvalidInput naming the first field that is wrong."""
    _, refused = sift(request)
    if refused:
        first = refused[0]
        place = f"{BATCHES[type(request)]}[{first.number}].{first.item.field}"
        raise InvalidInput(first.item.message or "", field=place)


def sift(request: R) -> tuple[R, list[Refusal]]:
    """Check a request; of a batch, take out the items that cannot be taken.

    Raises InvalidInput for anything else, for a single item, and when no item is left.
    """
    checks = REQUESTS.get(type(request))
    if checks is None:
        raise InvalidInput(f"{type(request).__name__} is not a request that a store answers")
    for name, check_field in checks.items():
        check_field(getattr(request, name), name)
    if isinstance(request, q.Update):
        _check_update(request)
    elif isinstance(request, q.Forget):
        _check_forget(request)
    name = BATCHES.get(type(request), "")
    return _sift_batch(request, name) if name else (request, [])


def _sift_batch(request: R, name: str) -> tuple[R, list[Refusal]]:
    batch = getattr(request, name)
    f.each(later, f.BATCH_MAX, empty=False)(batch, name)
    infer: bool = getattr(request, "infer")  # noqa: B009  every batch has it, q.Request does not
    taken: list[Any] = []
    refused: list[Refusal] = []
    for number, item in enumerate(batch):
        try:
            check_item(item, infer=infer)
        except InvalidInput as error:
            if len(batch) == 1:
                raise
            noun = name.removesuffix("s")
            refused.append(Refusal(number, refusal_of(noun, error, getattr(item, "id", None))))
        else:
            taken.append(item)
    if not taken:
        first = refused[0].item
        raise InvalidInput(
            f"none of the {len(batch)} {name} can be taken; the first: {first.message}",
            field=f"{name}[0].{first.field}",
        )
    if refused:
        request = msgspec.structs.replace(request, **{name: tuple(taken)})
    return request, refused


def check_item(item: Any, *, infer: bool) -> None:
    """Check one fact, document or message of a batch."""
    checks = ITEMS.get(type(item))
    if checks is None:
        raise InvalidInput(f"an item must be a fact, document or message, not {f.kind_of(item)}")
    for name, check_field in checks.items():
        check_field(getattr(item, name), name)
    if not infer:
        name = "content" if isinstance(item, q.NewMessage) else "text"
        f.statement(getattr(item, name), name)
    if isinstance(item, q.NewFact):
        _check_order(item)
        if item.forget_after is not None and item.expires_at is not None:
            raise InvalidInput(
                "forget_after and expires_at say the same in two ways: give one of them",
                field="forget_after",
            )


def refusal_of(noun: str, error: InvalidInput, caller_id: Any = None) -> Item:
    """How a refused item stands in the reply."""
    return Item(
        status="refused",
        kind=noun,
        caller_id=caller_id if error.field != "id" and isinstance(caller_id, str) else None,
        code=error.code,
        field=error.field,
        message=error.message,
    )


def _check_order(holds: q.NewFact | q.Update) -> None:
    """A fact ends after it begins; times with and without an offset cannot be compared here."""
    start, end = holds.valid_from, holds.valid_to
    if start is None or end is None or has_offset(start) != has_offset(end):
        return
    if parse_instant(end).at <= parse_instant(start).at:
        raise InvalidInput("valid_to must be later than valid_from", field="valid_to")


def _check_update(update: q.Update) -> None:
    _check_order(update)
    optional = ("text", "said_at", "valid_from", "valid_to", "expires_at", "metadata")
    given = [name for name in optional if getattr(update, name) is not None]
    in_place = update.add_tags or update.remove_tags or update.importance is not None
    if not given and not in_place:
        raise InvalidInput(NOTHING_TO_CHANGE, field="text")
    both = set(update.add_tags) & set(update.remove_tags)
    if both:
        raise InvalidInput("a tag is both in add_tags and in remove_tags", field="remove_tags")


def _check_forget(forget: q.Forget) -> None:
    """Nothing named must never mean everything."""
    if forget.filters is not None and forget.filters == q.Filters():
        raise InvalidInput(
            "filters is empty, which would mean everything: name tags, a source, a scope, kinds "
            "or times",
            field="filters",
        )
    given = [name for name in _CHOOSING if getattr(forget, name) not in (None, ())]
    if len(given) > 1:
        raise InvalidInput(
            f"{' and '.join(given)} cannot be given together: choose by one of them", field=given[1]
        )
    if forget.ids and forget.filters is not None:
        raise InvalidInput("give ids, or else filters, not both", field="ids")
    if not given and forget.filters is None:
        raise InvalidInput(f"nothing named: give {f.either((*_CHOOSING, 'filters'))}", field="ids")
    if forget.similar is not None:
        _check_similar(forget)
    elif forget.batch is not None:
        raise InvalidInput(
            "batch belongs to similar: it is what a look at similar items answered", field="batch"
        )


_CHOOSING = ("ids", "text", "query", "similar")
"""Fields by which a forgetting chooses, one at a time; filters alone do too."""


def _check_similar(forget: q.Forget) -> None:
    """What is alike in meaning is a guess: it is looked at before it is done."""
    if forget.limit is not None and forget.limit > q.SIMILAR_MAX:
        raise InvalidInput(
            f"limit is {forget.limit:,}, but what is similar is forgotten up to {q.SIMILAR_MAX} at "
            "a time",
            field="limit",
        )
    if forget.dry_run is False and forget.batch is None:
        raise InvalidInput(
            "what is similar is looked at first: ask without dry_run, then again with dry_run "
            "false and the batch of that answer",
            field="batch",
        )


def merged(reply: W, refused: list[Refusal]) -> W:
    """The reply to a sifted batch, with the refused items where they stood."""
    if not refused or not isinstance(reply, Written):
        return reply
    items = list(reply.items)
    for number, item in refused:
        items.insert(number, item)
    return msgspec.structs.replace(reply, items=tuple(items), refused=reply.refused + len(refused))
