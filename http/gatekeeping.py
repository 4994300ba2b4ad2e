"""Who may ask: the bearer key, the Host and Origin headers, and the rule of where to listen.

A page of a foreign site may make a browser send requests to this machine. It cannot hide its
Origin, and a name that it points at this machine (DNS rebinding) shows in Host: both are looked at
in every request, and nothing that a proxy adds is believed. A plain GET, as for an image, has no
Origin: of that the browser says in Sec-Fetch-Site that another site asked for it.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rewound.http.problems import Problem

LOOPBACK_NAME = "localhost"
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Authority(NamedTuple):
    """A host, lower case and without brackets, and its port where one is written."""

    host: str
    port: int | None


class Doorstep(NamedTuple):
    """What the rules look at: names that the server goes by, and the key that it wants."""

    own: frozenset[str]
    """The address it was told to listen on."""
    allowed: frozenset[Authority]
    key: bytes | None


def doorstep(host: str, allowed_hosts: str | None, api_key: str | None) -> Doorstep:
    """The rules of one server. Raises ValueError for an allowed host that is none."""
    key = (api_key or "").strip()
    return Doorstep(
        frozenset({_plain(host)}),
        allowed(allowed_hosts or ""),
        key.encode("utf-8", "surrogateescape") if key else None,
    )


def allowed(text: str) -> frozenset[Authority]:
    """The setting `allowed_hosts`: names with or without a port, separated by commas."""
    found: set[Authority] = set()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        authority = split_authority(part)
        if authority is None:
            raise ValueError(f"{part!r} is not a host: write a name such as memory.example.com")
        found.add(authority)
    return frozenset(found)


def check_bind(host: str, *, has_key: bool, allow_open: bool) -> str | None:
    """Why the server must not listen there, or None if it may."""
    if has_key or allow_open or is_loopback(host):
        return None
    return (
        f"{host} can be reached by others, and no key is set: anybody could read and change the "
        "memory. Set REWOUND_API_KEY, or listen on 127.0.0.1, or set REWOUND_ALLOW_OPEN=1 if "
        "something else keeps strangers out"
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    plain = _plain(host)
    if plain == LOOPBACK_NAME:
        return True
    try:
        return ipaddress.ip_address(plain).is_loopback
    except ValueError:
        return False


def split_authority(text: str) -> Authority | None:
    """`name`, `name:port`, `[::1]:port`; None when it is none of these."""
    host, port = text.strip(), ""
    if host.startswith("["):
        host, bracket, port = host[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            return None
        port = port[1:]
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    host = _plain(host)
    wrong = not host or any(char in host for char in "/@?#\\ \t,") or not host.isascii()
    if wrong or (port and not (port.isascii() and port.isdigit() and int(port) < 65_536)):
        return None
    return Authority(host, int(port) if port else None)


def check_host(headers: Iterable[str], door: Doorstep, local: str | None) -> Authority:
    """The Host that a request names. `local` is the address that its connection came in on.

    Raises Problem when it is not one of ours.
    """
    given = list(headers)
    if len(given) != 1:
        raise Problem("forbidden", "send exactly one Host header", field="host")
    authority = split_authority(given[0])
    if authority is None or not _is_ours(authority, door, local):
        raise Problem(
            "forbidden",
            f"the Host header names {_quoted(given[0])}, which this server does not go by: use "
            "the address it listens on, or add the name to the setting allowed_hosts "
            "(REWOUND_ALLOWED_HOSTS)",
            field="host",
        )
    return authority


def check_origin(origin: str | None, host: Authority, door: Doorstep, local: str | None) -> None:
    """A page may ask only from this server's own origin, or an allowed one. Raises Problem."""
    if origin is None:
        return
    scheme, mark, rest = origin.partition("://")
    authority = split_authority(rest) if mark else None
    usual = _DEFAULT_PORTS.get(scheme.lower())
    if authority is not None and usual is not None:
        if _is_allowed(authority, door.allowed):
            return
        ports = authority.port or usual, host.port or usual
        if _is_ours(authority, door, local) and ports[0] == ports[1]:
            return
    raise Problem(
        "forbidden",
        f"pages of {_quoted(origin)} may not ask this server: if you trust that site, add its host "
        "to the setting allowed_hosts (REWOUND_ALLOWED_HOSTS)",
        field="origin",
    )


def check_site(fetch_sites: Iterable[str]) -> None:
    """What a browser asks without an Origin must not be for another site. Raises Problem."""
    if any(site.strip().lower() == "cross-site" for site in fetch_sites):
        raise Problem(
            "forbidden",
            "pages of another site may not ask this server (sec-fetch-site): open the address "
            "by itself, or if you trust that site, add its host to the setting allowed_hosts "
            "(REWOUND_ALLOWED_HOSTS) and let it send its Origin",
            field="sec-fetch-site",
        )


def only_one(values: Sequence[str], name: str, code: str) -> str | None:
    """The value of a header that may be given once, if it is. Raises Problem with that code.

    Which of several counts would be anybody's guess, and a proxy may guess otherwise than we.
    """
    if len(values) > 1:
        what = f"the header {name} is given {len(values)} times: send it once"
        raise Problem(code, what, field=name)
    return values[0] if values else None


def check_key(door: Doorstep, authorization: str | None, x_api_key: str | None) -> None:
    """The key, in constant time. Raises Problem unless it is right or none is wanted."""
    if door.key is None or is_known(door, authorization, x_api_key):
        return
    given = authorization is not None or x_api_key is not None
    raise Problem(
        "unauthorized",
        "the key is not right: " * given + "send the key as `Authorization: Bearer KEY`",
        field="authorization",
    )


def is_known(door: Doorstep, authorization: str | None, x_api_key: str | None) -> bool:
    """Whether a right key was shown, or none is wanted."""
    if door.key is None:
        return True
    shown = [x_api_key] if x_api_key is not None else []
    scheme, _, credentials = (authorization or "").strip().partition(" ")
    if scheme.lower() == "bearer":
        shown.append(credentials)
    return any(
        [
            hmac.compare_digest(each.strip().encode("utf-8", "surrogateescape"), door.key)
            for each in shown
        ]
    )


def _is_ours(authority: Authority, door: Doorstep, local: str | None) -> bool:
    host = authority.host
    return (
        is_loopback(host)
        or host in door.own
        or (local is not None and host == _plain(local))
        or _is_allowed(authority, door.allowed)
    )


def _is_allowed(authority: Authority, hosts: frozenset[Authority]) -> bool:
    return authority in hosts or Authority(authority.host, None) in hosts


def _plain(host: str) -> str:
    return host.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _quoted(text: str) -> str:
    """What a client wrote, short and in one line."""
    return ascii(text if len(text) <= 100 else text[:97] + "...")
