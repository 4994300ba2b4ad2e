"""Hits that say the same thing, as one hit.

Two kinds: texts of the same words whatever their case, punctuation and endings; and a fact that
merely repeats the passage or message it was drawn from. The fact leads, as it has dates and a
standing.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import Kind, Ref
from rewound.projections.reader import ContainerView
from rewound.projections.rows import Row
from rewound.projections.selection import Criteria
from rewound.projections.tokens import query_terms, tokenize

REPEATS_SHARE = 0.75
"""A fact repeats its source when it holds this share of the source's telling words, or more."""


class Ranked(NamedTuple):
    """An entry in its place. Only entries of equal `likeness` can have the same words."""

    ref: Ref
    ordinal: int
    likeness: tuple[float, int]


class _Group:
    """A hit in the making: its members, the leading one first."""

    __slots__ = ("members",)

    def __init__(self, ranked: Ranked) -> None:
        self.members = [ranked]

    def join(self, ranked: Ranked) -> None:
        leads = ranked.ref.kind is Kind.FACT and self.members[0].ref.kind is not Kind.FACT
        self.members.insert(0 if leads else len(self.members), ranked)


def collapsed(texts: "Texts", ranked: Sequence[Ranked], limit: int) -> list[list[Ranked]]:
    """The ranked entries in at most `limit` groups, in the order of their best members.

    Texts are read only where two entries may say the same.
    """
    alike: dict[tuple[float, int], list[tuple[Ranked, _Group]]] = {}
    groups: list[_Group] = []
    of_source: dict[tuple[Ref, Place | None], list[tuple[Ranked, _Group]]] = {}
    for each in ranked:
        group = _same_words(texts, alike.setdefault(each.likeness, []), each)
        if group is None:
            group = _repeated(texts, of_source, each)
        if group is not None:
            group.join(each)
        elif len(groups) < limit:
            group = _Group(each)
            groups.append(group)
        else:
            continue
        alike[each.likeness].append((each, group))
        for source in texts.sources(each.ref):
            of_source.setdefault(source, []).append((each, group))
    return [group.members for group in groups]


def _same_words(
    texts: "Texts", near: Sequence[tuple[Ranked, _Group]], each: Ranked
) -> _Group | None:
    """The group of an entry with the same words, among those that may have them."""
    if not near:
        return None
    words = texts.words(each.ref)
    return next((group for other, group in near if texts.words(other.ref) == words), None)


def _repeated(
    texts: "Texts",
    of_source: dict[tuple[Ref, Place | None], list[tuple[Ranked, _Group]]],
    each: Ranked,
) -> _Group | None:
    """The group of the source that this fact repeats, or of the fact that repeats this source."""
    for source in texts.sources(each.ref):
        for other, group in of_source.get(source, ()):
            fact, text = (each.ref, other.ref)
            if fact.kind is not Kind.FACT:
                fact, text = text, fact
            if fact.kind is Kind.FACT and text.kind is not Kind.FACT and texts.covers(fact, text):
                return group
    return None


class Texts:
    """Reads texts of one moment, each once."""

    def __init__(self, view: ContainerView, criteria: Criteria) -> None:
        self._view = view
        self._criteria = criteria
        self._said: dict[Ref, str] = {}
        self._rows: dict[Ref, Row[Any] | None] = {}
        self._words: dict[Ref, tuple[str, ...]] = {}

    def row(self, ref: Ref) -> Row[Any] | None:
        if ref not in self._rows:
            self._rows[ref] = self._view.row(ref, self._criteria.at)
        return self._rows[ref]

    def said(self, ref: Ref) -> str:
        """The item's text, seen through its mask; nothing once it is erased."""
        if ref not in self._said:
            row = self.row(ref)
            text = None if row is None else _said(self._view, ref, row.state, self._criteria)
            self._said[ref] = text or ""
        return self._said[ref]

    def words(self, ref: Ref) -> tuple[str, ...]:
        if ref not in self._words:
            self._words[ref] = tuple(tokenize(self.said(ref)))
        return self._words[ref]

    def sources(self, ref: Ref) -> list[tuple[Ref, Place | None]]:
        """Under what a fact and its passage or message meet: the message, or the piece of text."""
        row = self.row(ref)
        if row is None:
            return []
        state = row.state
        match ref.kind:
            case Kind.MESSAGE:
                return [(ref, None)]
            case Kind.PASSAGE:
                return [(Ref(Kind.DOCUMENT, state.document), state.body.place(0))]
            case Kind.FACT:
                spans = [(span.source, span.place) for span in state.sources]
                return list(
                    dict.fromkeys(
                        (source, None if source.kind is Kind.MESSAGE else place)
                        for source, place in spans
                    )
                )
        return []

    def covers(self, fact: Ref, text: Ref) -> bool:
        """Whether the fact leaves little of the text unsaid."""
        telling = set(query_terms(self.said(text)))
        left = telling - set(self.words(fact))
        return len(telling) - len(left) >= REPEATS_SHARE * len(telling)


def _said(view: ContainerView, ref: Ref, state: Any, criteria: Criteria) -> str | None:
    match ref.kind:
        case Kind.FACT:
            return view.wording(state, unmasked=criteria.forgotten)
        case Kind.MESSAGE:
            return view.shown(ref, state.text, unmasked=criteria.forgotten)
        case Kind.PASSAGE:
            source = Ref(Kind.DOCUMENT, state.document)
            text = view.shown(source, state.body, unmasked=criteria.forgotten)
            return None if text is None else text[state.start : state.end]
    return view.text(state.title)
