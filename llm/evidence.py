"""What two claims have to do with each other, as named numbers in thousandths.

All of it is worked out from the words, their readings and the times; nothing is looked up and no
model is asked, so a pair has the same evidence for ever. Numbers say how much alike, yes/no
features are 0 or 1000, and what is 0 is left out.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from rewound.eventlog.enums import FactKind
from rewound.eventlog.letting_go import holds_texts
from rewound.llm.alignment import Alignment, Gap, align
from rewound.llm.claim_words import Token, tokens_of
from rewound.llm.couples import bond_turned
from rewound.llm.cues import about, cues_of
from rewound.llm.denying import denials
from rewound.llm.departures import is_over_by_departure
from rewound.llm.english import is_past
from rewound.llm.grounds import (
    BOND_TURNED,
    COMPARABLE,
    CONTRARY,
    DEPARTED,
    MAY_REVIEW,
    PUT_RIGHT,
    RENAMED,
    RESTATED,
    SAID_AGAIN,
    THINGS_APART,
    TURNED,
    VALUES_GIVEN,
    YES,
    settle,
)
from rewound.llm.judging import Claim, Evidence, Pair
from rewound.llm.limits import differ, limits_of
from rewound.llm.people import names_people
from rewound.llm.putting_right import is_put_right
from rewound.llm.reading import OPINION, Polarity, Reading, Table, read
from rewound.llm.renaming import renames
from rewound.llm.stated import kinds_of
from rewound.llm.vocabulary import are_opposites, classes_of, stem

T = TypeVar("T")

_MINUTE = 60_000_000
_DAY = 1440 * _MINUTE
_YEAR_US = 31_556_952_000_000


def evidence(pair: Pair, extra: Table = ()) -> Evidence:
    """The evidence for a pair; `extra` rows of the user extend what is known of attributes."""
    new, old = _reading(pair.new, extra), _reading(pair.old, extra)
    laid = align(old.tokens, new.tokens)
    found: Evidence = {}
    _words(found, old, new, laid)
    _subjects(found, old, new)
    _values(found, pair, old, new)
    _frame(found, old, new)
    _difference(found, laid)
    denials(found, old, new)
    _cues(found, pair, old, new)
    _times(found, pair)
    since = not found["new_earlier"]
    found[BOND_TURNED] = YES * (since and bond_turned(pair.new.text, pair.old.text))
    found[DEPARTED] = YES * (since and is_over_by_departure(pair.new.text, pair.old.text))
    _put_right(found, pair)
    found["limits_differ"] = YES * differ(limits_of(pair.old), limits_of(pair.new))
    _again(found, pair)
    if pair.old.kind is FactKind.EPISODE and old.polarity is Polarity.AFFIRMED:
        found[CONTRARY] = 0  # That the car was bought stays so, whoever has it now.
    found[COMPARABLE] = YES * (found["overlap"] >= 350 and found["bigrams"] >= 100)
    settle(found)
    if pair.similarity is not None:
        found["has_similarity"] = YES
        found["similarity"] = max(0, min(YES, pair.similarity))
    if pair.against is not None:
        found["has_against"] = YES
        found["against"] = max(0, min(YES, pair.against))
    _crossed(found)
    return {name: value for name, value in found.items() if value}


def _reading(claim: Claim, extra: Table) -> Reading:
    return read(claim.text, claim.subject, claim.attribute, claim.value, extra=extra)


def share(part: float, whole: float) -> int:
    """A part of a whole in thousandths; of nothing, 0."""
    return round(YES * part / whole) if whole else 0


def _dice(one: frozenset[T], other: frozenset[T]) -> int:
    return share(2 * len(one & other), len(one) + len(other))


class _Bags:
    """What is compared of one reading, as sets."""

    def __init__(self, reading: Reading) -> None:
        tokens = reading.tokens
        content = [t for t in tokens if t.is_content]
        self.stems = frozenset(t.stem for t in content)
        self.bigrams = frozenset(pairwise(t.stem for t in tokens))
        self.content_bigrams = frozenset(pairwise(t.stem for t in content))
        order = [t.stem for t in content]
        self.skips = frozenset(
            (one, other)
            for place, one in enumerate(order)
            for other in order[place + 1 : place + 4]
        )
        self.neighbours = frozenset(frozenset(two) for two in pairwise(order))
        self.roles = frozenset(_roles(tokens))
        self.numbers = tuple(t.stem for t in content if t.is_number)
        self.names = tuple(t.stem for t in content if t.capital or t.is_number)
        self.dates = frozenset(t.stem for t in content if t.date)
        self.years = frozenset(
            int(t.low[:4]) for t in content if t.date and len(t.low) >= 4 and t.low[:4].isdigit()
        )
        self.order = tuple(t.stem for t in content)
        self.owners = frozenset(t.stem for t in tokens if t.owner)
        things = [t for t in content if not t.is_number and not t.date]
        subject = frozenset(reading.subject)
        self.things = frozenset(t.stem for t in things) - self.owners
        self.frame = frozenset(
            t.stem for t in things if t.stem not in subject and not classes_of(t.low)
        )
        self.indefinite = any(t.low in _INDEFINITE for t in tokens[:12])


_LINKS = frozenset(
    "of in on at to from by with as for into and or under after before between during".split()
)


def _roles(tokens: tuple[Token, ...]) -> Iterator[tuple[str, str]]:
    """Each content word with the preposition that it stands behind."""
    link = ""
    for token in tokens:
        if token.is_content:
            yield link, token.stem
        elif token.low in _LINKS:
            link = token.low


_INDEFINITE = frozenset("a an some someone somebody something 1 new has got wants needs".split())


@holds_texts
@lru_cache(maxsize=1 << 14)
def _bags(reading: Reading) -> _Bags:
    return _Bags(reading)


def _words(found: Evidence, old: Reading, new: Reading, laid: Alignment) -> None:
    one, other = _bags(old), _bags(new)
    common = len(one.stems & other.stems)
    found["overlap"] = _dice(one.stems, other.stems)
    found["old_in_new"] = share(common, len(one.stems))
    found["new_in_old"] = share(common, len(other.stems))
    found["added"] = min(YES, 100 * len(other.stems - one.stems))
    found["removed"] = min(YES, 100 * len(one.stems - other.stems))
    found["bigrams"] = _dice(one.bigrams, other.bigrams)
    found["content_bigrams"] = _dice(one.content_bigrams, other.content_bigrams)
    found["near_pairs"] = _dice(one.skips, other.skips)
    found["neighbours"] = _dice(one.neighbours, other.neighbours)
    found["roles"] = _dice(one.roles, other.roles)
    found["sequence"] = share(2 * laid.shared, len(old.tokens) + len(new.tokens))
    found["names_order"] = _in_order(one.names, other.names)
    found["order"] = _in_order(one.order, other.order)
    found["long"] = YES * (min(len(one.order), len(other.order)) >= LONG)
    found["same_words"] = YES * (one.stems == other.stems)
    numbers_old, numbers_new = set(one.numbers), set(other.numbers)
    if numbers_old and numbers_new:
        found["numbers_same"] = YES * (numbers_old == numbers_new)
        found["numbers_differ"] = YES * (
            bool(numbers_old - numbers_new and numbers_new - numbers_old)
        )
    found["labels_differ"] = YES * (
        bool(found.get("numbers_differ"))
        and _labels(old.tokens, old.verb) != _labels(new.tokens, new.verb)
    )
    found["number_added"] = YES * bool(numbers_new and not numbers_old)
    if one.dates and other.dates:
        found["dates_differ"] = YES * (bool(one.dates - other.dates and other.dates - one.dates))
    names_old, names_new = set(one.names), set(other.names)
    found["names_lost"] = share(len(names_old - names_new), len(names_old))
    found["names_added"] = share(len(names_new - names_old), len(names_new))
    found["old_indefinite"] = YES * one.indefinite


def _labels(tokens: tuple[Token, ...], verb: str) -> frozenset[str]:
    """Numbers that tell which one is meant rather than how many: stamp 3, game 7."""
    stems = [token.stem for token in tokens]
    return frozenset(
        token.stem
        for before, token in pairwise(tokens)
        if token.is_number
        and token.low[0] != "@"
        and before.is_content
        and not (before.is_number or before.date or before.capital)
        and (before.stem != verb or stems.count(verb) > 1)
        and not before.low.endswith(("ly", "s"))
    )


def _in_order(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many pairs of common words stand in the same order; all of fewer than two."""
    places = {word: place for place, word in enumerate(other)}
    shared = [places[word] for word in dict.fromkeys(one) if word in places]
    count = len(shared)
    if count < 2:
        return YES
    right = sum(shared[i] < shared[j] for i in range(count) for j in range(i + 1, count))
    return share(right, count * (count - 1) // 2)


def same_subject(old: Reading, new: Reading) -> int:
    """1000 for the same subject, 500 for what may be the same by a shorter name, 0 for others."""
    one, other = frozenset(old.subject), frozenset(new.subject)
    if not one or not other:
        return 500 if one == other else 0
    if one == other and old.owners == new.owners:
        return YES
    if one - {"user"} == other - {"user"} and one - {"user"}:
        return YES
    if (new.opening and one <= new.opening) or (old.opening and other <= old.opening):
        return YES
    if one < other or other < one:
        # Nina's brother Tom is Tom; Nina's brother is not Nina.
        return 500 if old.owners == new.owners or old.subject[-1] == new.subject[-1] else 0
    return 0


def _subjects(found: Evidence, old: Reading, new: Reading) -> None:
    same = same_subject(old, new)
    found["subject_same"] = YES * (same == YES)
    found["subject_known"] = YES * bool(old.subject and new.subject)
    found["subject_near"] = YES * (same == 500)
    one, other = frozenset(old.subject), frozenset(new.subject)
    found["subject_apart"] = YES * (bool(one and other) and not one & other)
    found["subject_clash"] = YES * bool(one & other and one - other and other - one)
    found["subject_owned"] = YES * (bool(one & other) and old.owners != new.owners)
    named = frozenset(t.stem for t in (*old.tokens[1:], *new.tokens[1:]) if t.capital)
    added = (one ^ other) & named if one < other or other < one else frozenset()
    found["subject_named"] = YES * (bool(added) and not one & other & named)
    things_old, things_new = _bags(old).things, _bags(new).things
    heads = other - one - _bags(new).owners
    found["new_subject_in_old"] = share(len(heads & things_old), len(heads))
    found["things"] = _dice(things_old, things_new)


def _values(found: Evidence, pair: Pair, old: Reading, new: Reading) -> None:
    if not old.attribute or not new.attribute:
        return
    if old.attribute != new.attribute:
        found["attribute_other"] = YES
        found[THINGS_APART] = YES * _on_things_apart(old.attribute, new.attribute)
        return
    found[VALUES_GIVEN] = YES * (pair.old.value is not None and pair.new.value is not None)
    found["attribute_same"] = YES
    # Of a class of words only the bare word is a value: is open, not is open to suggestions.
    loose = ":" in old.attribute and max(len(old.value), len(new.value)) > 2
    loose = loose or any(frozenset(one.value) <= _PRAISE for one in (old, new))
    loose = loose or _is_of_another_thing(old, new)
    one_count = _counts_the_same(old.value, new.value)
    found["single"] = YES * ((old.single and new.single and not loose) or one_count)
    # Somebody is in a town, on a page and on a diet at once.
    plain = len(new.subject) == 1 and new.subject[0].isalpha()
    of_person = "user" in new.subject or (plain and bool(new.tokens and new.tokens[0].capital))
    unnamed = old.attribute == "home" and not all(
        frozenset(one.value) & frozenset(_bags(one).names) for one in (old, new)
    )
    posted = all(any(_POSTAL.fullmatch(word) for word in one.value) for one in (old, new))
    vague = (old.attribute in _VAGUE or unnamed) and not posted
    found["vague"] = YES * (of_person and vague)
    found["amount"] = YES * (of_person and old.attribute in _AMOUNTS)
    one, other = frozenset(old.value), frozenset(new.value)
    if one == other:
        found["value_equal"] = YES
    elif one < other or other < one:
        found["value_refined"] = YES
        found["value_fuller"] = YES * (one < other)
    else:
        found["value_different"] = YES
        found["value_denied"] = YES * (_takes_back(old) or _takes_back(new))
        found["value_apart"] = YES * (not one & other)
        found["value_class"] = YES * any(
            _co_members(a, b) for a in one - other for b in other - one
        )


def _is_of_another_thing(old: Reading, new: Reading) -> bool:
    """The code of the door, the code of the garden door: a word more tells another thing, where it
    is no name of its owner."""
    if new.attribute not in _KEYS:
        return False
    named = {t.stem for t in (*old.tokens, *new.tokens) if t.capital}
    return bool((frozenset(old.subject) ^ frozenset(new.subject)) - named - {"user"})


_KEYS = frozenset("code password passcode pin combination".split())


def _counts_the_same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Two kids, three kids: how many there are of the same is one number at a time."""
    counted = len(one) > 1 and len(other) > 1 and one[1:] == other[1:]
    return counted and all("number" in kinds_of(each[:1]) for each in (one, other))


def _on_things_apart(one: str, other: str) -> bool:
    """Whether both attributes are opinions, of things with no word in common."""
    if not (one.startswith(OPINION) and other.startswith(OPINION)):
        return False
    things = (frozenset(each.removeprefix(OPINION).split()) for each in (one, other))
    return frozenset.isdisjoint(*things)


def _takes_back(reading: Reading) -> bool:
    """Whether a statement says of its value only that it is none: no longer works at Orbit Labs."""
    return bool(reading.value) and frozenset(reading.value) <= reading.denied


_VAGUE = frozenset("place origin school goal status is:status study".split())
_PRAISE = frozenset(
    stem(word)
    for word in "delicious amazing great awesome nice good wonderful perfect lovely fantastic "
    "incredible excellent beautiful fun cool interesting important special bad terrible awful "
    "hard easy difficult simple best better worse worth".split()
)
"""What somebody thinks of a thing is no value of it: her favourite is delicious."""
_POSTAL = re.compile(r"\d{5}")
"""Somebody is in a town and on a page at once, but has one postal code."""
_AMOUNTS = frozenset("budget price cost".split())
"""Of a person there are as many of these as there are things to pay for."""


def _co_members(one: str, other: str) -> bool:
    return bool(classes_of(one) & classes_of(other)) or (one[0] == "@" and other[0] == "@")


def _frame(found: Evidence, old: Reading, new: Reading) -> None:
    """Whether both say the same of the subject but for numbers and members of a class."""
    one, other = _bags(old), _bags(new)
    found["same_verb"] = YES * bool(old.verb and old.verb == new.verb)
    found["frame"] = _dice(one.frame, other.frame) if one.frame or other.frame else YES
    left_old = frozenset(old.predicate) - frozenset(new.predicate)
    left_new = frozenset(new.predicate) - frozenset(old.predicate)
    opposed = [
        (a, b)
        for a in left_old
        for b in left_new
        if are_opposites(a, b) and not names_people(a) and not names_people(b)
    ]
    # Closed is not open: an opposite that is denied is the same.
    turned = [(a, b) for a, b in opposed if (a in old.denied) != (b in new.denied)]
    found["opposed"] = YES * (len(opposed) > len(turned))
    found["turned_twice"] = YES * bool(turned)
    left_old, left_new = left_old - old.denied, left_new - new.denied
    found["state_changed"] = YES * any(
        classes_of(a) & classes_of(b) & _STATES for a in left_old for b in left_new
    )
    colours = any(
        a[0] not in "0123456789@" and classes_of(a) & classes_of(b) - _SLOTS
        for a in left_old - one.dates
        for b in left_new - other.dates
    )
    found["things_swapped"] = YES * (
        colours or bool(one.frame - other.frame and other.frame - one.frame)
    )
    found["slot_changed"] = YES * any(
        classes_of(a) & classes_of(b) & _SLOTS for a in left_old for b in left_new
    )
    found["class_changed"] = YES * any(
        a[0] not in "0123456789" and classes_of(a) & classes_of(b)
        for a in left_old - one.dates
        for b in left_new - other.dates
    )


_STATES = frozenset(("status", "parcel", "marital", "diet"))
# Of these a statement has one; of towns, colours and drinks it may well have another beside.
_SLOTS = _STATES | frozenset("weekday season frequency level priority theme daytime".split())


def _difference(found: Evidence, laid: Alignment) -> None:
    gaps = [Gap(_content(gap.old), _content(gap.new)) for gap in laid.gaps]
    gaps = [gap for gap in gaps if gap.old or gap.new]
    swaps = [gap for gap in gaps if gap.old and gap.new]
    found["one_place"] = YES * (len(gaps) == 1 and len(swaps) == 1)
    found["places"] = min(YES, 125 * len(gaps))
    found["swaps"] = min(YES, 200 * len(swaps))
    found["only_added"] = YES * (bool(gaps) and all(not gap.old for gap in gaps))
    found["only_removed"] = YES * (bool(gaps) and all(not gap.new for gap in gaps))
    excluded = numbers = names = False
    opposed = any(
        are_opposites(one.low, other.low)
        for gap in laid.gaps
        for one in gap.old
        for other in gap.new
    )
    for gap in swaps:
        for one in gap.old:
            for other in gap.new:
                if one.stem == other.stem:
                    continue
                excluded |= _co_members(one.low, other.low)
                numbers |= one.is_number and other.is_number
                names |= one.capital and other.capital
    found["opposites"] = YES * opposed
    found["excluded"] = YES * excluded
    found["number_changed"] = YES * numbers
    found["name_changed"] = YES * names


def _content(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    return tuple(t for t in tokens if t.is_content)


_SUPPOSED = re.compile(
    r"\b(?:if|unless|in case|would|wouldn['’]t|could|might|(?-i:may)|maybe|perhaps|probably"
    r"|hopefully"
    r"|wishes|wants to|hopes to|plans to|thinking (?:of|about)|considering)\b"
    r"|\b(?:in|on) (?:the|this|an?|[\w'’]+['’]s|their) (?:[\w-]+ )?(?:novel|book|story|film|movie"
    r"|series|show|play|game|dream|nightmare|musical|comic|episode)\b(?! (?:club|store|shop|room))",
    re.I,
)
"""What would be, or may be, ends nothing."""


_STEPS = re.compile(
    r" (?:moved|relocated|joined|started (?:working |a (?:new )?job )?at|switched|changed|migrated"
    r"|upgraded|downgraded|promoted|pushed|rescheduled|delayed|postponed|extended|slipped|raised"
    r"|lowered|increased|reduced|rose|fell|dropped|went (?:up|down)|is (?:down|up) to|renamed)\b"
)


def _cues(found: Evidence, pair: Pair, old: Reading, new: Reading) -> None:
    text, before = cues_of(pair.new.text), cues_of(pair.old.text)
    said = cues_of(about(pair.new.said, pair.new.text)) if pair.new.said else text
    # What both texts hold is no news.
    change = text.change and not before.change
    correction = text.correction and not before.correction
    apart = pair.new.said is not None
    found["change"] = YES * change
    found[RENAMED] = YES * renames(pair.new.text, pair.old.text)
    found[TURNED] = YES * bool(_STEPS.search(pair.new.text))
    found["change_said"] = YES * ((apart and said.change) or change)
    found["correction"] = YES * correction
    found["correction_said"] = YES * ((apart and said.correction) or correction)
    year = 1970 + pair.new.said_at // _YEAR_US
    backward = any(one < year for one in _bags(new).years)
    looked_back = before.past and old.past
    found["told_past"] = YES * (text.past and (new.past or backward) and not looked_back)
    found["past_year"] = YES * backward
    found["past"] = YES * (text.past or new.past)
    found["only"] = YES * (text.only and not before.only)
    found["over"] = YES * (text.over or said.over)
    found["instead"] = YES * text.instead
    found["still"] = YES * said.still
    found["also"] = YES * (said.also or text.also)
    found["old_change"] = YES * before.change
    found["old_past"] = YES * looked_back
    found["plan"] = YES * new.plan
    found["supposed"] = YES * bool(_SUPPOSED.search(pair.new.text))
    found["old_plan"] = YES * old.plan
    found["old_ended"] = YES * (old.polarity is Polarity.ENDED)


def _times(found: Evidence, pair: Pair) -> None:
    new, old = pair.new, pair.old
    apart = abs(new.said_at - old.said_at)
    together = new.conversation is not None and new.conversation == old.conversation
    found["together"] = YES * together
    found["minutes_apart"] = YES * (apart <= 60 * _MINUTE)
    found["day_apart"] = YES * (apart <= 2 * _DAY)
    found["weeks_apart"] = YES * (apart > 10 * _DAY)
    found["new_earlier"] = YES * (new.valid_from < old.valid_from)
    found["same_kind"] = YES * (new.kind == old.kind)
    found["episode"] = YES * (FactKind.EPISODE in (new.kind, old.kind))


def _put_right(found: Evidence, pair: Pair) -> None:
    """Whether the older of two values of an attribute is said to have been wrong."""
    if not (found.get("attribute_same") and found.get("value_different")):
        return
    said = about(pair.new.said, pair.new.text) if pair.new.said else pair.new.text
    if is_put_right(said, pair.old.value, soon=bool(found["day_apart"])):
        found[PUT_RIGHT] = found["correction_said"] = YES


def _again(found: Evidence, pair: Pair) -> None:
    """Whether the very same is said: the same words in the same order, of the same occasion."""
    same = [t.low for t in tokens_of(pair.new.text)] == [t.low for t in tokens_of(pair.old.text)]
    apart = abs(pair.new.valid_from - pair.old.valid_from) >= 60 * _MINUTE
    first = tokens_of(pair.new.text)[:1]
    happened = found["episode"] or found["past"] or any(is_past(token.low) for token in first)
    found[SAID_AGAIN] = YES * (same and not (happened and apart))
    found[RESTATED] = YES * bool(
        found.get("value_equal")
        and found["subject_same"]
        and found["added"] <= 100
        and not (happened or found["polarity_differs"] or found["plan"] != found["old_plan"])
        and not (found.get("numbers_differ") or found.get("dates_differ"))
        and not (found["still"] or found["only"])
    )


_WITH_END = (
    "change", "change_said", "correction", "correction_said", "minutes_apart", "day_apart",
    "told_past", "past_year", "new_earlier", "also", "still", "value_apart", "value_refined",
    "names_lost", "added", "dates_differ",
)  # fmt: skip
_WITH_SUBJECT = (
    "overlap", "frame", "things", "added", "dates_differ", "correction_said", "told_past",
    "attribute_other", "new_ended", "change", "plan", "numbers_differ", "also",
)  # fmt: skip


_WITH_LONG = (
    "overlap", "bigrams", "content_bigrams", "near_pairs", "neighbours", "roles", "sequence",
    "order", "names_order", "names_lost", "names_added", "swaps", "places", "same_words",
    "excluded", "subject_same", "added", "removed",
)  # fmt: skip
LONG = 7
"""Content words from which on a statement is long: then order tells more than overlap."""


def _crossed(found: Evidence) -> None:
    """What counts for more together than apart."""
    if found.get(MAY_REVIEW):
        for name in _WITH_END:
            found[f"end*{name}"] = found.get(name, 0)
    if found["subject_same"]:
        for name in _WITH_SUBJECT:
            found[f"same*{name}"] = found.get(name, 0)
    if found.get("has_similarity"):
        clean = not (
            found["excluded"]
            or found["opposites"]
            or found.get("numbers_differ")
            or found["denial_added"]
        )
        found["similar"] = max(0, found["similarity"] - 600) * 5 // 2
        found["similar*clean"] = found["similar"] * clean
        found["similar*end"] = found["similar"] * bool(found.get(MAY_REVIEW))
    if found["long"]:
        for name in _WITH_LONG:
            found[f"long*{name}"] = found.get(name, 0)
    found["overlap*clean"] = found["overlap"] * (
        not (found["excluded"] or found["opposites"] or found.get("numbers_differ"))
    )
