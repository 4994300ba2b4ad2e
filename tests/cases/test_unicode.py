"""R29: half characters, zeros and bytes that are no text are refused or mended, never half kept."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory
from tests.cases.given import Cli, id_of, texts

HALF, ZERO, ODD = "half \ud83d emoji", "nul \0 byte", "odd \ufffe \u202e \u2028 \u0085 \ufeff end"

PLACES: dict[str, Callable[[Memory, str], Any]] = {
    "text": lambda m, s: m.remember(s),
    "document": lambda m, s: m.ingest(s),
    "message": lambda m, s: m.add_messages([{"content": s}]),
    "update": lambda m, s: m.update(m.list().items[0].id, s),
    "tag": lambda m, s: m.remember("A.", tags=[s]),
    "added tag": lambda m, s: m.update(m.list().items[0].id, add_tags=[s]),
    "id": lambda m, s: m.remember("A.", id=s),
    "subject": lambda m, s: m.remember("A.", subject=s),
    "title": lambda m, s: m.ingest("A.", title=s),
    "speaker": lambda m, s: m.add_messages([{"content": "A.", "name": s}]),
    "conversation": lambda m, s: m.add_messages([{"content": "A."}], conversation=s),
    "metadata": lambda m, s: m.remember("A.", metadata={"a": [{"b": s}]}),
    "metadata key": lambda m, s: m.remember("A.", metadata={"a": {s: 1}}),
    "scope": lambda m, s: m.remember("A.", scope={"user": s}),
    "key": lambda m, s: m.remember("A.", key=s),
    "reason": lambda m, s: m.forget(m.list().items[0].id, reason=s),
    "query": lambda m, s: m.search(s),
    "context": lambda m, s: m.context(s),
    "filter": lambda m, s: m.list(tags=[s]),
    "source": lambda m, s: m.list(source=s),
    "get": lambda m, s: m.get(s),
    "undo": lambda m, s: m.undo(s),
    "as of": lambda m, s: m.as_of(s),
    "moment": lambda m, s: m.list(as_of=s),
    "said at": lambda m, s: m.remember("A.", said_at=s),
    "cursor": lambda m, s: m.list(cursor=s),
    "container": lambda m, s: m.container(s).remember("A."),
    "zone": lambda m, s: m.configure(zone=s),
    "expect": lambda m, s: m.verify(expect=s),
    "view": lambda m, s: m.rebuild(s),
}


@pytest.mark.parametrize("bad", [HALF, ZERO, "\udc00", "a\ude00\ud83d"], ids=repr)
def test_r29_half_characters_and_zeros_are_refused_everywhere(memory: Memory, bad: str) -> None:
    memory.remember("First.")
    before = memory.stats(store=True).events
    for place, call in PLACES.items():
        if place == "as of":
            call = lambda m, s: m.as_of(s).list()  # noqa: E731
        with pytest.raises(InvalidInput) as refused:
            call(memory, bad)
        assert refused.value.field, place
        refused.value.message.encode()
    assert memory.stats(store=True).events == before, "nothing was written, not even by half"
    memory.remember("The normal text.")
    assert texts(memory.search("normal")) == ["The normal text."]
    assert memory.rebuild().equal and memory.verify().ok


def test_r29_in_a_batch_only_the_bad_ones_are_refused(memory: Memory) -> None:
    written = memory.remember(["Good one.", HALF, "Good two.", ZERO])
    assert [item.status for item in written.items] == ["written", "refused", "written", "refused"]
    assert [item.field for item in written.items if item.status == "refused"] == ["text", "text"]
    assert [item.text for item in memory.list().items] == ["Good one.", "Good two."]


@pytest.mark.parametrize(
    "odd",
    [
        ODD,
        "\u2028\u2029 lines",
        "e\u0301 \U0010ffff \ue000",
        "\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308",
    ],
)
def test_r29_odd_but_whole_characters_are_kept_as_they_are(
    data: Path, memory: Memory, cli: Cli, odd: str
) -> None:
    fact = id_of(memory.remember(odd, id=odd, tags=[odd], metadata={odd: odd}))
    memory.ingest(odd, title=odd)
    memory.add_messages([{"content": odd, "name": odd}], conversation=odd)
    item = memory.get(fact).item
    assert (item.text, item.caller_id, item.tags) == (odd, odd, (odd,))
    assert item.metadata == {odd: odd}
    assert memory.list(tags=odd).total == 1 and memory.list("message", source=odd).total == 1
    memory.close()
    with Memory(data, "s") as again:
        assert again.get(fact).item == item
        assert again.rebuild().equal and again.verify().ok
    told = cli.run("-c", "s", "--json", "log", "--since", "@1").stdout
    assert len(told.rstrip("\n").split("\n")) == 1 and odd in json.dumps(
        json.loads(told), ensure_ascii=False
    ).replace('\\"', '"')


def test_r29_raw_bytes_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    bad = b"a raw byte \xff here"
    for args in (
        (b"remember", bad), (b"search", bad), (b"remember", b"x", b"--tag", bad),
        (b"-c", bad, b"remember", b"x"),
    ):  # fmt: skip
        code, _, said = cli.process(*args)
        assert code == 2 and said, args
        said.decode()
    code, _, said = cli.process("remember", "-", stdin=bad)
    assert code == 2 and said.decode()
    name = os.fsencode(tmp_path) + b"/notes"
    os.mkdir(name)
    for file, content in ((b"bad.md", bad), (b"\xff.md", b"Name."), (b"good.md", b"Good.")):
        with open(name + b"/" + file, "wb") as opened:
            opened.write(content)
    told = cli.told("ingest", os.fsdecode(name))
    assert len(told["skipped"]) == 2 and told["counts"]["written"] == 1
    lines = [
        {"content": HALF}, {"content": ZERO}, {"content": "ok", "tags": [HALF]},
        {"content": "Fine."}, {"content": ODD},
    ]  # fmt: skip
    sent = (
        b"\n".join(json.dumps(line).encode() for line in lines) + b'\n{"content": "' + bad + b'"}'
    )
    code, out, _ = cli.process("--json", "import", "-", stdin=sent)
    imported = json.loads(out.decode())
    assert code == 2 and imported["counts"]["written"] == 2
    bad_lines = {line["line"] for line in imported["bad"]}
    assert bad_lines == {1, 2, 3, 6}
    assert cli.told("verify")["ok"] and cli.told("rebuild")["equal"]
    listed = cli.told("list", "--what", "message")
    assert [item["text"] for item in listed["items"]] == ["Fine.", ODD]
