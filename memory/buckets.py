"""What goes into the buckets that every profile can have.

A bucket takes facts of its kinds, facts that give the profile's subject one of its attributes,
facts that hold one of its words, and whatever is tagged with its name. The words are English; for
others there are tags, and buckets of a caller's own.
"""

from functools import cache
from typing import NamedTuple

from rewound.eventlog.events import FactKind
from rewound.llm.attribute_table import DEFAULT, many_valued
from rewound.llm.wordings import WORDINGS
from rewound.memory.requests import BucketName
from rewound.projections.tokens import tokenize


class Taking(NamedTuple):
    """What a bucket takes; any of these will do."""

    kinds: frozenset[FactKind] = frozenset()
    attributes: tuple[str, ...] = ()
    words: str = ""

    def terms(self) -> list[str]:
        """The words as the index has them."""
        return sorted(set(tokenize(self.words)))


TAKING: dict[BucketName, Taking] = {
    "preferences": Taking(
        frozenset({FactKind.PREFERENCE}),
        words="likes loves prefers preferred favorite favourite enjoys hates dislikes fond",
    ),
    "people": Taking(
        attributes=("spouse", "partner", "children", "siblings"),
        words="mother mom mum father dad parent sister brother sibling wife husband spouse partner "
        "fiance fiancee girlfriend boyfriend son daughter child children kid aunt uncle niece "
        "nephew cousin grandmother grandma grandfather grandpa friend neighbor neighbour roommate "
        "colleague coworker teammate",
    ),
    "work": Taking(
        attributes=(
            "employer", "works at", "works for", "occupation", "job", "works as", "role", "manager",
            "salary", "commute", "workplace", "company",
        ),
        words="job boss colleague coworker employer employee career salary office manager team "
        "promotion promoted hired employed freelance intern internship",
    ),
    "procedures": Taking(frozenset({FactKind.PROCEDURE})),
    "plans": Taking(
        attributes=("goal", "goals", "due", "deadline", "plan"),
        words="plan plans planned planning goal intend intends intention aim hope hopes deadline",
    ),
}  # fmt: skip


@cache
def single_valued() -> tuple[str, ...]:
    """Attributes of which a subject has one value at a time, in the words of facts: what tells most
    about somebody, and for longest."""
    names = {row.attribute for row in DEFAULT if row.single}
    for wording in WORDINGS:
        if wording.single and wording.name not in _PASSING:
            names |= {wording.name, *wording.nouns[:_NOUNS], *wording.phrases[:_PHRASES]}
    return tuple(sorted(names - many_valued() - _PASSING))


_NOUNS, _PHRASES = 4, 2
"""The first wordings of an attribute are the common ones, in the present tense."""

_PASSING = frozenset(
    {"status", "date", "time", "when", "due", "version", "room", "place", "assignee", "part"}
)
"""What has one value, but not for long, or says little of the whole."""
