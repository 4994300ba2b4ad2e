"""Requests to a server in this process, over a store that a test holds open."""

import asyncio
import json
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from rewound.http.app import SERVED, application
from rewound.http.gatekeeping import doorstep
from rewound.http.limits import Limits
from rewound.memory.link import Link


def posted(link: Link, *requests: tuple[str, Any], accept: str = "*/*") -> list[tuple[int, Any]]:
    """Status and body for each request, by one server; a body that is no JSON as text."""

    async def ask() -> list[tuple[int, Any]]:
        door = doorstep("127.0.0.1", None, None)
        app = application(link, door, Limits(), id_prefix="t")
        app.on_cleanup.append(close)
        async with TestClient(TestServer(app)) as client:
            answers: list[tuple[int, Any]] = []
            for path, body in requests:
                sent = json.dumps(body)
                response = await client.post(path, data=sent, headers={"Accept": accept})
                is_json = response.content_type == "application/json"
                told = await response.json() if is_json else await response.text()
                answers.append((response.status, told))
            return answers

    async def close(app: web.Application) -> None:
        await asyncio.to_thread(app[SERVED].desk.close)

    return asyncio.run(ask())
