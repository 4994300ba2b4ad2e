"""A claim read: what it is about, which attribute it states, with which value, and how surely.

What the caller knows of subject, attribute and value wins over what the words tell. Everything is
compared in the form of `claim_words`: `Nina's phone number is …` and `the phone number of Nina is
…` read alike. A reading that found nothing is empty, not wrong: then only the words are compared.
"""

import enum
import re
from functools import cache, lru_cache
from typing import NamedTuple

from rewound.eventlog.letting_go import holds_texts
from rewound.llm.attribute_table import DEFAULT, Row
from rewound.llm.claim_words import USED_TO_AFTER, Token, tokens_of
from rewound.llm.clauses import (
    ENDERS,
    is_past_tense,
    is_plan,
    main_verb,
    main_verb_at,
    named_stems,
    opening,
    subject_tokens,
    without_lead,
)
from rewound.llm.endings import value_ended
from rewound.llm.people import owner_first
from rewound.llm.stated import Found, Index, find, index_of_wordings
from rewound.llm.wordings import ALIASES

OPINION = "opinion of "
"""What the attribute is called that says whether somebody likes a thing."""

Table = tuple[Row, ...]
"""Rows of the user, as `attribute_table.parse` makes them."""


class Polarity(enum.Enum):
    """Whether a statement holds, does not hold, or held until now."""

    AFFIRMED = "affirmed"
    DENIED = "denied"
    ENDED = "ended"


class Reading(NamedTuple):
    """`subject` and `value` are stems in order; empty where nothing was found, like `attribute`.

    `single` says that a subject has one value of the attribute at a time. `predicate` is every
    content stem outside the subject, `denied` those that are denied, ended or left behind. `plan`
    marks what is intended or supposed only, `past` what is told as over.
    """

    subject: tuple[str, ...]
    attribute: str
    value: tuple[str, ...]
    single: bool
    polarity: Polarity
    plan: bool
    past: bool
    predicate: tuple[str, ...]
    denied: frozenset[str]
    tokens: tuple[Token, ...]
    owners: int
    """How many possessives the subject holds: Nina's sister has one."""
    verb: str
    """The stem of the main verb, `be` for any form of it; empty where none was found."""
    opening: frozenset[str]
    """The content before the main verb, where a time or place stands before the subject."""


def read(
    text: str,
    subject: str | None = None,
    attribute: str | None = None,
    value: str | None = None,
    *,
    extra: Table = (),
) -> Reading:
    """The reading of one statement. What an `extra` row finds goes before the shipped wordings."""
    return _read(text, subject, attribute, value, extra)


@cache
def _singles() -> dict[str, bool]:
    return {row.attribute: row.single for row in DEFAULT}


def _is_one(attribute: str) -> bool:
    """Of one's favourite of a sort there is one, and of one's opinion of a thing."""
    return attribute.startswith(("favourite ", "favorite ", OPINION)) or (
        attribute == "value" or attribute.endswith(" version")
    )


def _ends_in_one(attribute: str, index: Index) -> bool:
    """The thesis deadline is a deadline, the job title a title: of these there is one."""
    last = tuple(t.stem for t in tokens_of(attribute))[-1:]
    return index.single.get(index.nouns.get(last, ""), False)


def _is_measured(value: str | None) -> bool:
    """A number, an amount or a date: of these a thing has one at a time."""
    return bool(value) and _NUMBER.match(value or "") is not None


_NUMBER = re.compile(r"[^\w\s]?\d")


@holds_texts
@lru_cache(maxsize=1 << 15)
def _read(
    text: str, subject: str | None, attribute: str | None, value: str | None, extra: Table
) -> Reading:
    index = index_of_wordings()
    text = owner_first(text)
    tokens = without_lead(tokens_of(text))
    verb = main_verb_at(tokens)
    before = subject_tokens(tokens, verb)
    after = list(tokens[verb:]) if verb >= 0 else list(tokens[len(before) :])
    found = find(before, after, index)
    about, name, stated = list(found.subject), found.attribute, found.value
    single = index.single.get(name, ":" in name and not name.startswith("uses:"))
    for row in extra:
        match = row.pattern.match(text.rstrip(". "))
        if match:
            about, name = list(tokens_of(match["s"])), row.attribute
            stated, single = _content(match["v"]), row.single
            break
    if subject and attribute and (thing := _thing_with(attribute)):
        subject, attribute = f"{subject} {thing}", attribute.removeprefix(f"{thing} ")
    if subject:
        about = list(tokens_of(subject))
    if attribute:
        given = _name_of(attribute, index)
        stated = stated if given == name else ()
        singles = _singles() | {row.attribute: row.single for row in extra}
        one = _is_one(given) or _is_measured(value) or _ends_in_one(given, index)
        single = index.single.get(given, singles.get(attribute, one))
        name = given
    value = value or (value_ended(text, attribute) if attribute and not stated else None)
    if value:
        stated = _content(value)
    stems = named_stems(about)
    return Reading(
        subject=stems,
        attribute=name,
        value=stated,
        single=single,
        polarity=_polarity(found, after),
        plan=is_plan(tokens, verb),
        past=is_past_tense(tokens, verb),
        predicate=tuple(t.stem for t in tokens if t.is_content and t.stem not in stems),
        denied=frozenset(t.stem for t in tokens if t.denied and t.is_content),
        tokens=tokens,
        owners=sum(t.owner for t in about[:-1]),
        verb=main_verb(after),
        opening=opening(tokens, verb),
    )


def _content(text: str) -> tuple[str, ...]:
    return tuple(t.stem for t in tokens_of(text) if t.is_content)


def _name_of(attribute: str, index: Index) -> str:
    """The name that an attribute has here, whatever the caller calls it."""
    if attribute in ALIASES or attribute in index.single:
        return ALIASES.get(attribute, attribute)
    key = tuple(t.stem for t in tokens_of(attribute))
    return index.nouns.get(key, attribute.lower())


_OF_THINGS = frozenset("code password passcode pin combination".split())


def _thing_with(attribute: str) -> str:
    """The thing that an attribute names with its part: Nina's gate code is the code of a gate."""
    thing, _, part = attribute.rpartition(" ")
    return thing if part.lower() in _OF_THINGS else ""


def _polarity(found: Found, after: list[Token]) -> Polarity:
    lows = [t.low for t in after[:5]]
    if found.kind == "ends":
        return Polarity.ENDED
    ended = "longer" in lows or ("used" in lows and "to" in lows and not _is_used_to(lows))
    enders = [n for n, t in enumerate(after[:3]) if t.stem in ENDERS]
    if enders and enders[0] and after[enders[0] - 1].low in ("not", "never"):
        return Polarity.AFFIRMED  # Who does not quit goes on.
    if ended or enders or "anymore" in [t.low for t in after]:
        return Polarity.ENDED
    if found.denied or any(low in ("not", "never") for low in lows[:3]):
        return Polarity.DENIED
    return Polarity.AFFIRMED


def _is_used_to(lows: list[str]) -> bool:
    """Is used to it, is getting used to it: nothing is over."""
    place = lows.index("used")
    return place > 0 and lows[place - 1] in USED_TO_AFTER
