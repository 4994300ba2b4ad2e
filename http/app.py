"""The application: every route of the table with its handler, behind one guard.

    guard: who asks? → handler: read the body, fill in the form → desk: ask the store → bytes

All that can be made beforehand is: decoders, encoders, handlers and headers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

import msgspec
from aiohttp import web

from rewound.http import supermemory
from rewound.http.around import around
from rewound.http.asking import LARGE_BYTES, Desk, Link, encode, is_patient
from rewound.http.connect_routes import Here, connect_routes
from rewound.http.connections import ASKER, Connections
from rewound.http.event_streams import CONTENT_TYPE, streamed
from rewound.http.gatekeeping import Doorstep
from rewound.http.guarding import REQUEST_ID, Handler, guard
from rewound.http.health import Prober
from rewound.http.limits import Limits, expected, json_body, read_body
from rewound.http.metrics import Counted, Metrics
from rewound.http.overview import Overview, Team, Whole
from rewound.http.problems import JSON_HEADERS as JSON
from rewound.http.problems import Problem, invalid
from rewound.http.routing import ROUTES, Route, wrong_kind
from rewound.memory import RewoundError
from rewound.memory import requests as q
from rewound.memory.foreign_ids import kind_of_id
from rewound.memory.hearing import Asker
from rewound.memory.replies import Portrait, Reply, Shown, Versions


class Served(NamedTuple):
    """What the handlers of one server share."""

    desk: Desk
    limits: Limits
    metrics: Metrics
    connections: Connections

    def counted(self) -> Counted:
        """What this process has counted so far."""
        desk = self.desk
        return self.metrics.counted(
            reads=desk.reads, writes=desk.writes, connections=self.connections.count
        )


SERVED: web.AppKey[Served] = web.AppKey("served", Served)
OVERVIEW: web.AppKey[Overview] = web.AppKey("overview")


def application(
    link: Link,
    door: Doorstep,
    limits: Limits,
    *,
    id_prefix: str,
    here: Here | None = None,
    overview: Overview | None = None,
    team: Team | None = None,
) -> web.Application:
    """An application over a store. `id_prefix` begins the request ids of this process, `here` is
    where a person finds the store on this machine. `team` are the other processes that answer on
    the port; in one of those, `overview` is where health and figures of all are asked for.

    To be called on the event loop that will serve it. The one who closes it closes its desk.
    """
    desk = Desk(link, limits)
    metrics, connections = Metrics(), Connections(limits)
    served = Served(desk, limits, metrics, connections)
    app = web.Application(
        middlewares=[guard(door, metrics, id_prefix)], client_max_size=limits.body_bytes
    )
    app[SERVED] = served
    handlers = [(route.method, route.path, _handler(route, served)) for route in ROUTES]
    handlers += [("POST", *each) for each in supermemory.handlers(desk, limits).items()]
    if overview is None:
        overview = Whole(Prober(desk, limits.fresh_s), desk, served.counted, team)
    app[OVERVIEW] = overview
    handlers += [("GET", *each) for each in around(door, overview).items()]
    for method, path, handler in handlers:
        _add(app, method, path, handler, partial(expected, limits=limits))
    app.router.add_routes(connect_routes(desk.ask, partial(read_body, limits=limits), here))
    return app


def _add(
    app: web.Application,
    method: str,
    path: str,
    handler: Handler,
    expect: Callable[[web.Request], Awaitable[None]],
) -> None:
    if method == "GET":
        app.router.add_get(path, handler, expect_handler=expect)  # and HEAD
    else:
        app.router.add_route(method, path, handler, expect_handler=expect)


# --- the routes under /v1


def _handler(route: Route, served: Served) -> Handler:
    """The handler of one route."""
    if not route.in_body:
        return _query_handler(route, served)
    desk, limits, reader = served.desk, served.limits, route.reader

    async def handle(request: web.Request) -> web.StreamResponse:
        raw = await json_body(request, limits)
        key = request.headers.get("Idempotency-Key")
        path = request.match_info

        def read() -> tuple[msgspec.Struct, q.Request]:
            filled = reader.body(raw)
            return filled, route.asked(filled, path, key)

        large = len(raw) > LARGE_BYTES
        filled, asked = await desk.run(read) if large else read()
        if isinstance(asked, q.Inquire):
            return await _respond(request, filled, served, asked)
        return await _answer(route, served, asked, _asker(request, asked), large=large)

    return handle


def _query_handler(route: Route, served: Served) -> Handler:
    reader = route.reader

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.can_read_body and await read_body(request, served.limits):
            raise invalid(
                f"{route.method} takes its fields in the query string, but a body was sent"
            )
        query = request.query
        given = {name: query.getall(name) for name in query}
        key = request.headers.get("Idempotency-Key")
        filled = reader.query(given)
        asked = route.asked(filled, request.match_info, key)
        if route.text and _wants_markdown(filled, request.headers.get("Accept", "")):
            return await _markdown(served, asked)
        return await _answer(route, served, asked, _asker(request, asked))

    return handle


def _asker(request: web.Request, asked: q.Request) -> Asker | None:
    """Who goes when the client does, where a model may be asked for it."""
    if not isinstance(asked, q.Asks):
        return None
    request[ASKER] = asker = Asker()
    return asker


async def _respond(
    request: web.Request, filled: msgspec.Struct, served: Served, asked: q.Inquire
) -> web.StreamResponse:
    """The answer to a question, in parts or as a whole."""
    desk = served.desk
    asker = request[ASKER] = Asker()
    if _wants_events(filled, request.headers.get("Accept", "")):
        return await streamed(request, desk, asked, asker, request[REQUEST_ID])
    reply = await desk.answer(asked, asker)
    return web.Response(body=await desk.encoded(reply), headers=JSON)


def _wants_events(filled: msgspec.Struct, accept: str) -> bool:
    """By `stream`, else by the first type that the Accept header names."""
    named: bool | None = getattr(filled, "stream", None)
    return _first_type(accept) == CONTENT_TYPE if named is None else named


def _first_type(accept: str) -> str:
    return accept.split(",")[0].partition(";")[0].strip().lower()


def _wants_markdown(filled: msgspec.Struct, accept: str) -> bool:
    """By `format`, else by the first type that the Accept header names."""
    named: str | None = getattr(filled, "format", None)
    if named is not None:
        return named == "markdown"
    return _first_type(accept) == "text/markdown"


async def _markdown(served: Served, asked: q.Request) -> web.Response:
    """The text of the reply alone."""
    reply = await served.desk.ask(asked)
    assert isinstance(reply, Portrait), "only routes of such replies are told as text"
    headers = {**JSON, "content-type": "text/markdown; charset=utf-8"}
    return web.Response(body=f"{reply.text}\n".encode(), headers=headers)


async def _answer(
    route: Route,
    served: Served,
    asked: q.Request,
    asker: Asker | None,
    *,
    large: bool = False,
) -> web.Response:
    desk = served.desk
    if isinstance(asked, q.Write):
        if route.kind is not None:
            await _check_target(route, desk, asked)
        reply = await desk.write(asked, large=large)
        served.metrics.wrote(type(asked).__name__)
        return web.Response(body=await desk.encoded(reply), headers=JSON)
    if not isinstance(asked, q.Read):
        _check_node_changes(asked, served.limits)
        return web.Response(body=await desk.store(asked), headers=JSON)
    if route.kind is not None:
        body = await desk.run(lambda: _one(route, desk, asked), patient=is_patient(asked))
        return web.Response(body=body, headers=JSON)
    return web.Response(body=await desk.read(asked, asker), headers=JSON)


def _check_node_changes(asked: q.Request, limits: Limits) -> None:
    """Texts are sent to model servers: whoever may ask the store does not choose them."""
    if isinstance(asked, q.Nodes) and asked.changes and not limits.node_changes:
        raise Problem(
            "forbidden",
            f"{asked.action} is not done over HTTP, since texts are sent to model servers: use "
            "`rewound nodes` on the server's machine, or set allow_node_changes there",
            field="action",
        )


def _one(route: Route, desk: Desk, asked: q.Request) -> bytes:
    """One item, that must be of the route's kind: a UUID does not say what it names."""
    reply = desk.link.call(asked)
    kind = _kind_of(reply)
    if kind is not None and kind != route.kind:
        assert route.kind is not None, "only such routes come here"
        raise wrong_kind(str(getattr(asked, "id", "")), kind, route.kind)
    return encode(reply)


def _kind_of(reply: Reply) -> str | None:
    if isinstance(reply, Shown):
        return reply.item.kind
    if isinstance(reply, Versions) and reply.versions:
        return reply.versions[0].kind
    return None


async def _check_target(route: Route, desk: Desk, asked: q.Write) -> None:
    """A command by UUID is for an item of the route's kind. Raises Problem.

    What cannot be shown (forgotten for good, or not there) is left to the command to answer.
    """
    ids: tuple[str, ...] = getattr(asked, "ids", None) or (getattr(asked, "id", ""),)
    if kind_of_id(ids[0]) is not None:
        return
    look = q.Get(container=asked.container, id=ids[0], include_forgotten=True)
    try:
        await desk.run(lambda: _one(route, desk, look))
    except RewoundError as error:
        if error.code not in ("not_found", "invalid_input"):
            raise
