"""Nouns for people and pets, and whether one is `he`, `she` or either."""

import re

from rewound.llm.english import is_finite, words_of

_SHE = frozenset(
    "mother mom mum sister wife daughter aunt grandmother grandma niece girlfriend mrs ms queen "
    "granddaughter stepmother woman girl lady".split()
)
_HE = frozenset(
    "father dad brother husband son uncle grandfather grandpa nephew boyfriend mr king grandson "
    "stepfather man boy".split()
)
PETS = frozenset(
    "dog cat puppy kitten parrot rabbit hamster horse pony budgie bunny goldfish tortoise "
    "ferret".split()
)
_EITHER = PETS | frozenset(
    "friend boss colleague coworker neighbor neighbour cousin partner teacher doctor manager "
    "roommate dentist therapist coach landlord baby kid child fiance fiancee spouse sibling".split()
)
_GROUPS = frozenset(
    "parents grandparents family kids children people siblings relatives others everyone "
    "everybody folks guys couple".split()
)


def gender_of(phrase: str) -> str:
    """`she`, `he`, `either`, or nothing for a phrase that names no one person."""
    for word in phrase.split():
        if word in _SHE:
            return "she"
        if word in _HE:
            return "he"
        if word in _EITHER:
            return "either"
    return ""


def names_people(low: str) -> bool:
    """Whether a word is a noun for a person, for a pet, or for several."""
    return low in _GROUPS or bool(gender_of(low) or gender_of(low.removesuffix("s")))


def is_person(phrase: str) -> bool:
    """Whether a subject is a person: Tom, the user, Nina's sister. Not the party, Nina's exam."""
    words = words_of(phrase)
    if not words:
        return False
    last = words[-1]
    if last.low[-1].isdigit():
        return False  # Ticket 412.
    if names_people(last.low) or phrase.lower() in ("the user", "the author"):
        return True
    named = words[0].text[0].isupper() and words[0].low not in _OPEN
    return named and last.text[0].isupper()


_RELATIONS = frozenset(
    "lawyer doctor nanny tutor agent client tenant assistant supervisor mentor secretary trainer "
    "fiancé fiancée ex guardian carer godmother godfather housemate flatmate classmate".split()
)
_OF_OWNER = re.compile(
    r"(?:[Tt]he )?(?P<what>(?:(?:older|younger|elder|eldest|youngest|twin|late|former|new|best) )?"
    r"[a-zé-]{2,14}) of (?P<who>(?:[\w'’-]+ ){0,3}?[A-Z][\w-]*(?: [A-Z][\w-]*)*)"
    r"(?=$| (?!and |or )[a-z])"
)


def owner_first(text: str) -> str:
    """A statement about `the sister of Nina` as one about Nina's sister; any other as it is."""
    found = _OF_OWNER.match(text) if " of " in text[:60] else None
    if found is None:
        return text
    noun = found["what"].split()[-1]
    if not (gender_of(noun) or noun in _RELATIONS):
        return text
    if any(is_finite(word.low) for word in words_of(found["who"])):
        return text  # The boss of the team is Tom.
    return f"{found['who']}'s {found['what']}{text[found.end() :]}"


_OPEN = frozenset("the a an this that these those my our his her its their".split())
