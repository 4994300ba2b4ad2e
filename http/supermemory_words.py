"""What the façades of Supermemory's APIs share: how a route is told, answers and fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec
from aiohttp import web

from rewound.http.asking import Desk, encode
from rewound.http.connections import ASKER
from rewound.http.problems import JSON_HEADERS, ErrorDetail, invalid
from rewound.memory.hearing import Asker, asked_by

PREFIXES = ("/v3/", "/v4/", "/ns/", "/v5/")
"""What the paths of these façades begin with."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Failed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Any error of these façades. `details` names the field."""

    error: str
    details: str | None = None


def told(detail: ErrorDetail) -> bytes:
    """An error in these façades' words."""
    details = detail.field if detail.field is not None else detail.code
    return encode(Failed(error=detail.message, details=details))


class Declared(NamedTuple):
    """A route of such a façade, as OpenAPI and the docs page tell it. All are POST."""

    path: str
    summary: str
    section: str
    form: type[msgspec.Struct]
    reply: type[msgspec.Struct]
    markdown: bool = False
    """Whether it answers with Markdown too, where the Accept header asks for that."""


def theirs(notes: tuple[str, ...], threshold: str = "threshold") -> tuple[str, ...]:
    """Notes of ours that name a field, in the words of a client that has another for it."""
    shown = f"which {threshold} 0 shows"
    return tuple(note.replace("which `nearest` shows", shown) for note in notes)


def one_tag(tag: str | None, tags: tuple[str, ...] | None) -> str:
    """The container of a request that names it by either field. Raises Problem for none or two."""
    named = {*(tags or ()), *filter(None, [tag])}
    if len(named) != 1:
        raise invalid("give exactly one containerTag", "containerTag")
    return named.pop()


async def answered(
    request: web.Request, desk: Desk, work: Callable[[], msgspec.Struct]
) -> web.Response:
    """What `work` makes of a request, in a thread. What it asks of models is given up once the
    client goes."""
    request[ASKER] = asker = Asker()

    def body() -> bytes:
        with asked_by(asker):
            return encode(work())

    return web.Response(body=await desk.run(body), headers=JSON_HEADERS)
