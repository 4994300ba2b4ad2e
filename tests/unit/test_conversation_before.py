"""Which earlier messages of a conversation are read along with a message."""

from pathlib import Path

from rewound.llm.rules import RulesExtractor
from rewound.memory.sources import BEFORE_MAX
from tests.integration.drawing import Told, working


def before(told: Told, text: str) -> list[str]:
    """What stood before the message of that text when it was last read."""
    (*_, said) = [each for each in told.seen if each.text == text]
    return [each.text for each in said.before]


def test_a_few_messages_before_are_read_along_however_they_were_sent(tmp_path: Path) -> None:
    for one_by_one in (False, True):
        told = Told()
        with working(tmp_path / str(one_by_one), told) as memory:
            sent = [f"Number {number}." for number in range(BEFORE_MAX + 2)]
            for part in [[text] for text in sent] if one_by_one else [sent]:
                memory.add_messages(part, conversation="talk")
                memory.workers("wait")
        assert before(told, sent[0]) == []
        assert before(told, sent[2]) == sent[:2]
        assert before(told, sent[-1]) == sent[-1 - BEFORE_MAX : -1]


def test_other_conversations_scopes_and_texts_kept_as_they_are_stay_out(tmp_path: Path) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        memory.add_messages("Other talk.", conversation="other")
        memory.add_messages("Other run.", conversation="talk", scope={"run": "2"})
        memory.add_messages("Only kept.", conversation="talk", infer=False)
        memory.add_messages(
            [{"content": "Noted!", "role": "assistant"}, "Last."], conversation="talk"
        )
        memory.workers("wait")
    assert before(told, "Last.") == ["Noted!"]


def test_what_was_forgotten_is_not_read_along(tmp_path: Path) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        memory.add_messages("It is late. The PIN is 4471.", conversation="talk")
        memory.workers("wait")
        (pin,) = [item for item in memory.list().items if "4471" in item.text]
        memory.forget(pin.id)
        memory.add_messages("Next.", conversation="talk")
        memory.workers("wait")
    (seen,) = before(told, "Next.")
    assert "4471" not in seen and seen.startswith("It is late.")


def test_a_correction_finds_what_it_corrects_in_one_request_and_in_three(tmp_path: Path) -> None:
    sent = ["Book the tasting for 3 pm.", "Sorry, make that 4 pm.", "Final: 4:30 pm, room Oak."]
    for name, parts in (("one", [sent]), ("three", [[text] for text in sent])):
        with working(tmp_path / name, RulesExtractor()) as memory:
            for part in parts:
                memory.add_messages(part, conversation="talk")
                memory.workers("wait")
            found = [item.text for item in memory.list().items]
        assert "The tasting is at 4:30 pm, in room Oak" in found
