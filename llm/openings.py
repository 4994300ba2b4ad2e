"""How the texts begin that a regular expression matches: their first word and the second.

A pattern that begins with `(?:works?|is working) (?:at|for)` can only fit where `works`, `work` or
`is` stands, so that a text without these needs no look at it. What is read is the small part of
regular expressions that the patterns of statements begin with: words, groups, choices and `?`.
"""

import re

Opening = tuple[str, str | None]
"""The first word and the second; None for a second one that no words can be told of."""

_PARTS = re.compile(r"\\.|\[[^\]]*\]|\(\?[:=!]|\(\?P<\w+>|\(\?<[=!]|.", re.S)
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
_SEVERAL = re.compile(r"\[[^\]\\^-]+\]")
_TIMES = ("?", "*", "+", "{")


def openings(pattern: str) -> frozenset[Opening] | None:
    """How a text begins that the pattern matches, which itself begins with a blank.

    Words are what stands between blanks. None where not even the first one is spelled out.
    """
    found = _read(_PARTS.findall(pattern), "")
    known = {opening for opening in found if opening is not None}
    return frozenset(known) if len(known) == len(found) else None


def _read(parts: list[str], said: str) -> set[Opening | None]:
    """The openings of what is `said` before the parts and of the parts."""
    for place, part in enumerate(parts):
        if said.count(" ") > 2:
            break
        after = "".join(parts[place + 1 : place + 2])
        if _is_plain(part) and after not in _TIMES:
            said += part[-1]
            continue
        if part.startswith("(?"):
            choices, rest = _group(parts, place)
        elif _is_plain(part):
            choices, rest = [[part]], parts[place + 1 :]
        elif _SEVERAL.fullmatch(part):
            choices, rest = [[each] for each in part[1:-1]], parts[place + 1 :]
        else:
            break
        if part in _LOOKS:
            choices = [[]]  # What is only looked at takes no room.
        elif rest[:1] == ["?"]:
            choices, rest = [*choices, []], rest[1:]
        elif rest and rest[0] in _TIMES:
            break
        return set().union(*(_read(choice + rest, said) for choice in choices))
    whole = said.split(" ")[1:-1]  # A word without a blank behind it may go on.
    if not whole or not said.startswith(" "):
        return {None}
    return {(whole[0], whole[1] if len(whole) > 1 else None)}


def _group(parts: list[str], start: int) -> tuple[list[list[str]], list[str]]:
    """The choices of the group that opens at `start`, and what follows it."""
    choices: list[list[str]] = [[]]
    depth = 1
    for place in range(start + 1, len(parts)):
        part = parts[place]
        depth += part.startswith("(") - (part == ")")
        if not depth:
            return choices, parts[place + 1 :]
        if part == "|" and depth == 1:
            choices.append([])
        else:
            choices[-1].append(part)
    raise ValueError("a group is not closed")


def _is_plain(part: str) -> bool:
    """Whether a part stands for a character."""
    if part.startswith("\\"):
        return not part[1].isalnum()
    return len(part) == 1 and part not in ".^$*+?{}[]()|"
