"""An HTTP server of a handler's on a free port of this machine, as long as it is wanted."""

import contextlib
import http.server
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def listening(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """Its address. Calls that hang are not waited for at the end."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def kept_port() -> socket.socket:
    """A free port of this machine, which is nobody else's until this is closed, also while no
    server listens there: bound, but for who may use an address again."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", 0))
    return one
