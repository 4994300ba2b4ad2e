"""R26 and R31 for every sort of list, through all doors: conditions before the cut, none left out.

(Facts, altered cursors and lists under writes: test_scale.py, tests/http/test_api_reads.py,
test_mcp.py.)
"""

from collections.abc import Iterator
from typing import Any

import pytest

from rewound.memory import Memory
from rewound.memory import replies as r
from tests.cases.doors import DOORS, Agent, Door, Json, Rest, Shop, Tools
from tests.cases.given import Cli
from tests.http.serving import Api, reply_of, serving

TIME = "2026-03-01T10:00:00Z"
MANY = 1_203


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with pytest.MonkeyPatch.context() as patch, serving(tmp_path_factory.mktemp("lists")) as served:
        patch.setenv("XDG_RUNTIME_DIR", str(served.runtime))
        with served.client() as client, Memory(served.data) as memory:
            yield Shop(served, client, memory)


# --- R31

SORTS = ("fact", "message", "document", "passage")


@pytest.fixture(scope="module")
def filled(shop: Shop) -> str:
    """A container that holds many of each sort, all of one time; its name."""
    memory = shop.memory.container("many")
    numbers = range(MANY)
    memory.remember([{"text": f"Fact {n}.", "said_at": TIME} for n in numbers])
    memory.add_messages([{"content": f"Message {n}.", "time": TIME} for n in numbers])
    memory.ingest([{"text": f"Document {n}.", "said_at": TIME, "id": f"d{n}"} for n in numbers])
    return "many"


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("door", ["command line", "REST", "MCP"])
def test_r31_all_of_each_sort_each_once(shop: Shop, filled: str, door: str, sort: str) -> None:
    ids = [view["id"] for view in every(DOORS[door](shop, filled), sort)]
    assert len(ids) == len(set(ids)) == MANY


def every(door: Door, sort: str) -> Iterator[Json]:
    """All of a sort, page after page; each page says how many there are."""
    if isinstance(door, Tools):
        for page in door.agent.pages(limit=250, what=sort):
            assert (page["total"], page["limit"]) == (MANY, 250)
            yield from page["items"]
    elif isinstance(door, Rest):
        for view in door.api.pages(f"/v1/{sort}s", limit=250):
            yield {"id": view.id}
    else:
        yield from door.views(sort)


@pytest.mark.parametrize("door", ["command line", "REST"])
def test_r31_all_events_each_once(shop: Shop, filled: str, door: str) -> None:
    positions: list[int] = []
    if door == "REST":
        positions = [event.position for event in Api(shop.client, filled).events()]
    next_: int | None = 0 if door == "command line" else None
    while next_ is not None:
        args = ("-c", filled, "log", "--limit", "500", "--since", f"@{next_ + 1}")
        told = Cli(shop.served.data).told(*args)
        positions += [event["position"] for event in told["events"]]
        next_ = told["next"]
    assert positions == list(range(1, len(positions) + 1)) and len(positions) > 3 * MANY


def test_r31_all_containers_each_once(shop: Shop) -> None:
    names = {f"list-{number:03}" for number in range(120)}
    for name in names:
        shop.memory.container(name).remember("A.")
    api = Api(shop.client, "default")

    def page_at(**more: Any) -> r.ContainerList:
        params = {"limit": 50, **more}
        return reply_of(api.send("GET", "/v1/containers", params=params), r.ContainerList)

    page = page_at()
    seen = [each.name for each in page.containers]
    while page.has_more:
        assert len(page.containers) == 50 and page.cursor is not None
        page = page_at(cursor=page.cursor)
        seen += [each.name for each in page.containers]
    assert page.cursor is None
    assert len(seen) == len(set(seen)) == page.total and set(seen) >= names


def test_r31_pending_jobs_are_counted_whatever_the_limit(shop: Shop, filled: str) -> None:
    api = Api(shop.client, filled)
    for limit in (1, 100, 1000):
        told = api.read("/v1/jobs", r.JobList, limit=limit)
        assert len(told.jobs) == limit and told.pending == 2 * MANY, "messages and documents"


def test_r31_every_pending_job_is_on_one_page(shop: Shop, filled: str) -> None:
    api = Api(shop.client, filled)
    page = api.read("/v1/jobs", r.JobList, limit=1000)
    found = [job.source for job in page.jobs]
    while page.has_more:
        page = api.read("/v1/jobs", r.JobList, limit=1000, cursor=page.cursor)
        found += [job.source for job in page.jobs]
    assert len(found) == len(set(found)) == page.total == 2 * MANY


# --- R26

OPS = "Payment service root password rotated."
QUERY = "standup payment service"


@pytest.fixture(scope="module")
def standups(shop: Shop) -> str:
    """500 of each sort that fit the question better than the one that passes the conditions."""
    memory = shop.memory.container("standups")
    texts = [f"Weekly standup about the payment service, item {n}." for n in range(500)]
    then, ops = "2026-02-01", {"tags": ["ops"]}
    when = "2025-01-02"
    memory.remember([{"text": text, "said_at": then} for text in texts])
    memory.remember(OPS, said_at=when, tags=["ops"])
    messages: list[Json] = [{"content": text, "time": then} for text in texts]
    memory.add_messages([*messages, {"content": OPS, "time": when, **ops}], infer=True)
    memory.ingest([{"text": text, "said_at": then} for text in texts])
    memory.ingest(OPS, said_at=when, tags=["ops"])
    return "standups"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("days", [False, True], ids=["tag", "days"])
def test_r26_conditions_are_met_before_the_cut(
    shop: Shop, standups: str, door: str, days: bool
) -> None:
    """The fact, the message and the passage all say the same; at least one of them leads."""
    asked = DOORS[door](shop, standups)
    tag = "tag" if door == "command line" else "tags"
    which: Json = {tag: ["ops"] if door in ("library", "MCP") else "ops"}
    if days:
        which = {"since": "2025-01-01", "until": "2025-01-03"}
    hits = asked.search(QUERY, **which)
    assert {hit["text"] for hit in hits} == {OPS}
    named = {hit["kind"] for hit in hits}
    named |= {item.split("_")[0] for hit in hits for item in hit.get("also", ())}
    assert len(hits) + sum(len(hit.get("also", ())) for hit in hits) == 3, named
    for sort in ("fact", "message", "passage"):
        assert [view["text"].strip() for view in asked.views(sort, **which)] == [OPS], sort


def test_r26_one_sort_is_a_condition_too(shop: Shop, standups: str) -> None:
    agent: Agent = Tools(shop, standups).agent
    for sort in ("fact", "message", "passage"):
        (hit,) = agent.search(QUERY, limit=1, what=[sort], tags=["ops"])
        assert (hit["kind"], hit["text"].strip()) == (sort, OPS)
        others = agent.search(QUERY, limit=300, what=[sort], since="2026-01-01")
        assert len(others) == 300 and {hit["kind"] for hit in others} == {sort}
