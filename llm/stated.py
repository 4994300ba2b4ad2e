"""Which attribute a statement gives which value, by the wordings of `wordings`.

Tried in turn: a noun that names the attribute (Nina's phone number is …), what one thinks of a
thing (loves olives), a phrase (lives in), a change (changed her number to …), and what a thing is
(the van is red).
"""

from functools import cache
from typing import NamedTuple

from rewound.llm.claim_words import Token, tokens_of
from rewound.llm.clauses import BE_FORMS, NOT_SUBJECT, SKIPPED, from_main_verb, lemma, named_stems
from rewound.llm.english import THIRD, is_adverb, is_surely_finite
from rewound.llm.people import names_people
from rewound.llm.vocabulary import classes_of, stem
from rewound.llm.wordings import WORDINGS, Wording


class Index(NamedTuple):
    wordings: dict[str, list[tuple[tuple[str, ...], str, str]]]
    """First word -> (all words, attribute, kind of wording), the longest first."""
    nouns: dict[tuple[str, ...], str]
    single: dict[str, bool]


@cache
def index_of_wordings() -> Index:
    wordings: dict[str, list[tuple[tuple[str, ...], str, str]]] = {}
    nouns: dict[tuple[str, ...], str] = {}
    single: dict[str, bool] = {}
    for row in WORDINGS:
        single[row.name] = row.single
        for kind, phrases in _kinds(row):
            for phrase in phrases:
                key = tuple(_skeleton(tokens_of(phrase)))
                if key:
                    wordings.setdefault(key[0], []).append((key, row.name, kind))
        for noun in row.nouns:
            # A noun of a broad row is an attribute of its own: a budget is no timeout.
            name = noun if row.name in _BROAD else row.name
            nouns.setdefault(tuple(t.stem for t in tokens_of(noun)), name)
            single.setdefault(name, row.single)
    for found in wordings.values():
        found.sort(key=lambda one: -len(one[0]))
    return Index(wordings, nouns, single)


_BROAD = frozenset(("part", "has", "plays"))


def _kinds(row: Wording) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (("states", row.phrases), ("ends", row.ends), ("owned", row.owned))


def _skeleton(tokens: tuple[Token, ...] | list[Token]) -> list[str]:
    """What of a wording is compared: no articles, no adverbs, no auxiliaries but `be`."""
    kept = [t for t in tokens if t.low not in SKIPPED and not is_adverb(t.low) and not t.owner]
    return _passives(kept)


def _passives(kept: list[Token]) -> list[str]:
    """`Got moved to` is `was moved to`."""
    lemmas = [lemma(t) for t in kept]
    for place, token in enumerate(kept[:-1]):
        if token.low == "got" and kept[place + 1].low.endswith("ed"):
            lemmas[place] = "be"
    return lemmas


_LIKES = {
    word: 1
    for word in "love like enjoy ador fond fan keen into obsess crazi fanci crave partial".split()
} | {word: -1 for word in "hate dislik detest loath despis".split()}


_CANNOT_STAND = frozenset(("stand", "bear", "tolerat", "stomach"))


class Found(NamedTuple):
    subject: list[Token]
    attribute: str = ""
    value: tuple[str, ...] = ()
    kind: str = "states"
    denied: bool = False


def find(before: list[Token], after: list[Token], index: Index) -> Found:
    """The first way of stating an attribute that fits."""
    rest = from_main_verb(after)
    for seek in (_by_noun, _by_liking, _by_wording, _by_change_of, _by_class):
        found = seek(before, rest, index)
        if found is not None:
            return found
    return Found(before)


def _value(tokens: list[Token]) -> tuple[str, ...]:
    """The content of a value: up to where another thought begins, without what is denied."""
    kept: list[Token] = []
    clause = tokens[0].clause if tokens else 0
    for place, token in enumerate(tokens):
        if kept and (token.low in _VALUE_ENDS or token.clause != clause):
            if token.clause == clause or not (token.is_number and kept[-1].is_number):
                break
        if token.low in _VALUE_ENDS and place == 0:
            continue
        if token.low == "and" and place + 1 < len(tokens) and _is_verb(tokens[place + 1]):
            break
        if token.is_content and not is_adverb(token.low) and token.low not in ("called", "named"):
            kept.append(token)
    bare = [t for t in kept if not t.denied] or kept
    return tuple(t.stem for t in bare)


def _is_verb(token: Token) -> bool:
    return not token.capital and (is_surely_finite(token.low) or token.low in THIRD)


def _timeless(value: tuple[str, ...], tokens: list[Token]) -> tuple[str, ...]:
    """A value without the date since when it holds, where it is no date itself."""
    dates = {t.stem for t in tokens if t.date}
    return tuple(stem for stem in value if stem not in dates) or value


_VALUE_ENDS = frozenset(
    "but because since so with which who where when while as now instead until after before today "
    "again nowadays these not rather if from for though although anymore whenever that according "
    "last next this per".split()
)


def _denied(tokens: list[Token]) -> bool:
    content = [t for t in tokens[:6] if t.is_content]
    return bool(content) and all(t.denied for t in content[:2])


_CHANGERS = frozenset(
    "chang updat move chang set rais increas lower reduc cut drop went go bump switch becom becam "
    "rose fell reset adjust extend shift reloc push postpon double up down is be remain "
    "reschedul slip turn jump climb has got get".split()
)


def _by_noun(before: list[Token], rest: list[Token], index: Index) -> Found | None:
    """Nina's phone number is …; the deadline for the report moved to …"""
    if not rest or not before:
        return None
    verb = rest[0]
    if verb.low not in BE_FORMS and verb.stem not in _CHANGERS:
        return None
    named = _noun_of(before, index)
    if named is None or (before[0].low.endswith("ing") and not before[0].owner):
        return None
    attribute, subject = named
    place = 0
    if verb.low not in BE_FORMS or (len(rest) > 1 and rest[1].stem in _CHANGERS | {"now"}):
        to = [n for n, t in enumerate(rest[:12]) if t.low in ("to", "at", "until")]
        if to:
            place = to[-1] if rest[to[-1]].low == "to" else to[0]
        elif verb.low not in BE_FORMS:
            return None
    value = _value(rest[place + 1 :])
    if not value:
        return None
    if attribute not in _DATED:
        value = _timeless(value, rest)
    if names_people(attribute) and not any(t.capital for t in rest[place + 1 : place + 4]):
        return None  # A sister who is a nurse is no new sister.
    return Found(subject, attribute, value, denied=_denied(rest[place + 1 :]))


def _noun_of(tokens: list[Token], index: Index) -> tuple[str, list[Token]] | None:
    """The attribute that a noun phrase names, and whose it is."""
    kept = [t for t in tokens if t.low not in ("the", "a", "an", "new", "current", "now", "our")]
    cut = next((n for n, t in enumerate(kept) if t.low in _WHOSE and n), None)
    if cut is not None:
        named = _noun_of(kept[:cut], index)
        return (named[0], named[1] + kept[cut + 1 :]) if named else None
    for size in (3, 2, 1):
        tail = tuple(t.stem for t in kept[-size:])
        if len(kept) >= size and tail in index.nouns:
            return index.nouns[tail], kept[:-size]
    if len(kept) >= 2 and kept[-2].low in ("favourite", "favorite"):
        return f"favourite {kept[-1].stem}:", kept[:-2]
    for place, token in enumerate(kept):
        if token.low in ("favourite", "favorite") and place + 1 < len(kept):
            return f"favourite {' '.join(t.stem for t in kept[place + 1 :])}:", kept[:place]
    return None


_WHOSE = frozenset("of for at in on with to from by".split())


def _by_liking(before: list[Token], rest: list[Token], index: Index) -> Found | None:
    """Loves olives, can't stand olives: what one thinks of a thing is one value."""
    del index
    for place, token in enumerate(rest[:4]):
        cannot = token.stem in _CANNOT_STAND and (token.denied or place == 0)
        if token.stem not in _LIKES and not cannot:
            continue
        if token.stem in ("fan", "fond", "keen", "partial", "obsess", "crazi", "into"):
            if rest[0].low not in BE_FORMS:
                continue
        elif place and rest[place - 1].low not in SKIPPED and not is_adverb(rest[place - 1].low):
            continue
        if token.low == "likely" or (token.low == "like" and rest[0].low in BE_FORMS):
            continue
        start = place + 1
        while start < len(rest) and rest[start].low in ("of", "on", "about", "with", "to", "for"):
            start += 1
        things = _value(rest[start:])
        if not things:
            return None
        sense = -1 if cannot else _LIKES[token.stem]
        if token.denied and not cannot:
            sense = -sense
        return Found(before, f"likes:{' '.join(things)}", ("yes" if sense > 0 else "no",))
    return None


def _by_wording(before: list[Token], rest: list[Token], index: Index) -> Found | None:
    """Lives in, is due on, owns: the longest wording that begins the predicate."""
    places = [
        n
        for n, t in enumerate(rest[:12])
        if t.low not in SKIPPED and not is_adverb(t.low) and not t.owner
    ]
    lemmas = _passives([rest[n] for n in places])
    if not lemmas:
        return None
    for key, name, kind in index.wordings.get(lemmas[0], ()):
        if tuple(lemmas[: len(key)]) != key:
            continue
        tail = rest[places[len(key) - 1] + 1 :]
        value = _value(tail)
        if name not in _DATED:
            value = _timeless(value, tail)
        if not value or not _fits(name, before, tail, value):
            continue
        if kind == "owned":
            if not (tail and (tail[0].low in ("the", "this", "our") or tail[0].capital)):
                continue
            named = _owned_thing(tail)
            return Found(named, name, named_stems(before), denied=_denied(tail))
        return Found(before, _typed(name, value), value, kind, _denied(tail))
    return None


_DATED = frozenset(("when", "due", "birthday"))


def _owned_thing(tail: list[Token]) -> list[Token]:
    kept: list[Token] = []
    for token in tail:
        if kept and (token.low in _VALUE_ENDS or token.clause != kept[0].clause):
            break
        kept.append(token)
    return kept


_TIMES = frozenset(("weekday", "month", "season"))


_TIME_WORDS = frozenset("tomorrow today tonight week weekend month year noon day".split())


_TOOLS = frozenset(
    "database cloud code editor ci chat os broker browser frontend tracker bundler packager "
    "format".split()
)


def kinds_of(value: tuple[str, ...]) -> set[str]:
    """The classes of the words of a value, with `clock` for a time of day."""
    kinds: set[str] = set()
    for word in value:
        kinds |= {"clock"} if word[0] == "@" else classes_of(word)
    return kinds


def _fits(name: str, before: list[Token], tail: list[Token], value: tuple[str, ...]) -> bool:
    """Whether a value may be one of the attribute: `moved to` serves days, rooms and towns."""
    kinds = kinds_of(value)
    timed = bool(kinds & _TIMES or "clock" in kinds or set(value) & {stem(w) for w in _TIME_WORDS})
    person = _is_person(before)
    if name in ("when", "due", "birthday", "opening", "closing"):
        return timed or (name in ("when", "birthday", "due") and "ordinal" in kinds)
    if name in ("cost", "salary", "rent", "age", "height", "weight", "size"):
        return "number" in kinds
    if name == "version":
        return not timed and any(word[0].isdigit() for word in value[:2]) and len(value) <= 4
    if name == "phone":
        return any(word[0].isdigit() and len(word) > 2 for word in value)
    if name in ("home", "place", "birthplace", "origin"):
        if timed or kinds & _TOOLS or "status" in kinds or ("number" in kinds and name == "home"):
            return False
        if name == "place" and person:  # Where somebody is passes; a bed or a ward stays a while.
            return bool(set(value) & _STAYS) or "number" in kinds
        return person if name == "home" else True
    if name == "employer":
        return not set(value) & _CLUBS and (
            any(t.capital for t in tail[:4]) or (bool(tail) and tail[0].low in ("a", "an", "the"))
        )
    if name == "owner":
        return any(t.capital for t in tail[:3]) or any(t.capital for t in before)
    if name == "status":
        return bool(kinds & {"status"})
    return True


_STAYS = frozenset("room ward offic floor desk seat".split())


_CLUBS = frozenset("choir club gym team group band parti class church leagu cours panel".split())


def _is_person(tokens: list[Token]) -> bool:
    kept = [t for t in tokens if t.low not in NOT_SUBJECT]
    if not kept:
        return True
    last = kept[-1]
    return last.capital or last.low in ("user", "we", "he", "she", "they") or names_people(last.low)


def _typed(name: str, value: tuple[str, ...]) -> str:
    """`uses` and `prefers` are of many things, but of one thing of a class."""
    if name not in ("uses", "prefers"):
        return name
    kinds = kinds_of(value[:3]) - {"number", "ordinal", "compass", "shift", "theme", "level"}
    return f"{name}:{min(kinds)}" if kinds else name


def _by_change_of(before: list[Token], rest: list[Token], index: Index) -> Found | None:
    """Nina changed her phone number to …; has a new phone number, …"""
    if not rest or rest[0].stem not in _CHANGERS:
        return None
    to = next((n for n, t in enumerate(rest[:12]) if t.low == "to"), 0)
    if to < 2:
        return None
    named = _noun_of([t for t in rest[1:to] if t.low not in ("his", "her", "their", "its")], index)
    value = _value(rest[to + 1 :])
    if named is None or not value:
        return None
    return Found(named[1] or before, named[0], value, denied=_denied(rest[to + 1 :]))


def _by_class(before: list[Token], rest: list[Token], index: Index) -> Found | None:
    """The van is red, the wifi password is …: what a thing is, of a class or by name."""
    if not rest or rest[0].low not in BE_FORMS or not before:
        return None
    if len(rest) > 2 and rest[1].low in ("switched", "turned", "flipped", "put", "back"):
        rest = [rest[0], *rest[2:]]
    if len(rest) > 1 and rest[1].low in _STATES and not _is_person(before):
        return Found(before, "is:status", (rest[1].stem,), denied=rest[1].denied)
    value = _value(rest[1:])
    if not value:
        return None
    value = _timeless(value, rest)
    inverse = _by_inverse(before, rest, index)
    if inverse is not None:
        return inverse
    kinds = kinds_of(value[:2]) & {"colour", "status", "weekday", "month", "marital"}
    kinds = kinds if len(value) <= 3 else set()
    kinds |= kinds_of(value[:1]) & {"number"}
    if kinds:
        return Found(before, f"is:{min(kinds)}", value, denied=_denied(rest[1:]))
    named = len(rest) > 1 and rest[1].capital
    if named and before[0].low in ("the", "our", "user") and not before[-1].capital:
        return Found(before, "is:name", value, denied=_denied(rest[1:]))
    if len(rest) > 1 and rest[1].low in ("a", "an"):
        return Found(before, "is a", value, denied=_denied(rest[1:]))
    return None


_STATES = frozenset("up down on off out".split())


# What a name can be of something: its owner, its doctor, its room.
_ROLES = frozenset(
    "owner doctor vet dentist therapist accountant lawyer trainer landlord landlady teacher spouse "
    "partner place".split()
)


def _by_inverse(before: list[Token], rest: list[Token], index: Index) -> Found | None:
    """Dr Colin is Nina's doctor; Liya is captain of the team: the value stands first."""
    if not before[0].capital and not any(t.is_number for t in before):
        return None
    if any(t.owner for t in before) or (len(rest) > 1 and rest[1].low in ("a", "an")):
        return None
    kept: list[Token] = []
    for token in rest[1:]:
        if kept and (token.low in _VALUE_ENDS - {"for"} or token.clause != kept[0].clause):
            break
        if token.low not in ("still", "not", "never", "also"):
            kept.append(token)
    named = _noun_of(kept, index)
    if named is None or not named[1] or named[0] not in _ROLES:
        return None
    return Found(named[1], named[0], named_stems(before), denied=_denied(rest[1:]))
