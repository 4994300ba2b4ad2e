"""The README's first example answers what the README says it does, with the models that ship."""

import json
import re
from pathlib import Path
from typing import Any

from rewound.http.exports import SOURCES
from rewound.memory import Memory
from rewound.memory.models import Models

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def sent(call: str) -> Any:
    """The body that the README's first call of that name sends."""
    found = re.search(rf"/v1/{call} -d '(.*?)'\s*$", README, flags=re.DOTALL | re.MULTILINE)
    assert found is not None, call
    return json.loads(found[1])


def test_the_first_question_finds_what_the_readme_says(tmp_path: Path) -> None:
    said, asked = sent("messages"), sent("search")
    promised = re.search(r"The fact it finds, \*“(.*?)”\*", README)
    assert promised is not None
    with Memory(tmp_path, models=Models(judge="none")) as memory:
        written = memory.add_messages(said["messages"], conversation=said["conversation"])
        memory.remember(sent("facts")["text"])
        memory.workers("wait")
        (hit,) = memory.search(asked["query"], limit=asked["limit"]).hits
        assert hit.text.rstrip(".") == promised[1]
        assert written.items[0].id in {source.id for source in hit.sources}
        assert "lemon tree" in memory.context(**sent("context")).text


def test_the_readme_names_every_export_that_is_known() -> None:
    (section,) = re.findall(r"## Coming from another memory\n(.*?)\n## ", README, flags=re.DOTALL)
    assert [source for source in SOURCES if source not in section] == []
