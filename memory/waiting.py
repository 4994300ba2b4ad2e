"""What waits for a quiet moment: of the jobs that are pending, those that are not to be done yet.

Told from the views, by the rule that the backlog follows, so that a process that only reads can say
it, too.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rewound.eventlog.ids import Kind, Ref
from rewound.memory.rhythm import Rhythm
from rewound.projections.jobs import JobState

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView


def waiting(view: ContainerView, rhythm: Rhythm, now_us: int) -> dict[Ref, int]:
    """Messages that wait, and when each is read at the latest (µs) if nothing more is said."""
    if not rhythm.gathers:
        return {}
    young = {
        key[1:]: job.since
        for key, job in view.job_briefs()
        if job.since > now_us - rhythm.age_us
        and key[0] == Kind.MESSAGE
        and job.state is JobState.PENDING
    }
    talks: dict[bytes, list[tuple[int, Ref]]] = defaultdict(list)
    for row in view.messages(young):
        talks[row.state.conversation].append((young[row.id], Ref(Kind.MESSAGE, row.id)))
    found: dict[Ref, int] = {}
    for talk in talks.values():
        talk.sort(key=lambda each: each[0])
        times = [at_us for at_us, _ in talk]
        left = talk[rhythm.due(times, now_us) :]
        if left:
            due_us = rhythm.due_us(len(left), left[0][0], left[-1][0])
            found.update((ref, due_us) for _, ref in left)
    return found
