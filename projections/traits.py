"""What a text is like, as bits of one byte: read once, when it is indexed, by a few expressions.

The ranker weighs them against the kind of the question: who asks *when* is helped by a date, who
asks for a suggestion by what somebody likes. They are English; texts of other languages have few
and are ranked by the rest.
"""

import enum
import re
from typing import Final

CHARS: Final = 4_000
"""So much of a text is looked at: a trait that shows later says little of the whole."""


class Trait(enum.IntFlag):
    QUESTION = 1
    """It ends by asking."""
    DATED = 2
    """It names a day, a month, a year, or a time from where it was said."""
    NUMBERED = 4
    FIRST_PERSON = 8
    LIKING = 16
    """Somebody tells what they like, have or do often."""


_DATED = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|week|weekend|months?|years?|monday"
    r"|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july"
    r"|august|september|october|november|december|morning|recently|since|\d{4}"
    r"|\d{1,2}(?:st|nd|rd|th))\b"
)
_NUMBERED = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|couple|several|first|second"
    r"|third|once|twice)\b"
)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|my|me|we|our)\b")
_LIKING = re.compile(
    r"\b(?:like|love|prefer|enjoy|favou?rite|interested|hate|want|into|fan|allergic|usually|always"
    r"|try|been|own|have|got|use|using)\b"
)


def traits_of(text: str) -> int:
    """The bits of `Trait` that a text shows, 0 to 31."""
    said = text[:CHARS].lower().replace("\u2019", "'")
    found = Trait.QUESTION if text.rstrip().endswith("?") else Trait(0)
    if _DATED.search(said):
        found |= Trait.DATED
    if _NUMBERED.search(said):
        found |= Trait.NUMBERED
    if _FIRST_PERSON.search(said):
        found |= Trait.FIRST_PERSON
        if _LIKING.search(said):
            found |= Trait.LIKING
    return int(found)
