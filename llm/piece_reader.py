"""Reads one message or document from front to back and words what each clause states.

It remembers who was spoken of last and what was stated last, so that `she` and `make that 4 pm`
can be understood; a reader of the next message of a conversation may begin with that memory.
"""

import re
from collections import deque
from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple

from rewound.eventlog.events import FactKind
from rewound.llm.antecedents import Antecedents
from rewound.llm.asides import known_from, lead_of, sets_a_scene, without_requests
from rewound.llm.attribute_table import Row
from rewound.llm.attributes import Attributes, attributes_of
from rewound.llm.changes import is_turned, says_only_that
from rewound.llm.clause_text import (
    dates,
    ending,
    ending_off,
    is_over,
    is_the_value,
    leads,
    plain,
    timed,
)
from rewound.llm.conjoined import Segment, segments, shared_subject
from rewound.llm.corrections import Correction, corrected, correction_in
from rewound.llm.endings import ended_by, instead_of, told_apart, told_in_full
from rewound.llm.english import BE, SAME_IN_PAST, Word, is_adverb, third_person, verb_at, words_of
from rewound.llm.entities import describes, entities_of
from rewound.llm.extraction import Drawn, Said
from rewound.llm.fixing import made_so
from rewound.llm.kinds import kind_of
from rewound.llm.passing import (
    has_open_object,
    is_cut,
    is_elliptic,
    is_guess,
    is_metadata,
    is_passing,
)
from rewound.llm.reaching import reached
from rewound.llm.scripts import is_other_script, states_in_other_script
from rewound.llm.sentences import LONGEST, Span, clauses, trim
from rewound.llm.several import told_singly
from rewound.llm.speakers import (
    AUTHOR,
    UNNAMED,
    Edit,
    capitalised,
    edited,
    edited_part,
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
)
from rewound.llm.time_expressions import find, last_day, tense_of
from rewound.llm.time_ranges import TimeExpression
from rewound.llm.time_stretches import Tense
from rewound.llm.wording import (
    called,
    half_at_start,
    in_full,
    introduced,
    owned_by_subject,
    unmarked,
)


class _Clause(NamedTuple):
    """A clause that states something, with what was found in it."""

    span: Span
    text: str
    words: list[Word]
    verb: int
    form: Form


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
_OWN_SUBJECT = re.compile(r"(?:i|my|we|our|i['’]\w+|we['’]\w+)\b", re.I)
_AND_PLEASE = re.compile(r"[\s,;:—–-]*(?:(?:and|but|so|then|therefore)\s+)?", re.I)


class Thread:
    """What a speaker's words have left to refer to: who was spoken of, and the last statements."""

    def __init__(self) -> None:
        self.before = Antecedents()
        self.stated: deque[Drawn] = deque(maxlen=_STATED)

    def forget(self) -> None:
        self.before.forget()
        self.stated.clear()


_STATED = 3
_MEANT = re.compile(r"(?:\w+ )?i mea(?:n|nt)\b")


class PieceReader:
    """Reads one piece from front to back. `own` are rows of the user's attribute table; `thread`
    is what the same speaker's messages before have left."""

    def __init__(self, piece: Said, own: Sequence[Row] = (), thread: Thread | None = None) -> None:
        self.text = piece.text
        self.document = piece.role == "document"
        self.at, self.zone = piece.at, piece.zone
        speaker = " ".join((piece.speaker or "").split())
        self.name = speaker or (AUTHOR if self.document else UNNAMED)
        self.named = bool(speaker)
        self.thread = thread or Thread()
        self.before = self.thread.before
        self.replaced: Drawn | None = None
        """The earlier statement that the last sentence corrected."""
        self.told_of = re.compile(rf"{_MARKED}(?:{re.escape(self.name)}\b|{_USER})", re.I)
        self.day: datetime | None = None
        """The last day that the sentence named."""
        self.earlier: datetime | None = None
        """That of the sentences before."""
        self._own = own

    def sentence(self, span: Span) -> list[Drawn]:
        """The statements of one sentence. Who was spoken of in front of one that says nothing is
        not who is meant behind it."""
        self.replaced = None
        drawn = self._stated(span)
        if not drawn:
            self.before.forget()
        self.thread.stated.extend(drawn)
        return drawn

    def _stated(self, span: Span) -> list[Drawn]:
        whole = self.text[span.start : span.end]
        if FORGOTTEN in whole or len(whole) > LONGEST:
            return []
        if is_other_script(whole):
            self.before.forget()
            return self._in_other_script(span, whole)
        settled = None if self.document else self._settled(span, whole)
        if settled is not None:
            return settled
        cut, end = False, span.end
        asks = whole.rstrip('"”’)*_ ').endswith(("?", "?!", "？"))
        if not self.document:
            said = without_requests(self.text, span)
            asks = asks and said == span
            cut, end = said != span, span.end
            span, whole = said, self.text[said.start : said.end]
        low = plain(whole[lead_of(whole) :])
        parts = clauses(self.text, span)
        if self._is_idle(low, parts, asks):
            return []
        drawn: list[Drawn] = []
        self.day, self.earlier = None, self.day
        told, behind = False, span.start
        for part in parts:
            told = self._is_reported(part, told, behind)
            behind = part.end
            clause = None if told else self._clause(part, asks and part is parts[-1])
            made = self._drawn(clause) if clause else []
            plain_part = ending_off(self.text[part.start : part.end])
            if not made and (told or not self.before.changed_by_others(plain_part, self.name)):
                self.before.forget()
            if made and drawn and says_only_that(drawn[-1].text, made[0]):
                drawn.pop()  # The code changed: what it is now says so.
            drawn += [instead_of(each, drawn) for each in made]
        if cut:
            drawn += self._asked_behind(span.end, end)
            self.before.forget()  # The request may have been about someone else.
        return drawn

    def _asked_behind(self, start: int, end: int) -> list[Drawn]:
        """What a request behind a statement makes true: please write to my new address, …"""
        said = ending_off(self.text[start:end])
        lead = _AND_PLEASE.match(said)
        made = reached(said[lead.end() :]) if lead else None
        if lead is None or made is None:
            return []
        words = words_of(made)
        place = trim(self.text, start + lead.end(), start + len(said))
        clause = _Clause(place, made, words, verb_at(words), "statement")
        return [each._replace(confidence=800) for each in self._drawn(clause)]

    def _is_idle(self, low: str, parts: Sequence[Span], asks: bool) -> bool:
        """Whether nothing in a sentence is the writer's own statement."""
        if (asks and is_question(low, False)) or is_small_talk(low):
            return True
        if len(parts) > 1 and re.search(r"\bif\b", low[:4]):
            return True
        if self.document:
            return False
        if sets_a_scene(low) or is_unreal(low) or is_said_by_others(low):
            return True
        return len(parts) > 1 and self._asks_first(parts[0])

    # --- what settles something

    def _settled(self, span: Span, whole: str) -> list[Drawn] | None:
        """What a correction or an instruction makes true; None for a sentence that is neither."""
        asks = whole.rstrip().endswith("?")
        said = ending_off(whole)
        correction = None if asks else correction_in(said)
        if correction:
            for earlier in reversed(self.thread.stated):
                text = corrected(earlier.text, earlier.value, correction, self.at, self.zone)
                if text is not None:
                    self.replaced = earlier
                    return [self._corrected(span, earlier, text, correction)]
        start = lead_of(said)
        made = made_so(said[start:].rstrip("? "))
        if made is None:
            return [] if _MEANT.match(plain(whole)) and correction else None
        place = trim(self.text, span.start + start, span.start + len(said))
        words = words_of(made)
        clause = _Clause(place, made, words, verb_at(words), "statement")
        return [each._replace(confidence=800) for each in self._drawn(clause)]

    def _corrected(self, span: Span, earlier: Drawn, text: str, correction: Correction) -> Drawn:
        attributes = attributes_of(text, self._own)
        if attributes.attribute is None and earlier.attribute is not None:
            value = correction.values[0]
            attributes = Attributes(earlier.subject, earlier.attribute, value)
        dated = next((time for time in find(text, self.at, self.zone) if dates(text, time)), None)
        moved = dated is not None and earlier.valid_from is not None
        whole = self.text[span.start : span.end]
        first = earlier.entities[:1]
        return earlier._replace(
            text=text,
            start=span.start,
            end=span.end - len(ending(whole)),
            subject=attributes.subject,
            attribute=attributes.attribute,
            value=attributes.value,
            valid_from=dated.valid_from if dated and moved else earlier.valid_from,
            entities=entities_of(text, bool(first) and text.startswith(first[0])),
            confidence=800,
        )

    def _asks_first(self, part: Span) -> bool:
        """Whether a sentence begins with a request: what follows is what is asked for."""
        text = self.text[part.start : part.end]
        text = text[lead_of(text) :]
        return is_request(words_of(text), plain(text)) and not called(ending_off(text))

    def _clause(self, part: Span, asks: bool) -> _Clause | None:
        """The clause without its openers, or None when it states nothing to keep."""
        start = part.start + lead_of(self.text[part.start : part.end])
        start += half_at_start(self.text[start : part.end])
        body = _ASIDE.sub("", self.text[start : part.end])
        body = body if self.document else body[: known_from(body)]
        end = start + len(body) - len(ending(body))
        span = trim(self.text, start, end)
        text = self.text[span.start : span.end]
        low = plain(text)
        if len(low) < 6 or is_small_talk(low) or is_question(low, asks):
            return None
        if is_hypothetical(low, text, self.document) or is_reported(low, text):
            return None
        words = words_of(text)
        if (whole := in_full(text, words)) != text:
            text, words = whole, words_of(whole)
        if not self.document and called(text):
            return _Clause(span, text, words, -1, "called")
        if not self.document and (addresses_listener(low) or is_guess(low)):
            return None
        verb = verb_at(words)
        known = bool(self.before.resolve_object(words, verb, self.name))
        if self._is_recalled(text, words):
            return None
        if self.document and (is_metadata(low) or is_elliptic(text)):
            return None
        placed = bool(words) and self.before.where.stands_for(words[-1])
        hangs = not known and dangles(words[:-1] if placed else words)
        if len(words) < 2 or hangs or is_cut(words):
            return None
        form = form_of(words, low, verb, self.document)
        return _Clause(span, text, words, verb, form) if form else None

    def _is_reported(self, part: Span, told: bool, behind: int) -> bool:
        """Whether a part is what somebody else said, or goes on with it: Leo said that he and Kim
        got married."""
        text = self.text[part.start : part.end]
        text = text[lead_of(text) :]
        joined = told and self.text[behind : part.start].strip().lower() == "and"
        if joined and not _OWN_SUBJECT.match(text):
            return True
        return not self.document and is_reported(plain(text), text)

    def _is_recalled(self, text: str, words: list[Word]) -> bool:
        """Whether a person is told of by name in his own message: so memories speak, not people.

        Whatever stands above such a line, a client pasted it from what was recalled.
        """
        return not self.document and not speaks(words) and bool(self.told_of.match(text))

    def _drawn(self, clause: _Clause) -> list[Drawn]:
        text, words = clause.text, clause.words
        if clause.form == "called":
            return [self._called(clause)]
        pronoun = self.before.resolve(text, words)
        if pronoun is None:
            return []
        back = is_over(words, clause.verb)
        times = self._times(text, "past" if back else None)
        if not self.document and is_passing(plain(text)) and not self._beyond(times):
            return []
        edits = [pronoun] if pronoun.end else []
        edits += self.before.where.resolve(words)
        objects = self.before.resolve_object(words, clause.verb, self.name)
        edits += objects
        same = back or any(word.low in SAME_IN_PAST for word in words)
        look_back = same and (back or tense_of(text) == "past")
        their = owned_by_subject(words, clause.form == "elided")
        edits += first_person(text, words, self.name, look_back, their)
        edits += unmarked(text)
        moved, time_edits = timed(text, times)
        edits += time_edits
        shown = self._shown(clause, Segment(0, len(text)), edits, moved)
        if shown is None:
            return []
        whole = told_in_full(shown, self.before.said)
        if whole == shown and not (self.document or objects) and has_open_object(plain(text)):
            return []
        shown = whole
        self.before.note(text, words, clause.verb, shown, self.name)
        one: list[tuple[Segment | None, str]] = [(None, shown)]
        return [
            each
            for part, worded in self._parted(clause, edits, moved) or one
            for each in self._part(clause, part, worded, times, pronoun)
        ]

    def _shown(
        self, clause: _Clause, part: Segment, edits: Sequence[Edit], moved: str
    ) -> str | None:
        """A clause in its finished words; None when nothing is said in it."""
        shown = _SPACES.sub(" ", edited_part(clause.text, edits, *part) + moved).strip()
        if clause.form == "elided" and part.start == 0:
            was = "was " if clause.words[0].low in PASSIVE else ""
            shown = f"{self.name} {was}{shown[:1].lower()}{shown[1:]}"
        named = introduced(shown, self.name)
        if named is None or clause.text[0] == "`":
            return named
        return capitalised(named)

    def _parted(
        self, clause: _Clause, edits: Sequence[Edit], moved: str
    ) -> list[tuple[Segment | None, str]]:
        """A clause as several statements with one subject, when one of them tells an attribute;
        nothing for one that is to stay whole."""
        parts = segments(clause.text, clause.words, clause.verb, clause.form)
        if len(parts) < 2:
            return []
        subject = (
            self.name
            if clause.form == "elided"
            else shared_subject(clause.words, clause.verb, self.name)
        )
        if subject is None:
            before = clause.words[clause.verb].start
            subject = edited_part(clause.text, edits, 0, before).strip()
            if not subject:  # It's: subject and verb are one word.
                return []
        found: list[tuple[Segment | None, str]] = []
        for part in parts:
            shown = self._shown(clause, part, edits, moved)
            if shown is None:
                return []
            if part.start:
                shown = _agreed(shown, subject == self.name)
                shown = capitalised(f"{subject} {shown[:1].lower()}{shown[1:]}")
            found.append((part, shown))
        told = any(
            attributes_of(shown, self._own).attribute or _GIVES_UP.search(shown)
            for _, shown in found
        )
        return found if told else []

    def _part(
        self,
        clause: _Clause,
        part: Segment | None,
        shown: str,
        times: Sequence[TimeExpression],
        pronoun: Edit,
    ) -> list[Drawn]:
        """The statements of a clause or of a part of it, most often one."""
        words, verb, span = clause.words, clause.verb, clause.span
        if part is not None:
            times = [
                time
                for time in times
                if part.start <= time.start < part.end or leads(clause.text, time)
            ]
            # The clause may be longer here than where it was said: Omar's, Omar is.
            end = min(clause.span.start + part.end, clause.span.end)
            span = Span(min(clause.span.start + part.start, end - 1), end)
        if part is not None and part.start:
            words, verb = words_of(clause.text[part.start : part.end]), 0
        dated = next((time for time in times if dates(clause.text, time)), None)
        told = [shown]
        if clause.form != "instruction":
            told = [one for each in told_apart(shown) for one in told_singly(each, self._own)]
        return [
            self._finished(clause._replace(span=span, words=words, verb=verb), one, dated, pronoun)
            for one in told
        ]

    def _finished(
        self, clause: _Clause, shown: str, dated: TimeExpression | None, pronoun: Edit
    ) -> Drawn:
        words = clause.words
        own = clause.form == "elided" or _subject_is_own(words, clause.verb)
        kind = FactKind.PROCEDURE
        if clause.form != "instruction":
            kind = kind_of(shown, words, clause.verb, own, dated is not None)
        attributes = self._attributes(clause, shown, pronoun)
        if dated and attributes.attribute == "birthday" and dated.wording is not None:
            attributes = Attributes()  # The day of this year is no day of birth.
        if dated and is_the_value(dated, clause.text, attributes):
            dated = None  # It is due that day; that it is holds from now on.
        return Drawn(
            text=shown,
            start=clause.span.start,
            end=clause.span.end,
            kind=kind,
            valid_from=dated.valid_from if dated else None,
            valid_to=dated.valid_to if dated else None,
            subject=attributes.subject,
            attribute=attributes.attribute,
            value=attributes.value,
            entities=entities_of(shown, self._starts_with_name(shown, words, own)),
            confidence=self._confidence(clause, attributes, bool(pronoun.end)),
        )

    def _attributes(self, clause: _Clause, shown: str, pronoun: Edit) -> Attributes:
        if clause.form == "instruction":
            return Attributes()
        found = attributes_of(shown, self._own)
        if found.attribute is None:
            found = ended_by(shown, self._own)
        if pronoun.end and clause.words[0].low in ("it", "it's"):
            # Else it is one of several things that may be said of it.
            last = self.thread.stated[-1] if self.thread.stated else None
            again = last is not None and found[:2] == (last.subject, last.attribute)
            turned = is_turned(pronoun.new.removesuffix(" is"), self.before.said_before)
            told = again or turned or found.attribute in _OF_IT
            return found if told else Attributes()
        return found

    def _times(self, text: str, tense: Tense | None) -> list[TimeExpression]:
        """The times of a clause. `The 21st` that could also follow the day of the sentence before
        stays as it was said."""
        times = find(text, self.at, self.zone, tense, after=self.day)
        if times and self.day is None and self.earlier is not None:
            others = find(text, self.at, self.zone, tense, after=self.earlier)
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
        if len(first) < 3 or is_adverb(first[0].low) or describes(first):
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
        end = span.end - len(ending(whole))
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


def _agreed(shown: str, one: bool) -> str:
    """`live in Oslo` after a past verb, whose form nothing has made fit the name."""
    verb, _, rest = shown.partition(" ")
    return f"{third_person(verb.lower())} {rest}" if one and verb.lower() in _LASTING else shown


_LASTING = ("live", "work")
# What one has no more: it ends by itself, whatever came in its place.
_GIVES_UP = re.compile(r"\b(?:sold|cancell?ed|quit|gave up|got rid of|unsubscribed from) ")
_OF_IT = frozenset("time date room price due status owner version assignee".split())


def _subject_is_own(words: list[Word], verb: int) -> bool:
    for place in range(min(verb + 1, len(words)) if verb >= 0 else len(words)):
        if is_own(words, place) and words[place].low not in ("my", "mine", "me"):
            return True
        if words[place].low in ("we", "we've", "we're", "we'll"):
            return True
        if words[place].low in BE:
            return False
    return False
