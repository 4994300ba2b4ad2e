"""The extractor that needs no model: one statement for each independent clause that is one.

The words stay near the source; only the speaker, pronouns and times are resolved. What cannot be
resolved with confidence is left out, for its passage is found all the same. English is understood;
of Chinese, Japanese, Korean and Thai a clause is kept as it was said, at half confidence.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rewound.eventlog.events import FactKind
from rewound.llm.antecedents import Antecedents
from rewound.llm.attributes import Attributes, attributes_of, entities_of, kind_of
from rewound.llm.english import BE, SAME_IN_PAST, Word, is_adverb, verb_at, words_of
from rewound.llm.extraction import Drawn, Said
from rewound.llm.screening import LABELS, prose
from rewound.llm.scripts import is_other_script, states_in_other_script
from rewound.llm.sentences import LONGEST, Span, clauses, sentences, trim
from rewound.llm.speakers import (
    AUTHOR,
    UNNAMED,
    Edit,
    capitalised,
    edited,
    first_person,
    first_person_of_scripts,
    is_own,
    speaks,
)
from rewound.llm.stating import (
    FORGOTTEN,
    Form,
    addresses_listener,
    dangles,
    form_of,
    is_hypothetical,
    is_question,
    is_reported,
    is_small_talk,
)
from rewound.llm.time_expressions import find, tense_of
from rewound.llm.time_ranges import TimeExpression

MOST = 8
"""Statements of one piece; the first ones count."""


class RulesExtractor:
    """Draws statements by rules. Holds no state, loads nothing, never fails on a text."""

    name = "rules/1"

    def extract(self, pieces: Sequence[Said]) -> list[list[Drawn]]:
        """For each piece what it states, in the order of the text.

        Only users and documents state anything: what an assistant, a tool or a system prompt says
        is no fact about anybody. Raises InvalidInput for a piece whose zone there is not.
        """
        return [self._one(piece) for piece in pieces]

    def _one(self, piece: Said) -> list[Drawn]:
        if piece.role not in ("user", "document"):
            return []
        drawn: list[Drawn] = []
        reader = _Reader(piece)
        for block in prose(piece.text, piece.media):
            for sentence in sentences(piece.text, block.start, block.end):
                if sentence.end - sentence.start > LONGEST:
                    continue
                drawn += reader.sentence(sentence)
                if len(drawn) >= MOST:
                    return drawn[:MOST]
        return drawn


class _Clause(NamedTuple):
    """A clause that states something, with what was found in it."""

    span: Span
    text: str
    words: list[Word]
    verb: int
    form: Form


_MARK = r"[,.!:;—–-]+\s+"
_OPENERS = (
    r"(?:wow|yeah|yes|yep|no|nope|oh|ah|well|so|ok|okay|sure|actually|by the way|btw|also|anyway"
    r"|honestly|sorry"
    r"|haha|lol|great|cool|nice|fyi|unfortunately|luckily|sadly|fortunately|for the record"
    r"|just so you know|as (?:i|you)"
    r" (?:said|know|mentioned)(?: before)?|to be honest|in fact|basically|thanks|thank you|please"
    r"|however|besides"
    r"|moreover|additionally|in addition|furthermore|(?:hi|hey|hello)(?: \w+)?|thanks(?: \w+)?"
    r"|and|but|plus|speaking of [\w' -]{2,40}"
    r"|good (?:morning|evening|afternoon)(?: \w+)?|guess what|don['’]t worry|no worries|good news"
    r"|bad news|quick update|thankfully|hopefully|personally|clearly|obviously|interestingly"
    r"|surprisingly|on (?:a|another) (?:\w+ )?note|aww*|yay|ugh|omg|whoa|bummer|gosh|yikes|yup"
    r"|yea|hmm+)"
)
# A name that is called: Caroline, I moved. Not `Max, my dog, is old`, and not a day or an adverb.
_CALLED = (
    r"(?-i:(?!(?:Yester|To|Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)\w|\w+ly\b|However|Sometimes|Often"
    r"|Nowadays|Tonight|Afterwards|Once)[A-Z][a-z]{1,15}), "
    r"(?=(?:i|i['’]\w+|that|that['’]s|it|it['’]s|this|thanks|we)\b)"
)
_LEAD = re.compile(
    rf"(?:{_OPENERS}{_MARK}|{_CALLED}|(?:{'|'.join(sorted(LABELS))})\s?:\s+|(?:and|but|so|or|then"
    rf"|well|also|plus|anyway) "
    r"(?=(?:i|i['’]\w+|my|we|the|our|he|she|it)\b)"
    r"|(?:please |pls )?(?:remember|note|keep in mind|don['’]t forget|be aware|know)(?: that|:|,) "
    r"|(?:just )?(?:a )?(?:quick )?(?:note|reminder|heads[- ]up|update)[:,—-]+ "
    r"|(?:i (?:just )?(?:want(?:ed)? to|should|must) (?:mention|say|add|let you know|tell you"
    r"|note)|the (?:thing|fact|truth)"
    r" is|i (?:must|have to) (?:say|admit)|fun fact|did i mention|let me tell you)(?: that|:|,)? )",
    re.I,
)
_TAIL = re.compile(
    r"[\s.!。！…,;:|\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+$|(?:\s[:;=]-?"
    r"|[^\w\s]?<3)[()DP3/]*$|[\"”’)\]*_]+$"
)
# Words for what may have been named elsewhere.
_ELSEWHERE = frozenset("he she it they him them his hers its their theirs this these those".split())
_ASIDE = re.compile(r"\s*\[[^\]\n]{3,300}\]$")
_SPACES = re.compile(r"\s+")


class _Reader:
    """Reads one piece from front to back and remembers who was spoken of last."""

    def __init__(self, piece: Said) -> None:
        self.text = piece.text
        self.document = piece.role == "document"
        self.at, self.zone = piece.at, piece.zone
        speaker = " ".join((piece.speaker or "").split())
        self.name = speaker or (AUTHOR if self.document else UNNAMED)
        self.named = bool(speaker)
        self.before = Antecedents()

    def sentence(self, span: Span) -> list[Drawn]:
        """The statements of one sentence."""
        whole = self.text[span.start : span.end]
        if FORGOTTEN in whole:
            return []
        if is_other_script(whole):
            return self._in_other_script(span, whole)
        asks = whole.rstrip('"”’)*_ ').endswith(("?", "?!", "？"))
        plain = _plain(whole[_lead_of(whole) :])
        if (asks and is_question(plain, False)) or is_small_talk(plain):
            return []
        parts = clauses(self.text, span)
        if len(parts) > 1 and re.search(r"\bif\b", plain[:4]):
            return []
        drawn: list[Drawn] = []
        for part in parts:
            clause = self._clause(part, asks and part is parts[-1])
            made = self._drawn(clause) if clause else None
            if made is not None:
                drawn.append(made)
            elif clause is None:
                self.before.forget()
        return drawn

    def _clause(self, part: Span, asks: bool) -> _Clause | None:
        """The clause without its openers, or None when it states nothing to keep."""
        start = part.start + _lead_of(self.text[part.start : part.end])
        body = _ASIDE.sub("", self.text[start : part.end])
        end = start + len(body) - len(_ending(body))
        span = trim(self.text, start, end)
        text = self.text[span.start : span.end]
        low = _plain(text)
        if len(low) < 6 or is_small_talk(low) or is_question(low, asks):
            return None
        if is_hypothetical(low, text, self.document) or is_reported(low, text):
            return None
        if not self.document and addresses_listener(low):
            return None
        words = words_of(text)
        if len(words) < 2 or dangles(words):
            return None
        verb = verb_at(words)
        form = form_of(words, low, verb, self.document)
        return _Clause(span, text, words, verb, form) if form else None

    def _drawn(self, clause: _Clause) -> Drawn | None:
        text, words = clause.text, clause.words
        pronoun = self.before.resolve(text, words)
        if pronoun is None:
            return None
        times = find(text, self.at, self.zone)
        edits = [pronoun] if pronoun.end else []
        same = any(word.low in SAME_IN_PAST for word in words)
        edits += first_person(text, words, self.name, same and tense_of(text) == "past")
        moved, time_edits = _timed(text, times)
        shown = _SPACES.sub(" ", edited(text, time_edits + edits) + moved).strip()
        if clause.form == "elided":
            shown = f"{self.name} {shown[:1].lower()}{shown[1:]}"
        shown = capitalised(shown)
        own = clause.form == "elided" or _subject_is_own(words, clause.verb)
        self.before.note(text, words, clause.verb, shown)
        dated = next((time for time in times if time.valid_from or time.valid_to), None)
        attributes = Attributes() if clause.form == "instruction" else attributes_of(shown)
        return Drawn(
            text=shown,
            start=clause.span.start,
            end=clause.span.end,
            kind=FactKind.PROCEDURE
            if clause.form == "instruction"
            else kind_of(shown, words, clause.verb, own, dated is not None),
            valid_from=dated.valid_from if dated else None,
            valid_to=dated.valid_to if dated else None,
            subject=attributes.subject,
            attribute=attributes.attribute,
            value=attributes.value,
            entities=entities_of(shown, self._starts_with_name(shown, words, own)),
            confidence=self._confidence(clause, attributes, bool(pronoun.end)),
        )

    def _starts_with_name(self, shown: str, words: list[Word], own: bool) -> bool:
        if speaks(words) and shown.startswith(self.name):
            return self.named
        first = words_of(shown)
        if len(first) < 3 or is_adverb(first[0].low):
            return False
        if shown[first[0].end : first[0].end + 1] == ",":
            return True
        joined = first[1].low in ("and", "of") and first[2].text[0].isupper()
        return joined or verb_at(first) in (1, 2)

    def _confidence(self, clause: _Clause, attributes: Attributes, resolved: bool) -> int:
        if clause.form != "statement":
            return 700
        low = clause.text.lower()
        if resolved or re.search(r"\bi (?:think|believe|feel like)\b|\bprobably\b", low):
            return 600
        if any(word.low in _ELSEWHERE for word in clause.words[1:]):
            return 750
        if re.search(r"\b(?:we|our|us|we['’]\w+)\b", low):
            return 800
        return 950 if attributes.attribute else 900

    def _in_other_script(self, span: Span, whole: str) -> list[Drawn]:
        """A clause that is kept as it was said, with the speaker and the day put in."""
        end = span.end - len(_ending(whole))
        text = self.text[span.start : end]
        if not states_in_other_script(text, whole):
            return []
        times = find(text, self.at, self.zone)
        edits = [Edit(t.start, t.end, f" {t.wording} ") for t in times if t.wording is not None]
        if self.named:  # an English "the user" has no place in such a text
            edits += first_person_of_scripts(text, self.name)
        dated = next((time for time in times if time.valid_from or time.valid_to), None)
        return [
            Drawn(
                text=_SPACES.sub(" ", edited(text, edits)).strip(),
                start=span.start,
                end=end,
                valid_from=dated.valid_from if dated else None,
                valid_to=dated.valid_to if dated else None,
                confidence=500,
            )
        ]


def _plain(text: str) -> str:
    return _ending_off(text).lower().replace("’", "'")


def _ending_off(text: str) -> str:
    return text[: len(text) - len(_ending(text))]


def _ending(text: str) -> str:
    """The marks at the end that are no part of the statement; a bracket that is open stays."""
    end = len(text)
    while end:
        found = _TAIL.search(text, max(0, end - 12), end)
        if found is None or (found[0][-1] in ')]"”' and _balanced(text, end)):
            break
        if _abbreviated(text, found.start()):
            break
        end = found.start()
    return text[end:]


def _balanced(text: str, end: int) -> bool:
    opening = {")": "(", "]": "[", '"': '"', "”": "“"}[text[end - 1]]
    return text.rfind(opening, 0, end - 1) >= 0


def _abbreviated(text: str, stop: int) -> bool:
    return text[max(0, stop - 3) : stop + 1].lower() in ("a.m.", "p.m.")


def _lead_of(text: str) -> int:
    """Characters of openers before the statement itself: `Wow, actually, `."""
    done = 0
    for _ in range(4):
        found = _LEAD.match(text, done)
        if found is None or found.end() == done:
            break
        done = found.end()
    return done


def _subject_is_own(words: list[Word], verb: int) -> bool:
    for place in range(min(verb + 1, len(words)) if verb >= 0 else len(words)):
        if is_own(words, place) and words[place].low not in ("my", "mine", "me"):
            return True
        if words[place].low in ("we", "we've", "we're", "we'll"):
            return True
        if words[place].low in BE:
            return False
    return False


def _timed(text: str, times: list[TimeExpression]) -> tuple[str, list[Edit]]:
    """What to put at the end, and the edits that say each time absolutely.

    A relative time at the start moves to the end: `Yesterday I planted …` is `… planted … on
    2026-03-01`.
    """
    moved, edits = "", []
    for time in times:
        if time.wording is None:
            continue
        if text[: time.start].strip() == "" and time.relation == "at":
            comma = re.compile(r",?\s*").match(text, time.end)
            edits.append(Edit(0, comma.end() if comma else time.end, ""))
            moved = f" {time.wording}"
        else:
            edits.append(Edit(time.start, time.end, time.wording))
    return moved, edits
