"""A process of its own that uses a store: `python -m tests.integration.worker DATA`.

It reads orders, one a line, and answers each with one line: `write TEXT`, `list`, `own`, `owns`,
`fork TEXT` (a child writes), `child` (a child waits until told to go on), `load NAME COUNT`.
Without a `close` it ends without saying goodbye.
"""

import os
import sys
from collections.abc import Callable

from rewound.memory import deciding
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.library import Memory
from tests.integration.given import deciders, fact


class Worker:
    """One handle on the store, and what it can be told to do."""

    def __init__(self, data: str) -> None:
        self.memory = Memory(data)

    def write(self, text: str) -> str:
        reply = self.memory.call(fact(text))
        assert isinstance(reply, r.Written)
        return str(reply.position)

    def list(self) -> str:
        page = self.memory.call(q.List(limit=1000))
        assert isinstance(page, r.Page)
        return " ".join(sorted(item.text for item in page.items))

    def own(self) -> str:
        self.memory.own()
        return self.owns()

    def owns(self) -> str:
        return "yes" if self.memory.link.owns else "no"

    def load(self, name: str, count: str) -> str:
        """Writes, each told as soon as it is acknowledged."""
        for number in range(int(count)):
            position = self.write(f"{name}-{number}")
            say(f"{name}-{number} {position}")
        return "loaded"

    def fork(self, text: str) -> str:
        """A child writes, and must do so through us; then we write."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                answer = f"{self.owns()} {self.write('child-' + text)} {self.owns()}"
            except BaseException as error:
                answer = repr(error)
            os.write(write, answer.encode())
            os._exit(0)
        os.close(write)
        answer = os.read(read, 10_000).decode()
        os.close(read)
        os.waitpid(child, 0)
        return f"{answer} {self.write('parent-' + text)} {self.owns()}"

    def child(self) -> str:
        """A child that lives on, whatever becomes of us: it takes over our orders."""
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return ""
        return str(os.getpid())

    def close(self) -> str:
        self.memory.close()
        return "closed"


def say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    deciding.load = deciders
    worker = Worker(sys.argv[1])
    say("ready")
    for line in sys.stdin:
        name, *words = line.split()
        order: Callable[..., str] = getattr(worker, name)
        try:
            answer = order(*words)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        if answer:
            say(answer)


if __name__ == "__main__":
    main()
