"""A user of a store who goes on whatever happens, and the one at the command line.

Each user is a thread. Processes are killed under it by the test; what was not answered is sent
again wherever that is safe (under a key, or as a transcript), and is told to be unsure elsewhere.
"""

import random
import signal
import threading
import time
from abc import ABC, abstractmethod
from typing import Any

import msgspec

from tests.crash.ledger import Action, Deed, Ledger, Sent
from tests.crash.processes import Place, Process
from tests.crash.writer import CONTAINER

SIGNALS = (-signal.SIGKILL, -signal.SIGTERM)


class User(ABC):
    """Writes and asks through one door until told to stop. `restart` ends what answers it now."""

    actions: tuple[Action, ...] = ("remember", "say", "forget", "undo", "search", "history")

    def __init__(self, name: str, here: Place, ledger: Ledger, seed: object) -> None:
        self.name = name
        self.here = here
        self.ledger = ledger
        self.dice = random.Random(f"{seed}-{name}")
        self.stopping = threading.Event()
        self.there: list[Sent] = []
        self._number = 0
        self.thread = threading.Thread(target=self._run, name=name)

    @abstractmethod
    def step(self) -> None:
        """Do something, and see it through."""

    @abstractmethod
    def finish(self) -> None:
        """Nothing is killed any more: end in good order."""

    @abstractmethod
    def kill(self) -> None:
        """The user hangs: end at once what does not answer."""

    def _run(self) -> None:
        try:
            while not self.stopping.is_set():
                begun = time.monotonic()
                self.step()
                self.ledger.took(f"{self.name} step", time.monotonic() - begun)
            self.finish()
        except Exception as error:  # a mistake of the test's, or an answer that is none
            self.ledger.fault(f"{self.name}: {type(error).__name__}: {error}")

    def deed(self, actions: tuple[Action, ...]) -> Deed:
        """What comes next. Who is to be forgotten or undone is not looked at any more."""
        number, self._number = self._number, self._number + 1
        action = self.dice.choice(actions)
        if action in ("remember", "say") or not self.there:
            sent = self._text(number, said=action == "say")
            self.ledger.open(sent)
            return Deed("say" if sent.kind == "message" else "remember", sent, self._key(number))
        at = self.dice.randrange(len(self.there))
        sent = self.there.pop(at) if action in ("forget", "undo") else self.there[at]
        return Deed(action, sent, self._key(number))

    def learn(self, deed: Deed, reply: dict[str, Any]) -> None:
        self.ledger.learn(self.name, deed, reply)
        if deed.action in ("remember", "say") and deed.sent.acknowledged:
            self.there.append(deed.sent)

    def _key(self, number: int) -> str:
        return f"{self.name}-{number}"

    def _text(self, number: int, *, said: bool) -> Sent:
        token = f"{self.name.replace('-', '')}q{number}"
        if not said:
            return Sent(token, f"fact {token} of {self.name}", "fact")
        if self.dice.random() < 0.3:
            return Sent(token, f"Where is lamp {token}?", "message", states=False)
        return Sent(token, f"I keep lamp {token} in the hall.", "message")


# --- the command line


class CliUser(User):
    """`rewound remember` and `rewound search` in turn; a command that was killed is run again."""

    actions = ("remember", "search")

    def __init__(self, name: str, here: Place, ledger: Ledger, seed: object) -> None:
        super().__init__(name, here, ledger, seed)
        self.running: Process | None = None

    def restart(self, how: str) -> bool:
        """Kill the command that runs; False when there is none."""
        running = self.running
        if running is None or running.status() is not None:
            return False
        running.send(signal.SIGTERM if how == "SIGTERM" else signal.SIGKILL)
        return True

    def step(self) -> None:
        deed = self.deed(self.actions)
        if deed.action == "search":
            reply = self._until_done("search", "--container", CONTAINER, deed.sent.token)
        else:
            words = ("--container", CONTAINER, deed.sent.text, "--key", deed.key)
            reply = self._until_done("remember", *words)
        if reply is not None:
            self.learn(deed, reply)

    def finish(self) -> None:
        """There is no process between two commands."""

    def kill(self) -> None:
        if self.running is not None:
            self.running.kill()

    def _until_done(self, *words: str) -> dict[str, Any] | None:
        while True:
            self.running = self.here.cli(*words)
            self.ledger.count(f"{self.name} starts")
            status, output = self.running.end()
            if status == 0:
                reply: dict[str, Any] = msgspec.json.decode(output)
                return reply
            if status not in SIGNALS:
                self.ledger.fault(f"{self.name}: {words}: exit {status}, {output!r}")
                return None
            self.ledger.count(f"{self.name} retries")
