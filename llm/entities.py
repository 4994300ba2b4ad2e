"""The names and things that a statement speaks of: people, places, products, tickets, services.

A name is a run of capitalised words. A thing is what has a number, a mark of code or quotation, or
a noun that teams name their things by: ticket 412, `larch`, the checkout service.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rewound.llm.english import WORD, Word, plain_form

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


_DESCRIBING = frozenset(
    "big huge great good bad sad happy exciting quick small tiny minor major fun funny terrible "
    "amazing "
    "wonderful awful weird strange fantastic important interesting nice lovely random new old "
    "young "
    "little long short high low hot cold warm special several various other such same own real "
    "true "
    "full free late early final main only extra difficult easy hard tough strong perfect beautiful "
    "favourite favorite best better worst worse recent upcoming previous daily weekly monthly "
    "yearly black white red blue green yellow brown grey gray".split()
)
"""Words that open a sentence before a noun without being its name: big news, new shoes."""

_SHORT = frozenset("pin id ok tv pm am eta faq diy asap fyi btw".split())
_UNNAMED = _NOT_NAMES | _SHORT
_NUMBERED = (
    r"tickets?|issues?|prs?|pull request|bug|case|invoice|order|flight|rooms?|gate|build|release"
    r"|story|epic|task|document|floor|unit"
)
_HEADS = (
    r"service|repo|repository|app|api|project|server|database|cluster|channel|queue|pipeline"
    r"|branch|website|dashboard|library|package|plugin|bot|backend|frontend|newsletter|product"
)
_THING = re.compile(
    rf"\b(?P<numbered>(?:{_NUMBERED}) (?:no\. ?|#)?(?=[\w-]*\d)[\w-]{{1,20}})"
    r"|[\"“](?P<quoted>[^\"“”]{2,40})[\"”]"
    r"|(?<![\w/.:@-])(?P<path>[a-z][\w.-]{1,40}/[a-z][\w./-]{1,60})(?![\w/])"
    rf"|\b(?:[Tt]he|[Aa]n?|['’]s) (?P<headed>(?:(?!new |old |same |whole "
    rf"|own )[a-z][a-z-]+ ){{1,2}}"
    rf"(?:{_HEADS}))\b",
    re.I,
)
# In a text of lower case and plain letters a thing with a head, or a number, has one of these.
_HEADED = re.compile(f" (?:{_HEADS})")
_DIGIT = re.compile(r"\d")
_COUNTED = re.compile("|".join(rf"{noun} (?:no\. ?|#)?[\w-]*\d" for noun in _NUMBERED.split("|")))
_PATHS_NOT = frozenset("and/or his/her her/his he/she she/he s/he w/o either/or yes/no".split())


class _Named(NamedTuple):
    """Where an entity stands, and what it is called."""

    start: int
    end: int
    name: str


def entities_of(text: str, first_is_name: bool) -> tuple[str, ...]:
    """Names and things in order, each once; neighbouring capitalised words are one name. A first
    word counts when it is known to be a name, or when it stands capitalised elsewhere."""
    things = list(_things(text)) if _may_hold_thing(text) else []
    found = _names(text, first_is_name, things)
    if things:
        found = sorted(things + found)
    return tuple(dict.fromkeys([each.name for each in found]))[:_MOST]


_MOST = 12


def describes(words: list[Word]) -> bool:
    """Whether the first word only describes the next: Big changes, but Big Ben."""
    plain = words[0].low in _DESCRIBING
    return plain and len(words) > 1 and not words[1].text[0].isupper()


def _may_hold_thing(text: str) -> bool:
    """A quick look: most texts hold none."""
    if not text.isascii() or '"' in text or "/" in text:
        return True
    low = text.lower()
    if _HEADED.search(low):
        return True
    return _DIGIT.search(low) is not None and _COUNTED.search(low) is not None


def _things(text: str) -> Iterator[_Named]:
    for found in _THING.finditer(text):
        group = found.lastgroup or ""
        name = found[group]
        if group == "quoted" and len(name.split()) > 4:
            continue
        if group == "path" and name.lower() in _PATHS_NOT:
            continue
        yield _Named(found.start(group), found.end(group), name)


def _names(text: str, first_is_name: bool, things: list[_Named]) -> list[_Named]:
    runs: list[tuple[int, int, str]] = []  # Words that belong together: both ends, the last one.
    words = _CAPITALISED if text.isascii() else WORD
    for found in words.finditer(text):
        word = found[0]
        if not word[0].isupper() or _bare(word) in _UNNAMED:
            continue
        start, end = found.span()
        if not (
            first_is_name or runs or _is_inside(text, start) or word in WORD.findall(text, end)
        ):
            continue
        if any(thing.start <= start < thing.end for thing in things):
            continue
        if runs and text[runs[-1][1] : start] in _WITHIN and not _owns(runs[-1][2]):
            start = runs.pop()[0]
        runs.append((start, end, word))
    named = [_Named(start, end, _without_s(text[start:end])) for start, end, _ in runs]
    return [each for each in named if len(each.name) > 1]


# Those words of WORD that begin with a capital, in a text of plain letters.
_CAPITALISED = re.compile(r"[A-Z](?<![^\W_].)(?<![^\W_]['-].)[^\W_]*(?:['-][^\W_]+)*")


def _is_inside(text: str, start: int) -> bool:
    """Whether there are words in front."""
    return WORD.search(text, 0, start) is not None


def _without_s(name: str) -> str:
    return name[:-2] if name.endswith(_OWNERS) else name


def _bare(word: str) -> str:
    return plain_form(word).removesuffix("'s")


def _owns(word: str) -> bool:
    """Another name begins behind it: Nina's Rose."""
    return word.lower().endswith(_OWNERS)


# The Name of the Rose.
_WITHIN = frozenset((" ", "-", " of ", " of the "))
_OWNERS = ("'s", "’s")
