"""Which models a store works with: what draws facts from texts, and what gives texts vectors.

They are made when the first job wants one. Opening a store loads none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from rewound.eventlog.errors import InvalidInput

if TYPE_CHECKING:
    from rewound.llm.embedding import Embedder
    from rewound.llm.extraction import Extractor

EmbedderName = Literal["minilm", "hashing", "none"]
ExtractorName = Literal["rules", "none"]
THREADS_MAX = 256


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """`threads` is how many one model may use at once; 0 leaves that to the model."""

    embedder: EmbedderName = "minilm"
    extractor: ExtractorName = "rules"
    threads: int = 0

    @staticmethod
    def from_environment(env: Mapping[str, str]) -> Models:
        """By REWOUND_EMBEDDER, REWOUND_EXTRACTOR and REWOUND_THREADS; an empty one is not set.

        Raises InvalidInput naming the variable.
        """
        given: dict[str, Any] = {}
        for name, known in (("embedder", EmbedderName), ("extractor", ExtractorName)):
            variable = f"REWOUND_{name.upper()}"
            if value := env.get(variable, "").strip():
                if value not in get_args(known):
                    right = ", ".join(get_args(known))
                    raise InvalidInput(
                        f"{variable} is {_cut(value)!r}: use one of {right}", field=variable
                    )
                given[name] = value
        if value := env.get("REWOUND_THREADS", "").strip():
            given["threads"] = _threads(value)
        return Models(**given)

    def make_extractor(self) -> Extractor | None:
        """A new one; None where there is to be none."""
        if self.extractor == "none":
            return None
        from rewound.llm.rules import RulesExtractor

        return RulesExtractor()

    def make_embedder(self) -> Embedder | None:
        """A new one; None where there is to be none. Its model is loaded by its first use."""
        if self.embedder == "minilm":
            from rewound.llm.minilm import MiniLM

            return MiniLM(threads=self.threads)
        if self.embedder == "hashing":
            from rewound.llm.hashing import HashingEmbedder

            return HashingEmbedder()
        return None


NO_MODELS = Models(embedder="none", extractor="none")
"""Texts are kept and found by their words; facts and vectors are made once a store has models."""


def _threads(value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 9 or int(value) > THREADS_MAX:
        raise InvalidInput(
            f"REWOUND_THREADS is {_cut(value)!r}: use a whole number from 0 (the model decides) "
            f"to {THREADS_MAX}",
            field="REWOUND_THREADS",
        )
    return int(value)


def _cut(value: str) -> str:
    return value if len(value) <= 40 else value[:37] + "…"
