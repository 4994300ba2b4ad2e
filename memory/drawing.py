"""What was drawn from one source, as events.

Each is caused by the one that brought the text, so that taking that back takes the facts along, and
giving it back brings them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, BodyWriter, Place
from rewound.eventlog.ids import EventId, FactId, IdSource, Kind, Ref
from rewound.eventlog.instants import Instant
from rewound.eventlog.log import Draft
from rewound.llm.extraction import Doubted, Drawn, ExtractionFailed
from rewound.memory.fields import FACT_CHARS_MAX
from rewound.memory.sources import BLACK, Key, Known, Piece, Source, key_of


def drafts(
    source: Source, drawn: Sequence[Sequence[Drawn]], extractor: str, ids: IdSource
) -> list[Draft]:
    """The facts and that the pieces have been read, in groups that have one cause each.

    Raises ExtractionFailed when the extractor answered something else than it was asked.
    """
    readable = [piece for piece in source.pieces if piece.readable]
    if len(drawn) != len(readable):
        raise ExtractionFailed(f"{len(drawn)} answers for {len(readable)} texts")
    by_place = dict(zip((piece.place for piece in readable), drawn, strict=True))
    scribe = _Scribe(source, extractor, ids)
    scribe.read(by_place)
    for cause in dict.fromkeys(piece.cause for piece in source.pieces):
        scribe.write([piece for piece in source.pieces if piece.cause == cause], cause)
    return scribe.drafts


class _Statement(NamedTuple):
    """What was drawn, from where, and the event that brought the first of these places."""

    key: Key
    drawn: Drawn
    spans: list[e.Span]
    cause: EventId


class _Scribe:
    """Writes down what was drawn from one source."""

    def __init__(self, source: Source, extractor: str, ids: IdSource) -> None:
        self.drafts: list[Draft] = []
        self._source = source
        self._extractor = extractor
        self._ids = ids
        self._statements: dict[Key, _Statement] = {}
        self._doubted: set[Place] = set()

    def read(self, by_place: dict[Place, Sequence[Drawn]]) -> None:
        """Gather each statement with all places that make it: it stands as long as one does."""
        self._doubted = {at for at, drawn in by_place.items() if isinstance(drawn, Doubted)}
        for piece in self._source.pieces:
            for each in by_place.get(piece.place, ()):
                _check(each, piece)
                if _may_stand(each, piece):
                    key = key_of(each.text, each.kind, self._begun(each), each.valid_to)
                    span = e.Span(self._source.ref, piece.place, each.start, each.end)
                    first = _Statement(key, each, [], piece.cause)
                    self._statements.setdefault(key, first).spans.append(span)

    def write(self, pieces: Sequence[Piece], cause: EventId) -> None:
        """What comes of the pieces that one event brought."""
        stated = (self._state(each) for each in self._statements.values() if each.cause == cause)
        facts = tuple(dict.fromkeys(fact for fact in stated if fact is not None))
        places = tuple(piece.place for piece in pieces)
        why = e.Why.DONE if facts else _why_none(pieces)
        suspect = not self._doubted.isdisjoint(places)

        def finished(bodies: BodyWriter) -> e.Event:
            extractor = bodies.piece(self._extractor)
            return e.ExtractionFinished(self._source.ref, extractor, facts, places, why, suspect)

        self._add(finished, cause)

    def _state(self, statement: _Statement) -> FactId | None:
        """The fact, new or known; None when it is not to come again."""
        each, spans, cause = statement.drawn, statement.spans, statement.cause
        known = self._known(statement)
        if known is None or (known.over and not known.settled and self._is_new(known, spans)):
            fact = FactId(self._ids.new())
            self._add(lambda bodies: self._extracted(bodies, fact, each, spans), cause)
            return fact
        if known.settled:
            return None
        new = tuple(sorted(span for span in spans if span.place not in known.places))
        # what it stood on is gone, or only moved: it stands on what says so now
        if new or known.ended or not known.there:
            self._add(lambda _: e.SeenAgain(Ref(Kind.FACT, known.fact), known.at, new), cause)
        return known.fact

    def _is_new(self, known: Known, spans: Sequence[e.Span]) -> bool:
        """Whether it is said in a text that it was not drawn from before."""
        return any(span.place not in known.places for span in spans)

    def _known(self, statement: _Statement) -> Known | None:
        each = statement.drawn
        known = self._source.known.get(statement.key)
        if known is None and each.valid_from is None:
            known = self._source.known.get(key_of(each.text, each.kind, None, each.valid_to))
        return known

    def _extracted(
        self, bodies: BodyWriter, fact: FactId, each: Drawn, spans: list[e.Span]
    ) -> e.Event:
        statement = e.Statement(
            text=bodies.piece(each.text.strip()),
            kind=each.kind,
            valid_from=self._begun(each),
            valid_to=each.valid_to,
            subject=bodies.text(each.subject or None),
            attribute=bodies.text(each.attribute or None),
            value=bodies.text(each.value or None),
            entities=bodies.value(list(each.entities)),
        )
        confidence = min(1000, max(0, each.confidence))
        tags = bodies.value(list(self._source.tags))
        return e.FactExtracted(fact, statement, tuple(sorted(spans)), tags, confidence)

    def _begun(self, each: Drawn) -> Instant:
        """A state without a date begins when it was said; one that was over by then, no later."""
        begun = each.valid_from or self._source.begun
        if each.valid_from is None and each.valid_to is not None:
            return min(begun, each.valid_to, key=lambda instant: instant.at)
        return begun

    def _add(self, make: Callable[[BodyWriter], e.Event], cause: EventId) -> None:
        bodies = BodyWriter(self._ids)
        event = make(bodies)
        scope: Body | None = bodies.value(self._source.scope)
        self.drafts.append(Draft(event, bodies.sealed, (cause,), scope))


def failure(
    source: Source,
    extractor: str,
    ids: IdSource,
    *,
    why: e.Why,
    detail: str,
    reply: str | None,
    retry_at: int | None,
) -> Draft:
    """That an attempt came to nothing, and on what reply; parked when there is no time for
    another."""
    bodies = BodyWriter(ids)
    event = e.ExtractionFailed(
        source.ref,
        bodies.piece(extractor),
        source.attempts + 1,
        why,
        bodies.text(detail or None),
        retry_at,
        parked=retry_at is None,
        reply=bodies.text(reply or None),
    )
    scope = bodies.value(source.scope)
    return Draft(event, bodies.sealed, (source.pieces[0].cause,), scope)


def _check(each: Drawn, piece: Piece) -> None:
    """Raises ExtractionFailed for what cannot have been drawn from the text."""
    if not 0 <= each.start < each.end <= len(piece.text or ""):
        raise ExtractionFailed("a statement names characters that its text does not have")
    if not each.text.strip():
        raise ExtractionFailed("a statement is empty")


def _may_stand(each: Drawn, piece: Piece) -> bool:
    """Nothing is drawn from what was forgotten, and a fact is short."""
    hidden = any(start < each.end and each.start < end for start, end in piece.masks)
    return (
        not hidden and not (piece.masks and BLACK in each.text) and len(each.text) <= FACT_CHARS_MAX
    )


def _why_none(pieces: Sequence[Piece]) -> e.Why:
    if all(piece.text is None for piece in pieces):
        return e.Why.SOURCE_GONE
    if any(piece.masks for piece in pieces) and not any(piece.readable for piece in pieces):
        return e.Why.MASKED
    return e.Why.NOTHING_STATED
