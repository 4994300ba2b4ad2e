"""Which kind of fact a statement is: a preference, an episode, or just a fact."""

import re

from rewound.eventlog.events import FactKind
from rewound.llm.english import BE, HAVE, PAST_AUXILIARIES, Word, is_past

_PREFERENCE = re.compile(
    r"\b(?:likes|loves?|prefers?|hates?|enjoys?|dislikes?|adores?|detests?|loathes?|favou?rites?"
    r"|liked"
    r"|(?<=n['’]t )like|(?<=to )like|(?:others|parents|kids|children|people|friends|cats"
    r"|dogs) like|(?<=(?:ly|so) )like|(?<=not )like|loved(?! one)|hated"
    r"|enjoyed|can['’]?(?:t|not) stand|can't bear|fond of|(?:big |huge )?fan of|not a fan"
    r"|into|keen on|obsessed with|addicted to|allergic to taste|rather not|would rather|crazy about"
    r"|partial to|craves?|fancies)\b(?! (?:to know|to see you))",
    re.I,
)
# A text of plain letters whose lower case holds none of these states no preference.
_HINTS = re.compile(
    r"like|love|prefer|hate|enjoy|ador|detest|loath|favo|crav|fanc|stand|bear|into|rather|fond of"
    r"|fan of|not a fan|keen on|crazy about|partial to|obsessed with|addicted to|allergic to taste"
)
_PREFERENCE_NOT = re.compile(
    r"\b(?:looks?|look(?:ed|ing)?|feels?|sounds?|smells?|seems?) like\b|\blike (?:an?|this|that)\b",
    re.I,
)
_INTO = re.compile(r"\b(?:is|am|are|was|really|got|gotten|getting) (?:\w+ )?into\b", re.I)
_STATIVE = frozenset(
    "lived worked liked loved hated wanted needed owned preferred named called used based married "
    "retired interested excited tired bored scared worried supposed located allowed related born "
    "known knew thought felt kept allergic seemed belonged believed had meant understood "
    "divorced engaged addicted obsessed involved surprised pleased impressed confused".split()
)


def kind_of(text: str, words: list[Word], verb: int, own: bool, dated: bool) -> FactKind:
    """`own` says that the speaker is the subject, `dated` that a time was named. `words` are the
    words of the clause as it was said, the one at `verb` its first finite verb."""
    if _may_prefer(text) and _PREFERENCE.search(text) and not _PREFERENCE_NOT.search(text):
        if not re.search(r"\binto\b", text) or _INTO.search(text) or _likes(text):
            return FactKind.PREFERENCE
    lows = [word.low for word in words]
    if own_past(lows):
        return FactKind.EPISODE
    near = lows[: max(verb, 0) + 4]  # A later one describes a thing: weighted keys.
    past = next((low for low in near if is_past(low) or low in PAST_AUXILIARIES), None)
    if past is None:
        return FactKind.FACT
    passive = past in PAST_AUXILIARIES or bool({"is", "are", "am", "i'm", "we're"} & set(lows[:3]))
    if dated:
        if passive and past not in PAST_AUXILIARIES:
            return FactKind.FACT
        lasts = lows.index(past) and {"have", "has", "i've", "we've"} & set(
            lows[: lows.index(past)]
        )
        return FactKind.FACT if lasts and (past in _STATIVE or "been" in lows) else FactKind.EPISODE
    if past == "got" and lows[lows.index(past) - 1] in ("have", "has", "i've", "we've"):
        return FactKind.FACT  # Has.
    acted = any(is_past(low) and low not in _STATIVE for low in lows[: lows.index(past) + 3])
    return FactKind.EPISODE if own and acted and not passive else FactKind.FACT


def _may_prefer(text: str) -> bool:
    """A quick look: most statements tell of no preference."""
    return not text.isascii() or _HINTS.search(text.lower()) is not None


def own_past(lows: list[str]) -> bool:
    """`I used to smoke`: what is over. Not `I am used to`, and not `is used to`."""
    for place in range(1, len(lows) - 1):
        if lows[place] == "used" and lows[place + 1] == "to":
            if {"is", "are", "was", "were"} & set(lows[place:]):
                return False  # The knife used to cut bread is dull.
            return lows[place - 1] not in BE | HAVE | {"i'm", "got", "get", "be", "been", "we're"}
    return False


def _likes(text: str) -> bool:
    return re.search(r"\b(?:likes?|loves?|prefers?|hates?|enjoys?|favou?rite)\b", text) is not None
