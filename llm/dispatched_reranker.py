"""A rerank server that is at several nodes: each search goes to whichever is free for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewound.eventlog.enums import Why
from rewound.llm.askers import Asker, NotAsked
from rewound.llm.dispatching import Dispatcher
from rewound.llm.nodes import Endpoint
from rewound.llm.reranking import Reranker, RerankFailed, Scored


class DispatchedReranker:
    """Scores by the rerank servers of the interactive lane. Safe for any number of threads.

    `make` gives the client of one endpoint. One that `owns` its dispatcher closes it.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        make: Callable[[Endpoint], Reranker],
        model: str | None = None,
        *,
        owns: bool = False,
    ) -> None:
        self._dispatcher = dispatcher
        self._model = model
        self._owns = owns
        self._asker = Asker()
        self._clients = dispatcher.clients(make, lambda client: client.close())

    @property
    def name(self) -> str:
        """`server/1`, and the model if it was named."""
        return f"server/1 {self._model or ''}".rstrip()

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        self._asker.go()
        self._clients.close()
        if self._owns:
            self._dispatcher.close()

    def scores(self, query: str, texts: Sequence[str], timeout_s: float | None = None) -> Scored:
        """One score for each text. Raises RerankFailed, after `timeout_s` at the latest."""

        def call(endpoint: Endpoint, left_s: float) -> Scored:
            within_s = None if timeout_s is None else left_s
            return self._clients.of(endpoint).scores(query, texts, within_s)

        try:
            self._clients.make_ready(self._dispatcher.endpoints("interactive", "rerank"))
            return self._dispatcher.ask(
                "interactive",
                "rerank",
                call,
                is_away=_is_away,
                timeout_s=timeout_s,
                asker=self._asker,
                read=True,
            )
        except NotAsked as error:
            raise RerankFailed(str(error), Why.UNREACHABLE) from None


def _is_away(error: BaseException) -> bool:
    return isinstance(error, RerankFailed) and error.why is Why.UNREACHABLE
