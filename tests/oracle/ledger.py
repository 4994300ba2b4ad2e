"""The events of one container as the folds look at them: those that hold, and who states what."""

from collections.abc import Sequence
from functools import cached_property

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.log import Recorded
from tests.oracle.effect import BodyOf, Texts, effective_ids


def place_name(place: Place) -> str:
    return f"{place.at}:{place.slot}"


class Ledger:
    """All events, those that hold, and their texts.

    A row is worked out by looking at every event. For logs of thousands `by_tag` looks only at
    those that name the item: quicker, but blind to an event that lacks a tag. `whole` is where a
    SeenAgain finds the event that it points to, when `events` leaves some out.
    """

    def __init__(
        self,
        events: Sequence[Recorded],
        body: BodyOf,
        *,
        by_tag: bool = False,
        whole: Sequence[Recorded] | None = None,
    ) -> None:
        holding = effective_ids(events)
        self.all = list(events)
        self.at = {recorded.position: recorded for recorded in whole or events}
        self.held = [r for r in events if r.envelope.event_id in holding]
        self.texts = Texts(body)
        tagged: dict[Ref, list[Recorded]] = {}
        self._tagged = tagged if by_tag else None
        for recorded in self.held if by_tag else ():
            for ref in dict.fromkeys((*recorded.event.creates(), *recorded.event.refers())):
                tagged.setdefault(ref, []).append(recorded)

    def about(self, item: Ref) -> list[Recorded]:
        """The effective events in which to look for an item."""
        return self.held if self._tagged is None else self._tagged.get(item, [])

    def named(self, kind: Kind) -> list[Ref]:
        """Every item of a kind that any event names."""
        return [ref for ref in self._named if ref.kind is kind]

    @cached_property
    def _named(self) -> dict[Ref, None]:
        refs = (ref for r in self.all for ref in (*r.event.creates(), *r.event.refers()))
        return dict.fromkeys(refs)

    def stated(self, recorded: Recorded) -> Recorded:
        """The event whose words this one asserts: itself, or what a SeenAgain points to."""
        while isinstance(recorded.event, e.SeenAgain):
            recorded = self.at[recorded.event.at]
        return recorded

    def asserting(self, item: Ref, *types: type[e.Event]) -> list[Recorded]:
        """Effective events of these types that create or support the item, in order."""
        return [
            r
            for r in self.about(item)
            if isinstance(r.event, (*types, e.SeenAgain)) and item in r.event.creates()
        ]

    def tags(self, item: Ref, *creating: type[e.Event]) -> list[str]:
        """Those of the first support, as every Replaced (with tags) and TagsEdited changes them.

        An edit counts wherever it stands: also before what is the first support now.
        """
        stated = self.stated(self.asserting(item, *creating)[0])
        tags = self.texts.tags(getattr(stated.event, "tags", None), stated.position)
        for r in self.about(item):
            event = r.event
            if isinstance(event, e.DocumentReplaced) and Ref(Kind.DOCUMENT, event.document) == item:
                if event.tags is not None:
                    tags = self.texts.tags(event.tags, r.position)
            elif isinstance(event, e.TagsEdited) and event.item == item:
                tags |= self.texts.tags(event.added, r.position)
                tags -= self.texts.tags(event.removed, r.position)
        return sorted(tags)

    def importance(self, item: Ref, *creating: type[e.Event]) -> int | None:
        """That of the first support, as every Replaced (with one) and ImportanceSet changes it."""
        stated = self.stated(self.asserting(item, *creating)[0])
        found: int | None = getattr(stated.event, "importance", None)
        for r in self.about(item):
            event = r.event
            if isinstance(event, e.DocumentReplaced) and Ref(Kind.DOCUMENT, event.document) == item:
                found = found if event.importance is None else event.importance
            elif isinstance(event, e.ImportanceSet) and event.item == item:
                found = event.importance
        return found
