"""Whether a clause states something that is worth keeping: the tests that most clauses fail.

Each test errs towards leaving out. A question read as a statement becomes a false memory; a
statement that is missed is still found in its passage.
"""

import re
from typing import Literal

from rewound.llm.english import (
    AUXILIARIES,
    DETERMINERS,
    MODALS,
    PRONOUNS,
    VERBS,
    Word,
    holds_its_verb,
    is_adverb,
    is_past,
    is_surely_finite,
    is_third,
    is_verb_form,
    verb_at,
)

FORGOTTEN = "█"

Form = Literal["statement", "instruction", "elided", "called"]

_SMALL_TALK = re.compile(
    r"(?:hi|hey|hello|hiya|yo|dear \w+|thanks?\b.*|thank you.*|thx.*|many thanks.*|cheers|welcome.*"
    r"|ok(?:ay)?|sure(?: thing)?|yes|yeah|yep|no|nope|wow|cool|great|nice|awesome|amazing|perfect"
    r"|lol|haha\w*|hmm+|oh|ah|aha|right|exactly|indeed|true|agreed|absolutely|definitely|of course"
    r"|same here|me too|got it|gotcha|will do|makes sense|sounds .*|that sounds .*|looks good.*"
    r"|good (?:morning|afternoon|evening|night|luck|job|idea|point|question|to \w+|for you).*"
    r"|nice to .*|great to .*|glad to .*|happy to .*|pleased to .*|so (?:happy|glad|proud|sorry).*"
    r"|here(?:'s| is| are|'re) .*|there (?:you|we) go"
    r"|congrat.*|happy (?:birthday|new year|holidays).*|merry .*|see you.*"
    r"|talk (?:to you )?(?:soon|later).*"
    r"|bye.*|goodbye.*|take care.*|have a (?:good|great|nice|lovely).*|how are .*|what's up"
    r"|what a .*"
    r"|no (?:problem|worries|way|idea).*|you're welcome|my pleasure|no doubt|never ?mind"
    r"|fair enough"
    r"|i(?:'m| am) (?:really |so |very |doing |pretty |quite |just )*(?:good|fine|great|well|okay"
    r"|ok|back|here"
    r"|listening|ready|sorry.*|glad.*|happy (?:to|for|that).*|proud of (?:him|her|them)|curious.*"
    r"|sure.*"
    r"|not sure.*|afraid (?:so|not|that).*|all ears|in|excited to hear.*|impressed.*|confused.*)"
    r"|i (?:see|understand|agree|know|think so|hope so|guess.*|suppose.*|hear (?:that|ya)|get it"
    r"|knew it|lied|misspoke|take (?:that|it) back"
    r"|(?:totally|completely|fully|really) (?:agree|understand|get it)|bet|mean(?: it)?|swear"
    r"|promise"
    r"|don't (?:know|think so|mind|care|understand)|can't wait|appreciate (?:it|that|this"
    r"|the help).*"
    r"|(?:was|am) (?:just )?(?:wondering|asking|kidding|joking).*|wonder.*|have (?:a|one|another"
    r"|some) (?:quick "
    r"|more )?questions?.*|need (?:some |a bit of )?(?:your )?(?:help|advice)\b.*|need (?:to ask"
    r"|a favou?r).*"
    r"|love (?:it|that|this|the idea)|like (?:it|that|this)|look forward to .*"
    r"|'m looking forward to (?:it|that|hearing).*"
    r"|hope (?:that |this |it |all |everything |things ).*"
    r"|(?:will|won't|do|did|am|can|could|have|should|would)(?: not)?)"
    r"|(?:ok |yes |oh )?i (?:will|am|do|did|can)"
    r"|(?:i think |i guess |so |then )?i(?:'ll| will) (?:\w+ly |also |just |be sure to )*(?:try"
    r"|check|start by"
    r"|consider|look (?:into|at|for)|keep (?:that|this|it|you|an eye)|make sure|suggest|see (?:if"
    r"|what|how)|let"
    r"|think about|give (?:it|that|this)|do (?:that|it|some)|get back|anticipate|be sure)\b.*"
    r"|i(?:'m| am) (?:just |also |currently )*(?:looking for|in need of|hoping for) (?:some |any "
    r"|a few |a bit of )*"
    r"(?:advice|tips|recommendations?|suggestions?|ideas|help|guidance|information|info)\b.*"
    r"|(?:any|every)way|well|so|please|sorry|excuse me|my (?:bad|mistake|apologies)"
    r"|long time no see"
    r"|it(?:'s| is| was) (?:ok(?:ay)?|fine|nothing|great|nice|good|so \w+|been .*)"
    r"(?: to .*)?|that(?:'s| is| was) .*|this is (?:so |really |very )?(?:great|amazing|awesome"
    r"|cool|fun|nice).*)"
    r"(?:, \w+)?"
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|unless|would|wouldn't|might|maybe|perhaps|possibly|suppose|supposing|imagine"
    r"|hypothetically"
    r"|wish|wishes|what-if|let's say|i guess|not sure|no idea|i wonder|wondering (?:if|whether)"
    r"|pretend"
    r"|assuming (?:that|i|my|we|our|the|he|she|they|it)|refus(?:e|es|ed) to believe|i (?:highly "
    r"|really |very much )?doubt"
    r"|whether|could (?:be|have|become|use|possibly|always|go|try|do|get|make)"
    r"|should (?:i|we|have|probably)|(?:i|we) should|if only|in case"
    r"|(?:dreamt|dreamed) (?:that|i|we|he|she|they|it|my)|thought (?:that )?(?:[\w'-]+ ){1,3}had)\b"
)
_MAY = re.compile(r"\bmay (?:not |also |well )?(?:be|have|[a-z]{2,12})\b")
_TECHNICAL_HYPOTHETICAL = re.compile(
    r"\b(?:would|might|maybe|perhaps|imagine|suppose|hypothetically)\b"
)
_SAYING = (
    r"(?:(?:said|says|claims?|claimed|insists?|insisted|mentioned|mentions|argued|argues|announced"
    r"|admitted|denied|thinks|believes?|believed|tells|told|complained)\b"
    r"|(?:wrote|writes|tweeted|posted|replied|answered|suggested|suggests|warned|promised|swears"
    r"|swore|thought|asked|asks|explained|recommended|reported|reports|heard)"
    r"(?= (?:that|me|us|to me|to us|if|whether|how|why|what|i|we|he|she|they)\b| ?[:,]))"
)
_REPORTED = re.compile(
    rf"(?:^|\b(?:and|but|that|because|as) )(?!(?:i|we)\b)(?:[\w'’-]+ ){{1,5}}?{_SAYING}"
    r"|\baccording to\b|\b(?:they|people|some|everyone) say\b|\btold (?:me|us)\b"
    r"|\b(?:i|we) (?:just |recently )?(?:heard|read|hear|was told|were told|overheard|saw online)"
    r" (?:that|about|they|he|she|somewhere)\b"
    r"|\b(?:rumou?r|allegedly|supposedly|apparently|reportedly)\b"
    rf"|, {_SAYING} ?(?!(?:i|we)\b)\w"
)
OPENING_QUOTES = ("“", "„", "«", '"')
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{3,400})[\"”»]?")
_QUOTE_VOICE = re.compile(r"\b(?:i|you|we|my|your|i'm|don't|let's|it's|is|are|was)\b", re.I)
_QUESTION_START = re.compile(
    r"(?:(?:what|how|when|where|who|whom|why|which|whose)(?:'s|'re| (?:is|are|was|were|do|does"
    r"|did|can|could|should"
    r"|would|will|has|have|had|about|am|much|many|long|often|far|old|kind|sort|type|the|to|else"
    r"|if|makes?))\b"
    r"|(?:am|is|are|was|were|do|does|did|can|could|should|would|will|shall|has|have|had|may|isn't"
    r"|aren't|don't"
    r"|doesn't|didn't|can't|couldn't|won't|wouldn't|haven't|hasn't) (?:i|you|we|he|she|it|they"
    r"|this|that|there"
    r"|the|my|your|our|his|her|their|a|an|any|anyone|someone|people)\b|any (?:idea|tips"
    r"|suggestions|thoughts|advice))"
)
_ADDRESS = re.compile(r"\b(?:you|your|yours|yourself|you're|you've|you'll|you'd|u|ur)\b")
_TO_ASSISTANT = frozenset(
    """
    explain tell show write help give make book remind please let's let find schedule create
    summarise
    summarize translate draft list describe compare suggest recommend generate rewrite fix check
    look search
    define calculate compute convert analyse analyze review answer read send add delete remove
    update change
    plan think imagine pretend act continue stop go try repeat say ask forget provide prepare
    design build
    implement code debug refactor play order buy call email text cancel set start open pick choose
    rate
    teach guide walk outline brainstorm proofread edit improve format print sort extract identify
    discuss
    consider see note remember save store record log tag get bring share post wait hold come enjoy
    hear guess
    clarify elaborate respond reply ignore track put turn
    """.split()
)
_STANDING = frozenset(
    "always never avoid use keep do don't ensure prefer refer run install click press select "
    "store place wash "
    "open close set turn unplug plug restart check make wait put configure enable disable copy "
    "clone create "
    "add mix stir heat bake boil drain remove replace apply switch take let".split()
)
_USER_STANDING = frozenset("always never avoid use keep do don't ensure refer".split())
_STANDING_OPENERS = re.compile(
    r"(?:do not|don't|never|always) (?!(?:worry|mind|know|think|get|you|even|give|be|let|stop|quit"
    r"|hesitate|stress|lose|sweat|feel|beat|forget to (?:tell|send|remind|have|enjoy|smile|take)"
    r"|forget (?!to)|i|we|it)\b)\w+ \w+ \w"
)
_CHEERING = re.compile(
    r"(?:keep|do) (?:up|at|going|it|on|doing|me|trying|smiling|your|that|this|the)\b"
)
_DANGLING = frozenset("it that this these those them there so too one ones same".split())
_PURPOSE = re.compile(
    r"(?:in order )?to [a-z]+[^,]{2,120}, (?:then |first |just |simply )?([a-z]+)\b"
)
_CASE = re.compile(
    r"(?:if|when|whenever|once|before|after|until) [^,]{2,160}, (?:then |first |just "
    r"|simply )?([a-z]+)\b"
)


def is_small_talk(low: str) -> bool:
    """Greetings, thanks and what else fills a talk. `low` has plain apostrophes, no end mark."""
    return _SMALL_TALK.fullmatch(low) is not None


def is_question(low: str, ends_as_one: bool) -> bool:
    return ends_as_one or _QUESTION_START.match(low) is not None


def is_hypothetical(low: str, text: str, document: bool) -> bool:
    """What is only thought of: if, would, might, a wish. Manuals may say `if` and `may`."""
    if document:
        return _TECHNICAL_HYPOTHETICAL.search(low) is not None
    if _HYPOTHETICAL.search(low) is not None or _would(low):
        return True
    may = _MAY.search(low)
    return may is not None and text[may.start()] == "m" and low[: may.start()].strip() != ""


_SHORT_WOULD = re.compile(r"\b\w{1,12}'d (?:\w+ly |also |just |never |always )?(?P<verb>\w+)")


def _would(low: str) -> bool:
    """Whether an 'd is `would` (I'd recommend) and not `had` (I'd been)."""
    return any(
        found["verb"] in VERBS or found["verb"] in ("be", "rather")
        for found in _SHORT_WOULD.finditer(low)
    )


def is_reported(low: str, text: str) -> bool:
    """What somebody else said, or what stands in quotation marks as speech; a title may."""
    if _REPORTED.search(low) is not None:
        return True
    for quoted in _QUOTED.finditer(text):
        words = quoted[1].split()
        if len(words) >= 3 and _QUOTE_VOICE.search(quoted[1]):
            return True
        if quoted.start() == 0 and quoted.end() >= len(text) - 1:
            return True
    return text[:1] in OPENING_QUOTES


_UNREAL = re.compile(
    r"(?:(?:were|had|should) (?:i|you|we|he|she|it|they|my \w+)\b[^,]{0,200},"
    r"|assuming\b|supposing\b|just kidding(?!\s*[,.!:;—–-]+\s*\w)"
    r"|[^,]*,? (?:just|only) (?:kidding|joking)$|[^,]*, not$)"
)
_BY_OTHERS = re.compile(
    r"[,:;] (?!(?:i|we)\b)(?:[\w'-]+ ){1,3}?(?:said|says|wrote|writes|told (?:me|us)|claims|claimed"
    r"|replied|answered|explained|insisted|texted|posted|announced|whispered|joked|lied)"
    r"(?=$|[,.!;])"
    r"|(?:,| [—–-]+) (?:said|says|wrote|writes) (?!(?:i|we)\b)\w"
    r"|^[^:]{0,80}\b(?:sent|forwarded|wrote|texted|messaged|e-?mailed|posted)\b[^:,.]{0,40}: "
)
_TAKES_BACK = re.compile(
    r"\W*(?:(?:no|nah|nope|haha\w*|lol|ok|okay|well|oh|wait|sorry|just|only|i['’]?m|i am|i was"
    r"|we['’]?re|was|but)[\s,.!]+){0,5}(?:(?:just |only |totally )?(?:kidding|joking|messing"
    r"(?: with you)?|pulling your leg)|jk|j/k|psych|april fools?(?: day)?|(?:that|it)(?: was|['’]s|"
    r" is) (?:just |only )?(?:a (?:joke|lie)|not true|a test)|(?:not true|scratch that))\W*",
    re.I,
)


def is_unreal(low: str) -> bool:
    """`Were I rich, I own a yacht`: the whole sentence is only thought of, or said in jest."""
    return _UNREAL.match(low) is not None


def is_said_by_others(low: str) -> bool:
    """`I live in Madrid, he said`: whose words they are stands behind them."""
    return _BY_OTHERS.search(low) is not None


def takes_back(sentence: str) -> bool:
    """`Just kidding!`: the sentence before was not meant."""
    return len(sentence) < 80 and _TAKES_BACK.fullmatch(sentence) is not None


_ASKS = re.compile(
    r"(?:can|could|would|will) (?:you|u)\b|(?:i|we) (?:want|need) (?:you|u) to\b|i'd like you to\b"
    r"|help me\b|(?:please|pls|kindly|let's|lets|role-?play|rephrase|paraphrase|transcribe)\b"
)


def is_request(words: list[Word], low: str) -> bool:
    """A clause that asks the listener to do something."""
    if len(words) < 2 or _ASKS.match(low):
        return bool(words) and _ASKS.match(low) is not None
    asks = words[0].low in _TO_ASSISTANT and not is_past(words[0].low)
    if not asks or _is_code(low, words[0]):
        return False
    verb = verb_at(words)
    return verb != 0 and not _noun_first(words, verb)


def addresses_listener(low: str) -> bool:
    return _ADDRESS.search(low) is not None


def form_of(words: list[Word], low: str, verb: int, document: bool) -> Form | None:
    """What sort of clause it is; None for one that states nothing.

    `elided` has lost its `I`: "Repotted the fern." `verb` is the place of the first finite verb.
    """
    first = words[0].low
    told = _PURPOSE.match(low) or (_CASE.match(low) if document else None)
    if told and (told[1] in VERBS or told[1] in _STANDING):
        return "instruction"
    if first in ("please", "pls", "let's", "lets"):
        return "instruction" if document and first == "please" else None
    if _STANDING_OPENERS.match(low):
        return "instruction"
    base = first in VERBS or first in _TO_ASSISTANT or first in _STANDING
    base = base and not _is_code(low, words[0])
    if base and not is_past(first) and verb != 0 and not _noun_first(words, verb):
        if not document and _CHEERING.match(low):
            return None
        standing = first in (_STANDING if document else _USER_STANDING)
        return "instruction" if standing and len(words) > 2 else None
    if not document and _is_bare_past(words, verb):
        return "elided"
    if verb < 0 or is_adverb(first):
        place = 1 if first in ("just", "finally", "recently", "already") else 0
        past = len(words) > place + 2 and is_past(words[place].low) and not document
        if past and _follows_verb(words[place + 1].low):
            return "elided"
    if verb < 0 or _lost_its_subject(words):
        return None
    if verb == 0 and not holds_its_verb(first):
        return None
    return "statement"


def _is_code(low: str, first: Word) -> bool:
    """`log.py`, or a word in marks of code: a name, whatever the word means."""
    return (
        low[:1] == "`"
        or low[first.end : first.end + 1] in ("_", "/", "`")
        or (low[first.end : first.end + 1] == "." and low[first.end + 1 : first.end + 2].isalnum())
    )


def _lost_its_subject(words: list[Word]) -> bool:
    """`Seems fine`, `Haven't talked`, `Got it covered`: whose it was is not said."""
    first, after = words[0].low, words[1].low
    if first in MODALS and (is_past(after) or is_third(after)):
        return False  # Will has a dog.
    if first in MODALS and after in ("have", "be", "not", "never", "been"):
        return True
    if first in _GUESSES and (after in PRONOUNS or after in DETERMINERS):
        return True
    if first in AUXILIARIES and after not in AUXILIARIES:
        return True
    if is_third(first) and is_surely_finite(first):
        return True
    return is_past(first) and after in ("it", "that", "this", "them", "him", "me", "us")


_GUESSES = frozenset(
    "bet guess hope wish think suppose figure reckon wonder doubt assume heard thought figured "
    "guessed hoped knew believe pretty feels".split()
)
# Past forms that open a clause only where an `I` was left out; no name, noun or adjective.
_BARE_PAST = frozenset(
    "got went ate bought took came began met ran drove wrote gave flew woke slept told taught won "
    "wore caught chose brought forgot grew swam sang sent sought threw quit drank hid froze".split()
)
PASSIVE = frozenset("promoted diagnosed hired fired accepted admitted invited elected".split())


def _is_bare_past(words: list[Word], verb: int) -> bool:
    """`Got promoted today`, `Went hiking and saw a bear`, `Visited Rome`, `Promoted to lead`."""
    first, after = words[0], words[1]
    if first.low in _BARE_PAST:
        if after.low in ("it", "that", "this", "them", "him", "me", "us") or len(words) < 3:
            return False
        return verb < 0 or words[verb].low not in AUXILIARIES or is_past(after.low)
    if verb >= 0 or len(words) < 3 or not is_past(first.low):
        return False
    if first.low in PASSIVE:
        return after.low in ("to", "with", "by", "at", "into", "as", "for", "from")
    return after.low.endswith("ing") or (after.text[0].isupper() and first.low.endswith("ed"))


def _noun_first(words: list[Word], verb: int) -> bool:
    """`Work is busy`: the word that could be a verb is the subject of the next one."""
    return verb == 1 and (words[1].low in AUXILIARIES or is_third(words[1].low))


def _follows_verb(low: str) -> bool:
    return low in (
        "the a an my our some two three his her their its this that up out off to from at in on "
        "with all "
        "another new for back into home".split()
    )


def dangles(words: list[Word]) -> bool:
    """A short clause that ends in a word for something said elsewhere: `I really love it`."""
    if len(words) <= 5 and words[-1].low in _DANGLING:
        return words[-1].low != "too" or len(words) < 4
    for place, word in enumerate(words):
        if place and word.low in _OBJECTS:
            follows = words[place + 1].low if place + 1 < len(words) else ""
            if word.low in ("it", "them", "him"):
                return follows not in ("when", "that", "if") and not is_verb_form(follows)
            return follows in _AFTER_OBJECTS
        known = word.low in PRONOUNS or word.low in AUXILIARIES or is_adverb(word.low)
        known = known or word.low in _NOBODY or (place == 0 and _is_name(words))
        if not known and not _leads_on(word.low):
            return False
    return False


def _is_name(words: list[Word]) -> bool:
    """Marco fixed it: a person is no answer to what `it` is."""
    first = words[0]
    if first.low in DETERMINERS or is_verb_form(first.low):
        return False
    return first.text[0].isupper() and len(words) > 1 and is_past(words[1].low)


_NOBODY = frozenset(
    "nobody noone everyone everybody someone somebody anyone anybody people since".split()
)
_OBJECTS = frozenset("it them him her this that these those".split())
_AFTER_OBJECTS = frozenset(
    ["", *"as for to in at on so because with a and every from lately".split()]
)


def _leads_on(low: str) -> bool:
    """A verb or a preposition: no word that a later pronoun could stand for."""
    return is_verb_form(low) or holds_its_verb(low) or low in _PREPOSITIONS


_PREPOSITIONS = frozenset("about with to for from of on in at into by over been going".split())
