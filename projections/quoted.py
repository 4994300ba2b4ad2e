"""What stands in quotes in a query, and the entries that say it as it stands.

A phrase is said where its words follow each other in this order, whatever their case, accents and
blanks; signs at its end do not count. Which entries may say it is read from the postings of its
terms, and only the texts of those are looked at.
"""

import re
from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np
import numpy.typing as npt

from rewound.eventlog.ids import Kind, Ref
from rewound.projections import bm25, entries
from rewound.projections.postings import Ordinals
from rewound.projections.reader import ContainerView
from rewound.projections.repeats import Texts
from rewound.projections.selection import Criteria, Selected
from rewound.projections.tokens import folded, tokenize

PHRASES_MAX: Final = 4
READ_MAX: Final = 200
"""So many texts are looked at for one phrase, the best by words first."""

_CHARS = 4_000
_QUOTED = re.compile(
    r'(?<!\w)"([^"\s](?:[^"]*[^"\s])?)"(?!\w)'
    "|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」"
)
"""Straight ones stand at the ends of words: 5" is a length."""
_BLANKS = re.compile(r"\s+")
_END = " .,;:!?…"


def phrases(query: str) -> list[str]:
    """What stands in quotes, as it is compared; without what has no word."""
    found = ["".join(groups) for groups in _QUOTED.findall(query[:_CHARS])]
    told = [phrase for text in found if (phrase := _plain(text).strip(_END)) and tokenize(phrase)]
    return list(dict.fromkeys(told))[:PHRASES_MAX]


def says(text: str, phrase: str) -> bool:
    """Whether a text says a phrase of `phrases`; a word of it is no part of a longer one."""
    before = r"(?<!\w)" if phrase[0].isascii() and phrase[0].isalnum() else ""
    after = r"(?!\w)" if phrase[-1].isascii() and phrase[-1].isalnum() else ""
    return re.search(before + re.escape(phrase) + after, _plain(text)) is not None


def quoted(
    view: ContainerView,
    query: str,
    criteria: Criteria,
    selected: Selected,
    words: npt.NDArray[np.float64],
) -> tuple[Ordinals, ...]:
    """For each phrase in quotes the entries that say it, of what may be returned; nothing when
    nobody says any. `words` is BM25 of every entry."""
    told = phrases(query)
    if not told:
        return ()
    texts = Texts(view, criteria)
    said = tuple(_saying(view, phrase, selected, words, texts) for phrase in told)
    return said if any(map(len, said)) else ()


def _saying(
    view: ContainerView,
    phrase: str,
    selected: Selected,
    words: npt.NDArray[np.float64],
    texts: Texts,
) -> Ordinals:
    lists = [view.postings(entries.WORDS, term)[0] for term in sorted(set(tokenize(phrase)))]
    holding = _all_of(lists)
    holding = holding[selected.allowed[holding]]
    columns = selected.columns
    near, _ = bm25.top_k(words[holding], holding, columns.item, READ_MAX)
    refs = [Ref(Kind(int(columns.kind[at])), columns.item[at].tobytes()) for at in near.tolist()]
    told = [says(texts.said(ref), phrase) for ref in refs]
    return near[np.array(told, np.bool_)]


def _all_of(lists: Sequence[Ordinals]) -> Ordinals:
    def both(one: Ordinals, other: Ordinals) -> Ordinals:
        return np.intersect1d(one, other, assume_unique=True)

    return reduce(both, sorted(lists, key=len))


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", folded(text)).strip()
