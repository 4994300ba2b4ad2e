"""Who `she` and what `it` is, when the sentence before leaves one answer.

Only the subject of the clause is resolved, only from the clause right before, and only when that
names one person or one thing. Anything else cannot stand alone and is left out.
"""

import re

from rewound.llm.english import DETERMINERS, Word, is_third, words_of
from rewound.llm.objects import Objects, meets_another, names_another, object_pronoun, put_in
from rewound.llm.people import PETS, gender_of
from rewound.llm.speakers import Edit, own_kin
from rewound.llm.whereabouts import Whereabouts

_PRONOUNS = {
    "he": "he", "he's": "he", "he'll": "he", "he'd": "he", "his": "he",
    "she": "she", "she's": "she", "she'll": "she", "she'd": "she", "her": "she",
    "it": "it", "it's": "it", "it'll": "it", "it'd": "it", "its": "it",
    "they": "they", "they're": "they", "they've": "they", "they'll": "they", "they'd": "they",
    "their": "they", "theirs": "they",
    "this": "this", "that": "this", "that's": "this", "that'd": "this", "that'll": "this",
    "these": "this", "those": "this",
}  # fmt: skip
_SUBJECTS = frozenset(
    word
    for word, kind in _PRONOUNS.items()
    if kind in ("he", "she", "it", "they") and word not in ("his", "her", "its", "their", "theirs")
)
_WEATHER = re.compile(
    r"it(?:'s| is| was| has been)? (?:\w+ly )?(?:rain|snow|sunny|cloudy|hot|cold|windy|freez)", re.I
)
_DEMONSTRATIVE_NOUN = re.compile(
    r"(?:this|that|these|those) (?:week|month|year|morning|evening|afternoon|weekend|summer"
    r"|winter|spring|autumn|friday|monday|tuesday|wednesday|thursday|saturday|sunday)\b",
    re.I,
)
# A thing that a clause brings in at its end: a new camera.
_THING = re.compile(
    r"\ban? (?P<noun>(?:(?!own\b)[a-z-]+ )?(?!yesterday|today|tomorrow|tonight|now\b|here\b)"
    r"[a-z-]{2,20})"
    r"(?=$|[,.!;]| (?:in|on|at|from|and|last|yesterday|today|called|named)\b)"
)
_MERE_PRAISE = re.compile(
    r"(?:it|they|he|she|this)(?:['’](?:s|re)| is| are| was| were)(?: (?:so|really|very|such|gonna"
    r"|going to|just|be"
    r"|an?|quite|pretty|truly|absolutely|super))*(?: (?:great|good|nice|awesome|amazing|cool|fun"
    r"|wonderful"
    r"|beautiful|lovely|fantastic|incredible|gorgeous|perfect|hard|tough|worth|important|crazy"
    r"|worthwhile))\b",
    re.I,
)
_OF_NOTHING = re.compile(r"it(?:['’]s| is) (?:(?:about|high) )?(?:time|up to|too late)\b", re.I)
_NOT_THINGS = frozenset("day week month year morning evening lot bit time while way".split())
_CHANGED_THING = re.compile(
    r"(?:they|someone|somebody|the (?:landlord|landlady|office|school|company|admins?|team"
    r"|building))"
    r"(?:['’]ve| have| has)? (?:just |recently |now )?(?:changed|reset|updated|replaced|moved"
    r"|swapped)"
    r" (?P<whose>the|our|my) (?P<what>(?:[\w-]+ ){0,3}?[\w-]+)(?: (?:again|yesterday|today|recently"
    r"|last \w+|this \w+))*",
    re.I,
)
_NOWHERE = Edit(0, 0, "")
_MARKS = re.compile(r"[*`]+")


class Antecedents:
    """What the clause before was about."""

    def __init__(self) -> None:
        self.people: list[tuple[str, str]] = []
        """Names, and whether each is `he`, `she` or either."""
        self.thing: str | None = None
        self.group: str | None = None
        self.where = Whereabouts()
        self.objects = Objects()
        self.said = self.said_before = ""
        """The finished text of the clause noted last, and of the one before it."""

    def forget(self) -> None:
        """The clause before was not understood, so nothing can be said of it."""
        self.where.forget()
        self.said = self.said_before = ""
        self._forget_subject()

    def _forget_subject(self) -> None:
        self.objects.forget()
        self.people = []
        self.thing = self.group = None

    def resolve(self, text: str, words: list[Word]) -> Edit | None:
        """The edit that puts the name in the subject's place, one of no width where none is
        needed, or None when the subject cannot be resolved."""
        first = words[0]
        if first.low == "now" and len(words) > 2 and words[1].low in _SUBJECTS:
            return self._now(text, words)
        kind = _PRONOUNS.get(first.low)
        if kind is None or _WEATHER.match(text) or _DEMONSTRATIVE_NOUN.match(text):
            return _NOWHERE if not self._dangling(words) else None
        name = self._named(kind)
        if name is not None and kind in ("he", "she") and meets_another(self.said, name, kind):
            return None
        if name is None or _MERE_PRAISE.match(text) or first.low.endswith(("'ll", "'d", "'ve")):
            return None
        if first.low in ("his", "her", "its", "their"):
            return Edit(first.start, first.end, f"{name}'s")
        if first.low.endswith("'re"):
            return Edit(first.start, first.end, f"{name} are")
        if first.low.endswith("'s"):
            participle = len(words) > 1 and words[1].low in ("been", "got", "had", "gone")
            return Edit(first.start, first.end, f"{name} {'has' if participle else 'is'}")
        return Edit(first.start, first.end, name)

    def _now(self, text: str, words: list[Word]) -> Edit | None:
        """The same of a clause that tells what has become of something: `Now it's teal` says that
        the colour is now teal."""
        now, pronoun, after = words[:3]
        rest = text[pronoun.start :]
        if any(mere.match(rest) for mere in (_WEATHER, _MERE_PRAISE, _OF_NOTHING)):
            return None
        name = self._named(_PRONOUNS[pronoun.low])
        if name is None and pronoun.low.startswith("it") and len(self.people) == 1:
            (one, _), *_ = self.people
            name = one if "'s " in one else None  # Tom's manager was Ann, now it's Eve
        if name is None or pronoun.low.endswith(("'ll", "'d", "'ve")):
            return None
        if pronoun.low.endswith(("'s", "'re")):
            participle = after.low in ("been", "got", "had", "gone")
            verb = "has" if participle else "are" if pronoun.low.endswith("'re") else "is"
            return Edit(now.start, pronoun.end, f"{name} {verb} now")
        if after.low in ("is", "are", "was", "were", "has", "have"):
            return Edit(now.start, after.end, f"{name} {after.low} now")
        return Edit(now.start, pronoun.end, f"{name} now")

    def changed_by_others(self, text: str, shown_as: str) -> bool:
        """Whether somebody unnamed is told to have changed a thing: they changed the gate code. It
        may be spoken of next, as what `shown_as` calls what is `our`."""
        found = _CHANGED_THING.fullmatch(text)
        if found is None:
            return False
        self.forget()
        whose = "the" if found["whose"].lower() == "the" else f"{shown_as}'s"
        self.thing = f"{whose} {found['what']}"
        self.said = f"{self.thing} changed"
        return True

    def _dangling(self, words: list[Word]) -> bool:
        """A pronoun close behind an opening such as `Then she …`."""
        heads = [word.low for word in words[:3]]
        return (
            len(heads) > 1
            and heads[0] in ("then", "now", "later", "also", "today", "yesterday")
            and heads[1] in _SUBJECTS
        )

    def resolve_object(self, words: list[Word], verb: int, speaker: str) -> list[Edit]:
        """The edit that puts in what a pronoun behind the verb stands for, where that is known."""
        word = object_pronoun(words, verb)
        if word is None:
            return []
        if word.low in ("him", "her"):
            name = self._named("he" if word.low == "him" else "she")
            if name is None or names_another(self.said, name, speaker):
                return []
            return [put_in(word, name)]
        one = word.low == "it"
        found = [self.thing, self.objects.one] if one else [self.group, self.objects.many]
        names = [name for name in found if name is not None]
        if len(names) == 2 and names[0].endswith(names[1].removeprefix("the ")):
            names.pop()  # Nina's cat, the cat
        return [put_in(word, names[0])] if len(names) == 1 else []

    def _named(self, kind: str) -> str | None:
        if kind in ("he", "she"):
            fitting = [name for name, gender in self.people if gender in (kind, "either")]
            return fitting[0] if len(fitting) == 1 else None
        return {"it": self.thing, "they": self.group}.get(kind)

    def note(self, text: str, words: list[Word], verb: int, shown: str, speaker: str) -> None:
        """Remember what a clause was about. `shown` is its finished text, in which `speaker` is
        the first person."""
        self.where.note(shown, words[0].low in _FIRST)
        self.said_before, self.said = self.said, shown
        held = self.thing, self.group, self.objects
        self._note(text, words, verb, shown, speaker)
        if object_pronoun(words, verb) and not (self.thing or self.group):
            self.thing, self.group, _ = held  # It may be spoken of again.
        self.objects = held[2]
        somebody = bool(self.people) or words[0].low in _FIRST or words[0].low in _SUBJECTS
        named = words[0].text[0].isupper() and words[0].low not in DETERMINERS
        self.objects.note(shown, words, verb, owned=somebody or named)

    def _note(self, text: str, words: list[Word], verb: int, shown: str, speaker: str) -> None:
        if words[0].low in _PRONOUNS:
            others = any(gender_of(word.low) for word in words[1:])
            if others and not _IS_ONE & {word.low for word in words[:2]}:
                self._forget_subject()  # She met an aunt: either may be meant by the next `she`.
            return  # Still the same.
        self._forget_subject()
        things = [found["noun"] for found in _THING.finditer(text)]
        people = [noun for noun in things if gender_of(noun)]
        self._note_subject(words_of(shown), text, words, verb, shown)
        named = [word for word in words[max(verb, 0) :] if gender_of(word.low)]
        if people and len(named) == sum(bool(gender_of(w)) for p in people for w in p.split()):
            self._note_people(people, words, verb, speaker)
        elif not self.people and len(things) == 1:
            noun = things[0].split()[-1]
            if noun not in _NOT_THINGS:
                self.thing = f"the {things[0]}"

    def _note_people(self, people: list[str], words: list[Word], verb: int, speaker: str) -> None:
        """Those whom a clause brings in at its end: a dog, a son."""
        near = {word.low for word in words[max(verb, 0) : verb + 2]}
        own = words[0].low in ("i", "we", "i've", "we've")
        if not own and _IS_ONE & near:
            return  # Tom is a friend: the same one.
        owner = speaker if own else self.people[0][0] if len(self.people) == 1 else None
        for noun in people:
            whose = f"{owner}'s" if owner and _KEEPING & near else "the"
            gender = gender_of(noun.split()[-1]) or gender_of(noun)  # a baby brother
            self.people.append((f"{whose} {noun}", gender))
        if len(people) == 1 and people[0].split()[-1] in PETS:
            self.thing = self.people[-1][0]

    def _note_subject(
        self, finished: list[Word], text: str, words: list[Word], verb: int, shown: str
    ) -> None:
        if verb < 1 or words[0].low in ("i", "we", "there", "you"):
            return
        lows = [word.low for word in words[:verb]]
        if "i" in lows or len(lows) > 4:
            return
        owner = next((word for word in finished if word.text.endswith("'s")), None)
        subject = _named_subject(lows, owner, text, words, verb, shown)
        if "and" in lows or (lows[0] in ("my", "our", "the") and _is_plural(words, verb)):
            self.group = subject
            return
        named = _NAMED.match(text)
        if named and gender_of(named["who"].lower()):
            self.people.append((named["name"], gender_of(named["who"].lower())))
            return
        gender = next((gender_of(low) for low in lows if gender_of(low)), "")
        capital = words[0].low not in DETERMINERS and words[0].text[0].isupper() and verb <= 2
        if not gender and verb > 1 and lows[0].endswith("'s"):
            self.thing = subject  # Marta's number
        elif gender or capital:
            name = re.search(r"[A-Z]\w+$", subject or "")
            person = name[0] if name and lows[0] in ("my", "our") else subject
            if person:
                self.people.append((person, gender or "either"))
        elif lows[0] in ("my", "our", "the"):
            self.thing = subject


# My wife's name is Elena, my son is called Max.
_NAMED = re.compile(
    r"[Mm]y (?P<who>[a-z]+)(?:['’]s name is| is (?:called|named)) (?P<name>[A-Z][\w-]+)$"
)
_FIRST = frozenset("i i'm i've we we're we've".split())
_KEEPING = frozenset("have has got adopted bought own rescued raise keep".split())
_IS_ONE = frozenset("is was became she's he's it's they're are were".split())


def _is_plural(words: list[Word], verb: int) -> bool:
    """Whether a subject is several things: the verb tells, else an s that no name ends in."""
    last, after = words[verb - 1], words[verb].low
    if after in ("are", "were", "have", "do", "aren't", "weren't", "haven't", "don't"):
        return True
    if after in ("was", "wasn't", "isn't", "hasn't", "doesn't") or is_third(after):
        return False
    ends = last.low.endswith("s") and not last.low.endswith(("ss", "us", "is", "'s"))
    return ends and not last.text[0].isupper()


def _named_subject(
    lows: list[str], owner: Word | None, text: str, words: list[Word], verb: int, shown: str
) -> str | None:
    """The subject of a clause as its finished text says it."""
    subject = _MARKS.sub("", text[words[0].start : words[verb - 1].end])
    if verb == 1 and owner and (kin := own_kin(words, 0)):
        return f"{owner.text} {kin}"
    if not {"my", "our"} & set(lows):
        return subject[0].lower() + subject[1:] if lows[0] == "the" else subject
    if owner is None or lows[0] not in ("my", "our") or lows.count("my") + lows.count("our") > 1:
        return None
    rest = text[words[0].end : words[verb - 1].end]
    return f"{shown[: owner.end]}{_MARKS.sub('', rest)}"
