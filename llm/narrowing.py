"""Whether less is denied than was affirmed: drinks coffee, but not after dinner.

What is denied of a time, a place or a sort leaves the rest as it was, and who did not do something
once may do it still. Nothing ends by such a denial without a person's word.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rewound.llm.claim_words import Token
from rewound.llm.english import is_adverb, is_verb_form
from rewound.llm.reading import Polarity, Reading
from rewound.llm.vocabulary import stem


def is_narrower(old: Reading, new: Reading) -> bool:
    """Whether the newer statement denies only a part of what the older one affirms."""
    if old.polarity is not Polarity.AFFIRMED:
        return False
    known = frozenset(t.stem for t in old.tokens if t.is_content)
    if _is_of_a_compound(known - frozenset((*old.subject, old.verb)), new.tokens):
        return True
    for place, token in enumerate(new.tokens):
        plainly = token.low == "not" and new.polarity is Polarity.DENIED
        if plainly or token.low in _HATING:
            rest = list(_clause(new.tokens[place + 1 :], _REASONS))
            return _is_of_a_part(known, old, new, rest, new.tokens[:place])
        if token.low in _ENDING:
            rest = list(_clause(new.tokens[place + 1 :], _REASONS | _AIMS - {"for"}))
            begun = bool(rest) and rest[0].low.endswith("ing")
            rest = [each for each in rest[begun:] if not is_adverb(each.low)]
            return bool(_further(rest, known) - _POSTS)
        if token.low in _GOING:
            rest = list(_clause(new.tokens[place + 1 :], _REASONS | _AIMS))
            return old.verb in _KEEPING or bool(_further(rest, known) - _POSTS)
        if token.low in _MISSING:
            rest = list(_clause(new.tokens[place + 1 :], _REASONS | _AIMS))
            named = any(t.capital and t.stem in known for t in rest)
            return named or bool(_further(rest, known) - _POSTS)
    return False


_HATING = frozenset("never hate hates hated dislike dislikes".split())
_ENDING = frozenset("longer stop stops stopped stopping quit quits quitting".split())
_GOING = frozenset("left leaves leaving".split())
_MISSING = frozenset("lost dropped".split())
_KEEPING = frozenset(map(stem, "have has own owns like likes love loves".split()))
_POSTS = frozenset(map(stem, "job position role company firm post team business behind".split()))
"""Who left a job at a firm left the firm."""
_REASONS = frozenset("because since so as but while whereas although though anymore".split())
_AIMS = frozenset("to for and after when".split())
_ALL = frozenset("any anything anyone anybody anywhere ever single longer anymore more".split())
_SOMETIMES = frozenset("every always often usually much all each".split())


def _is_of_a_part(
    known: frozenset[str], old: Reading, new: Reading, rest: list[Token], before: Sequence[Token]
) -> bool:
    lows = frozenset(token.low for token in rest)
    if lows & _ALL:
        return False
    if lows & _SOMETIMES - frozenset(token.low for token in old.tokens):
        return True
    helper = before[-1].low if before else ""
    if helper == "did" and not old.past and new.tokens[0].low == old.tokens[0].low:
        return True  # Did not do it once.
    dates = frozenset(t.stem for t in rest if t.date) - known
    return bool(dates or _further(rest, known) - {new.verb, *new.subject, *_SAME})


_DATED = frozenset("week weekend month summer winter spring autumn morning evening night".split())
_SAME = frozenset(map(stem, "like love enjoy really actually".split()))


def _clause(tokens: Sequence[Token], ends: frozenset[str]) -> Iterator[Token]:
    """The words up to the end of the clause, or to one that tells why."""
    for token in tokens:
        if token.clause != tokens[0].clause or token.low in ends:
            return
        yield token


def _further(rest: Sequence[Token], known: frozenset[str]) -> frozenset[str]:
    """What is said more than is known, but for numbers and dates."""
    said = (t for t in rest if t.is_content and not (t.is_number or t.date))
    dated = any(t.date for t in rest)
    return frozenset(t.stem for t in said if not (dated and t.low in _DATED)) - known


def _is_of_a_compound(things: frozenset[str], tokens: Sequence[Token]) -> bool:
    """Whether something else is denied that is called after a thing: a dog bed, a cat flap."""
    for one, after in pairwise(tokens):
        if not (one.denied and after.denied and after.is_content) or one.clause != after.clause:
            continue
        if one.stem not in things or after.stem in things:
            continue
        if one.owner:
            return True
        if one.capital or after.capital:
            continue
        plain = not (after.is_number or after.date or is_adverb(after.low))
        if plain and not is_verb_form(after.low):
            return True
    return False
