"""Conditions: a tree of them becomes a mask over ordinals, before anything is ranked.

A leaf is answered from the index where that knows, over the whole container at once. Where texts
have to be read, they are read of those entries only that the other conditions leave: the parts of
an `All` are met cheapest first, each among what the ones before it left, and those of a `Some`
each among what the ones before it did not find.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.instants import MAX_US
from rewound.eventlog.spelling import composed
from rewound.projections import entries, measures, values
from rewound.projections.condition_tree import (
    READ,
    All,
    Clock,
    During,
    From,
    Metadata,
    Node,
    Not,
    OfKind,
    OfSort,
    Some,
    Text,
    cost,
    sorts_to_read,
)
from rewound.projections.entries import Has
from rewound.projections.labels import Labels, Reading
from rewound.projections.masks import Mask, Standing, Term, among
from rewound.projections.measures import Sort

_ROW_LOOKS = 8
"""Reading a row takes about as long as so many looks at the index."""


class Conditions:
    """Trees of conditions in one container, at a moment: the position `at`, None the present.

    `stands` is everything that stands then and may be spoken of.
    """

    def __init__(self, standing: Standing, stands: Mask, at: int | None) -> None:
        self._standing = standing
        self._stands = stands
        self._view = standing.view
        self._columns = standing.columns
        self._at = at
        self._secret = self._view.log.key(self._view.id)
        self._homes = standing.homes()

    def met(self, node: Node, left: Mask) -> Mask:
        """Those of the entries in `left` that meet the conditions, in a mask of its own."""
        match node:
            case All(parts):
                for part in sorted(parts, key=cost):
                    left = self.met(part, left)
                return left.copy()
            case Some(parts):
                found = np.zeros(self._columns.n, np.bool_)
                for part in sorted(parts, key=cost):
                    found |= self.met(part, left & ~found)
                return found
            case Not(part):
                return left & ~self.met(part, left)
            case OfSort(what):
                return left & among(self._columns.kind, what)
            case OfKind(kinds):
                facts: Mask = self._columns.kind == Kind.FACT
                return left & facts & among(self._columns.detail, kinds)
            case From(sources):
                return left & self._standing.holding(_sources(sources))
            case During():
                return self._during(node, left)
            case Metadata():
                return self._metadata(node, left)
        return self._text(node, left)

    # --- labels

    def _text(self, node: Text, left: Mask) -> Mask:
        if node.label is Has.SPEAKER:
            return self._speaker(node, left)
        if node.op == "exists":
            return left & self._standing.holding([(entries.HAS, node.label)])
        if cost(node) == READ:
            return self._read([(entries.HAS, node.label)], _says(node), left)
        term_of, field = _TERMS[node.label]
        terms = [(field, term_of(self._secret, text)) for text in node.texts]
        return left & self._standing.holding(terms)

    def _speaker(self, node: Text, left: Mask) -> Mask:
        """Messages of a speaker, and the facts that were drawn from them."""
        spoken: Mask = self._stands & (self._columns.kind == Kind.MESSAGE)
        has = [(entries.HAS, Has.SPEAKER)]
        if node.op == "eq":
            terms = [
                (entries.SPEAKERS, entries.speaker_term(self._secret, text)) for text in node.texts
            ]
            spoken &= self._standing.own(terms)
        elif node.op == "contains":
            spoken = self._read(has, _says(node), spoken)
        else:
            spoken &= self._standing.own(has)
        facts: Mask = self._columns.kind == Kind.FACT
        return (left & spoken) | self._drawn_from(spoken, left & facts)

    def _drawn_from(self, messages: Mask, facts: Mask) -> Mask:
        """Those of the facts that were drawn from any of the messages."""
        found = np.zeros(self._columns.n, np.bool_)
        ids = [raw.tobytes() for raw in self._columns.item[messages]]
        few = np.flatnonzero(facts)
        if len(few) * _ROW_LOOKS > len(ids):
            found[:] = self._standing.own((entries.SOURCES, raw.hex()) for raw in ids)
            return found & facts
        known = set(ids)
        for ordinal in few.tolist():
            row = self._view.row(self._ref(ordinal), self._at)
            assert row is not None, "what stands has a row"
            found[ordinal] = any(span.source.id in known for span in row.state.sources)
        return found

    # --- metadata

    def _metadata(self, node: Metadata, left: Mask) -> Mask:
        found = left & self._indexed(node)
        sorts = sorts_to_read(node)
        if not sorts:
            return found
        return found | self._read(self._keys(node.path, sorts), _fits(node), left & ~found)

    def _indexed(self, node: Metadata) -> Mask:
        """What the index alone knows to fit: of metadata, only its outermost keys."""
        own = np.zeros(self._columns.n, np.bool_)
        if "." in node.path:
            return own
        if node.op == "exists":
            return self._standing.holding(self._keys(node.path, tuple(Sort)))
        for operand in node.operands:
            sort = measures.sort_of(operand)
            if sort in (Sort.NUMBER, Sort.TIME) and node.op in _MEASURED:
                low, high = measures.stretch(self._secret, node.path, node.op, operand)
                own[self._view.between(entries.MEASURES, low, high)] = True
            elif node.op == "eq" and sort not in (Sort.LIST, Sort.OBJECT):
                term = entries.metadata_term(self._secret, node.path, operand)
                own |= self._standing.own([(entries.METADATA, term)])
        return self._standing.shared(own)

    def _keys(self, path: str, sorts: Sequence[Sort]) -> list[Term]:
        """What marks entries with such a value at a path; a key may itself hold dots."""
        terms = [(path, sort) for sort in sorts]
        terms += [(path[:at], Sort.OBJECT) for at in range(1, len(path)) if path[at] == "."]
        return [(entries.HAS, measures.key_term(self._secret, *each)) for each in terms]

    # --- times

    def _during(self, node: During, left: Mask) -> Mask:
        columns, clock = self._columns, node.clock
        facts: Mask = columns.kind == Kind.FACT
        match clock:
            case Clock.VALID_FROM:
                return left & facts & _within(columns.valid_from, node)
            case Clock.VALID_TO:
                ends: Mask = columns.valid_to != MAX_US
                return left & facts & ends & _within(columns.valid_to, node)
            case Clock.SAID_AT:
                said = left & ~facts & _within(self._standing.own_times(), node)
                return said | self._read(None, _said(node), left & facts)
        return self._recorded(node, left)

    def _recorded(self, node: During, left: Mask) -> Mask:
        """By the positions of the log. An entry's item was stated last between the opening of its
        first version and that of this one; only where that leaves it open, it is read."""
        log, container = self._view.log, self._view.id
        first, last = 0, MAX_US
        if node.start is not None:
            first = _position(log.position_at, container, node.start - 1) + 1
        if node.end is not None:
            last = _position(log.position_at, container, node.end - 1)
        latest = self._columns.opened[self._homes]
        earliest = self._columns.opened[self._columns.group[self._homes]]
        surely = (earliest >= first) & (latest <= last)
        maybe = (latest >= first) & (earliest <= last) & ~surely

        def stated(labels: Labels) -> bool:
            return _is_within(labels.recorded_at, node)

        return (left & surely) | self._read(None, stated, left & maybe)

    # --- reading

    def _read(
        self, terms: Sequence[Term] | None, fits: Callable[[Labels], bool], left: Mask
    ) -> Mask:
        """Those of the entries in `left` whose labels fit, read only where the terms are held."""
        if terms is not None:
            left = left & self._standing.holding(terms)
        fitting = np.zeros(self._columns.n, np.bool_)
        view = self._view
        known = view.label_cache.of(view.id)
        reading, fresh = Reading(view.content), dict[int, Labels]()
        for ordinal in np.unique(self._homes[left]).tolist():
            labels = known.get(ordinal)
            if labels is None:
                row = view.row(self._ref(ordinal), self._at)
                assert row is not None, "what stands has a row"
                labels = fresh[ordinal] = reading.labels(row.state)
            fitting[ordinal] = fits(labels)
        if fresh and not view.writes:  # an open write may yet be aborted, and its ordinals reused
            view.label_cache.keep(view.id, fresh, reading.size_bytes, view.log.sequence())
        return left & fitting[self._homes]

    def _ref(self, ordinal: int) -> Ref:
        kind, item = self._columns.kind[ordinal], self._columns.item[ordinal]
        return Ref(Kind(int(kind)), item.tobytes())


# --- what the index knows

_MEASURED = frozenset({"eq", "gt", "gte", "lt", "lte"})
_TERMS: dict[Has, tuple[Callable[[bytes, str], str], int]] = {
    Has.TAG: (entries.tag_term, entries.TAGS),
    Has.ENTITY: (entries.entity_term, entries.ENTITIES),
    Has.SUBJECT: (entries.about_term, entries.ABOUT),
    Has.ATTRIBUTE: (entries.attribute_term, entries.ATTRIBUTES),
}


def _sources(sources: tuple[bytes, ...] | None) -> list[Term]:
    return [(entries.HAS, Has.SOURCE)] if sources is None else entries.source_terms(sources)


# --- what has to be read


def _fits(node: Metadata) -> Callable[[Labels], bool]:
    def fits(labels: Labels) -> bool:
        value = values.at(labels.metadata, node.path)
        if value is values.MISSING or node.op == "exists":
            return value is not values.MISSING
        return any(
            values.holds(node.op, value, operand, ignore_case=node.ignore_case)
            for operand in node.operands
        )

    return fits


def _says(node: Text) -> Callable[[Labels], bool]:
    """Whether a label contains, or is, one of the texts. Names are compared without case."""
    folds = node.ignore_case or node.label is not Has.TAG

    def compared(text: str) -> str:
        text = composed(text)
        return " ".join(text.casefold().split()) if folds else text

    wanted = [compared(text) for text in node.texts]

    def says(labels: Labels) -> bool:
        held = [compared(text) for text in _texts(node.label, labels)]
        if node.op == "contains":
            return any(part in text for text in held for part in wanted)
        return any(text in wanted for text in held)

    return says


def _texts(label: Has, labels: Labels) -> tuple[str, ...]:
    match label:
        case Has.TAG:
            return labels.tags
        case Has.ENTITY:
            return labels.entities
    text = {
        Has.SUBJECT: labels.subject,
        Has.ATTRIBUTE: labels.attribute,
        Has.SPEAKER: labels.speaker,
    }[label]
    return () if text is None else (text,)


# --- times


def _said(node: During) -> Callable[[Labels], bool]:
    return lambda labels: labels.said_at is not None and _is_within(labels.said_at, node)


def _is_within(at: int, node: During) -> bool:
    return (node.start is None or at >= node.start) and (node.end is None or at < node.end)


def _within(times: npt.NDArray[np.int64], node: During) -> Mask:
    held = np.ones(len(times), np.bool_)
    if node.start is not None:
        held &= times >= node.start
    if node.end is not None:
        held &= times < node.end
    return held


def _position(position_at: Callable[[Any, int], int], container: bytes, at_us: int) -> int:
    """The last position recorded by then; nothing was before 1970, from where the log counts."""
    return position_at(container, at_us) if at_us >= 0 else 0
