"""A tree of conditions, as it is asked: what an item must be, and how its parts hang together.

    {"and": [
        {"field": "tag", "op": "eq", "value": "work"},
        {"or": [
            {"field": "metadata.price", "op": "lt", "value": 20},
            {"field": "metadata.price", "op": "exists", "value": false}]},
        {"not": {"field": "speaker", "op": "eq", "value": "Nina"}}]}

`condition_checks` says what of this can be asked, `narrowing` what it means for the index.
"""

from typing import Any, Literal

import msgspec

Op = Literal[
    "eq", "neq", "gt", "gte", "lt", "lte", "in", "contains", "array_contains", "exists"
]  # fmt: skip

METADATA = "metadata."
"""What the name of a field begins with that is a path in the metadata."""

NAMES = ("entity", "subject", "attribute", "speaker")
"""Fields that hold names, which are compared without case or article."""
TIMES = ("valid_from", "valid_to", "said_at", "recorded_at")
FIELDS = ("tag", "kind", "what", *NAMES, "source", "conversation", *TIMES)
"""Every field by its name, but for those in the metadata."""


class Where(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename={"and_": "and", "or_": "or", "not_": "not"},
):
    """One condition, or several joined: exactly one of `and`, `or`, `not` and `field`.

    A condition names a `field` (or `metadata.NAME`), an `op` and the `value` that the op compares
    with. What a field asks for and is not there meets no condition but `neq`, `not` and `exists`
    with false. With `ignore_case` texts of tags and metadata are compared without case.
    """

    and_: "tuple[Where, ...] | None" = None
    or_: "tuple[Where, ...] | None" = None
    not_: "Where | None" = None
    field: str | None = None
    op: Op | None = None
    value: Any = msgspec.UNSET
    ignore_case: bool = False


def names_times(where: Where) -> bool:
    """Whether any condition of the tree is about a time."""
    parts = (where.not_,) if where.not_ is not None else (where.and_ or where.or_ or ())
    return where.field in TIMES or any(map(names_times, parts))
