"""Which conversations have to be looked at for something to sum up. A guess; the views know.

It is filled by what is recorded and, where that names no conversation (after opening or an undo),
by going through those of a container. A snapshot may be older than what was noticed after it was
taken: what was noticed later than that is left for the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.ids import STORE, ContainerId, ConversationId, Kind, Ref
from rewound.eventlog.log import Recorded

if TYPE_CHECKING:
    from rewound.projections.views import ViewReader

KNOWN_MAX = 20_000
"""Conversations of which it is remembered how much more they may hold until they are looked at."""


class Talk(NamedTuple):
    """A conversation of a container."""

    container: ContainerId
    id: ConversationId


class ConversationsDue:
    """Safe for the writer's thread, which notices, beside the one that works."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._now: dict[Talk, int] = {}
        """To be looked at, in a snapshot that holds this position."""
        self._later: dict[Talk, int] = {}
        """When, in µs."""
        self._room: dict[Talk, int] = {}
        self._messages: dict[tuple[ContainerId, bytes], int] = {}
        """Messages whose conversations are to be looked at."""
        self._unseen: dict[ContainerId, int] = {}
        self._opened = False

    def notice(self, recorded: Sequence[Recorded]) -> bool:
        """Whether any of it may leave something to be summed up."""
        with self._guard:
            return any([self._notice(each) for each in recorded])

    def _notice(self, recorded: Recorded) -> bool:
        event, home, position = recorded.event, recorded.container, recorded.position
        match event:
            case e.MessageRecorded():
                talk = Talk(home, event.conversation)
                room = self._room.get(talk, 0) - event.text.chars
                if talk in self._room and room >= 0:
                    self._room[talk] = room
                    return False
                self._now[talk] = position
            case e.Undone():
                self._unseen[home] = position
            case e.SeenAgain(item=item) if item.kind is Kind.MESSAGE:
                self._messages[home, item.id] = position
            case e.Forgotten() | e.Restored() | e.ContentErased():
                found = [ref for ref in event.refers() if ref.kind is Kind.MESSAGE]
                self._messages.update({(home, ref.id): position for ref in found})
                return bool(found)
            case _:
                return False
        return True

    def look(self, views: ViewReader) -> None:
        """Find the conversations of what is not known by them, as far as the snapshot goes."""
        with self._guard:
            if not self._opened:
                for home in views.positions():
                    if home != STORE:
                        self._unseen.setdefault(home, 0)
                self._opened = True
            homes = [h for h, position in self._unseen.items() if position <= views.position(h)]
            messages = [key for key, at in self._messages.items() if at <= views.position(key[0])]
            for home in homes:
                del self._unseen[home]
            for key in messages:
                del self._messages[key]
        found = [Talk(home, each) for home in homes for each in views.container(home).talks()]
        for home, raw in messages:
            rows = views.container(home).versions(Ref(Kind.MESSAGE, raw))
            found += [Talk(home, row.state.conversation) for row in rows[-1:]]
        with self._guard:
            for talk in found:
                self._now.setdefault(talk, 0)

    def batch(self, count: int, views: ViewReader, now_us: int) -> list[Talk]:
        """Some that are to be looked at in this snapshot; they are taken out."""
        with self._guard:
            for talk in [talk for talk, due_us in self._later.items() if due_us <= now_us]:
                del self._later[talk]
                self._now.setdefault(talk, 0)
            ready = (t for t, at in self._now.items() if at <= views.position(t.container))
            chosen = list(islice(ready, count))
            for talk in chosen:
                del self._now[talk]
                self._room.pop(talk, None)  # what is said while it is looked at counts anew
            return chosen

    def again(self, talk: Talk, due_us: int = 0) -> None:
        """Look at it again, at once or at a time."""
        with self._guard:
            if due_us:
                self._later[talk] = min(due_us, self._later.get(talk, due_us))
            else:
                self._now.setdefault(talk, 0)

    def rests(self, talk: Talk, room: int) -> None:
        """Nothing is to be done until so many characters more were said."""
        with self._guard:
            if len(self._room) >= KNOWN_MAX and talk not in self._room:
                del self._room[next(iter(self._room))]
            self._room[talk] = room

    def hurry(self) -> None:
        """What was put off is looked at now."""
        with self._guard:
            self._now.update({talk: self._now.get(talk, 0) for talk in self._later})
            self._later.clear()

    def rest_s(self, now_us: int) -> float | None:
        """Seconds until something is to be looked at; None when nothing is."""
        with self._guard:
            if self._now or self._unseen or self._messages or not self._opened:
                return 0.0
            if not self._later:
                return None
            return max(0.0, (min(self._later.values()) - now_us) / 1e6)
