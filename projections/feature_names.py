"""The names of what the ranker knows of a candidate, in the order of its weights.

`features` tells what they are worth; a ranker that was fitted on others is refused.
"""

from typing import Final

SINGLE: Final = (
    "words",
    "meaning",
    "words its facts add",
    "meaning its facts add",
    "best words and meaning",
    "rank by words",
    "rank by meaning",
    "words before",
    "meaning before",
    "meaning before, a question",
    "words after",
    "meaning after",
    "two before",
    "query covered",
    "query covered with neighbours",
    "query covered by conversation",
    "terms covered",
    "related words said",
    "says just what is asked",
    "says what is quoted",
    "conversation by words",
    "conversation's best",
    "conversation's meaning",
    "conversation's meaning, assistant asked for",
    "rank of conversation",
    "rank in conversation",
    "among the first two",
    "has facts",
    "is a fact of its own",
    "length",
    "length squared",
    "is short",
    "asks",
    "numbers",
    "number, how many asked",
    "date, when asked",
    "month or year asked for",
    "liking",
    "liking, suggestion asked for",
    "first person, asked in it",
    "assistant, not asked for",
    "assistant, asked for",
    "assistant, suggestion asked for",
    "meaning, suggestion asked for",
    "recency",
    "said by whom the query names",
    "said by another",
    "all its facts are outdated",
    "importance",
)

LIFTS: Final = ("recency", "importance")
"""What only lifts: it moves a candidate up and takes nothing from the others. It has no part in how
well the best one fits, so nothing falls below a threshold because something else was lifted."""

PRODUCTS: Final = (
    ("length", "best words and meaning"),
    ("length", "rank in conversation"),
    ("length", "rank of conversation"),
    ("meaning its facts add", "meaning its facts add"),
    ("conversation's best", "conversation by words"),
    ("conversation's best", "rank in conversation"),
    ("conversation by words", "meaning before"),
    ("query covered with neighbours", "rank of conversation"),
    ("is a fact of its own", "words"),
    ("is a fact of its own", "meaning"),
    ("is a fact of its own", "query covered"),
    ("is a fact of its own", "rank by words"),
    ("is a fact of its own", "rank by meaning"),
    ("is a fact of its own", "length"),
)
"""Those of a dozen leading features whose products a fit weighed most; and those by which facts
that no conversation helps are weighed otherwise than messages."""

NAMES: Final = (*SINGLE, *(f"{one} * {other}" for one, other in PRODUCTS))
"""In the order of the columns."""
