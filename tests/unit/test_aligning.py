"""Laying a transcript against a conversation, compared with a plain search."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from rewound.eventlog.events import Role
from rewound.memory.aligning import Aligned, Slot, contained, overlap
from rewound.memory.identity import MessageContent, message_content

HELD = st.lists(st.sampled_from([*"abc", None]), max_size=9)
SENT = st.lists(st.sampled_from("abcd"), max_size=9)


def content(text: str) -> MessageContent:
    return message_content(Role.USER, None, None, text)


def slots(texts: Sequence[str | None]) -> list[Slot]:
    return [Slot(n, None if text is None else content(text)) for n, text in enumerate(texts)]


def fits(held: Sequence[str | None], sent: Sequence[str]) -> bool:
    """Whether they agree wherever there is something to compare, and that somewhere."""
    pairs = list(zip(held, sent, strict=True))
    return any(one for one, _ in pairs) and all(one in (None, other) for one, other in pairs)


@given(HELD, SENT)
def test_the_longest_end_that_begins_what_was_sent(held: list[str | None], sent: list[str]) -> None:
    starts = [
        start
        for start in range(len(held))
        if len(held) - start <= len(sent) and fits(held[start:], sent[: len(held) - start])
    ]
    expected = Aligned(starts[0], len(held) - starts[0]) if starts else None
    assert overlap(slots(held), [content(text) for text in sent]) == expected


@given(HELD, SENT)
def test_what_was_sent_as_the_beginning_whole(held: list[str | None], sent: list[str]) -> None:
    whole = 0 < len(sent) <= len(held) and fits(held[: len(sent)], sent)
    expected = Aligned(0, len(sent)) if whole else None
    assert contained(slots(held), [content(text) for text in sent]) == expected


def test_ten_thousand_equal_messages_are_laid_against_as_many() -> None:
    held = slots(["ok"] * 9_999 + ["bye"])
    assert overlap(held, [content("ok")] * 10_000) is None
    sent = [content("bye"), *[content("ok")] * 9_999]
    assert overlap(held, sent) == Aligned(9_999, 1)
