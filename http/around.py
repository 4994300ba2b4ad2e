"""What is served around the memory: health, figures, and descriptions of the rest."""

from __future__ import annotations

from aiohttp import web

from rewound.http.asking import encode
from rewound.http.docs_page import CONTENT_POLICY, home, page
from rewound.http.gatekeeping import Doorstep, is_known
from rewound.http.guarding import Handler
from rewound.http.metrics import CONTENT_TYPE as METRICS_TYPE
from rewound.http.openapi import description
from rewound.http.overview import Overview
from rewound.http.problems import JSON_HEADERS as JSON


def around(door: Doorstep, overview: Overview) -> dict[str, Handler]:
    """Path -> handler of a GET."""
    described = encode(description())
    documents = page()
    html = {
        **JSON,
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": CONTENT_POLICY,
    }

    async def health(request: web.Request) -> web.StreamResponse:
        headers = request.headers
        told = is_known(door, headers.get("Authorization"), headers.get("X-API-Key"))
        found = await overview.health(told=told)
        status = 503 if found.status == "failing" else 200
        return web.Response(body=encode(found), status=status, headers=JSON)

    async def figures(request: web.Request) -> web.StreamResponse:
        text = await overview.metrics()
        headers = {**JSON, "content-type": METRICS_TYPE}
        return web.Response(body=text.encode(), headers=headers)

    async def openapi(request: web.Request) -> web.StreamResponse:
        return web.Response(body=described, headers=JSON)

    async def docs(request: web.Request) -> web.StreamResponse:
        return web.Response(body=documents, headers=html)

    async def root(request: web.Request) -> web.StreamResponse:
        return web.Response(body=encode(home()), headers=JSON)

    return {
        "/health": health,
        "/metrics": figures,
        "/openapi.json": openapi,
        "/docs": docs,
        "/": root,
    }
