"""Values of settings as a person writes them: numbers, and files that they name."""

from pathlib import Path

from rewound.eventlog.errors import InvalidInput
from rewound.llm.nodes import brief

RECENT_CHARS = 64_000
"""Of a conversation's last messages, which are shown as they are."""

RECENT_CHARS_MAX = 10_000_000

NUMBERS: dict[str, type[int] | type[float]] = {
    "rerank_depth": int,
    "rerank_weight": float,
    "quiet": float,
    "batch_messages": int,
    "batch_age": float,
    "answer_confidence": float,
    "answer_timeout_s": int,
    "recent_chars": int,
}
TEXTS = (
    "chat_url", "chat_model", "embed_url", "embed_model", "embed_folder", "rerank_url",
    "rerank_model", "attributes", "ranker", "token_counter",
)  # fmt: skip
"""Settings of models that are numbers, and those that are texts."""


def content_of(path: str, setting: str) -> bytes:
    """What is in a file that a setting names. Raises InvalidInput."""
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"{setting} names a file that cannot be read: {error.strerror}", field=setting
        ) from None


def whole(variable: str, value: str, most: int, nothing: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 9 or int(value) > most:
        raise InvalidInput(
            f"{variable} is {brief(value)!r}: use a whole number from 0 ({nothing}) to {most}",
            field=variable,
        )
    return int(value)


def number_of(value: str, setting: str, kind: type[int] | type[float]) -> float:
    try:
        return kind(value[:40])
    except ValueError:
        raise InvalidInput(f"{setting} is {brief(value)!r}: use a number", field=setting) from None


def check_within(variable: str, value: int, most: int) -> None:
    """Raises InvalidInput unless it is from 1 to `most`."""
    if not 1 <= value <= most:
        raise InvalidInput(
            f"{variable} is {value}: use a whole number from 1 to {most}", field=variable
        )
