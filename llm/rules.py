"""The extractor that needs no model: one statement for each independent clause that is one.

The words stay near the source; only the speaker, pronouns and times are resolved. What cannot be
resolved with confidence is left out, for its passage is found all the same. English is understood;
of Chinese, Japanese, Korean and Thai a clause is kept as it was said, at half confidence.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import NamedTuple

from rewound.eventlog.events import FactKind
from rewound.llm.antecedents import Antecedents
from rewound.llm.asides import known_from, lead_of, sets_a_scene, without_requests
from rewound.llm.attributes import Attributes, attributes_of, entities_of, kind_of
from rewound.llm.english import BE, SAME_IN_PAST, Word, is_adverb, verb_at, words_of
from rewound.llm.extraction import Drawn, Said
from rewound.llm.passing import (
    has_open_object,
    is_cut,
    is_elliptic,
    is_guess,
    is_metadata,
    is_passing,
)
from rewound.llm.screening import prose
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
    PASSIVE,
    Form,
    addresses_listener,
    dangles,
    form_of,
    is_hypothetical,
    is_question,
    is_reported,
    is_request,
    is_said_by_others,
    is_small_talk,
    is_unreal,
    takes_back,
)
from rewound.llm.time_expressions import find, last_day, tense_of
from rewound.llm.time_ranges import TimeExpression
from rewound.llm.wording import called, half_at_start, introduced, owned_by_subject, unmarked

MOST = 8
"""Statements of one piece; the first ones count."""

MOST_READ = 100_000
"""Characters of a piece that are read; a sentence that goes on behind them is left out."""

MOST_SENTENCES = 2_000
"""Sentences of a piece that are read."""


class RulesExtractor:
    """Draws statements by rules. Holds no state, loads nothing, never fails on a text.

    Of each piece the first MOST_READ characters and MOST_SENTENCES sentences are read, and at most
    MOST statements are drawn; all of a longer one is still found in its passages.
    """

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
        before = 0  # Statements in front of the last sentence.
        reader = _Reader(piece)
        for number, sentence in enumerate(_sentences(piece, reader)):
            taken = takes_back(piece.text[sentence.start : sentence.end])
            if taken and not reader.document:
                del drawn[before:]
                reader.before.forget()
                continue
            if len(drawn) >= MOST or number >= MOST_SENTENCES:
                break
            before = len(drawn)
            drawn += reader.sentence(sentence)
        return drawn[:MOST]


def _sentences(piece: Said, reader: "_Reader") -> Iterator[Span]:
    """The sentences of a piece that are its writer's own. The reader forgets who was spoken of
    wherever something else stood between two of them."""
    text, end = piece.text, 0
    for block in prose(text, piece.media, MOST_READ, piece.role == "user"):
        if _WORD.search(text, end, block.start):
            reader.before.forget()
        end = block.end
        spans = sentences(text, block.start, block.end, piece.role == "document")
        yield from spans[:-1] if MOST_READ - 1 <= block.end < len(text) else spans


# More than the mark of a list.
_WORD = re.compile(r"[^\W\d_]{2}")


class _Clause(NamedTuple):
    """A clause that states something, with what was found in it."""

    span: Span
    text: str
    words: list[Word]
    verb: int
    form: Form


_TAIL = re.compile(
    r"[\s.!。！…,;:|\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+$|(?:\s[:;=]-?"
    r"|[^\w\s]?<3)[()DP3/]*$|[\"”’)\]*_]+$"
)
# Words for what may have been named elsewhere.
_ELSEWHERE = frozenset("he she it they him them his hers its their theirs this these those".split())
# What may stand before a recalled memory: a number or a word in brackets, a label, a time.
_MARKED = (
    r"(?:[\[(][^\])\n]{1,20}[\])]|[\w ]{1,20}:)?\W{0,3}"
    r"(?:(?:in|on|as of|since|by|from|until|at) [\w -]{1,24},? )?"
)
_USER = (
    r"(?:the |this )?user\b(?! (?:interface|manual|guide|table|story|stories|base|groups?|names?"
    r"|accounts?|ids?|experience|data|research|tests?|testing|input|agent|model|service)\b)"
)
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
        self.told_of = re.compile(rf"{_MARKED}(?:{re.escape(self.name)}\b|{_USER})", re.I)
        self.day: datetime | None = None
        """The last day that the sentence named."""
        self.earlier: datetime | None = None
        """That of the sentences before."""

    def sentence(self, span: Span) -> list[Drawn]:
        """The statements of one sentence. Who was spoken of in front of one that says nothing is
        not who is meant behind it."""
        drawn = self._stated(span)
        if not drawn:
            self.before.forget()
        return drawn

    def _stated(self, span: Span) -> list[Drawn]:
        whole = self.text[span.start : span.end]
        if FORGOTTEN in whole or len(whole) > LONGEST:
            return []
        if is_other_script(whole):
            self.before.forget()
            return self._in_other_script(span, whole)
        cut = False
        asks = whole.rstrip('"”’)*_ ').endswith(("?", "?!", "？"))
        if not self.document:
            said = without_requests(self.text, span)
            asks = asks and said == span
            cut = said != span
            span, whole = said, self.text[said.start : said.end]
        plain = _plain(whole[lead_of(whole) :])
        if not self.document and sets_a_scene(plain):
            return []
        if (asks and is_question(plain, False)) or is_small_talk(plain):
            return []
        parts = clauses(self.text, span)
        if len(parts) > 1 and re.search(r"\bif\b", plain[:4]):
            return []
        if not self.document and (is_unreal(plain) or is_said_by_others(plain)):
            return []
        if not self.document and len(parts) > 1 and self._asks_first(parts[0]):
            return []
        drawn: list[Drawn] = []
        self.day, self.earlier = None, self.day
        for part in parts:
            clause = self._clause(part, asks and part is parts[-1])
            made = self._drawn(clause) if clause else None
            if made is not None:
                drawn.append(made)
            else:
                self.before.forget()
        if cut:
            self.before.forget()  # The request may have been about someone else.
        return drawn

    def _asks_first(self, part: Span) -> bool:
        """Whether a sentence begins with a request: what follows is what is asked for."""
        text = self.text[part.start : part.end]
        text = text[lead_of(text) :]
        return is_request(words_of(text), _plain(text)) and not called(_ending_off(text))

    def _clause(self, part: Span, asks: bool) -> _Clause | None:
        """The clause without its openers, or None when it states nothing to keep."""
        start = part.start + lead_of(self.text[part.start : part.end])
        start += half_at_start(self.text[start : part.end])
        body = _ASIDE.sub("", self.text[start : part.end])
        body = body if self.document else body[: known_from(body)]
        end = start + len(body) - len(_ending(body))
        span = trim(self.text, start, end)
        text = self.text[span.start : span.end]
        low = _plain(text)
        if len(low) < 6 or is_small_talk(low) or is_question(low, asks):
            return None
        if is_hypothetical(low, text, self.document) or is_reported(low, text):
            return None
        words = words_of(text)
        if not self.document and called(text):
            return _Clause(span, text, words, -1, "called")
        if not self.document and (addresses_listener(low) or is_guess(low)):
            return None
        if not self.document and has_open_object(low):
            return None
        if self._is_recalled(text, words):
            return None
        if self.document and (is_metadata(low) or is_elliptic(text)):
            return None
        if len(words) < 2 or dangles(words) or is_cut(words):
            return None
        verb = verb_at(words)
        form = form_of(words, low, verb, self.document)
        return _Clause(span, text, words, verb, form) if form else None

    def _is_recalled(self, text: str, words: list[Word]) -> bool:
        """Whether a person is told of by name in his own message: so memories speak, not people.

        Whatever stands above such a line, a client pasted it from what was recalled.
        """
        return not self.document and not speaks(words) and bool(self.told_of.match(text))

    def _drawn(self, clause: _Clause) -> Drawn | None:
        text, words = clause.text, clause.words
        if clause.form == "called":
            return self._called(clause)
        pronoun = self.before.resolve(text, words)
        if pronoun is None:
            return None
        times = self._times(text)
        if not self.document and is_passing(_plain(text)) and not self._beyond(times):
            return None
        edits = [pronoun] if pronoun.end else []
        same = any(word.low in SAME_IN_PAST for word in words)
        their = owned_by_subject(words, clause.form == "elided")
        edits += first_person(text, words, self.name, same and tense_of(text) == "past", their)
        edits += unmarked(text)
        moved, time_edits = _timed(text, times)
        shown = _SPACES.sub(" ", edited(text, time_edits + edits) + moved).strip()
        if clause.form == "elided":
            was = "was " if words[0].low in PASSIVE else ""
            shown = f"{self.name} {was}{shown[:1].lower()}{shown[1:]}"
        named = introduced(shown, self.name)
        if named is None:
            return None
        shown = named if text[0] == "`" else capitalised(named)
        own = clause.form == "elided" or _subject_is_own(words, clause.verb)
        self.before.note(text, words, clause.verb, shown, self.name)
        dated = next((time for time in times if _dates(text, time)), None)
        attributes = Attributes() if clause.form == "instruction" else attributes_of(shown)
        if attributes.attribute == "birthday" and time_edits:
            attributes = Attributes()  # The day of this year is no day of birth.
        if pronoun.end and words[0].low in ("it", "it's"):
            attributes = Attributes()  # One of several things that may be said of it.
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

    def _times(self, text: str) -> list[TimeExpression]:
        """The times of a clause. `The 21st` that could also follow the day of the sentence before
        stays as it was said."""
        times = find(text, self.at, self.zone, after=self.day)
        if times and self.day is None and self.earlier is not None:
            others = find(text, self.at, self.zone, after=self.earlier)
            times = [time for time in times if time in others]
        self.day = last_day(times) or self.day
        return times

    def _called(self, clause: _Clause) -> Drawn:
        name = called(clause.text) or ""
        return Drawn(
            text=capitalised(f"{self.name} goes by {name}"),
            start=clause.span.start,
            end=clause.span.end,
            subject=capitalised(self.name),
            attribute="name",
            value=name,
            entities=(self.name, name) if self.named else (name,),
            confidence=900,
        )

    def _beyond(self, times: list[TimeExpression]) -> bool:
        """Whether a time is named that is not only today."""
        today = find("today", self.at, self.zone)
        return any(time.first is None or time.first.date() != _day(today) for time in times)

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


def _day(today: list[TimeExpression]) -> date | None:
    return today[0].first.date() if today and today[0].first else None


# What stands behind a comma with a time of its own: pregnant, due in October.
_BEHIND = re.compile(
    r"\b(?:is|are|am|has|have)\b[^,]*, (?:and )?(?:\w{3,}ed|bought|built|born|made|found|given"
    r"|sold|set|ending|expiring)\b[^,]*$"
    r"|(?:, (?:and )?| and |\bwho is |\bwho['’]s )(?:due|expected)\b[^,]*$",
    re.I,
)


def _dates(text: str, time: TimeExpression) -> bool:
    """Whether a time is when the statement begins or ends, and not a time of a thing in it."""
    return bool(time.valid_from or time.valid_to) and not _BEHIND.search(text, 0, time.start)


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


def _subject_is_own(words: list[Word], verb: int) -> bool:
    for place in range(min(verb + 1, len(words)) if verb >= 0 else len(words)):
        if is_own(words, place) and words[place].low not in ("my", "mine", "me"):
            return True
        if words[place].low in ("we", "we've", "we're", "we'll"):
            return True
        if words[place].low in BE:
            return False
    return False


_NOW = re.compile(r"\s+now\b(?=\s*(?:$|[,.;!]))", re.I)


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
    edits += [
        Edit(now.start(), now.end(), "")
        for time in times
        if time.relation == "since" and (now := _NOW.match(text, time.end))
    ]
    return moved, edits
