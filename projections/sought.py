"""Of whom a question asks what: where does Carla live, when is Tom's birthday.

A fact that states just that, of just that subject, answers it whatever other words it has, and
before what is said of her mother. English questions only; of any other nothing is told.
"""

import re
from typing import Final

import numpy as np

from rewound.projections import entries
from rewound.projections.postings import Ordinals
from rewound.projections.reader import ContainerView

_CHARS: Final = 300
_NAME = r"[\w-]+"
_WHO = rf"(?P<who>(?:(?:my|our|the) )?(?:{_NAME}['’]s )*{_NAME}(?: [A-Z][\w-]*)?)"
_NOW = r"(?: (?:now|currently|today|these days|at the moment|right now))*"
_DOES = rf"(?:do|does|is|are)(?: you know where)? {_WHO}(?: (?:now|currently|actually))?"
_LIVES = r"(?:live|living|reside|residing|based)(?: in| at)?"
_WORKS = r"(?:work|working|employed)(?: for| at| in)?"
_TOWN = r"(?:city|town|country|place|street|address)"
_HOME = ("home", "address")
# How a question is asked, and the attributes that it asks for.
_ASKED: Final = (
    (rf"where {_DOES} {_LIVES}", _HOME),
    (rf"(?:in |at )?(?:what|which) {_TOWN} {_DOES} {_LIVES}", _HOME),
    (rf"where {_DOES} {_WORKS}", ("employer",)),
    (rf"(?:for )?(?:who|whom|which company|what company) {_DOES} {_WORKS}", ("employer",)),
    (rf"what {_DOES} do(?: for (?:a living|work))?", ("employer", "occupation")),
    (rf"when (?:was|is) {_WHO} born", ("birthday",)),
    (rf"where (?:was|is) {_WHO} (?:born|from)", ("birthplace", "origin")),
    (rf"how old is {_WHO}", ("age", "birthday")),
    (rf"whom? (?:is|did|has) {_WHO} (?:married to|married|marry)", ("spouse", "husband", "wife")),
    (rf"what (?:(?:kind of )?car )?{_DOES} drive", ("vehicle", "car")),
    (rf"what(?: is|['’]s) {_WHO} (?:called|named)", ("name",)),
)
_QUESTIONS: Final = tuple(
    (re.compile(rf"{asks}{_NOW}", re.I), attributes) for asks, attributes in _ASKED
)
_IS = (
    r"(?:(?:what|when|who|where|which)(?:['’]s| is| are| was)"
    r"|(?:do you know|tell me|remind me(?: of)?|what (?:day|date|time) is)) "
)
# Tom's wife's birthday: the birthday of Tom's wife.
_WHAT = rf"(?P<what>{_NAME}(?: {_NAME}){{0,2}}?)"
_OWNED = re.compile(
    rf"(?:{_IS})?(?P<who>(?!(?:what|who|when|where|which|how|that|it|here)['’])"
    rf"(?:(?:my|our|the) )?{_NAME}(?:['’]s {_NAME})*?)['’]s {_WHAT}{_NOW}",
    re.I,
)
_MINE = re.compile(rf"(?:{_IS})?(?:my|our) {_WHAT}{_NOW}", re.I)
_OF = re.compile(
    rf"(?:{_IS})?the {_WHAT} of (?P<who>(?:the )?{_NAME}(?:['’]s {_NAME})*){_NOW}", re.I
)
_PART = re.compile(
    rf"(?:{_IS})?(?:the|our) (?P<who>{_NAME}(?: {_NAME}){{0,2}}?) (?P<what>{_NAME}(?: {_NAME})?)"
    rf"{_NOW}",
    re.I,
)
# What facts call what several words ask for.
_CALLED: Final = {
    "email address": "email", "e-mail": "email", "mail": "email", "phone": "phone number",
    "number": "phone number", "mobile number": "phone number", "home address": "address",
    "job": "occupation", "boss": "manager", "partner": "spouse", "house": "home",
    "color": "colour",
}  # fmt: skip


def pairs(query: str) -> list[tuple[str, str]]:
    """Each subject with each attribute that a fact which answers may have; none where a question
    asks in no such way. Whoever asks of himself is the user, as facts without a name call him."""
    said = " ".join(query[:_CHARS].split()).rstrip("?!. ").strip()
    for pattern, attributes in _QUESTIONS:
        found = pattern.fullmatch(said)
        if found:
            return [pair for name in attributes for pair in _pairs(found["who"], name)]
    mine = _MINE.fullmatch(said)
    if mine:
        return _pairs("I", mine["what"])
    for pattern in (_OWNED, _OF):
        found = pattern.fullmatch(said)
        if found:
            return _pairs(found["who"], found["what"])
    found = _PART.fullmatch(said)
    if found is None:
        return []
    words = f"{found['who']} {found['what']}".split()
    splits = ((" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words)))
    return [pair for who, what in splits for pair in _pairs(who, what)]


def _pairs(who: str, what: str) -> list[tuple[str, str]]:
    low = what.lower()
    first, _, rest = who.partition(" ")
    if first.lower() in ("i", "we"):
        who = "the user"
    elif first.lower() in ("my", "our"):
        who = f"the user's {rest}"
    told = [(who, name) for name in dict.fromkeys((low, _CALLED.get(low, low)))]
    owner, owns, thing = who.rpartition("'s ")
    if low == "name" and owns:
        told.append((owner, thing))  # Carla's dog is called Bolt: Bolt is what dog Carla has.
    return told


def sought(view: ContainerView, query: str) -> Ordinals:
    """The entries of facts that state what a query asks, of whom it asks that."""
    secret = view.log.key(view.id)
    told = [
        view.postings(entries.ABOUT, entries.about_term(secret, subject, attribute))[0]
        for subject, attribute in pairs(query)
    ]
    return np.unique(np.concatenate(told)) if told else np.zeros(0, np.uint32)
