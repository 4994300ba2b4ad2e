"""What `it`, `them`, `him` and `her` are where they stand behind a verb: I sold it, I love her.

Only what the clause right before leaves is put in, and only where that is one thing, or several of
one sort, or one person. Where `it` stands for nothing (I made it, call it a day) nothing is.
"""

import re
from collections.abc import Sequence

from rewound.llm.english import (
    AUXILIARIES,
    DETERMINERS,
    Word,
    is_adverb,
    is_verb_form,
    words_of,
)
from rewound.llm.people import gender_of
from rewound.llm.speakers import Edit

_STOP = (
    r"(?=$|[,.;!]| (?:in|on|at|near|by|into|under|behind|from|for|with|to|of|since|until|as|last"
    r"|this|next|every|each|when"
    r"|because|named|called|yesterday|today|now|again|too|and|but|who|which|that|\d{4}|[a-z]+ "
    r"ago)\b)"
)
_NOUN = (
    r"(?!(?:lot|bit|few|while|time|way|day|week|month|year|new one|job)\b)(?:[\w-]+ ){0,2}?[\w-]+"
)
_ONE = re.compile(rf"\b(?:an?|one|another) (?P<noun>{_NOUN}){_STOP}", re.I)
_GIVEN = re.compile(
    r"(?<!\bin )(?<!\bon )(?<!\bat )(?<!\bto )(?<!\bof )(?<!\bby )(?<!\bnear )(?<!\bfrom )"
    r"(?<!\bfor )"
    r"(?<!\bwith )(?<!\babout )(?<!\binto )(?<!\bafter )(?<!\bbefore )(?<!\bduring )"
    rf"(?P<noun>\b(?:the|their|[A-Z][\w-]*['’]s) {_NOUN}){_STOP}"
)
_SEVERAL = re.compile(
    rf"\b(?:two|three|four|five|six|seven|eight|nine|ten|\d{{1,2}}|some|several|a few|many|these"
    rf"|those) (?P<noun>{_NOUN}){_STOP}",
    re.I,
)
# What one likes, takes and uses is told without an article.
_BARE = re.compile(
    r" (?:lov|lik|hat|enjoy|ador|prefer|tr[iy]|tak|us|eat|drink|drank|ate|took|read|watch|play"
    r"|grow|sell"
    r"|buy|bought|sold|cook|bak|mak|made|learn|stud|wear|wore|collect|miss)(?:e?s|ed|e|ies|ied|y)? "
    rf"(?P<noun>(?!(?:an?|the|their|his|her|its|it|them|him|to|in|on|at|for|that|how|when|what)\b)"
    rf"[\w-]+(?: (?!(?:in|on|at|from|for|with|to|and)\b)[a-z-]+)?){_STOP}"
)
_PLURAL_FIRST = re.compile(r"(?P<noun>[A-Z][a-z-]+s|[A-Z][a-z-]+ [a-z-]+s) (?:are|were|have)\b")
_PRONOUNS = frozenset(("it", "them", "him", "her"))
# I made it, did it, got it; call it a day, take it easy.
_IDLE = frozenset(
    "make made makes making do did does done doing call called calls take taken "
    "takes is "
    "was be being about than as find found finds think thought thinks keep believe hear heard "
    "worth "
    "of if that let lets say said says told saw see sees mean means hope know knew guess "
    "bet".split()
)
_GOT_SO = frozenset("from at in for on as last yesterday today when".split())
_SEEMS = ("look", "sound", "feel", "felt", "seem", "smell", "taste")
_MAY_FOLLOW = frozenset(
    "in on at to from with for since until by after before as every each once twice again now "
    "yesterday today tonight last this next because and but a away back up off out down too well "
    "much "
    "tomorrow soon later myself himself herself themselves all daily weekly anymore any when "
    "while".split()
)
# Because of it, think of it: what happened is meant, or something else.
_OF_IT = frozenset("because instead think thinks thought thinking hear heard".split())


class Objects:
    """What the clause before brought in behind its verb: one thing, or several of one sort."""

    def __init__(self) -> None:
        self.one: str | None = None
        self.many: str | None = None

    def forget(self) -> None:
        self.one = self.many = None

    def note(self, shown: str, words: Sequence[Word], verb: int, *, owned: bool) -> None:
        """Remember what a finished clause brings in. `owned` says that its subject is somebody: of
        two things either may be meant."""
        place = _PLURAL_FIRST.match(shown)
        behind = shown if verb < 1 else shown[_after(shown, words, verb) :]
        several = [found["noun"] for found in _SEVERAL.finditer(behind)]
        given = [found["noun"] for found in _GIVEN.finditer(behind)]
        ones = [f"the {found['noun']}" for found in _ONE.finditer(behind)]
        ones += [noun for noun in given if not _is_plural(noun)]
        many = [f"the {noun}" for noun in several if _is_plural(noun)]
        many += [noun for noun in given if _is_plural(noun)]
        if not (ones or many):
            many += _plural_behind(words, verb)
        bare = _BARE.search(shown) if not (ones or many) else None
        if bare:
            noun = bare["noun"]
            told = f"the {noun}" if noun.startswith("new ") else noun
            (many if _is_plural(noun) else ones).append(told)
        if place:
            many, ones = [f"{place['noun'][0].lower()}{place['noun'][1:]}"], []
        if not (ones or many) and _PRONOUNS & {word.low for word in words}:
            return  # Still the same.
        self.one = ones[0] if len(ones) == 1 and owned else None
        self.many = many[0] if len(many) == 1 else None


def object_pronoun(words: Sequence[Word], verb: int) -> Word | None:
    """The one pronoun behind the verb that stands for something said before."""
    found = [
        place for place in range(max(verb, 0) + 1, len(words)) if words[place].low in _PRONOUNS
    ]
    if len(found) != 1 or verb < 0 or words[0].low in ("it", "it's", "they", "they're"):
        return None
    (place,) = found
    word, before = words[place], words[place - 1]
    after = words[place + 1].low if place + 1 < len(words) else ""
    alike = before.low == "like" and words[place - 2].low.startswith(_SEEMS)
    got = before.low in ("get", "gets", "got") and after not in _GOT_SO
    if word.low == "it" and (before.low in _IDLE or alike or got):
        return None
    if before.low == "of" and words[place - 2].low in _OF_IT:
        return None
    if after and after not in _MAY_FOLLOW and not (is_adverb(after) or after[0].isdigit()):
        return None
    if word.low == "it" and after == "to" and words[place + 2 : place + 3]:
        following = words[place + 2]
        if following.low not in DETERMINERS | {"work", "school"} and following.text[0].islower():
            return None  # It takes me, it is hard to: a verb follows.
    return word


def put_in(word: Word, name: str) -> Edit:
    return Edit(word.start, word.end, name)


def names_another(shown: str, name: str, speaker: str) -> bool:
    """Whether a finished clause speaks of somebody besides the speaker and the person of that name.
    What stands with the name is of the same person: her sister Ana, a daughter, Mia."""
    last = re.escape(name.split()[-1])
    said = re.sub(
        rf"\b(?:[a-z-]+ )?{last}(?:,? (?:(?:named|called|is|was) )?(?:(?:Mr|Mrs|Ms|Dr)\.? )?"
        r"[A-Z][\w-]*(?=$|[ ,.]))?",
        "",
        shown,
    )
    known = {word for each in (name, speaker) for word in each.lower().replace("'s", "").split()}
    before = ""
    for word in words_of(said):
        low = word.low.removesuffix("'s")
        if low not in known and low not in DETERMINERS and before not in _PLACED:
            if gender_of(low) in ("he", "she") or word.text[0].isupper():
                return True
        before = word.low
    return False


_MEETS = re.compile(
    r"\b(?:gave|gives|sent|told|met|asked|married|kissed|hugged|paid|showed|lent|invited|taught"
    r"|brought|bought|helped|hired|thanked|beat|introduced|promised|phoned|dumped|divorced|with|and"
    r"|to) (?P<name>[A-Z][\w-]*)(?! (?:Street|Road|City|University|Airport|Station))"
)
_RELATED = re.compile(
    r"(?<!\bis )(?<!\bwas )\b(?:[A-Z][\w-]*['’]s|their|his|her) (?:[a-z-]+ )?(?P<noun>[a-z-]+)\b"
    r"(?!['’])"
)
_GOES = re.compile(
    r"\b(?:mov|trave?l|flew|fly|went|go|goes|drove|driv|emigrat|return|com)\w* .*\bto "
)


def meets_another(said: str, name: str, kind: str) -> bool:
    """Whether a finished clause brings its subject together with somebody who may be meant by the
    next `he` or `she` (`kind`) as well: Tom gave Kate a ring, his sister called his mother."""
    rest = said.partition(name)[2] or said
    if any(gender_of(found["noun"]) in (kind, "either") for found in _RELATED.finditer(rest)):
        return True
    if gender_of(name.split()[-1]) in ("he", "she") or _GOES.search(rest):
        return False
    return any(found["name"] not in name for found in _MEETS.finditer(rest))


_PLACED = frozenset("in at from to near on since".split())


def _plural_behind(words: Sequence[Word], verb: int) -> list[str]:
    """The several things right behind a verb that says what is done with them: keeps bees."""
    for place in range(max(verb, 0), len(words) - 1):
        word, after = words[place], words[place + 1]
        does = is_verb_form(word.low) and word.low not in AUXILIARIES
        if not does or not after.text.islower() or not _is_plural(after.low):
            continue
        ends = place + 2 == len(words) or words[place + 2].low in _MAY_FOLLOW
        noun = not (is_verb_form(after.low) or is_adverb(after.low) or after.low in DETERMINERS)
        return [after.low] if ends and noun else []
    return []


def _after(shown: str, words: Sequence[Word], verb: int) -> int:
    """Where the subject of a finished clause ends, nearly: the speaker's name may be longer."""
    found = re.search(rf" (?:{re.escape(words[verb].low)}\w*) ", shown)
    return found.start() if found else len(shown.split(" ", 1)[0])


def _is_plural(noun: str) -> bool:
    last = noun.split()[-1].lower()
    return last.endswith("s") and not last.endswith(("ss", "us", "is", "'s", "’s"))
