"""A chat model that takes each text it is shown for one fact, word for word."""

import re
from typing import Any

LABEL = re.compile(r"^Message (\d+), said by", re.M)
_FENCED = re.compile(r"^\[([0-9a-f]{8})\]\n(.*?)\n\[/\1\]$", re.M | re.S)


def texts(told: str) -> list[str]:
    """The texts of one call."""
    return [text for _, text in _FENCED.findall(told)]


def echo(told: str) -> Any:
    """The answer to a call; a text that asks something states nothing."""
    several = LABEL.search(told) is not None
    facts: list[dict[str, Any]] = []
    for number, text in enumerate(texts(told), 1):
        if text.endswith("?"):
            continue
        words = text.strip().rstrip(".")
        facts.append(
            {
                "quote": words, "text": words, "kind": "fact", "subject": None, "attribute": None,
                "value": None, "entities": [], "valid_from": None, "valid_to": None,
                "confidence": 0.9, **({"message": number} if several else {}),
            }
        )  # fmt: skip
    return {"facts": facts}
