"""First-person words become the speaker's name, and the verbs that follow agree with it.

`I have a dog and walk it` of Nina's is `Nina has a dog and walks it`. `We` is `Nina and others`:
the text tells that others took part, not who. What the first person owns with others is said to be
the speaker's, which is true of it too.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from rewound.llm.english import (
    AUXILIARIES,
    BE,
    DETERMINERS,
    HAVE,
    SAME_IN_PAST,
    VERBS,
    Word,
    holds_its_verb,
    is_adverb,
    is_past,
    third_person,
    verb_at,
)

UNNAMED = "the user"
AUTHOR = "the author"


class Edit(NamedTuple):
    """Put `new` in the place of characters [start, end)."""

    start: int
    end: int
    new: str


def edited(text: str, edits: list[Edit]) -> str:
    """The text with every edit made; of two that overlap the earlier counts."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits):
        if edit.start >= done:
            parts += (text[done : edit.start], edit.new)
            done = edit.end
    parts.append(text[done:])
    return "".join(parts)


def edited_part(text: str, edits: Sequence[Edit], start: int, end: int) -> str:
    """The same for text[start:end], with the edits that lie in it."""
    inside = [edit for edit in edits if start <= edit.start and edit.end <= end]
    moved = [Edit(edit.start - start, edit.end - start, edit.new) for edit in inside]
    return edited(text[start:end], moved)


_OWN = frozenset("i me my mine myself i'm i've i'll i'd".split())
_SHARED = frozenset("we us our ours ourselves we're we've we'll we'd".split())
_SHORTENED = {"i'm": "is", "i've": "has", "i'll": "will"}
_SHARED_SHORTENED = {"we're": "are", "we've": "have", "we'll": "will"}
_ROMAN = frozenset(
    "war part chapter type phase volume level class stage book act grade tier appendix section "
    "elizabeth charles henry title league division".split()
)

_KIN = frozenset("Mum Mom Mummy Mommy Dad Daddy Grandma Grandpa Granny Grandad Granddad".split())
"""As a name, of the speaker's own: Mum is a nurse. Not a mum, not Grandma Olga's."""


def own_kin(words: list[Word], place: int) -> str:
    """The word for the relative who is named so, as in `my dad`; empty for any other word."""
    word = words[place]
    kin, owning = (word.text[:-2], "'s") if word.low.endswith("'s") else (word.text, "")
    if kin not in _KIN:
        return ""
    before = words[place - 1] if place else None
    after = words[place + 1] if place + 1 < len(words) else None
    if before and (before.low in DETERMINERS or before.low.endswith(("'s", "s'"))):
        return ""  # Tom's Dad, the Dad
    if after and not owning and after.text[:1].isupper() and after.low not in ("i", "i'm", "i've"):
        return ""  # Grandma Olga
    return kin.lower() + owning


def speaks(words: list[Word]) -> bool:
    """Whether the speaker is named in the first person."""
    return any(is_own(words, place) or words[place].low in _SHARED for place in range(len(words)))


def is_own(words: list[Word], place: int) -> bool:
    word = words[place]
    if word.low not in _OWN:
        return False
    if word.low != "i":
        return True
    before = words[place - 1].low if place else ""
    after = words[place + 1] if place + 1 < len(words) else None
    if after and after.low == "e" and after.start == word.end + 1:  # i.e.
        return False
    return before not in _ROMAN


def first_person(
    text: str,
    words: list[Word],
    name: str,
    look_back: bool = False,
    their: Collection[int] = (),
) -> list[Edit]:
    """The edits that put `name` in the first person's place.

    `look_back` says that the sentence is about the past: a verb whose past form is its present
    (read, put) keeps it. `their` holds the places of each `my` that a pronoun may stand for.
    """
    edits: list[Edit] = []
    for place, word in enumerate(words):
        low = word.low
        if place in their:
            edits.append(Edit(word.start, word.end, "their"))
        elif low in _SHARED:
            edits.append(Edit(word.start, word.end, _shared(low, name, words, place)))
        elif is_own(words, place):
            edits += _own(text, words, place, name, look_back)
        elif name != AUTHOR and (kin := own_kin(words, place)):
            edits.append(Edit(word.start, word.end, f"{name}'s {kin}"))
    return edits


def _shared(low: str, name: str, words: list[Word], place: int) -> str:
    if low in ("our", "ours"):
        return f"{name}'s"
    if low == "ourselves":
        return "themselves"
    if low == "we'd":
        return f"{name} and others {_had_or_would(words, place)}"
    return f"{name} and others {_SHARED_SHORTENED.get(low, '')}".rstrip()


def _had_or_would(words: list[Word], place: int) -> str:
    after = next((word.low for word in words[place + 1 :] if not is_adverb(word.low)), "")
    return "had" if after == "been" or is_past(after) or after.endswith("en") else "would"


def _own(text: str, words: list[Word], place: int, name: str, look_back: bool) -> list[Edit]:
    word = words[place]
    low = word.low
    if low in ("my", "mine"):
        return [Edit(word.start, word.end, f"{name}'s")]
    if low == "me":
        return [Edit(word.start, word.end, name)]
    if low == "myself":
        if place and words[place - 1].low == "by":
            return [Edit(words[place - 1].start, word.end, "alone")]
        return [Edit(word.start, word.end, "themself")]
    joined = place > 0 and words[place - 1].low == "and" and verb_at(words[:place]) < 0
    if low == "i":
        subject = [Edit(word.start, word.end, name)]
        if joined or text[word.end : word.end + 1] in (",", ";", "."):
            if joined and place + 1 < len(words) and words[place + 1].low == "am":
                after = words[place + 1]
                subject.append(Edit(after.start, after.end, "are"))
            return subject
        return subject + _agreement(words, place + 1, look_back)
    verb = _SHORTENED.get(low) or _had_or_would(words, place)
    edits = [Edit(word.start, word.end, f"{name} {verb}")]
    if low in ("i'm", "i've"):
        edits += _coordinated(words, place, only_auxiliaries=low == "i've")
    return edits


def _agreement(words: list[Word], place: int, look_back: bool) -> list[Edit]:
    """The first verb after the subject in its third-person form, and those joined to it."""
    while place < len(words) and is_adverb(words[place].low):
        place += 1
    if place >= len(words):
        return []
    word = words[place]
    low = word.low
    if low in BE | HAVE or low in ("do", "don't"):
        new = third_person(low)
        edits = [Edit(word.start, word.end, new)] if new != low and _present(low) else []
        plain = low in ("am", "have") and edits
        return edits + (_coordinated(words, place) if plain else [])
    if low in AUXILIARIES or is_past(low) or "'" in low or (look_back and low in SAME_IN_PAST):
        return []
    if not low.isascii() or not low.isalpha() or low in ("and", "or", "but", "who", "as", "in"):
        return []
    return [Edit(word.start, word.end, third_person(low)), *_coordinated(words, place)]


def _present(low: str) -> bool:
    return low in ("am", "are", "have", "do", "don't", "haven't", "aren't")


def _coordinated(words: list[Word], verb: int, only_auxiliaries: bool = False) -> list[Edit]:
    """Later verbs of the same subject: `… and work at …`. After `to` they are infinitives, and
    after `have` participles, which may look like verbs."""
    edits: list[Edit] = []
    for place in range(verb + 1, len(words) - 1):
        low = words[place].low
        if low == "to" and words[place + 1].low in VERBS:
            break
        if low in ("that", "which", "who", "because", "when", "where", "we", "they", "you", "i"):
            break
        if holds_its_verb(low):
            break
        if low not in ("and", "but", "or"):
            continue
        after = place + 1
        while after < len(words) - 1 and is_adverb(words[after].low):
            after += 1
        word = words[after]
        joined = word.low in VERBS and after + 1 < len(words) and word.text.islower()
        if (joined and not only_auxiliaries) or word.low in ("am", "have", "do", "don't"):
            edits.append(Edit(word.start, word.end, third_person(word.low)))
    return edits


# First-person words of languages that are written without spaces, or nearly so. At the start of a
# clause, with what marks them as its subject or owner.
_OTHERS = (
    (re.compile(r"(?:我的)(?=\w)"), "{}的"),
    (re.compile(r"我(?!们)"), "{}"),
    (re.compile(r"^(?:私|僕|俺|わたし|ぼく)(?=[はもがの])"), "{}"),
    (re.compile(r"^(?:나|저)(?=[는도])"), "{}"),
    (re.compile(r"^(?:내|제) (?=\w)"), "{}의 "),
    (re.compile(r"^(?:ผม|ฉัน|ดิฉัน)"), "{}"),
)


def first_person_of_scripts(text: str, name: str) -> list[Edit]:
    """The same for Chinese, Japanese, Korean and Thai, whose verbs do not change."""
    edits: list[Edit] = []
    for pattern, new in _OTHERS:
        for found in pattern.finditer(text):
            if not any(edit.start < found.end() and found.start() < edit.end for edit in edits):
                edits.append(Edit(found.start(), found.end(), new.format(name)))
    return edits


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
