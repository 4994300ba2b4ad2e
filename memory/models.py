"""Which models a store works with: what draws facts from texts, what gives its opinion on pairs of
them, and what gives texts vectors.

They are made when the first job wants one. Opening a store loads none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlsplit

import msgspec

from rewound.eventlog.errors import InvalidInput

if TYPE_CHECKING:
    from rewound.llm.attribute_table import Row
    from rewound.llm.chat import Chat
    from rewound.llm.embedding import Embedder
    from rewound.llm.extraction import Extractor
    from rewound.llm.judging import Judge
    from rewound.projections.ranker import Ranker

EmbedderName = Literal["minilm", "hashing", "none"]
ExtractorName = Literal["rules", "model", "none"]
JudgeName = Literal["rules", "model", "none"]
THREADS_MAX = 256
CHAT_TIMEOUT_S = 300.0
"""For one answer: a small machine writes some ten words a second."""


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """`threads` is how many one model may use at once; 0 leaves that to the model.

    `chat_url` is where the OpenAI-compatible API of a chat server begins; without a path `/v1` is
    meant. Without `chat_model` its first model is asked. Raises InvalidInput for an address that is
    none, a key that no header can hold, and for a model without an address.
    """

    embedder: EmbedderName = "minilm"
    extractor: ExtractorName = "rules"
    judge: JudgeName = "rules"
    threads: int = 0
    chat_url: str | None = None
    chat_model: str | None = None
    chat_key: str | None = None
    attributes: str | None = None
    """A JSON file of attributes that rules are to know besides their own."""
    ranker: str | None = None
    """A JSON file of weights that order the hits of a search in place of those that are shipped."""

    def __post_init__(self) -> None:
        if self.chat_url is not None:
            _check_url(self.chat_url)
        for name, value in (("extractor", self.extractor), ("judge", self.judge)):
            if value == "model" and self.chat_url is None:
                raise InvalidInput(
                    f"{name} is model, but no chat server is named: set REWOUND_CHAT_URL to the "
                    "address of one, such as http://127.0.0.1:8080",
                    field="REWOUND_CHAT_URL",
                )
        if self.chat_key is not None:
            _check_key(self.chat_key)
        self.rows()
        self.make_ranker()

    def __repr__(self) -> str:
        shown = (
            f"{name}={'…' if name == 'chat_key' and value else repr(value)}"
            for name, value in msgspec.structs.asdict(self).items()
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    @staticmethod
    def from_environment(env: Mapping[str, str]) -> Models:
        """By REWOUND_EMBEDDER, REWOUND_EXTRACTOR, REWOUND_JUDGE, REWOUND_THREADS,
        REWOUND_ATTRIBUTES, REWOUND_RANKER, REWOUND_CHAT_URL, REWOUND_CHAT_MODEL, and
        REWOUND_CHAT_KEY or the file that REWOUND_CHAT_KEY_FILE names; an empty one is not set.

        Raises InvalidInput naming the variable.
        """
        given: dict[str, Any] = {}
        choices = (("embedder", EmbedderName), ("extractor", ExtractorName), ("judge", JudgeName))
        for name, known in choices:
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
        for name in ("chat_url", "chat_model", "attributes", "ranker"):
            if value := env.get(f"REWOUND_{name.upper()}", "").strip():
                given[name] = value
        given["chat_key"] = key_of(
            env.get("REWOUND_CHAT_KEY"), env.get("REWOUND_CHAT_KEY_FILE", "").strip()
        )
        return Models(**given)

    def rows(self) -> tuple[Row, ...]:
        """The user's own attributes. Raises InvalidInput naming the setting, entry and field."""
        if self.attributes is None:
            return ()
        from rewound.llm.attribute_table import parse

        return parse(_content(self.attributes, "REWOUND_ATTRIBUTES"), "REWOUND_ATTRIBUTES")

    def make_ranker(self) -> Ranker | None:
        """The user's own ranker; None for the one that is shipped. Raises InvalidInput."""
        if self.ranker is None:
            return None
        from rewound.projections.ranker import Ranker

        content = _content(self.ranker, "REWOUND_RANKER")
        try:
            return Ranker.from_json(content)
        except ValueError as error:
            raise InvalidInput(
                f"REWOUND_RANKER names a file that holds no ranker of this version: {error}",
                field="REWOUND_RANKER",
            ) from None

    def make_extractor(self) -> Extractor | None:
        """A new one; None where there is to be none."""
        if self.extractor == "none":
            return None
        if self.extractor == "model":
            from rewound.llm.model_extractor import ModelExtractor

            return ModelExtractor(self._chat())
        from rewound.llm.rules import RulesExtractor

        return RulesExtractor(self.rows())

    def make_judge(self) -> Judge | None:
        """A new judge model; None where pairs are judged without one."""
        if self.judge != "model":
            return None
        from rewound.llm.model_judge import ModelJudge

        return ModelJudge(self._chat())

    def _chat(self) -> Chat:
        from rewound.llm.chat import Chat

        assert self.chat_url is not None, "checked when it was made"
        return Chat(self.chat_url, self.chat_model, self.chat_key, CHAT_TIMEOUT_S)

    def make_embedder(self) -> Embedder | None:
        """A new one; None where there is to be none. Its model is loaded by its first use."""
        if self.embedder == "minilm":
            from rewound.llm.minilm import MiniLM

            return MiniLM(threads=self.threads)
        if self.embedder == "hashing":
            from rewound.llm.hashing import HashingEmbedder

            return HashingEmbedder()
        return None


NO_MODELS = Models(embedder="none", extractor="none", judge="none")
"""Texts are kept and found by their words; facts and vectors are made once a store has models."""


def key_of(key: str | None, file: str | None) -> str | None:
    """The key as it was given, else what stands in the file; a blank one counts as none.

    Raises InvalidInput when the file cannot be read.
    """
    if key and key.strip():
        return key.strip()
    if not file:
        return None
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").strip() or None
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnicodeDecodeError:
        reason = "it is no text"
    raise InvalidInput(
        f"REWOUND_CHAT_KEY_FILE names {_cut(file)!r}, which cannot be read: {reason}",
        field="REWOUND_CHAT_KEY_FILE",
    )


def _content(path: str, setting: str) -> bytes:
    """What is in a file that a setting names. Raises InvalidInput."""
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"{setting} names a file that cannot be read: {error.strerror}", field=setting
        ) from None


def _check_url(url: str) -> None:
    wrong = InvalidInput(
        f"REWOUND_CHAT_URL is {_cut(url)!r}: use an address such as http://127.0.0.1:8080 or "
        "https://api.openai.com/v1",
        field="REWOUND_CHAT_URL",
    )
    try:
        parts = urlsplit(url)
        there = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, a bracket too many
        raise wrong from None
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(
            "REWOUND_CHAT_URL holds a user or a password: put the key into REWOUND_CHAT_KEY",
            field="REWOUND_CHAT_URL",
        )
    if not there or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise wrong
    if not url.isprintable() or " " in url:
        raise wrong


def _check_key(key: str) -> None:
    if not key.isascii() or not key.isprintable():
        raise InvalidInput(
            "REWOUND_CHAT_KEY holds characters that a key cannot have: letters, digits and signs "
            "of ASCII only, in one line",
            field="REWOUND_CHAT_KEY",
        )


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
