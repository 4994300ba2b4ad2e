"""An MCP server process on standard input and output.

Reading begins at once: what a client asks first is answered by `Early` while a thread imports the
SDK. Then the thread gives the SDK's server all that was said until then, whose answers to what was
answered already are dropped, and everything that follows.

The process ends with its input, with its parent, and on SIGTERM or SIGINT: it reads no more,
finishes the calls that it has taken, lets go of the store, and exits.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from rewound.http.mcp_calls import Result, called
from rewound.http.mcp_handshake import Early, Message, negotiated
from rewound.http.mcp_streams import INTERNAL_ERROR, INVALID_REQUEST, Broken, Streams, parsed

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

LOOK_S = 1.0  # how often to see whether the parent lives
DRAIN_S = 60.0  # calls under way may take so long when the input has ended
STOP_S = 5.0

_log = logging.getLogger(__name__)
_REPLAYED = "rewound/replayed/"  # ids under which the SDK hears again what was answered already


class Store(Protocol):
    def call(self, request: Any) -> Any: ...

    def close(self) -> None: ...


class Pending:
    """The requests that the SDK has yet to answer."""

    def __init__(self) -> None:
        self._ids: set[tuple[type, Any]] = set()
        self._changed = threading.Condition()

    def asked(self, message: Message) -> None:
        """Note a request; a cancelled one is never answered."""
        with self._changed:
            if message.get("method") == "notifications/cancelled":
                number = (message.get("params") or {}).get("requestId")
                if isinstance(number, int | str):
                    self._ids.discard((type(number), number))
                    self._changed.notify_all()
            elif "method" in message and message.get("id") is not None:
                self._ids.add((type(message["id"]), message["id"]))

    def answered(self, number: Any) -> None:
        with self._changed:
            self._ids.discard((type(number), number))
            self._changed.notify_all()

    def wait(self, timeout_s: float, until: Callable[[], bool]) -> bool:
        """Wait until nothing is pending, or something else makes waiting useless."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._ids or until(), timeout_s)

    def look(self) -> None:
        with self._changed:
            self._changed.notify_all()


class Process:
    """One client's conversation: read on the main thread, answered on the SDK's."""

    def __init__(self, call: Callable[[str, Any], Result], streams: Streams) -> None:
        self._call = call
        self._streams = streams
        self._early = Early()
        self._pending = Pending()
        self._parent = os.getppid()
        self._stopping = False
        self._turn = threading.Lock()  # who hands a message on: the reader, or the replay
        self._heard: list[tuple[Message, bool]] = []  # with whether it was answered already
        self._forward: Callable[[Message], None] | None = None
        self._close: Callable[[], None] | None = None
        self.failed = False
        self.thread = threading.Thread(target=self._serve, name="mcp", daemon=True)

    def stop(self, *_: Any) -> None:
        """Read no more. Safe in a signal handler."""
        self._stopping = True
        self._streams.wake()

    def run(self) -> None:
        """Serve until the input ends, the parent dies or `stop` is called."""
        self.thread.start()
        for line in self._streams.lines(look_s=LOOK_S):
            if line is not None:
                self._take(line)
            if self._over():
                break
        self._pending.wait(DRAIN_S, lambda: self.failed)
        if self._close is not None:
            self._close()
            self.thread.join(STOP_S)

    def _over(self) -> bool:
        ended = self.failed or self._streams.gone or not self.thread.is_alive()
        return self._stopping or ended or self._orphaned()

    def _orphaned(self) -> bool:
        return os.getppid() != self._parent

    # --- the reader's side

    def _take(self, line: bytes) -> None:
        try:
            message = parsed(line)
        except Broken as broken:
            self._streams.send(broken.error)
            return
        if message is None:
            return
        with self._turn:
            if self._forward is None:
                self._answer_early(message)
                return
        self._pending.asked(message)
        self._forward(message)

    def _answer_early(self, message: Message) -> None:
        result = None
        if "method" in message and message.get("id") is not None:
            result = self._early.result(message)
        self._heard.append((message, result is not None))
        if result is None:
            self._pending.asked(message)
        else:
            self._streams.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    # --- the SDK's side

    def _serve(self) -> None:
        try:
            from rewound.http.mcp_server import tool_server

            asyncio.run(self._serve_sdk(tool_server(self._call)))
        except ImportError as error:
            _log.error("the MCP SDK cannot be loaded: %s", error)
            self.failed = True
        except Exception:
            _log.exception("the MCP server ended")
            self.failed = True
        finally:
            self._pending.look()
            self._streams.wake()

    async def _serve_sdk(self, server: Any) -> None:
        from mcp.shared._context_streams import create_context_streams
        from mcp.shared.message import SessionMessage

        to_server, server_reads = create_context_streams[SessionMessage | Exception](0)
        server_writes, from_server = create_context_streams[SessionMessage](0)
        loop = asyncio.get_running_loop()
        options = server.create_initialization_options()
        serving = asyncio.create_task(server.run(server_reads, server_writes, options))
        writing = asyncio.create_task(self._write_all(from_server))

        async def hand_on(message: Message) -> None:
            session_message = self._typed(message)
            if session_message is not None:
                await to_server.send(session_message)

        def forward(message: Message) -> None:
            handed = asyncio.run_coroutine_threadsafe(hand_on(message), loop)
            while not self._over():  # the server may be busy writing to who does not read
                try:
                    return handed.result(LOOK_S)
                except TimeoutError:
                    pass
                except Exception:
                    _log.exception("the MCP server takes no more messages")
                    self.failed = True

        def close() -> None:
            loop.call_soon_threadsafe(to_server.close)

        number = 0
        while True:
            with self._turn:
                heard, self._heard = self._heard, []
                if not heard:
                    self._close, self._forward = close, forward
                    break
            for message, is_answered in heard:
                number += 1
                await hand_on(_again(message, number) if is_answered else message)
        await serving
        await writing

    def _typed(self, message: Message) -> "SessionMessage | None":
        """The message as the SDK has it; None, and answered, when it is none to the SDK."""
        import mcp_types as types
        from mcp.shared.message import SessionMessage
        from pydantic import ValidationError

        try:
            return SessionMessage(types.jsonrpc_message_adapter.validate_python(message))
        except ValidationError:
            number = message.get("id")
            self._streams.send(Broken(INVALID_REQUEST, "not a JSON-RPC message", number).error)
            self._pending.answered(number)
            return None

    async def _write_all(self, from_server: Any) -> None:
        async with from_server:
            async for item in from_server:
                self._write(item.message)

    def _write(self, message: Any) -> None:
        """One message of the SDK, as a line."""
        number = getattr(message, "id", None)
        if isinstance(number, str) and number.startswith(_REPLAYED):
            if hasattr(message, "error"):
                _log.warning("the SDK refused what was answered before: %s", message.error.code)
            return
        try:
            line = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        except ValueError:  # half a character somewhere: what JSON cannot say
            self._streams.send(Broken(INTERNAL_ERROR, "the answer is not text", number).error)
        else:
            self._streams.write(line)
        if not hasattr(message, "method"):
            self._pending.answered(number)


def _again(message: Message, number: int) -> Message:
    """A request that was answered already, as the SDK hears it: it settles on the same revision."""
    again = {**message, "id": f"{_REPLAYED}{number}"}
    if message["method"] == "initialize":
        params = message["params"]
        version = negotiated(params["protocolVersion"])
        again["params"] = {**params, "protocolVersion": version}
    return again


def serve(store: Store, container: str, streams: Streams) -> None:
    """Serve one client until it is gone. Exits with 1 when the SDK could not be used."""
    process = Process(lambda name, arguments: called(store, container, name, arguments), streams)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, process.stop)
    process.run()
    store.close()
    if process.thread.is_alive():
        # It still imports, or writes to somebody who does not read. To end the interpreter under
        # compiled code that is being loaded can crash; there is nothing left to do, so just go.
        logging.shutdown()
        os._exit(0)
    if process.failed:
        sys.exit(1)
