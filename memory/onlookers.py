"""The owner's side of looking on: processes that read the store's files beside the one that writes.

A process says so through the socket before it opens a file, and its connection stands for it until
it has closed them. So the owner knows all of them, and none that has died. When bytes were erased
or a file was replaced, each is told, and answers once nothing of before is open or kept there. With
it each is told the nodes that there are; also at first, and when they change.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from rewound.eventlog.errors import StoreBusy
from rewound.llm.nodes import Enlisted
from rewound.memory import wire

PATIENCE_S = 30.0
"""How long they are waited for: a read that is under way there has to end first."""

_log = logging.getLogger(__name__)


class _Onlooker:
    """`told` is the last number it was sent, `renewed` the last that it answered."""

    def __init__(self, number: int) -> None:
        self.told = self.renewed = number


class Onlookers:
    """Those of one store. Safe for any number of threads."""

    def __init__(self) -> None:
        self.patience_s = PATIENCE_S
        self._all: dict[wire.Connection, _Onlooker] = {}
        self._number = 0
        self._files_number = 0
        self._nodes_changed = False
        self.nodes: Callable[[], tuple[Enlisted, ...]] | None = None
        """Tells the nodes, where calls are made at any."""
        self._changed = threading.Condition(threading.Lock())

    @property
    def late(self) -> bool:
        """Whether one of them may still have open, or keep, what was replaced or erased."""
        with self._changed:
            return self._is_late(self._files_number)

    def attend(self, connection: wire.Connection, welcome: Callable[[], None]) -> None:
        """Count who is at the other end as an onlooker until it leaves; `welcome` tells it so.

        Raises PeerGone when it does leave, OSError.
        """
        with self._changed:
            welcome()  # in here, or what all are told could come before it, or into the midst of it
            onlooker = self._all[connection] = _Onlooker(self._number)
            table = self._table()
            if table or self._nodes_changed:
                connection.send(wire.Renew(self._number, table))
        try:
            while isinstance(frame := connection.receive(), wire.Renewed):
                with self._changed:
                    onlooker.renewed = frame.number
                    self._send(connection, onlooker)
                    self._changed.notify_all()
        finally:
            with self._changed:
                del self._all[connection]
                self._changed.notify_all()

    def tell(self) -> None:
        """Have them open the files that are there now, and let go of what they keep of before,
        without waiting for it."""
        with self._changed:
            self._number += 1
            self._files_number = self._number
            self._send_all()

    def tell_nodes(self) -> None:
        """Have them send their work to the nodes that there are now, without waiting for it."""
        with self._changed:
            self._number += 1
            self._nodes_changed = True
            self._send_all()

    def wait(self) -> None:
        """Wait until they have done what they were told. Raises StoreBusy when one is too slow.

        Whoever comes later finds the files of then, and is not waited for.
        """
        with self._changed:
            number = self._files_number
            if not self._changed.wait_for(lambda: not self._is_late(number), self.patience_s):
                raise StoreBusy(
                    "another process that reads the store still has open what was replaced"
                )

    def _send_all(self) -> None:
        for connection, onlooker in self._all.items():
            self._send(connection, onlooker)

    def _send(self, connection: wire.Connection, onlooker: _Onlooker) -> None:
        """Tell one of the last number, unless its answer to an earlier one is still to come: so
        that no more is ever sent than the socket takes at once."""
        if onlooker.renewed < onlooker.told or onlooker.told == self._number:
            return
        onlooker.told = self._number
        try:
            connection.send(wire.Renew(self._number, self._table()))
        except (wire.PeerGone, OSError) as gone:  # its own thread sees it end
            _log.debug("an onlooker left: %s", gone)

    def _table(self) -> tuple[Enlisted, ...] | None:
        return None if self.nodes is None else self.nodes()

    def _is_late(self, number: int) -> bool:
        return any(onlooker.renewed < number for onlooker in self._all.values())
