"""How somebody asks to be reached from now on: `use my new email`, `send it to my new address`.

Whoever asks for that states an address, a number or a mailbox of his own. Only `my` and `me` count:
where something is to be sent for others says nothing about the speaker.
"""

import re

from rewound.llm.english import is_finite, words_of

_PLEASE = (
    r"(?:(?:please|pls|ok|okay|and|so|also|hey|hi|then|kindly|just|from (?:now|today|here) on),? "
    r"|(?:can|could|would|will) you (?:please |kindly |also )?|(?:i['’]d like|i want|i need) you "
    r"to )*"
)
_MAIL = r"(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
_NUMBER = r"(?P<number>\+?\d[\d ()./-]{5,18}\d)"
_STREET = (
    r"(?P<street>(?-i:(?:[A-Z][\w.]* )?\d{1,5}[A-Za-z]?,? (?:[A-Z][\w'’.-]* ){0,3}[A-Z][\w'’-]*"
    r"|[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*){0,3} \d{1,5}[a-z]?)"
    r"(?-i:,? (?:[A-Z]{1,2}\d[\w ]{1,6}|\d{4,6}|[A-Z][\w'’-]+)){0,4})"
)
_VALUE = rf"(?:{_MAIL}|{_STREET}|{_NUMBER})"
_REST = (
    r"(?P<since>(?:,? (?:from (?:now|today|here|tomorrow) on|instead|in (?:the )?future|going "
    r"forward"
    r"|now|as of (?:now|today)))*)(?:,? (?:please|pls|thanks|thank you|from now on|for me))*"
    r"(?: for (?!.*\b(?:example|test|demo|template|instance)\b)[a-z ]{2,30})?"
    r"(?:,? (?:and )?not (?:(?:on|at|to) )?(?:the|my) [\w ]{1,30})?"
)
_SORT = (
    r"(?:(?:work|home|private|personal|office|business|school|postal|shipping|delivery|mailing"
    r"|billing) )?"
)
_MINE = (
    rf"my (?P<new>(?:new|current|updated|latest) )?(?P<what>{_SORT}(?:e-?mail(?: address)?"
    r"|(?:(?:mobile|cell|tele)?phone|mobile|cell)(?: number)?|number|address|place|flat|house"
    r"|apartment))(?: for [a-z ]{1,20}?)?"
)
_USE = re.compile(
    rf"{_PLEASE}(?:use|send|ship|deliver|forward|mail|post|write|e-?mail|text|call|reply|reach"
    r"|contact|switch|add|note|save|remember|take|put)(?: (?!me\b)[\w' ]{1,40}?)??(?: me)?"
    rf"(?: to| at| on| with| under| via)? {_MINE}(?:,| is|:| -| –| —| at|, which "
    rf"is)? {_VALUE}{_REST}",
    re.I,
)
_REACH = re.compile(
    rf"{_PLEASE}(?:(?:you can|you may|you['’]ll|feel free to|best to|everyone can|people can) )?"
    r"(?:(?:now|always|also|only|best) )?(?:reach|contact|call|phone|ring|text|message|e-?mail|mail"
    r"|write(?: to)?|reply to|get (?:hold of|in touch with)) me (?:(?:now|instead) )?(?:at|on"
    r"|under|via|by"
    rf" (?:phone|e-?mail|text) (?:at|on)) {_VALUE}{_REST}",
    re.I,
)
_REACHED = re.compile(
    rf"i(?: am|['’]m| can be) (?:now )?(?:reachable|reached|available)(?: now)? (?:at|on|under"
    rf"|via) "
    rf"{_VALUE}{_REST}",
    re.I,
)
_ALL_OF_MINE = re.compile(
    rf"{_PLEASE}(?:send|ship|deliver|forward|mail|post) (?:everything|all of it|(?:all )?my "
    rf"(?:mail|post"
    rf"|orders?|parcels?|packages?|letters?|deliver(?:y|ies)|invoices?|bills?)) to {_VALUE}{_REST}",
    re.I,
)
_NEW_PART = re.compile(
    r"(?:(?P<whose>the|our|my) )?(?:new|updated) (?P<what>(?:[A-Za-z][\w-]* ){0,3}?(?:password"
    r"|passcode|code|pin"
    r"|number|e-?mail|address|room|deadline|date|time|price|budget|rate|url|port|host|version"
    r"|name))"
    r"(?::| =| -| –| —) ?(?P<value>\S.{0,60})",
    re.I,
)

_NOT_YET = re.compile(
    r"(?:none|no\b|not\b|maybe|perhaps|probably|possibly|tb[acd]\b|to be|unknown|pending|unclear"
    r"|soon|later|open\b|\?|n/?a\b|either|let|see\b|ask\b|same\b|yes\b|who|what|when|where|how)",
    re.I,
)
"""What tells that there is no new value."""


def reached(sentence: str) -> str | None:
    """What such a request states, still in the first person; None for any other sentence, which
    comes without its end mark."""
    for pattern in (_USE, _REACH, _REACHED, _ALL_OF_MINE):
        found = pattern.fullmatch(sentence)
        if found:
            return _stated(found)
    return None


def renewed(sentence: str) -> str | None:
    """`New Netflix password: heron77`, as a sentence with a verb; None for any other one."""
    found = _NEW_PART.fullmatch(sentence)
    if found is None or any(is_finite(word.low) for word in words_of(found["value"])):
        return None  # New version: 3.2 is out.
    if _NOT_YET.match(found["value"]):
        return None
    whose = (found["whose"] or "the").capitalize()
    return f"{whose} {found['what']} is now {found['value']}"


def _stated(found: re.Match[str]) -> str | None:
    groups = found.groupdict()
    value, noun = next(
        (groups[name], noun)
        for name, noun in (("mail", "email"), ("street", "address"), ("number", "phone number"))
        if groups[name]
    )
    what = (groups.get("what") or noun).lower()
    if not _FITS[noun].search(what):
        return None
    sort = re.match(_SORT, what)
    now = "now " if groups.get("new") or groups["since"] else ""
    return f"My {sort[0] if sort else ''}{noun} is {now}{value.strip()}"


# What each sort of value is called when it is asked for.
_FITS = {
    "email": re.compile("mail|address$"),
    "address": re.compile("address$|place|flat|house|apartment"),
    "phone number": re.compile("number|phone|mobile|cell"),
}
