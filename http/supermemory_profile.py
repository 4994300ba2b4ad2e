"""The profile of Supermemory's APIs, and the form of it in v4: POST /v4/profile.

`static` is what is stable, `dynamic` what is recent; in v4 each memory is a text with the day from
which it holds, and with `q` a search answers beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args

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
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    filters: dict[str, Any] | str | None = None
    """As text it is JSON."""
    include: tuple[PART, ...] = get_args(PART)
    buckets: Annotated[tuple[str, ...], msgspec.Meta(max_length=50)] | None = None


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Memories as texts, best first; what was not asked for is left out."""

    static: tuple[str, ...] | None = None
    dynamic: tuple[str, ...] | None = None
    buckets: dict[str, tuple[str, ...]] | None = None


class Sections(NamedTuple):
    """A profile by its parts; `text` has all of it as Markdown."""

    stable: tuple[ProfileLine, ...]
    recent: tuple[ProfileLine, ...]
    buckets: Mapping[str, tuple[ProfileLine, ...]]
    text: str


def sections(
    call: Callable[[q.Request], Reply],
    container: str,
    buckets: dict[str, q.Bucket],
    filters: q.Filters,
) -> Sections:
    """What is known of a container, nothing for one that nothing was put under."""
    asked = q.Profile(container=container, budget=_BUDGET, buckets=buckets, filters=filters)
    try:
        reply = call(asked)
    except RewoundError as error:
        if error.code != "not_found":
            raise
        return Sections((), (), {name: () for name in buckets}, "")
    assert isinstance(reply, Portrait), "Profile is answered with Portrait"
    return Sections(reply.stable, reply.recent, reply.buckets, reply.text)


def profile_of(call: Callable[[q.Request], Reply], sent: AskProfile, filters: q.Filters) -> Profile:
    """Raises Problem for a bucket that there is not."""
    buckets = named_buckets(sent.buckets) if "buckets" in sent.include else {}
    found = sections(call, sent.container_tag, buckets, filters)
    told = {name: _texts(lines) for name, lines in found.buckets.items()}
    return Profile(
        static=_texts(found.stable) if "static" in sent.include else None,
        dynamic=_texts(found.recent) if "dynamic" in sent.include else None,
        buckets=told if "buckets" in sent.include else None,
    )


def named_buckets(names: tuple[str, ...] | None) -> dict[str, q.Bucket]:
    """Buckets that every profile can have, all of them for None. Raises Problem for another."""
    known = get_args(q.BucketName)
    names = known if names is None else names
    for number, name in enumerate(names):
        if name not in known:
            raise invalid(
                f"buckets[{number}] is none of the buckets here: use {', '.join(known)}",
                f"buckets[{number}]",
            )
    return {name: q.Bucket() for name in names}


def _texts(lines: Iterable[ProfileLine]) -> tuple[str, ...]:
    return tuple(f"[{line.since[:10]}] {line.text}" if line.since else line.text for line in lines)
