"""The turn before a hit, where the hit is a short answer to it: *Biscuit.* says little without
*What is the name of your new dog?*

It comes along only where the search itself may have returned it, so that no filter, scope or
forgetting is got round.
"""

from rewound.memory.excerpting import closing
from rewound.memory.replies import Asked
from rewound.memory.showing import Shower
from rewound.projections.messages import MessageRow
from rewound.projections.search import Match

ANSWER_CHARS = 80
"""What is longer says by itself what it is about."""
QUESTION_CHARS = 160
"""Only the sentence that asks is told, and of a long one its end."""
_ASKS = ("?", "？", "؟", ";")
"""How a question ends, in Greek too."""


def asked_before(shower: Shower, match: Match) -> Asked | None:
    """The question that a hit answers in few words; None when it is no such answer."""
    before = match.previous
    if before is None or len(shower.text(match.ref, match.row.state)) > ANSWER_CHARS:
        return None
    row = shower.view.row(before, shower.when.at)
    if row is None or not isinstance(row.state, MessageRow):
        return None
    question = shower.text(before, row.state).strip()
    if not question.endswith(_ASKS):
        return None
    return Asked(
        id=str(before),
        text=" ".join(closing(question, QUESTION_CHARS).split()),
        speaker=shower.view.text(row.state.speaker),
    )
