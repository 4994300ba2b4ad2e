"""Sentences of a text and the independent clauses of a sentence, as spans of characters.

Every scan is one pass over the text. A sentence of more than LONGEST characters has no clauses:
it is no short statement, whatever it is.
"""

import re
from typing import NamedTuple

from rewound.llm.english import (
    DETERMINERS,
    PRONOUNS,
    VERBS,
    Word,
    holds_its_verb,
    is_adverb,
    is_finite,
    is_surely_finite,
    is_third,
    takes_object,
    verb_at,
    words_of,
)

LONGEST = 600
"""Characters of a sentence that is still looked into."""


OWNERS = ("my", "our", "his", "her", "their")


# What begins a clause about the noun before it: the bike I bought, the tool that helps.
_RELATIVE = frozenset("i we he she it they you that which who whose where".split())


class Span(NamedTuple):
    """Characters [start, end) of a text."""

    start: int
    end: int


_STOP = re.compile(
    r"[.!?…]{1,8}[\"'”’»)\]*_]{0,4}(?=\s|$)|[。！？｡]+[」』”）]?|[.!?](?=I\s|[A-Z][a-z]+\s[a-z])|\n"
)
_QUOTE = re.compile(r"[\"“”„«»]")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st vs e.g i.e eg ie cf approx vol fig ed eds gen col sgt capt rev hon "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat al ca pp dept est "
    "mt ft z.b bzw ca usw sra sr".split()
)
# Abbreviations that end a sentence as often as not: only a small letter after them decides.
_EITHER = frozenset("etc a.m p.m u.s u.k u.s.a inc ltd co corp jr sr ph.d b.a m.sc min max".split())
# Abbreviations when a number follows; a street's name may end in one: Lindenstr. 5.
_NUMBERED = frozenset(
    "no nr nos str apt ste fl bldg rm ave rd blvd ln sq pl p pp ch art sec para abs eq ext tel box "
    "unit col ser ed bd kap hs pos".split()
)
_STREETS = ("str", "pl", "allee", "weg", "ave", "blvd")
_STARTS = frozenset("i i'm i've it it's he she we they my our the this there but and".split())
_LAST_WORD = re.compile(r"[^\s(\[\"“]+$")
_QUOTED_MOST = 400


def sentences(text: str, start: int, end: int, wrapped: bool = False) -> list[Span]:
    """Sentences of text[start:end], without the white space around them.

    A line ends a sentence, unless it was broken for its width: the next one goes on in small
    letters. In a text that is `wrapped` a long line without an end mark always goes on.
    """
    spans: list[Span] = []
    begin, quoted_until = start, start
    for found in _STOP.finditer(text, start, end):
        stop = found.end()
        if stop <= quoted_until:
            continue
        if found[0] == "\n":
            line = max(text.rfind("\n", begin, stop - 1), begin)
            goes_on = text[stop : min(stop + 1, end)].islower() and stop - line > 40
            if goes_on or (wrapped and stop - line > 60):
                continue
        else:
            quoted_until = _quote_end(text, begin, stop, end)
            if quoted_until > stop or not _ends(text, begin, found, end):
                continue
        begin = _add(spans, text, begin, stop)
    _add(spans, text, begin, end)
    return spans


def _quote_end(text: str, begin: int, stop: int, end: int) -> int:
    """Where a quotation that is open at `stop` closes; `stop` when none is or it never does."""
    if stop - begin > _QUOTED_MOST or len(_QUOTE.findall(text, begin, stop)) % 2 == 0:
        return stop
    line = text.find("\n", stop, min(end, stop + _QUOTED_MOST))
    limit = line if line >= 0 else min(end, stop + _QUOTED_MOST)
    closing = _QUOTE.search(text, stop, limit)
    return closing.end() if closing else stop


def _ends(text: str, begin: int, found: re.Match[str], end: int) -> bool:
    """Whether a full stop is one: not an abbreviation, an initial or a number in a list."""
    mark = found[0]
    after = text[found.end() : min(found.end() + 4, end)].lstrip()
    if mark[0] == "…" or mark.startswith("..."):
        return not after[:1].islower()
    if mark[0] != "." or len(mark.rstrip("\"'”’»)]*_")) > 1:
        return True
    before = _LAST_WORD.search(text, max(begin, found.start() - 20), found.start())
    word = before[0].lower() if before else ""
    if word in _EITHER:
        return not after[:1].islower() and not after[:1].isdigit()
    if after[:1].isdigit() or after[:1] == "#":
        if word in _NUMBERED or (len(word) > 4 and word.endswith(_STREETS)):
            return False
    if word == "st" and after[:1].isupper():  # James St. It is quiet; St. Ives.
        ahead = words_of(text[found.end() : min(found.end() + 12, end)])
        return bool(ahead) and ahead[0].low in _STARTS
    if word in _ABBREVIATIONS:
        return not after
    if len(word) == 1 and word.isalpha() and before and before[0].isupper() and word != "i":
        return not after[:1].isupper()
    return not (word.isdigit() and before and before.start() == begin) and (
        not after[:1].islower() or not word.isdigit()
    )


def _add(spans: list[Span], text: str, begin: int, end: int) -> int:
    trimmed = trim(text, begin, end)
    if trimmed.start < trimmed.end:
        spans.append(trimmed)
    return end


def trim(text: str, start: int, end: int) -> Span:
    """The span without the white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end)


_JOINT = re.compile(
    r"\s*;\s+|\s+[—–]\s+|\s--?\s"
    r"|(?P<comma>,)?\s+(?P<word>and|but|so|yet|then|while|whereas|plus)\s+(?:also\s+|then\s+)?"
    r"|(?P<bare>,)\s+|[，、；](?=\S)",
    re.I,
)
_LEAD = re.compile(
    r"(?:yesterday|today|tonight|tomorrow|now|then|later|recently|usually|sometimes|also|since then"
    r"|after that|before that|lately|nowadays|currently|finally|(?:last|next|this|every|each) \w+"
    r"|(?:in|on|since|by|during) (?:early |late |mid-?)?\w+(?: \d{4})?"
    r"|(?:\d+|\w+) \w+ (?:ago|later)|the day (?:before yesterday|after tomorrow))\b(?: at \w+)?,? ",
    re.I,
)
OPENING_SUBORDINATE = re.compile(
    r"(?:when|whenever|if|although|though|because|since (?!then)|as|while|after|before|once|until"
    r"|unless|even|whether|where|wherever|given|to(?! be honest)|in order|by(?! the way)|despite"
    r"|with|without)\b",
    re.I,
)


def clauses(text: str, sentence: Span) -> list[Span]:
    """The independent clauses of a sentence: each has a subject and a verb of its own.

    What is joined by `and`, `but`, `so` or a comma but has no subject stays with its verb, and a
    sentence that begins with a subordinate clause is one piece.
    """
    if sentence.end - sentence.start > LONGEST:
        return []
    whole = text[sentence.start : sentence.end]
    subordinate = OPENING_SUBORDINATE.match(whole) is not None
    parts: list[Span] = []
    begin, quoted = 0, _quotations(whole)
    for joint in _JOINT.finditer(whole):
        if any(start < joint.start() < end for start, end in quoted):
            continue
        bare = joint["bare"] is not None
        if subordinate and (joint["word"] or bare):
            continue
        left = words_of(whole[begin : joint.start()])
        if verb_at(left) < 0 or (bare and OPENING_SUBORDINATE.match(whole, begin)):
            continue
        if _is_still_subject(left) or _HALF_SUBJECT.search(whole, begin, joint.start()):
            continue
        if starts_clause(whole[joint.end() : joint.end() + 120], bare, joint["comma"] is not None):
            parts.append(trim(whole, begin, joint.start()))
            begin = joint.end()
    parts.append(trim(whole, begin, len(whole)))
    offset = sentence.start
    return [Span(a + offset, b + offset) for a, b in parts if a < b]


# I dreamt that Tom and I …: what is only thought or said of two is not parted between them.
_HALF_SUBJECT = re.compile(
    r"\b(?:(?:wish|hope|pretend|imagine|bet|guess|think|believe|doubt|dream|suppose|fear|assume"
    r"|claim|suggest|joke|say|figure|suspect)(?:e?s|e?d|t)?|said|thought|dreamt|whether|if"
    r"|so(?= that)|sure|afraid|sad|glad|true|rumou?r)(?: that)? "
    r"(?-i:(?:(?:[Mm]y|our|his|her|their|the) (?:[a-z-]+ )?[a-z-]+(?: [A-Z][\w-]*)?|he|she"
    r"|[A-Z][\w-]*(?: [A-Z][\w-]*)?))$",
    re.I,
)


def _is_still_subject(words: list[Word]) -> bool:
    """`The log that holds the events`: its only verb is that of a clause about its subject."""
    first = words[0].low
    if first not in DETERMINERS:
        return False
    for place in range(2, min(len(words), 7)):
        low = words[place].low
        if is_surely_finite(low):
            return False
        if low in _RELATIVE:
            if low in PRONOUNS and first in ("this", "that", "every", "each"):
                return False  # This week I moved.
            verbs = [word for word in words[place + 1 :] if is_finite(word.low)]
            return len(verbs) < 2
    return False


def _disagree(noun: Word, verb: str) -> bool:
    """`the texts is`, `the log are`: a noun that is not the subject of the verb behind it."""
    plural = noun.low.endswith("s") and not noun.low.endswith(("ss", "us", "is", "ics", "news"))
    if not noun.text[0].islower():
        return False
    return (plural and verb in ("is", "was", "has", "does")) or (
        not plural and noun.low not in _PLURALS and verb in ("are", "were", "have", "do")
    )


_PLURALS = frozenset("people children men women mice feet teeth police data media others".split())


def _quotations(text: str) -> list[tuple[int, int]]:
    places = [found.start() for found in _QUOTE.finditer(text)]
    return list(zip(places[::2], places[1::2], strict=False))


def starts_clause(text: str, bare: bool = False, comma: bool = False) -> bool:
    """Whether a text begins with a subject that has its verb close behind.

    After a bare comma only a pronoun, or a noun with an owner, counts as one; `comma` says that
    one stands before the conjunction, which makes a new subject likelier.
    """
    lead = _LEAD.match(text)
    words = words_of(text[lead.end() if lead else 0 :])[:9]
    while words and is_adverb(words[0].low):
        words = words[1:]
    if not words:
        return False
    first = words[0].low
    if first.startswith(("who", "that'")) or first == "that":
        return False
    if holds_its_verb(first):
        return True
    if bare and first in ("this", "these", "those", "there"):
        return False
    if first in PRONOUNS:
        return _verb_follows(words, 1)
    if bare and first not in OWNERS:
        return False
    surely = is_finite if comma else is_surely_finite
    if first in OWNERS and len(words) > 3 and is_finite(words[2].low):
        return True
    if first in DETERMINERS:
        stop = next((at for at in range(1, len(words)) if words[at].low in _RELATIVE), 7)
        ahead = range(2, min(stop, 7, len(words)))
        verb = next((at for at in ahead if surely(words[at].low) or takes_object(words, at)), 0)
        joined = any(words[at].low in ("and", "or") for at in range(verb))
        return verb > 0 and (joined or not _disagree(words[verb - 1], words[verb].low))
    if words[0].text[0].isupper() and len(words) > 1 and words[1].low not in _RELATIVE:
        return any(surely(word.low) or is_third(word.low) for word in words[1:3])
    return first in ("what", "how", "why", "can", "could", "do", "is", "are") and comma


def _verb_follows(words: list[Word], place: int) -> bool:
    while place < len(words) and is_adverb(words[place].low):
        place += 1
    return place < len(words) and (is_finite(words[place].low) or words[place].low in VERBS)
