"""The subject, attribute and value of a statement, by which two can be compared.

Patterns are matched on the finished text, in which the speaker is named. Most of them are rows of
`attribute_table`; here is what a row cannot say: what is owned (Nina's bike), what a thing is part
of (the API version), what is liked, and what something is used for.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rewound.llm.attribute_table import (
    ADVERB,
    CLOCK,
    DAY,
    DEFAULT,
    END,
    SUBJECT,
    VALUE,
    Match,
    Row,
    Table,
)
from rewound.llm.changes import OTHERWISE, PART, change_of
from rewound.llm.english import is_past
from rewound.llm.listing import is_one_name, whole_value
from rewound.llm.openings import openings
from rewound.llm.people import is_person, names_people, owner_first
from rewound.llm.subjects import is_subject


class Attributes(NamedTuple):
    """All None where no pattern matched."""

    subject: str | None = None
    attribute: str | None = None
    value: str | None = None


_NEGATED = re.compile(
    r"\b(?:not|never|no longer|no|nor|neither|without|cannot|hardly|used to)\b|n['’]t\b", re.I
)
# Parts of these words, for a quick look.
_DENYING = ("no", "n't", "never", "neither", "without", "hardly", "used to")
_FAVOURITE = re.compile(
    rf"^(?P<s>[^,;:.!?]{{1,40}}?)['’]s (?:all-time |absolute )?(?P<a>favou?rite [\w -]{{2,40}}?)"
    rf" (?:is|are)(?: now)? {VALUE}{END}"
)
# Nina's dog's name is Rufus.
_NAME_OF = re.compile(
    rf"^(?P<s>[^,;:.!?'’]{{1,40}})['’]s (?P<a>[\w][\w -]{{1,30}})['’]s name is {VALUE}{END}"
)
_UNFIT_ATTRIBUTE = re.compile(r"\b(?:is|are|was|were|that|who|which|and|has|have|in|on|at|of)\b")


_IS = (
    r"(?:(?:is|are)(?: now| currently| still)?(?: set to| at)?|will be|(?:(?:was|has been|is"
    r"|got) )?"
    r"(?:now )?(?:changed|raised|lowered|reduced|increased|set|extended|moved|renamed|switched"
    r"|updated|went (?:up|down)|rose|fell|dropped)(?: from [^,]{1,30}?)? to|became)"
)
_IS_NEW = rf"{OTHERWISE}(?: now| today| again)?(?::| -| –| —)"
_IS_NOW = (
    r"(?:(?:is|are)(?: now| currently| still)?(?: set to| at)?|falls(?: always)?(?= (?:on|in) )"
    r"|(?:(?:was|has been|is|has|got) )?"
    r"(?:been )?(?:now )?(?:changed|raised|lowered|reduced|increased|extended|updated"
    r"|went (?:up|down)|rose|fell|dropped)(?: from [^,]{1,30}?)? to"
    r"|(?:(?<=office )|(?<=studio )|(?<=shop ))(?:has )?moved to)"
)
_OWNED = re.compile(
    rf"^(?P<s>(?:[Tt]he )?(?:[^,;:.!?'’]{{1,40}}['’]s )?[^,;:.!?'’]{{1,40}}?)['’]s "
    rf"(?P<a>[\w][\w -]{{1,40}}?) (?:{_IS_NEW}|{_IS_NOW}) {VALUE}{END}"
)
_PART_OF = re.compile(
    rf"^[Tt]he (?P<a>(?:[a-z]+ )?{PART}) (?:of|for|on|at) (?P<s>[^,;:.!?]{{1,40}}?)"
    rf" (?:{_IS_NEW}|{_IS}) {VALUE}{END}"
)
_WITH_PART = re.compile(
    rf"^(?:[Tt]he )?(?P<s>[^,;:.!?'’]{{1,40}}?) (?P<a>(?:password hint|{PART}))"
    rf" (?:{_IS_NEW}|{_IS}) {VALUE}{END}"
)
_ALONE = re.compile(rf"^[Tt]he (?P<s>(?:password hint|{PART})) (?:{_IS_NEW}|{_IS}) {VALUE}{END}")
# What is said of a part without being its value: the code is clean.
_NO_VALUE = re.compile(
    r"(?:\w+(?:ing|ly|able|ible)|too|so|very|quite|really|clean|clear|unclear|easy|hard|wrong|right"
    r"|correct|incorrect|long|short|weak|strong|simple|important|high|low|tight|unknown|known|messy"
    r"|not|fair|ok|okay|fine|good|bad|great|better|worse|perfect|nice|cool|huge|small|big|steep"
    r"|crazy|ours?|mine|yours|theirs|the same|different|needed|required|necessary|just|only|more"
    r"|less|what|that|because|why|how|when|where|all|up|off|on track|to|as|like|similar|such|key"
    r"|ridiculous|reasonable|cheap|expensive|worth|part|now|one of|another|available|set|fixed"
    r"|final)\b"
)
_OPINES = (
    rf"{SUBJECT}{ADVERB} (?:(?P<likes>likes?|loves?|enjoys?|adores?|(?:is|am|are)(?: really| very"
    rf"| so)?"
    r" (?:fond of|into|a (?:big |huge )?fan of|keen on))|(?P<dislikes>hates?|dislikes?|detests?"
    r"|loathes?|can['’]?t (?:really )?(?:stand|bear)|cannot (?:stand|bear)|do(?:es)?(?:n['’]t| not)"
    r"(?: really| actually)? (?:like|love|enjoy|care for)|no longer (?:likes?|loves?|enjoys?)"
    r"|(?:is|are)(?:n['’]t| not| no longer) (?:fond of|into|a (?:big )?fan of|keen on)))"
    r" "
)
OPINES = re.compile(_OPINES)
"""What stands before the thing that is liked or not."""

_OPINION = Row(
    "opinion of",
    rf"{_OPINES}(?P<o>[\w' -]{{2,40}}?)(?:,? (?:right now|by now|now|any ?more|any longer|very much"
    r"|a lot"
    r"|so much"
    r"|at all|lately|these days"
    r"|nowadays|recently|too|as well|again))*$",
)
_NO_THING = re.compile(
    r"(?:it|this|that|these|those|him|her|them|to|the way|the (?:idea|thought|fact|feeling)|how"
    r"|when"
    r"|what|being|having|getting|seeing|each|both|all|some|everything|nothing|most|one)\b"
    r"|.*\b(?:and|or|but|is|are|was|were|that|who|which|because|with)\b"
    r"|.*\b(?:ideas?|options?|suggestions?|results?|template|looks?|plans?|thought|part|way)$",
    re.I,
)
_INSTEAD = Row(
    "uses instead of",
    rf"{SUBJECT}{ADVERB} (?:uses?|using|runs?|is using|are using) {VALUE} instead of "
    rf"(?P<old>[^,;:!?]{{1,40}}?){END}",
)
_USED_FOR = Row(
    "used for",
    rf"{SUBJECT}{ADVERB} uses? (?P<v>[^,;:!?]{{1,40}}?) (?:for|as (?:the|its|their|an?)) "
    rf"(?P<a>(?!the (?:first|last)|years|months|weeks|hours|days)[a-zA-Z][^,;:!?]{{1,40}}?){END}",
)
_CHOICE = Row(
    "choice of",
    rf"{SUBJECT}{ADVERB} prefers? (?P<v>[^,;:!?]{{1,30}}?) (?:to|over|rather than|instead of)"
    rf" (?P<a>[^,;:!?]{{1,30}}?){END}",
)
_PREFERRED = Row(
    "preferred for",
    rf"{SUBJECT}{ADVERB} prefers? (?P<v>[^,;:!?]{{1,40}}?) for (?P<a>[a-z][^,;:!?]{{1,40}}?){END}",
)
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b"
)
_ON_VERSION = Row(
    "version",
    rf"{SUBJECT}{ADVERB} (?:(?:is|are)(?: now)? on|runs?(?: on)?|uses?|(?:has |have )?"
    r"(?:was |got )?(?:upgraded|updated|moved|migrated|switched) to) (?P<a>(?!Room|Ticket|Route"
    rf"|Level|Track|Line|Platform|Floor|Day|Week|Page|{_MONTH})[A-Z][A-Za-z+#]{{1,20}}) "
    r"(?P<v>v?\d+(?:\.\d+)*)(?= |$|,)(?! (?:times|people|years))",
)


_LIKED = Table((_OPINION,))
_USED = Table((_INSTEAD, _USED_FOR, _PREFERRED, _CHOICE))
_VERSIONED = Table((_ON_VERSION,))

# What else is denied behind a statement: is Priya, not Dana.
_BESIDES = re.compile(
    r",? (?:and |but )?not (?:(?:to|in|at|on|from|for|with|an?|the) )?[\w' -]{1,30}$"
)


def attributes_of(text: str, own: Sequence[Row] = ()) -> Attributes:
    """Of a finished statement without its full stop; `own` are rows of the user, which go first.

    Nothing for one that denies something, but for what is disliked: that is an opinion as well.
    """
    text = owner_first(text)
    words = text.split(" ")
    for liked in _LIKED.matches(text, words):
        if len(liked.found["o"].split()) <= 4:
            return _opinion(liked)
    if " not " in text:
        text = _BESIDES.sub("", text)
        words = text.split(" ")
    for found in _told(text, words, own):
        if found is not None and found.attribute is not None:
            return Attributes() if _denies(text) else found
    return Attributes()


def _told(text: str, words: Sequence[str], own: Sequence[Row]) -> Iterator[Attributes | None]:
    """What a statement tells by each way of telling, the one that counts most first."""
    if own:
        yield _of_table(text, words, own if isinstance(own, Table) else Table(own))
    if "'s " in text or "’s " in text:
        yield _of_owner(text)
    if not _THING_WORDS.isdisjoint(words) and _MAY_BE_THING.search(text):
        yield _of_thing(text, words)
    yield _of_table(text, words, DEFAULT)


def _denies(text: str) -> bool:
    if text.isascii():
        low = text.lower()
        if not any([each in low for each in _DENYING]):
            return False
    return _NEGATED.search(text) is not None


def _of_owner(text: str) -> Attributes | None:
    """What is somebody's: Nina's bike is orange."""
    favourite = None
    if "favo" in text or "s name is " in text:
        favourite = _FAVOURITE.match(text) or _NAME_OF.match(text)
    if favourite and is_subject(favourite["s"]):
        value = whole_value(text, favourite.start("v"), favourite.end("v"))
        return _made(favourite["s"], favourite["a"], value)
    owned = _OWNED.match(text)
    if owned and is_subject(owned["s"]) and not _UNFIT_ATTRIBUTE.search(owned["a"]):
        return _owned(owned)
    return None


# Quick looks: most statements tell neither.
_PART_WORDS, _IS_WORDS = (
    frozenset(first for first, _ in openings(f" {words} ") or ()) for words in (PART, _IS)
)
# One of these is in whatever `change_of` tells something of.
_CHANGE_WORDS = frozenset(
    "moved rescheduled postponed pushed shifted changed delayed brought set updated raised lowered "
    "cut increased reduced extended switched migrated renamed rebranded new owner lead "
    "manager maintainer captain organiser organizer contact landlord assignee reviewer chair "
    "editor".split()
)
_IS_WORDS |= frozenset("has have had is are was were got changed updated reset replaced".split())
_THING_WORDS = _PART_WORDS | _CHANGE_WORDS | _USED.words | _VERSIONED.words
_MAY_BE_THING = re.compile(
    rf"\b{PART}\b| instead of | uses? | prefers? | [A-Z][A-Za-z+#]+ v?\d| from | to \w*\d"
    rf"| the \w+ of "
)


_WHEN = re.compile(rf"^(?:on|in|at|by) (?={DAY}|{CLOCK})")


def _of_thing(text: str, words: Sequence[str]) -> Attributes | None:
    """What a thing has, and what is used for or instead of it."""
    has_part = not (_PART_WORDS.isdisjoint(words) or _IS_WORDS.isdisjoint(words))
    for pattern in (_ALONE, _PART_OF, _WITH_PART) if has_part else ():
        found = pattern.match(text)
        if found is None or not _is_thing(found["s"]) or _NO_VALUE.match(found["v"]):
            continue
        value = _WHEN.sub("", found["v"])
        if pattern is not _ALONE:
            return _made(found["s"], found["a"], value)
        if value.strip() and not _STATE.match(value) and not is_past(value.split()[0]):
            dated = found["s"] == "deadline" or found["s"].endswith("date")
            return _made(found["s"], "date" if dated else "value", value)
    for used in _USED.matches(text, words):
        told = _use(used)
        if told is not None:
            return told
    change = None if _CHANGE_WORDS.isdisjoint(words) else change_of(text)
    if change and is_subject(change.subject):
        return _made(*change)
    for _, subject, version in _VERSIONED.matches(text, words):
        return _made(subject, f"{version['a']} version", version["v"])
    return None


def _use(used: Match) -> Attributes | None:
    """What something is used for, or instead of what; what is preferred, for or to what."""
    row, subject, found = used
    if row is _INSTEAD:
        return _made(subject, f"{row.attribute} {found['old']}", found["v"])
    if row is _CHOICE:
        pair = sorted((_without_article(found["v"]), found["a"]), key=str.casefold)
        return _made(subject, f"{row.attribute} {pair[0]} or {pair[1]}", found["v"])
    if len(found["a"].split()) > 3:
        return None
    return _made(subject, f"{row.attribute} {_without_article(found['a'])}", found["v"])


def _is_thing(text: str) -> bool:
    return is_subject(text) and not _NO_THINGS.match(text)


_NO_THINGS = re.compile(
    r"(?:this|that|my|an?|another|every|each|some|any)\b|the$|.*(?: (?:an?|the|of|at)|ing)$", re.I
)


# Looks like rain.
_NO_FAN = re.compile(
    r"(?:looks?|sounds?|feels?|seems?|smells?|tastes?|acts?|to|people|just)$", re.I
)


def _opinion(told: Match) -> Attributes:
    row, subject, found = told
    first, joined, second = found["o"].partition(" and ")
    thing = is_one_name(first, second) if joined else not _NO_THING.match(found["o"])
    if not thing or _NO_FAN.search(subject):
        return Attributes()
    liked = "likes" if found["likes"] else "dislikes"
    return _made(subject, f"{row.attribute} {_without_article(found['o'])}", liked)


# What a date can be the value of.
_OF_DAYS = frozenset(
    ("date", "due", "birthday", "age", "name", "deploys from", "expiry", "end date")
)


def _of_table(text: str, words: Sequence[str], rows: Table) -> Attributes | None:
    for row, subject, found in rows.matches(text, words):
        attribute, value = row.attribute, whole_value(text, found.start("v"), found.end("v"))
        if row.people is not None and row.people != is_person(subject):
            continue
        if attribute == "home" and not _settles(subject, text[len(subject) : found.start("v")]):
            continue
        if _DATE.match(value) and attribute not in _OF_DAYS:
            continue
        if attribute == "employer" and not value[:1].isalpha():
            continue
        if attribute in ("birthday", "occupation"):  # The place is another matter.
            value = re.split(r" (?:in|at|for) (?=[A-Z])", value)[0]
        if attribute == "language":
            value = _HOW_WELL.sub("", value)
            value = _WHERE_SPOKEN.sub("", value)
        if attribute in _OF_OWNERS and (owner := _OWNER.fullmatch(subject)):
            return _made(owner["s"], owner["a"], value)  # As in: Nina's exam is on …
        return _made(subject, attribute, value)
    return None


_HOW_WELL = re.compile(
    r"^(?:only|just|(?:a )?(?:little|bit of)|some|fluent|basic|good|decent|native|conversational"
    r"|rusty|broken) (?=[A-Z])"
)
_WHERE_SPOKEN = re.compile(r" (?:\w{3,12}ly|well|at|in|on|to|from)\b.*")
_OF_OWNERS = frozenset(("date", "location"))
_OWNER = re.compile(r"(?P<s>[^,;:]{1,60})['’]s (?P<a>[\w -]{2,40})")
"""As in: Nina's exam, Nina's sister's wedding."""


_DATE = re.compile(
    r"(?:(?:on|in|at|around) )?(?=(?:the (?:week|weekend|summer|winter|spring|autumn|fall) of )?"
    r"(?:(?:19|20)\d\d(?:-\d\d-\d\d|\b)|[A-Z][a-z]+ (?:19|20)\d\d\b))"
)


def _settles(subject: str, verb: str) -> bool:
    """Only people move house; a party that moved has another day or room."""
    return re.search(r"\b(?:mov|relocat)", verb) is None or is_person(subject)


# What passes, or says where or how, is no value: due, late, at home.
_STATE = re.compile(
    r"(?:(?:an? )?(?:different|new|other)(?: one)?(?=$| )|another(?: one)?(?=$| now)|\w+ing|going"
    r"|about|allergic|based|employed|married|from|always|here|there"
    r"|so|very|due|late|early|sick|ill"
    r"|broken|ready|done|over|near|gone|closed|open|fine|good|great|back|full|empty|expected)\b"
)


def _owned(found: re.Match[str]) -> Attributes:
    """Nina's bike is orange; Nina's sister is called Marta: what is owned is the attribute."""
    name = found["a"]
    whole = whole_value(found.string, found.start("v"), found.end("v"))
    value = re.sub(r"^(?:called|named) ", "", whole)
    called = value != whole
    if names_people(name.split()[-1]) and not (called or value[:1].isupper()):
        return Attributes()  # A wife is pregnant, a dog is sick: states, no names.
    if name.endswith("address"):
        value = re.split(
            r"[;!?(]|, (?=[a-z])| (?:and|but|since|because|from|as of) ",
            found.string[found.start("v") :],
        )[0]
    name = _NEW.sub("", name)
    clock = _AT_CLOCK.fullmatch(value)
    if clock:
        return _made(f"{found['s']}'s {name}", "time", clock["v"])
    date = _DATE.match(value)
    value = value[date.end() :] if date else value
    if _STATE.match(value) or (value.startswith("to ") and name.split()[-1] not in _AIMS):
        return Attributes()
    if any(word[0].isupper() and not word.isupper() for word in found["a"].split()):
        return Attributes()  # Nina's wife Anna is no attribute of Nina's.
    part = _PART_FOR.fullmatch(name)
    if part:
        return _made(part["s"], part["a"], value)  # Nina's budget for the trip.
    day = _ON_DAY.match(value)
    return _made(found["s"], name, value[day.end() :] if day else value)


_PART_FOR = re.compile(rf"(?P<a>{PART}) (?:for|of) (?P<s>the .+)")
_AIMS = frozenset("goal goals dream aim plan priority ambition objective intention wish".split())
_AT_CLOCK = re.compile(rf"(?:at|from) (?P<v>{CLOCK})")
_MONTHS = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
# The day is the value, without the word that it is said with: her anniversary is on August 9.
_ON_DAY = re.compile(
    rf"(?:on|in|falls on) (?=(?:early |late |mid-)?{_MONTHS}(?![\w'’]| [A-Z])|{DAY}|\d{{4}}-\d\d"
    rf"|(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)|first|last)(?! floor| street)"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b)"
)
# A new one takes the place of the old.
_NEW = re.compile(r"^(?:new|current|present) (?=[a-z])")


def _made(subject: str, attribute: str, value: str) -> Attributes:
    value = _without_article(_ELSEWHERE.sub("", value.strip())).strip('. "“”')
    subject = _THE.sub("", subject.strip())
    return Attributes(subject, _NAMES.get(attribute, attribute), value) if value else Attributes()


# Where that is, was said elsewhere.
_ELSEWHERE = re.compile(r"(?:^|,? )(?:(?:over|back|right) )?t?here(?: too)?$", re.I)


def _without_article(text: str) -> str:
    first, blank, rest = text.partition(" ")
    return rest if blank and first.lower() in _ARTICLES else text


_ARTICLES = ("the", "a", "an")
_THE = re.compile(r"^(?:the|this) (?!(?:user|author)\b)(?=.)", re.I)
# One name for what has several.
_NAMES = {
    "mobile number": "phone number", "cell number": "phone number",
    "telephone number": "phone number", "e-mail": "email", "email address": "email",
    "e-mail address": "email", "time zone": "timezone", "color": "colour",
}  # fmt: skip
