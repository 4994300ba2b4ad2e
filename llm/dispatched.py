"""Models behind a dispatcher: each call goes to whichever node is free for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from rewound.eventlog.enums import Why
from rewound.llm.askers import Asker, NotAsked
from rewound.llm.dispatching import Dispatcher
from rewound.llm.embedding import Embedder, EmbeddingFailed, Vectors
from rewound.llm.nodes import Endpoint, Lane, Role
from rewound.llm.replies import ChatFailed, Schema

T = TypeVar("T")


class Answers(Protocol):
    """A chat model, at one address or at several."""

    @property
    def model(self) -> str | None: ...

    def answer(self, system: str, user: str, schema: Schema, max_tokens: int) -> dict[str, Any]: ...

    def context_tokens(self) -> int: ...

    def close(self) -> None: ...


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
        make: Callable[[Endpoint], Answers],
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
        if self._owns:
            self._dispatcher.close()

    def answer(self, system: str, user: str, schema: Schema, max_tokens: int) -> dict[str, Any]:
        """One object of the form of `schema`. Raises ChatFailed."""

        def call(endpoint: Endpoint, left_s: float) -> dict[str, Any]:
            return self._clients.of(endpoint).answer(system, user, schema, max_tokens)

        try:
            return self._dispatcher.ask(
                self._lane, self._role, call, is_away=_is_away, asker=self._asker
            )
        except NotAsked as error:
            raise ChatFailed(str(error), Why.UNREACHABLE) from None

    def context_tokens(self) -> int:
        """How many tokens any of the nodes reads and writes in one call. Raises ChatFailed."""
        self._dispatcher.watch()
        failed: ChatFailed | None = None
        known: list[int] = []
        for endpoint in self._dispatcher.endpoints(self._lane, self._role):
            try:
                known.append(self._clients.of(endpoint).context_tokens())
            except ChatFailed as error:
                failed = error  # another one may be there
            except NotAsked as error:
                failed = ChatFailed(str(error), Why.UNREACHABLE)
        if known:
            return min(known)
        if failed is not None:
            raise failed
        raise ChatFailed(
            f"no node that answers for {self._role} in the {self._lane} lane can be reached",
            Why.UNREACHABLE,
        )


class DispatchedEmbedder:
    """An embedder that is at all nodes of a lane. Safe for any number of threads.

    `make` gives the client of one endpoint; `is_away` tells what it raises when nobody was there.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        name: str,
        dimensions: int,
        make: Callable[[Endpoint], Embedder],
        is_away: Callable[[BaseException], bool],
    ) -> None:
        self._dispatcher = dispatcher
        self.name = name
        self.dimensions = dimensions
        self._is_away = is_away
        self._clients = dispatcher.clients(make, _close)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """For people who wait. Raises EmbeddingFailed."""
        return self.embed_for(texts, "interactive", None)

    def embed_for(self, texts: Sequence[str], lane: Lane, timeout_s: float | None) -> Vectors:
        """Unit vectors, in the order of the texts. Raises EmbeddingFailed."""

        def call(endpoint: Endpoint, left_s: float) -> Vectors:
            return self._clients.of(endpoint).embed(texts)

        try:
            return self._dispatcher.ask(
                lane, "embed", call, is_away=self._is_away, timeout_s=timeout_s, read=True
            )
        except NotAsked as error:
            raise EmbeddingFailed(str(error)) from None


def _is_away(error: BaseException) -> bool:
    return isinstance(error, ChatFailed) and error.why is Why.UNREACHABLE


def _close(client: object) -> None:
    """Break off what a client does, if that can be done."""
    close = getattr(client, "close", None)
    if close is not None:
        close()
