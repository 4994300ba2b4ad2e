"""What the users of a store sent through any door, and what they were told.

The users live in the test's own process and outlive every process of the product, so this needs no
file. Every text that is sent is unique: it can be counted afterwards.
"""

import threading
from collections import Counter
from typing import Any, Literal

import msgspec

Action = Literal["remember", "say", "forget", "undo", "search", "history"]
End = Literal["there", "forgotten", "undone", "unsure"]


class Sent(msgspec.Struct):
    """A fact or message and what became of it. `end` is `unsure` where an answer never came."""

    token: str
    """A word that stands in this text only."""
    text: str
    kind: Literal["fact", "message"]
    states: bool = True
    """Whether a fact is to be drawn from it: a question states nothing."""
    id: str = ""
    event: str = ""
    position: int = 0
    end: End = "there"
    again: bool = False
    """Its answer was lost and it was sent again: `event` is only that of the second sighting."""

    @property
    def acknowledged(self) -> bool:
        return bool(self.id)


class Deed(msgspec.Struct, frozen=True):
    """One thing that a user does about one text, under a key of its own."""

    action: Action
    sent: Sent
    key: str


class Ledger:
    """Shared by all users of one run. `faults` are errors that a user was shown."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._changed = threading.Condition(self._guard)
        self.sent: dict[str, Sent] = {}
        self.told: list[Deed] = []
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()
        self.longest_s: dict[str, float] = {}

    def took(self, what: str, seconds: float) -> None:
        with self._guard:
            self.longest_s[what] = max(seconds, self.longest_s.get(what, 0.0))

    def open(self, sent: Sent) -> None:
        """Before it is sent for the first time."""
        with self._guard:
            assert sent.text not in self.sent, "texts are unique"
            self.sent[sent.text] = sent

    def count(self, what: str) -> None:
        with self._changed:
            self.counts[what] += 1
            self._changed.notify_all()

    def counted(self, what: str) -> int:
        with self._guard:
            return self.counts[what]

    def fault(self, message: str) -> None:
        with self._guard:
            self.faults.append(message)

    def unsure(self, deed: Deed) -> None:
        """No answer came, and it will not be sent again."""
        with self._guard:
            if deed.action in ("forget", "undo"):
                deed.sent.end = "unsure"

    def learn(self, door: str, deed: Deed, reply: dict[str, Any]) -> None:
        """The door answered. A reply that cannot be right is a fault."""
        fault = _learned(deed, reply)
        if fault:
            self.fault(f"{door}: {deed.action} {deed.sent.text!r}: {fault}: {reply}")
            return
        if deed.action not in ("search", "history"):
            with self._guard:
                self.told.append(deed)
            self.count(f"{door} writes")
        else:
            self.count(f"{door} reads")
        self.count(f"{door} answers")


def _learned(deed: Deed, reply: dict[str, Any]) -> str:
    """Take in what a reply says; what is wrong with it, or nothing."""
    sent = deed.sent
    match deed.action:
        case "remember" | "say":
            (item,) = reply["items"]
            if item["kind"] != sent.kind or item["status"] not in ("written", "seen again"):
                return "was not written"
            if sent.kind == "fact" and item["status"] != "written":
                return "was known before"
            sent.id, sent.event, sent.position = item["id"], item["event"], reply["position"]
            sent.again = item["status"] == "seen again"
        case "forget":
            if sent.id not in [hidden["id"] for hidden in reply["items"]]:
                return "was not forgotten"
            sent.end = "forgotten"
        case "undo":
            if sent.event not in reply["dropped"]:
                return "was not undone"
            if not sent.again:  # what was recorded the first time holds
                sent.end = "undone"
        case "search":
            if not any(sent.token in hit["text"] for hit in reply["hits"]):
                return "was not found"
        case "history":
            if sent.id not in [version["id"] for version in reply["versions"]]:
                return "has no history"
    return ""
