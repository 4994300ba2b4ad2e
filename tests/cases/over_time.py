"""Facts over time: a text told in one of several ways, and what has become of the facts since.

`Teller` is a door that tells texts at a day and shows the life of a fact; `Life` is what all facts
of a container look like, asked by words that they must hold or must not.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable
from itertools import count
from typing import Any

from rewound.eventlog.instants import parse_instant
from rewound.memory import replies as r
from tests.cases.doors import Door, Json, listed, options, told
from tests.cases.taking_back import (
    Correcting,
    CorrectingCommands,
    CorrectingLibrary,
    CorrectingRest,
)

WAYS = ("message", "document", "fact")
"""How a text is told: by somebody in a conversation, as a page, or word for word."""

_names = count(1)


class Life:
    """All facts of a container, what is over included."""

    def __init__(self, views: Iterable[Json]) -> None:
        self.views = list(views)

    def __str__(self) -> str:
        return "\n".join(
            f"{view['standing']['state']:>11} | {view['text']} | {view.get('subject')} / "
            f"{view.get('attribute')} / {view.get('value')} | {view['valid_from']} .. "
            f"{view.get('valid_to', '')}"
            for view in self.views
        )

    def having(self, words: str, *states: str) -> list[Json]:
        """Facts whose text a pattern is found in, in any case; with states, only those."""
        return [
            view
            for view in self.views
            if re.search(words, view["text"], re.IGNORECASE)
            and (not states or view["standing"]["state"] in states)
        ]

    def one(self, words: str) -> Json:
        """The one current fact with these words; what repeats it does not count."""
        found = self.having(words, "current")
        assert len(found) == 1, f"{len(found)} current facts with {words!r} in\n{self}"
        return found[0]

    def past(self, words: str, *states: str) -> Json:
        """The one fact with these words is over; `states` is what it may be, superseded if not."""
        allowed = states or ("superseded",)
        found = [view for view in self.having(words) if view["standing"]["state"] != "repeated"]
        assert len(found) == 1, f"{len(found)} facts with {words!r} in\n{self}"
        assert found[0]["standing"]["state"] in allowed, f"{words!r} is not {allowed} in\n{self}"
        return found[0]

    def untouched(self) -> None:
        """Nothing has ended anything."""
        states = {view["standing"]["state"] for view in self.views}
        assert states <= {"current"} and not any(view.get("valid_to") for view in self.views), (
            f"something ended in\n{self}"
        )


class Teller(Correcting):
    """A door to facts over time."""

    def tell(self, how: str, text: str, at: str | None = None, conversation: str = "chat") -> None:
        """One text, and wait until its facts are drawn and judged."""
        time = {} if at is None else {"said_at": at}
        if how == "message":
            self.say([{"content": text, **({} if at is None else {"time": at})}], conversation)
        elif how == "document":
            self.write(text, f"page {next(_names)}", **time)
        else:
            self.remember(text, **time)
        self.shop.settle()

    @abstractmethod
    def write(self, text: str, name: str, **more: str) -> None:
        """A document, with the time it was written at."""

    @abstractmethod
    def why(self, fact: str) -> Json:
        """Why a fact is believed."""

    @abstractmethod
    def versions(self, fact: str) -> list[Json]:
        """The life of a fact, oldest version first."""

    @abstractmethod
    def past(self) -> Life:
        """All facts, those that are over too."""

    def hits(self, query: str, **which: str) -> list[str]:
        """What the facts found say."""
        return [hit["text"] for hit in self.search(query, **which) if hit["kind"] == "fact"]


class TellingLibrary(CorrectingLibrary, Teller):
    def write(self, text: str, name: str, **more: Any) -> None:
        self.memory.ingest(text, id=name, **more)

    def why(self, fact: str) -> Json:
        return told(self.memory.why(fact))

    def versions(self, fact: str) -> list[Json]:
        return listed(told(self.memory.history(fact)), "versions")

    def past(self) -> Life:
        return Life(self.views(include_superseded=True))


class TellingCommands(CorrectingCommands, Teller):
    def write(self, text: str, name: str, **more: str) -> None:
        self._told("ingest", "-", "--as", name, *options(more), input=text)

    def why(self, fact: str) -> Json:
        return self._told("why", fact)

    def versions(self, fact: str) -> list[Json]:
        return listed(self._told("history", fact), "versions")

    def past(self) -> Life:
        return Life(listed(self._told("list", "--all", "--include-superseded"), "items"))


class TellingRest(CorrectingRest, Teller):
    def write(self, text: str, name: str, **more: str) -> None:
        self.api.write("POST", "/v1/documents", {"id": name, "text": text, **more})

    def why(self, fact: str) -> Json:
        return told(self.api.read(f"/v1/facts/{fact}/why", r.Explained))

    def versions(self, fact: str) -> list[Json]:
        return listed(told(self.api.read(f"/v1/facts/{fact}/history", r.Versions)), "versions")

    def past(self) -> Life:
        return Life(self.views(include_superseded="true"))


TELLERS: dict[str, type[Teller]] = {
    "library": TellingLibrary,
    "command line": TellingCommands,
    "REST": TellingRest,
}


def at(stamp: str) -> int:
    """A moment in microseconds."""
    return parse_instant(stamp).at


def endings(door: Door) -> list[r.EventView]:
    """The events that ended something, those taken back left out."""
    return [
        event
        for event in door.api.events()
        if event.type in ("fact superseded", "fact ended") and event.undone_by is None
    ]


def grounds(door: Door, event: r.EventView) -> list[r.EventView]:
    """An event with all that brought it about, nearest first."""
    by_id = {each.id: each for each in door.api.events()}
    found, left = [event], list(event.causes)
    while left:
        cause = by_id[left.pop(0)]
        if cause not in found:
            found.append(cause)
            left += cause.causes
    return found
