"""How much of what one statement says another denies, ends or leaves behind.

Words count as denied by how they stand (`claim_words`); here it is told which of them the other
statement had affirmed, and whether the denial is of this very matter or of any of its kind.
"""

import re
from collections.abc import Iterator

from rewound.llm.claim_words import Token
from rewound.llm.grounds import CONTRARY, DENIED_BY_ONE, NARROWER
from rewound.llm.judging import Evidence
from rewound.llm.narrowing import is_narrower
from rewound.llm.reading import Polarity, Reading
from rewound.llm.vocabulary import stem

YES = 1000


def denials(found: Evidence, old: Reading, new: Reading) -> None:
    """Adds what the newer statement denies of the older one, and the older one of the newer."""
    one, other = _stems(old), _stems(new)
    numbers = _numbers(old) | _numbers(new)
    affirmed_old, affirmed_new = one - old.denied, other - new.denied
    denied = new.denied - frozenset(new.subject)
    hit = affirmed_old & denied
    owned = frozenset(old.subject) - denied
    found["denies"] = _share(hit, affirmed_old - owned)
    found["denies_name"] = YES * bool(hit & _names(old))
    found["denial_hits"] = _share(hit, denied - _dates(new))
    found["denies_verb"] = YES * bool(old.verb in new.denied and old.verb not in old.denied)
    back = affirmed_new & old.denied
    found["denied_by_old"] = _share(back, affirmed_new)
    said = one - frozenset(old.subject) - {old.verb} - _numbers(old)
    found["denies_after_all"] = YES * bool(
        _is_elliptic(new.tokens)
        and frozenset(old.subject) & _last(new)
        and 2 * len((said | {old.verb}) & other) > len(said | {old.verb})
    )
    things = denied - {new.verb} - _dates(new)
    # Sold the old one for $200: a price tells nothing of what was given up.
    things = things - numbers or things
    hit_here = things & (said or _numbers(old)) if things else said <= other
    found["denied_whole"] = YES * bool(said <= other and things <= one)
    found["denied_here"] = YES * bool(
        hit_here
        and 2 * len(things & one) > len(things) - (len(things) < 3)
        and not found["names_lost"]
        and found["old_in_new"] >= 500
        and not _IDLE.search(_words(new))
    )
    found["denied_alike"] = YES * bool(denied & old.denied - frozenset(old.subject))
    value = frozenset(old.value) - frozenset(new.value)
    found["leaves_value"] = YES * bool(value and value <= new.denied)
    found["polarity_differs"] = YES * (
        (old.polarity is Polarity.AFFIRMED) != (new.polarity is Polarity.AFFIRMED)
    )
    found["new_ended"] = YES * (new.polarity is Polarity.ENDED)
    found["new_denied"] = YES * (new.polarity is Polarity.DENIED)
    found["denial_added"] = YES * bool(new.denied and not old.denied)
    found["denial_removed"] = YES * bool(old.denied and not new.denied)
    found["over_subject"] = YES * (bool(old.subject) and frozenset(old.subject) <= other)
    found["denies_kind"] = YES * _denies_kind(old, new)
    found["contrasted"] = YES * _is_contrasted(old, new)
    found["only_here"] = YES * _is_only_here(new)
    found[DENIED_BY_ONE] = YES * _is_denied_by_one(old, new)
    found[NARROWER] = YES * is_narrower(old, new)
    found[CONTRARY] = YES * bool(found[DENIED_BY_ONE] and _is_contrary(old, new))


_BRIEF = frozenset("does do did is are was were has have had can".split())

_IDLE = re.compile(
    r"\b(?:(?:can|could)(?: not|n['’]t|not) (?:wait|help|believe)|not (?:too|only|just|sure|bad"
    r"|necessarily|entirely|really|quite|so|that)\b|won['’]t (?:quit|give up|stop|let|forget)"
    r"|will not (?:quit|give up|stop|let|forget)|no (?:time|doubt|matter|problem|wonder))",
    re.I,
)
"""Denials that deny nothing of what was said before."""


def _share(part: frozenset[str], whole: frozenset[str]) -> int:
    return round(YES * len(part) / len(whole)) if whole else 0


def _stems(reading: Reading) -> frozenset[str]:
    return frozenset(t.stem for t in reading.tokens if t.is_content)


def _names(reading: Reading) -> frozenset[str]:
    return frozenset(t.stem for t in reading.tokens if t.is_content and (t.capital or t.is_number))


def _numbers(reading: Reading) -> frozenset[str]:
    return frozenset(
        t.stem for t in reading.tokens if t.is_content and (t.is_number or t.low in _COUNTED)
    )


_COUNTED = frozenset("usd eur gbp %".split())


def _dates(reading: Reading) -> frozenset[str]:
    """Dates, and what is said with one: the week of 2026-03-02, 2026-03-08 at night."""
    dated = any(t.date for t in reading.tokens)
    return frozenset(
        t.stem
        for t in reading.tokens
        if t.is_content and (t.date or (dated and t.low in _WITH_DATES))
    )


_WITH_DATES = frozenset("week weekend morning evening night afternoon noon".split())


def _words(reading: Reading) -> str:
    """The words as they were read, for what is told by how they stand together."""
    return " ".join(token.low for token in reading.tokens)


def _is_elliptic(tokens: tuple[Token, ...]) -> bool:
    """`…, while Ryan does not`: what is denied was said before."""
    return len(tokens) > 2 and tokens[-1].low == "not" and tokens[-2].low in _BRIEF


def _last(reading: Reading) -> frozenset[str]:
    """The content of the last words of a statement."""
    return frozenset(t.stem for t in reading.tokens[-6:] if t.is_content)


# --- the very contrary: is not married, and is married


_STEPS = frozenset(
    map(
        stem,
        "start started begin began stop stopped quit become became turn turned learn learned again "
        "yet anymore ever nowadays finally have own buy bought".split(),
    )
)
"""What tells of a step from one to the other, or of having it, and nothing of the matter itself."""
_LIKING = frozenset(map(stem, "like love enjoy adore".split()))
_NOT_ALL_OF_IT = frozenset(
    "did was were could would will might may should only just entirely completely all".split()
)
"""What happened or did not, once, is to come, or is denied in part: both may be so."""


def _is_denied_by_one(old: Reading, new: Reading) -> bool:
    """Whether one of two denies or ends what it tells of, and the other denies nothing at all."""
    affirmed = [each for each in (old, new) if each.polarity is Polarity.AFFIRMED]
    if len(affirmed) != 1 or affirmed[0].denied - frozenset(affirmed[0].subject):
        return False
    return _DISLIKES.search(_words(new if affirmed[0] is old else old)) is None


_DISLIKES = re.compile(r"\bnot (?:stand|bear|tolerate|abide|help|wait|resist|miss)\b")
"""What denies only by its form."""


def _is_contrary(old: Reading, new: Reading) -> bool:
    """Whether one affirms the very thing that the other denies, and neither says any more."""
    if any(token.low in _NOT_ALL_OF_IT for token in (*old.tokens, *new.tokens)):
        return False
    matter, other = _matter(old), _matter(new)
    return bool(matter) and matter == other


def _matter(reading: Reading) -> frozenset[str]:
    """What a statement is about besides its subject; what one likes is one whatever the word."""
    said = _stems(reading) - frozenset(reading.subject) - _STEPS
    return said - _LIKING | frozenset(["like"] if said & _LIKING else [])


# --- a denial of all of a kind: has never published any papers


_ALL = frozenset("any anything anyone anybody anywhere ever whatsoever single".split())
_BEYOND = frozenset("outside beyond besides except".split())


def _runs(tokens: tuple[Token, ...]) -> Iterator[tuple[int, tuple[Token, ...]]]:
    """The stretches of denied words, each with the word before it, which denies them, and where
    that stands."""
    start = 0
    for place, token in enumerate(tokens):
        if not token.denied:
            if place > start + 1:
                yield start, tokens[start:place]
            start = place
    if len(tokens) > start + 1:
        yield start, tokens[start:]


def _denies_kind(old: Reading, new: Reading) -> bool:
    """Whether all of a kind is denied that the old statement tells one of: never, no or not any.

    What is denied are mostly words of the old statement, its verb among them or nearly all it
    says. A name that the old one holds must stand in the new one too, unless it only tells which
    one it was (the title of Count). How many there were is of no matter.
    """
    if not new.denied:
        return False
    one, other = _stems(old), _stems(new)
    numbers = _numbers(old) | _dates(old)
    said = one - frozenset(old.subject) - {old.verb} - numbers
    covered = len(said & other)
    if old.verb in old.denied or not covered:
        return False
    lost = bool((_names(old) - numbers) - other)
    for start, run in _runs(new.tokens):
        lows = frozenset(token.low for token in run)
        before = frozenset(t.stem for t in new.tokens[:start] if t.is_content)
        none = run[0].low == "no" and before - frozenset(new.subject) <= one
        if run[0].low != "never" and not none and not lows & _ALL:
            continue
        if "until" in lows and _dates(old) & _dates(new):
            continue
        things = _denied_things(run) - frozenset(new.subject)
        hits = len(things & one)
        if old.verb in things and old.verb:
            if 2 * hits >= len(things) and 2 * covered >= len(said) and not lost:
                return True
            if _object(old) in things and 3 * hits >= 2 * len(things):
                return True
        elif 4 * hits >= 3 * len(things) > 3 and 2 * covered >= len(said) and not lost:
            return True
    return False


def _denied_things(run: tuple[Token, ...]) -> frozenset[str]:
    """The content of a denial, but for what stands outside it: never left, outside his country."""
    things: list[str] = []
    for token in run[1:]:
        if token.low in _BEYOND:
            break
        if token.is_content and not (token.is_number or token.date):
            things.append(token.stem)
    return frozenset(things) - _ALL - _DOING


_DOING = frozenset("particip involv attend done did take took taken".split())
"""Who never took part in it did none of it."""


def _object(reading: Reading) -> str:
    """The first content word behind the verb."""
    stems = [token.stem for token in reading.tokens if token.is_content]
    after = stems[stems.index(reading.verb) + 1 :] if reading.verb in stems else []
    return after[0] if after else ""


# --- a denial in a clause of its own: Mia is fluent in three languages, while Dan speaks only one


_CONTRASTS = frozenset("while whereas but and although though yet".split())
_LIMITS = frozenset("not never no only solely exclusively hardly".split())
_NEAR = 3


def _is_contrasted(old: Reading, new: Reading) -> bool:
    """Whether a later clause says of the old subject that what is told of another is not so."""
    subject, tokens = frozenset(old.subject), new.tokens
    if not subject or subject <= frozenset(new.subject):
        return False
    if not any(token.low in _CONTRASTS for token in tokens):
        return False
    said = _stems(old) - subject
    for place, token in enumerate(tokens):
        if token.low not in _CONTRASTS or not place:
            continue
        named = tokens[place + 1 : place + 1 + len(old.subject)]
        if frozenset(t.stem for t in named) != subject:
            continue
        clause = tokens[place + 1 + len(named) :]
        if not any(t.low in _LIMITS for t in clause[:_NEAR]):
            continue
        here = frozenset(t.stem for t in clause if t.is_content)
        all_of_it = frozenset(t.stem for t in tokens if t.is_content)
        if said & here and 3 * len(said & all_of_it) >= 2 * len(said):
            return True
    return False


# --- nothing else: speaks only English


_ONLY = frozenset("only solely exclusively".split())


def _is_only_here(new: Reading) -> bool:
    """Whether `only` stands at the verb or soon after it: it limits what is said of the subject,
    not a time or a detail at the end."""
    for place, token in enumerate(new.tokens):
        if token.low not in _ONLY:
            continue
        near = new.tokens[max(0, place - 3) : place + 2]
        if any(new.verb in (t.stem, _be(t)) for t in near):
            return True
    return False


def _be(token: Token) -> str:
    return "be" if token.low in _BRIEF else token.stem
