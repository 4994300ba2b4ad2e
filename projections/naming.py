"""Names in facts: which facts name an entity, which names a fact holds, and how they are spelled.

A name given in another case, with an article or with doubled blanks is the same name (`folded`).
Facts are found by the facets of the search index, so that the work grows with the facts that hold a
name and not with those that there are.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from rewound.eventlog.bodies import Body
from rewound.projections import entries
from rewound.projections.columns import Columns
from rewound.projections.entries import folded
from rewound.projections.facts import FactRow
from rewound.projections.postings import Ordinals
from rewound.projections.reader import ContainerView
from rewound.projections.rows import Row
from rewound.projections.selection import Mask
from rewound.projections.tokens import query_terms

NAME_WORDS_MAX = 6
NAME_CHARS_MAX = 60
"""A value of more words or characters says something rather than that it names it."""

_ANSWERS = frozenset({"yes", "no", "true", "false", "none", "unknown", "n/a"})
_SIMILAR_TERMS = 8
_SIMILAR_FACTS = 64
"""How many facts are looked at for a name that is like the one asked for."""


class Named(NamedTuple):
    """A fact and what it names.

    `names` maps each name, folded, to its spelling here: subject, value where that names something,
    then the entities. `literal` is the folded value where it names nothing.
    """

    id: bytes
    row: Row[FactRow]
    subject: str | None
    attribute: str | None
    value: str | None
    names: dict[str, str]
    literal: str | None


def names_something(value: str) -> bool:
    """Whether a value is a name: no number, date, amount, answer or sentence."""
    words = value.split()
    return (
        0 < len(words) <= NAME_WORDS_MAX
        and len(value) <= NAME_CHARS_MAX
        and words[0].lstrip("\"'“‘«(#@")[:1].isalpha()
        and folded(value) not in _ANSWERS
    )


class Naming:
    """Facts by name, of those that a mask over the index lets through, as of a position.

    Each fact is read once. `read` counts them; a caller bounds its work by that.
    """

    def __init__(self, view: ContainerView, columns: Columns, mask: Mask, at: int) -> None:
        self._view = view
        self._columns = columns
        self._mask = mask
        self._at = at
        self._secret = view.log.key(view.id)
        self._facts: dict[bytes, Named | None] = {}
        self._ids: dict[str, list[bytes]] = {}

    @property
    def read(self) -> int:
        return len(self._facts)

    def known(self) -> list[Named]:
        """All facts that were read so far."""
        return [fact for fact in self._facts.values() if fact is not None]

    def ids(self, name: str) -> list[bytes]:
        """The facts that name an entity, newest first."""
        key = folded(name)
        known = self._ids.get(key)
        if known is None:
            term = entries.entity_term(self._secret, key)
            known = self._ids[key] = self._newest(entries.ENTITIES, term)
        return known

    def about(self, subject: str, attribute: str = "") -> Ordinals:
        """Entries of the facts about a subject, or about one attribute of it."""
        return self._shown(entries.ABOUT, entries.about_term(self._secret, subject, attribute))

    def facts(self, ids: Iterable[bytes], most: int) -> tuple[list[Named], bool]:
        """Facts in that order, and whether some were left because that would read more than `most`
        which are not yet known."""
        found: list[Named] = []
        for raw in ids:
            if raw not in self._facts:
                if most <= 0:
                    return found, True
                most -= 1
            fact = self.fact(raw)
            if fact is not None:
                found.append(fact)
        return found, False

    def fact(self, raw: bytes) -> Named | None:
        """One fact; None when its words are blacked out, for then neither are its names told."""
        if raw not in self._facts:
            row = self._view.fact(raw, self._at)
            assert row is not None, "a fact in the index has a row"
            self._facts[raw] = None if blacked_out(self._view, row.state) else self._named(row)
        return self._facts[raw]

    def similar(self, name: str, *, subjects: bool, most: int = 5) -> list[str]:
        """Other names that share a word with this one, those that most facts use first; only of
        subjects if `subjects`. Looks at the newest facts that hold the words."""
        asked = folded(name)
        words = set(asked.split())
        ids: dict[bytes, None] = {}
        for term in query_terms(name)[:_SIMILAR_TERMS]:
            ids |= dict.fromkeys(self._newest(entries.WORDS, term)[:_SIMILAR_FACTS])
        spellings = Spellings()
        for raw in sorted(ids, reverse=True)[:_SIMILAR_FACTS]:
            fact = self.fact(raw)
            if fact is None:
                continue
            for spelt in [fact.subject or ""] if subjects else fact.names.values():
                key = folded(spelt)
                if key != asked and not words.isdisjoint(key.split()):
                    spellings.add(spelt)
        return spellings.ranked()[:most]

    def _named(self, row: Row[FactRow]) -> Named:
        state = row.state
        subject, attribute, value = map(self._text, (state.subject, state.attribute, state.value))
        entities: list[str] = self._view.value(state.entities) or []
        named = value if value and names_something(value) else None
        names: dict[str, str] = {}
        for spelt in (subject, named, *entities):
            key = folded(spelt or "")
            if spelt and key:
                names.setdefault(key, spelt)
        said = folded(value or "")
        literal = said if said and said not in names else None
        return Named(row.id, row, subject, attribute, value, names, literal)

    def _text(self, body: Body | None) -> str | None:
        """Without blanks at its ends."""
        return (self._view.text(body) or "").strip() or None

    def _shown(self, field: int, term: str) -> Ordinals:
        ordinals = self._view.postings(field, term)[0]
        return ordinals[self._mask[ordinals]]

    def _newest(self, field: int, term: str) -> list[bytes]:
        """Ids rise as facts are stated; the numbers of entries differ between equal stores."""
        items = self._columns.item[self._shown(field, term)]
        halves = np.ascontiguousarray(items).view(">u8").reshape(-1, 2)
        order = np.lexsort((halves[:, 1], halves[:, 0]))[::-1]
        return [half.tobytes() for half in halves[order]]


class Spellings:
    """How names are written, to show each as most facts write it."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def add(self, spelt: str) -> None:
        self._counts.setdefault(folded(spelt), Counter())[" ".join(spelt.split())] += 1

    def of(self, key: str) -> str:
        """The usual spelling of a folded name; of equally usual ones the first in order."""
        counts = self._counts.get(key)
        return min(counts, key=lambda spelt: (-counts[spelt], spelt)) if counts else key

    def ranked(self) -> list[str]:
        """All names as usually spelt, those that were met most first."""
        keys = sorted(self._counts, key=lambda key: (-self._counts[key].total(), key))
        return [self.of(key) for key in keys]


def spellings(facts: Iterable[Named]) -> Spellings:
    """How facts spell what they name; literal values too."""
    found = Spellings()
    for fact in facts:
        for spelt in _spelt(fact):
            found.add(spelt)
    return found


def _spelt(fact: Named) -> Iterator[str]:
    yield from fact.names.values()
    if fact.literal is not None and fact.value is not None:
        yield fact.value


def blacked_out(view: ContainerView, fact: FactRow) -> bool:
    """Whether a fact is worded by a source's own text, and some of that is blacked out."""
    place = fact.text.place(0)
    return any(span.place == place and view.mask(span.source, place) for span in fact.sources)
