"""No outbound connection is ever made: everything done under a guard on sockets."""

import subprocess
import sys
from pathlib import Path

_UNDER_GUARD = """
import socket, sys

asked = []

def guard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        address = arguments[-1] if event != "socket.getaddrinfo" else arguments
        if not isinstance(address, (str, bytes)):  # a path is a Unix socket of this machine
            asked.append((event, address))
            raise RuntimeError(f"outbound: {event} {address}")

sys.addaudithook(guard)

from rewound.memory import Memory

memory = Memory(sys.argv[1])
fact = memory.remember("Nina works at Orbit Labs.").items[0]
memory.ingest("See https://example.com/page and mail nina@example.com.", id="links")
memory.add_messages([{"content": "The server is 10.0.0.1:8080."}], conversation="talk")
memory.search("example.com")
memory.context("server")
memory.update(fact.id, "Nina works at Harbor Foods.")
memory.forget(fact.id)
memory.restore(fact.id)
memory.undo(fact.event, dry_run=True)
memory.replay("now")
memory.rebuild()
memory.erase(fact.id)
assert memory.verify().ok
memory.close()
sys.argv = ["rewound", "--data", sys.argv[1], "search", "Orbit"]
from rewound.http.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert not asked, asked
try:  # the guard does guard
    socket.create_connection(("127.0.0.1", 9))
except RuntimeError:
    print("guarded")
"""


def test_nothing_leaves_the_machine(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _UNDER_GUARD, str(tmp_path / "store")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "guarded"
