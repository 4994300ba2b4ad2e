"""What a writing command has come to so far: its events, in order, and what is filed with them.

Positions are known before the engine appends, since it appends a plan's drafts together at the end
of the container: so an event can name the bodies of one before it, and an item sent twice in one
command is seen again the second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.errors import Conflict, InvalidInput, NotFound, RewoundError, Stale
from rewound.eventlog.ids import EventId, Kind, Ref, parse, show
from rewound.eventlog.instants import Instant, has_offset
from rewound.eventlog.log import Draft, Recorded
from rewound.memory import requests as q
from rewound.memory.deciding import Deciding, Plan
from rewound.memory.fields import FACT_CHARS_MAX
from rewound.memory.identity import Scope
from rewound.memory.moments import zone_of
from rewound.memory.replies import Item, Status, Written
from rewound.memory.targets import scope_parts
from rewound.projections.importance import WHOLE

NO_EXTRACTOR = (
    "no extractor is set: texts are kept and searchable, facts will be derived when one is there"
)

New = TypeVar("New", q.NewFact, q.NewDocument, q.NewMessage)


class Drafting:
    """The drafts of one command in one container."""

    def __init__(self, command: q.Write, deciding: Deciding) -> None:
        self.deciding = deciding
        self.container = deciding.home()
        self.view = deciding.views.container(self.container)
        self.key = deciding.log.key(self.container)
        self.scope: Scope = scope_parts(command.scope)
        self.now_us = deciding.now_us
        self.drafts: list[Draft] = []
        self.files: list[tuple[bytes, Ref]] = []
        self._filed: dict[bytes, list[Ref]] = {}
        self.notes: list[str] = []
        self._zone = zone_of(self.view)
        self._since = command.unless_after
        self._head = deciding.log.head(self.container).position

    # --- events

    @property
    def position(self) -> int:
        """Where the next event will stand."""
        return self._head + len(self.drafts) + 1

    @property
    def last(self) -> EventId:
        """The event added last."""
        event_id = self.drafts[-1].event_id
        assert event_id is not None, "`add` gives every event its id"
        return event_id

    def new_id(self) -> bytes:
        return self.deciding.ids.new()

    def bodies(self) -> BodyWriter:
        """For the bodies of one event."""
        return BodyWriter(self.deciding.ids)

    def add(
        self,
        event: e.Event,
        bodies: BodyWriter,
        *,
        causes: tuple[EventId, ...] = (),
        scope: Scope | None = None,
    ) -> EventId:
        """The event with its bodies, in the command's scope unless another is given."""
        event_id = EventId(self.new_id())
        held = bodies.value(self.scope if scope is None else scope)
        self.drafts.append(Draft(event, bodies.sealed, causes, held, event_id))
        return event_id

    def see_again(self, item: Ref, at: int) -> EventId:
        """The item was sent again, as the event at that position states it."""
        return self.add(e.SeenAgain(item, at), self.bodies())

    def edit_tags(
        self, item: Ref, held: Iterable[str], added: Iterable[str], removed: Iterable[str] = ()
    ) -> EventId | None:
        """The change from the tags held, if it is one."""
        held = set(held)
        bodies = self.bodies()
        new = bodies.value(sorted(set(added) - held))
        gone = bodies.value(sorted(set(removed) & held))
        if new is None and gone is None:
            return None
        return self.add(e.TagsEdited(item, new, gone), bodies)

    def set_importance(self, item: Ref, held: int | None, given: float | None) -> EventId | None:
        """The change from the importance held (thousandths), if one is given and it is one."""
        new = thousandths(given)
        if new is None or new == held:
            return None
        return self.add(e.ImportanceSet(item, new), self.bodies())

    # --- what is known

    def file(self, digest: bytes, item: Ref) -> None:
        """File an item under a digest, once."""
        if item not in self.known(digest):
            self.files.append((digest, item))
            self._filed.setdefault(digest, []).append(item)

    def known(self, *digests: bytes) -> list[Ref]:
        """Items filed under any of the digests, oldest first, by this command too.

        Of several the last is the one of old (`identity`).
        """
        log, found = self.deciding.log, dict[Ref, None]()
        for digest in reversed(digests):
            own = self._filed.get(digest, ())
            found |= dict.fromkeys([*log.known(self.container, digest), *own])
        return list(found)

    def note_returning(self, *digests: bytes) -> None:
        """Say so when something that was forgotten or erased is sent again: it is a new item."""
        if any(self.view.hidden(ref) is not None for ref in self.known(*digests)):
            self.note(
                "something that had been forgotten was sent again: it is a new item and shows; "
                "leave it out of what you send, or forget the new one as well"
            )

    def touch(self, *items: Ref) -> None:
        """Raises Stale when the command was to find the items as they were at a position."""
        if self._since is None:
            return
        for item in items:
            if self.deciding.log.tagged(self.container, item.key(), self._since):
                raise Stale(
                    f"something happened to {item} after position {self._since}: read it again "
                    "and decide anew",
                    field="unless_after",
                    ids=(str(item),),
                )

    def time(self, text: str | None, field: str) -> Instant | None:
        """A time as the caller wrote it; without an offset it is in the container's zone."""
        if text is None:
            return None
        if not has_offset(text):
            self.note(f"times without an offset were read in {self._zone.name}")
        return self._zone.read(text, field)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    # --- the end of it

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Take back what was drafted within when it ends with an error."""
        marks = len(self.drafts), len(self.files), len(self.notes)
        try:
            yield
        except RewoundError:
            for digest, filed in self.files[marks[1] :]:
                self._filed[digest].remove(filed)
            del self.drafts[marks[0] :], self.files[marks[1] :], self.notes[marks[2] :]
            raise

    def plan(self, items: Sequence[Item]) -> Plan:
        """The plan whose reply tells what became of each item."""

        def reply(recorded: list[Recorded], after: Deciding) -> Written:
            return _written(items, self.notes, recorded, after)

        return Plan(self.drafts, reply, self.files)


def decide_each(
    drafting: Drafting, sent: Sequence[New], decide: Callable[[int, New], Item]
) -> list[Item]:
    """What becomes of each, by its number; of several, one that is wrong is refused and the rest
    goes on.

    Raises the first error when none is left.
    """
    items: list[Item] = []
    errors: list[RewoundError] = []
    for number, new in enumerate(sent):
        try:
            with drafting.attempt():
                items.append(decide(number, new))
        except (InvalidInput, NotFound, Conflict) as error:
            errors.append(error)
            items.append(_refused(new, error))
    if len(errors) == len(sent):
        raise errors[0]
    return items


def item(
    status: Status,
    ref: Ref,
    event: EventId,
    *,
    caller_id: str | None = None,
    facts: Iterable[bytes] = (),
    current: bytes | None = None,
) -> Item:
    """One item of a reply; whether facts are pending is filled in once it is folded."""
    return Item(
        status=status,
        kind=ref.kind.name.lower(),
        id=str(ref),
        event=show(Kind.EVENT, event),
        caller_id=caller_id,
        facts=tuple(show(Kind.FACT, fact) for fact in facts),
        current=None if current is None else show(ref.kind, current),
    )


def thousandths(importance: float | None) -> int | None:
    """An importance (0 to 1) as events have it."""
    return None if importance is None else round(importance * WHOLE)


def check_one_fact(text: str, infer: bool) -> None:
    """A text taken as one fact must not be too long for one. Raises InvalidInput naming `infer`."""
    if not infer and len(text) > FACT_CHARS_MAX:
        raise InvalidInput(
            f"with infer off the text is one fact of at most {FACT_CHARS_MAX:,} characters, and "
            f"this one has {len(text):,}: leave infer on, so that facts are drawn from it",
            field="infer",
        )


_NOUNS = {q.NewFact: "fact", q.NewDocument: "document", q.NewMessage: "message"}


def _refused(new: q.NewFact | q.NewDocument | q.NewMessage, error: RewoundError) -> Item:
    return Item(
        status="refused",
        kind=_NOUNS[type(new)],
        caller_id=new.id,
        code=error.code,
        field=error.field,
        message=error.message,
    )


def _written(
    items: Sequence[Item], notes: Sequence[str], recorded: list[Recorded], after: Deciding
) -> Written:
    home = after.home()
    view = after.views.container(home)
    told: list[Item] = []
    for each in items:
        source = None
        if each.id is not None and each.kind in ("document", "message"):
            kind = Kind.DOCUMENT if each.kind == "document" else Kind.MESSAGE
            source = Ref(kind, parse(each.id, kind))
        pending = source is not None and view.job(source) is not None
        told.append(msgspec.structs.replace(each, pending=True) if pending else each)
    pending_count = sum(each.pending for each in told)
    if pending_count and after.extractor is None:
        notes = [*notes, NO_EXTRACTOR]
    return Written(
        container=after.name,
        group=show(Kind.GROUP, recorded[0].envelope.group) if recorded else None,
        position=after.log.head(home).position,
        items=tuple(told),
        pending=pending_count,
        refused=sum(each.status == "refused" for each in told),
        notes=tuple(notes),
    )
