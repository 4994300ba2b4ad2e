"""The pages tell every field and op of conditions, and the example there is one."""

import re

import msgspec

from rewound.memory import condition_checks as checks
from rewound.memory.conditions import METADATA
from tests.docs.test_api_docs import API, CONCEPTS, rows, section


def test_every_field_has_a_row_with_its_ops() -> None:
    told: dict[str, tuple[str, ...]] = {}
    for names, ops, meaning in rows(section(CONCEPTS, "## Conditions"))[1:]:
        for name in re.findall(r"`([^`]+)`", names):
            told[name.replace("NAME", "")] = tuple(re.findall(r"`([^`]+)`", ops))
        assert meaning
    assert told == dict(checks.OPS)
    assert METADATA in told


def test_the_example_is_a_tree() -> None:
    page = section(CONCEPTS, "## Conditions")
    (example,) = re.findall(r"^```json\n(.*?)^```$", page, re.M | re.S)
    checks.read(msgspec.json.decode(example))


def test_the_limits_are_those_of_the_code() -> None:
    (row,) = (row for row in rows(section(API, "## Limits")) if row[0] == "`where`")
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", row[1])]
    assert numbers == [
        checks.DEPTH_MAX, checks.PARTS_MAX, checks.VALUES_MAX, checks.PATH_PARTS_MAX,
    ]  # fmt: skip
