"""Sealed heads: one hash over the chain heads of all containers, kept as an event and elsewhere.

Whoever keeps the hash can later show that nothing before it was changed, or cut off the end.
"""

from rewound.eventlog.events import HeadsSealed
from rewound.eventlog.ids import STORE
from rewound.eventlog.log import Reader
from rewound.eventlog.verify import heads_digest


def heads_sealed(log: Reader) -> HeadsSealed:
    """The event that seals the heads as they are now, in the form that `verify` checks."""
    return HeadsSealed(*heads_digest(log))


def last_seal(log: Reader) -> HeadsSealed | None:
    """The seal, when nothing has been appended anywhere since."""
    sequence = log.sequence()
    for _, recorded in log.all_events(sequence - 1) if sequence else ():
        if recorded.container == STORE and isinstance(recorded.event, HeadsSealed):
            return recorded.event
    return None
