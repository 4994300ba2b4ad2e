"""Addresses and keys of model servers, as settings name them; refused when they cannot be used.

No message here holds a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rewound.eventlog.errors import InvalidInput
from rewound.llm.nodes import ADDRESSES, brief, check_key, check_url

EXAMPLES = {
    "CHAT": ADDRESSES,
    "EMBED": ADDRESSES,
    "RERANK": "http://127.0.0.1:8081 or https://api.cohere.com/v2",
}
"""Role of a server -> addresses as they may look."""


def key_of(
    key: str | None, file: str | None, role: str = "CHAT", *, setting: str | None = None
) -> str | None:
    """The key as it was given, else what stands in the file; a blank one counts as none.

    `setting` is what names the file, that of the role unless it is told. Raises InvalidInput when
    the file cannot be read.
    """
    if key and key.strip():
        return key.strip()
    if not file or not file.strip():
        return None
    setting = setting or f"REWOUND_{role}_KEY_FILE"
    try:
        return Path(file.strip()).expanduser().read_text(encoding="utf-8").strip() or None
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnicodeDecodeError:
        reason = "it is no text"
    raise InvalidInput(
        f"{setting} names {brief(file)!r}, which cannot be read: {reason}", field=setting
    )


def key_from(env: Mapping[str, str], role: str) -> str | None:
    """The key of a role by the environment: REWOUND_<role>_KEY, else the file of that name."""
    return key_of(env.get(f"REWOUND_{role}_KEY"), env.get(f"REWOUND_{role}_KEY_FILE"), role)


def check_server(url: str | None, key: str | None, role: str = "CHAT") -> None:
    """Raises InvalidInput for what is no address of a server, and for a key that no header can
    hold."""
    setting = f"REWOUND_{role}_KEY"
    if url is not None:
        check_url(url, f"REWOUND_{role}_URL", EXAMPLES[role], setting)
    if key:
        check_key(key, setting)


def check_named(what: str, url: str | None, role: str) -> None:
    """Raises InvalidInput when a setting asks for a server and none is named."""
    if url is None:
        setting = f"REWOUND_{role}_URL"
        server = {"CHAT": "chat", "EMBED": "embedding", "RERANK": "rerank"}[role]
        raise InvalidInput(
            f"{what}, but no {server} server is named: set {setting} to the address of one, such "
            f"as {EXAMPLES[role].partition(' ')[0]}",
            field=setting,
        )
