"""The decomposer without a model: plain conjunctions of English questions, and nothing else.

`Where does Nina live and who is her boss?` is two questions, and `which came first, the move or the
wedding?` asks about two things. Whatever is not clearly so is left as one question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewound.llm.decomposing import PART_CHARS_MAX, PARTS_MAX, Decomposed
from rewound.llm.english import AUXILIARIES
from rewound.llm.people import names_people

_ASKS = "who|whom|whose|what|where|when|which|why|how"
_ASKING = frozenset(_ASKS.split("|"))
_AND = re.compile(rf",?\s+and\s+(?:also\s+)?(?=(?:{_ASKS})\s)", re.I)
_END = re.compile(r"[\s?!.]+$")
_QUOTES = re.compile(r"[\"“”„«»「」]")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")

_NOUNS_BEFORE = {"who": 0, "whom": 0, "where": 0, "when": 0, "why": 0, "how": 2}
"""Words that may stand between what asks and its verb: how many dogs does …; 1 after the others."""

_NO_NOUNS = frozenset(
    "i you he she it we they this that these those there the a an my your his her its our their "
    "to about if whether and or not".split()
)
_HE_OR_SHE = frozenset("he she him her his hers".split())
_OTHERS = frozenset("it its they them their theirs this that these those there then".split())
"""What may stand for anything that was said before: then the question is left as it is."""

_WHOSE = re.compile(r"['’](?:s\b|\s)")
_NO_NAMES = frozenset(
    "i i'm i've i'd i'll january february march april may june july august september october "
    "november december monday tuesday wednesday thursday friday saturday sunday christmas "
    "easter".split()
)
_AFTER_OBJECT = frozenset(
    "in on at to for from with by about before after since until when while and or as into of "
    "over under last this next every during like first again back".split()
)
"""A `her` before one of these is whom, not whose."""

_FIRST = r"(?:come|came|comes|happen|happened|happens|began|begin|was|is|started)\s+"
_ORDER = r"(?:first|earlier|later|last|before)"
_WHICH_FIRST = re.compile(
    rf"^(?:which|what)\s+(?:one\s+|event\s+)?{_FIRST}{_ORDER}\s*[,:–-]\s*(.+?),?\s+or\s+(.+)$", re.I
)
_FIRST_WHICH = re.compile(
    rf"^(.+?),?\s+or\s+(.+?)\s*[,:–-]\s*(?:which|what)\s+(?:one\s+|event\s+)?{_FIRST}{_ORDER}$",
    re.I,
)
_COMPARED_WORDS_MAX = 8


class RulesDecomposer:
    """Takes apart by the words alone. Safe for any number of threads."""

    name = "rules/1"

    def decomposed(self, query: str, timeout_s: float | None = None) -> Decomposed:
        del timeout_s
        question = _END.sub("", " ".join(query.split()))
        if _QUOTES.search(question):
            return Decomposed(())
        parts = _compared(question) or _joined(question)
        return Decomposed(parts if all(len(part) <= PART_CHARS_MAX for part in parts) else ())

    def close(self) -> None:
        pass


def _compared(question: str) -> tuple[str, ...]:
    """The two things of which it is asked what came first."""
    found = _WHICH_FIRST.match(question) or _FIRST_WHICH.match(question)
    if found is None:
        return ()
    both = (found[1].strip(), found[2].strip())
    for each in both:
        low = [word.lower() for word in _WORD.findall(each)]
        if not 0 < len(low) <= _COMPARED_WORDS_MAX or not {"or", "and"}.isdisjoint(low):
            return ()
    return both


def _joined(question: str) -> tuple[str, ...]:
    """The questions that are joined by `and`."""
    parts = _AND.split(question)
    if not 1 < len(parts) <= PARTS_MAX or not all(map(_asks, parts)):
        return ()
    names = _names(parts[0])
    told = [parts[0]]
    for part in parts[1:]:
        low = {word.lower() for word in _WORD.findall(part)}
        if not low.isdisjoint(_OTHERS):
            return ()
        if not low.isdisjoint(_HE_OR_SHE):
            if len(names) != 1 or _names(part) or _others(parts[0]):
                return ()
            part = _with_name(part, names[0])
        told.append(part)
    return tuple(f"{part[:1].upper()}{part[1:]}?" for part in told)


def _asks(part: str) -> bool:
    """Whether it is a question of its own: what asks, and its verb right behind."""
    low = [word.lower() for word in _WORD.findall(part)]
    if len(low) < 3 or low[0] not in _ASKING:
        return False
    for place, word in enumerate(low[1 : _NOUNS_BEFORE.get(low[0], 1) + 2], 1):
        if word in AUXILIARIES:
            return place < len(low) - 1
        if word in _NO_NOUNS or _WORD.findall(part)[place][0].isupper():
            return False
    return False


def _names(part: str) -> list[str]:
    """Names in a question: words with capitals that stand together, but for its first word."""
    found: list[list[str]] = []
    end = -1
    for word in list(_WORD.finditer(part))[1:]:
        if not word[0][0].isupper() or word[0].lower() in _NO_NAMES:
            continue
        if found and end == word.start() - 1 and part[end] == " ":
            found[-1].append(word[0])
        else:
            found.append([word[0]])
        end = word.end()
    return list(dict.fromkeys(" ".join(words) for words in found))


def _others(part: str) -> bool:
    """Whether somebody else is spoken of who may be meant as well: Nina's brother, the doctor."""
    words = _WORD.findall(part)
    return bool(_WHOSE.search(part)) or any(names_people(word.lower()) for word in words)


def _with_name(part: str, name: str) -> str:
    """The question with a name where it says he or she."""
    words = list(_WORD.finditer(part))
    told, done = "", 0
    for place, word in enumerate(words):
        low = word[0].lower()
        if low not in _HE_OR_SHE:
            continue
        rest = words[place + 1 :]
        told += part[done : word.start()] + (f"{name}'s" if _owns(low, rest) else name)
        done = word.end()
    return told + part[done:]


def _owns(low: str, rest: Sequence[re.Match[str]]) -> bool:
    """Whether a pronoun says whose."""
    if low == "her":
        return bool(rest) and rest[0][0].lower() not in _AFTER_OBJECT | AUXILIARIES
    return low in ("his", "hers")
