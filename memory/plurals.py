"""Numbers in the sentences of notes: one of something, or several."""


def so_many(number: int, one: str, more: str | None = None) -> str:
    """`1 hit`, `2 hits`, `1,203 hits`; `more` where the plural is not made with an s."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"
