"""The four doors of one store: the same few words through each, answered in the same JSON.

A server process owns the store. The library, the command line and the tools of an agent reach it as
other processes do, and each test has a container of its own.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest

from rewound.http.mcp_calls import called
from rewound.memory import Memory
from rewound.memory import replies as r
from tests.cases.given import Cli
from tests.http.serving import Api, Served, reply_of, serving

Json = dict[str, Any]

_numbers = count(1)


class Shop(NamedTuple):
    """One store: the server that owns it, and what the doors reach it by."""

    served: Served
    client: httpx.Client
    memory: Memory

    def settle(self) -> None:
        """Wait until facts are drawn and texts embedded, and nothing has failed."""
        asked = {"action": "wait", "timeout_s": 60}
        told = reply_of(Api(self.client, "default").send("POST", "/v1/workers", asked), r.Working)
        assert told.pending == told.failed == told.parked == told.unembedded == 0, told


@contextmanager
def open_shop(folder: Path, **settings: str) -> Iterator[Shop]:
    """A server with these variables of the environment, and a library handle without any: neither
    is to see those of whoever runs the tests."""
    with (
        pytest.MonkeyPatch.context() as patch,
        serving(folder, **settings) as served,
        served.client() as client,
    ):
        for name in list(os.environ):
            if name.startswith("REWOUND_"):
                patch.delenv(name)
        patch.setenv("XDG_RUNTIME_DIR", str(served.runtime))
        with Memory(served.data) as memory:
            yield Shop(served, client, memory)


class Door(ABC):
    """One way in, to one container. Every refusal fails the test."""

    def __init__(self, shop: Shop, container: str | None = None) -> None:
        self.shop = shop
        self.container = container or f"c{next(_numbers)}"
        self.api = Api(shop.client, self.container)

    @abstractmethod
    def say(self, messages: list[Json], conversation: str = "chat") -> list[Json]:
        """Messages of a conversation: what became of each."""

    @abstractmethod
    def keep(self, text: str, name: str) -> None:
        """A text under a name of its own, to draw facts from."""

    @abstractmethod
    def remember(self, text: str, **more: str) -> str:
        """A fact, word for word: its id."""

    @abstractmethod
    def reword(self, fact: str, text: str) -> str:
        """Another wording of a fact: its id."""

    @abstractmethod
    def search(self, query: str, **which: str) -> list[Json]:
        """The hits of a question."""

    @abstractmethod
    def views(self, what: str = "fact", **which: str) -> list[Json]:
        """All items of a sort (a thousand at most)."""

    def facts(self) -> list[str]:
        """What all current facts say, once the workers have nothing left to do."""
        self.shop.settle()
        return [view["text"] for view in self.views()]


class Library(Door):
    @property
    def memory(self) -> Memory:
        return self.shop.memory.container(self.container)

    def say(self, messages: list[Json], conversation: str = "chat") -> list[Json]:
        return listed(told(self.memory.add_messages(messages, conversation=conversation)), "items")

    def keep(self, text: str, name: str) -> None:
        self.memory.ingest(text, id=name)

    def remember(self, text: str, **more: Any) -> str:
        return only_id(told(self.memory.remember(text, **more)))

    def reword(self, fact: str, text: str) -> str:
        return only_id(told(self.memory.update(fact, text)))

    def search(self, query: str, **which: Any) -> list[Json]:
        return listed(told(self.memory.search(query, **which)), "hits")

    def views(self, what: Any = "fact", **which: Any) -> list[Json]:
        return listed(told(self.memory.list(what, limit=1000, **which)), "items")


class CommandLine(Door):
    def _told(self, *args: str, **more: Any) -> Json:
        answer: Json = Cli(self.shop.served.data).told("-c", self.container, *args, **more)
        return answer

    def say(self, messages: list[Json], conversation: str = "chat") -> list[Json]:
        lines = [json.dumps({"conversation": conversation, **message}) for message in messages]
        counts = self._told("import", "-", input="\n".join(lines))["counts"]
        assert counts["refused"] == counts["bad"] == 0, counts
        states = ["written"] * counts["written"] + ["seen again"] * counts["unchanged"]
        return [{"status": state} for state in states]

    def keep(self, text: str, name: str) -> None:
        self._told("ingest", "-", "--as", name, input=text)

    def remember(self, text: str, **more: str) -> str:
        return only_id(self._told("remember", text, *options(more)))

    def reword(self, fact: str, text: str) -> str:
        return only_id(self._told("update", fact, text))

    def search(self, query: str, **which: str) -> list[Json]:
        return listed(self._told("search", *options(which), "--", query), "hits")

    def views(self, what: str = "fact", **which: str) -> list[Json]:
        return listed(self._told("list", "--what", what, "--all", *options(which)), "items")


class Rest(Door):
    def say(self, messages: list[Json], conversation: str = "chat") -> list[Json]:
        body = {"messages": messages, "conversation": conversation}
        return listed(told(self.api.write("POST", "/v1/messages", body)), "items")

    def keep(self, text: str, name: str) -> None:
        self.api.write("POST", "/v1/documents", {"id": name, "text": text})

    def remember(self, text: str, **more: str) -> str:
        return self.api.fact(text, **more)

    def reword(self, fact: str, text: str) -> str:
        written = self.api.write("PATCH", f"/v1/facts/{fact}", {"text": text})
        return only_id(told(written))

    def search(self, query: str, **which: str) -> list[Json]:
        return listed(told(self.api.read("/v1/search", r.Found, query=query, **which)), "hits")

    def views(self, what: str = "fact", **which: str) -> list[Json]:
        return listed(told(self.api.read(f"/v1/{what}s", r.Page, limit=1000, **which)), "items")


class Agent:
    """The tools that an agent has over MCP; `ask` gives the result of a call by name."""

    def __init__(self, ask: Callable[[str, Json], Json]) -> None:
        self.ask = ask

    def call(self, name: str, **arguments: Any) -> Json:
        """The structured content of a tool's answer, which must not be an error."""
        result = self.ask(name, arguments)
        assert result["isError"] is False, result["content"][0]["text"][:500]
        content: Json = result["structuredContent"]
        return content

    def refused(self, name: str, **arguments: Any) -> str:
        """The one line that a tool answers an error with."""
        result = self.ask(name, arguments)
        assert result["isError"] is True and "structuredContent" not in result, str(result)[:500]
        (block,) = result["content"]
        text: str = block["text"]
        assert text and "\n" not in text and "internal error" not in text, text[:500]
        text.encode()
        return text

    def remember(self, text: str, **more: Any) -> str:
        """A fact's id."""
        return only_id(self.call("remember", text=text, **more))

    def search(self, query: str, **which: Any) -> list[Json]:
        return listed(self.call("search", query=query, **which), "hits")

    def found(self, query: str, **which: Any) -> list[str]:
        return [hit["text"] for hit in self.search(query, **which)]

    def pages(self, limit: int = 1000, **which: Any) -> Iterator[Json]:
        """Page after page of a list, for as long as there is a cursor."""
        more: Json = {}
        while True:
            page = self.call("list", limit=limit, **which, **more)
            yield page
            assert page["has_more"] == (page.get("cursor") is not None), page
            if not page["has_more"]:
                return
            more = {"cursor": page["cursor"]}

    def views(self, **which: Any) -> list[Json]:
        """All items of a list."""
        return [view for page in self.pages(**which) for view in page["items"]]

    def texts(self, **which: Any) -> list[str]:
        return [view["text"] for view in self.views(**which)]


class Tools(Door):
    """It keeps no documents: a text is a message of somebody."""

    @property
    def agent(self) -> Agent:
        return Agent(partial(called, self.shop.memory.link, self.container))

    def say(self, messages: list[Json], conversation: str = "chat") -> list[Json]:
        sent = self.agent.call("add_conversation", messages=messages, conversation=conversation)
        return listed(sent, "items")

    def keep(self, text: str, name: str) -> None:
        self.say([{"content": text}], conversation=name)

    def remember(self, text: str, **more: str) -> str:
        return self.agent.remember(text, **more)

    def reword(self, fact: str, text: str) -> str:
        return self.agent.remember(text, updates=fact)

    def search(self, query: str, **which: str) -> list[Json]:
        return self.agent.search(query, **which)

    def views(self, what: str = "fact", **which: str) -> list[Json]:
        return self.agent.views(what=what, **which)


DOORS: dict[str, type[Door]] = {
    "library": Library,
    "command line": CommandLine,
    "REST": Rest,
    "MCP": Tools,
}


def told(reply: msgspec.Struct) -> Json:
    """A reply as all doors tell it."""
    answer: Json = json.loads(msgspec.json.encode(reply))
    return answer


def listed(answer: Json, name: str) -> list[Json]:
    """A list that an answer holds."""
    found: list[Json] = answer[name]
    return found


def only(items: list[Json]) -> Json:
    """The one item there is, which was taken."""
    (item,) = items
    assert item["status"] != "refused", item
    return item


def only_id(written: Json) -> str:
    """The id of the one item that was sent."""
    found: str = only(written["items"])["id"]
    return found


def options(given: Json) -> list[str]:
    """Fields as options of a command."""
    return [
        word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)
    ]
