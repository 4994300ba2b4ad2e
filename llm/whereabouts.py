"""Which place `there` is: the one that was named last, where that was one."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rewound.llm.english import AUXILIARIES, Word
from rewound.llm.speakers import Edit


class Place(NamedTuple):
    """How something is said to be there (`in`, `at`, `on`), its name, and whether the speaker told
    it of himself, so that it may be his `here`."""

    link: str
    name: str
    own: bool


_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|Mon|Tues"
    "|Wednes|Thurs|Fri|Satur|Sun"
)
_PLACE = re.compile(
    r"(?P<link>\b(?:in|at|near|on|to|from|by)|\b(?:visit(?:s|ed)?|lov(?:es?|ed)|left|reached"
    r"|joined)|\bwork(?:s|ed)? for) "
    rf"(?P<name>(?:the )?(?!(?:{_MONTHS})(?:day)?\b)[A-Z][\w'’-]*"
    r"(?: (?:(?:of|de|da|del|la|le) )?(?:the )?[A-Z][\w'’-]*)*)(?P<more> (?:and|or) [A-Z])?"
)
_GOING = re.compile(
    r"\b(?:mov(?:e|es|ed|ing)|relocat(?:e|es|ed|ing)|go(?:es|ing)?|went|gone|fl(?:y|ies|ew|own)"
    r"|travel(?:s|l?ed|l?ing)?|dr(?:ive|ives|ove)|return(?:s|ed)?|c(?:ome|omes|ame)|trips?"
    r"|commutes?|been|flights?|got|back|transfer(?:s|red)?|walk(?:s|ed)?|cycles?|sent|emigrated)\b"
)
_WAYS = re.compile(r" (?:Street|Road|Lane|Avenue|Square|Island|Way|Drive|Hill|Quay|Beach)$")
# In these one speaks, writes, or believes; one is not there.
_NO_STAY = re.compile(
    r"\b(?:fluent|written|writes?|wrote|speaks?|spoke|talks?|believes?|interested|invests?|invested"
    r"|version|codes?|programs?|majors?|majored|degree|sings?|trusts?)\b[^,]*$"
)
_LANGUAGES = frozenset(
    "english french german spanish italian dutch thai chinese japanese korean python java rust go "
    "javascript".split()
)
# Existing, idle or inner: there is, hang in there, up there.
_NOT_AFTER = frozenset("in out up down hang hi hello hey who over under".split())
_BACK = frozenset(("back", "right"))


class Whereabouts:
    """The place that what was said last leaves to refer to."""

    def __init__(self) -> None:
        self.place: Place | None = None

    def forget(self) -> None:
        self.place = None

    def words(self) -> set[str]:
        """The words of the place's name."""
        return set(self.place.name.split()) if self.place else set()

    def note(self, shown: str, own: bool) -> None:
        """Remember the place that a finished clause names. Of two the one that somebody went to;
        any other two leave none; none leaves the one before."""
        found = [place for place in _PLACE.finditer(shown) if _is_stay(shown, place)]
        went = [each for each in found if each["link"] == "to"]
        rest = [each for each in found if each["link"] != "from"]
        named = went if len(went) == 1 and len(rest) == 1 else rest or found
        if named:
            first = named[0]
            whole = len(named) == 1 and not first["more"]
            self.place = _place(first, own) if whole else None

    def stands_for(self, word: Word, after: Sequence[Word] = ()) -> bool:
        """Whether a word is an adverb of place that the place can be put in for."""
        if self.place is None or (after and after[0].low in AUXILIARIES):
            return False
        return word.low == "there" or (word.low == "here" and self.place.own)

    def resolve(self, words: Sequence[Word]) -> list[Edit]:
        """The edits that put the place in."""
        edits: list[Edit] = []
        for number, word in enumerate(words):
            before = words[number - 1].low if number else "in"
            if before in _NOT_AFTER or not self.stands_for(word, words[number + 1 :]):
                continue
            assert self.place is not None
            link = f"{self.place.link} "
            lows = [each.low for each in words[max(0, number - 2) : number]]
            if before == "from":
                link = ""
            elif _GOING.fullmatch(lows[-1] if lows[-1] not in _BACK else " ".join(lows[:-1])):
                link = "to " if before not in ("been", "got") else link
            edits.append(Edit(word.start, word.end, f"{link}{self.place.name}"))
        return edits


def _is_stay(shown: str, found: re.Match[str]) -> bool:
    """Whether something can be where a name stands behind such a word."""
    link, name = found["link"], found["name"]
    before = shown[: found.start()]
    if name.lower() in _LANGUAGES or name.endswith(("'s", "’s")):
        return False
    if link == "to":
        return _GOING.search(" ".join(before.split()[-4:])) is not None
    if link == "on":
        return _WAYS.search(name) is not None
    if link in ("by", "in"):
        return link == "in" and _NO_STAY.search(before) is None
    return True


def _place(found: re.Match[str], own: bool) -> Place:
    link = found["link"]
    if link in ("joined", "at") or link.startswith("work"):
        return Place("at", found["name"], own)
    return Place(link if link in ("on", "near") else "in", found["name"], own)
