"""What is given another name is not called by the old one any more."""

import pytest

from rewound.llm.renaming import renames

ENDS = [
    ("Nina and others renamed Apollo to Zephyr", "Nina's project is called Apollo"),
    ("Nina renamed the project to Zephyr", "Nina's project is called Apollo"),
    ("Nina and others renamed the dog Biscuit", "Nina's dog's name is Pip"),
    ("Apollo was renamed to Zephyr", "The project is called Apollo"),
    ("Apollo is now called Zephyr", "The project is named Apollo"),
    ("The project has been rebranded as Zephyr Two", "The project is called Apollo"),
]
LEAVES = [
    ("Nina renamed Apollo to Zephyr", "Nina works on Apollo"),
    ("Nina renamed Apollo to Zephyr", "The service is called Heron"),
    ("Nina renamed Apollo to Apollo", "The project is called Apollo"),
    ("Nina renamed the cat Biscuit", "Nina's dog's name is Pip"),
    ("Nina likes Apollo", "The project is called Apollo"),
]


@pytest.mark.parametrize(("new", "old"), ENDS)
def test_the_old_name_is_over(new: str, old: str) -> None:
    assert renames(new, old)


@pytest.mark.parametrize(("new", "old"), LEAVES)
def test_all_else_goes_on(new: str, old: str) -> None:
    assert not renames(new, old)
