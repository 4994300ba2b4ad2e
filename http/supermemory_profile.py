"""The profile of Supermemory's v4 API: POST /v4/profile.

`static` is what is stable, `dynamic` what is recent; each memory is a text with the day from which
it holds. With `q` a search answers beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, get_args

import msgspec

from rewound.http.problems import invalid
from rewound.memory import RewoundError
from rewound.memory import requests as q
from rewound.memory.replies import Portrait, ProfileLine, Reply

PART = Literal["static", "dynamic", "buckets"]
_BUDGET = 2_000
"""Tokens: clients of this API name no budget of their own."""


class AskProfile(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """POST /v4/profile. `buckets` are names of those that every profile can have, by default all;
    they count only where buckets are included."""

    container_tag: str
    q: str | None = None
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    filters: dict[str, Any] | str | None = None
    """As text it is JSON."""
    include: tuple[PART, ...] = get_args(PART)
    buckets: Annotated[tuple[str, ...], msgspec.Meta(max_length=50)] | None = None


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Memories as texts, best first; what was not asked for is left out."""

    static: tuple[str, ...] | None = None
    dynamic: tuple[str, ...] | None = None
    buckets: dict[str, tuple[str, ...]] | None = None


def profile_of(call: Callable[[q.Request], Reply], sent: AskProfile, filters: q.Filters) -> Profile:
    """Raises Problem for a bucket that there is not. A tag that nothing was put under is empty."""
    asked = q.Profile(
        container=sent.container_tag, budget=_BUDGET, buckets=_buckets(sent), filters=filters
    )
    stable: tuple[ProfileLine, ...] = ()
    recent: tuple[ProfileLine, ...] = ()
    buckets: Mapping[str, tuple[ProfileLine, ...]] = {name: () for name in asked.buckets or {}}
    try:
        reply = call(asked)
    except RewoundError as error:
        if error.code != "not_found":
            raise
    else:
        assert isinstance(reply, Portrait), "Profile is answered with Portrait"
        stable, recent, buckets = reply.stable, reply.recent, reply.buckets
    told = {name: _texts(lines) for name, lines in buckets.items()}
    return Profile(
        static=_texts(stable) if "static" in sent.include else None,
        dynamic=_texts(recent) if "dynamic" in sent.include else None,
        buckets=told if "buckets" in sent.include else None,
    )


def _buckets(sent: AskProfile) -> dict[str, q.Bucket]:
    known = get_args(q.BucketName)
    if "buckets" not in sent.include:
        return {}
    names = known if sent.buckets is None else sent.buckets
    for number, name in enumerate(names):
        if name not in known:
            raise invalid(
                f"buckets[{number}] is none of the buckets here: use {', '.join(known)}",
                f"buckets[{number}]",
            )
    return {name: q.Bucket() for name in names}


def _texts(lines: Iterable[ProfileLine]) -> tuple[str, ...]:
    return tuple(f"[{line.since[:10]}] {line.text}" if line.since else line.text for line in lines)
