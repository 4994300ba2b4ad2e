"""R16: a retry, or the same from many clients at once, is kept once."""

from collections.abc import Callable

import pytest

from rewound.eventlog.errors import KeyReused
from rewound.memory import Memory
from rewound.memory.replies import Written
from tests.cases.given import Cli, at_once, events, gapless, id_of

CLIENTS = 20
TEXT = "My bike is orange.\nIt stands in the yard."

Send = Callable[[Memory, str, str | None], Written]


def _remember(memory: Memory, text: str, key: str | None) -> Written:
    return memory.remember(text, said_at="2026-03-01T10:00:00Z", key=key)


def _ingest(memory: Memory, text: str, key: str | None) -> Written:
    return memory.ingest(text, infer=False, key=key)


def _message(memory: Memory, text: str, key: str | None) -> Written:
    message = {"content": text, "name": "Tom", "time": "2026-03-01T10:00:00Z"}
    return memory.add_messages([message], conversation="chat", infer=False, key=key)


SENDS = pytest.mark.parametrize("send", [_remember, _ingest, _message])


def kept(memory: Memory) -> dict[str, int]:
    return {what: memory.list(what).total for what in ("fact", "document", "message")}


@SENDS
def test_r16_from_many_clients_under_one_key(memory: Memory, send: Send) -> None:
    replies = at_once([lambda: send(memory, TEXT, "k-1")] * CLIENTS)
    assert len(set(map(repr, replies))) == 1, "the same key and request get the same answer"
    assert all(count <= 1 for count in kept(memory).values())
    assert kept(memory)["fact"] == 1
    assert not [event for event in events(memory) if event.type == "seen again"]
    assert gapless(memory)
    with pytest.raises(KeyReused):
        send(memory, "Another text.", "k-1")
    assert memory.search("another").hits == ()


@SENDS
def test_r16_from_many_clients_without_a_key(memory: Memory, send: Send) -> None:
    replies = at_once([lambda: send(memory, TEXT, None)] * CLIENTS)
    assert len({id_of(reply) for reply in replies}) == 1
    statuses = sorted(reply.items[0].status for reply in replies)
    assert statuses[-1] == "written" and statuses.count("written") == 1, statuses
    assert kept(memory)["fact"] == 1 and all(count <= 1 for count in kept(memory).values())
    assert gapless(memory)
    assert memory.search("bike orange", what="fact").hits != ()
    assert memory.rebuild().equal and memory.verify().ok


@SENDS
@pytest.mark.parametrize("twin", ["{}\n", "{}\r\n\r\n", "{}  \n\t\n"])
def test_r16_line_ends_and_trailing_blanks_make_no_twin(
    memory: Memory, send: Send, twin: str
) -> None:
    first = send(memory, TEXT, None)
    again = send(memory, twin.format(TEXT).replace("\n", "\r\n"), None)
    assert (again.items[0].status, id_of(again)) == ("seen again", id_of(first))
    assert kept(memory)["fact"] == 1 and all(count <= 1 for count in kept(memory).values())


def test_r16_twins_under_an_own_id_are_unchanged(memory: Memory) -> None:
    first = memory.ingest(TEXT, id="notes/bike.md")
    passages = [item.id for item in memory.list("passage").items]
    again = memory.ingest(TEXT.replace("\n", "\r\n") + "\r\n", id="notes/bike.md")
    assert id_of(again) == id_of(first)
    assert memory.list("document").total == 1
    assert [item.id for item in memory.list("passage").items] == passages


def test_r16_what_differs_in_meaning_is_no_twin(memory: Memory) -> None:
    memory.remember(TEXT, said_at="2026-03-01T10:00:00Z")
    for text in (
        TEXT.upper(),
        "\n" + TEXT.replace("\n", "\n\n"),
        TEXT.replace("orange", "or ange"),
    ):
        assert memory.remember(text, said_at="2026-03-01T10:00:00Z").items[0].status == "written"
    assert memory.list().total == 4


def test_r16_on_the_command_line(cli: Cli, memory: Memory) -> None:
    for _ in range(2):
        cli.run("-c", "s", "remember", "My bike is orange.", "--key", "k-1")
    for text in ("My boat is blue.", "My boat is blue.\r\n\r\n"):
        cli.run("-c", "s", "remember", text)
    assert sorted(item.text for item in memory.list().items) == [
        "My bike is orange.",
        "My boat is blue.",
    ]
