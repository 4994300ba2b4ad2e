"""What the façades of Supermemory's APIs share: how a route is told, answers and fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeVar

import msgspec
from aiohttp import web

from rewound.http.asking import Desk, encode
from rewound.http.connections import ASKER
from rewound.http.problems import JSON_HEADERS, ErrorDetail, Problem, invalid
from rewound.memory import RewoundError
from rewound.memory.hearing import Asker, asked_by

PREFIXES = ("/v3/", "/v4/", "/ns/", "/v5/")
"""What the paths of these façades begin with."""

TAGGED = {"container": "containerTag", "query": "q", "filters.source": "docId", "source": "docId"}
"""Our fields in the words of v3 and v4."""

T = TypeVar("T")

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


def in_their_words(work: Callable[[], T], names: Mapping[str, str]) -> T:
    """What `work` gives. Raises Problem where it fails by a field that has another name there."""
    try:
        return work()
    except RewoundError as error:
        theirs = names.get(error.field or "")
        if theirs is None:
            raise
        message = error.message
        if message.startswith(f"{error.field} "):
            message = theirs + message.removeprefix(str(error.field))
        raise Problem(error.code, message, field=theirs) from None


def one_tag(tag: str | None, tags: tuple[str, ...] | None) -> str:
    """The container of a request that names it by either field. Raises Problem for none or two."""
    named = {*(tags or ()), *filter(None, [tag])}
    if len(named) != 1:
        raise invalid("give exactly one containerTag", "containerTag")
    return named.pop()


async def answered(
    request: web.Request,
    desk: Desk,
    work: Callable[[], msgspec.Struct],
    names: Mapping[str, str],
) -> web.Response:
    """What `work` makes of a request, in a thread. What it asks of models is given up once the
    client goes. `names` are those of our fields in the client's words, for errors."""
    request[ASKER] = asker = Asker()

    def body() -> bytes:
        with asked_by(asker):
            return encode(in_their_words(work, names))

    return web.Response(body=await desk.run(body), headers=JSON_HEADERS)
