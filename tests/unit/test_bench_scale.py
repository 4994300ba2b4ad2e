"""The bench of large stores runs through, on stores so small that its figures mean nothing."""

import re

import pytest

from tests.unit.test_bench_serve import printed

pytestmark = [pytest.mark.slow, pytest.mark.soak]

ONCE = """
from eval import bench_scale, pouring
pouring.BASES = 40
bench_scale.main()
"""


def test_every_figure_is_told_for_one_container_and_for_many() -> None:
    words = ("--sizes", "90", "--containers", "5", "--clients", "", "--queries", "4")
    told = printed("-c", ONCE, *words)
    for line in ("size", "start", "embedding", "search", "known query", "as_of, new moment"):
        assert re.search(rf"^{line} ", told, re.M), line
    recalled = [float(share) for share in re.findall(r"recall@10 (\S+),", told)]
    assert recalled == [1.0] * 4, "so few are compared in full"
    assert "among 5" in told
