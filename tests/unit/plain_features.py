"""The features of the ranker in plain Python, one candidate after the other: what its names say.

Nothing of numpy and nothing of `projections.features` is used.
"""

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from rewound.projections.asked import Asked
from rewound.projections.traits import Trait
from tests.unit.scenes import FACT, MESSAGE, PASSAGE, Beside, Told

UNDATED = -(2**63)
LONGEST = 4_096
"""Terms: what is longer is as long as that."""


class Known(NamedTuple):
    """Entries by number, and what is asked."""

    told: list[Told]
    beside: Beside
    counted: list[bool]
    share: list[float]
    cosines: list[float]
    length: list[int]
    valid_from: list[int]
    traits: list[int]
    holds: list[list[int]]
    """For each term of the query the entries that hold it, whenever."""
    asked: Asked
    said_by: list[int] | None
    documents: list[bool]
    """Which entries are documents that stand."""
    importance: list[int]
    """1 + thousandths, 0 where none was given."""
    asks: int
    """How many terms the query has as a text."""
    quoted: list[list[int]]
    related: list[list[tuple[list[int], float]]]
    """For each term the words that belong to it: the entries that hold one, and its nearness."""


class Plain:
    def __init__(self, known: Known, units: list[int]) -> None:
        self.k = known
        self.units = units
        self.everything = [n for n, counts in enumerate(known.counted) if counts]
        self.heads = [n for n in self.everything if known.beside.unit[n] == n]
        """What is ranked: no facts of messages."""

    def row(self, unit: int) -> dict[str, float]:
        return {
            **self.own(unit),
            **self.around(unit),
            **self.covered(unit),
            **self.exact(unit),
            **self.conversation(unit),
            **self.like(unit),
            "importance": self.importance(unit),
        }

    # --- what it is from

    def home(self, n: int) -> int | None:
        """The version that stands of the document or message that an entry is from."""
        told = self.k.told[n]
        item = told.source
        if told.kind == PASSAGE:
            item = int(told.thread.removeprefix("document "))
        elif told.kind != FACT:
            return None
        stands = [
            m
            for m, each in enumerate(self.k.told)
            if each.item == item and (self.k.counted[m] or self.k.documents[m])
        ]
        return stands[0] if stands else None

    def importance(self, unit: int) -> float:
        """The highest of the unit and its facts, each its own or else that of its home."""
        found = [0.0]
        for n in {unit, *self.facts(unit)}:
            home = self.home(n)
            of = n if self.k.importance[n] or home is None else home
            found.append((self.k.importance[of] - 1) / 1000)
        return max(found)

    def begins(self, n: int) -> int:
        """When it began; a passage when its document did."""
        if self.k.told[n].kind != PASSAGE:
            return self.k.valid_from[n]
        home = self.home(n)
        return UNDATED if home is None else self.k.valid_from[home]

    # --- scores

    def both(self, n: int) -> float:
        return self.k.share[n] + self.k.cosines[n]

    def facts(self, unit: int) -> list[int]:
        """A fact of its own is its own fact."""
        told, of = self.k.told, self.k.beside.unit
        return [n for n in self.everything if told[n].kind == FACT and of[n] == unit]

    def own(self, unit: int) -> dict[str, float]:
        words, meaning = self.k.share[unit], self.k.cosines[unit]
        of = self.facts(unit)
        told = max([0.0, *(self.k.share[n] for n in of)])
        meant = max([0.0, *(self.k.cosines[n] for n in of)])
        return {
            "words": words,
            "meaning": meaning,
            "words its facts add": max(told - words, 0.0),
            "meaning its facts add": max(meant - meaning, 0.0),
            "best words and meaning": max(words, told) + max(meaning, meant),
            "rank by words": rank(words, (self.k.share[n] for n in self.units)),
            "rank by meaning": rank(meaning, (self.k.cosines[n] for n in self.units)),
            "has facts": float(bool(of)),
            "is a fact of its own": float(self.k.told[unit].kind == FACT),
            "all its facts are outdated": 0.0,  # nothing ends in these scenes
        }

    def around(self, unit: int) -> dict[str, float]:
        before, after = self.k.beside.previous[unit], self.k.beside.next[unit]
        two = None if before is None else self.k.beside.previous[before]
        asks = before is not None and bool(self.k.traits[before] & Trait.QUESTION)
        meaning = 0.0 if before is None else self.k.cosines[before]
        return {
            "words before": 0.0 if before is None else self.k.share[before],
            "meaning before": meaning,
            "meaning before, a question": meaning if asks else 0.0,
            "words after": 0.0 if after is None else self.k.share[after],
            "meaning after": 0.0 if after is None else self.k.cosines[after],
            "two before": 0.0 if two is None else self.both(two),
        }

    # --- the query's terms

    def says(self, unit: int | None, term: list[int]) -> bool:
        """A unit says what it or one of its facts holds."""
        of = self.k.beside.unit
        return any(of[n] == unit for n in term if self.k.counted[n])

    def covered(self, unit: int) -> dict[str, float]:
        thread = self.k.beside.thread
        before, after = self.k.beside.previous[unit], self.k.beside.next[unit]
        total = own = near = whole = held = kin = 0.0
        for term, words in zip(self.k.holds, self.k.related, strict=True):
            seen = [n for n in term if self.k.counted[n]]
            weight = idf(len(self.everything), len(seen))
            total += weight
            says = self.says(unit, term)
            own += weight * says
            held += says
            places = [place for place in (before, after) if place is not None]
            near += weight * (says or any(self.says(place, term) for place in places))
            whole += weight * any(thread[n] == thread[unit] for n in seen)
            kin += 0.0 if says else weight * self.kin(unit, words, weight)
        return {
            "query covered": own / total if total else 0.0,
            "query covered with neighbours": near / total if total else 0.0,
            "query covered by conversation": whole / total if total else 0.0,
            "terms covered": held / len(self.k.holds) if self.k.holds else 0.0,
            "related words said": kin / total if total else 0.0,
        }

    def kin(self, unit: int, words: list[tuple[list[int], float]], weight: float) -> float:
        """The best of the words that a unit says; common ones count less than the term."""
        found = [0.0]
        for entries, near in words:
            seen = [n for n in entries if self.k.counted[n]]
            if self.says(unit, entries):
                found.append(near * min(1.0, idf(len(self.everything), len(seen)) / weight))
        return max(found)

    def exact(self, unit: int) -> dict[str, float]:
        mine = [n for n in self.everything if self.k.beside.unit[n] == unit]
        whole = [n for n in mine if all(n in term for term in self.k.holds) and self.k.holds]
        just = [min(self.k.asks / max(self.k.length[n], 1), 1.0) for n in whole]
        told = [any(n in phrase for n in mine) for phrase in self.k.quoted]
        return {
            "says just what is asked": max([0.0, *just]),
            "says what is quoted": sum(told) / len(told) if told else 0.0,
        }

    # --- the conversation

    def members(self, thread: str) -> list[int]:
        return [n for n in self.heads if self.k.beside.thread[n] == thread]

    def people(self, thread: str) -> list[int]:
        return [n for n in self.members(thread) if not self.k.told[n].assistant]

    def meant(self, thread: str) -> float:
        return max([-1.0, *(self.k.cosines[n] for n in self.people(thread))])

    def words_of(self) -> dict[str, float]:
        """BM25 of each thread as a text of what people said, an entry says a term once."""
        threads = list(dict.fromkeys(self.k.beside.thread[n] for n in self.everything))
        lengths = {t: sum(self.k.length[n] for n in self.people(t)) for t in threads}
        count = max(sum(1 for length in lengths.values() if length), 1)
        average = sum(lengths.values()) / count or 1.0
        total = dict.fromkeys(threads, 0.0)
        reach = 0.0
        for term in self.k.holds:
            tf = {t: sum(1 for n in self.people(t) if n in term) for t in threads}
            df = min(sum(1 for times in tf.values() if times), count)
            reach += idf(count, df) * 2.2
            for t in threads:
                norm = 1.2 * (1 - 0.75 + 0.75 * lengths[t] / average)
                total[t] += idf(count, df) * 2.2 * tf[t] / (tf[t] + norm + 1e-9)
        best = max(0.3 * reach, *total.values())
        return {t: value / best if best > 0 else value for t, value in total.items()}

    def conversation(self, unit: int) -> dict[str, float]:
        thread = self.k.beside.thread[unit]
        words = self.words_of()
        leads = dict.fromkeys(self.k.beside.thread[n] for n in self.units)
        fit = {t: words[t] + self.meant(t) for t in leads}
        place = self.k.beside.place[unit]
        return {
            "conversation by words": words[thread],
            "conversation's best": max([0.0, *(self.both(n) for n in self.members(thread))]),
            "conversation's meaning": self.meant(thread),
            "conversation's meaning, assistant asked for": (
                self.meant(thread) * self.k.asked.assistant
            ),
            "rank of conversation": rank(fit[thread], fit.values()),
            "rank in conversation": rank(
                self.both(unit), (self.both(n) for n in self.members(thread))
            ),
            "among the first two": float(place < 2),
        }

    # --- what it is like

    def like(self, unit: int) -> dict[str, float]:
        asked, told = self.k.asked, self.k.told[unit]
        average = sum(self.k.length[n] for n in self.heads) / max(len(self.heads), 1)
        length = math.log(1 + min(self.k.length[unit], LONGEST)) - math.log(1 + average)

        def shows(trait: Trait) -> float:
            return float(bool(self.k.traits[unit] & trait))

        newer = sum(self.begins(n) > self.begins(unit) for n in self.units)
        by = self.k.said_by is not None and unit in self.k.said_by
        another = self.k.said_by is not None and not by and told.kind == MESSAGE
        return {
            "length": length,
            "length squared": length**2,
            "is short": float(self.k.length[unit] < 8),
            "asks": shows(Trait.QUESTION),
            "numbers": shows(Trait.NUMBERED),
            "number, how many asked": shows(Trait.NUMBERED) * asked.many,
            "date, when asked": shows(Trait.DATED) * asked.when,
            "month or year asked for": self.dated(unit),
            "liking": shows(Trait.LIKING),
            "liking, suggestion asked for": shows(Trait.LIKING) * asked.suggestion,
            "first person, asked in it": shows(Trait.FIRST_PERSON) * asked.first_person,
            "assistant, not asked for": float(told.assistant and not asked.assistant),
            "assistant, asked for": float(told.assistant and asked.assistant),
            "assistant, suggestion asked for": float(told.assistant and asked.suggestion),
            "meaning, suggestion asked for": self.k.cosines[unit] * asked.suggestion,
            "recency": 1 - newer / len(self.units),
            "said by whom the query names": float(by),
            "said by another": float(another),
        }

    def dated(self, unit: int) -> float:
        begins = self.k.valid_from[unit]
        if begins == UNDATED:
            return 0.0
        day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=begins)
        asked = self.k.asked
        return (day.month in asked.months) + 0.3 * (day.year in asked.years)


def rank(value: float, others: Iterable[float]) -> float:
    return math.log(1 + sum(other > value for other in others))


def idf(entries: int, df: int) -> float:
    return math.log(1 + (entries - df + 0.5) / (df + 0.5))
