"""Which attributes a statement can state, and the words that state them: a table that grows.

A row names an attribute and the words that stand between a subject and its value: `works at` makes
"Nina works at Orbit" the employer of Nina. Users add rows of their own from a JSON file, in which
`{subject}` and `{value}` stand for the two; they write no regular expressions.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from rewound.eventlog.errors import InvalidInput
from rewound.llm.openings import Opening, openings
from rewound.llm.subjects import is_subject

SUBJECT = r"(?P<s>[^,;:.!?]{1,60}?)"
VALUE = r"(?P<v>(?:[^,;:!?]|(?<=\d)[,:](?=\d)|(?<=\w)[!?](?=\w)){1,80}?)"
"""A mark of exclamation or question in the midst of a word is part of it, as of a password."""
_THOUGHTS = (
    r"but|because|since|so|with|which|who|where|when|(?<!well )as(?! well as)|for|now|on \d+"
    r"|in the week"
    r"|these days|at the (?:moment|weekend)|at (?:weekends|present|night)|again|today|tonight"
    r"|yesterday|tomorrow|nowadays|currently|lately|recently|temporarily|sometimes|before|after"
    r"|during|instead|any ?more|any longer"
    r"|(?:this|last|next|every|each|most|some) (?:day|week|weekend|month|year|morning|afternoon"
    r"|evening|night|spring|summer|autumn|fall|winter|time|[A-Z][a-z]+day)s?"
    r"|in the (?:mornings?|afternoons?|evenings?|spring|summers?|autumn|fall|winters?|past|future)"
    r"|in (?:spring|summer|autumn|winter)|on (?:weekends|weekdays|[A-Z][a-z]+days?)"
    r"|around \w+ ?\d+|until|from \d+|in (?:early |late |mid-)?(?:\d{4}|[A-Z][a-z]+ \d{4})"
)
# A value ends where another thought begins.
END = rf"(?=$|[,;:(](?!\d)|[!?](?!\w)| (?:and|{_THOUGHTS})\b)"
LIST_END = (
    rf"(?=$|[;!?(](?!\d)|,? (?:{_THOUGHTS}|on|in|at|from|by|to|near|through|via|while|if|that)\b)"
)
"""Where a list of values ends: as a value does, but for what stands between two of them."""
ADVERB = r"(?: (?:currently|now|still|also|really|mostly|already|just|always|both|\w{3,12}ly))?"
# A bare hour is one only where nothing is counted: at 4, not for 4 people.
CLOCK = (
    r"(?:(?:about|around|exactly) )?(?:(?:[01]?\d|2[0-3])(?:[:.][0-5]\d(?: ?[aApP]\.?[mM]\b\.?)?"
    r"| ?[aApP]\.?[mM]\b\.?| o['’]clock|(?=$|[,;.!?)]|\s(?:on|in|and|but|at|today|tomorrow|tonight"
    r"|sharp|now|instead|every|each|with|because|so|then|to|until|this|next|please)\b))"
    r"|noon|midday|midnight)(?![\w%-])"
)
DAY = (
    r"(?:(?:the week of )?\d{4}-\d\d-\d\d|\d{4}-\d\d(?![-\d])"
    r"|(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Z][a-z]{2,8}(?: \d{4})?"
    r"|(?!Room)[A-Z][a-z]{2,8} (?:\d{4}(?!\d)|\d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?(?!\d)))"
)
_PETS = r"(?:(?:dog|cat|kitten|parrot|rabbit|hamster|horse|snake|turtle)s?|pupp(?:y|ies))"
_HAVE = r"(?:has|have|owns?|got|adopted|rescued)"
_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|\d{1,2})"
_PLURAL = {"child": "ren", "grandchild": "ren"}
KIN = "daughter son child kid boy girl brother sister sibling niece nephew grandchild cousin"
_NAME_VALUE = r"(?P<v>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)?)"
# What one may be of several: a client of Orbit Labs.
_ROLES = (
    "client customer member supplier partner tenant subscriber founder co-founder director "
    "shareholder patron sponsor supporter trustee citizen resident alumnus patient student"
)
_DAY_NAMES = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Christmas|Easter|New Year"
_MOVED = (
    r"(?:(?:is|was|has|were|have|got|will be)(?: now)?(?: been)? )?(?:moved|rescheduled|postponed"
    r"|pushed|shifted|changed|brought forward|delayed|slipped|extended)(?: from [^,]{1,30}?)?"
    r"(?: back| forward)? (?:to|until)"
)
_HELD = (
    r"(?:(?:is|are|will be)(?: now| still)?(?: (?:scheduled|set|booked|planned|happening|held))?"
    r"|takes? place|will take place|starts?|begins?|kicks off|will start)"
)
_VERSION = r"v?(?P<v>\d[\w.+-]*)"


@dataclass(frozen=True)
class Row:
    """`source` is a regular expression with the groups `s` (the subject) and `v` (the value).

    `single` says that there is one value at a time, so that a new one takes the place of the old.
    `people` is True where only people (and what has a name) have it, False where they do not.
    """

    attribute: str
    source: str
    single: bool = True
    people: bool | None = None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What a whole statement is matched with, from its start."""
        return re.compile(self.source)

    @cached_property
    def rest(self) -> re.Pattern[str]:
        """What is matched behind the subject, of a row that begins with one."""
        return re.compile(self.source.removeprefix(SUBJECT))

    def openings(self) -> frozenset[Opening] | None:
        """How the words behind the subject and an adverb begin; None where that is not known."""
        behind = self.source.removeprefix(SUBJECT + ADVERB)
        return None if behind == self.source else openings(behind)


def row(
    attribute: str,
    verb: str,
    value: str = VALUE + END,
    single: bool = True,
    people: bool | None = None,
) -> Row:
    """A row for `SUBJECT verb value`; `verb` and `value` are regular expressions."""
    return Row(attribute, f"{SUBJECT}{ADVERB} {verb} {value}", single, people)


class Match(NamedTuple):
    """A row that fits a text. `found` has its groups; it begins behind the subject, but where the
    row begins with something else."""

    row: Row
    subject: str
    found: re.Match[str]


class Table(tuple[Row, ...]):
    """Rows in their order, and an index by the words that they begin with behind a subject.

    Few rows begin with a word of a given text, so that few are matched, and those where it stands.
    """

    def matches(self, text: str, words: Sequence[str]) -> Iterator[Match]:
        """The rows that fit a text and find a subject in it, in order. `words` are the text, split
        at every blank."""
        unindexed, index = self._index
        if not unindexed and index.keys().isdisjoint(words):
            return
        ends = self._ends(text, words)
        for number in sorted({*unindexed, *ends}):
            row = self[number]
            if number not in ends:
                whole = row.pattern.match(text)
                if whole and is_subject(whole["s"]):
                    yield Match(row, whole["s"], whole)
                continue
            for end in ends[number]:
                found = row.rest.match(text, end)
                if found:
                    if is_subject(text[:end]):
                        yield Match(row, text[:end], found)
                    break  # The first place counts, whatever stands there.

    def _ends(self, text: str, words: Sequence[str]) -> dict[int, list[int]]:
        """Where the subject may end, for each row that may begin there."""
        _, index = self._index
        ends: dict[int, list[int]] = {}
        last = _SUBJECT.match(text)
        for number, word in enumerate(words[:-1]):
            seconds = index.get(word)
            if seconds is None or not number or not last:
                continue
            end = len(" ".join(words[:number]))
            places = [end]
            if _is_adverb(words[number - 1]):  # The subject may end before that.
                places.insert(0, end - len(words[number - 1]) - 1)
            places = [place for place in places if 0 < place <= last.end()]
            for row in (*seconds.get(words[number + 1], ()), *seconds.get(None, ())):
                ends.setdefault(row, []).extend(places)
        return ends

    @property
    def words(self) -> frozenset[str]:
        """What the rows may begin with; they must all begin with words."""
        return frozenset(self._index[1])

    @cached_property
    def _index(self) -> tuple[tuple[int, ...], dict[str, dict[str | None, list[int]]]]:
        """The places of the rows that are to be tried on any text; the others by first word and
        second word, None where any may follow."""
        unindexed: list[int] = []
        index: dict[str, dict[str | None, list[int]]] = {}
        for number, row in enumerate(self):
            begins = row.openings()
            if begins is None:
                unindexed.append(number)
            for first, second in begins or ():
                index.setdefault(first, {}).setdefault(second, []).append(number)
        return tuple(unindexed), index


# As in SUBJECT and ADVERB.
_SUBJECT = re.compile(r"[^,;:.!?]{1,60}")
_ADVERBS = frozenset("currently now still also really mostly already just always both".split())


def _is_adverb(word: str) -> bool:
    return word in _ADVERBS or word.endswith("ly")


_CLOCK_VALUE = rf"(?P<v>{CLOCK})"
_DAY_VALUE = rf"(?P<v>{DAY}(?: at {CLOCK})?)"
_DAYS_VALUE = (
    r"(?P<v>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days"
    r"(?: and (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days)?)\b"
)
_AMOUNT = (
    r"(?P<v>[^ ,;:!?]*\d[^ ;:!?]*?(?: (?:million|thousand|dollars|euros|pounds|kg|kilos?|lbs?|usd"
    r"|eur"
    r"|USD|EUR))?(?: (?:an?|per|each|every) \w+)?)(?=$|[ ,;:!?])"
)

DEFAULT = Table(
    (
        row("home", r"(?:lives?|resides?|is living|has lived|is based) (?:in|at|near)"),
        row(
            "room",
            rf"(?:{_MOVED}|{_HELD}|meets?)(?: (?:in|at))?",
            r"[Rr]oom (?P<v>[\w.-]+)",
            people=False,
        ),
        row(
            "room",
            rf"(?:{_MOVED}|{_HELD} in|meets? in)",
            r"the (?P<v>[A-Z][\w-]*) room",
            people=False,
        ),
        row("date", rf"(?:{_MOVED}(?: on)?|{_HELD}(?: (?:on|for|in))?)", _DAY_VALUE, people=False),
        row("time", rf"(?:{_MOVED}|{_HELD} (?:at|for))", _CLOCK_VALUE, people=False),
        row("day", rf"(?:{_MOVED}|{_HELD} on)", _DAYS_VALUE, people=False),
        row(
            "location",
            r"(?:(?:has|have) )?(?:moved|relocated)(?: back)? to(?= (?:the )?(?!Room)[A-Z0-9])",
            people=False,
        ),
        row("home", r"(?:moved|relocated|is moving|has moved)(?: from [\w ]{1,30}?)?(?: back)? to"),
        row("employer", r"(?:works?|is working|has worked|is employed) (?:at|for)"),
        row(
            "employer",
            r"(?:joined|(?:has )?started (?:(?:working )?at|working for))(?= [A-Z])",
        ),
        row("employer", r"(?:started|got|accepted|landed) a (?:new )?job (?:at|with)(?= [A-Z])"),
        row(
            "employer",
            r"(?:has )?started (?:work |working )?as an? [\w -]{2,40}? (?:at|for)(?= [A-Z])",
            people=True,
        ),
        row(
            "employer",
            r"(?:is joining|will join|will be joining)(?= [A-Z][^,;:!?]{1,60} as )",
            people=True,
        ),
        row("occupation", r"(?:was|got|has been) promoted to"),
        row("occupation", r"(?:works?|is working|has worked) as(?: an?)?"),
        row("allergy", r"is (?:\w{3,12}ly |very )?allergic to", single=False),
        row("name", r"(?:is|was) (?:now )?(?:called|named)"),
        row("name", r"goes by"),
        row("birthplace", r"was born (?:and raised )?in(?! \d)"),
        row("birthday", r"was born (?:on|in)(?= \d|\b)"),
        row("origin", r"(?:comes|is originally|is) from"),
        row("spouse", r"(?:is married to|married)"),
        row("partner", r"(?:is dating|is engaged to|got engaged to)", people=True),
        row("diet", r"(?:is|went)(?: an?)?(?: strict)?", r"(?P<v>vegan|vegetarian|pescatarian)\b"),
        row("language", r"speaks?(?: fluent)?", single=False),
        row("instrument", r"plays? the", single=False),
        row(
            "pet",
            rf"{_HAVE} an?(?: \w+){{0,2}}? {_PETS} (?:named|called)",
            _NAME_VALUE,
            single=False,
        ),
        *(
            row(kin, rf"{_HAVE} an?(?: \w+)? {kin} (?:named|called)", _NAME_VALUE, single=False)
            for kin in KIN.split()
        ),
        *(
            row(
                kin,
                r"(?:has|have)(?: got)?(?: only)?",
                rf"(?P<v>one(?: \w+)? {kin}|{_COUNT}(?: \w+)? {kin}{_PLURAL.get(kin, 's')})\b",
                single=False,
            )
            for kin in KIN.split()
        ),
        row("pet", r"(?:has|have|owns?) an?(?: \w+)?", rf"(?P<v>{_PETS})\b", single=False),
        row(
            "pet",
            r"(?:has|have|owns?)(?: got)?(?: only)?",
            rf"(?P<v>(?:one|{_COUNT})(?: \w+)? {_PETS})\b",
            single=False,
        ),
        row("vehicle", r"drives? an?"),
        row("owns", r"owns?(?: only)?(?: an?| the)?", single=False),
        row(
            "project",
            r"(?:works?|(?:is|are) working|(?:has|have) been working) on"
            rf"(?= (?:the )?(?!{_DAY_NAMES})[A-Z])",
            single=False,
        ),
        *(
            row(
                f"{role} of",
                rf"(?:is|are|became) (?:an?|the)(?: \w+)? {role} of(?= (?:(?:the|an?) \w|[A-Z]))",
                single=False,
            )
            for role in _ROLES.split()
        ),
        row("study", r"(?:studies|is studying|majors in|is majoring in)"),
        row("school", r"(?:attends|goes to school at|studies at)"),
        row(
            "age", "(?:is|turned)", r"(?P<v>\d{1,3})(?: years old)?(?=$| now$| today$)", people=True
        ),
        row("height", "is", r"(?P<v>\d[\w. '’]{0,12}) tall\b", people=True),
        row("weight", r"weighs?", _AMOUNT),
        row(
            "weight",
            r"(?:is|went|got|has gone) (?:now )?(?:down|up|back) (?:to|at)",
            r"(?P<v>\d+(?:\.\d+)? ?(?:kg|kilos?|lbs?|pounds))\b",
            people=True,
        ),
        row(
            "plan",
            r"(?:(?:is|are)(?: now)? on|(?:(?:has|have|was|were) )?(?:upgraded|downgraded|switched"
            r"|moved) to)",
            r"(?:the|an?) (?P<v>[\w -]{2,30}? plan)\b",
        ),
        row("wake-up time", r"(?:wakes? up|gets? up) (?:at|around)", _CLOCK_VALUE, people=True),
        row("bedtime", r"goes? to (?:bed|sleep) (?:at|around)", _CLOCK_VALUE, people=True),
        row("commute", r"(?:commutes? by|(?:gets?|goes) to work by)", people=True),
        row("bank", r"banks? with"),
        row("prefers", r"prefers?(?! (?:to|that|not|if|when)\b)", single=False),
        row("manager", r"(?:reports to|(?:is|are) managed by)"),
        row("lead", r"(?:is|are) (?:now )?(?:led|headed|run) by"),
        row("owner", r"(?:is|are) (?:now )?(?:owned|maintained) by"),
        row("owner", r"belongs to", people=False),
        row("assignee", r"(?:is|was|has been) (?:now )?(?:re)?assigned to"),
        row("price", r"(?:costs?|(?:is|are) priced at|sells? for)", _AMOUNT),
        row("due", r"(?:is|are|falls|comes) (?:now |still )?due(?: (?:on|by|in))?", _DAY_VALUE),
        row("due", r"(?:is|are) due (?:at|by)", _CLOCK_VALUE),
        row("expiry", r"(?:expires?|is valid)(?: on| in| until)", rf"(?P<v>{DAY}|\d{{4}})"),
        row("end date", r"ends? (?:on|in)", rf"(?P<v>{DAY})", people=False),
        row("budget", r"(?:has|have) a budget of", _AMOUNT),
        row("version", r"(?:is|are|runs?)(?: now)?(?: on| at)? version", _VERSION),
        row("version", r"(?:was|has been) (?:up|down)graded to(?: version)?", _VERSION),
        row(
            "port", r"(?:listens?|runs?|(?:is|are)(?: running| available)?) on port", r"(?P<v>\d+)"
        ),
        row("host", r"(?:is|are) (?:hosted|deployed) (?:on|at|by|in)"),
        row(
            "deploys from",
            r"(?:deploys?|releases?|ships?|is (?:deployed|released)) (?:straight )?from",
        ),
        row("deploys to", r"deploys? (?:straight )?to"),
        row("written in", r"(?:is|are) (?:written|implemented|coded) in", people=False),
        row("location", r"(?:is|are) (?:located|situated|stored|kept|parked) (?:in|at|on|under)"),
        row("opening time", r"opens at", _CLOCK_VALUE, people=False),
        row("closing time", r"closes at", _CLOCK_VALUE, people=False),
        row("departure time", r"(?:leaves|departs) at", _CLOCK_VALUE, people=False),
        row("arrival time", r"(?:arrives|lands) at", _CLOCK_VALUE, people=False),
        row("end time", r"(?:ends|finishes) at", _CLOCK_VALUE, people=False),
        row(
            "status",
            r"(?:is|are)(?: now| currently| still| already)?",
            r"(?P<v>open|closed|done|blocked|pending|resolved|merged|live|down|deprecated|on hold"
            r"|in (?:progress|review|production|beta)|cancelled|canceled|paused|finished|complete"
            r"|completed|archived|released|approved|rejected|overdue|paid|unpaid|up and running)"
            r"(?: again| now)?$",
            people=False,
        ),
    )
)


def many_valued(rows: Sequence[Row] = DEFAULT) -> frozenset[str]:
    """The attributes of which a subject may have several values at once."""
    return frozenset(row.attribute for row in rows if not row.single)


# --- rows of users

ROWS_MAX = 200
PHRASES_MAX = 50
CHARS_MAX = 200
_FIELDS = {"attribute", "verbs", "patterns", "single"}
_PLACE = re.compile(r"\{(subject|value)\}")


def parse(content: str | bytes, name: str = "attributes") -> Table:
    """The rows of a JSON file: a list of objects, each with `attribute` and `verbs` or `patterns`.

    `verbs` are words between subject and value ("parks in"); `patterns` are whole statements with
    {subject} and {value} ("the code for {subject} is {value}"); `single` (true unless given) says
    that there is one value at a time. `name` is what errors call the file.

    Raises InvalidInput naming the entry, counted from 1, and the field.
    """
    try:
        entries = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} is not JSON: {error}", field=name) from None
    if not isinstance(entries, list):
        raise InvalidInput(f"{name} must be a list of entries", field=name)
    if len(entries) > ROWS_MAX:
        raise InvalidInput(f"{name} has {len(entries)} entries: use at most {ROWS_MAX}", field=name)
    rows: list[Row] = []
    for number, entry in enumerate(entries, 1):
        rows += _rows(entry, f"{name}, entry {number}", name)
    return Table(rows)


def digest(rows: Sequence[Row]) -> str:
    """Eight characters that tell one table from another."""
    whole = "\n".join(f"{row.attribute}\t{row.source}\t{row.single}" for row in rows)
    return hashlib.blake2s(whole.encode(), digest_size=4).hexdigest()


def _rows(entry: Any, where: str, name: str) -> list[Row]:
    if not isinstance(entry, dict):
        raise InvalidInput(f"{where} must be an object with attribute and verbs", field=name)
    unknown = sorted(set(entry) - _FIELDS)
    if unknown:
        raise InvalidInput(
            f"{where}: there is no field {unknown[0][:40]!r}; use {', '.join(sorted(_FIELDS))}",
            field=name,
        )
    attribute = _phrase(entry.get("attribute"), f"{where}: attribute", name)
    single = entry.get("single", True)
    if not isinstance(single, bool):
        raise InvalidInput(f"{where}: single must be true or false", field=name)
    verbs = _phrases(entry, "verbs", where, name)
    patterns = _phrases(entry, "patterns", where, name)
    if not verbs and not patterns:
        raise InvalidInput(f"{where}: give verbs or patterns", field=name)
    patterns = [f"{{subject}} {verb} {{value}}" for verb in verbs] + patterns
    return [Row(attribute, _source(each, where, name), single) for each in patterns]


def _phrases(entry: dict[str, Any], field: str, where: str, name: str) -> list[str]:
    given = entry.get(field, [])
    if not isinstance(given, list) or len(given) > PHRASES_MAX:
        raise InvalidInput(
            f"{where}: {field} must be a list of at most {PHRASES_MAX} texts", field=name
        )
    found = [_phrase(each, f"{where}: {field}", name) for each in given]
    if field == "verbs" and any("{" in each for each in found):
        raise InvalidInput(
            f"{where}: verbs hold no {{subject}} or {{value}}; patterns do", field=name
        )
    return found


def _phrase(given: Any, what: str, name: str) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > CHARS_MAX:
        raise InvalidInput(f"{what} must be text of 1 to {CHARS_MAX} characters", field=name)
    return " ".join(given.split())


def _source(pattern: str, where: str, name: str) -> str:
    parts = _PLACE.split(pattern)
    if sorted(parts[1::2]) != ["subject", "value"]:
        raise InvalidInput(
            f"{where}: the pattern {pattern[:60]!r} must hold {{subject}} and {{value}} once each",
            field=name,
        )
    if "{" in "".join(parts[::2]) or "}" in "".join(parts[::2]):
        raise InvalidInput(
            f"{where}: the pattern {pattern[:60]!r} may hold no braces but those of {{subject}} "
            "and {value}",
            field=name,
        )
    if not parts[2].strip():
        raise InvalidInput(
            f"{where}: the pattern {pattern[:60]!r} must have words between its two places",
            field=name,
        )
    made = [_words(part, first=place == 0) for place, part in enumerate(parts[::2])]
    places = [SUBJECT if part == "subject" else VALUE for part in parts[1::2]]
    last = made[2] or END
    return f"{made[0]}{places[0]}{made[1]}{places[1]}{last}"


def _words(text: str, first: bool) -> str:
    """Fixed words; at the start of a statement in either case, an adverb before the verb."""
    if first and text:
        return f"[{re.escape(text[0].upper() + text[0].lower())}]{re.escape(text[1:])}"
    return f"{ADVERB}{re.escape(text)}" if text.startswith(" ") else re.escape(text)
