"""Dumps in one form, and how two of them differ."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tests.oracle.fold import Dump


def canonical(dump: Dump) -> Dump:
    """Forms that mean the same made one: nothing, {} and []; spans that touch; UTC."""
    made = {table: dump[table] for table in dump}
    for table in ("documents", "messages", "facts"):
        made[table] = {item: _plain(row) for item, row in dump[table].items()}
    made["containers"] = {
        item: {**row, "zone": row["zone"] or "UTC"} for item, row in dump["containers"].items()
    }
    made["masks"] = {place: spans for place, spans in dump["masks"].items() if spans}
    return dict(msgspec.to_builtins(made))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    empty = {key: None for key in ("metadata", "scope", "entities") if not row.get(key)}
    return {**row, **empty}


def same(found: Any, wanted: Any, law: str) -> None:
    """Equal, or the first differences with their paths."""
    different = list(differences(found, wanted))
    assert not different, f"{law}: " + "; ".join(different[:8])


def differences(found: Any, wanted: Any, path: str = "") -> Iterable[str]:
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted({*found, *wanted}):
            if key not in found:
                yield f"{path}/{key} is missing (want {wanted[key]!r})"
            elif key not in wanted:
                yield f"{path}/{key} should not be there ({found[key]!r})"
            else:
                yield from differences(found[key], wanted[key], f"{path}/{key}")
    elif found != wanted:
        yield f"{path}: found {found!r}, want {wanted!r}"
