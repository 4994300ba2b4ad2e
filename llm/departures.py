"""Who is there no more: a pet that died or was given away, a relative who passed away.

What was so of them while they lived, and that somebody has them, is over then.
"""

import re
from typing import NamedTuple

from rewound.llm.people import PETS, gender_of

_DID = r"(?:(?:has|have|had) )?(?:(?:just|sadly|recently|finally|suddenly|peacefully) )*"
_TO_DEATH = r"(?:put (?:down|to sleep)|euthani[sz]ed)"
_SINCE = (
    r"(?! of (?:an? |the |pure |sheer )?(?:laugh|fright|boredom|embarrass|shame|envy|jealous|cringe"
    r"|curios|happiness|joy|excite|cute|hunger|thirst|heat|cold|exhaust|broken))"
    r"(?=$|[,.;)]| (?:now|today|yesterday|tonight|recently|peacefully|suddenly|unexpectedly|sadly"
    r"|of|from (?!the\b)|last|this|early|earlier|just|\d|(?:an?|two|three|four|five|six|some|a few"
    r"|several) (?:years?|months?|weeks?|days?|hours?)\b|aged|surrounded|when|while|because|before"
    r"|after|since|due to|during|so|and|but|in (?:\d|(?:early |late )?(?:Jan|Feb|Mar|Apr|May|Jun"
    r"|Jul|Aug|Sep|Oct|Nov|Dec)|the (?:week|month|night|spring|summer|autumn|fall|winter|morning"
    r"|evening|hospital|war)\b|hospital|hospice|(?:his|her|their|its) sleep|(?:an? |the )?(?:\w+ )?"
    r"(?:accident|crash|fire|surgery|childbirth))|on \d|at (?:\d|home\b|the (?:age|vet|hospital)"
    r"\b|the end of \d)|by an? (?:\w+ )?(?:car|truck|bus|lorry|van|train|bike|driver|fox|coyote"
    r"|dog|hawk)\b))"
)
"""When, where and of what: whatever else follows makes something else of it, a dead line, a death
in a game."""
_DIED = re.compile(
    rf"(?P<who>[^,;:.!?]{{2,50}}?) {_DID}(?:died|passed away|passed on|drowned|"
    rf"(?:(?:had|has) to be|was|were) {_TO_DEATH}|is dead|is gone|is no longer with us"
    r"|did(?:n['’]t| not) (?:make it|survive)|was (?:killed|run over))"
    rf"{_SINCE}"
)
_LOST = re.compile(
    rf"(?P<by>[^,;:.!?]{{2,50}}?) {_DID}(?:(?:had to )?put (?P<down>[^,;:.!?]{{2,40}}?) (?:down"
    rf"|to sleep)"
    r"|(?:had to )?(?:say|said) goodbye to (?P<bye>[^,;:.!?]{2,40}?)|buried "
    r"(?P<buried>[^,;:.!?]{2,40}?)"
    r"|lost (?P<lost>[^,;:.!?]{2,40}?)"
    r"|(?P<gave>gave) (?P<away>[^,;:.!?]{2,40}?) (?:away|up for adoption)|(?P<gave_to>gave away"
    r"|rehomed"
    r"|re-homed|sold) (?P<given>[^,;:.!?]{2,40}?))(?=$|[,.;]| (?:on \d|in (?:\d|(?:Jan"
    r"|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|the (?:week|month|spring|summer|autumn|fall"
    r"|winter)))|(?:last|this|yesterday|today|two|three|because|after|when|\d+)\b"
    r"|to\b|for (?:\d|[$€£]|free\b)))"
)
_NOT_SO = re.compile(
    r"\b(?:almost|nearly|if|would|could|might|may|never|thought|dreamt|wants?|will|going|about "
    r"to)\b"
)
_HAS = re.compile(
    r"(?P<owner>[^,;:.!?]{2,50}?)(?: and others)? (?:has|have|owns?|got|adopted|bought|rescued)"
    r"(?: got)? "
    r"(?:an?|one|the|their) (?P<noun>(?:[\w-]+ ){0,3}?[a-z-]+)(?: (?:named|called) "
    r"(?P<name>[A-Z][\w-]*))?"
    r"(?=$|[,.;]| (?:now|since|who|that)\b)"
)
_CALLED = re.compile(
    r"(?P<owner>[^,;:.!?]{2,50}?)['’]s (?P<noun>[a-z-]+)(?:['’]s name)? is(?: called| named)? "
    r"(?P<name>[A-Z][\w-]*)(?=$|[,.; ])"
)
_OWNED = re.compile(
    r"(?:(?P<owner>.+?)['’]s |their |the )(?P<noun>(?:[a-z-]+ )*?[a-z-]+)(?: "
    r"(?P<name>[A-Z][\w-]*))?"
)
_NOW = re.compile(
    r" (?:is|lives|works|has|loves|likes|hates|speaks|plays|eats|sleeps|takes|needs|weighs|goes"
    r"|studies"
    r"|attends|drives|owns|runs|teaches)\b(?! (?:called|named|from|dead|gone|buried|survived)\b)"
)


# A quick look: of whoever is there no more one of these is said.
_MAY_TELL = re.compile(
    r"\b(?:died|passed|drowned|down|sleep|euthani[sz]ed|dead|gone|longer|make it|survive|killed"
    r"|over"
    r"|goodbye|buried|lost|gave|re-?homed|sold)\b"
)


class Departed(NamedTuple):
    """Names in small letters, None where none is told. `dead` is False for what was given away."""

    owner: str | None
    noun: str | None
    name: str | None
    dead: bool
    whole: str
    """As the statement calls it."""
    sure: bool = True
    """Whether nothing else may be meant: a child is put down for a nap, and said goodbye to."""


def departed(text: str) -> Departed | None:
    """Who is there no more by a finished statement."""
    if not _MAY_TELL.search(text) or _NOT_SO.search(text):
        return None
    died = _DIED.match(text)
    if died:
        return _made(died["who"], None, True)
    lost = _LOST.match(text)
    if lost is None:
        return None
    who = next(
        lost[part] for part in ("down", "bye", "buried", "lost", "away", "given") if lost[part]
    )
    found = _made(
        who, lost["by"].removesuffix(" and others"), not (lost["gave"] or lost["gave_to"])
    )
    if lost["lost"] and (found is None or found.noun is None):
        return None  # Lost their keys, lost Pico in the park.
    return found and found._replace(sure=bool(lost["lost"] or lost["buried"]))


def is_over_by_departure(new: str, old: str) -> bool:
    """Whether what the older statement tells, that somebody has it or how it is, is over since."""
    gone = departed(new)
    if gone is None:
        return False
    for pattern in (_HAS, _CALLED):
        held = pattern.match(old)
        if held and _is_same(gone, held):
            return True
    if not (gone.dead and gone.sure):
        return False
    for called in (gone.whole, gone.name):
        begins = re.match(rf"(?:.{{1,40}}'s [a-z-]+ )?{re.escape(called or '')}(?= )", old, re.I)
        if called and begins and _NOW.match(old, begins.end()) and not _is_anothers(gone, old):
            return True
    return False


def _is_anothers(gone: Departed, old: str) -> bool:
    """Whether the owner that is named tells of another one of that name: the neighbour's Misty."""
    if gone.noun is None or gone.owner is None:
        return False
    held = _OWNED.match(old)
    return "'s" in gone.owner if held is None else (held["owner"] or "").lower() != gone.owner


def _made(who: str, by: str | None, dead: bool) -> Departed | None:
    whole = who.lower().replace("’", "'")
    owned = _OWNED.fullmatch(who)
    if owned:
        if not gender_of(owned["noun"].split()[-1]):
            return None  # A phone died, a battery.
        owner, name = owned["owner"] or by, owned["name"]
        if by and whole.startswith("their "):
            whole = f"{by.lower()}'s {whole[6:]}"
        return Departed(owner and owner.lower(), owned["noun"], name and name.lower(), dead, whole)
    if re.fullmatch(r"[A-Z][\w-]*(?: [A-Z][\w-]*)?", who):
        return Departed(by and by.lower(), None, whole, dead, whole)
    return None


def _is_same(gone: Departed, held: re.Match[str]) -> bool:
    noun = held["noun"].split()[-1]
    if not gender_of(noun):
        return False
    if held["name"] and gone.name:
        # Whoever says goodbye to a daughter at the station has her still.
        if (gone.noun or not gone.dead) and gone.owner not in (None, held["owner"].lower()):
            return False
        return held["name"].lower() == gone.name and (gone.sure or noun in PETS)
    if gone.noun is None or held["name"] or noun not in PETS:
        return False
    return gone.noun.split()[-1] == noun and held["owner"].lower() == gone.owner
