"""The last look before vectors of one model take the place of another's.

A rebuild of the words gives each entry the vector that its memo holds. Memos that were made while
it was under way are taken up here, in the transaction that swaps; and whatever would lose the
vector that it is found by now keeps the swap from being done.
"""

from collections.abc import Callable

from rewound.eventlog.ids import ContainerId, Ref
from rewound.projections.masks import Mask, forgotten
from rewound.projections.memos import decode_memo, memo_key
from rewound.projections.views import Handles, ViewWriter

Excused = Callable[[ContainerId, Ref, bool], bool]
"""Whether an item may go without a vector; it is told last whether the item is forgotten."""


def is_complete(writer: ViewWriter, made: Handles, excused: Excused) -> bool:
    """Whether all that is found by meaning now will be by what is to take its place, but for what
    is excused. What waits there gets the vectors that are there by now."""
    return all(
        _is_complete_in(writer, made, container, excused)
        for container in list(made.words.embeddings.containers_waiting())
    )


def _is_complete_in(
    writer: ViewWriter, made: Handles, container: ContainerId, excused: Excused
) -> bool:
    waits_anyway = {item for _, item in writer.index.embeddings.waiting_items(container)}
    hidden: Mask | None = None
    for ordinal, item in made.words.embeddings.waiting_items(container):
        if item in waits_anyway or _took_up(made, writer, container, item):
            continue
        if hidden is None:
            hidden = forgotten(made.columns(container))
        if not excused(container, item, bool(hidden[ordinal])):
            return False
    return True


def _took_up(made: Handles, writer: ViewWriter, container: ContainerId, item: Ref) -> bool:
    """Whether there is a memo of the item as it is found now; then it is used."""
    embeddings = made.words.embeddings
    secret = writer.log.key(container)
    value = writer.log.memo(container, memo_key(secret, embeddings.model, item))
    if value is None:
        return False
    return embeddings.embed(container, item, made.words.worded(container, item), decode_memo(value))
