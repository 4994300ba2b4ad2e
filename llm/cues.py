"""Words that tell of a change or of a correction, and whether they are about the matter at hand."""

import re
from functools import lru_cache
from typing import NamedTuple

from rewound.eventlog.letting_go import holds_texts
from rewound.llm.claim_words import tokens_of


class Cues(NamedTuple):
    """What a statement, or the words that it was drawn from, say about a change.

    `change`: something became otherwise (now, no longer, moved). `correction`: something said was
    wrong (sorry, I meant). `past`: it is told of a time that is over. `only`: nothing else holds.
    `still`: it holds on. `also`: it comes on top of something else. `over`: something is at
    its end. `instead`: it takes the place of something.
    """

    change: bool
    correction: bool
    past: bool
    only: bool
    still: bool
    also: bool
    over: bool
    instead: bool


_CHANGE = re.compile(
    r"\b(?:no longer|any ?more|instead|now|nowadays|these days|from now on|switch(?:ed|es|ing)?"
    r"|mov(?:ed|es|ing)|changed|changes|replac(?:ed|es|ing)|took over|taken over|takes over"
    r"|became|becomes|has become|upgraded|downgraded|renamed|rebranded|rescheduled|postponed"
    r"|pushed (?:back|to)|brought forward|raised|increased|lowered|reduced|dropped|went (?:up|down)"
    r"|rose|fell|quit|stopped|gave up|given up|sold|left|retired|cancelled|canceled|closed|ended"
    r"|finished|done with|over with|back to|back on|after all|new|since|as of|starting|effective"
    r"|(?<!get )(?<!got )(?<!getting )(?<!gotten )(?<!is )(?<!are )(?<!am )(?<!['’]m )used to"
    r"|until|promoted|migrated|converted|turned into|grown|got rid of|broke up|split up"
    r"|divorced|died|arrived|is over|is gone|last session|from \w+ on|not .{1,40}\bany ?more"
    r"|full[- ]time|passed away|fixed|resolved|merged|shipped|picked up|went bankrupt|has arrived"
    r"|ran out|runs? out|up to|down to|by now|already|finally|meanwhile|turned|back with"
    r"|from (?:the )?(?:\d+ )?(?:week|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|today|tomorrow|monday|next)|on (?:his|her|my|their) own)\b",
    re.I,
)
_CORRECTION = re.compile(
    r"\b(?:sorry|make (?:that|it)|actually|(?:i|we) mean(?:t)?|correction|corrected|correcting"
    r"|wrong(?:ly)?|mistake|mistaken|misread|misheard|misspoke|mis-?typed|mis-?remembered|typo"
    r"|mixed up|mix-up|mixed (?:it|them|that)|confused|scratch that|strike that|ignore that|oops"
    r"|kidding|jk|take (?:that|it) back|i lied"
    r"|my bad|should (?:be|say|have|read)|never (?:was|were|said)|in fact|turns out|turned out"
    r"|not quite right|not right|not true|isn['’]t true|apologies|pardon|let me (?:correct|fix)"
    r"|(?:had|have|got|gotten) (?:it|that|this|them|the \w+) (?:all )?(?:wrong|backwards|mixed)"
    r"|spelled|spelt|embarrassing|i was off|erratum|fat-fingered|slip of|checked|double-checked"
    r"|looked it up|just dug|that['’]s the|that was the|wait|hang on|hold on|no,|nope|ah no|er,"
    r"|rather than|only heard|memory|uncalibrated|misled|misunderstood|misunderstanding"
    r"|i thought|i said|i told you|i wrote|had said|not .{2,40}, (?:but|it)|, not )\b",
    re.I,
)
_PAST = re.compile(
    r"\b(?:(?<!get )(?<!got )(?<!getting )(?<!gotten )(?<!is )(?<!are )(?<!am )(?<!['’]m )used to"
    r"|until|till|before|back (?:when|in|then)|formerly|previously|in those days|up to"
    r"|once|at the time|originally|at first|in the past|years ago|ago|earlier|when (?:i|we|he|she"
    r"|they) (?:was|were)|in (?:his|her|their|my) (?:twenties|teens|thirties|youth|childhood)"
    r"|during (?:19|20)\d\d|in (?:\w+ )?(?:19|20)\d\d|from (?:\w+ )?(?:19|20)\d\d to|had been"
    r"|former|ex-|old|through(?:out)? (?:19|20)\d\d|for \w+ years until)\b",
    re.I,
)
_ONLY = re.compile(r"\b(?:only|exclusively|solely|nothing but|sole|alone|entirely)\b", re.I)
_STILL = re.compile(
    r"\b(?:still|as before|as ever|remains|stays|unchanged|same|as always|as i said|again|reminder"
    r"|remember|as mentioned|continues)\b",
    re.I,
)
_ALSO = re.compile(
    r"\b(?:also|too|as well|another|second|additional|in addition|besides|plus|both"
    r"|(?<!any )(?<!no )(?<!each )other)\b",
    re.I,
)
_OVER = re.compile(
    r"\b(?:(?:her|his|my|their|the|its) last (?:session|day|time|one|class"
    r"|lesson|issue|meeting|shift)"
    r"|was the last|for good|off the table|bankrupt|is over|are over|is gone|no more|signed \w+ off"
    r"|stepped (?:down|back) from|shut down|out of business"
    r"|closed (?:down|for good|\w+ \w+ account)"
    r"|passed away|died|called off|fell through|cancelled|canceled|scrapped|shelved|discontinued"
    r"|wound up|phased out|ran out|runs out|expired|has ended|came to an end|dropped out|gave up"
    r"|quit|resigned|stopped|no longer|any ?more|sold|broke up|split up|done with|finished with"
    r"|moved out|given up|got rid of|threw (?:out|away)|buys nothing|left)\b",
    re.I,
)
_INSTEAD = re.compile(r"\b(?:instead|rather than|no longer|from now on|in place of)\b", re.I)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\s+[–—]\s+|\n+")


_PATTERNS = (_CHANGE, _CORRECTION, _PAST, _ONLY, _STILL, _ALSO, _OVER, _INSTEAD)


@holds_texts
@lru_cache(maxsize=1 << 14)
def cues_of(text: str) -> Cues:
    """The cues of a text of a sentence or some."""
    return Cues(*(bool(pattern.search(text)) for pattern in _PATTERNS))


@holds_texts
@lru_cache(maxsize=1 << 14)
def about(said: str, text: str) -> str:
    """The sentences of `said` that a statement drawn from it is about: the one that shares the most
    words with it, and the short one before it (`Sorry! It's at 4.`)."""
    sentences = [one for one in _SENTENCE.split(said[:CHARACTERS_MAX]) if one.strip()]
    if len(sentences) < 2:
        return said[:CHARACTERS_MAX]
    wanted = {token.stem for token in tokens_of(text) if token.is_content}
    shared = [
        len(wanted & {token.stem for token in tokens_of(one) if token.is_content})
        for one in sentences
    ]
    best = shared.index(max(shared))
    before = sentences[best - 1] if best else ""
    return f"{before} {sentences[best]}" if len(before.split()) <= SHORT else sentences[best]


CHARACTERS_MAX = 4000
SHORT = 4
"""Words of a sentence that may say of the next one that it corrects or changes something."""
