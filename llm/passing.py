"""What is said but not worth keeping: weather, moods, errands, guesses, scraps of documents.

`low` is always a clause in small letters with plain apostrophes and without its end mark.
"""

import re

from rewound.llm.english import DETERMINERS, Word, is_finite, is_past, verb_at, words_of

_NOW = (
    r"(?:,? (?:today|now|right now|tonight|already|again|too|at the moment|just now|as always"
    r"|this (?:morning|afternoon|evening)|as usual))*"
)
_VERY = r"(?:(?:so|very|really|quite|pretty|a bit|a little|just|still|super|too|already|\w+ly) )*"
_WEATHER = (
    r"(?:it|the weather|the sun|the sky)(?:'s| is| was| has been| looks| feels) "
    r"(?:\w+ly |so |very |still |quite |pretty |been |getting )*(?:rain|snow|sunny|cloudy|hot\b"
    r"|cold\b|windy|freezing|foggy|stormy|hail|pouring|chilly|humid|warm\b|grey|gray|awful"
    r"|lovely|beautiful|nice|fine|bad|terrible|great|shining|drizzling|gorgeous|mild)\w*"
    r"(?: (?:outside|here|out|in \w+(?: \w+)?|again))*"
)
_STATES = (
    r"(?:tired|hungry|busy|thirsty|sleepy|exhausted|bored|stressed|starving|freezing|cold|hot|late"
    r"|happy|sad|excited|nervous|free|awake|sweating|hungover|cranky|grumpy|lazy|sick|off|at home"
    r"|home|at work|at the office|on my way|in a hurry|in a rush|in a meeting|running late|full"
    r"|stuck in traffic|out of (?:breath|office)|working from home|worn out|drained|in bed|online"
    r"|offline|on the (?:bus|train|tram|phone|road))"
)
_CHORES = (
    r"(?:buy|get|grab|pick up|call|phone|text|email|e-mail|reply|clean|wash|fetch|return|mail|send"
    r"|post|pay|water|feed|print|finish|fix|order|book|charge|leave|hurry|head|shower|pack|tidy"
    r"|iron|vacuum|mow|drop off|take out|submit|refill|top up|run|go(?: now| home| shopping| back"
    r"| to (?:the|my) \w+)?(?=$| now| today| tonight)|do (?:the|my|some) (?:laundry|dishes"
    r"|homework|shopping|groceries|chores|taxes))"
)
# What recurs or has a reason is more than an errand.
_LASTING = (
    r"(?:every|each|always|daily|weekly|monthly|yearly|usually|often|twice|once|because|since"
    r"|due to|whenever|before|after|(?:\w+day|morning|evening|night|weekend)s"
    r"|per (?:day|week|month))"
)
_PASSING = re.compile(
    rf"(?:{_WEATHER}|it (?:\w+ly )?(?:rained|snowed|poured)\b[^,]*"
    rf"|(?:i'm|i am|we're|we are|i feel|i'm feeling|we feel|i was) {_VERY}{_STATES}"
    rf"(?: (?:and|but|or) {_VERY}{_STATES})*"
    rf"|(?:i|we)(?:'ve)? (?:really |just |also |still |only )*(?:need to|have to|must|gotta|got to"
    rf"|should) (?:quickly |just |also |go (?:and )?)*{_CHORES}\b(?!.*\b{_LASTING}\b).*)"
    rf"{_NOW}"
)


def is_passing(low: str) -> bool:
    """Weather, how one feels today, an errand; worth keeping only with a day other than today."""
    return _PASSING.fullmatch(low) is not None


_THINKS = re.compile(
    r"i (?:just )?(?:think|believe|guess|suppose|assume|reckon|suspect)(?: that)? (?P<what>.+)"
    r"|(?P<maybe>(?:i|we|my \w+|he|she|they) (?:probably|must have|may have|could have) .+)"
)


_STOPPED = re.compile(
    r"(?:i|we|he|she|they)(?:'ve| have| has)? (?:\w+ly |then )?(?:stopped|gave up|gave it up)"
    r"(?: again| then| (?:in|on|last|when|after|before|about|around|over) .+| \w+ \w+ ago"
    r"| yesterday| today)?"
)


def has_open_object(low: str) -> bool:
    """`I stopped in 2020`: what was stopped stands elsewhere."""
    return _STOPPED.fullmatch(low) is not None


def is_guess(low: str) -> bool:
    """`I think I left my keys there`: what happened, as far as one knows. Opinions are none."""
    found = _THINKS.match(low)
    if found is None:
        return False
    words = words_of(found["what"] or found["maybe"])
    verb = verb_at(words)
    if verb < 0:
        return False
    return is_past(words[verb].low) or words[verb].low in ("must", "may", "could")


_METADATA = re.compile(
    r"(?:(?:last|first|recently|originally|automatically|auto) )?(?:re)?(?:edited|updated|modified"
    r"|changed|reviewed|created|published|revised|written|generated|saved|posted|uploaded|approved"
    r"|maintained|owned|signed|verified|checked|compiled|translated|printed|exported|authored)"
    r"(?: and \w+ed)?(?: automatically| \w+ly)?(?:\s?:| (?:by|on|at|in|from|with|\d))"
    r"|(?:authors?|date|status|version|owner|tags?|category|title|reviewers?|editor|revision"
    r"|copyright|licen[cs]e|last (?:change|update|edit|review|revision))\s?:|(?:©|copyright) "
)


# Written in 2019, the manual is long.
_OWN_SUBJECT = re.compile(r", (?:the|it|this|these|he|she|we|they|its|an?|his|her|our)\b")


def is_metadata(low: str) -> bool:
    """A line about the document itself: `Last edited by Ana on 3 May`."""
    found = _METADATA.match(low.lstrip("*_` "))
    return found is not None and _OWN_SUBJECT.search(low) is None


_LEFT_OUT = re.compile(
    r", (?:and )?(?:the )?(?P<what>[`*]{0,2}[\w.-]+[`*]{0,2} (?:once|twice|every|each|only|never"
    r"|always|at)\b[^,]*)$"
)
_MENTIONED = re.compile(r"(?:[*`]{1,2}|[\"“])(?:we|i|my|our|us|me)(?:[*`]{1,2}|[\"”])", re.I)


def is_elliptic(text: str) -> bool:
    """A clause that lends its verb to a second one (`the pump runs, the fan once a day`), or that
    speaks of the word `we` itself."""
    if _MENTIONED.search(text):
        return True
    found = _LEFT_OUT.search(text)
    return found is not None and verb_at(words_of(found["what"])) < 0


_CUT = frozenset(
    "the a an of and or but whose which than as from is are was were be every each".split()
)


_ASKING = frozenset("what which why how where who whose whether".split())


def is_cut(words: list[Word]) -> bool:
    """A clause that ends before its object does: `the valve feeds the`."""
    last = words[-1].low
    if words[0].low in _ASKING and sum(is_finite(word.low) for word in words) < 2:
        return True  # What the view holds.
    return last in _CUT or (last in DETERMINERS and last in ("my", "our", "your", "its", "their"))
