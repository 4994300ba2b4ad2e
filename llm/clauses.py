"""The parts of a statement: its subject, its main verb and what is said with it.

Works on the words of `claim_words`, by the lexicon of `english`; what it cannot find is empty.
"""

from rewound.llm.claim_words import Token
from rewound.llm.english import (
    AUXILIARIES,
    THIRD,
    VERBS,
    Word,
    is_adverb,
    is_past,
    verb_at,
)
from rewound.llm.vocabulary import stem

BE_FORMS = frozenset("is are was were am be been being".split())


SKIPPED = frozenset(
    "a an the now currently still also just recently already really mostly both either again then "
    "has have had will would do does did not never no longer usually always officially since "
    "user".split()
)


PLANS = frozenset(
    "gonna plan plans planning hope hopes hoping want wants wanted consider considers considering "
    "think thinks thinking might may could would intend intends if perhaps maybe dream dreams wish "
    "wishes considered planned hoped intending possibly probably someday eventually tempted should "
    "supposed discussing discussed debating exploring proposed proposes suggests suggested "
    "rumour rumor rumoured".split()
)


ENDERS = frozenset("stop quit ceas discontinu".split())


_LEADS = frozenset("and but so also well yes no actually sorry oops correction note".split())


_PREPOSITIONS = frozenset(
    "in on at since from until after before as for during by when while if starting due with "
    "besides despite although though because".split()
)


NOT_SUBJECT = frozenset(
    "a an the this that these those new now currently both also really still just our current "
    "latest of for in on at to from as by and or s".split()
)


_ARTICLES = frozenset("the a an early late mid summer winter spring autumn".split())


def lemma(token: Token) -> str:
    return "be" if token.low in BE_FORMS else token.stem


def without_lead(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Without openers, and without a time or a place before the statement: `As of March, …`."""
    start = 0
    while start < len(tokens) - 2 and tokens[start].low in _LEADS:
        start += 1
    return tokens[start:]


def _words(tokens: tuple[Token, ...]) -> list[Word]:
    return [
        Word(
            t.low.title() if t.capital else t.low,
            "i" if t.low == "user" and not t.owner else t.low,
            0,
            0,
        )
        for t in tokens
    ]


def main_verb_at(tokens: tuple[Token, ...]) -> int:
    """The place of the verb of the main clause, or -1."""
    first = 0
    if tokens and tokens[0].low in _PREPOSITIONS:
        clause = tokens[0].clause
        later = next((n for n, t in enumerate(tokens) if t.clause != clause), 0)
        first = later
    words = _words(tokens)
    place = verb_at(words, first)
    if place >= 0 and tokens[place].low == "user":
        place += 1
    if place < 0 or (place < len(tokens) and tokens[place].capital and tokens[place].low != "user"):
        return _likely_verb(tokens, max(first, place))
    return place if place < len(tokens) else -1


def _likely_verb(tokens: tuple[Token, ...], first: int) -> int:
    """For a verb that the lexicon has not: the repository targets Python."""
    low = [t.low for t in tokens]
    for n in range(first + 1, len(tokens)):
        known = low[n] in AUXILIARIES or low[n] in THIRD or low[n] in VERBS
        if known and not tokens[n].capital:
            return n
    for n in range(first + 1, len(tokens) - 1):
        third = low[n].endswith("s") and not low[n].endswith(("ss", "us", "is"))
        if third and not tokens[n].capital and not tokens[n].owner and low[n].isalpha():
            return n
    return -1


def subject_tokens(tokens: tuple[Token, ...], verb: int) -> list[Token]:
    if verb <= 0:
        return []
    clause = tokens[verb].clause
    own = [t for t in tokens[:verb] if t.clause == clause]
    if not own or (tokens[0].low not in _PREPOSITIONS and tokens[0].clause != clause):
        head = [t for t in tokens[:verb] if t.clause == tokens[0].clause]
        own = head if len(head) <= 6 else own
    start = 0
    while start < len(own) - 1 and (
        own[start].low in _PREPOSITIONS
        or own[start].date
        or (start and own[start].low in _ARTICLES)
    ):
        start += 1
    own = own[start:] if any(t.date for t in own[:start]) else own
    if own and own[-1].low == "there":
        return _there(tokens[verb + 1 :])
    while own and own[-1].low != "user" and (is_adverb(own[-1].low) and len(own) > 1):
        own = own[:-1]
    return own


def _there(after: tuple[Token, ...]) -> list[Token]:
    """There are 14 people for the dinner: what is counted is the subject."""
    clause = after[0].clause if after else 0
    return [t for t in after[:10] if t.clause == clause and not t.is_number and not t.date]


def named_stems(tokens: list[Token]) -> tuple[str, ...]:
    """What a subject is compared by. How many there are is no part of it: 47 people signed up."""
    kept = [
        t for t in tokens if t.low not in NOT_SUBJECT and not (is_adverb(t.low) and t.low != "user")
    ]
    if len(kept) > 1 and kept[0].is_number:
        kept = kept[1:]
    return tuple(t.stem for t in kept)


def opening(tokens: tuple[Token, ...], verb: int) -> frozenset[str]:
    if verb <= 0 or tokens[0].low not in _PREPOSITIONS:
        return frozenset()
    return frozenset(t.stem for t in tokens[:verb] if t.is_content)


def from_main_verb(after: list[Token]) -> list[Token]:
    """The predicate from its main verb on; `be` stays where it is the main verb."""
    place = 0
    while place < len(after) - 1:
        low, following = after[place].low, after[place + 1].low
        if low in ("has", "have", "had") and not _takes_participle(after, place + 1):
            break
        if low in SKIPPED or is_adverb(low) or low in ("will", "would", "to", "going", "used"):
            place += 1
        elif low in AUXILIARIES and low not in BE_FORMS:
            place += 1
        elif low in PLANS or (low in ("plans", "gets", "got") and following in ("to",)):
            place += 1
        elif stem(low) in ENDERS and following.endswith("ing"):
            place += 1
        elif low in BE_FORMS and following in (
            "going",
            "planning",
            "thinking",
            "considering",
            "to",
        ):
            place += 1
        else:
            break
    return after[place:]


def _takes_participle(after: list[Token], place: int) -> bool:
    """Has moved, has now been; not has nine people."""
    while place < len(after) - 1 and (is_adverb(after[place].low) or after[place].low == "not"):
        place += 1
    low = after[place].low
    return low in ("been", "to", "not", "done", "gone", "grown", "taken", "given") or is_past(low)


def main_verb(after: list[Token]) -> str:
    rest = from_main_verb(after)
    if not rest:
        return ""
    if (
        rest[0].low in BE_FORMS
        and len(rest) > 1
        and (rest[1].low.endswith(("ed", "ing")) and not rest[1].capital)
    ):
        return rest[1].stem
    return lemma(rest[0])


# A client wants a grey logo, and wants to see it: only the second is a plan.
_WISHES = frozenset("want wants wanted hope hopes think thinks".split())


def is_plan(tokens: tuple[Token, ...], verb: int) -> bool:
    start = max(verb, 0)
    near = [t.low for t in tokens[start : start + 4]]
    if tokens and tokens[0].low in ("if", "suppose", "maybe", "perhaps"):
        return True
    for place, low in enumerate(near):
        wished = low not in _WISHES or near[place + 1 : place + 2] == ["to"]
        if low in PLANS and wished:
            return True
    goes = "going" in near and "to" in near
    will = bool(near) and near[0] == "will" and not (len(near) > 1 and near[1] in ("be", "not"))
    return goes or will


def is_past_tense(tokens: tuple[Token, ...], verb: int) -> bool:
    if verb < 0:
        return False
    low = tokens[verb].low
    return low in ("was", "were", "had", "used") or (is_past(low) and low not in AUXILIARIES)
