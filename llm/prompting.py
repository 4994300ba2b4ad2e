"""Prompts: what is told to a model, with the form of its answer, in files with a version.

A file is never changed once facts were drawn by it: a better one gets the next version, which
stands in the name of the method.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rewound.llm.replies import Schema

_FOLDER = Path(__file__).parent / "prompts"


class Prompt(NamedTuple):
    system: str
    schema: Schema

    @property
    def whole(self) -> str:
        """All that a server may be sent of it, for counting."""
        return self.system + json.dumps(self.schema)


@cache
def prompt(name: str) -> Prompt:
    """The prompt of a name and version such as `extract.v1`."""
    schema = (_FOLDER / f"{name}.json").read_text(encoding="utf-8")
    return Prompt(prompt_text(name), json.loads(schema))


@cache
def prompt_text(name: str) -> str:
    """What a prompt tells, where no form of an answer goes with it."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def fenced(text: str) -> str:
    """The text between two marks that it cannot hold, for they are made of all of it."""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    return f"[{mark}]\n{text}\n[/{mark}]"
