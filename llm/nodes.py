"""A node: a machine, or one server, that answers for certain roles at certain addresses.

A *role* is what is asked of it: `embed` (texts to vectors), `rerank` (a question and texts to
scores), `chat` (a prompt to an object) and `decide`, which is chat for the judge: where no node of
a lane has that role, those with `chat` answer for it. A *lane* is for whom: people who wait
(`interactive`), or what is done behind their backs (`background`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args
from urllib.parse import urlsplit

import msgspec

from rewound.eventlog.errors import InvalidInput

Role = Literal["embed", "rerank", "chat", "decide"]
Lane = Literal["interactive", "background"]
ROLES: tuple[Role, ...] = get_args(Role)
LANES: tuple[Lane, ...] = get_args(Lane)

PORTS: Mapping[Role, int] = {"embed": 8080, "rerank": 8081, "chat": 8082}
"""Where a machine that is named without a port has its servers."""

SLOTS_MAX = 1024
NAME_CHARS_MAX = 100

_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]/")


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """`urls` tells where each role is answered; one address may answer for several.

    `slots` is how many calls one address takes at once; None: what the server tells, else one.
    `model` is asked for at `chat` and `decide`. Raises InvalidInput for what cannot be a node.
    """

    name: str
    urls: Mapping[Role, str]
    lanes: tuple[Lane, ...] = LANES
    slots: int | None = None
    key: str | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        name = self.name
        if not name or len(name) > NAME_CHARS_MAX or not _SIGNS.issuperset(name):
            raise InvalidInput(
                f"a node's name has letters, digits and . - _ : [ ] /, at most {NAME_CHARS_MAX} of "
                f"them: {brief(name)!r} does not do",
                field="name",
            )
        if not self.urls:
            raise InvalidInput(f"node {name} has no address: give it one of {_LISTED}", field="url")
        for role, url in self.urls.items():
            check_url(url, f"{role} of node {name}")
        if not self.lanes:
            raise InvalidInput(
                f"node {name} has no lane: use interactive, background, or both", field="lanes"
            )
        if self.slots is not None and not 1 <= self.slots <= SLOTS_MAX:
            raise InvalidInput(f"slots of node {name}: from 1 to {SLOTS_MAX}", field="slots")
        if self.key is not None:
            check_key(self.key, f"the key of node {name}")

    def __repr__(self) -> str:
        """Without the key."""
        return f"Node({self.name!r}, {dict(self.urls)!r}, {self.lanes!r}, slots={self.slots})"


class Enlisted(msgspec.Struct, frozen=True):
    """A node that work is sent to; one that is `draining` is given no more."""

    node: Node
    draining: bool = False


_LISTED = ", ".join(ROLES)


class Endpoint(NamedTuple):
    """One address of a node with all the roles it answers for: what a call is sent to."""

    id: str
    """The node's name and the first role: tells it from all others."""
    node: str
    url: str
    roles: frozenset[Role]
    lanes: frozenset[Lane]
    slots: int | None
    key: str | None
    model: str | None

    def __repr__(self) -> str:
        """Without the key."""
        return f"Endpoint({self.id!r}, {self.url!r})"


def endpoints_of(node: Node) -> list[Endpoint]:
    """The addresses of a node, each once."""
    by_url: dict[str, list[Role]] = {}
    for role in ROLES:
        if role in node.urls:
            by_url.setdefault(node.urls[role].rstrip("/"), []).append(role)
    return [
        Endpoint(
            id=f"{node.name}/{roles[0]}",
            node=node.name,
            url=url,
            roles=frozenset(roles),
            lanes=frozenset(node.lanes),
            slots=node.slots,
            key=node.key,
            model=node.model,
        )
        for url, roles in by_url.items()
    ]


# --- as settings name them


def nodes_of(
    nodes: str | None, background: str | None, names: tuple[str, str] = ("nodes", "bg_nodes")
) -> tuple[Node, ...]:
    """The nodes of two lists as they stand in the environment, separated by commas or spaces.

    Without the second list those of the first work for both lanes; with it each list is one lane,
    and a node that stands in both is shared. What one list says of one node in several places
    counts together. `names` are those of the settings, for errors. Raises InvalidInput.
    """
    first, second = _by_name(nodes, names[0]), _by_name(background, names[1])
    made: list[Node] = []
    for name, urls in (first | second).items():
        if name in first and urls != first[name]:
            raise InvalidInput(
                f"{names[1]} has {name} for other roles than {names[0]}: name the same ones in "
                "both, or use tables in the file, where each has a name of its own",
                field=names[1],
            )
        named: dict[Lane, bool] = {
            "interactive": name in first,
            "background": name in second or not second,
        }
        lanes: tuple[Lane, ...] = tuple(lane for lane, there in named.items() if there)
        made.append(Node(name=name, urls=urls, lanes=lanes))
    return tuple(made)


def check_names(nodes: Sequence[Node]) -> None:
    """Raises InvalidInput when two nodes have one name."""
    seen: set[str] = set()
    for node in nodes:
        if node.name in seen:
            raise InvalidInput(f"two nodes are named {node.name}: give one a name", field="nodes")
        seen.add(node.name)


def _by_name(text: str | None, setting: str) -> dict[str, dict[Role, str]]:
    """Name of a node -> its addresses."""
    found: dict[str, dict[Role, str]] = {}
    for name, urls in _parsed(text, setting):
        found.setdefault(name, {}).update(urls)
    return found


def _parsed(text: str | None, setting: str) -> Iterator[tuple[str, dict[Role, str]]]:
    for item in (text or "").replace(",", " ").split():
        role, sign, rest = item.partition("=")
        if sign and "/" not in role:
            if role not in ROLES:
                raise InvalidInput(
                    f"{setting} holds {brief(role)!r}: the role before the = is one of {_LISTED}",
                    field=setting,
                )
            yield _at_url(rest, {role: rest}, setting)
        elif "://" in item:
            yield _at_url(item, {"chat": item}, setting)
        else:
            yield item, at_host(item, setting)


def _at_url(url: str, urls: dict[Role, str], setting: str) -> tuple[str, dict[Role, str]]:
    check_url(url, setting)
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix("/v1")
    return parts.netloc + path, urls


def at_host(host: str, setting: str) -> dict[Role, str]:
    """The addresses of a machine with a server for each role at its usual port.

    Raises InvalidInput for what names no machine.
    """
    url = f"http://{host}"
    try:
        parts = urlsplit(url)
        port, named = parts.port, parts.hostname
    except ValueError:
        port, named = 0, None
    if port is not None or not named or not _SIGNS.issuperset(host) or "/" in host:
        raise InvalidInput(
            f"{setting} holds {brief(shown(host))!r}: use the name of a machine (which means embed "
            "on 8080, rerank on 8081, chat on 8082), an address such as http://10.0.0.2:8082 for "
            "chat, or a role and an address such as embed=http://10.0.0.2:8080",
            field=setting,
        )
    return {role: f"{url}:{port}" for role, port in PORTS.items()}


ADDRESSES = "http://127.0.0.1:8080 or https://api.openai.com/v1"
"""Addresses as they may look."""


def check_url(
    url: str, what: str, examples: str = ADDRESSES, key: str = "a setting of its own"
) -> None:
    """Raises InvalidInput for what is no address of a server, or holds a password. `what` names it,
    `examples` are right ones, and `key` is where a key belongs."""
    wrong = InvalidInput(
        f"{what} is {brief(shown(url))!r}: use an address such as {examples}", field=what
    )
    try:
        parts = urlsplit(url)
        there = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, a bracket too many
        raise wrong from None
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(f"{what} holds a user or a password: put the key into {key}", field=what)
    if not there or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise wrong
    if not url.isprintable() or " " in url:
        raise wrong


def shown(url: str) -> str:
    """What was given as an address, for a message: without what may be a password or a key."""
    public = re.split(r"[?#]", url)[0]
    hidden, sign, rest = public.rpartition("@")
    return ("…@" if sign else hidden) + rest + ("…" if public != url else "")


def check_key(key: str, what: str) -> None:
    """Raises InvalidInput for a key that no header can hold; never quotes it."""
    if not key or not key.isascii() or not key.isprintable():
        raise InvalidInput(
            f"{what} holds characters that a key cannot have: letters, digits and signs of ASCII "
            "only, in one line",
            field=what,
        )


def brief(value: str) -> str:
    """So much of a value as a message shows."""
    return value if len(value) <= 40 else value[:37] + "…"
