"""What stands around a statement without being part of it: openers, asides and requests.

`Also, I'm allergic to nuts, so please keep that in mind when you cook` states one thing.
"""

import re

from rewound.llm.screening import LABELS
from rewound.llm.sentences import OPENING_SUBORDINATE, Span

_MARK = r"[,.!:;—–-]+\s+"
_HEADLINE = (
    r"(?:(?:some|a|just a?|more|here['’]s|here is) )?(?:(?:very|really|other) )?(?:big|huge|great"
    r"|good|bad"
    r"|sad|happy|exciting|quick|small|tiny|minor|major|fun|funny|terrible|amazing|wonderful|awful"
    r"|weird"
    r"|strange|fantastic|important|interesting|nice|lovely|random|breaking|latest|new|life|work"
    r"|family"
    r"|personal|house|health|travel|wedding|job) (?:and (?:\w+ ))?(?:news|updates?|announcements?"
    r"|facts?"
    r"|notes?|wins?|days?|changes?|moments?|surprises?|reminders?|milestones?|stor(?:y|ies)|thing)"
    r"(?: (?:today|here|everyone|everybody|all|folks|guys|from me|for me|for us|this (?:week|month"
    r"|morning)|at (?:work|home|the office)))?"
)
# What announces a statement: big news, a small update.
_OPENERS = (
    r"(?:wow|yeah|yes|yep|no|nope|oh|ah|well|so|ok|okay|sure|actually|by the way|btw|also|anyway"
    r"|honestly|sorry"
    r"|haha|lol|great|cool|nice|fyi|unfortunately|luckily|sadly|fortunately|for the record"
    r"|just so you know|as (?:i|you)"
    r" (?:said|know|mentioned)(?: before)?|to be honest|in fact|basically|thanks|thank you|please"
    r"|however|besides"
    r"|moreover|additionally|in addition|furthermore|(?:hi|hey|hello)(?: \w+)?|thanks(?: \w+)?"
    r"|for your information|as (?:i|you) (?:may |might |probably |already |surely )*(?:know"
    r"|remember|recall|told you|see)(?: before| already)?"
    r"|as i(?:['’]ve)? (?:already )?(?:told you|said|mentioned)(?: before)?"
    r"|in case you (?:did not|didn['’]t|don['’]t|do not|forgot|wondered|wonder|ask|need)"
    r"(?: know| to know| remember)?(?: (?:it|that))?|you know|you see|for context|for reference"
    r"|and|but|plus|speaking of [\w' -]{2,40}"
    r"|good (?:morning|evening|afternoon)(?: \w+)?|guess what|don['’]t worry|no worries|good news"
    r"|bad news|quick update|correction|(?:scratch|strike) that|i (?:misspoke|lied)|oops"
    r"|(?:no,? )?(?:i )?take (?:that|it) back|my (?:mistake|bad)|(?:i['’]?m )?just kidding|jk"
    r"|on second thoughts?|wait,? no|no,? wait|thankfully|hopefully|personally|clearly|obviously"
    r"|interestingly"
    r"|surprisingly|on (?:a|another) (?:\w+ )?note|aww*|yay|ugh|omg|whoa|bummer|gosh|yikes|yup"
    r"|yea|hmm+)"
)
# A name that is called: Caroline, I moved. Not `Max, my dog, is old`, and not a day or an adverb.
_CALLED = (
    r"(?-i:(?!(?:Yester|To|Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)\w|\w+ly\b|However|Sometimes|Often"
    r"|Nowadays|Tonight|Afterwards|Once)[A-Z][a-z]{1,15}), "
    r"(?=(?:i|i['’]\w+|that|that['’]s|it|it['’]s|this|thanks|we)\b)"
)
_SUBJECTS = r"(?:i|i['’]\w+|my|we|we['’]\w+|the|our|he|she|it|it['’]s|there)\b"
# What fills the front of a spoken sentence without a comma: so yeah basically I moved.
_FILLER = (
    r"(?:fyi|btw|by the way|basically|so|ok|okay|yeah|yea|yep|well|um+|uh+|hmm+|also|anyway|anyways"
    r"|actually|honestly|oh|hey|lol|haha|hi|hello|and|but|then|just fyi)\s+"
    rf"(?={_SUBJECTS}|(?:fyi|btw|basically|so|ok|okay|yeah|well|um+|uh+|anyway|actually|honestly"
    r"|oh|lol|haha|just)\b)|(?:fyi|btw)\s+(?=\w)"
)
_LEAD = re.compile(
    rf"(?:{_OPENERS}{_MARK}|{_HEADLINE}{_MARK}|{_FILLER}|{_CALLED}|(?:{'|'.join(sorted(LABELS))})"
    rf"\s?:\s+"
    r"|(?:and|but|so|or|then|well|also|plus|anyway) "
    r"(?=(?:i|i['’]\w+|my|we|the|our|he|she|it)\b)"
    r"|(?:please |pls )?(?:remember|note|(?:keep|bear) in mind|don['’]t forget|be aware"
    r"|know)(?: that|:|,) "
    r"|(?:just )?(?:a )?(?:quick )?(?:note|reminder|heads[- ]up|update)[:,—-]+ "
    r"|you (?:should|must|need to|ought to|have to|may want to|might want to|can)"
    r" (?:also |probably )?(?:know|note|remember|keep in mind|be aware)(?: that|:|,)?"
    r" (?!(?:how|what|why|if|when)\b)"
    r"|i(?:['’]d| would) (?:like|love|want) you to (?:know|remember|note)(?: that|:|,)? "
    r"|i (?:just )?want you to (?:know|remember|note)(?: that|:|,)? "
    r"|(?:it['’]s|it is) (?:good|important|useful|worth) (?:for you )?(?:to know|knowing) that "
    r"|(?:i (?:just )?(?:want(?:ed)? to|should|must) (?:mention|say|add|let you know|tell you"
    r"|note)|the (?:thing|fact|truth)"
    r" is|i (?:must|have to) (?:say|admit)|fun fact|did i mention|let me tell you)(?: that|:|,)? )",
    re.I,
)

_MOST_OPENERS = 8


def lead_of(text: str) -> int:
    """Characters of openers before the statement itself: `Wow, actually, `."""
    done = 0
    for _ in range(_MOST_OPENERS):
        found = _LEAD.match(text, done)
        if found is None or found.end() == done:
            break
        done = found.end()
    return done


_TO_YOU = (
    r"(?:can|could|would|will) you\b|(?:don['’]t|do not) forget\b|(?:keep|bear) (?:that|this|it) in"
    r" mind|take (?:that|this|it) into (?:account|consideration)|make sure\b"
    r"|(?:remember|note) (?:that|this|it)\W*$"
)
_WITH_SO = (
    r"(?:suggest|recommend|avoid|keep|remember|plan|schedule|use|answer|reply|respond|write|speak"
    r"|call me|remind|give|show|help|tell|book|find|choose|pick"
    r"|you (?:should|can|could|must|may|need|know)"
    r"|(?:don['’]t|do not|never) (?:suggest|recommend|propose|offer|send|show|remind|tell"
    r"|ask|schedule|book|plan|use|call|forget|give|make)"
    r"|always (?:suggest|recommend|use|answer|remind|keep|check)|only (?:suggest|recommend"
    r"|use|show))\b"
)
# A request behind a statement.
_BEHIND = re.compile(
    rf"(?:\s*[,;:—–-]\s*|\s+)(?:and|but|so|then|therefore)\s+(?:just |kindly )?"
    rf"(?:(?:please|pls)\b|{_TO_YOU})"
    rf"|(?:\s*[,;]\s*|\s+[—–-]+\s+)(?:(?:please|pls)\b|{_TO_YOU})"
    rf"|\s*[,;]?\s+(?:so|therefore)\s+(?:then )?{_WITH_SO}"
    r"|\s*[,;]?\s+(?:so|therefore)\s+(?:no|only|nothing) [^,;]{2,60}\bplease\W*$"
    r"|\s+please\W*$",
    re.I,
)
# What says in passing that the other knows.
_KNOWN = re.compile(
    r"(?:\s*,\s*|\s+[—–-]+\s+|\s+(?=as you))(?:as (?:you|i)(?:['’]ve)? (?:may |might |probably "
    r"|already |surely |well )*(?:know|remember|recall|told you|said|mentioned|see)"
    r"|like i (?:said|told you)|you know|you see|by the way|btw|fyi|for your information"
    r"|just so you know|if you (?:must|want to|didn['’]t) know|in case you (?:didn['’]t know"
    r"|wondered|(?:were|are) wondering))\W*$",
    re.I,
)
# A quick look: without one of these nothing is asked.
_MAY_ASK = re.compile(
    r"\b(?:please|pls|you|forget|in mind|into (?:account|consideration)|remember|note|make sure|so"
    r"|therefore)\b",
    re.I,
)
_QUOTES = re.compile(r"[\"“”„«»]")
_BEFORE = re.compile(
    r"(?:please|pls|(?:can|could|would|will) you(?: please)?|help me|suggest|recommend|give me|find"
    r"|show me|plan|book|explain)\b(?! (?:translate|write|rewrite|repeat|say|proofread|correct|edit"
    r"|fix|summari[sz]e|pretend|imagine|act|paraphrase))[^:\"“”„«»]{3,200}?"
    r"(?:\s*[,;]\s+|\s+[—–-]+\s+|\s+(?=because|since))(?:because |since |as |but |and |btw,? )?"
    r"(?=(?:i am|i have|i live|i work|i (?:can['’]t|don['’]t|hate|love|prefer|like|only)"
    r"|i['’](?:m|ve)|my|our|we (?:are|have|live)|we['’](?:re|ve))\b)",
    re.I,
)


def without_requests(text: str, sentence: Span) -> Span:
    """The sentence without what it asks of the listener before or behind its statement."""
    whole = text[sentence.start : sentence.end]
    begin = lead_of(whole)
    before = _BEFORE.match(whole, begin)
    if before:
        begin = before.end()
    behind = _BEHIND.search(whole, begin) if _MAY_ASK.search(whole, begin) else None
    if behind is None or OPENING_SUBORDINATE.match(whole, begin):
        end = len(whole)
    else:
        end = behind.start()
    if _QUOTES.search(whole, 0, end) and end < len(whole):
        end = len(whole)
    if end - begin < _SHORTEST:
        return sentence
    if not before:
        return Span(sentence.start, sentence.start + end)
    said = whole[begin:end].rstrip("?! ")  # The mark was of the question before.
    return Span(sentence.start + begin, sentence.start + begin + len(said))


_SHORTEST = 6
_SCENE = re.compile(
    r"(?:(?:please|pls|now|(?:can|could|would|will) you(?: please)?|let's|i want you to) )*"
    r"(?:pretend|imagine|role-?play|act (?:as|like)|assume|suppose|translate|rewrite|rephrase"
    r"|paraphrase|proofread|repeat)\b"
)


def sets_a_scene(low: str) -> bool:
    """`Pretend I'm a nurse, I work nights`: nothing in such a sentence is the speaker's own."""
    return _SCENE.match(low) is not None


def known_from(text: str) -> int:
    """Where the `as you know` at the end of a clause begins, or the length of the text."""
    found = _KNOWN.search(text)
    return found.start() if found and found.start() >= _SHORTEST else len(text)
