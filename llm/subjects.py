"""What can be the subject of a statement: a few words that hold no verb and begin no clause."""

import re

from rewound.llm.english import WORD, is_past, is_surely_finite, plain_form

WORDS_MAX = 5
"""Words of a subject."""

_NOT_SUBJECTS = frozenset(
    "on in at since when while after before as by during for although though because every from "
    "until "
    "with without once whenever what who which there "
    "nobody none neither nothing few fewer hardly no-one noone nowhere assuming supposing".split()
)
_NO_ONE = re.compile(r"no one\b", re.I)


def is_subject(text: str) -> bool:
    """Whether a text, as a whole, can be one."""
    words = WORD.findall(text)
    if not 0 < len(words) <= WORDS_MAX:
        return False
    first = plain_form(words[0])
    if first in _NOT_SUBJECTS or (first == "no" and _NO_ONE.match(text)):
        return False
    # `Nina knows Tom`: a subject with a verb is a clause. A name, Mark Will, may look alike.
    if is_surely_finite(first) and not words[0][0].isupper():
        return False
    for word in words[1:]:
        if not word[0].isupper():
            low = plain_form(word)
            if is_surely_finite(low) or is_past(low):
                return False
    return True
