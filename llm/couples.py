"""Who is with whom: whether one statement of it takes the place of another.

Single, dating, engaged, married, apart: of these somebody is one at a time, in whatever words it is
told and from whichever side: Tom is her fiancé, Tom and Nina tied the knot.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from rewound.eventlog.letting_go import holds_texts

_WHO = (
    r"(?:(?!(?:Dr|Doctor|Prof|Professor)\b)[A-Z][\w-]*(?:['’]s [a-z-]+){0,3}(?: [A-Z][\w-]*)*"
    r"|[Tt]he user(?:['’]s [a-z-]+)?)"
)
_OTHER = rf"(?P<other>{_WHO})"
_ONE = rf"(?P<one>{_WHO})(?: and others)?"
_BOTH = rf"(?P<one>{_WHO})(?: and (?:others|(?P<other>{_WHO})))"
_IS = r"(?:is|are|['’]s)(?: (?:now|still|currently|happily|finally|already|officially))*"
_DID = r"(?:(?:has|have) )?(?:(?:just|finally|recently|now|officially) )*"
_MEN = r"(?:husband|wife|spouse)"
_BETROTHED = r"(?:fianc[eé]e?)"
_LOVERS = r"(?:boyfriend|girlfriend|partner)"
_TIME = (
    r"now|again|today|yesterday|tonight|recently|finally|already|officially|happily|secretly"
    r"|(?:last|this|early|late|earlier|years?|months?|weeks?|back|almost|about|over|nearly|just) "
    r"?|\d|(?:an?|two|three|four|five|six|seven|eight|nine|ten|some|many|a few|several) (?:years?"
    r"|months?|weeks?|days?|decades?)\b|in (?:\d|(?:early |late )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul"
    r"|Aug|Sep|Oct|Nov|Dec)|the (?:week|month|spring|summer|autumn|fall|winter|morning|evening"
    r"|end))|on \d|at the (?:end|beginning|start|age)|since|before|after|because|when|while|until"
    r"|due to|so|but|who|which|as"
)
"""When and why it was: whatever else follows makes something else of the words before it."""
_END = (
    rf"(?=$|[,.;)]| (?:(?:{_TIME})|and (?!others|an?\b|the\b|their\b|his\b|her\b|[A-Z])"
    r"|for (?:\d|good\b|ever\b|now\b|[A-Z]|an?other\b|some(?:one|body)\b|an? (?:year|while|few"
    r"|younger|older)|two|three|four|five|ten|many|over|about|almost|years|months)|from \d"
    r"|with (?:\d|one|two|three|four|kids|children)))"
)


class Bond(NamedTuple):
    """`stage` counts up from single to married, and is 0 for those who are apart. `holds` tells a
    state, which lasts, from the event that brought it about."""

    people: frozenset[str]
    stage: int
    holds: bool


_APART, _SINGLE, _DATING, _ENGAGED, _MARRIED = range(5)
_STATES: tuple[tuple[int, bool, str], ...] = (
    (_SINGLE, True, rf"{_ONE} {_IS} single"),
    (_APART, True, rf"{_ONE} {_IS} (?:an? )?(?:widow(?:ed|er)?|divorced|divorcee|separated)"),
    (_APART, True, rf"{_ONE} {_IS} (?:no longer|not) (?:married|engaged|dating|together)(?: (?:to"
        rf"|with) {_OTHER})?"),
    (_APART, False, rf"{_ONE} {_DID}(?:got divorced|separated|broke up|split up|split)(?: from| "
        rf"with) {_OTHER}"),
    (_APART, False, rf"{_ONE} {_DID}(?:divorced|left|dumped) {_OTHER}"),
    (_APART, False, rf"{_ONE} {_DID}(?:broke off|called off|ended) (?:the|their|her|his) "
        rf"(?:engagement|marriage|relationship)(?: (?:to|with) {_OTHER})?"),
    (_APART, False, rf"{_BOTH} {_DID}(?:got divorced|got a divorce|divorced|separated|broke up"
        rf"|split up|split|parted ways)"),
    (_APART, False, rf"{_ONE} {_DID}(?:got divorced|got a divorce|became a widow(?:er)?|was "
        rf"widowed)"),
    (_DATING, True, rf"{_ONE} {_IS} (?:dating|seeing|going out with|in a relationship with"
        rf"|together with) {_OTHER}"),
    (_DATING, True, rf"{_BOTH} {_IS} (?:dating|together|a couple|in a relationship|going out)"),
    (_ENGAGED, True, rf"{_ONE} {_IS} engaged(?: to {_OTHER})?"),
    (_ENGAGED, True, rf"{_BOTH} {_IS} engaged"),
    (_ENGAGED, False, rf"{_BOTH} {_DID}got engaged"),
    (_ENGAGED, False, rf"{_ONE} {_DID}(?:got|became) engaged(?: to {_OTHER})?"),
    (_MARRIED, True, rf"{_ONE} {_IS} married(?: to {_OTHER})?"),
    (_MARRIED, True, rf"{_BOTH} {_IS} married"),
    (_MARRIED, False, rf"{_BOTH} {_DID}(?:got married|married|tied the knot|eloped|said ['“\"]?I "
        rf"do)"),
    (_MARRIED, False, rf"{_ONE} {_DID}(?:got married|got hitched)(?: to {_OTHER})?"),
    (_MARRIED, False, rf"{_ONE} {_DID}married {_OTHER}"),
)  # fmt: skip
_BONDS = tuple((stage, holds, re.compile(f"{words}{_END}")) for stage, holds, words in _STATES)
# Tom is Nina's fiancé; Nina's husband is Leo.
_KIN = tuple(
    (stage, re.compile(pattern))
    for stage, noun in ((_MARRIED, _MEN), (_ENGAGED, _BETROTHED), (_DATING, _LOVERS))
    for pattern in (
        rf"(?P<one>[A-Z][\w-]*) {_IS} (?P<other>{_WHO}|[A-Z][\w-]*)['’]s {noun}{_END}",
        rf"(?P<other>[A-Z][\w-]*)['’]s {noun} {_IS}(?: called| named)? (?P<one>[A-Z][\w-]*){_END}",
    )
)
_NO_MORE = re.compile(r"(?:no longer|not) (?P<what>married|engaged|dating)\b")
_DENIED = {"married": _MARRIED, "engaged": _ENGAGED, "dating": _DATING}
_PLANNED = re.compile(
    r"\b(?:will|going to|getting|wants? to|plans?|hopes?|not|never|n['’]t|almost|nearly|used to"
    r"|was|were"
    r"|might|may|would|could|if)\b(?!\s+longer)"
)


# A quick look: whatever tells of a couple has one of these.
_MAY_TELL = re.compile(
    r"single|widow|divorc|separated|married|engage|dating|together|couple|relationship|seeing"
    r"|going out"
    r"|broke up|broke off|called off|split|parted|left|dumped|ended|tied|eloped|hitched|I do"
    r"|husband|wife|spouse|fianc|friend|partner"
)


@holds_texts
@lru_cache(maxsize=1 << 12)
def bond_of(text: str) -> Bond | None:
    """Who is with whom by a finished statement; None where it tells of no such thing."""
    if not _MAY_TELL.search(text):
        return None
    for stage, holds, pattern in _BONDS:
        found = pattern.match(text)
        if found:
            return Bond(_people(found), stage, holds)
    for stage, pattern in _KIN:
        found = pattern.match(text)
        if found:
            return Bond(_people(found), stage, True)
    return None


def bond_turned(new: str, old: str) -> bool:
    """Whether what the older statement tells of a couple is over by the newer one: engaged, then
    married; married, then divorced; single, then with somebody."""
    now = bond_of(new)
    before = None if now is None else bond_of(old)
    if now is None or before is None or not before.holds or now.stage == before.stage:
        return False
    if _PLANNED.search(old) or (
        _PLANNED.search(new) and "no longer" not in new and " not " not in new
    ):
        return False
    denied = _NO_MORE.search(new) if now.stage == _APART else None
    if denied and _DENIED[denied["what"]] != before.stage:
        return False  # Is not married: so whoever is engaged.
    shared = now.people & before.people
    if before.stage == _SINGLE:
        return bool(shared) and now.stage > _SINGLE
    if before.stage == _APART:  # Whoever is divorced is so until the next wedding.
        return bool(shared) and now.stage == _MARRIED
    if len(now.people) == len(before.people) == 2 and now.people != before.people:
        return False  # Somebody else's, or another one beside: not told.
    return bool(shared) and (now.stage <= _SINGLE or now.stage > before.stage)


def _people(found: re.Match[str]) -> frozenset[str]:
    names = (found["one"], found.groupdict().get("other"))
    return frozenset(name.lower().replace("’", "'") for name in names if name)
