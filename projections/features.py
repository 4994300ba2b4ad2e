"""What the ranker knows of a candidate: a row of numbers for each unit that may answer a query.

A unit is a message with the facts drawn from it, a passage, or a fact of its own (`threads`). Its
features are scores by words and meaning of itself, its facts and what stands beside it, how well
its conversation fits as a whole, how much of the query is said in its neighbourhood, and traits
that matter to some kinds of question.

Nothing depends on how entries are numbered or on what a moment does not show: sums run over
integers, maxima and ranks do not know an order, and all else is elementwise float64.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rewound.eventlog.ids import Kind
from rewound.eventlog.instants import MIN_US
from rewound.projections import bm25
from rewound.projections.asked import Asked
from rewound.projections.columns import Columns
from rewound.projections.entries import StandingCode
from rewound.projections.feature_names import PRODUCTS, SINGLE
from rewound.projections.importance import WHOLE, counting
from rewound.projections.postings import Frequencies, Ordinals
from rewound.projections.ranking import REACHED, Scores, Shares
from rewound.projections.relevance import Evidence
from rewound.projections.threads import (
    NONE,
    Spoken,
    Threads,
    assistants,
    drawn,
    spoken,
    spoken_with,
    stretches,
)
from rewound.projections.traits import Trait

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Units = npt.NDArray[np.integer[Any]]
Lists = Sequence[tuple[Ordinals, Frequencies]]
Slots = npt.NDArray[np.uint16]

_SHORT: Final = 8
_LOGS: Final = np.array([math.log(n) for n in range(1, 4_098)])
"""Of scalars: numpy's own logarithm of an array may differ in a bit with the array's shape."""
_YEAR_WEIGHT: Final = 0.3


class Kin(NamedTuple):
    """The entries that hold words which belong to a term (`related`), one word after the other."""

    ordinals: Ordinals
    counts: Sequence[int]
    """How many entries hold each of the words."""
    nearness: Sequence[float]
    """How near each of the words is to the term, 0 to 1."""


class Query(NamedTuple):
    """A query as it is held against the entries of a moment."""

    asked: Asked
    lists: Lists
    """The postings of its terms."""
    statistics: bm25.Statistics
    said_by: Ordinals | None = None
    """Messages of the speakers whom it names; None when it names none."""
    terms: Sequence[str] = ()
    """In the order of `lists`."""
    documents: Mask | None = None
    """Which entries are documents that stand at the moment, shape (entries,)."""
    length: int = 0
    """How many terms it has as a text, those that say little among them."""
    quoted: Sequence[Ordinals] = ()
    """For each phrase in quotes, as far as anybody says one, the entries that say it."""
    names: frozenset[str] = frozenset()
    """The terms that are of names."""
    aside: frozenset[str] = frozenset()
    """Terms whose lack says nothing: of dates, and such as the question itself does not hold."""
    further: frozenset[str] = frozenset()
    """Terms put beside the question, which it does not hold: who says one says what it asks."""
    related: Sequence[Kin | None] = ()
    """In the order of `lists`, where any is told."""

    def weights(self) -> dict[str, float]:
        """How telling each term is: its idf."""
        mask, entries = self.statistics.mask, self.statistics.entries
        held = [int(np.count_nonzero(mask[ordinals])) for ordinals, _ in self.lists]
        return {term: bm25.idf(entries, df) for term, df in zip(self.terms, held, strict=True)}


class _Seen(NamedTuple):
    """What all groups of features need. Scores are of shape (entries,)."""

    columns: Columns
    counted: Mask
    threads: Threads
    query: Query
    share: Floats | Shares
    cosines: Floats
    units: Units
    """Ordinals of the candidates, shape (candidates,)."""


class Described(NamedTuple):
    """Candidates, in the order of their units."""

    rows: Floats
    """Features, shape (candidates, len(NAMES))."""
    evidence: Evidence


def features(
    columns: Columns, counted: Mask, threads: Threads, query: Query, scores: Scores, units: Units
) -> Floats:
    """Shape (candidates, len(NAMES)), rows in the order of `units`."""
    return described(columns, counted, threads, query, scores, units).rows


def described(
    columns: Columns, counted: Mask, threads: Threads, query: Query, scores: Scores, units: Units
) -> Described:
    """The features of candidates, and what they say of the query's terms."""
    seen = _Seen(columns, counted, threads, query, scores.share, scores.meaning, units)
    covered, says, held = _covered(seen)
    found = _own(seen) | _beside(seen) | covered | _exact(seen) | _conversation(seen)
    found |= _traits(seen, found)
    found["importance"] = _importance(seen)
    told = [found[name] for name in SINGLE]
    told += [found[one] * found[other] for one, other in PRODUCTS]
    rows = np.array(told).T  # a feature's numbers lie together, as the ranker reads them
    return Described(rows, _evidence(seen, says, held))


def _own(seen: _Seen) -> dict[str, Floats]:
    units = seen.units
    words, meaning = seen.share[units], seen.cosines[units]
    facts = drawn(seen.columns, seen.counted, seen.threads)
    keys = units.astype(facts.unit.dtype)  # else all of them would be copied to be compared
    begin, end = (facts.unit.searchsorted(keys, side) for side in ("left", "right"))
    found, at = stretches(begin, end)
    of = facts.fact[found]
    best = np.zeros((4, len(units)), np.float64)
    np.maximum.at(best[0], at, seen.share[of])
    np.maximum.at(best[1], at, seen.cosines[of])
    best[2, at] = 1.0
    best[3, at[seen.columns.standing[of] == StandingCode.CURRENT]] = 1.0
    told, meant, has, current = best
    return {
        "words": words,
        "meaning": meaning,
        "words its facts add": np.maximum(told - words, 0.0),
        "meaning its facts add": np.maximum(meant - meaning, 0.0),
        "best words and meaning": np.maximum(words, told) + np.maximum(meaning, meant),
        "rank by words": _ranks(words),
        "rank by meaning": _ranks(meaning),
        "has facts": has,
        "is a fact of its own": (seen.columns.kind[units] == Kind.FACT).astype(np.float64),
        "all its facts are outdated": has * (1.0 - current),
    }


def _beside(seen: _Seen) -> dict[str, Floats]:
    before, after = seen.threads.previous[seen.units], seen.threads.next[seen.units]
    words, meaning = _at(seen.share, before), _at(seen.cosines, before)
    asks = (_at(seen.columns.traits, before, 0) & Trait.QUESTION) != 0
    further = _at(seen.threads.previous, before, NONE)
    return {
        "words before": words,
        "meaning before": meaning,
        "meaning before, a question": meaning * asks,
        "words after": _at(seen.share, after),
        "meaning after": _at(seen.cosines, after),
        "two before": _at(seen.share, further) + _at(seen.cosines, further),
    }


def _evidence(seen: _Seen, says: Mask, held: Sequence[int]) -> Evidence:
    query, items = seen.query, seen.columns.item[seen.units]
    entries = query.statistics.entries
    names = np.zeros(len(query.lists), np.bool_)
    names[: len(query.terms)] = [term in query.names for term in query.terms]
    tells = np.ones(len(query.lists), np.bool_)
    tells[: len(query.terms)] = [term not in query.aside for term in query.terms]
    if not tells.any():
        tells[:] = True
    weights = np.array([bm25.idf(entries, count) for count in held], np.float64)
    known = np.array([count > 0 for count in held], np.bool_)
    further = [at for at, term in enumerate(query.terms) if term in query.further]
    if further:
        asks = [at for at in np.flatnonzero(tells & ~names).tolist() if at not in further]
        says = _standing_in(says, weights, further, asks)
        known |= says.any(axis=1)
    high, low = items.view(">u8").reshape(-1, 2).T
    places = np.empty(len(items), np.int64)
    places[np.lexsort((low, high))] = np.arange(len(items))
    return Evidence(
        says[tells],
        weights[tells],
        known[tells],
        names[tells],
        (seen.columns.traits[seen.units] & Trait.FIRST_PERSON) != 0,
        places,
    )


def _standing_in(says: Mask, weights: Floats, further: Sequence[int], asks: Sequence[int]) -> Mask:
    """Which unit says which term, where each further one that a unit says stands for one of those
    that the question asks and the unit lacks, the most telling first."""
    told = says.copy()
    left = np.count_nonzero(says[further], axis=0)
    for term in sorted(asks, key=lambda at: (-weights[at], at)):
        taken = ~says[term] & (left > 0)
        told[term] |= taken
        left -= taken
    return told


def _covered(seen: _Seen) -> tuple[dict[str, Floats], Mask, list[int]]:
    """How much of the query's telling words is said by a unit, with its neighbours, by the
    conversation; which unit says which term, shape (terms, units); how many entries hold each."""
    units, threads = seen.units, seen.threads
    count, none = len(units), seen.columns.n
    total, terms = 0.0, len(seen.query.lists)
    own, near, whole, kin = np.zeros((4, count), np.float64)
    held = np.zeros(count, np.float64)
    around = np.array((units, threads.previous[units], threads.next[units]))
    around[around == NONE] = none
    thread = threads.thread[units]
    told = np.zeros((terms, count), np.bool_)
    counts = []
    related = seen.query.related or (None,) * terms
    slots = np.zeros(none + 1, np.uint16)  # the place of each unit, from 1
    slots[units] = np.arange(1, count + 1)
    for term, (ordinals, _) in enumerate(seen.query.lists):
        at = ordinals[seen.counted[ordinals]]
        counts.append(len(at))
        weight = bm25.idf(seen.query.statistics.entries, len(at))
        total += weight
        says = np.zeros(none + 1, np.bool_)
        says[threads.unit[at]] = True
        has, before, after = says[around]
        told[term] = has
        own += weight * has
        held += has
        near += weight * (has | before | after)
        talks = np.zeros(threads.threads, np.bool_)
        talks[threads.thread[at]] = True
        whole += weight * talks[thread]
        kin += weight * ~has * _kin(seen, slots, related[term], weight)
    total = total or 1.0
    covered = {
        "query covered": own / total,
        "query covered with neighbours": near / total,
        "query covered by conversation": whole / total,
        "terms covered": held / max(terms, 1),
        "related words said": kin / total,
    }
    return covered, told, counts


def _kin(seen: _Seen, slots: Slots, kin: Kin | None, weight: float) -> Floats | float:
    """How near the nearest word is that a unit says of those which belong to a term. A word that is
    less telling than the term counts so much less."""
    if kin is None:
        return 0.0
    shown = seen.counted[kin.ordinals]
    slot = slots[seen.threads.unit[kin.ordinals]]
    at = np.flatnonzero(shown & (slot > 0))
    ends = np.cumsum(kin.counts)
    entries = seen.query.statistics.entries
    worth = np.zeros(len(kin.counts), np.float64)
    for word, (near, count, end) in enumerate(
        zip(kin.nearness, kin.counts, ends.tolist(), strict=True)
    ):
        if count:  # most are held by nothing
            held = int(np.count_nonzero(shown[end - count : end]))
            worth[word] = near * min(1.0, bm25.idf(entries, held) / weight)
    best = np.zeros(len(seen.units) + 1, np.float64)
    np.maximum.at(best, slot[at], worth[ends.searchsorted(at, "right")])
    return best[1:]


def _exact(seen: _Seen) -> dict[str, Floats]:
    """How nearly a unit, or a fact of it, says the query and nothing else; and how much it says of
    what stands in quotes."""
    query, unit, none = seen.query, seen.threads.unit, seen.columns.n
    just, quoted = np.zeros((2, none), np.float64)
    if query.lists:
        says = np.zeros(none, np.uint16)
        for ordinals, _ in query.lists:
            says[ordinals] += 1
        rarest = min((ordinals for ordinals, _ in query.lists), key=len)
        whole = rarest[(says[rarest] == len(query.lists)) & seen.counted[rarest]]
        length = np.maximum(seen.columns.length[whole], 1).astype(np.float64)
        np.maximum.at(just, unit[whole], np.minimum(query.length / length, 1.0))
    for ordinals in query.quoted:
        quoted[np.unique(unit[ordinals])] += 1.0
    return {
        "says just what is asked": just[seen.units],
        "says what is quoted": quoted[seen.units] / max(len(query.quoted), 1),
    }


def _conversation(seen: _Seen) -> dict[str, Floats]:
    threads = seen.threads
    said = spoken_with(seen.columns, seen.counted, threads, seen.units)
    leads, mine = np.unique(threads.thread[seen.units], return_inverse=True)
    found, at = stretches(said.starts[leads], said.starts[leads + 1])
    of = said.by_thread[found]
    both = seen.share[of] + seen.cosines[of]
    best = np.zeros(len(leads), np.float64)
    np.maximum.at(best, at, both)
    meant = np.full(len(leads), -1.0)
    theirs = said.people[of]
    np.maximum.at(meant, at[theirs], seen.cosines[of[theirs]])
    words = _thread_words(seen, said, leads)
    rank = _ranks(words + meant)
    meaning = meant[mine]
    return {
        "conversation by words": words[mine],
        "conversation's best": best[mine],
        "conversation's meaning": meaning,
        "conversation's meaning, assistant asked for": meaning * seen.query.asked.assistant,
        "rank of conversation": rank[mine],
        "rank in conversation": _ranks_within(at, both, of, seen.units),
        "among the first two": (threads.place[seen.units] < 2).astype(np.float64),
    }


def _thread_words(seen: _Seen, said: Spoken, wanted: Units) -> Floats:
    """BM25 of some conversations or documents as one text of what people said in each, over the
    best of all; a message, passage or fact says a term once. Shape (len(wanted),)."""
    b, k1 = bm25.DEFAULT.b, bm25.DEFAULT.k1
    total, reach = np.zeros(seen.threads.threads, np.float64), 0.0
    for ordinals, _ in seen.query.lists:
        of, tf = _counts(seen.threads.thread[ordinals[said.people[ordinals]]])
        norm = k1 * (1.0 - b + b * said.lengths[of] / said.thread_terms)
        weight = bm25.idf(said.talking, min(len(of), said.talking)) * (k1 + 1.0)
        total[of] += weight * tf / (tf + norm + 1e-9)
        reach += weight
    best = max(float(total.max(initial=0.0)), REACHED * reach)
    found: Floats = total[wanted]
    return found / best if best > 0.0 else found


def _counts(threads: Units) -> tuple[Units, Floats]:
    """The distinct ones among threads, and how often each is there."""
    if not (threads[1:] >= threads[:-1]).all():
        threads = np.sort(threads)
    begins = np.ones(len(threads), np.bool_)
    begins[1:] = threads[1:] != threads[:-1]
    at = np.flatnonzero(begins)
    counts = np.empty(len(at), np.float64)
    counts[:-1] = at[1:] - at[:-1]
    counts[-1:] = len(threads) - at[-1:]
    return threads[at], counts


def _traits(seen: _Seen, found: dict[str, Floats]) -> dict[str, Floats]:
    asked, units = seen.query.asked, seen.units
    traits = seen.columns.traits[units]
    average = spoken(seen.columns, seen.counted, seen.threads).unit_terms
    own = seen.columns.length[units].astype(np.float64)
    length = _logs(seen.columns.length[units]) - math.log(average + 1.0)
    assistant = assistants(seen.columns, units).astype(np.float64)

    def shows(trait: Trait) -> Floats:
        found: Floats = ((traits & trait) != 0).astype(np.float64)
        return found

    return {
        "length": length,
        "length squared": length * length,
        "is short": (own < _SHORT).astype(np.float64),
        "asks": shows(Trait.QUESTION),
        "numbers": shows(Trait.NUMBERED),
        "number, how many asked": shows(Trait.NUMBERED) * asked.many,
        "date, when asked": shows(Trait.DATED) * asked.when,
        "month or year asked for": _dates(seen),
        "liking": shows(Trait.LIKING),
        "liking, suggestion asked for": shows(Trait.LIKING) * asked.suggestion,
        "first person, asked in it": shows(Trait.FIRST_PERSON) * asked.first_person,
        "assistant, not asked for": assistant * (not asked.assistant),
        "assistant, asked for": assistant * asked.assistant,
        "assistant, suggestion asked for": assistant * asked.suggestion,
        "meaning, suggestion asked for": found["meaning"] * asked.suggestion,
        **_speakers(seen),
        "recency": (len(units) - _greater(_begins(seen))) / max(len(units), 1),
    }


def _begins(seen: _Seen) -> npt.NDArray[np.int64]:
    """When a fact began to hold and when the rest was said, µs; a passage has its document's."""
    columns, documents = seen.columns, seen.query.documents
    own = columns.valid_from[seen.units]
    passages = columns.kind[seen.units] == Kind.PASSAGE
    if documents is None or not passages.any():
        return own
    of_home = np.full(columns.n, MIN_US, np.int64)
    of_home[columns.group[documents]] = columns.valid_from[documents]
    return np.where(passages, of_home[columns.group[seen.units]], own)


def _importance(seen: _Seen) -> Floats:
    """The highest of a unit and of its facts that hold, 0 to 1; 0 where nobody said any. What has
    none of its own has that of the message or document that it is from."""
    columns, documents = seen.columns, seen.query.documents
    if documents is None or not columns.importance.any():
        return np.zeros(len(seen.units), np.float64)
    wanted = np.zeros(columns.n, np.bool_)
    wanted[seen.units] = True
    holds = seen.counted & (columns.kind == Kind.FACT)
    holds &= (columns.standing == StandingCode.CURRENT) & wanted[seen.threads.unit]
    holds[seen.units] = True
    of = np.flatnonzero(holds)
    best = np.zeros(columns.n, np.int64)
    np.maximum.at(best, seen.threads.unit[of], counting(columns, documents | seen.counted, of))
    return best[seen.units] / WHOLE


def _speakers(seen: _Seen) -> dict[str, Floats]:
    """Whether a message is by somebody whom the query names, or by another."""
    count = len(seen.units)
    if seen.query.said_by is None:
        return dict.fromkeys(("said by whom the query names", "said by another"), np.zeros(count))
    theirs = np.zeros(seen.columns.n, np.bool_)
    theirs[seen.query.said_by] = True
    by = theirs[seen.units].astype(np.float64)
    message = (seen.columns.kind[seen.units] == Kind.MESSAGE).astype(np.float64)
    return {"said by whom the query names": by, "said by another": message * (1.0 - by)}


def _dates(seen: _Seen) -> Floats:
    """1 for what was said in a month that is asked for, and a little for the year; passages and
    what was always so have no month."""
    asked = seen.query.asked
    found = np.zeros(len(seen.units), np.float64)
    if not asked.months and not asked.years:
        return found
    begins = seen.columns.valid_from[seen.units]
    months = begins.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    found += np.isin(months % 12 + 1, sorted(asked.months))
    found += _YEAR_WEIGHT * np.isin(months // 12 + 1970, sorted(asked.years))
    return np.where(begins > MIN_US, found, 0.0)


def _at(values: npt.NDArray[Any] | Shares, at: Units, otherwise: float = 0.0) -> npt.NDArray[Any]:
    """Values at ordinals, and `otherwise` where there is none."""
    return np.where(at != NONE, values[at], otherwise)


def _logs(counts: npt.NDArray[Any]) -> Floats:
    """log(1 + count), for counts up to about four thousand; of more, of four thousand."""
    logs: Floats = _LOGS[np.minimum(counts, len(_LOGS) - 1)]
    return logs


def _greater(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """How many of the values are greater, for each."""
    found: npt.NDArray[np.int64] = len(values) - np.searchsorted(
        np.sort(values), values, side="right"
    )
    return found


def _ranks(values: Floats) -> Floats:
    return _logs(_greater(values))


def _ranks_within(thread: Units, values: Floats, of: Units, units: Units) -> Floats:
    """The same among those of its own thread, for the units among `of`."""
    order = np.lexsort((-values, thread))
    sorted_thread, sorted_values = thread[order], values[order]
    new_thread = np.ones(len(order), np.bool_)
    new_thread[1:] = sorted_thread[1:] != sorted_thread[:-1]
    new_value = new_thread.copy()
    new_value[1:] |= sorted_values[1:] != sorted_values[:-1]
    place = np.arange(len(order))
    start = np.maximum.accumulate(np.where(new_thread, place, 0))
    first = np.maximum.accumulate(np.where(new_value, place, 0))
    greater = np.empty(len(order), np.int64)
    greater[order] = first - start
    rising = np.argsort(of)
    return _logs(greater[rising[of.searchsorted(units.astype(of.dtype), sorter=rising)]])
