"""What is remembered of a question, before anybody answers it."""

from rewound.llm.question_answering import Query, Recalled
from rewound.memory.replies import Reply, Responded


class Recollection(Reply, frozen=True, kw_only=True):
    """A reply without its answer, and what an answerer is given: none where the budget is too small
    for what fits (`crowded`). It goes to no door."""

    blank: Responded
    query: Query
    recalled: tuple[Recalled, ...]
    crowded: bool = False
