"""Words of English that the rules go by: which are verbs, and which form of one a word is.

A small lexicon, not a grammar: unknown words are judged by their endings where that is safe.
"""

import re
from typing import NamedTuple


class Word(NamedTuple):
    """A word of a text, its lower-case form with plain apostrophes, and where it stands."""

    text: str
    low: str
    start: int
    end: int


WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
"""A word as `words_of` counts them."""


def plain_form(word: str) -> str:
    """In lower case, with plain apostrophes."""
    return word.lower().replace("’", "'")


def words_of(text: str) -> list[Word]:
    """The words in order; `don't`, `Marta's` and `well-known` are one word each."""
    return [
        Word(word := found[0], word.lower().replace("’", "'"), found.start(), found.end())
        for found in WORD.finditer(text)
    ]


# The forms as they follow "I" in the present tense.
VERBS = frozenset(
    """
    accept ache achieve act adapt add admire admit adopt adore advise afford agree aim allow answer
    apply appreciate argue arrange arrive ask attend avoid bake bathe be bear become begin believe
    belong bike bite blame boil book borrow break breathe breed brew bring brush build burn buy call
    camp can't care carry catch celebrate change charge check choose claim clean climb close coach
    code collect come commute compete complain concentrate connect consider contact contain
    continue contribute control cook cost count cover crave create crochet cry cut cycle dance deal
    decide decline decorate deliver depend describe deserve design detest develop die dig direct
    disagree discover discuss dislike dive do donate draw dream dress drink drive drop earn eat
    edit embroider employ enjoy enter escape exercise exist expect experience explain explore
    export fail fall farm fast fear feed feel fight file fill find finish fish fit fix fly focus
    follow forget forgive freeze garden gather get give go grade graduate grow guess guide handle
    hang happen hate have head hear help hide hike hire hit hold hope host hug hunt import improve
    include increase inherit insist install intend introduce invest invite iron jog join juggle
    jump keep kick kill knit know lack laugh lead lean learn leave lend let lie lift like listen
    live load loathe lock look lose love lower maintain make manage mark marry matter mean measure
    meditate meet mend mentor mind miss mix move mow need notice obtain offer open operate order
    organise organize owe own pack paint park participate pass pay perform phone pick plan plant
    play plead point post pour practice practise pray prefer prepare present press pretend print
    produce program promise protect prove provide publish pull push put quit raise reach react read
    realise realize receive recommend record recover reduce refuse regret rely remain remember
    remind remove renovate rent repair replace reply report repot represent require research
    resent resign respect rest restore retire return ride ring rise row run sail save say see seek
    seem sell send serve set sew share shine shoot shop show sign sing sit skate sketch ski skip
    sleep smell smile smoke snore solve sort sound speak spend spread stand start stay steal stick
    stop store stretch struggle study suffer suggest support supply surf survive suspect sweat swim
    switch take talk taste teach tell tend test thank think throw touch train translate travel treat
    trust try turn type understand use value vary visit volunteer vote wait wake walk want wash
    waste
    watch wear weave weed weigh win wish wonder work worry write yell
    boot chair compile consist cool crash date deploy download drain enrol enroll expire feature
    fetch
    flow freelance fund harvest host lecture major manufacture merge minor oversee parse power
    process
    propose prune rank recruit relocate render renew reside restart scale specialise specialize
    sponsor
    spray stem supervise sync transport trim upload water
    bark bloom board depart hatch land leak melt premiere
    """.split()
) - {"can't"}

# Past forms that no ending tells; those that are also present ones are in SAME_IN_PAST.
IRREGULAR = frozenset(
    """
    ate became began bent bit bled blew bought bound bred broke brought built burnt came caught
    chose clung crept dealt did dove drank dreamt drew drove dug fed fell felt fled flew forgave
    forgot fought found froze gave got grew had heard held hid hung kept knelt knew laid lay led
    leant learnt left lent lit lost made meant met mistook misunderstood outgrew overcame overslept
    paid proved ran rang redid rode rose said sang sank sat saw sent sewed shone shot shook showed
    shrank
    slept slid smelt snuck sold sought spelt spent spilt spoke sped spun stole stood stuck stung
    struck swam swept swore swung taught thought threw told took tore undertook understood undid
    went wept withdrew woke won wore wound wove wrote
    """.split()
)
SAME_IN_PAST = frozenset(
    "bet burst cast cost cut fit hit hurt let put quit read rid set shut split spread".split()
)
_NOT_PAST = frozenset(
    "need feed breed bleed speed seed weed embed exceed succeed proceed heed indeed bed red shed "
    "hundred wed sled ted fred led-light agreed-upon".split()
)
# Past forms that stand after a noun more often than they end its waiting for a verb.
PARTICIPLES = frozenset(
    "named called made located based painted used given known born titled written held built "
    "left bought found taught spent lost".split()
)
BE = frozenset("am is are was were isn't aren't wasn't weren't ain't".split())
HAVE = frozenset("have has had haven't hasn't hadn't".split())
DO = frozenset("do does did don't doesn't didn't".split())
MODALS = frozenset(
    "can could will would shall should may might must cannot can't couldn't won't wouldn't "
    "shouldn't mustn't shan't needn't ought".split()
)
AUXILIARIES = BE | HAVE | DO | MODALS
PAST_AUXILIARIES = frozenset("was were had did wasn't weren't hadn't didn't".split())
PRONOUNS = frozenset("i we he she it they you this that there these those who".split())
DETERMINERS = frozenset(
    "my our his her their its your the a an this that these those some every each one two three "
    "both all many most no".split()
)
ADVERBS = frozenset(
    "never always often also just still usually sometimes only even already now currently ever "
    "rarely seldom not both then again later soon once almost quite rather too well much "
    "nowadays today yesterday mostly finally normally honestly definitely certainly probably "
    "perhaps maybe simply mainly hardly barely occasionally no longer first".split()
)
_LY_NOT_ADVERBS = frozenset("fly apply rely reply supply family italy july only multiply".split())


def is_adverb(low: str) -> bool:
    """Words that may stand between a subject and its verb."""
    return low in ADVERBS or (len(low) > 4 and low.endswith("ly") and low not in _LY_NOT_ADVERBS)


def third_person(verb: str) -> str:
    """The present form after a name: like → likes, try → tries, have → has."""
    special = {
        "have": "has", "do": "does", "am": "is", "are": "is", "be": "is",
        "don't": "doesn't", "haven't": "hasn't", "aren't": "isn't", "were": "was",
    }  # fmt: skip
    if verb in special:
        return special[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and len(verb) > 1 and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def gerund(verb: str) -> str:
    """smoke → smoking, run → running, play → playing."""
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1] if _DOUBLED.fullmatch(verb) else ''}ing"


# One syllable that ends in a single consonant behind a single vowel; quit is one.
_DOUBLED = re.compile(r"(?:[^aeiou]*|qu)[aeiou][^aeiouwxy]")
THIRD = {third_person(verb): verb for verb in VERBS}
# Third-person forms that are more often nouns: no verb on their own, only after a clear subject.
_NOUNS_TOO = frozenset(
    "acts answers aims bikes books calls camps cares changes charges checks claims coaches codes "
    "controls cooks costs counts covers cuts cycles dances deals designs dreams dresses drinks "
    "drives drops exercises experiences exports falls farms fears fights files fits fixes flies "
    "guides hikes hits hopes hosts hunts imports increases irons jumps kicks lacks laughs leads "
    "barks boards lands leaks "
    "lies lifts likes-and loads locks looks marks matters measures minds mixes moves needs notices "
    "offers orders packs paints parks passes phones picks plans plants plays points posts presents "
    "prints programs promises reports rests returns rides rings rises rows runs sails sales shares "
    "shines shops shows signs skis smells smiles sounds stands starts stays sticks stops stores "
    "studies supports supplies surfs tastes tests trains travels treats turns types uses values "
    "visits votes waits walks watches weeds wins wishes works worries".split()
)


def is_past(low: str) -> bool:
    """Past forms: went, planted. Not was and had, which say nothing of an action."""
    if low in IRREGULAR:
        return True
    return len(low) > 3 and low.endswith("ed") and low not in _NOT_PAST


def is_third(low: str) -> bool:
    return low in THIRD or low in ("has", "is", "does")


def is_finite(low: str) -> bool:
    """A form that can be the verb of a clause whose subject is a name or a noun."""
    return low in AUXILIARIES or low in THIRD or is_past(low) or low in SAME_IN_PAST


def is_verb_form(low: str) -> bool:
    """Finite or not: any form that the lexicon tells."""
    return low in VERBS or is_finite(low)


def is_surely_finite(low: str) -> bool:
    """A form that is hardly ever a noun or the close of a noun's description."""
    if low in AUXILIARIES:
        return True
    if low in THIRD:
        return low not in _NOUNS_TOO
    return is_past(low) and low not in PARTICIPLES


_SHORTENED = re.compile(r"(?:i|we|you|they|he|she|it|that|there|who|what|here)'(?:m|re|ve|s|ll|d)")


def holds_its_verb(low: str) -> bool:
    """A pronoun and its verb in one word: I'm, she's, they've."""
    return "'" in low and _SHORTENED.fullmatch(low) is not None


_PLURALS = frozenset("people children men women parents kids both".split())


def verb_at(words: list[Word], first: int = 0) -> int:
    """The place of the first finite verb of a clause that begins at `first`, or -1.

    The word after `I`, `we`, `you` and `they` is taken for the verb whatever it is; elsewhere the
    word must be known as one, or end as one behind a capitalised name.
    """
    subject = False
    for place in range(first, len(words)):
        low = words[place].low
        if holds_its_verb(low):
            return place
        if is_adverb(low):
            continue
        if low in ("i", "we", "they", "you"):
            after = _past_adverbs(words, place + 1)
            if after < len(words) and words[after].low not in ("and", "or", "who"):
                return after
        if subject and _can_be_verb(words, place):
            return place
        subject = subject or low not in _NO_SUBJECTS
    return -1


_NO_SUBJECTS = frozenset(
    "so such very as too more much super almost especially and but or to of in on at for with "
    "from by "
    "like than highly pretty gonna wanna gotta going hoping looking trying thinking planning since "
    "until into about ok okay yes no".split()
)


def _past_adverbs(words: list[Word], place: int) -> int:
    while place < len(words) and is_adverb(words[place].low):
        place += 1
    return place


def _can_be_verb(words: list[Word], place: int) -> bool:
    low = words[place].low
    before = words[place - 1]
    if before.low in DETERMINERS and low not in AUXILIARIES and before.low not in PRONOUNS:
        return False
    if before.low in ("to", "of", "with", "for", "in", "at", "on", "from", "by"):
        return False
    if low in AUXILIARIES or low in THIRD:
        return True
    if is_past(low) or low in SAME_IN_PAST:
        return True
    if low in VERBS and (before.low.endswith("s") or before.low in _PLURALS):
        return before.low not in DETERMINERS and not before.low.endswith(("ss", "'s"))
    return takes_object(words, place) or (
        before.text[0].isupper() and place + 1 < len(words) and _ends_as_third(words[place])
    )


def takes_object(words: list[Word], place: int) -> bool:
    """An unknown word that must be a verb: `the valve vents the tank`."""
    after = words[place + 1].low if place + 1 < len(words) else ""
    if not place or after not in _OBJECTS or not _ends_as_third(words[place]):
        return False
    before = words[place - 1]  # A plural is followed by a plain form; Jonas is none.
    return before.text[0].isupper() or not before.low.endswith("s")


_OBJECTS = frozenset("the a an its their his her my our your no any".split())


def _ends_as_third(word: Word) -> bool:
    ends = word.low.endswith("s") and not word.low.endswith(("ss", "us", "is", "'s"))
    return ends and word.text.islower() and len(word.low) > 3
