"""The request about nodes: which there are, how they stand, and which come and go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from rewound.eventlog.errors import Conflict, InvalidInput, NotFound
from rewound.llm.embedding import EmbeddingFailed
from rewound.llm.nodes import LANES, ROLES, Endpoint
from rewound.memory import requests as q
from rewound.memory.node_tables import node_from
from rewound.memory.replies import LaneCalls, LaneQueue, NodeAddress, NodeList, NodeShown

if TYPE_CHECKING:
    from rewound.llm.dispatching import Dispatcher
    from rewound.llm.scheduling import EndpointFigures
    from rewound.memory.engine import Engine

SETTLE_S = 3.0
"""How long it is waited for the first look at nodes that nobody has looked at yet."""

_UNTIL = (
    "this holds until the process that owns the store ends: put it into its settings to keep it"
)
_FOLLOW = "texts are kept and found, and facts follow by themselves"


def nodes(request: q.Nodes, engine: Engine) -> NodeList:
    """Raises NotFound for a node that there is not, Conflict and InvalidInput for one that cannot
    be added."""
    dispatcher = engine.nodes
    if dispatcher is None:
        return NodeList(nodes=(), queues={}, notes=("this store works with no models at all",))
    notes: list[str] = []
    if request.changes:
        _change(request, dispatcher)
        engine.onlookers.tell_nodes()
        notes.append(_UNTIL)
    dispatcher.watch()
    dispatcher.settle(SETTLE_S)
    figures = dispatcher.figures()
    came: dict[tuple[str, str], str] = {}
    degraded = list(_degraded(engine, dispatcher, figures))
    if request.action == "check":
        came = _checked(engine, [each.server for each in figures])
        degraded += [f"{name}: {word}" for name, word in _wrong(came)]
        degraded += _embedder(engine)
    return NodeList(
        nodes=_shown(figures, came),
        queues=_queues(dispatcher),
        degraded=tuple(dict.fromkeys(degraded)),
        notes=tuple(notes),
    )


def standing(dispatcher: Dispatcher) -> NodeList:
    """The nodes with the calls of one process, that of the dispatcher."""
    return NodeList(nodes=_shown(dispatcher.figures(), {}), queues=_queues(dispatcher))


def _queues(dispatcher: Dispatcher) -> dict[str, LaneQueue]:
    return {
        lane: LaneQueue(waiting=each.waiting, busy=each.busy, away=each.away)
        for lane, each in dispatcher.lanes().items()
    }


# --- changing


def _change(request: q.Nodes, dispatcher: Dispatcher) -> None:
    name = request.name
    if name is None:
        raise InvalidInput(f"name is missing: which node to {request.action}", field="name")
    if request.action == "add":
        if any(each.server.node == name and not each.draining for each in dispatcher.figures()):
            raise Conflict(f"there is a node {name} already: remove it first, or drain it")
        fields = {**msgspec.structs.asdict(request), "key": request.api_key}
        dispatcher.add(node_from(fields))
        return
    done = dispatcher.drain(name) if request.action == "drain" else dispatcher.remove(name)
    if not done:
        known = sorted({each.server.node for each in dispatcher.figures()})
        there = f"the nodes are {', '.join(known)}" if known else "there are none"
        raise NotFound(f"there is no node of that name: {there}", field="name")


# --- how things stand


def _shown(
    figures: list[EndpointFigures], came: dict[tuple[str, str], str]
) -> tuple[NodeShown, ...]:
    by_node: defaultdict[str, list[EndpointFigures]] = defaultdict(list)
    for each in figures:
        by_node[each.server.node].append(each)
    return tuple(
        NodeShown(
            name=name,
            lanes=tuple(lane for lane in LANES if lane in of_it[0].server.lanes),
            addresses=tuple(_address(each, came) for each in of_it),
        )
        for name, of_it in by_node.items()
    )


def _address(figures: EndpointFigures, came: dict[tuple[str, str], str]) -> NodeAddress:
    server = figures.server
    roles = tuple(role for role in ROLES if role in server.roles)
    checked: dict[str, str] = {
        role: came[server.id, role] for role in roles if (server.id, role) in came
    }
    return NodeAddress(
        roles=roles,
        url=server.url,
        state=figures.state,
        draining=figures.draining,
        slots=figures.slots,
        busy=figures.busy,
        lanes={
            lane: LaneCalls(
                running=calls.running,
                ok=calls.ok,
                failed=calls.failed,
                away=calls.away,
                given_up=calls.given_up,
                seconds=round(calls.seconds, 3),
            )
            for lane, calls in figures.lanes.items()
            if lane in server.lanes
        },
        checked=checked or None,
    )


def _degraded(
    engine: Engine, dispatcher: Dispatcher, figures: list[EndpointFigures]
) -> Iterator[str]:
    """What is not as it was set, in words."""
    for each in figures:
        if each.state == "down":
            yield f"{_called(each.server)} does not answer"
        elif each.trouble is not None:
            yield f"{_called(each.server)} refuses whoever asks: {each.trouble}"
    models = engine.models
    if models is None:
        return
    if models.extractor == "model" and not dispatcher.slots("background", "chat"):
        yield f"no node draws facts now: {_FOLLOW} when one is back"
    if models.judge == "model" and not dispatcher.slots("background", "decide"):
        yield "no node judges facts now: they are compared when one is back"
    if models.summarizer == "model" and not dispatcher.slots("background", "chat"):
        yield "no node sums up conversations now: facts stand in until one is back"
    if models.embedder == "server" and not dispatcher.slots("background", "embed"):
        yield "no node makes vectors now: new texts are found by their words until one is back"
    trouble = engine.meaning.speaking.trouble
    if trouble is not None:
        yield trouble


def _called(server: Endpoint) -> str:
    roles = ", ".join(role for role in ROLES if role in server.roles)
    return f"node {server.node} ({roles} at {server.url})"


def _checked(engine: Engine, servers: list[Endpoint]) -> dict[tuple[str, str], str]:
    """What came of a word put into each server, for each of its roles."""
    from rewound.llm.checking import checked

    models = engine.models
    assert models is not None, "a store with a dispatcher has models"
    return {
        (server.id, role): checked(server, role, models)
        for server in servers
        for role in ROLES
        if role in server.roles
    }


def _wrong(came: dict[tuple[str, str], str]) -> Iterator[tuple[str, str]]:
    for (server, role), word in came.items():
        if word != "ok":
            yield f"node {server.partition('/')[0]}, {role}", word


def _embedder(engine: Engine) -> list[str]:
    """What is wrong with the embedder, if anything is."""
    if engine.meaning.embedder is None:
        return []
    try:
        engine.meaning.embed(["apple"])
    except EmbeddingFailed as error:
        return [f"the embedder failed: {error}"]
    return []
