"""Chats as JSON lines: what a line may be, and into which batches lines go."""

import io
import json
from typing import Any

import pytest

from rewound.http.chats import BadLine, Batch, Sorter, lines_of, parse
from rewound.memory.requests import NewMessage

MIB = 1 << 20


def parsed(line: Any) -> tuple[str, NewMessage]:
    raw = line if isinstance(line, bytes) else json.dumps(line).encode()
    result = parse(1, raw, MIB)
    assert isinstance(result, tuple), result
    return result


def why(line: Any) -> str:
    raw = line if isinstance(line, bytes) else json.dumps(line).encode()
    result = parse(7, raw, MIB)
    assert isinstance(result, BadLine)
    assert result.line == 7
    return result.why


def test_a_whole_line() -> None:
    conversation, message = parsed(
        {
            "id": "m1",
            "conversation": "planning",
            "role": "assistant",
            "name": "Nina",
            "content": "Hello.",
            "time": "2026-03-02T10:00:00Z",
            "tags": ["a"],
            "metadata": {"n": 1},
        }
    )
    assert conversation == "planning"
    assert message == NewMessage(
        id="m1",
        role="assistant",
        name="Nina",
        content="Hello.",
        time="2026-03-02T10:00:00Z",
        tags=("a",),
        metadata={"n": 1},
    )


def test_the_shortest_line() -> None:
    assert parsed({"content": "Hi"}) == ("default", NewMessage(content="Hi"))
    assert parsed({"content": "Hi", "id": None, "time": None, "tags": None}) == (
        "default",
        NewMessage(content="Hi"),
    )


def test_numbers_are_read_as_ids_and_unix_seconds() -> None:
    conversation, message = parsed({"content": "x", "id": 7, "conversation": 3, "time": 1.5})
    assert (conversation, message.id, message.time) == ("3", "7", "1970-01-01T00:00:01.500000Z")


@pytest.mark.parametrize("raw", [b"", b"\n", b"  \r\n", b"\xef\xbb\xbf\n"])
def test_empty_lines_are_nothing(raw: bytes) -> None:
    assert parse(1, raw, MIB) is None


def test_a_line_separator_inside_a_text_does_not_break_the_line() -> None:
    raw = '{"content": "one\u2028two\u0085three"}\n'.encode()
    assert [number for number, _ in lines_of(io.BytesIO(raw), MIB)] == [1]
    assert parsed(raw)[1].content == "one\u2028two\u0085three"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"role": "user"}, "content is missing"),
        ({"content": 3}, "content must be text"),
        ({"content": None}, "content must be text"),
        ({"content": "x", "role": "robot"}, "role must be user, assistant, system or tool"),
        ({"content": "x", "speaker": "Nina"}, "speaker is not a field here"),
        ({"content": "x", "time": 1.7e15}, "divide milliseconds by 1000"),
        ({"content": "x", "time": True}, "time must be"),
        ({"content": "x", "tags": "a"}, "tags must be"),
        ([1], "must be an object"),
        (b'{"content": "cut', "not JSON"),
        (b'{"content": "half \\ud83d emoji"}', "not JSON"),
        (b'{"content": "caf\xe9"}', "not UTF-8 (byte 0xe9 at 16)"),
        (b'{"content": "a\0b"}', "binary (a zero byte"),
        (b"hello", "not JSON"),
    ],
)
def test_a_bad_line_says_what_is_wrong(line: Any, words: str) -> None:
    assert words in why(line)


def test_a_long_line_is_never_read_whole() -> None:
    raw = b"x" * (3 * MIB) + b'\n{"content": "next"}\n' + b"y" * 2000
    found = list(lines_of(io.BytesIO(raw), 1000))
    assert found == [(1, None), (2, b'{"content": "next"}\n'), (3, None)]
    assert parse(1, None, MIB) == BadLine(1, "longer than 1 MiB (max_text_mb)")


def batches(sorter: Sorter, *lines: tuple[str, NewMessage]) -> list[Batch]:
    given: list[Batch] = []
    for number, (conversation, message) in enumerate(lines, 1):
        given += sorter.add(number, conversation, message, 10)
    return [*given, *sorter.rest()]


def test_conversations_are_sent_apart_and_in_order() -> None:
    one, two = NewMessage(content="1"), NewMessage(content="2")
    given = batches(Sorter(), ("a", one), ("b", one), ("a", two))
    assert [(batch.conversation, [sent.line for sent in batch.sent]) for batch in given] == [
        ("a", [1, 3]),
        ("b", [2]),
    ]
    assert given[0].sent[0].message.id is None


def test_a_long_conversation_gets_ids_after_its_first_batch() -> None:
    lines = [("a", NewMessage(content="Yes.")) for _ in range(5)]
    lines[3] = ("a", NewMessage(content="Yes.", id="mine"))
    first = batches(Sorter(messages_max=2), *lines)
    assert [len(batch.sent) for batch in first] == [2, 2, 1]
    ids = [sent.message.id for batch in first for sent in batch.sent]
    assert ids[:2] == [None, None]
    assert ids[3] == "mine"
    assert len({*ids[2:]}) == 3
    # a second run, and one of a file that has grown, give the same ids
    again = batches(Sorter(messages_max=2), *lines, ("a", NewMessage(content="more")))
    assert [sent.message.id for batch in again for sent in batch.sent][:5] == ids


def test_what_is_held_stays_bounded() -> None:
    sorter = Sorter(buffer_max=50)
    given: list[Batch] = []
    for number in range(100):
        given += sorter.add(number, f"c{number}", NewMessage(content="x"), 10)
        held = number + 1 - len(given)
        assert held <= 5
    assert len([*given, *sorter.rest()]) == 100
    assert sorter.conversations == 100


def test_a_batch_is_bounded_in_bytes() -> None:
    given = batches(Sorter(bytes_max=25), *[("a", NewMessage(content=str(i))) for i in range(5)])
    assert [len(batch.sent) for batch in given] == [2, 2, 1]
