"""What a statement is about: its kind, the names in it and, where a clear pattern matches, the
subject, attribute and value that two statements can be compared by.

Patterns are matched on the finished text, in which the speaker is named.
"""

import re
from typing import NamedTuple

from rewound.eventlog.events import FactKind
from rewound.llm.english import (
    BE,
    HAVE,
    PAST_AUXILIARIES,
    Word,
    is_past,
    is_surely_finite,
    words_of,
)
from rewound.llm.people import is_person, names_people


class Attributes(NamedTuple):
    """All None where no pattern matched."""

    subject: str | None = None
    attribute: str | None = None
    value: str | None = None


_NEGATED = re.compile(
    r"\b(?:not|never|no longer|no|nor|neither|without|cannot|hardly|used to)\b|n['’]t\b", re.I
)
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
_SUBJECT = r"(?P<s>[^,;:.!?]{1,60}?)"
_V = r"(?P<v>(?:[^,;:!?]|(?<=\d)[,:](?=\d)){1,80}?)"
# A value ends where another thought begins.
_END = (
    r"(?=$|[,;:!?(](?!\d)| (?:and|but|because|since|so|with|which|who|where|when|as|for|now|on \d+"
    r"|in the week"
    r"|these days|at the (?:moment|weekend)|at (?:weekends|present|night)|again|today|tonight"
    r"|yesterday|tomorrow|nowadays|currently|lately|recently|temporarily|sometimes|before|after"
    r"|during"
    r"|(?:this|last|next|every|each|most|some) (?:day|week|weekend|month|year|morning|afternoon"
    r"|evening|night|spring|summer|autumn|fall|winter|time|[A-Z][a-z]+day)s?"
    r"|in the (?:mornings?|afternoons?|evenings?|spring|summers?|autumn|fall|winters?|past|future)"
    r"|in (?:spring|summer|autumn|winter)|on (?:weekends|weekdays|[A-Z][a-z]+days?)"
    r"|around \w+ ?\d+|until|from \d+|in (?:early |late |mid-)?(?:\d{4}|[A-Z][a-z]+ \d{4}))\b)"
)
_ADVERB = r"(?: (?:currently|now|still|also|really|mostly|already|just|always|both|\w{3,12}ly))?"
_PETS = r"(?:dog|cat|puppy|kitten|parrot|rabbit|hamster|horse|snake|turtle)s?"
_TABLE: list[tuple[str, re.Pattern[str]]] = [
    (attribute, re.compile(rf"{_SUBJECT}{_ADVERB} {verb} {_V}{_END}"))
    for attribute, verb in (
        ("home", r"(?:lives?|resides?|is living|has lived|is based) (?:in|at|near)"),
        ("home", r"(?:moved|relocated|is moving|has moved)(?: from [\w ]{1,30}?)?(?: back)? to"),
        ("employer", r"(?:works?|is working|has worked|is employed) (?:at|for)"),
        ("employer", r"(?:joined|started (?:working )?at|started a (?:new )?job at)"),
        ("occupation", r"(?:works?|is working|has worked) as(?: an?)?"),
        ("allergy", r"is (?:\w{3,12}ly |very )?allergic to"),
        ("name", r"(?:is|was) (?:called|named)"),
        ("name", r"goes by"),
        ("birthplace", r"was born (?:and raised )?in(?! \d)"),
        ("birthday", r"was born (?:on|in)(?= \d|\b)"),
        ("origin", r"(?:comes|is originally|is) from"),
        ("spouse", r"(?:is married to|married)"),
        ("diet", r"is (?:an? )?(?:strict )?(?=(?:vegan|vegetarian|pescatarian)\b)"),
        ("language", r"speaks?(?: fluent)?"),
        ("instrument", r"plays? the"),
        ("pet", rf"(?:has|owns?) (?:an? |two |three |one )(?:\w+ )?(?={_PETS}\b)"),
        ("vehicle", r"drives? an?"),
        ("owns", r"owns?(?: an?| the)?"),
        ("study", r"(?:studies|is studying|majors in|is majoring in)"),
        ("school", r"(?:attends|goes to school at|studies at)"),
    )
]  # fmt: skip
_FAVOURITE = re.compile(
    rf"^(?P<s>[^,;:.!?]{{1,40}}?)['’]s (?:all-time |absolute )?(?P<a>favou?rite [\w -]{{2,40}}?)"
    rf" (?:is|are) {_V}{_END}"
)
_OWNED = re.compile(
    rf"^(?P<s>(?:[Tt]he )?[^,;:.!?'’]{{1,40}}?)['’]s (?P<a>[\w][\w -]{{1,40}}?) (?:is"
    rf"|are) {_V}{_END}"
)
# Nina's dog's name is Rufus.
_NAME_OF = re.compile(
    rf"^(?P<s>[^,;:.!?'’]{{1,40}})['’]s (?P<a>[\w][\w -]{{1,30}})['’]s name is {_V}{_END}"
)
_UNFIT_ATTRIBUTE = re.compile(r"\b(?:is|are|was|were|that|who|which|and|has|have|in|on|at|of)\b")
_KEYS = re.compile(r"^(?:the |a |an )", re.I)


def attributes_of(text: str) -> Attributes:
    """Of a finished statement without its full stop. Nothing for one that denies something."""
    if _NEGATED.search(text):
        return Attributes()
    favourite = _FAVOURITE.match(text)
    if favourite and _is_subject(favourite["s"]):
        return _made(favourite["s"], favourite["a"], favourite["v"])
    pet = _NAME_OF.match(text)
    if pet and _is_subject(pet["s"]):
        return _made(pet["s"], pet["a"], pet["v"])
    owned = _OWNED.match(text)
    if owned and _is_subject(owned["s"]) and not _UNFIT_ATTRIBUTE.search(owned["a"]):
        return _owned(owned)
    for attribute, pattern in _TABLE:
        found = pattern.match(text)
        if found and _is_subject(found["s"]):
            value = found["v"]
            if attribute == "home" and (_DATE.match(value) or not _settles(found)):
                continue
            if attribute in ("birthday", "occupation"):  # The place is another matter.
                value = re.split(r" (?:in|at|for) (?=[A-Z])", value)[0]
            return _made(found["s"], attribute, value)
    return Attributes()


_DATE = re.compile(
    r"(?:(?:on|in|at|around) )?(?=(?:the (?:week|weekend|summer|winter|spring|autumn|fall) of )?"
    r"(?:(?:19|20)\d\d(?:-\d\d-\d\d|\b)|[A-Z][a-z]+ (?:19|20)\d\d\b))"
)


def _settles(found: re.Match[str]) -> bool:
    """Only people move house; a party that moved has another day or room."""
    moved = re.search(r"\b(?:mov|relocat)", found[0][len(found["s"]) : found.start("v")])
    return moved is None or is_person(found["s"])


_NOT_SUBJECTS = frozenset(
    "on in at since when while after before as by during for although though because every from "
    "until "
    "with without once whenever what who which there "
    "nobody none neither nothing few fewer hardly no-one noone nowhere assuming supposing".split()
)


def _is_subject(text: str) -> bool:
    words = words_of(text)
    if not words or words[0].low in _NOT_SUBJECTS:
        return False
    if re.match(r"no one\b", text, re.I):
        return False
    return len(words) <= 5 and not any(_holds_verb(words, place) for place in range(len(words)))


def _holds_verb(words: list[Word], place: int) -> bool:
    """`Nina knows Tom`: a subject with a verb is a clause. A name, Mark Will, may look alike."""
    word = words[place]
    if word.text[0].isupper():
        return False
    return is_surely_finite(word.low) or (place > 0 and is_past(word.low))


# What passes, or says where or how, is no value: due, late, at home.
_STATE = re.compile(
    r"(?:\w+ing|going|about|allergic|married|from|always|here|there|so|very|due|late|early|sick|ill"
    r"|broken|ready|done|over|near|gone|closed|open|fine|good|great|back|full|empty|expected)\b"
)


def _owned(found: re.Match[str]) -> Attributes:
    """Nina's bike is orange; Nina's sister is called Marta: what is owned is the attribute."""
    name = found["a"]
    value = re.sub(r"^(?:called|named) ", "", found["v"])
    called = value != found["v"]
    if names_people(name.split()[-1]) and not (called or value[:1].isupper()):
        return Attributes()  # A wife is pregnant, a dog is sick: states, no names.
    if name.endswith("address"):
        value = re.split(
            r"[;!?(]|, (?=[a-z])| (?:and|but|since|because|from|as of) ",
            found.string[found.start("v") :],
        )[0]
    name = _NEW.sub("", name)
    date = _DATE.match(value)
    value = value[date.end() :] if date else value
    if _STATE.match(value):
        return Attributes()
    if any(word[0].isupper() and not word.isupper() for word in found["a"].split()):
        return Attributes()  # Nina's wife Anna is no attribute of Nina's.
    if name == "birthday":
        value = re.sub(r"^(?:on|in) ", "", value)
    return _made(found["s"], name, value)


# What one has one of: a new one takes the place of the old.
_NEW = re.compile(
    r"^(?:new|current|present) (?=(?:[\w-]+ )?(?:address|number|e-?mail|password|pin|surname|name"
    r"|title|boss|manager|job|office)$)"
)


def _made(subject: str, attribute: str, value: str) -> Attributes:
    value = _KEYS.sub("", value.strip()).strip('. "“”')
    return Attributes(subject.strip(), attribute, value) if value else Attributes()


def kind_of(text: str, words: list[Word], verb: int, own: bool, dated: bool) -> FactKind:
    """`own` says that the speaker is the subject, `dated` that a time was named. `words` are the
    words of the clause as it was said, the one at `verb` its first finite verb."""
    if _PREFERENCE.search(text) and not _PREFERENCE_NOT.search(text):
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


_NOT_NAMES = frozenset(
    "i i'm i've i'll i'd the a an my our we he she it they you this that these those yesterday "
    "today "
    "tomorrow monday tuesday wednesday thursday friday saturday sunday january february march "
    "april "
    "may june july august september october november december mr mrs ms dr prof in on at since "
    "when "
    "while after before if to for and but so every each some all both no not last next also just "
    "although though what who why how because whenever wherever even despite let do don't nobody "
    "everyone everybody someone "
    "anyone people "
    "there here his her their its your as with by from of or user once during until most "
    "many".split()
)


def entities_of(text: str, first_is_name: bool) -> tuple[str, ...]:
    """Capitalised names in order, each once; neighbours are one name. A first word counts when it
    is known to be a name, or when it stands capitalised elsewhere."""
    names: list[str] = []
    run: list[Word] = []
    words = words_of(text)
    elsewhere = {word.text for word in words[1:]}
    for place, word in enumerate(words):
        bare = word.low.removesuffix("'s")
        capital = word.text[0].isupper() and bare not in _NOT_NAMES
        if place == 0 and not (first_is_name or word.text in elsewhere):
            capital = False
        apart = run and text[run[-1].end : word.start] not in _WITHIN
        if run and bare in ("of", "the") and not apart and _goes_on(words, place):
            continue
        if run and (not capital or apart or run[-1].low.endswith("'s")):
            _close(names, run, text)
            run = []
        if capital:
            run.append(word)
    _close(names, run, text)
    return tuple(names)


_WITHIN = (" ", "-", " of ", " of the ")


def _goes_on(words: list[Word], place: int) -> bool:
    """The Name of the Rose: small words inside a name."""
    ahead = [word for word in words[place : place + 3] if word.low not in ("of", "the")]
    starts = words[place].low == "of" or words[place - 1].low == "of"
    return starts and bool(ahead) and ahead[0].text[0].isupper()


_MOST_NAMES = 12


def _close(names: list[str], run: list[Word], text: str) -> None:
    if not run or len(names) >= _MOST_NAMES:
        return
    name = re.sub(r"['’]s$", "", text[run[0].start : run[-1].end])
    if len(name) > 1 and name not in names:
        names.append(name)
