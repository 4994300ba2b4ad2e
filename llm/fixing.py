"""Instructions that settle a fact: `Book the demo for 3 pm` makes it true that the demo is at 3 pm.

Only what sets something known to a value counts (the demo, my deadline), never what asks for
something new (a table for two).
"""

import re

from rewound.llm.attribute_table import CLOCK
from rewound.llm.reaching import reached, renewed

_PLEASE = (
    r"(?:(?:please|pls|ok|okay|now|then|also|hey|and|so|great|thanks|actually),? "
    r"|(?:can|could|would|will) you (?:please |kindly )?|let['’]?s (?:please )?|go ahead and )*"
)
_END = r"(?:,? (?:please|pls|thanks|thank you|for me|then|instead|now))*"
_NOT_EVENTS = (
    r"(?!(?:\w+ ){0,2}?(?:alarms?|timers?|reminders?|oven|thermostat|heating|table|clock|volume"
    r"|temperature)\b)"
)
_SUBJECT = rf"(?P<s>(?:the|my|our|this) {_NOT_EVENTS}(?:[\w'’-]+ ){{0,3}}?[\w'’-]+)"
_DAY = (
    r"(?:(?:(?:next|this|coming) )?(?:mon|tues|wednes|thurs|fri|satur|sun)day(?: (?:next week"
    r"|morning|afternoon|evening|night))?|tomorrow(?: (?:morning|afternoon|evening))?|tonight|today"
    r"|next (?:week|month)|the \d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)?"
    r"(?: of)? (?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december)(?: \d{4})?|(?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december) \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?)"
)
_ROOM = r"(?:(?:meeting |conference )?room [\w.-]+|the [A-Z][\w-]* room)"
_AT = rf"(?:at |@ )?{CLOCK}"
_WHEN = (
    rf"(?P<day>{_DAY})?,?(?(day) ?)(?P<clock>{_AT})?(?(clock)(?:,? on (?P<later>{_DAY}))?)"
    rf"(?:,? ?(?:in )?(?P<room>{_ROOM}))?"
)
_SCHEDULED = re.compile(
    rf"{_PLEASE}(?:book|schedule|arrange|plan|move|reschedule|push|postpone|shift|set up|set|put"
    rf"|bring|change|switch|fix|delay) {_SUBJECT}(?: back| forward| down)?(?: from [^,]{{1,25}}?)?"
    rf" (?:for|to|at|on|until|in|into) (?=\S){_WHEN}{_END}",
    re.I,
)
_PARTS = (
    r"(?:deadline|due date|start date|end date|launch date|budget|price|fee|rent|password|passcode"
    r"|code|pin|version|status|owner|address|phone number|email|hostname|host|port|url|limit|quota"
    r"|target|goal|capacity|timeout|location|venue|theme|title|name|hint|date|time|timezone"
    r"|time zone|room|manager|lead|maintainer|assignee|reviewer|priority|severity|branch|region"
    r"|licen[cs]e|colou?r|language|default|start time|end time|dose|dosage)"
)
_SET = re.compile(
    rf"{_PLEASE}(?:set|change|update|raise|lower|extend|increase|reduce|move|switch|make|cut|reset)"
    rf" (?P<s>(?:the|my|our) (?:[\w'’-]+ ){{0,3}}?{_PARTS}(?: (?:of|for|on) (?:the |my |our )?"
    rf"[\w-]+(?: [\w-]+)?)?)(?: from [^,]{{1,25}}?)? (?:to|at|as) (?P<v>(?:[^,;:?!]"
    rf"|(?<=\d)[,:](?=\d)){{1,60}}?){_END}",
    re.I,
)
_NAMED = re.compile(
    rf"{_PLEASE}(?:(?P<call>call|name)|rename) (?P<s>(?:the|my|our) (?:new |old )?(?:[\w-]+ )?"
    r"(?P<noun>repo|repository|project|branch|file|folder|document|doc|service|app|team|channel"
    r"|product|module|package|bot|server|company|playlist|library|plugin|database|group|list|dog"
    r"|cat|boat|car|event|release|variable|function|class|newsletter|blog|script|site|website))"
    r"(?: (?:to|as))? (?:[\"“'‘](?P<quoted>[^\"“”'’]{1,40})[\"”'’]|(?P<bare>[\w][\w.-]{1,30}))"
    rf"{_END}",
    re.I,
)
_NOT_NAMES = frozenset("back again now later today tomorrow asap first up out soon it that".split())
_ASSIGNED = re.compile(
    rf"{_PLEASE}(?:re)?assign (?P<s>(?:the |my |our )?(?:[\w-]+ ){{0,2}}?(?:#?\d+|[\w-]+)) to "
    rf"(?P<v>(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)?){_END}",
    re.I,
)
_MARKED = re.compile(
    rf"{_PLEASE}mark (?P<s>(?:the |my |our )?(?:[\w-]+ ){{0,2}}?(?:#?\d+|[\w-]+)) as "
    r"(?P<v>done|closed|open|blocked|resolved|paid|complete|completed|finished|cancelled|canceled"
    rf"|approved|rejected|in progress|urgent|pending|on hold){_END}",
    re.I,
)
_ME = frozenset("me us you him her them it this that everyone".split())


def fixed(sentence: str) -> str | None:
    """The statement that an instruction makes true, still in the first person; None for none.

    `sentence` comes without its end mark.
    """
    found = _NAMED.fullmatch(sentence)
    if found:
        name = found["quoted"] or found["bare"]
        plain = name.islower() and found["quoted"] is None and found["call"] is None
        if name.lower() in _NOT_NAMES or (plain and " to " not in sentence):
            return None
        return f"{_started(found['s'])} is called {name}"
    found = _SET.fullmatch(sentence)
    if found and found["v"].split()[0].lower() not in _ME:
        return f"{_started(found['s'])} is {found['v']}"
    found = _SCHEDULED.fullmatch(sentence)
    if found and (found["day"] or found["clock"] or found["room"]):
        return f"{_started(found['s'])} is{_when(found)}"
    found = _ASSIGNED.fullmatch(sentence)
    if found:
        return f"{_started(found['s'])} is assigned to {found['v']}"
    found = _MARKED.fullmatch(sentence)
    if found and found["s"].split()[-1].lower() not in _ME:
        return f"{_started(found['s'])} is {found['v'].lower()}"
    return None


def made_so(sentence: str) -> str | None:
    """What an instruction, or a request to be reached otherwise, makes true; else None."""
    return fixed(sentence) or reached(sentence) or renewed(sentence)


def _started(subject: str) -> str:
    return subject[:1].upper() + subject[1:]


def _when(found: re.Match[str]) -> str:
    said = ""
    day = found["day"] or found["later"]
    if day:
        bare = re.match(r"next|this|coming|tomorrow|tonight|today", day, re.I)
        said += f" {day}" if bare else f" on {day}"
    if found["clock"]:
        clock = re.sub(r"^(?:at |@ )", "", found["clock"], flags=re.I)
        said += f" at {clock}"
    if found["room"]:
        said += f"{',' if said else ''} in {found['room']}"
    return said
