"""What a statement denies or ends: not allergic to nuts but to kiwi; no longer lives in Oslo.

Both are read from finished statements, in which the speaker is named.
"""

import re
from collections.abc import Sequence

from rewound.llm.attribute_table import ADVERB, SUBJECT, Row
from rewound.llm.attributes import Attributes, attributes_of
from rewound.llm.english import VERBS, gerund, is_finite, third_person, words_of
from rewound.llm.extraction import Drawn

_PREPOSITION = r"(?:to|of|in|at|with|from|for|about|on|by|near)"
_BUT = r",? (?:but |it['’]s |it is )?(?P<only>only|just|but) "
_NOT_BE = re.compile(
    rf"{SUBJECT} (?P<be>is|are|was|were)(?: not|n['’]t) "
    rf"(?:(?P<what>[^,;]{{2,40}}? (?P<prep>{_PREPOSITION}) )(?P<x>[^,;]{{1,40}}?)"
    rf"|(?P<plain>[^,;]{{2,40}}?)){_BUT}(?P<y>[^,;]{{1,40}})"
)
_NOT_DO = re.compile(
    rf"{SUBJECT} (?P<do>doesn['’]t|does not|don['’]t|do not) (?P<verb>[a-z]+) "
    rf"(?P<x>[^,;]{{1,40}}?),? (?:but )?only (?P<y>[^,;]{{1,40}})"
)


def told_apart(shown: str) -> list[str]:
    """What is denied and what holds instead, as two statements; else the statement alone."""
    found = _NOT_BE.fullmatch(shown)
    if found and _is_bare(found["y"]):
        same = found["prep"] is not None
        y = found["y"]
        if same and (found["only"] != "but" or y.startswith(f"{found['prep']} ")):
            y = y.removeprefix(f"{found['prep']} ")
            head = f"{found['s']} {found['be']}"
            return [f"{head} not {found['what']}{found['x']}", f"{head} {found['what']}{y}"]
        denied = found["plain"] or f"{found['what']}{found['x']}"
        if found["only"] == "but" and re.match(r"(?:an?|the|from|in|at|on)\b", y):
            return [f"{found['s']} {found['be']} {rest}" for rest in (f"not {denied}", y)]
    found = _NOT_DO.fullmatch(shown)
    if found and found["verb"] in VERBS and _is_bare(found["y"]):
        plural = found["do"].startswith("don") or found["do"] == "do not"
        verb = found["verb"] if plural else third_person(found["verb"])
        return [
            f"{found['s']} {found['do']} {found['verb']} {found['x']}",
            f"{found['s']} {verb} only {found['y']}",
        ]
    found = _IS_NOT.fullmatch(shown)
    if found and _is_bare(found["y"]) and not is_finite(found["x"].split()[0].lower()):
        head = f"{found['s']} {found['be']}"
        return [f"{head} {found['x']}", f"{head} not {found['y']}"]
    return [shown]


def _is_bare(text: str) -> bool:
    """No clause of its own, and not only a time."""
    words = words_of(text)
    if not words or words[0].low in _NOT_BARE or (len(words) > 1 and words[0].low in VERBS):
        return False
    if words[0].low == "to" and len(words) > 1 and words[1].low in VERBS:
        return False  # Only to find out.
    return not any(is_finite(word.low) for word in words)


_IS_NOT = re.compile(
    rf"{SUBJECT} (?P<be>is|are|was|were) (?P<x>(?!not\b)[^,;]{{1,40}}), (?:and )?not "
    rf"(?P<y>[^,;]{{1,40}})"
)
_NOT_BARE = frozenset("when if on at because now sometimes just only merely".split())
_MORE = r"(?:,? (?:any ?more|any longer|now))"
_NO_LONGER = re.compile(
    rf"{SUBJECT}{ADVERB} (?P<be>(?:is|are|has|have) )?no longer (?P<rest>.+?){_MORE}?"
)
_NOT_ANY_MORE = re.compile(
    rf"{SUBJECT}{ADVERB} (?:(?P<do>doesn['’]t|does not|don['’]t|do not)|(?P<be>is|are)(?:n['’]t"
    rf"| not))"
    rf" (?:really |actually )?(?P<rest>.+?) (?:any ?more|any longer)(?P<after>,? .+)?"
)
_STOPPED = re.compile(
    rf"{SUBJECT}{ADVERB} (?:has |have )?(?:stopped|quit|quits|gave up|given up) (?P<verb>[a-z]+ing)"
    rf"(?P<rest>(?: .+)?)"
)
_QUIT_JOB = re.compile(
    rf"{SUBJECT}{ADVERB} (?:has |have )?(?:quit|quits|left|resigned from|was (?:fired"
    rf"|laid off) from"
    rf"|lost) (?:(?:their|his|her|the|a|[\w ]+['’]s) )?(?:old )?(?:job|position|role|post)"
    r"(?: as [^,;]{1,30}?)? (?:at|with|for) (?P<v>[^,;]{1,40})"
)


_MAY_END = re.compile(
    r"no longer|any ?more|any longer|stopped|quit|gave up|given up|left|resigned|fired"
    r"|laid off|lost"
)


def ended_by(text: str, own: Sequence[Row] = ()) -> Attributes:
    """Whose attribute a statement ends: its subject and attribute, with no value.

    `Nina no longer lives in Oslo` says of Nina's home that it is no more what it was. What used to
    be says nothing of what is now, so it ends nothing.
    """
    if not _MAY_END.search(text):
        return Attributes()
    quit_job = _QUIT_JOB.fullmatch(text)
    if quit_job:
        return Attributes(quit_job["s"].strip(), "employer", None)
    for held in _held_before(text):
        found = attributes_of(held, own)
        if found.attribute is not None and not found.attribute.startswith("opinion of "):
            return Attributes(found.subject, found.attribute, None)
    return Attributes()


def value_ended(text: str, attribute: str, own: Sequence[Row] = ()) -> str | None:
    """Which value of an attribute a statement ends: Zephyr, in `no longer works on Zephyr`."""
    if not _MAY_END.search(text):
        return None
    told = (attributes_of(held, own) for held in _held_before(text))
    return next((found.value for found in told if found.attribute == attribute), None)


def _held_before(text: str) -> list[str]:
    """The statement that is no longer true, as it would have been made."""
    found = _NO_LONGER.fullmatch(text)
    if found:
        return [f"{found['s']} {found['be'] or ''}{found['rest']}"]
    found = _NOT_ANY_MORE.fullmatch(text)
    if found and found["be"]:
        return [f"{found['s']} {found['be']} {found['rest']}"]
    if found:
        plural = found["do"].startswith("don") or found["do"] == "do not"
        return [_said_of(found["s"], found["rest"], plural)]
    found = _STOPPED.fullmatch(text)
    base = _base_of(found["verb"]) if found else ""
    return [_said_of(found["s"], f"{base}{found['rest']}", False)] if found and base else []


def _said_of(subject: str, rest: str, plural: bool) -> str:
    verb, _, after = rest.partition(" ")
    return f"{subject} {verb if plural else third_person(verb)} {after}".rstrip()


def _base_of(gerund: str) -> str:
    """working: work, living: live, running: run; nothing for what is no known verb."""
    stem = gerund.removesuffix("ing")
    for base in (stem, f"{stem}e", stem[:-1]):
        if base in VERBS:
            return base
    return ""


_USED_TO = re.compile(
    rf"{SUBJECT}(?: (?:also|always|often))? used to (?P<verb>[a-z]+)(?P<rest>(?: [^,;]{{1,60}})?)"
)
_WHEN_QUIT = (
    r"(?: (?:again|then|finally|there|in|on|at|last|when|after|before|about|around|over|since"
    r"|because"
    r"|for|with|two|three|\d+|a|yesterday|today|recently|completely|cold turkey)\b.*)?"
)
_QUIT_IT = re.compile(
    rf"{SUBJECT}{ADVERB} (?P<did>(?:(?:has|have|had) )?(?:quit|stopped|gave up|given up))"
    rf"(?P<when>{_WHEN_QUIT})"
)


def told_in_full(shown: str, before: str) -> str:
    """`Nina quit in 2019`, with what it was that the clause before says she used to do."""
    quit_it = _QUIT_IT.fullmatch(shown)
    used = _USED_TO.fullmatch(before) if quit_it else None
    if quit_it is None or used is None or used["s"] != quit_it["s"] or used["verb"] == "be":
        return shown
    at = quit_it.end("did")
    return f"{shown[:at]} {gerund(used['verb'])}{used['rest']}{shown[at:]}"


_DENIED_USE = re.compile(
    r"(?:do(?:es)?n['’]t|do(?:es)? not|no longer|stopped|quit|not|gave up) "
    r"[a-z]+ (?P<what>[^,;]{1,40}?)(?:,? (?:any ?more|any longer|now|at all|in \d{4}\S*))*"
)


def instead_of(each: Drawn, before: Sequence[Drawn]) -> Drawn:
    """`… uses Buildkite instead`, with the name of what the clause before denied."""
    found = re.search(r" instead$", each.text)
    denied = re.search(rf"{_DENIED_USE.pattern}$", before[-1].text) if before and found else None
    if denied is None or len(denied["what"].split()) > 4:
        return each
    text = f"{each.text} of {denied['what']}"
    attributes = attributes_of(text)
    if attributes.attribute is None:
        return each._replace(text=text)
    return each._replace(
        text=text,
        subject=attributes.subject,
        attribute=attributes.attribute,
        value=attributes.value,
    )
