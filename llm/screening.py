"""Which lines of a text are its writer's own prose, and which were pasted, quoted or generated.

Recalled memories that a client put into a prompt come back as messages. Read again as news they
would confirm themselves, so everything that looks like one is left out, with code, logs, tables,
headings and what others said.
"""

import re
from collections.abc import Iterator

from rewound.llm.extraction import Media
from rewound.llm.sentences import Span

_FENCE = re.compile(r"\s{0,8}(?:```|~~~)")
_BULLET = re.compile(r"\s{0,40}(?:[-*+•‣]|\(?\d{1,3}[.)]|[a-z]\))\s{1,8}(?:\[[ xX]\]\s{1,4})?")
_TAG = re.compile(
    r"\s{0,40}<\s?(?P<close>/)?\s?(?P<name>(?:\w{1,20}[-_])?(?:memor(?:y|ies)|recall(?:ed)?|facts?"
    r"|context|system|documents?|history|knowledge|profile|mem\d|retrieved|retrieval"
    r"|search[-_]results?|tool[-_]results?)"
    r"(?:[-_]\w{1,20})?)\b[^>\n]{0,200}>",
    re.I,
)
_MEMORY_HEAD = re.compile(
    r"\s{0,40}[#*_=\[(-]{0,6}\s?(?:(?:here(?:['’]s| is) )?(?:the )?(?:what|things|all|everything)"
    r" (?:that )?(?:i|you|we) (?:already )?(?:remember|recall|know|have stored)\b"
    r"(?:[^:\n]{0,80}:| (?:about|of|from) (?:the |our )?[\w'’-]{1,40}\s?[\])*_=-]{0,6}\s{0,8}$)"
    r"|(?:what is |what['’]s |already )?known (?:facts )?about (?:the |this )?[\w ]{1,40}\**(?::|$)"
    r"|(?:(?:the |this )?user(?:['’]s)? (?:info(?:rmation)?|preferences|details|notes|data"
    r"|background)|about (?:the|this) user)\**(?::|\s{0,8}$)"
    r"|(?:here (?:are|is) )?(?:(?:some|the|your|my|all|these|a few) )?"
    r"(?:(?:relevant|retrieved|recalled|stored|past|previous|prior|saved|known|long[- ]term|related"
    r"|user'?s?|existing|recent|important|background|following) ){0,3}"
    r"(?:memor(?:y|ies)|recollections|facts|context|knowledge|profile|conversation history)"
    # A heading needs no colon when nothing but what it is about stands in its line.
    r"(?:(?: (?:about|from|of|for|on|i have|we have|found|stored|retrieved|that)\b[^:\n]{0,80})?"
    r"\s?[\])*_=-]{0,6}\s?:"
    r"|(?: (?:about|from|of|for|on) (?:(?:the|our|this|past|previous|earlier|your) ){0,3}[\w'’-]+)?"
    r"\s?[\])*_=-]{0,6}\s{0,8}$))",
    re.I,
)
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_ID = rf"(?:id\s?[:=]\s?)?(?:[a-z]{{2,12}}_(?=\w{{0,40}}\d)[0-9A-Za-z]{{6,40}}|{_UUID})"
_ID_BEHIND = re.compile(rf"(?:[\[(`]|[—–-]\s?){_ID}[\])`]?[\s.]{{0,8}}$")
_ID_ALONE = re.compile(rf"\s{{0,40}}[-*•]?\s{{0,4}}[\[(`]?{_ID}[\])`]?\s{{0,8}}$")
_OWN_LINE = re.compile(
    r"\s{0,40}[-*•]?\s{0,4}\[\d{4}-\d\d(?:-\d\d)?[^\]\n]{0,40}\]"
    r"|\s{0,40}[-*•]?\s{0,4}\[\d{1,3}\]:?\s?[A-Z]"
    r"|\s{0,40}[-*•#_]{0,6}\s?(?i:memory|fact|recollection|passage|snippet)\s?#?"
    r"\d{1,4}\**\s?[:.)—–-]"
    r"|[^\n]{0,4000}?\b(?:fact|mem"
    r"|passage)_"
    r"[0-9A-Za-z]{6,}"
)
_LOG = re.compile(
    r"\s{0,40}(?:"
    r"[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[\],. ]"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\s{1,2}\d{1,2} \d\d:\d\d:\d\d"
    r"|[\[(]?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)[\])]?[\s:]"
    r"|Traceback \(|File \"|\w{1,40}(?:Error|Exception): |at [\w.$]{1,80}\("
    r"|[$%❯] ?\w|>>> |\.\.\. |[\w.-]{1,40}@[\w.-]{1,40}:|diff --git|@@ -|\d{1,3}(?:\.\d{1,3}){3} - "
    r"|(?:GET|POST|PUT|DELETE|PATCH) /)"
)
_CODE = re.compile(
    r"[;{}]\s{0,8}$|^\s{0,40}(?:def|class|import|from|const|let|var|function|public|private|return"
    r"|if|for|while|#include|fn|func|SELECT|INSERT|UPDATE|CREATE|DROP|sudo|pip|npm|git|apt|docker"
    r"|curl|export)\b[^.!?\n]{0,400}(?:[(){}=;<>]|::|->| -{1,2}\w|/\w)|\w\(\)|=>|\s[!=]==?\s"
    r"|^\s{0,40}[\w.\[\]]{1,40}\s?[+*/-]?=\s?\S"
)
_MARKUP = re.compile(
    r"\s{0,40}(?:\||<[!/?\w][^>\n]{0,400}>\s{0,8}$|[-=*_]{3,}\s{0,8}$|[\[{}\]],?\s{0,8}$|\{|\["
    r"(?:\"|\{|\d+,)|\"[^\"\n]{1,80}\"\s?:|!?\[[^\]\n]{0,200}\]\([^)\n]{0,400}\)\s{0,8}$"
    r"|https?://\S{1,2000}\s{0,8}$|\[\^?\w{1,20}\]:|---|>|[\w-]{1,40}:$)"
)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_OTHERS = re.compile(
    r"\s{0,40}\**(?:assistant|system|tool|function|ai|bot|chatbot|model)\**\s?:", re.I
)
_TURN = re.compile(r"\s{0,40}\**[A-Z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30})?\**\s?:\**\s")
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|I['’](?:m|ve|ll|d))\b")
_REPLY_HEAD = re.compile(
    r"\s{0,8}(?:On .{4,120} wrote:|-{2,}\s?(?:Original|Forwarded) [Mm]essage|(?:From|Sent|To"
    r"|Subject"
    r"|Cc): )"
)
_POLITE = (
    r"\s{0,40}[*_]{0,3}(?:(?:please|pls|now|hey|hi|hello|ok|okay|so|and|just|kindly|can you"
    r"|could you|would you|will you|help me|i want you to|i need you to|i['’]d like you to"
    r"|let['’]?s)[ ,!]{1,3}){0,5}"
)
# What is worked on as a text: what stands behind the colon is that text, in the same line or below.
_WORKED_ON = re.compile(
    rf"{_POLITE}(?:translate|proof-?read|re-?write|rephrase|paraphrase|summari[sz]e|improve|polish"
    r"|shorten|convert|repeat|continue|spell-?check|role-?play|pretend|write|draft|say"
    r"|(?:correct|complete|edit)(?= \w))\b[^.!?:\n]{0,120}:(?=\s|$|[\"“])",
    re.I,
)
_READ_BELOW = re.compile(
    rf"{_POLITE}(?:(?:explain|check|read|review|analy[sz]e|look at|take a look|have a look|reply"
    r"|respond|answer|comment|fix|format|grade|rate|judge|evaluate|critique|interpret|classify"
    r"|extract|what do you think|how does this|is this)\b"
    r"|(?:here|this|that|below)(?:['’]s| is| are) [^:\n]{0,80}\b(?:e-?mail|letter|message|text"
    r"|essay|article|story|paragraph|poem|transcript|post|draft|chat|conversation|quote|passage"
    r"|excerpt|snippet|lyrics|song|speech|sentences?)\b)[^:\n]{0,120}:"
    r"|[^:\n]{0,200}?\b(?:sent|wrote|writes|says|said|told|texted|e-?mailed|messaged|replied"
    r"|answered|posted|asked|tweeted)\b[^:\n]{0,60}:",
    re.I,
)
_NAME_ALONE = re.compile(
    r"\s{0,40}(?:\[[^\]\n]{1,30}\]\s?)?[*_]{0,3}(?!(?:Hi|Hey|Hello|Dear|Good) )"
    r"(?P<name>[A-Z][\w'’-]{1,30}(?: [A-Z][\w'’.-]{0,30}){0,2})"
    r"(?: ?\([^)\n]{1,30}\))?[*_]{0,3}\s?:[*_\s]{0,8}$"
)
# What one writes above what one says of oneself.
_OWN_HEADINGS = frozenset(
    "me myself about_me preferences allergies hobbies interests goals family pets food diet health "
    "work job home background languages skills plans today yesterday tomorrow travel likes "
    "dislikes introduction intro summary status question questions".split()
)
_JSON_ENDS = {"{": "}", "[": "]"}
# Words that may stand before a colon without being someone's name.
LABELS = frozenset(
    "update note fyi ps edit btw reminder final correction news remember info important fact tl;dr "
    "tldr nb heads-up".split()
)


def prose(text: str, media: Media, most: int, spoken: bool) -> Iterator[Span]:
    """Stretches of lines that are the writer's own sentences, in order; list marks are left out.

    Each item of a list is a stretch; the lines of a paragraph are one together. Only the first
    `most` characters are read; a stretch that goes on behind them ends there. `spoken` says that
    the text is a message, in which a line may bring in what somebody else wrote.
    """
    if media in ("code", "json") or _is_json(text):
        return
    open_start = -1
    end = 0
    for start, stop, own in _lines(text, min(most, len(text)), spoken):
        bullet = _BULLET.match(text, start, stop) if own else None
        if open_start >= 0 and (not own or bullet):
            yield Span(open_start, end)
            open_start = -1
        if own and open_start < 0:
            open_start = bullet.end() if bullet else start
        end = stop
    if open_start >= 0:
        yield Span(open_start, end)


def _is_json(text: str) -> bool:
    bare = text.strip()
    return len(bare) > 1 and _JSON_ENDS.get(bare[0]) == bare[-1]


def _lines(text: str, size: int, spoken: bool) -> Iterator[tuple[int, int, bool]]:
    """Each line of text[:size] with whether it is prose of the writer's own. One pass."""
    start = 0
    fenced = quoted = begun = replied = False
    inside = ""
    while start < size:
        stop = text.find("\n", start, size)
        stop = size if stop < 0 else stop
        own = False
        tag = _TAG.search(text, start, min(stop, start + 2000)) if "<" in text[start:stop] else None
        if _FENCE.match(text, start, stop):
            fenced = not fenced
        elif inside:
            if tag and tag["close"] and tag["name"].lower() == inside:
                inside = ""
        elif tag and not tag["close"]:
            name = tag["name"].lower()
            inside = (
                "" if re.search(rf"</\s?{re.escape(name)}\s?>", text[start:stop], re.I) else name
            )
        elif fenced or tag:
            own = False
        elif start == stop or text[start:stop].isspace():
            quoted = quoted and not begun  # The blank line below a heading ends nothing.
        elif quoted or replied:
            begun = True
        elif head := _MEMORY_HEAD.match(text, start, stop):
            quoted, begun = True, bool(text[head.end() : stop].strip("* _"))
        elif _REPLY_HEAD.match(text, start, stop):
            replied = True
        elif spoken and (colon := _borrows(text, start, stop)):
            quoted, begun = True, not text[colon:stop].isspace() and colon < stop
        else:
            own = is_prose(text[start:stop]) and not _ID_ALONE.match(
                text, stop + 1, _end(text, stop)
            )
        yield start, stop, own
        start = stop + 1


def _borrows(text: str, start: int, stop: int) -> int:
    """Where a text of somebody else's begins, brought in by a line (`Please proofread this:`,
    `Bob:`); 0 when it brings in none."""
    worked_on = _WORKED_ON.match(text, start, stop)
    if worked_on:
        return worked_on.end()
    line = text[max(start, stop - 400) : stop].rstrip(" *_\t\r")
    if not line.endswith(":"):
        return 0
    last = max(line.rfind(". "), line.rfind("! "), line.rfind("? "))
    said = line[last + 2 if last >= 0 else 0 :]
    alone = _NAME_ALONE.match(line)
    if alone:
        name = alone["name"].lower().replace(" ", "_")
        return 0 if name in LABELS or name in _OWN_HEADINGS else stop
    return stop if _READ_BELOW.fullmatch(said) or _WORKED_ON.fullmatch(said) else 0


def _end(text: str, stop: int) -> int:
    """Where the line behind the one that ends at `stop` ends, if it is as short as an id."""
    most = min(len(text), stop + 100)
    end = text.find("\n", stop + 1, most)
    return most if end < 0 else end


_SUSPECT = re.compile(r"[|<>{}\[\]()=;#$%@:\"*_/❯-]|\d\d:\d\d|\b[A-Z]{4,}\b")


def is_prose(line: str) -> bool:
    """Whether one line reads as sentences of its writer's own."""
    if not _SUSPECT.search(line):
        return True
    for pattern in (_OWN_LINE, _LOG, _MARKUP, _HEADING, _OTHERS):
        if pattern.match(line):
            return False
    if _ID_BEHIND.search(line[-100:]):
        return False
    bullet = _BULLET.match(line)
    bare = line[bullet.end() :] if bullet else line
    if _MARKUP.match(bare) or _CODE.search(bare) or line.count("|") > 1:
        return False
    turn = _TURN.match(line)
    if turn is None or not _FIRST_PERSON.search(line):
        return True
    return line[: turn.end()].strip(" *:").lower() in LABELS
