"""What a statement that a person made is about, where its words say so plainly.

A fact that is drawn from a text comes with its subject, attribute and value; one that is stated
directly mostly comes without, and is to be found by them all the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rewound.eventlog.letting_go import holds_texts
from rewound.llm.entities import entities_of

CHARS_MAX = 400
"""A longer text is no single statement."""


class Description(NamedTuple):
    """All None, and no entities, where no plain pattern matches."""

    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    entities: tuple[str, ...] = ()


@holds_texts
@lru_cache(maxsize=1024)
def described(text: str) -> Description:
    """By the rules that read drawn statements too."""
    if len(text) > CHARS_MAX:
        return Description()
    plain = text.strip().rstrip(".!")
    if not plain:
        return Description()
    from rewound.llm.attributes import attributes_of  # its patterns take a while

    subject, attribute, value = attributes_of(plain)
    return Description(
        subject, attribute, value, entities_of(plain, _first_is_name(plain, subject))
    )


def _first_is_name(text: str, subject: str | None) -> bool:
    """Whether the first word is a name: as the subject, or before another capitalised word."""
    words = text.split(None, 2)
    if not words[0][:1].isupper():
        return False
    known = subject is not None and text.startswith(subject)
    return known or (len(words) > 1 and words[1][:1].isupper())
