"""Whether a model mixed up messages that it was shown together.

A message may be forgotten later, and then nothing of it may stand in what was drawn from its
neighbours. So a statement holds no telling word that only another message says. In scripts that set
no blanks between words this cannot be seen: such messages are shown alone.
"""

from rewound.llm.english import ADVERBS, AUXILIARIES, DETERMINERS, PRONOUNS, words_of
from rewound.llm.portions import Portion
from rewound.llm.scripts import is_other_script
from rewound.llm.vocabulary import stem

_PLAIN = (
    AUXILIARIES
    | PRONOUNS
    | DETERMINERS
    | ADVERBS
    | frozenset(
        "and or but nor so of to in on at for from with without by as into onto over under about "
        "than if since until till during after before between through up down out off while when "
        "where which whose what how why because user author speaker be been being am "
        "live work like love prefer want need own use keep get go come make take give say tell "
        "think know call name move start stop begin end stay time day thing one ones other "
        "him himself herself themselves itself them us me mine yours".split()
    )
)
_LETTERS = 6
"""Words are the same that begin so far alike: `allergic` gives away what an `allergy` was."""

_PLAIN_STEMS = frozenset(stem(word)[:_LETTERS] for word in _PLAIN)
"""Words that tell nothing by themselves: a model puts them where the text has others."""


def may_be_together(portion: Portion) -> bool:
    """Whether it could be seen what a model takes from which of these texts."""
    return not any(is_other_script(stretch.text) for stretch in portion.stretches)


def mixes(statement: str, own: str, others: str) -> bool:
    """Whether a statement holds a telling word of the other texts that is not in its own."""
    told = _stems(statement) - _PLAIN_STEMS - _stems(own)
    return not told.isdisjoint(_stems(others))


def _stems(text: str) -> set[str]:
    return {stem(part)[:_LETTERS] for word in words_of(text) for part in _parts(word.low)}


def _parts(low: str) -> set[str]:
    """A word as it is, without its `'s`, and the parts of one with hyphens."""
    bare = low.removesuffix("'s").removesuffix("’s")
    return {low, bare, *bare.split("-")}
