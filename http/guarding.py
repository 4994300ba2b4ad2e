"""The guard before every handler: who asks, from where, and how what fails is told.

It also numbers the requests and counts them. Of a request nothing is logged.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from rewound.http import supermemory_words
from rewound.http.asking import encode
from rewound.http.connect_routes import OPEN_PATHS as CONNECT_PATHS
from rewound.http.decoding import check_no_key_in_query
from rewound.http.gatekeeping import (
    Authority,
    Doorstep,
    check_host,
    check_key,
    check_origin,
    check_site,
    only_one,
)
from rewound.http.metrics import UNMATCHED, Metrics
from rewound.http.problems import JSON_HEADERS, Error, Problem, invalid, telling_of

OPEN_PATHS = frozenset({"/", "/health", "/docs", "/openapi.json"}) | CONNECT_PATHS
"""Answered without a key: they hold nothing of the store."""

REQUEST_ID: web.RequestKey[str] = web.RequestKey("request_id", str)
"""For what goes out before the handler has ended."""

_HOSTS_KEPT = 256

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def guard(
    door: Doorstep, metrics: Metrics, id_prefix: str
) -> Callable[..., Awaitable[web.StreamResponse]]:
    """The middleware of one server. `id_prefix` begins the request ids of this process."""
    numbers = itertools.count(1)
    seen: dict[tuple[str, str | None], Authority] = {}

    def check_from(request: web.Request) -> Authority:
        """Where the request comes from. Host and own address are few, and checked once."""
        hosts = request.headers.getall("Host", [])
        local = _local(request)
        if len(hosts) == 1 and (known := seen.get((hosts[0], local))) is not None:
            return known
        host = check_host(hosts, door, local)
        if len(seen) < _HOSTS_KEPT:
            seen[(hosts[0], local)] = host
        return host

    def check(request: web.Request) -> None:
        host = check_from(request)
        headers = request.headers
        origin = only_one(headers.getall("Origin", ()), "origin", "forbidden")
        if origin is not None:
            check_origin(origin, host, door, _local(request))
        else:
            check_site(headers.getall("Sec-Fetch-Site", ()))
        only_one(headers.getall("Idempotency-Key", ()), "idempotency-key", "invalid_input")
        if door.key is not None and request.path not in OPEN_PATHS:
            check_key(door, headers.get("Authorization"), headers.get("X-API-Key"))
        if request.query_string:
            for name in request.query:
                check_no_key_in_query(name)

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = time.perf_counter()
        request[REQUEST_ID] = request_id = f"{id_prefix}-{next(numbers):x}"
        try:
            check(request)
            response = await handler(request)
        except Exception as error:
            response = _failed(request, error, request_id)
        response.headers["x-request-id"] = request_id
        method, route = _labels(request)
        metrics.count(method, route, response.status, time.perf_counter() - started)
        return response

    return guarded


def _local(request: web.Request) -> str | None:
    """The address that the connection came in on."""
    name = request.get_extra_info("sockname")
    return str(name[0]) if isinstance(name, tuple) else None


def _labels(request: web.Request) -> tuple[str, str]:
    resource = request.match_info.route.resource
    return UNMATCHED if resource is None else (request.method, resource.canonical)


def _failed(request: web.Request, error: Exception, request_id: str) -> web.StreamResponse:
    """Any failure as a response, in the words of the door that was knocked at."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted({*error.allowed_methods, "OPTIONS"}))
        if request.method == "OPTIONS":
            return web.Response(status=204, headers={**JSON_HEADERS, "Allow": allowed})
        error = Problem(
            "method_not_allowed",
            f"{request.method[:20]} is not for {_path(request)}: use {allowed}",
            headers={"Allow": allowed},
        )
    elif isinstance(error, web.HTTPNotFound):
        error = Problem("not_found", f"there is no {_path(request)} here: GET /docs lists all")
    elif isinstance(error, web.HTTPRequestEntityTooLarge | web.HTTPBadRequest):
        error = invalid("the request cannot be read")
    told = telling_of(error, request_id)
    if request.path.startswith(supermemory_words.PREFIXES):
        body = supermemory_words.told(told.detail)
    else:
        body = encode(Error(error=told.detail))
    return web.Response(body=body, status=told.status, headers={**JSON_HEADERS, **told.headers})


def _path(request: web.Request) -> str:
    path = request.raw_path.partition("?")[0]
    return ascii(path if len(path) <= 100 else path[:97] + "...")[1:-1]
