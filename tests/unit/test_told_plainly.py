"""What people say in plain words, and what is drawn from it without a model.

Each line of `told_plainly.jsonl` is what one speaker says, a minute apart. Of what is drawn some
statement `holds` all these words (choices behind a bar), is `told` as this subject, attribute and
value (null for any), or has this `value` or `entity`; none holds all words of one of `never`, or
has one of `no_entity`. The lines were written before the rules for them.
"""

from pathlib import Path

import msgspec
import pytest

from eval.extraction import holds_all
from rewound.llm.extraction import Drawn, Said
from rewound.llm.rules import RulesExtractor

AT_US = 1_772_445_600_000_000
"""2026-03-02T10:00:00Z, a Monday."""
RULES = RulesExtractor()


class Plain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    say: tuple[str, ...]
    holds: str | None = None
    told: tuple[str | None, str | None, str | None] | None = None
    value: str | None = None
    entity: tuple[str, ...] = ()
    no_entity: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


def cases() -> list[Plain]:
    lines = Path(__file__).with_name("told_plainly.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Plain) for line in lines]


def drawn(say: tuple[str, ...]) -> list[Drawn]:
    before: tuple[Said, ...] = ()
    found: list[Drawn] = []
    for minute, text in enumerate(say):
        said = Said(text, AT_US + minute * 60_000_000, speaker="Nina", before=before)
        found += RULES.extract([said])[0]
        before += (said._replace(before=()),)
    return found


def states(one: Drawn, told: tuple[str | None, str | None, str | None]) -> bool:
    known = (one.subject, one.attribute, one.value)
    return all(want is None or want == has for want, has in zip(told, known, strict=True))


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.kind}: {' / '.join(case.say)}")
def test_what_is_said_is_what_is_drawn(case: Plain) -> None:
    found = drawn(case.say)
    if case.holds is not None:
        assert any(holds_all(one.text, case.holds.split()) for one in found), found
    if case.told is not None:
        assert any(states(one, case.told) for one in found), found
    if case.value is not None:
        assert any(one.value in case.value.split("|") for one in found), found
    for name in case.entity:
        assert any(name in one.entities for one in found), found
    for name in case.no_entity:
        assert not any(name in one.entities for one in found), found
    for words in case.never:
        assert not any(holds_all(one.text, words.split()) for one in found), found


@pytest.mark.parametrize("case", [case for case in cases() if len(case.say) == 1], ids=str)
def test_a_statement_lies_in_what_was_said(case: Plain) -> None:
    (text,) = case.say
    for one in drawn(case.say):
        assert 0 <= one.start < one.end <= len(text)


def test_each_kind_has_a_list() -> None:
    kinds = [case.kind for case in cases()]
    assert len(kinds) >= 181
    assert all(kinds.count(kind) >= 8 for kind in kinds)
