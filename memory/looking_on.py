"""A link of a process that looks on: it answers questions itself, and asks the owner all else.

It reads the store's files as long as the owner knows of it. When the owner ends or hands the store
over, it closes them, asks whoever answers, and looks on beside the next owner as soon as there is
one. It never becomes an owner itself.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import Future

from rewound.eventlog.clock import Clock, SystemClock
from rewound.eventlog.envelope import PERSON, Actor
from rewound.eventlog.errors import RewoundError, StoreBusy
from rewound.llm.dispatching import Dispatcher
from rewound.llm.slot_files import SlotFiles
from rewound.memory import requests as q
from rewound.memory import wire
from rewound.memory.decomposing import Decomposes
from rewound.memory.file_reads import ASKED_OF_THE_OWNER, FileReads
from rewound.memory.inputs import sift
from rewound.memory.link import WAIT_S, Link
from rewound.memory.managing_nodes import standing
from rewound.memory.meaning import Meaning
from rewound.memory.models import NO_MODELS, Models
from rewound.memory.place import slots_folder
from rewound.memory.reopening import reopening
from rewound.memory.replies import NodeList, Reply
from rewound.memory.reranking import Reranks
from rewound.memory.responding import Responds
from rewound.memory.rewriting import Rewrites

_AGAIN_S = 0.2
"""So long after nobody let us look on we ask again."""

_log = logging.getLogger(__name__)


class LookingOn:
    """A link (`link.Link`) that reads by itself. Safe for any number of threads.

    `models` are what the owner works with: the same query has to mean the same here.
    """

    owns = False

    def __init__(
        self,
        data: str | os.PathLike[str],
        *,
        models: Models,
        clock: Clock | None = None,
        wait_s: float = WAIT_S,
    ) -> None:
        self._clock = clock or SystemClock()
        self._models = models
        self._wait_s = wait_s
        self._link = Link(data, clock=self._clock, models=NO_MODELS, wait_s=wait_s, may_own=False)
        self._nodes = nodes = models.make_dispatcher()
        nodes.share(SlotFiles(slots_folder()))
        self._meaning = Meaning(models.make_embedder(nodes), reopening(models))
        self._reranks = Reranks.of(models, self._meaning.embedder, nodes)
        nodes.on_return(self._meaning.nodes_are_back)
        nodes.on_return(self._reranks.nodes_are_back)
        self._rewrites = Rewrites.of(models, nodes)
        nodes.on_return(self._rewrites.nodes_are_back)
        self._decomposes = Decomposes.of(models, nodes)
        nodes.on_return(self._decomposes.nodes_are_back)
        self._responds = Responds.of(models, nodes)
        nodes.on_return(self._responds.nodes_are_back)
        self._guard = threading.Lock()
        self._files: _Files | None = None
        self._again_at = 0.0
        self._closed = False

    def call(self, request: q.Request, actor: Actor = PERSON) -> Reply:
        """The reply to any request. Raises RewoundError; StoreBusy when nobody answers."""
        if isinstance(request, q.Read) and not isinstance(request, ASKED_OF_THE_OWNER):
            files = self._looked_at()
            if files is not None:
                question, _ = sift(request)
                try:
                    return files.reads.read(question, self._wait_s)
                except StoreBusy:
                    if not files.left:
                        raise
        return self._link.call(request, actor)

    def submit(self, request: q.Write, actor: Actor = PERSON) -> Future[Reply]:
        """A command whose reply is waited for elsewhere (an event loop): `Link.submit`."""
        return self._link.submit(request, actor)

    def nodes(self) -> NodeList:
        """The model servers, with the calls that this process made there."""
        return standing(self._nodes)

    def look_on(self) -> bool:
        """Whether this process reads the files by now; it tries to, if it does not."""
        return self._looked_at() is not None

    def close(self) -> None:
        """Finish what is under way and let go of the store. Idempotent."""
        with self._guard:
            self._closed = True
            files = self._files
        self._decomposes.close()
        self._responds.close()
        self._rewrites.close()
        self._reranks.close()
        self._meaning.close()
        self._nodes.close()
        self._link.close()
        if files is not None:
            files.leave()

    def _looked_at(self) -> _Files | None:
        """The files, opened if an owner lets us; None while nobody does."""
        files = self._files
        if files is not None and not files.left:
            return files
        if not self._guard.acquire(blocking=False):
            return None  # another thread sees to it, and the owner answers meanwhile
        try:
            if self._files is not None and not self._files.left:
                return self._files
            now = time.monotonic()
            if self._closed or now < self._again_at:
                return None
            self._again_at = now + _AGAIN_S
            if self._files is not None:
                self._files.leave()  # no file may be open twice in one process
            self._files = self._opened()
            return self._files
        finally:
            self._guard.release()

    def _opened(self) -> _Files | None:
        try:
            connection = self._link.look_on()
        except (wire.PeerGone, OSError, RewoundError) as error:
            _log.debug("nobody lets us read the files: %s", error)
            return None
        try:
            reads = FileReads(
                self._link.layout, clock=self._clock, models=self._models,
                meaning=self._meaning, reranks=self._reranks, rewrites=self._rewrites,
                decomposes=self._decomposes,
                responds=self._responds,
            )  # fmt: skip
        except Exception as error:  # whatever it is, the owner can be asked
            _log.warning("the files cannot be read here for now: %s", error)
            connection.close()
            return None
        return _Files(connection, reads, self._nodes)


class _Files:
    """The opened files, and the connection that they depend on. `left` once they may be closed."""

    def __init__(self, connection: wire.Connection, reads: FileReads, nodes: Dispatcher) -> None:
        self.reads = reads
        self.left = False
        self._nodes = nodes
        self._connection = connection
        self._thread = threading.Thread(target=self._listen, name="rewound-onlooker", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Close the files, and wait until they are."""
        self.left = True
        self._connection.end()
        self._thread.join()

    def _listen(self) -> None:
        """Do as the owner says until it leaves."""
        try:
            while isinstance(frame := self._connection.receive(), wire.Renew):
                if frame.nodes is not None:
                    self._nodes.follow(frame.nodes)
                self.reads.renew()
                self._connection.send(wire.Renewed(frame.number))
        except (wire.PeerGone, OSError) as gone:
            _log.debug("the owner left: %s", gone)
        except Exception:
            _log.exception("the files could not be opened anew")  # so nothing more is read of them
        finally:
            self.left = True
            try:
                self.reads.close()
            finally:
                self._connection.close()  # the last: as long as it lasts, the owner waits for us
