"""Random logs made of events alone, without deciders: wilder than commands would write them.

They keep what every writer keeps: causes lie before and hold, an item is created once under a fresh
id and spoken of only afterwards, a SeenAgain points to an event that states its item, a label is of
a pair that was judged, a repeat lies where its fact begins. Everything else may happen in any
order: endings of endings, undos of anything, half a restoring, facts that repeat each other.
"""

from collections.abc import Callable
from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, Place
from rewound.eventlog.ids import (
    ConversationId,
    DocumentId,
    EventId,
    FactId,
    Kind,
    MessageId,
    PassageId,
    Ref,
)
from rewound.eventlog.instants import Instant, parse_instant
from rewound.eventlog.log import Recorded
from tests.oracle.effect import effective_ids
from tests.oracle.story import CONTAINER, Story, number
from tests.property.choices import Choices, chance, one
from tests.property.words import sentence

IDS = 5
"""Items of each kind: few, so that events meet."""

PERSONAL = (e.Undone, e.Forgotten, e.Restored, e.ContainerConfigured, e.LabelGiven)

DECIDED = tuple(outcome for outcome in e.Outcome if outcome is not e.Outcome.REVIEW)
"""What a pair may lean to, and what a person may say of it."""

MAKES = {
    Kind.FACT: (e.FactRemembered, e.FactExtracted, e.FactEdited),
    Kind.DOCUMENT: (e.DocumentIngested,),
    Kind.MESSAGE: (e.MessageRecorded,),
    Kind.PASSAGE: (e.PassagesCut,),
}


class Inventor:
    """Adds one random event after another to a story; some stories are of judging mostly."""

    def __init__(self, c: Choices) -> None:
        self.c = c
        self.story = Story()
        self.last_id = 0
        self.judging = chance(c, 40)

    # --- pieces of events

    def fresh(self) -> bytes:
        self.last_id += 1
        return number(self.last_id)

    def known(self, kind: Kind) -> list[bytes]:
        """Items of a kind that some event created, whether it holds or not."""
        return [ref.id for r in self.events(*MAKES[kind]) for ref in r.event.creates()]

    def full(self, kind: Kind) -> bool:
        return len(self.known(kind)) >= IDS

    def item(self) -> Ref | None:
        found = [
            Ref(kind, raw)
            for kind in (Kind.FACT, Kind.DOCUMENT, Kind.MESSAGE)
            for raw in self.known(kind)
        ]
        return one(self.c, found) if found else None

    def events(self, *types: type[e.Event]) -> list[Recorded]:
        return [r for r in self.story.events if not types or isinstance(r.event, types)]

    def event_id(self, *types: type[e.Event]) -> EventId | None:
        found = self.events(*types)
        return one(self.c, found).envelope.event_id if found else None

    def some(self, value: Any, percent: int = 40) -> Any:
        return value if chance(self.c, percent) else None

    def day(self, percent: int = 30) -> Any:
        days = ("2024", "2024-06", "2024-03-01", "2023-11-14T22:13:25Z")
        return parse_instant(one(self.c, days)) if chance(self.c, percent) else None

    def tags(self) -> Body | None:
        return self.story.value(["a", "b", "c"][: self.c.below(4)])

    def facts(self) -> tuple[FactId, ...]:
        found = [FactId(raw) for raw in self.known(Kind.FACT)]
        return tuple(dict.fromkeys(one(self.c, found) for _ in range(1 + self.c.below(3))))

    def spans(self) -> tuple[e.Span, ...]:
        sources = self.events(e.DocumentIngested, e.MessageRecorded)
        spans: list[e.Span] = []
        for _ in range(self.c.below(3) if sources else 0):
            recorded = one(self.c, sources)
            start = self.c.below(6)
            place = Place(recorded.position, self.c.below(2))
            source = recorded.event.creates()[0]
            spans.append(e.Span(source, place, start, start + 1 + self.c.below(5)))
        return tuple(spans)

    def told(self) -> dict[str, Any]:
        """Fields that documents, messages and facts share."""
        return {
            "caller_id": self.some(self.story.text("mine"), 20),
            "tags": self.tags(),
            "metadata": self.some(self.story.value({"k": self.c.below(3)}), 20),
            "said_at": self.day(),
            "importance": self.some(100 * self.c.below(11), 30),
        }

    def statement(self) -> e.Statement:
        return e.Statement(
            self.story.piece(sentence(self.c)),
            one(self.c, list(e.FactKind)),
            self.day(20),
            self.day(20),
            self.some(self.story.text("Ann"), 20),
        )

    def causes(self, percent: int = 30) -> tuple[int, ...]:
        """Events that hold now: a writer refuses to build on what was undone."""
        if not chance(self.c, percent):
            return ()
        holding = effective_ids(self.story.events)
        found = [r.position for r in self.story.events if r.envelope.event_id in holding]
        count = 1 + self.c.below(2) if found else 0
        return tuple(dict.fromkeys(one(self.c, found) for _ in range(count)))

    def scope(self) -> dict[str, str] | None:
        return {"user": "ann"} if chance(self.c, 20) else None

    # --- events

    def ingested(self) -> e.Event | None:
        if self.full(Kind.DOCUMENT):
            return None
        pieces = tuple(self.story.piece(sentence(self.c)) for _ in range(1 + self.c.below(3)))
        infer = not chance(self.c, 30)
        return e.DocumentIngested(DocumentId(self.fresh()), pieces, infer=infer, **self.told())

    def replaced(self) -> e.Event | None:
        old = self.events(e.DocumentIngested)
        if not old:
            return None
        recorded = one(self.c, old)
        assert isinstance(recorded.event, e.DocumentIngested)
        kept = (recorded.event.pieces[0].seen_from(recorded.position),) * self.c.below(2)
        pieces = (*kept, self.story.piece(sentence(self.c)))
        document = recorded.event.document
        return e.DocumentReplaced(document, pieces, (), self.gone(document), **self.told())

    def removed(self) -> e.Event | None:
        if not self.known(Kind.DOCUMENT):
            return None
        document = DocumentId(one(self.c, self.known(Kind.DOCUMENT)))
        return e.DocumentRemoved(document, self.gone(document))

    def gone(self, document: DocumentId) -> tuple[PassageId, ...]:
        """Some passages of a document."""
        cut = [r.event for r in self.events(e.PassagesCut)]
        found = [
            piece.passage
            for event in cut
            if isinstance(event, e.PassagesCut) and event.document == document
            for piece in event.passages
        ]
        return tuple(passage for passage in found if chance(self.c, 60))

    def cut(self) -> e.Event | None:
        found = self.events(e.DocumentIngested, e.DocumentReplaced)
        if not found:
            return None
        recorded = one(self.c, found)
        assert isinstance(recorded.event, e.DocumentIngested | e.DocumentReplaced)
        body = one(self.c, recorded.event.pieces).seen_from(recorded.position)
        cuts = (e.Cut(PassageId(self.fresh()), body, 0, max(1, body.chars // 2)),)
        return e.PassagesCut(recorded.event.document, cuts)

    def said(self) -> e.Event | None:
        if self.full(Kind.MESSAGE):
            return None
        return e.MessageRecorded(
            MessageId(self.fresh()),
            ConversationId(number(90)),
            self.c.below(5),
            one(self.c, list(e.Role)),
            self.story.piece(sentence(self.c)),
            infer=not chance(self.c, 30),
            **self.told(),
        )

    def seen(self) -> e.Event | None:
        stating = self.events(
            e.DocumentIngested,
            e.DocumentReplaced,
            e.MessageRecorded,
            e.FactRemembered,
            e.FactExtracted,
            e.FactEdited,
            e.SeenAgain,
        )
        if not stating:
            return None
        recorded = one(self.c, stating)
        event = recorded.event
        if isinstance(event, e.DocumentReplaced):
            return e.SeenAgain(Ref(Kind.DOCUMENT, event.document), recorded.position)
        item = event.creates()[0]
        again = item.kind is Kind.FACT and chance(self.c, 50)
        return e.SeenAgain(item, recorded.position, self.spans() if again else ())

    def remembered(self) -> e.Event:
        expires = self.some(1_700_000_030_000_000, 20)
        fields = {**self.told(), "expires_at": expires}
        return e.FactRemembered(FactId(self.fresh()), self.statement(), self.spans(), **fields)

    def extracted(self) -> e.Event | None:
        if self.full(Kind.FACT):
            return None
        return e.FactExtracted(FactId(self.fresh()), self.statement(), self.spans(), self.tags())

    def edited(self) -> e.Event | None:
        if not self.known(Kind.FACT) or self.full(Kind.FACT):
            return None
        ends, corrects = self.facts(), chance(self.c, 30)
        fact = FactId(self.fresh())
        return e.FactEdited(fact, ends, self.statement(), corrects, **self.told())

    def superseded(self) -> e.Event | None:
        if len(self.known(Kind.FACT)) < 2:
            return None
        by = FactId(one(self.c, self.known(Kind.FACT)))
        ends = tuple(fact for fact in self.facts() if fact != by)
        return e.FactSuperseded(by, ends, self.day(), chance(self.c, 30)) if ends else None

    def repeated(self) -> e.Event | None:
        if len(self.known(Kind.FACT)) < 2:
            return None
        fact, by = one(self.c, self.events(*MAKES[Kind.FACT])), one(self.c, self.known(Kind.FACT))
        event = fact.event
        assert isinstance(event, e.FactRemembered | e.FactExtracted | e.FactEdited)
        said = None if isinstance(event, e.FactExtracted) else event.said_at
        begin = event.statement.valid_from or said or Instant(fact.envelope.recorded_at)
        if by == event.fact:
            return None
        return e.FactSuperseded(FactId(by), (event.fact,), begin, repeats=True)

    def judged(self) -> e.Event | None:
        """One fact compared with some others; evidence and policy may be missing."""
        found = [FactId(raw) for raw in self.known(Kind.FACT)]
        if not found:
            return None
        fact = one(self.c, found)
        pairs = tuple(
            e.Pair(old, one(self.c, list(e.Outcome)), self.c.below(1000), one(self.c, DECIDED))
            for old in self.facts()
            if old != fact and not chance(self.c, 10)
        )
        evidence = self.some(self.story.value([{"cosine": self.c.below(9)} for _ in pairs]), 70)
        policy = self.some(self.event_id(e.PolicyFitted))
        judge = self.some(self.story.text("rules/1"))
        return e.FactsJudged(fact, pairs, policy, judge, evidence)

    def labelled(self) -> e.Event | None:
        found = [r for r in self.events(e.FactsJudged) if len(r.event.refers()) > 1]
        if not found:
            return None
        recorded = one(self.c, found)
        assert isinstance(recorded.event, e.FactsJudged)
        old = one(self.c, recorded.event.pairs).old
        outcome = one(self.c, DECIDED)
        return e.LabelGiven(recorded.envelope.event_id, recorded.event.fact, old, outcome)

    def linked(self) -> e.Event | None:
        found = [FactId(raw) for raw in self.known(Kind.FACT)]
        if len(found) < 2:
            return None
        source, target = one(self.c, found), one(self.c, found)
        outcome = e.Outcome.DISTINCT if chance(self.c, 40) else e.Outcome.EXTENDS
        return e.FactsLinked(source, target, outcome) if source != target else None

    def fitted(self) -> e.Event:
        label = self.event_id(e.LabelGiven)
        parameters = self.story.piece(f"weight {self.c.below(9)}")
        return e.PolicyFitted(CONTAINER, parameters, (label,) if label else ())

    def reinstated(self) -> e.Event | None:
        endings = self.events(e.FactSuperseded)
        if not endings:
            return None
        recorded = one(self.c, endings)
        assert isinstance(recorded.event, e.FactSuperseded)
        some = recorded.event.ends[: 1 + self.c.below(len(recorded.event.ends))]
        return e.FactReinstated(some, recorded.envelope.event_id, recorded.event.by)

    def withdrawn(self) -> e.Event | None:
        facts = self.facts() if self.known(Kind.FACT) else ()
        return e.FactsEnded(facts, self.day()) if facts else None

    def tagged(self) -> e.Event | None:
        item = self.item()
        return e.TagsEdited(item, self.tags(), self.tags()) if item else None

    def weighed(self) -> e.Event | None:
        item = self.item()
        return e.ImportanceSet(item, 100 * self.c.below(11)) if item else None

    def forgotten(self) -> e.Event | None:
        item = self.item()
        if item is None:
            return None
        others = (self.item() for _ in range(self.c.below(3)))
        hides = tuple(dict.fromkeys((item, *(other for other in others if other))))
        return e.Forgotten(item, hides, self.spans())

    def restored(self) -> e.Event | None:
        found = self.events(e.Forgotten)
        if not found:
            return None
        recorded = one(self.c, found)
        assert isinstance(recorded.event, e.Forgotten)
        event = recorded.event
        shows = event.hides[: 1 + self.c.below(len(event.hides))]
        masks = event.masks[: self.c.below(len(event.masks) + 1)]
        return e.Restored(event.item, shows, (recorded.envelope.event_id,), masks)

    def undone(self) -> e.Event | None:
        found = [r for r in self.events() if not isinstance(r.event, e.ContentErased)]
        if not found:
            return None
        targets = tuple(
            dict.fromkeys(one(self.c, found).envelope.event_id for _ in range(1 + self.c.below(2)))
        )
        return e.Undone(Ref(Kind.EVENT, targets[0]), targets)

    def finished(self) -> e.Event | None:
        found = self.events(e.DocumentIngested, e.DocumentReplaced, e.MessageRecorded)
        if not found:
            return None
        recorded = one(self.c, found)
        event = recorded.event
        if isinstance(event, e.MessageRecorded):
            source = Ref(Kind.MESSAGE, event.message)
            bodies: tuple[Body, ...] = (event.text,)
        else:
            assert isinstance(event, e.DocumentIngested | e.DocumentReplaced)
            source = Ref(Kind.DOCUMENT, event.document)
            bodies = event.pieces[: 1 + self.c.below(3)]
        places = tuple(body.place(recorded.position) for body in bodies)
        return e.ExtractionFinished(source, self.story.piece("rules"), (), places)

    def failed(self) -> e.Event | None:
        found = self.events(e.DocumentIngested, e.MessageRecorded)
        if not found:
            return None
        return e.ExtractionFailed(
            one(self.c, found).event.creates()[0],
            self.story.piece("model"),
            1 + self.c.below(3),
            one(self.c, (e.Why.CUT_OFF, e.Why.UNREACHABLE)),
            retry_at=self.some(1_700_000_030_000_000),
            parked=chance(self.c, 40),
        )

    def summed(self) -> e.Event | None:
        """Some messages in any order, after any summary or none: wilder than a worker's."""
        found = [MessageId(raw) for raw in self.known(Kind.MESSAGE)]
        if not found:
            return None
        messages = tuple(dict.fromkeys(one(self.c, found) for _ in range(1 + self.c.below(3))))
        after = self.some(self.event_id(e.SummaryWritten), 50)
        if chance(self.c, 35):
            return e.SummaryFailed(
                ConversationId(number(90)), messages, self.story.piece("model"),
                1 + self.c.below(3), one(self.c, (e.Why.CUT_OFF, e.Why.UNREACHABLE)), after,
                retry_at=self.some(1_700_000_030_000_000), parked=chance(self.c, 40),
            )  # fmt: skip
        text = self.story.piece(sentence(self.c))
        spans = self.spans()
        return e.SummaryWritten(
            ConversationId(number(90)), text, messages, after, spans, messages[:1]
        )

    def configured(self) -> e.Event:
        name = self.some(self.story.text(one(self.c, ("x", "y"))))
        zone = self.some(self.story.text(one(self.c, ("UTC", "Asia/Kolkata"))))
        return e.ContainerConfigured(CONTAINER, name, zone)

    def step(self) -> None:
        """One more event; an undo may not lie among the causes of what it undoes."""
        sent = (self.ingested, self.replaced, self.removed, self.cut, self.said, self.seen)
        stated = (self.remembered, self.remembered, self.extracted, self.edited)
        ended = (self.superseded, self.reinstated, self.withdrawn, self.withdrawn)
        ruled = (self.judged, self.judged, self.labelled, self.linked, self.repeated, self.fitted)
        taken = (self.forgotten, self.restored, self.undone, self.undone)
        work = (self.finished, self.failed, self.summed, self.summed)
        other = (self.tagged, self.weighed, *work, self.configured, self.seen)
        if self.judging:
            makers: tuple[Callable[[], e.Event | None], ...] = (
                *(*stated, *ended, *ruled, *ruled, self.linked, self.repeated, self.reinstated),
                *(self.undone, self.undone, self.undone, self.seen),
            )
        else:
            makers = (*sent, *stated, *ended, *ruled, *taken, *other)
        event = one(self.c, makers)() or self.seen() or self.remembered()
        personal = isinstance(event, PERSONAL)
        self.story.add(event, causes=() if personal else self.causes(), scope=self.scope())

    def erase(self) -> None:
        """Destroy an item's own bodies, as the last thing that happens."""
        item = self.item()
        if item is not None:
            made = {r.position for r in self.story.events if item in r.event.creates()}
            self.story.erase(item, *(place for place in self.story.kept if place.at in made))
