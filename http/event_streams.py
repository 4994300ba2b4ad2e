"""An answer told in parts over HTTP, as server-sent events.

    sources     what the answer is drawn from (SourcesGiven)
    sentence    a sentence that was checked, as soon as it is whole (Sentence)
    withheld    one that did not stand, with the reason alone (WithheldSentence)
    done        the whole reply, as a request without a stream gets it (Responded)
    error       why there is no more of it, in the form of all errors; the last one then

What fails before there is anything to tell is an error with its status, as everywhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from rewound.http.asking import Desk, encode
from rewound.http.problems import JSON_HEADERS, Error, telling_of
from rewound.memory.hearing import Asker
from rewound.memory.replies import (
    AnswerPart,
    Responded,
    Sentence,
    SourcesGiven,
    ToldPart,
    WithheldSentence,
)
from rewound.memory.requests import Inquire

CONTENT_TYPE = "text/event-stream"
QUIET_S = 15.0
"""After so long without anything to tell a comment is sent, lest somebody in between gives up."""

_HEADERS = {
    **JSON_HEADERS,
    "content-type": f"{CONTENT_TYPE}; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
_NAMES: dict[type, str] = {
    SourcesGiven: "sources",
    Sentence: "sentence",
    WithheldSentence: "withheld",
    Responded: "done",
}


async def streamed(
    request: web.Request, desk: Desk, asked: Inquire, asker: Asker, request_id: str
) -> web.StreamResponse:
    """The answer, once all of it is out. `asker` goes when the client does."""
    response = web.StreamResponse(headers={**_HEADERS, "x-request-id": request_id})
    try:
        async with aclosing(_parts(desk, asked, asker)) as parts:
            async for part in parts:
                if not response.prepared:
                    await response.prepare(request)
                await response.write(_event(part))
    except ConnectionError:
        asker.go()  # nobody reads it any more
    except Exception as error:
        if not response.prepared:
            raise
        told = telling_of(error, request_id)
        await response.write(_framed("error", encode(Error(error=told.detail))))
    except asyncio.CancelledError:
        asker.go()
        raise
    return response


async def _parts(desk: Desk, asked: Inquire, asker: Asker) -> AsyncGenerator[ToldPart | None, None]:
    """Each part as it comes, the reply last; None when there was nothing for a while."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[AnswerPart] = asyncio.Queue()

    def hear(part: AnswerPart) -> None:
        loop.call_soon_threadsafe(arrived.put_nowait, part)

    work = asyncio.ensure_future(desk.answer(asked, asker, hear))
    hearing = asyncio.ensure_future(arrived.get())
    try:
        while not work.done() or not arrived.empty() or hearing.done():
            await asyncio.wait((work, hearing), timeout=QUIET_S, return_when="FIRST_COMPLETED")
            if hearing.done():
                yield hearing.result()
                hearing = asyncio.ensure_future(arrived.get())
                await asyncio.sleep(0)  # what is there already is taken at once
            elif not work.done():
                yield None
        reply = work.result()
        assert isinstance(reply, Responded), "what a question is answered with"
        yield reply
    finally:
        hearing.cancel()
        work.cancel()  # whoever answers is told by the asker


def _event(part: ToldPart | None) -> bytes:
    return b": \n\n" if part is None else _framed(_NAMES[type(part)], encode(part))


def _framed(name: str, data: bytes) -> bytes:
    """One event; JSON has no line breaks."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)
