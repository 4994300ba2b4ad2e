"""How a statement is worded once its words are known: without marks, names not said twice.

Markdown's marks of emphasis and code go in pairs, and so does half a pair that a cut left behind.
"""

import re

from rewound.llm.english import Word, is_finite, is_past, verb_at
from rewound.llm.people import names_people
from rewound.llm.speakers import Edit

_PAIR = re.compile(
    r"(?P<code>`{1,3})(?P<coded>[^`\n]+)(?P=code)"
    r"|(?P<strong>\*{2,3}|(?<!\w)__)(?=[^\s*])(?P<bold>[^\n]+?)(?<=\S)(?P=strong)(?!\w)"
    r"|(?<![\w*])\*(?=[^\s*])(?P<star>[^*\n]+?)(?<=\S)\*(?![\w*])"
    r"|(?<!\w)_(?=[^\s_])(?P<line>[^_\n]+?)(?<=\S)_(?!\w)"
)
_HALF = re.compile(r"(?<!\S)(?:\*{1,3}(?=\w)|`{1,3}(?=\S))|(?<=\S)(?:\*{2,3}|`{1,3})|^[*`]+|[*`]+$")


def unmarked(text: str, start: int = 0, end: int | None = None) -> list[Edit]:
    """The edits that take the marks off text[start:end]. What is code keeps the marks inside."""
    if "*" not in text and "`" not in text and "_" not in text:
        return []
    end = len(text) if end is None else end
    edits: list[Edit] = []
    done = start
    for found in _PAIR.finditer(text, start, end):
        edits += _halves(text, done, found.start())
        done = found.end()
        inner = next(name for name in ("coded", "bold", "star", "line") if found[name])
        edits.append(Edit(found.start(), found.start(inner), ""))
        if inner != "coded":
            edits += unmarked(text, found.start(inner), found.end(inner))
        edits.append(Edit(found.end(inner), found.end(), ""))
    return edits + _halves(text, done, end)


def _halves(text: str, start: int, end: int) -> list[Edit]:
    return [Edit(one.start(), one.end(), "") for one in _HALF.finditer(text, start, end)]


def half_at_start(text: str) -> int:
    """Characters of half a pair that a text begins with."""
    found = re.match(r"(?:\*{1,3}|`{1,3}|_{1,2})(?=\w)", text)
    if found is None or any(pair.start() == 0 for pair in _PAIR.finditer(text)):
        return 0
    return found.end()


def owned_by_subject(words: list[Word], elided: bool) -> set[int]:
    """Places of each `my` whose owner is the subject of the same clause: I sold my van.

    Where someone else is named in between, `their` could be theirs, so those are left out.
    """
    places: set[int] = set()
    own = elided
    for place, word in enumerate(words):
        low = word.low
        if low in _FIRST:
            own = not (place and words[place - 1].low == "and")
        elif low == "my":
            ahead = words[place + 1 : place + 4]
            if own and not any(is_finite(other.low) for other in ahead):
                places.add(place)
        elif low in _OTHERS or names_people(low):
            own = False
        elif place and word.text[0].isupper() and not _is_place(words, place):
            own = False
        elif is_past(low) and place and words[place - 1].low in ("and", "who", "that"):
            own = own and words[place - 1].low == "and"
    return places


def _is_place(words: list[Word], place: int) -> bool:
    """In Rome, moved to Rome: no person that `their` could stand for."""
    before = words[place - 1].low
    if before == "to":
        return bool(_GOING & {word.low for word in words[:place]})
    return before in ("in", "at", "near", "from", "on", "since", "last", "next", "until", "through")


_GOING = frozenset(
    "move moved moving go went gone going fly flew flying travel travelled traveled drove drive "
    "came come return returned relocated".split()
)
_FIRST = frozenset("i i'm i've i'll i'd".split())
_OTHERS = frozenset(
    "he she they we you him her them us who whom whose that which because when while if where "
    "everyone someone nobody anyone".split()
)

_SHORT_IS = re.compile(
    r"(?P<who>(?:(?:my|our|the) )?(?:[\w'’-]+ ){0,3}?[^\W_][\w-]*)['’]s (?P<rest>(?:an?|the|not"
    r"|on|in|at"
    r"|from|called|named|allergic|engaged|married|single|vegan|vegetarian|pregnant|expecting"
    r"|\w+ing|\d)"
    r"(?![\w'’]).*)",
    re.I | re.S,
)


def in_full(text: str, words: list[Word]) -> str:
    """`Omar's a widower` as `Omar is a widower`; any clause that has a verb besides as it is."""
    found = _SHORT_IS.fullmatch(text) if "'s " in text or "’s " in text else None
    if found is None or verb_at(words) >= 0:
        return text
    return f"{found['who']} is {found['rest']}"


_SELF = re.compile(
    r"(?:,? and |, )(?P<rest>(?:an?|the|\d+|from|born|based|living|working)\b.*)"
    r"|(?P<full>(?: [A-Z][\w'’-]+)+)(?P<after>, .+)?| (?P<origin>from .+)"
)


def introduced(shown: str, name: str) -> str | None:
    """`Nina is Nina, a nurse` as `Nina is a nurse`; None when nothing more is said of her."""
    for opening in (f"{name} is {name}", f"{name}'s name is {name}"):
        if not shown.startswith(opening) or shown[len(opening) : len(opening) + 1].isalnum():
            continue
        found = _SELF.fullmatch(shown, len(opening))
        if found is None:
            return None
        if found["full"]:
            return f"{name}'s full name is {name}{found['full']}"
        return f"{name} is {found['rest'] or found['origin']}"
    return shown


_CALL = re.compile(
    r"(?:from now on,? )?(?:(?:please|just|you can|you may|feel free to|everyone|everybody|people"
    r"|most people|friends|my friends|they) )*(?:calls? me|i go by) "
    r"(?P<name>(?-i:[A-Z][a-z][\w'’-]*|[A-Z]{2})(?: (?-i:[A-Z])[\w'’-]+)?)"
    r"(?:,? (?:from (?:now|today|here) on|instead|please|now|going forward|in (?:the )?future))*",
    re.I,
)
_NO_NAMES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday later tomorrow today tonight back "
    "again asap maybe once when crazy before after".split()
)


def called(text: str) -> str | None:
    """The name a speaker asks to be called by: `Call me Ellie`."""
    found = _CALL.fullmatch(text)
    if found is None or found["name"].split()[0].lower() in _NO_NAMES:
        return None
    return found["name"]
