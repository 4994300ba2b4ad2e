"""Values joined by `and`: which are several (walnuts and pecans), and which are one all the same
(Marks and Spencer, salt and pepper)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rewound.llm.attribute_table import LIST_END
from rewound.llm.english import (
    AUXILIARIES,
    PRONOUNS,
    WORD,
    is_surely_finite,
    is_verb_form,
    plain_form,
)

VALUES_MAX = 6
"""Values of one list that are told singly; a longer one stays whole."""

_WORDS_MAX = 5
"""Words of one value in a list."""

ARTICLES = frozenset(("a", "an", "the"))
_DETERMINERS = ARTICLES | frozenset("one two three four five six some his her their its".split())
_END = re.compile(LIST_END)
_BETWEEN = re.compile(r", (?:and |as well as )?| and | as well as ")
_EITHER = re.compile(r", (?:or |and )?| or | and ")
_ALSO = re.compile(r",? (?:\w{3,12}ly|too|also|alike|equally|well|really|a lot|very much)$")
_MORE = frozenset(
    ("others", "more", "so on", "such", "the like", "similar", "etc", "etc.", "the rest")
)
_NO_VALUE = frozenset(
    "not never no then also sometimes even only just still now later maybe than if when which who "
    "that how why what where me him them us it i'm".split()
)


class Listed(NamedTuple):
    """The values of a list, as they are worded, and where in the text it ends."""

    values: tuple[str, ...]
    end: int


def listed(text: str, start: int, *, either: bool = False) -> Listed | None:
    """The several values that a text lists from `start` on; None where there is one value, or
    where that is not sure. With `either` they may be joined by `or`."""
    stop = _END.search(text, start + 1)
    whole = text[start : stop.start()] if stop else text[start:]
    late = _ALSO.search(whole)
    whole = whole[: late.start()] if late else whole
    end = start + len(whole)
    values = (_EITHER if either else _BETWEEN).split(whole.removeprefix("both "))
    values = [value for value in values if value.lower() not in _MORE]
    if not 2 <= len(values) <= VALUES_MAX or not all(_is_value(value) for value in values):
        return None
    if _is_one(values, text[:start]):
        return None
    return Listed(tuple(values), end)


def _is_value(value: str) -> bool:
    words = WORD.findall(value)
    lows = [plain_form(word) for word in words]
    if not 0 < len(words) <= _WORDS_MAX or lows[0] in _NO_VALUE:
        return False
    if _PREPOSITION.search(value) or not PRONOUNS.isdisjoint(lows):
        return False
    return not any(
        is_surely_finite(low) and word.islower() for low, word in zip(lows, words, strict=True)
    )


_PREPOSITION = re.compile(r" (?:in|on|at|from|by|to|with|for|near) ")


# --- what is one with an `and` in it


def _is_one(values: Sequence[str], before: str) -> bool:
    """Whether a list is one value: a name, a dish, or what shares its noun or article."""
    first, second = values[-2:]
    if len(values) == 2 and is_one_name(first, second):
        return True
    lone = [value for value in values[:-1] if not _is_of_its_own(value)]
    longer = len(WORD.findall(second)) > 1 and second.split()[0].lower() not in _DETERMINERS
    if lone and longer and not second[0].isupper():
        return True  # Bee and wasp stings.
    the = values[0].startswith("the ") or before.endswith(" the ")
    if the and second[0].isupper():
        return True  # The Food and Drug Administration.
    own = [value.split()[0].lower() in _DETERMINERS for value in values]
    shared = own[0] or before.endswith((" a ", " an "))
    return shared and values[0].split()[0].lower() not in ("the", "some") and not any(own[1:])


def is_one_name(first: str, second: str) -> bool:
    """Whether `first and second` is the name of one thing."""
    one, other = first.split()[-1].lower(), second.split()[0].lower()
    if (first.lower(), second.lower()) in _PAIRS:
        return True
    if not (first[:1].isupper() and second[:1].isupper()):
        return False
    return (one, other) in _NAMES or other.rstrip(".") in _FIRMS


def _is_of_its_own(value: str) -> bool:
    """Whether a word cannot be told of the noun that a later one has: peanuts, milk, Dutch."""
    last = value.split()[-1].lower()
    plural = last.endswith("s") and not last.endswith(("ss", "us"))
    return len(value.split()) > 1 or value[0].isupper() or plural or last in _MASSES


def _pairs(listed: str) -> frozenset[tuple[str, str]]:
    found = [pair.split("+") for pair in " ".join(listed.split()).split(", ")]
    return frozenset((one, other) for one, other in found)


_PAIRS = _pairs(
    "salt+pepper, fish+chips, mac+cheese, macaroni+cheese, rock+roll, gin+tonic, bed+breakfast, "
    "peanut butter+jelly, rum+coke, arts+crafts, drum+bass, rhythm+blues, ham+eggs, bacon+eggs, "
    "bread+butter, ham+cheese, cheese+wine, pen+paper, cookies+cream, biscuits+gravy, milk+honey, "
    "sweet+sour, bar+grill, research+development, food+drink, health+safety, track+field, "
    "oil+vinegar, soap+water, cream+sugar, milk+sugar, bangers+mash, steak+kidney, knife+fork, "
    "hide+seek, cloak+dagger, black+white, trial+error, tooth+nail, dungeons+dragons"
)
_NAMES = _pairs(
    "marks+spencer, johnson+johnson, procter+gamble, ernst+young, barnes+noble, dolce+gabbana, "
    "abercrombie+fitch, smith+wesson, crate+barrel, black+decker, bang+olufsen, simon+schuster, "
    "pratt+whitney, bath+beyond, bath+body, victoria+albert, holland+barrett, fortnum+mason, "
    "trinidad+tobago, bosnia+herzegovina, antigua+barbuda, kitts+nevis, vincent+the, "
    "tomé+príncipe, tome+principe, turks+caicos, wallis+futuna, brighton+hove, kensington+chelsea, "
    "hammersmith+fulham, newfoundland+labrador, jammu+kashmir, tyne+wear, hereford+worcester, "
    "perth+kinross, war+peace, crime+punishment, pride+prejudice, sense+sensibility, "
    "north+south, romeo+juliet, tom+jerry, rick+morty, dungeons+dragons, simon+garfunkel, "
    "mumford+sons, hall+oates, earth+fire, law+order, beauty+the, lilo+stitch, calvin+hobbes, "
    "angels+demons, guns+roses, nuts+bolts, arts+sciences, arts+crafts, oxford+cambridge, "
    "food+agriculture, science+technology, research+development"
)
_FIRMS = frozenset(
    "sons son daughters co company partners associates brothers bros sisters friends".split()
)
_MASSES = frozenset(
    "milk soy soya wheat gluten lactose latex penicillin aspirin ibuprofen pollen dust mould mold "
    "fish shellfish egg celery mustard sesame tea coffee wine beer water juice chocolate rice "
    "pasta bread butter cheese meat pork beef chicken ramen sushi pho curry pizza salad soup "
    "garlic cilantro coriander honey sugar salt tofu yoghurt yogurt cake music jazz opera rock pop "
    "rap folk poetry fiction history chess tennis golf football soccer basketball rugby yoga "
    "karate pottery sand gold silver wool cotton nickel".split()
)


# --- the whole of one value


_GOES_ON = re.compile(r" and (?P<more>[^\W_][^\s,;:!?()]*(?: [^\s,;:!?()]+){0,3}?)" + LIST_END)


def whole_value(text: str, start: int, end: int) -> str:
    """The value at [start, end) of a text, with what belongs to it behind an `and`: names go on in
    capitals, a noun goes on in a noun; what another thought begins with does not belong to it."""
    while end < len(text) and text.startswith(" and ", end):
        more = _GOES_ON.match(text, end)
        if more is None or not _belongs(text[start:end], more["more"]):
            break
        end = more.end("more")
    return text[start:end]


def _belongs(value: str, more: str) -> bool:
    words = WORD.findall(more)
    lows = [plain_form(word) for word in words]
    if not _is_value(more) or lows[0] == "i" or not AUXILIARIES.isdisjoint(lows):
        return False
    named = more[0].isupper() or (lows[0] == "the" and words[-1][0].isupper())
    if value.split()[-1][:1].isupper() != named:
        return False
    return named or not is_verb_form(lows[0]) or is_one_name(value, more)
