"""What somebody changed: moved the standup to 9:30, switched from Vim to Emacs, got a new number.

The one who did it is the subject of the sentence, while what is known afterwards is often of
something else: of the standup, when it is.
"""

import re
from typing import NamedTuple

from rewound.llm.attribute_table import CLOCK, DAY, END, SUBJECT, VALUE
from rewound.llm.extraction import Drawn

PART = (
    r"(?:deadline|due date|start date|end date|launch date|budget|price|fee|rate|rent|salary"
    r"|password|passcode|code|combination|pin|PIN|version|status|owner|address|phone number|email"
    r"|hostname|host|port|url|URL|IP address|IP|limit|quota|target|goal|capacity|timeout|location"
    r"|venue|theme|topic|title|name|hint|time|date|time ?zone|room|manager|lead|maintainer|assignee"
    r"|reviewer|priority|severity|branch|region|licen[cs]e|colou?r|number|dose|dosage|organi[sz]er"
    r"|captain|contact|landlord|supplier|default)"
)
"""What a thing has one of, and is told with it: the API version, the price of the flat."""

_DID = (
    r"(?:(?:has|have) )?(?:just |now )?(?:moved|rescheduled|postponed|pushed|shifted|changed"
    r"|delayed"
    r"|brought forward|set|updated|raised|lowered|cut|increased|reduced|extended)"
)
_MOVED = re.compile(
    rf"{SUBJECT} {_DID} (?P<owner>the|their|[\w ]{{1,30}}['’]s) (?P<a>[\w -]{{2,30}}?)"
    rf"(?: from [^,]{{1,25}}?)?(?: back| forward)? (?:to|for|until|at) "
    rf"(?:(?P<day>(?:on )?{DAY}(?: at {CLOCK})?)|(?P<clock>{CLOCK})|[Rr]oom (?P<room>[\w.-]+))"
)
_CHANGED = re.compile(
    rf"{SUBJECT} {_DID} (?P<owner>the|their|[\w ]{{1,30}}['’]s) (?P<a>(?:[a-z]+ )?{PART})"
    rf"(?: from [^,]{{1,25}}?)? to {VALUE}{END}"
)
_SWITCHED = re.compile(
    rf"{SUBJECT} (?:(?:has|have) )?(?:switched|migrated|changed|moved over) from "
    rf"(?P<old>[^,;:!?]{{1,40}}?) to {VALUE}{END}"
)
_SWITCHED_FOR = re.compile(
    rf"{SUBJECT} (?:(?:has|have) )?(?:switched|migrated|changed|moved) (?:their|his|her|the|our) "
    rf"(?P<what>[\w -]{{2,30}}?) from [^,;:!?]{{1,40}}? to {VALUE}{END}"
)
_GOT = re.compile(
    rf"{SUBJECT} (?:has|have|got|has got) (?:an? )?new (?P<a>(?:[a-z]+ )?{PART})(?::|,| —| -| is)? "
    r"(?P<v>(?=[^ ]*[\d@])[^,;!?]{2,60})"
)
_WHOLE = frozenset(
    ("phone number", "due date", "start date", "end date", "launch date", "time zone")
)
_IS_PART = re.compile(
    r"(?P<v>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}) (?:is|became)(?: now)? the (?:new )?"
    r"(?P<a>owner|lead|manager|maintainer|captain|organi[sz]er|contact|landlord|assignee|reviewer"
    rf"|chair|editor) (?:of|for) (?P<s>[^,;:!?]{{1,40}}?){END}"
)


_RENAMED = re.compile(
    rf"{SUBJECT} (?:(?:has|have) )?(?:re-?named|rebranded) "
    rf"(?P<old>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*) (?:to|as) {VALUE}{END}"
)


OTHERWISE = (
    r"(?:(?:(?:has|have|had|was|were|is|are|got|get|just|now|been|recently|today|yesterday) )*"
    r"(?:changed|been changed|updated|reset|replaced|renewed|swapped|different|new|not the same"
    r"|another one|a (?:new|different) one))"
)
"""What is said of a thing whose value is another from now on."""
_TURNED = re.compile(
    rf" {OTHERWISE}(?:,? (?:now|again|today|yesterday|recently|too|in \S+|on \S+|last \w+))*"
)


def is_turned(subject: str, text: str) -> bool:
    """Whether a statement only says of its subject that it is another now, or what it is not: what
    it is comes next."""
    if text.startswith(tuple(f"{subject} {verb} " for verb in ("isn't", "isn’t", "is not"))):
        return True
    begins = text.lower().startswith(subject.lower())
    return begins and _TURNED.fullmatch(text, len(subject)) is not None


def says_only_that(text: str, after: Drawn) -> bool:
    """Whether a statement says no more than that a thing is another now, whose value comes next."""
    found = re.search(rf"{_TURNED.pattern}$", text)
    return bool(found and after.value and after.text.startswith(f"{text[: found.start()]} is "))


class Change(NamedTuple):
    """What is known after it."""

    subject: str
    attribute: str
    value: str


def change_of(text: str) -> Change | None:
    """The new value that a statement of a change tells; None for one that tells none."""
    moved = _MOVED.match(text)
    if moved and not re.fullmatch(PART, moved["a"]):
        owner = moved["owner"]
        own = moved["s"] if owner == "their" else owner[:-2] if owner != "the" else None
        whole = f"{own}'s {moved['a']}" if own else moved["a"]
        if moved["day"]:
            day = moved["day"].removeprefix("on ")
            return Change(own, moved["a"], day) if own else Change(whole, "date", day)
        return Change(
            whole, *(("time", moved["clock"]) if moved["clock"] else ("room", moved["room"]))
        )
    changed = _CHANGED.match(text)
    if changed:
        owner = changed["owner"]
        if owner == "the":
            return Change(changed["a"], "value", changed["v"])
        whose = changed["s"] if owner == "their" else owner[:-2]
        return Change(whose, changed["a"], changed["v"])
    switched = _SWITCHED.match(text)
    if switched and not re.search(r"\d{4}", switched["v"]):
        return Change(switched["s"], f"uses instead of {switched['old']}", switched["v"])
    switched = _SWITCHED_FOR.match(text)
    if switched and not re.fullmatch(PART, switched["what"]) and not switched["v"][0].isdigit():
        return Change(switched["s"], f"used for {switched['what']}", switched["v"])
    renamed = _RENAMED.match(text)
    if renamed:
        return Change(renamed["old"], "name", renamed["v"])
    got = _GOT.fullmatch(text)
    if got and got["s"].endswith(" and others") and " " in got["a"] and got["a"] not in _WHOLE:
        thing, _, part = got["a"].rpartition(" ")  # We have a new alarm code: it is the alarm's.
        return Change(thing, part, got["v"])
    if got:
        return Change(got["s"], got["a"], got["v"])
    part = _IS_PART.match(text)
    return Change(part["s"], part["a"], part["v"]) if part else None
