"""Models behind a dispatcher: each call goes to whichever node is free for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rewound.eventlog.enums import Why
from rewound.llm.askers import Asker, NodesBusy, NotAsked
from rewound.llm.calling import lasting
from rewound.llm.chat_model import ChatModel, SpeakingModel
from rewound.llm.chat_streams import Hearer
from rewound.llm.dispatching import Dispatcher
from rewound.llm.embedding import (
    Embedder,
    EmbeddingAway,
    EmbeddingBusy,
    EmbeddingFailed,
    Vectors,
    embedded,
)
from rewound.llm.nodes import Endpoint, Lane, Role
from rewound.llm.replies import ChatFailed, Schema


class NobodyAsked(ChatFailed):
    """No server was asked: none is up, too much waits already, or whoever asked has gone."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Why.UNREACHABLE)


class DispatchedChat:
    """A chat model that is at all nodes of a lane. Safe for any number of threads.

    `make` gives the client of one endpoint. `model` is what it is called where its name is kept.
    One that `owns` its dispatcher closes it.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        lane: Lane,
        role: Role,
        make: Callable[[Endpoint], ChatModel],
        model: str | None = None,
        *,
        owns: bool = False,
    ) -> None:
        self._dispatcher = dispatcher
        self._lane: Lane = lane
        self._role: Role = role
        self._model = model
        self._owns = owns
        self._asker = Asker()
        self._clients = dispatcher.clients(make, lambda client: client.close())

    @property
    def model(self) -> str | None:
        """The model that was named, if one was."""
        return self._model

    @property
    def parallel(self) -> int:
        """How many calls can run at once now; 0 while no node is there."""
        self._dispatcher.watch()
        return self._dispatcher.slots(self._lane, self._role)

    def close(self) -> None:
        """Give up: what is under way ends at once with ChatFailed, and so does all that follows."""
        self._asker.go()
        self._clients.close()
        self._dispatcher.let_go(self._clients)
        if self._owns:
            self._dispatcher.close()

    def answer(
        self,
        system: str,
        user: str,
        schema: Schema,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """One object of the form of `schema`, of at most `max_tokens`. Raises ChatFailed, after
        `timeout_s` at the latest."""

        def call(endpoint: Endpoint, left_s: float) -> dict[str, Any]:
            within_s = None if timeout_s is None else left_s
            chat = self._clients.of(endpoint)
            return chat.answer(system, user, schema, max_tokens, within_s)

        try:
            self._make_ready()
            return self._dispatcher.ask(
                self._lane,
                self._role,
                call,
                is_away=_is_away,
                timeout_s=timeout_s,
                asker=self._asker,
                read=self._lane == "interactive",
            )
        except NotAsked as error:
            raise NobodyAsked(str(error)) from None

    def speak(
        self,
        system: str,
        user: str,
        hearer: Hearer,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> None:
        """Tell the hearer words as they come. Another node is asked for as long as nothing was
        told. Raises ChatFailed, after `timeout_s` at the latest."""
        told = _Telling(hearer)

        def call(endpoint: Endpoint, left_s: float) -> None:
            within_s = None if timeout_s is None else left_s
            chat = self._clients.of(endpoint)
            assert isinstance(chat, SpeakingModel), f"{type(chat).__name__} tells no words"
            chat.speak(system, user, told, max_tokens, within_s)

        try:
            self._make_ready()
            self._dispatcher.ask(
                self._lane,
                self._role,
                call,
                is_away=lambda error: _is_away(error) and not told.any,
                timeout_s=timeout_s,
                asker=self._asker,
            )
        except NotAsked as error:
            raise NobodyAsked(str(error)) from None

    def _make_ready(self) -> None:
        self._clients.make_ready(self._dispatcher.endpoints(self._lane, self._role))

    def context_tokens(self, timeout_s: float | None = None) -> int:
        """How many tokens any of the nodes reads and writes in one call. Raises ChatFailed, after
        `timeout_s` at the latest; by then those count that have told."""
        left_s = lasting(timeout_s)
        self._dispatcher.watch()
        failed: ChatFailed | None = None
        known: list[int] = []
        for endpoint in self._dispatcher.endpoints(self._lane, self._role):
            try:
                known.append(self._clients.of(endpoint).context_tokens(left_s()))
            except ChatFailed as error:
                failed = error  # another one may be there
            except NotAsked as error:
                failed = NobodyAsked(str(error))
        if known:
            return min(known)
        if failed is not None:
            raise failed
        raise NobodyAsked(
            f"no node that answers for {self._role} in the {self._lane} lane can be reached"
        )


class _Telling:
    """Hands words on, and tells whether there were any."""

    def __init__(self, hearer: Hearer) -> None:
        self._hearer = hearer
        self.any = False

    def hear(self, words: str) -> None:
        self.any = True
        self._hearer.hear(words)

    def were_thoughts(self) -> None:
        self._hearer.were_thoughts()


class DispatchedEmbedder:
    """An embedder that is at all nodes of a lane. Safe for any number of threads.

    `make` gives the client of one endpoint, all of which make the same vectors, under one name. One
    that `owns` its dispatcher closes it.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        name: str,
        make: Callable[[Endpoint], Embedder],
        *,
        owns: bool = False,
    ) -> None:
        self._dispatcher = dispatcher
        self._owns = owns
        self._dimensions: int | None = None
        self._asker = Asker()
        self._clients = dispatcher.clients(make, _close)
        self.name = name

    @property
    def dimensions(self) -> int:
        """Found out by the first vector. Raises EmbeddingFailed."""
        if self._dimensions is None:
            self.embed(["a plain sentence"])
        assert self._dimensions is not None
        return self._dimensions

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        self._asker.go()
        self._clients.close()
        if self._owns:
            self._dispatcher.close()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Of texts that are to be found. Raises EmbeddingFailed."""
        return self.embed_for(texts, "interactive", None)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Of questions. Raises EmbeddingFailed."""
        return self.embed_for(texts, "interactive", None, asked=True)

    def embed_for(
        self, texts: Sequence[str], lane: Lane, timeout_s: float | None, *, asked: bool = False
    ) -> Vectors:
        """Unit vectors, in the order of the texts. Raises EmbeddingFailed, after `timeout_s` at the
        latest."""

        def call(endpoint: Endpoint, left_s: float) -> Vectors:
            within_s = None if timeout_s is None else left_s
            made = embedded(self._clients.of(endpoint), texts, within_s, asked=asked)
            return self._settled(made, endpoint)

        try:
            self._clients.make_ready(self._dispatcher.endpoints(lane, "embed"))
            return self._dispatcher.ask(
                lane,
                "embed",
                call,
                is_away=lambda error: isinstance(error, EmbeddingAway),
                timeout_s=timeout_s,
                asker=self._asker,
                read=lane == "interactive",
            )
        except NodesBusy as error:
            raise EmbeddingBusy(str(error), error.after_s) from None
        except NotAsked as error:
            raise EmbeddingAway(str(error)) from None

    def _settled(self, made: Vectors, endpoint: Endpoint) -> Vectors:
        """Raises EmbeddingFailed for vectors of another model than those before."""
        if not len(made):
            return made
        if self._dimensions is None:
            self._dimensions = made.shape[1]
        elif made.shape[1] != self._dimensions:
            failed = EmbeddingFailed(
                f"node {endpoint.node} gives vectors of {made.shape[1]} dimensions, and there were "
                f"some of {self._dimensions} before: another model runs there"
            )
            failed.unfit = True
            raise failed
        return made


def _is_away(error: BaseException) -> bool:
    return isinstance(error, ChatFailed) and error.why is Why.UNREACHABLE


def _close(client: object) -> None:
    """Break off what a client does, if that can be done."""
    close = getattr(client, "close", None)
    if close is not None:
        close()
