"""What people type who come from another memory, and what it is called here."""

from collections.abc import Iterable
from difflib import get_close_matches

import click

_CALLED = {
    "remember": ("add", "store", "save", "note", "memorize"),
    "search": ("query", "find", "recall", "retrieve", "lookup"),
    "ask": ("answer", "chat"),
    "show": ("get", "view", "read"),
    "update": ("edit", "correct", "supersede"),
    "forget": ("delete", "remove", "rm", "purge", "hide"),
    "restore": ("unforget", "recover"),
    "why": ("provenance", "sources"),
    "graph": ("entities", "relations", "map"),
    "review": ("conflicts", "duplicates", "resolve", "upkeep"),
    "stats": ("count", "info", "memory-stats"),
    "health": ("status", "doctor", "check", "ping"),
    "serve": ("server", "start", "launch", "run"),
    "ingest": ("upload", "index", "load"),
    "import": ("harvest", "migrate"),
    "rebuild": ("reindex", "repair"),
    "containers": ("spaces", "namespaces", "projects", "tags"),
}
HERE = {theirs: ours for ours, names in _CALLED.items() for theirs in names}
"""A command's name elsewhere -> its name here."""

TOLD = {
    "export": "`rewound list --all --json` prints all that is kept",
    "backup": "`rewound replay --at now --to FOLDER` builds a copy",
    "snapshot": "`rewound replay --at now --to FOLDER` builds a copy",
}
"""What is no command here -> what does it."""
_ONE_TEXT = ("query", "text")
_TOO_MANY = "Got unexpected extra argument"


def hint(name: str, commands: Iterable[str]) -> str:
    """What to add to an error about a command that there is not; nothing where nobody can tell."""
    if name in TOLD:
        return f": {TOLD[name]}"
    here = HERE.get(name)
    near = [here] if here is not None else get_close_matches(name, commands)
    return f": did you mean {' or '.join(near)}?" if near else ""


def in_quotes(error: click.UsageError, command: click.Command) -> click.UsageError:
    """The error; that of too many words says how they are one, where a command takes one text."""
    takes = [param.name for param in command.params if isinstance(param, click.Argument)]
    if len(takes) == 1 and takes[0] in _ONE_TEXT and error.message.startswith(_TOO_MANY):
        return click.UsageError(f"{error.message}: put the words into quotes", error.ctx)
    return error
