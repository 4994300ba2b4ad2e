"""A statement that lists several values of what one may have several of, as one for each value.

`Nina is allergic to walnuts and pecans` is told as two, so that each is found, dated and ended by
itself. The words stay those of the list.
"""

import re
from collections.abc import Iterator, Sequence

from rewound.llm.attribute_table import ADVERB, DEFAULT, KIN, SUBJECT, Row, Table
from rewound.llm.attributes import OPINES, attributes_of
from rewound.llm.listing import ARTICLES, Listed, listed

_KINDRED = frozenset((*KIN.split(), "pet"))
_MANY = Table(row for row in DEFAULT if not row.single)
_HINTS = (" and ", " as well as ", " or ")
_COUNTS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10,
}  # fmt: skip
_ONES = {
    "cats": "cat", "dogs": "dog", "puppies": "puppy", "kittens": "kitten", "parrots": "parrot",
    "rabbits": "rabbit", "hamsters": "hamster", "horses": "horse", "snakes": "snake",
    "turtles": "turtle", "daughters": "daughter", "sons": "son", "kids": "kid",
    "children": "child", "brothers": "brother", "sisters": "sister", "siblings": "sibling",
    "nieces": "niece", "nephews": "nephew", "pets": "pet",
}  # fmt: skip
_NOUNS = "|".join(_ONES)
# Has two cats, Miso and Tofu.
_NAMED = re.compile(
    rf"{SUBJECT}{ADVERB} (?P<have>has|have|owns?|got|adopted|rescued) (?P<count>{'|'.join(_COUNTS)}"
    rf"|[2-6]) (?:\w+ ){{0,2}}?(?P<noun>{_NOUNS})(?:,? (?:called|named)|,|:| [-–—]) (?=[^\W_])"
)
# Her kids are Ana and Leo.
_THESE = re.compile(
    rf"(?P<s>[^,;:.!?]{{1,40}}?)['’]s (?:\w+ )?(?P<noun>{_NOUNS})(?:['’]s?)?(?: names)? are"
    r"(?: called| named)? (?=[A-Z])"
)
# Has a dog and two cats.
_HAS = re.compile(
    rf"{SUBJECT}{ADVERB} (?:has|have|has got|have got|owns?|got) (?=(?:an?|one"
    rf"|{'|'.join(_COUNTS)}) )"
)


def told_singly(text: str, own: Sequence[Row] = ()) -> list[str]:
    """The statements that a finished one comes to, itself alone where it lists nothing. `own` are
    rows of the user."""
    if not any([hint in text for hint in _HINTS]):
        return [text]
    named = _named(text) or _these(text)
    if named:
        return named
    for start, either in _places(text, own):
        found = listed(text, start, either=either)
        made = _made(text, start, found) if found else []
        if made and _is_told(made, own):
            return made
    return [text]


def _places(text: str, own: Sequence[Row]) -> Iterator[tuple[int, bool]]:
    """Where a list may begin, and whether its values may be joined by `or`."""
    has = _HAS.match(text)
    if has:
        yield has.end(), False
    words = text.split(" ")
    for rows in (Table(row for row in own if not row.single), _MANY):
        for _, _, found in rows.matches(text, words):
            yield found.start("v"), False
    opines = OPINES.match(text)
    if opines:
        yield opines.end(), bool(opines["dislikes"])


def _made(text: str, start: int, found: Listed) -> list[str]:
    """A statement for each value, all else as it was said."""
    before, after = text[:start].removesuffix("both "), text[found.end :]
    article = before.split(" ")[-2] if before.endswith(" ") else ""
    bare = before.removesuffix(f"{article} ") if article in ARTICLES else before
    return [
        f"{bare if value.split()[0] in _DETERMINERS else before}{value}{after}"
        for value in found.values
    ]


_DETERMINERS = ARTICLES | frozenset("one some two three four five six".split())


def _is_told(made: Sequence[str], own: Sequence[Row]) -> bool:
    """Whether each states a value of its own, all of the same attribute (or opinions)."""
    told = [attributes_of(each, own) for each in made]
    kinds = {(each.attribute or "").partition(" of ")[0] for each in told}
    apart = len({(each.attribute, each.value) for each in told}) == len(told)
    alike = len(kinds) == 1 and kinds != {""}
    return apart and (alike or kinds <= _KINDRED)  # One sister and two brothers.


def _named(text: str) -> list[str]:
    found = _NAMED.match(text)
    names = listed(text, found.end()) if found else None
    if found is None or names is None or names.end < len(text):
        return []
    count = _COUNTS.get(found["count"]) or int(found["count"])
    if len(names.values) != count or not _are_names(names):
        return []
    ones = [_with_name(text[: found.start("count")], found["noun"], name) for name in names.values]
    return [text, *ones]  # How many there are is told by the whole.


def _these(text: str) -> list[str]:
    found = _THESE.match(text)
    names = listed(text, found.end()) if found else None
    if found is None or names is None or names.end < len(text) or not _are_names(names):
        return []
    return [_with_name(f"{found['s']} has ", found["noun"], name) for name in names.values]


def _with_name(before: str, noun: str, name: str) -> str:
    return f"{before}a {_ONES[noun]} named {name}"


def _are_names(found: Listed) -> bool:
    return all(value[0].isupper() and len(value.split()) <= 2 for value in found.values)
