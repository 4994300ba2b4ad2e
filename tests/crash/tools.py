"""A user of the tools of `rewound mcp`, whose process comes and goes under it.

A call whose process was killed may have happened or not: the user cannot know. A transcript is sent
again, which adds only what is new.
"""

import json
import os
import signal
import subprocess
import threading
import time
from typing import IO, Any

from tests.crash.doors import User
from tests.crash.ledger import Action, Deed, Ledger
from tests.crash.processes import WAIT_S, Place
from tests.crash.writer import CONTAINER
from tests.mcp.driving import INITIALIZE, tool_call

WRITES: tuple[Action, ...] = ("remember", "forget", "undo")


class McpProcess:
    """One `rewound mcp`, spoken to line by line."""

    def __init__(self, here: Place, words: list[str], prints: str) -> None:
        with (here.prints / prints).open("ab") as errors:
            self.child = subprocess.Popen(
                words,
                env=here.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._guard = threading.Lock()
        self.ended_by: list[str] = []

    def end(self, how: str) -> None:
        """By SIGKILL, SIGTERM or the end of its input (`eof`)."""
        with self._guard:
            self.ended_by.append(how)
            if how == "eof":
                self._input.close()
            else:
                self.child.send_signal(signal.Signals[how])

    def send(self, *messages: dict[str, Any]) -> bool:
        """False when the process takes no more."""
        lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        with self._guard:
            if self._input.closed:
                return False
            try:
                self._input.write(lines)
                self._input.flush()
            except BrokenPipeError:
                return False
        return True

    def receive(self) -> dict[str, Any] | None:
        """The next message; None once the process says no more."""
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        if not line.endswith(b"\n"):  # a line that a kill cut off is none
            return None
        message: dict[str, Any] = json.loads(line)
        return message

    def gone(self) -> int:
        """Wait for its end, after its last line."""
        try:
            return self.child.wait(WAIT_S)
        finally:
            self.child.kill()
            self.child.wait()
            with self._guard:
                try:
                    self._input.close()
                except BrokenPipeError:
                    pass  # what was still buffered has nobody to go to
            assert self.child.stdout is not None
            self.child.stdout.close()

    @property
    def _input(self) -> IO[bytes]:
        assert self.child.stdin is not None
        return self.child.stdin


class McpUser(User):
    """Calls tools, sometimes several at once. A transcript without an answer is sent again."""

    def __init__(self, name: str, here: Place, ledger: Ledger, seed: object, python: str) -> None:
        super().__init__(name, here, ledger, seed)
        data = os.fspath(here.data)
        self._words = [python, "-m", "rewound.http", "mcp", "--data", data, "-c", CONTAINER]
        self._process: McpProcess | None = None
        self._unanswered: Deed | None = None
        self._calls = 0

    def restart(self, how: str) -> bool:
        process = self._process
        if process is None or process.ended_by:
            return False
        process.end(how)
        return True

    def step(self) -> None:
        process = self._process or self._start()
        if process is None:
            return
        deeds = self._next()
        calls = {self._number_of_call(): deed for deed in deeds}
        sent = process.send(*(tool_call(n, *self._tool(deed)) for n, deed in calls.items()))
        left = dict(calls)
        while left and (answer := process.receive()) is not None:
            self._heard(left, answer)
        for deed in left.values():
            if deed.action == "say":
                self._unanswered = deed
                self.ledger.count(f"{self.name} transcripts to send again")
            else:
                self.ledger.unsure(deed)
                self.ledger.count(f"{self.name} calls without an answer")
        if left or not sent:
            if sent and process.ended_by == ["eof"]:
                self.ledger.fault(f"{self.name}: calls taken before the input ended: {left}")
            self._over(process)

    def kill(self) -> None:
        if self._process is not None:
            self._process.child.kill()

    def finish(self) -> None:
        while self._unanswered is not None:
            self.step()
        if self._process is not None:
            if not self._process.ended_by:
                self._process.end("eof")
            self._over(self._process)

    def _start(self) -> McpProcess | None:
        """A new process that has said hello; None when it was killed before."""
        process = self._process = McpProcess(self.here, self._words, f"{self.name}.txt")
        self.ledger.count(f"{self.name} starts")
        hello = process.receive() if process.send(INITIALIZE) else None
        if hello is None:
            self._over(process)
            return None
        if "result" not in hello:
            self.ledger.fault(f"{self.name}: initialize: {hello}")
        process.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return process

    def _over(self, process: McpProcess) -> None:
        begun = time.monotonic()
        status = process.gone()
        self.ledger.took(f"{self.name} to end by {process.ended_by}", time.monotonic() - begun)
        self._process = None
        allowed = {0, -signal.SIGTERM} if "SIGTERM" in process.ended_by else {0}
        if "SIGKILL" in process.ended_by:
            allowed.add(-signal.SIGKILL)
        if not process.ended_by:
            self.ledger.fault(f"{self.name}: a process ended by itself with {status}")
        elif status not in allowed:
            self.ledger.fault(f"{self.name}: ended by {process.ended_by} with {status}")

    def _next(self) -> list[Deed]:
        """One read, or some writes: they may be done in any order, so one transcript at most."""
        if self._unanswered is not None:
            again, self._unanswered = self._unanswered, None
            return [again]
        deeds = [self.deed(self.actions)]
        while deeds[0].action in (*WRITES, "say") and self.dice.random() < 0.4 and len(deeds) < 4:
            deeds.append(self.deed(WRITES))
        return deeds

    def _number_of_call(self) -> int:
        self._calls += 1
        return self._calls

    def _tool(self, deed: Deed) -> tuple[str, dict[str, Any]]:
        sent = deed.sent
        match deed.action:
            case "say":
                message = {"content": sent.text, "name": "Ann"}
                return "add_conversation", {"messages": [message], "conversation": self.name}
            case "remember":
                return "remember", {"text": sent.text}
            case "forget":
                return "forget", {"ids": [sent.id]}
            case "undo":
                return "undo", {"id": sent.event}
            case "search":
                return "search", {"query": sent.token}
            case "history":
                return "history", {"id": sent.id}

    def _heard(self, left: dict[int, Deed], answer: dict[str, Any]) -> None:
        deed = left.pop(answer.get("id", 0), None)
        result = answer.get("result")
        if deed is None or result is None or result.get("isError"):
            self.ledger.fault(f"{self.name}: {deed and deed.action}: {answer}")
        else:
            self.learn(deed, result["structuredContent"])
