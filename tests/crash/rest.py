"""`rewound serve` that comes and goes, and users of its REST API who try again.

A connection that breaks, or that nobody takes, is the client's to try again, under the same key.
"""

import os
import signal
import subprocess
import threading
import time
from typing import Any, Literal

import httpx
import msgspec

from tests.crash.doors import User
from tests.crash.ledger import Deed, Ledger
from tests.crash.processes import WAIT_S, Place
from tests.crash.writer import CONTAINER

Method = Literal["GET", "POST", "DELETE"]

READS = ("search", "history")
BUSY_S = 0.2


class Server:
    """The server at its present address; an ending one may overlap with its successor."""

    def __init__(self, name: str, here: Place, ledger: Ledger, python: str) -> None:
        self.name = name
        self.here = here
        self.ledger = ledger
        data = os.fspath(here.data)
        self._words = [python, "-m", "rewound.http", "serve", "--json", "--port", "0"]
        self._words += ["--data", data]
        self._changed = threading.Condition()
        self._address: str | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._ending: list[tuple[subprocess.Popen[bytes], str, float]] = []
        self._readers: list[threading.Thread] = []

    def wait(self, timeout_s: float) -> str | None:
        """Its address, once it answers."""
        with self._changed:
            self._changed.wait_for(lambda: self._address is not None, timeout_s)
            return self._address

    def start(self) -> None:
        with (self.here.prints / f"{self.name}.txt").open("ab") as errors:
            child = subprocess.Popen(
                self._words,
                env=self.here.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._child = child
        self.ledger.count(f"{self.name} starts")
        reader = threading.Thread(target=self._read, args=(child, time.monotonic()))
        reader.start()
        self._readers.append(reader)

    def _read(self, child: subprocess.Popen[bytes], begun: float) -> None:
        assert child.stdout is not None
        with child.stdout as printed:
            for line in printed:
                if not line.endswith(b"\n"):
                    break
                told = msgspec.json.decode(line)
                self.ledger.took(f"{self.name} to its first answer", time.monotonic() - begun)
                self.ledger.count(f"{self.name} owns" if told["owns"] else f"{self.name} does not")
                self.ledger.count(f"{self.name} answers")
                with self._changed:
                    if self._child is child:
                        self._address = told["address"]
                        self._changed.notify_all()

    def restart(self, how: str, *, overlapping: bool = False) -> bool:
        """End it; the next one starts at once, or when the old one is gone (see `look`)."""
        child = self._child
        if child is None or child.poll() is not None:
            return False
        self._end(child, how)
        if overlapping:
            self.start()
        return True

    def look(self) -> None:
        """See who is gone, and start anew when nobody is left."""
        child = self._child
        if child is not None and (status := child.poll()) is not None:
            self.ledger.fault(f"{self.name}: a process ended by itself with {status}")
            self._child = None
        self._ending = [ending for ending in self._ending if not self._gone(*ending)]
        if self._child is None and not self._ending:
            self.start()

    def finish(self) -> None:
        """End all in good order."""
        if self._child is not None:
            self._end(self._child, "SIGTERM")
        for ending in self._ending:
            try:
                ending[0].wait(WAIT_S)
            except subprocess.TimeoutExpired:
                self.ledger.fault(f"{self.name}: did not end by {ending[1]}")
                ending[0].kill()
                ending[0].wait()
            self._gone(*ending)
        for reader in self._readers:
            reader.join()

    def _end(self, child: subprocess.Popen[bytes], how: str) -> None:
        with self._changed:
            self._child = self._address = None
        child.send_signal(signal.Signals[how])
        self._ending.append((child, how, time.monotonic()))

    def _gone(self, child: subprocess.Popen[bytes], how: str, begun: float) -> bool:
        status = child.poll()
        if status is None:
            return False
        self.ledger.took(f"{self.name} to end by {how}", time.monotonic() - begun)
        if status not in (0, -signal.Signals[how]):
            self.ledger.fault(f"{self.name}: ended by {how} with {status}")
        return True


class RestUser(User):
    """Asks the server, wherever it is now, until it is answered."""

    def __init__(
        self, name: str, here: Place, ledger: Ledger, seed: object, server: Server
    ) -> None:
        super().__init__(name, here, ledger, seed)
        self._server = server
        self._client: httpx.Client | None = None
        self._at: str | None = None

    def step(self) -> None:
        deed = self.deed(self.actions)
        method, path, body = self._request(deed)
        while (response := self._sent(deed, method, path, body)) is None:
            self.ledger.count(f"{self.name} retries")
        if response.is_success:
            self.learn(deed, response.json())
        else:
            self.ledger.fault(f"{self.name}: {deed}: {response.status_code} {response.text}")

    def _sent(
        self, deed: Deed, method: Method, path: str, body: dict[str, Any]
    ) -> httpx.Response | None:
        """The answer; None when it is to be tried again."""
        client = self._client_now()
        headers = {} if deed.action in READS else {"Idempotency-Key": deed.key}
        begun = time.monotonic()
        try:
            response = client.request(method, path, headers=headers, **body)
        except httpx.TransportError as error:
            if isinstance(error, httpx.TimeoutException):
                self.ledger.fault(f"{self.name}: {deed.action}: {type(error).__name__}")
            self.ledger.took("a REST request that broke", time.monotonic() - begun)
            self._let_go()
            return None
        self.ledger.took("a REST request", time.monotonic() - begun)
        if response.status_code == 503 and "retry-after" in response.headers:
            self.ledger.count(f"{self.name} 503: {response.json()['error']['message']}")
            self.stopping.wait(BUSY_S)
            return None
        return response

    def finish(self) -> None:
        self._let_go()

    def kill(self) -> None:
        """The server is ended anyhow, and breaks the connection."""

    def _client_now(self) -> httpx.Client:
        address = self._server.wait(WAIT_S)
        if address is None:
            raise AssertionError(f"no server answers within {WAIT_S:g} s")
        if self._client is None or self._at != address:
            self._let_go()
            self._client = httpx.Client(base_url=address, timeout=WAIT_S, trust_env=False)
            self._at = address
        return self._client

    def _let_go(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _request(self, deed: Deed) -> tuple[Method, str, dict[str, Any]]:
        sent, place = deed.sent, {"container": CONTAINER}
        match deed.action:
            case "remember":
                return "POST", "/v1/facts", {"json": {**place, "text": sent.text}}
            case "say":
                message = {"content": sent.text, "name": "Ann"}
                body = {**place, "conversation": self.name, "messages": [message]}
                return "POST", "/v1/messages", {"json": body}
            case "forget":
                where = "facts" if sent.kind == "fact" else "messages"
                return "DELETE", f"/v1/{where}/{sent.id}", {"params": place}
            case "undo":
                return "POST", f"/v1/events/{sent.event}/undo", {"json": place}
            case "search":
                return "POST", "/v1/search", {"json": {**place, "query": sent.token}}
            case "history":
                return "GET", f"/v1/items/{sent.id}/history", {"params": place}
