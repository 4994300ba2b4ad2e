"""Which models a store works with: what draws facts from texts, what gives its opinion on pairs of
them, and what gives texts vectors.

They are made when the first job wants one. Opening a store loads none of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.llm.nodes import Lane, Node, Role, brief, check_names, nodes_of
from rewound.memory.model_servers import check_named, check_server, key_from
from rewound.memory.rhythm import AT_ONCE, Rhythm
from rewound.memory.setting_values import (
    NUMBERS,
    RECENT_CHARS,
    RECENT_CHARS_MAX,
    TEXTS,
    check_within,
    content_of,
    number_of,
    whole,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from rewound.llm.attribute_table import Row
    from rewound.llm.chat_model import ChatModel, Spent
    from rewound.llm.decomposing import Decomposer
    from rewound.llm.dispatched import DispatchedChat
    from rewound.llm.dispatching import Dispatcher
    from rewound.llm.embedding import Embedder
    from rewound.llm.embedding_server import EmbeddingServer
    from rewound.llm.extraction import Extractor
    from rewound.llm.judging import Judge
    from rewound.llm.nodes import Endpoint
    from rewound.llm.onnx_embedder import OnnxEmbedder
    from rewound.llm.question_answering import QuestionAnswerer
    from rewound.llm.rerank_server import RerankServer
    from rewound.llm.reranking import Reranker
    from rewound.llm.rewriting import Rewriter
    from rewound.llm.summarizing import Summarizer
    from rewound.llm.token_counting import TokenCounter
    from rewound.projections.ranker import Ranker

EmbedderName = Literal["minilm", "hashing", "onnx", "server", "none"]
EmbedPooling = Literal["mean", "cls", "lasttoken"]
ExtractorName = Literal["rules", "model", "none"]
JudgeName = Literal["rules", "model", "none"]
RerankerName = Literal["words", "embedder", "server", "model", "none"]
RerankWhen = Literal["asked", "always"]
RewriterName = Literal["model", "none"]
RewriteWhen = Literal["asked", "always"]
DecomposerName = Literal["rules", "model", "none"]
DecomposeWhen = Literal["asked", "always"]
AnswererName = Literal["facts", "model", "none"]
SummarizerName = Literal["model", "none"]
RerankScale = Literal["auto", "share", "logit"]
ChatApi = Literal["openai", "anthropic"]
COUNTERS = ("estimate", "embedder")
RERANK_DEPTH_MAX = 100
THREADS_MAX = 256
ANSWER_TIMEOUT_S_MAX = 600
HEDGE_MS_MAX = 60_000
WAIT_S_MAX = 86_400
BATCH_MESSAGES_MAX = 32
CHAT_TIMEOUT_S = 300.0
"""For one answer: a small machine writes some ten words a second."""

EMBED_TIMEOUT_S = 120.0
"""For one batch of texts."""


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """`threads` is how many one model may use at once; 0 leaves that to the model.

    An address is where the API of a server begins; without a path `/v1` is meant. `chat_api` is
    what the chat server speaks. Without `chat_model` its first model is asked; `embed_model` tells
    the vectors of one model from those of another, so that it must be named. The prefixes are put
    before what the embedding server or the model of `embed_folder` is given, as it is; a folder may
    have its own. Raises InvalidInput for an address that is none, a key that no header can hold,
    for a model without an address, and for a folder that holds no model.

    Each of the three addresses is a node for both lanes, called by its role; `nodes` are further
    ones. A read that has no answer from its node after `hedge_ms` is put to a second one; 0 never
    does.

    A model that draws facts reads up to `batch_messages` messages of one conversation in one call:
    when nothing was said there for `quiet` seconds, when they are so many, or when the oldest has
    waited for `batch_age` seconds.

    The first `rerank_depth` hits of a search that wants it are ordered anew by the reranker, whose
    score counts `rerank_weight` against 1 less that of the ranking's own. The query of a search
    that wants it is put into further words by the rewriter, and both are sought; it is taken apart
    by the decomposer, and its parts are sought besides. A question is answered by the answerer,
    unless what fits best is less likely to answer than `answer_confidence` (not set: 0.3, and 0.1
    for a model); a model has `answer_timeout_s` seconds for that.

    The last `recent_chars` characters of a conversation are its recent messages; what is older is
    summed up by the summarizer.
    """

    embedder: EmbedderName = "minilm"
    extractor: ExtractorName = "rules"
    judge: JudgeName = "rules"
    threads: int = 0
    chat_url: str | None = None
    chat_model: str | None = None
    chat_key: str | None = None
    chat_api: ChatApi = "openai"
    embed_url: str | None = None
    embed_model: str | None = None
    embed_key: str | None = None
    embed_folder: str | None = None
    embed_pooling: EmbedPooling | None = None
    embed_query_prefix: str = ""
    embed_document_prefix: str = ""
    reranker: RerankerName = "none"
    rerank: RerankWhen = "asked"
    rerank_depth: int = 20
    rerank_weight: float = 0.5
    rerank_url: str | None = None
    rerank_model: str | None = None
    rerank_key: str | None = None
    rerank_scale: RerankScale = "auto"
    rewriter: RewriterName = "none"
    rewrite: RewriteWhen = "asked"
    decomposer: DecomposerName = "none"
    decompose: DecomposeWhen = "asked"
    answerer: AnswererName = "facts"
    answer_confidence: float | None = None
    answer_timeout_s: int = 60
    summarizer: SummarizerName = "none"
    recent_chars: int = RECENT_CHARS
    nodes: tuple[Node, ...] = ()
    hedge_ms: int = 0
    quiet: float = 120.0
    batch_messages: int = 8
    batch_age: float = 600.0
    token_counter: str = "embedder"
    """What counts tokens: `estimate`, `embedder` (its tokenizer, where it runs in this process),
    or the path of a tokenizer.json."""
    attributes: str | None = None
    """A JSON file of attributes that rules are to know besides their own."""
    ranker: str | None = None
    """A JSON file of weights that order the hits of a search in place of those that are shipped."""

    def __post_init__(self) -> None:
        for role in ("CHAT", "EMBED", "RERANK"):
            name = role.lower()
            check_server(getattr(self, f"{name}_url"), getattr(self, f"{name}_key"), role)
        self._check_servers()
        if self.reranker == "embedder" and self.embedder == "none":
            raise InvalidInput(
                "reranker is embedder, but embedder is none: set one of them to another",
                field="REWOUND_RERANKER",
            )
        self._check_model_names()
        if not 1 <= self.rerank_depth <= RERANK_DEPTH_MAX:
            raise InvalidInput(
                f"REWOUND_RERANK_DEPTH is {self.rerank_depth}: use a whole number from 1 to "
                f"{RERANK_DEPTH_MAX}",
                field="REWOUND_RERANK_DEPTH",
            )
        if not 0 <= self.rerank_weight <= 1:
            raise InvalidInput(
                f"REWOUND_RERANK_WEIGHT is {self.rerank_weight}: use a number from 0 to 1",
                field="REWOUND_RERANK_WEIGHT",
            )
        if self.answer_confidence is not None and not 0 <= self.answer_confidence <= 1:
            raise InvalidInput(
                f"REWOUND_ANSWER_CONFIDENCE is {self.answer_confidence}: use a number from 0 to 1",
                field="REWOUND_ANSWER_CONFIDENCE",
            )
        if not 1 <= self.answer_timeout_s <= ANSWER_TIMEOUT_S_MAX:
            raise InvalidInput(
                f"REWOUND_ANSWER_TIMEOUT_S is {self.answer_timeout_s}: use a whole number from 1 "
                f"to {ANSWER_TIMEOUT_S_MAX}",
                field="REWOUND_ANSWER_TIMEOUT_S",
            )
        if not 0 <= self.hedge_ms <= HEDGE_MS_MAX:
            raise InvalidInput(
                f"REWOUND_HEDGE_MS is {self.hedge_ms}: use 0 (never) to {HEDGE_MS_MAX}",
                field="REWOUND_HEDGE_MS",
            )
        self._check_rhythm()
        check_within("REWOUND_RECENT_CHARS", self.recent_chars, RECENT_CHARS_MAX)
        check_names(self.all_nodes())
        self.rows()
        self.make_ranker()
        self._check_counter()

    def _check_rhythm(self) -> None:
        for name in ("quiet", "batch_age"):
            if not 0 <= getattr(self, name) <= WAIT_S_MAX:
                raise InvalidInput(
                    f"REWOUND_{name.upper()} is {getattr(self, name)}: use a number of seconds "
                    f"from 0 to {WAIT_S_MAX}",
                    field=f"REWOUND_{name.upper()}",
                )
        if not 1 <= self.batch_messages <= BATCH_MESSAGES_MAX:
            raise InvalidInput(
                f"REWOUND_BATCH_MESSAGES is {self.batch_messages}: use a whole number from 1 (each "
                f"message by itself, at once) to {BATCH_MESSAGES_MAX}",
                field="REWOUND_BATCH_MESSAGES",
            )

    def rhythm(self) -> Rhythm:
        """When messages are read for facts. Rules cost nothing and read each at once."""
        if self.extractor != "model":
            return AT_ONCE
        quiet_us, age_us = (round(each * 1_000_000) for each in (self.quiet, self.batch_age))
        return Rhythm(quiet_us, self.batch_messages, age_us)

    def _check_servers(self) -> None:
        """For what is to be asked of a server there is one, in the lane that asks."""
        wanted: tuple[tuple[str, str, Lane, tuple[Role, ...]], ...] = (
            ("extractor", "model", "background", ("chat",)),
            ("judge", "model", "background", ("chat", "decide")),
            ("summarizer", "model", "background", ("chat",)),
            ("reranker", "model", "interactive", ("chat",)),
            ("rewriter", "model", "interactive", ("chat",)),
            ("decomposer", "model", "interactive", ("chat",)),
            ("answerer", "model", "interactive", ("chat",)),
            ("reranker", "server", "interactive", ("rerank",)),
            ("embedder", "server", "interactive", ("embed",)),
            ("embedder", "server", "background", ("embed",)),
        )
        for name, value, lane, roles in wanted:
            if getattr(self, name) == value and not self._has(lane, roles):
                check_named(f"{name} is {value}", None, roles[0].upper())

    def _has(self, lane: Lane, roles: tuple[Role, ...]) -> bool:
        """Whether a node does any of these in a lane."""
        named = {role: getattr(self, f"{role}_url", None) for role in roles}
        return any(named.values()) or any(
            lane in node.lanes and not node.urls.keys().isdisjoint(roles) for node in self.nodes
        )

    def _check_model_names(self) -> None:
        if self.embedder == "server" and self.embed_model is None:
            raise InvalidInput(
                "embedder is server, but its model is not named: set REWOUND_EMBED_MODEL, since "
                "vectors of different models are told apart by that",
                field="REWOUND_EMBED_MODEL",
            )
        if self.embedder == "onnx":
            self._folder_embedder()
        if self.chat_api == "anthropic" and self.chat_url and self.chat_model is None:
            raise InvalidInput(
                "REWOUND_CHAT_API is anthropic, but no model is named: set REWOUND_CHAT_MODEL",
                field="REWOUND_CHAT_MODEL",
            )

    def __repr__(self) -> str:
        shown = (
            f"{name}={'…' if name.endswith('_key') and value else repr(value)}"
            for name, value in msgspec.structs.asdict(self).items()
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    @staticmethod
    def from_environment(env: Mapping[str, str]) -> Models:
        """Each field by REWOUND_ and its name in capitals; a key also by the file that the variable
        of that name with _FILE names; an empty one is not set.

        Raises InvalidInput naming the variable.
        """
        given: dict[str, Any] = {}
        for name, known in _CHOICES.items():
            variable = f"REWOUND_{name.upper()}"
            if value := env.get(variable, "").strip():
                if value not in get_args(known):
                    right = ", ".join(get_args(known))
                    raise InvalidInput(
                        f"{variable} is {brief(value)!r}: use one of {right}", field=variable
                    )
                given[name] = value
        if value := env.get("REWOUND_THREADS", "").strip():
            given["threads"] = whole("REWOUND_THREADS", value, THREADS_MAX, "the model decides")
        if value := env.get("REWOUND_HEDGE_MS", "").strip():
            given["hedge_ms"] = whole("REWOUND_HEDGE_MS", value, HEDGE_MS_MAX, "never")
        named = ("REWOUND_NODES", "REWOUND_BG_NODES")
        given["nodes"] = nodes_of(env.get(named[0]), env.get(named[1]), named)
        for name, number in NUMBERS.items():
            if value := env.get(f"REWOUND_{name.upper()}", "").strip():
                given[name] = number_of(value, f"REWOUND_{name.upper()}", number)
        for name in TEXTS:
            if value := env.get(f"REWOUND_{name.upper()}", "").strip():
                given[name] = value
        for name in ("embed_query_prefix", "embed_document_prefix"):
            given[name] = env.get(f"REWOUND_{name.upper()}", "")  # its last space belongs to it
        for role in ("CHAT", "EMBED", "RERANK"):
            given[f"{role.lower()}_key"] = key_from(env, role)
        return Models(**given)

    def rows(self) -> tuple[Row, ...]:
        """The user's own attributes. Raises InvalidInput naming the setting, entry and field."""
        if self.attributes is None:
            return ()
        from rewound.llm.attribute_table import parse

        return parse(content_of(self.attributes, "REWOUND_ATTRIBUTES"), "REWOUND_ATTRIBUTES")

    def make_ranker(self) -> Ranker | None:
        """The user's own ranker; None for the one that is shipped. Raises InvalidInput."""
        if self.ranker is None:
            return None
        from rewound.projections.ranker import Ranker

        content = content_of(self.ranker, "REWOUND_RANKER")
        try:
            return Ranker.from_json(content)
        except ValueError as error:
            raise InvalidInput(
                f"REWOUND_RANKER names a file that holds no ranker of this version: {error}",
                field="REWOUND_RANKER",
            ) from None

    def make_token_counter(self) -> TokenCounter:
        """A new one, which loads its tokenizer when it is first wanted. An embedder that has no
        tokenizer here leaves it to the estimate."""
        from rewound.llm.token_counting import ESTIMATE
        from rewound.llm.tokenizer_counter import TokenizerCounter

        if self.token_counter not in COUNTERS:
            content = content_of(self.token_counter, "REWOUND_TOKEN_COUNTER")
            digest = hashlib.sha256(content).hexdigest()[:8]
            name = f"{Path(self.token_counter).name}/{digest}"
            return TokenizerCounter(name, lambda: _tokenizer(content))
        if self.token_counter == "embedder" and self.embedder == "minilm":
            from rewound.llm import minilm

            return TokenizerCounter(minilm.NAME, minilm.own_tokenizer)
        if self.token_counter == "embedder" and self.embedder == "onnx" and self.embed_folder:
            pieces = Path(self.embed_folder).expanduser() / "tokenizer.json"
            return TokenizerCounter(pieces.parent.name, lambda: _tokenizer(pieces.read_bytes()))
        return ESTIMATE

    def _check_counter(self) -> None:
        """Raises InvalidInput for a path at which there is no tokenizer."""
        if self.token_counter in COUNTERS:
            return
        content = content_of(self.token_counter, "REWOUND_TOKEN_COUNTER")
        try:
            _tokenizer(content)
        except Exception as error:  # the package raises what derives from Exception alone
            raise InvalidInput(
                "REWOUND_TOKEN_COUNTER names a file that is no tokenizer.json "
                f"({str(error)[:80]}): use {' or '.join(COUNTERS)}, or the path of one",
                field="REWOUND_TOKEN_COUNTER",
            ) from None

    def all_nodes(self) -> tuple[Node, ...]:
        """The nodes, with those that are named by one address."""
        single: list[Node] = []
        roles: tuple[Role, ...] = ("chat", "embed", "rerank")
        for role in roles:
            url, key, model = (getattr(self, f"{role}_{what}") for what in ("url", "key", "model"))
            if url is not None:
                single.append(Node(name=role, urls={role: url}, key=key, model=model))
        return (*self.nodes, *single)

    def only_embedding(self, **embedder: Any) -> Models:
        """An embedder with these fields in place of that which is set, and no other model."""
        kept = {"threads": self.threads, "extractor": "none", "judge": "none"}
        return Models(**{**kept, **embedder})

    def make_dispatcher(self) -> Dispatcher:
        """What makes the calls at these nodes. It begins to look at them when it is first asked."""
        from rewound.llm import breaking
        from rewound.llm.dispatching import Dispatcher

        hedge_s = self.hedge_ms / 1000 or None
        return Dispatcher(self.all_nodes(), pace=breaking.PACE, hedge_s=hedge_s)

    def make_extractor(self, nodes: Dispatcher | None = None) -> Extractor | None:
        """A new one; None where there is to be none. What asks a server does so at `nodes`, or else
        at its own, here and below."""
        if self.extractor == "none":
            return None
        if self.extractor == "model":
            from rewound.llm.model_extractor import ModelExtractor

            return ModelExtractor(self._chat("background", "chat", nodes))
        from rewound.llm.rules import RulesExtractor

        return RulesExtractor(self.rows())

    def make_judge(self, nodes: Dispatcher | None = None) -> Judge | None:
        """A new judge model; None where pairs are judged without one."""
        if self.judge != "model":
            return None
        from rewound.llm.model_judge import ModelJudge

        return ModelJudge(self._chat("background", "decide", nodes))

    def _chat(
        self,
        lane: Lane,
        role: Role,
        nodes: Dispatcher | None,
        spent: Callable[[Spent], None] | None = None,
    ) -> DispatchedChat:
        from rewound.llm.dispatched import DispatchedChat

        def make(endpoint: Endpoint) -> ChatModel:
            return self.chat_at(endpoint, spent)

        at = nodes or self.make_dispatcher()
        return DispatchedChat(at, lane, role, make, self.chat_model, owns=nodes is None)

    def chat_at(
        self, endpoint: Endpoint, spent: Callable[[Spent], None] | None = None
    ) -> ChatModel:
        """The client of a chat server."""
        model = endpoint.model or self.chat_model
        if self.chat_api == "anthropic" and endpoint.url == (self.chat_url or "").rstrip("/"):
            from rewound.llm.anthropic import Anthropic

            assert model is not None, "checked when it was made"
            return Anthropic(endpoint.url, model, endpoint.key, CHAT_TIMEOUT_S, spent=spent)
        from rewound.llm.chat import Chat

        return Chat(endpoint.url, model, endpoint.key, CHAT_TIMEOUT_S, spent=spent)

    def make_reranker(
        self, embedder: Embedder | None, nodes: Dispatcher | None = None
    ) -> Reranker | None:
        """A new one; None where hits stay in the order of the ranking. `embedder` is the store's
        own."""
        if self.reranker == "words":
            from rewound.llm.plain_rerankers import WordsReranker

            return WordsReranker()
        if self.reranker == "embedder" and embedder is not None:
            from rewound.llm.plain_rerankers import EmbedderReranker

            return EmbedderReranker(embedder)
        if self.reranker == "server":
            from rewound.llm.dispatched_reranker import DispatchedReranker

            at = nodes or self.make_dispatcher()
            return DispatchedReranker(at, self.reranker_at, self.rerank_model, owns=nodes is None)
        if self.reranker == "model":
            from rewound.llm.model_reranker import ModelReranker

            return ModelReranker(lambda spent: self._chat("interactive", "chat", nodes, spent))
        return None

    def reranker_at(self, endpoint: Endpoint, timeout_s: float | None = None) -> RerankServer:
        """The client of a rerank server."""
        from rewound.llm.rerank_server import RerankServer
        from rewound.llm.reranking import TIMEOUT_S

        return RerankServer(
            endpoint.url, self.rerank_model, endpoint.key, scale=self.rerank_scale,
            timeout_s=timeout_s or TIMEOUT_S,
        )  # fmt: skip

    def make_rewriter(self, nodes: Dispatcher | None = None) -> Rewriter | None:
        """A new one; None where questions are asked as they are."""
        if self.rewriter == "none":
            return None
        from rewound.llm.model_rewriter import ModelRewriter

        return ModelRewriter(lambda spent: self._chat("interactive", "chat", nodes, spent))

    def make_decomposer(self, nodes: Dispatcher | None = None) -> Decomposer | None:
        """A new one; None where questions are asked as a whole."""
        if self.decomposer == "rules":
            from rewound.llm.rules_decomposer import RulesDecomposer

            return RulesDecomposer()
        if self.decomposer == "model":
            from rewound.llm.model_decomposer import ModelDecomposer

            return ModelDecomposer(lambda spent: self._chat("interactive", "chat", nodes, spent))
        return None

    def make_answerer(self, nodes: Dispatcher | None = None) -> QuestionAnswerer | None:
        """A new one; None where questions get no answer."""
        if self.answerer == "none":
            return None
        if self.answerer == "model":
            from rewound.llm.model_answerer import ModelAnswerer

            return ModelAnswerer(lambda spent: self._chat("interactive", "chat", nodes, spent))
        from rewound.llm.facts_answerer import FactsAnswerer

        return FactsAnswerer()

    def make_summarizer(self, nodes: Dispatcher | None = None) -> Summarizer:
        """A new one, where one is set."""
        from rewound.llm.model_summarizer import ModelSummarizer

        return ModelSummarizer(self._chat("background", "chat", nodes))

    def make_embedder(self, nodes: Dispatcher | None = None) -> Embedder | None:
        """A new one; None where there is to be none. Its model is loaded by its first use."""
        if self.embedder == "minilm":
            from rewound.llm.minilm import MiniLM

            return MiniLM(threads=self.threads)
        if self.embedder == "hashing":
            from rewound.llm.hashing import HashingEmbedder

            return HashingEmbedder()
        if self.embedder == "onnx":
            return self._named(self._folder_embedder())
        if self.embedder == "server":
            from rewound.llm.dispatched import DispatchedEmbedder
            from rewound.llm.embedding_server import name_of

            assert self.embed_model is not None, "checked when it was made"
            at = nodes or self.make_dispatcher()
            name = name_of(self.embed_model, self.embed_query_prefix, self.embed_document_prefix)
            return DispatchedEmbedder(at, name, self.embedder_at, owns=nodes is None)
        return None

    def _folder_embedder(self) -> OnnxEmbedder:
        """The embedder out of a folder, nothing loaded. Raises InvalidInput."""
        if self.embed_folder is None:
            raise InvalidInput(
                "embedder is onnx, but its folder is not named: set REWOUND_EMBED_FOLDER",
                field="REWOUND_EMBED_FOLDER",
            )
        from rewound.llm.embedding import EmbeddingFailed
        from rewound.llm.onnx_embedder import OnnxEmbedder

        try:
            return OnnxEmbedder(
                Path(self.embed_folder), self.threads, pooling=self.embed_pooling,
                query_prefix=self.embed_query_prefix, document_prefix=self.embed_document_prefix,
            )  # fmt: skip
        except EmbeddingFailed as error:
            raise InvalidInput(
                f"REWOUND_EMBED_FOLDER: {error}", field="REWOUND_EMBED_FOLDER"
            ) from None

    def _named(self, made: OnnxEmbedder) -> OnnxEmbedder:
        """The same, its files read. Raises InvalidInput: without a name it cannot be used."""
        from rewound.llm.embedding import EmbeddingFailed

        try:
            made.check()
        except EmbeddingFailed as error:
            raise InvalidInput(
                f"REWOUND_EMBED_FOLDER: {error}", field="REWOUND_EMBED_FOLDER"
            ) from None
        return made

    def embedder_at(
        self, endpoint: Endpoint, timeout_s: float = EMBED_TIMEOUT_S
    ) -> EmbeddingServer:
        """The client of an embedding server."""
        from rewound.llm.embedding_server import EmbeddingServer

        return EmbeddingServer(
            endpoint.url, self.embed_model or "default", endpoint.key,
            query_prefix=self.embed_query_prefix, document_prefix=self.embed_document_prefix,
            timeout_s=timeout_s,
        )  # fmt: skip


_CHOICES = {
    "embedder": EmbedderName,
    "embed_pooling": EmbedPooling,
    "extractor": ExtractorName,
    "judge": JudgeName,
    "reranker": RerankerName,
    "rerank": RerankWhen,
    "rerank_scale": RerankScale,
    "rewriter": RewriterName,
    "rewrite": RewriteWhen,
    "decomposer": DecomposerName,
    "decompose": DecomposeWhen,
    "answerer": AnswererName,
    "summarizer": SummarizerName,
    "chat_api": ChatApi,
}

NO_MODELS = Models(embedder="none", extractor="none", judge="none")
"""Texts are kept and found by their words; facts and vectors are made once a store has models."""


def _tokenizer(content: bytes) -> Tokenizer:
    from rewound.llm.onnx_running import tokenizer_of

    return tokenizer_of(content)
