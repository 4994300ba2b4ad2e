"""R19, R20 and R22 through REST, the command line and the library, beside working workers."""

from collections.abc import Iterator
from typing import Any

import pytest

from rewound.memory import replies as r
from tests.cases.doors import Json, Shop, open_shop
from tests.cases.given import EVERYTHING, holding
from tests.cases.taking_back import CORRECTING, Correcting, CorrectingRest, Refused
from tests.http.serving import Api, error_of

GYM = "Gym code 4471"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A server with the extractor and the judge that it has by default, and small vectors."""
    settings = {"REWOUND_EMBEDDER": "hashing", "REWOUND_EXTRACTOR": "", "REWOUND_JUDGE": ""}
    with open_shop(tmp_path_factory.mktemp("forget"), **settings) as shop:
        yield shop


@pytest.fixture(params=CORRECTING)
def door(request: pytest.FixtureRequest, shop: Shop) -> Correcting:
    """Each door, in an empty container."""
    return CORRECTING[request.param](shop)


# --- R19


def test_r19_every_step_has_one_result(door: Correcting) -> None:
    first = door.add(GYM)
    assert first["status"] == "written"
    assert door.forget(first["id"])["count"] == 1 and door.found("gym code") == []
    second = door.add(GYM)
    assert second["status"] == "written" and second["id"] != first["id"]
    assert door.found("gym code") == [GYM]
    (event,) = door.forget(second["id"])["events"]
    assert door.found("gym code") == []
    # one undo takes back the forgetting, a second one of it is refused and changes nothing
    undone = door.undo(event)
    assert undone["dropped"] == [event] and door.found("gym code") == [GYM]
    with pytest.raises(Refused) as refused:
        door.undo(event)
    assert refused.value.code == "already_undone" and door.found("gym code") == [GYM]
    # an undo of the undo, and one of that
    assert door.undo(undone["event"])["returned"] == [event] and door.found("gym code") == []
    with pytest.raises(Refused) as again:
        door.forget(second["id"])
    assert again.value.code == "conflict"
    third, fourth = door.add(GYM), door.add(GYM)
    assert (third["status"], fourth["status"]) == ("written", "seen again")
    assert fourth["id"] == third["id"] and door.found("gym code") == [GYM]
    lives = [first["id"], second["id"], third["id"]]
    assert len(set(lives)) == 3
    for life in lives:
        history = door.api.read(f"/v1/facts/{life}/history", r.Versions, include_forgotten=True)
        types = [told.type for told in history.events]
        assert types[0] == "fact remembered" and types.count("fact remembered") == 1
        assert ("forgotten" in types) == (life != third["id"])
    # what was stored anew can be taken back too: what was forgotten before stays so
    door.undo(fourth["event"])
    door.undo(third["event"])
    assert door.found("gym code") == []
    assert door.restore(second["id"])["count"] == 1 and door.found("gym code") == [GYM]


def test_r19_a_whole_forgetting_comes_back_by_its_group(door: Correcting) -> None:
    for text in (GYM, "Gym locker 12"):
        door.add(text)
    forgot = door.forget(what="fact")
    assert forgot["count"] == len(forgot["events"]) == 2 and door.found("gym") == []
    assert door.restore(forgot["group"])["count"] == 2
    with pytest.raises(Refused) as refused:
        door.restore(forgot["group"])
    assert refused.value.code == "conflict"
    assert sorted(door.found("gym")) == [GYM, "Gym locker 12"]


def test_r19_by_the_very_text(door: Correcting) -> None:
    first = door.add(GYM)
    assert [item["id"] for item in door.forget(text=GYM + "\n")["items"]] == [first["id"]]
    with pytest.raises(Refused) as refused:
        door.forget(text=GYM)
    assert (refused.value.code, refused.value.field) == ("not_found", "text")
    second = door.add(GYM)
    assert [item["id"] for item in door.forget(text=GYM)["items"]] == [second["id"]]
    assert door.found("gym") == []


def test_r19_what_is_similar_is_looked_at_first(door: Correcting) -> None:
    item = door.add("Nina keeps bees on the roof")
    door.add("The invoice is due on Friday")
    door.shop.settle()
    asked = "bees that Nina keeps"
    look = door.forget(similar=asked)
    assert look["dry_run"] and look["items"][0]["id"] == item["id"]
    scores = [each["score"] for each in look["items"]]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0
    assert door.found("bees")
    with pytest.raises(Refused) as unseen:
        door.forget(similar=asked, dry_run=False)
    assert (unseen.value.code, unseen.value.field) == ("invalid_input", "batch")
    door.add("Nina keeps bees at home")
    door.shop.settle()
    with pytest.raises(Refused) as changed:
        door.forget(similar=asked, batch=look["batch"], dry_run=False)
    assert (changed.value.code, changed.value.field) == ("stale", "batch")
    look = door.forget(similar=asked, limit=2)
    assert any("limit of 2" in note for note in look["notes"])
    done = door.forget(similar=asked, limit=2, batch=look["batch"], dry_run=False)
    assert done["items"] == look["items"] and not done["dry_run"]
    assert door.found("bees Nina invoice") == ["The invoice is due on Friday"]


# --- R20

EMPTY: dict[str, Json] = {
    "no field": {},
    "empty filters": {"filters": {}},
    "no filters": {"filters": None},
    "nothing in the filters": {"filters": {"tags": [], "what": [], "metadata": {}, "scope": {}}},
    "misspelt filter": {"filters": {"spce": "A"}},
    "misspelt field": {"spce": "A", "filters": {"what": ["fact"]}},
    "container in the filters": {"filters": {"container": "A"}},
    "blank container": {"container": "", "filters": {"what": ["fact"]}},
    "container null": {"container": None, "filters": {"what": ["fact"]}},
    "blank text": {"text": " "},
    "blank likeness": {"similar": "", "dry_run": False, "batch": "x"},
    "a text and empty filters": {"text": "Ana likes tea.", "filters": {}},
    "a batch of nothing": {"batch": "0" * 32},
}
UNKNOWN: dict[str, Json] = {
    "a tag nobody has": {"filters": {"tags": ["nobody"]}},
    "a text nobody wrote": {"text": "Ana likes"},
    "a source there is not": {"filters": {"source": "elsewhere"}},
    "another container's item": {"ids": ["the other's"]},
    "a container there is not": {"container": "nowhere", "filters": {"what": ["fact"]}},
}


@pytest.fixture(scope="module")
def pair(shop: Shop) -> tuple[Api, Api, str]:
    """Two containers, and the id of a fact in the second. What is refused changes nothing there."""
    one, other = CorrectingRest(shop), CorrectingRest(shop)
    for each, name in ((one, "Ana"), (other, "Ben")):
        each.add(f"{name} likes tea.")
        each.keep(f"{name} wrote this page.", "page")
        each.say([{"content": f"{name} said so."}])
    shop.settle()
    return one.api, other.api, other.views()[0]["id"]


def everything(api: Api) -> list[bytes]:
    """All that a container answers, byte for byte."""
    paths = ["/v1/events", "/v1/diff?start=@0", *(f"/v1/{what}s" for what in EVERYTHING)]
    given = {"container": api.container, "limit": "1000"}
    return [
        api.client.get(path.partition("?")[0], params=given | _query(path)).content
        for path in paths
    ]


def _query(path: str) -> dict[str, str]:
    name, _, value = path.partition("?")[2].partition("=")
    return {"start": value} if name else {}


@pytest.mark.parametrize("name", [*EMPTY, *UNKNOWN])
def test_r20_nothing_named_is_refused(pair: tuple[Api, Api, str], name: str) -> None:
    one, other, theirs = pair
    before = everything(one), everything(other)
    body = EMPTY.get(name) or UNKNOWN.get(name) or {}
    body = {"ids": [theirs]} if "ids" in body else body
    response = one.send("POST", "/v1/forget", {"container": one.container, **body})
    error = error_of(response)
    told = (400, "invalid_input") if name in EMPTY else (404, "not_found")
    assert (response.status_code, error["code"]) == told, error
    assert error["field"]
    assert (everything(one), everything(other)) == before


def test_r20_only_one_container_is_emptied(door: Correcting) -> None:
    other = type(door)(door.shop)
    for each, name in ((door, "Ana"), (other, "Ben")):
        each.add(f"{name} likes tea.")
        each.say([{"content": f"{name} said so."}])
    door.shop.settle()
    untouched = everything(other.api)
    shown = {view["id"] for what in ("fact", "message") for view in door.views(what)}
    forgot = door.forget(what=["fact", "message"])
    assert forgot["count"] == len(forgot["items"]) == len(shown)
    assert {item["id"] for item in forgot["items"]} == shown
    assert not door.views() and not door.views("message")
    assert everything(other.api) == untouched


# --- R22


def rework(shop: Shop, container: str) -> None:
    """Every job that runs behind, once more."""
    api = Api(shop.client, container)
    shop.settle()
    api.send("POST", "/v1/jobs/retry", {"container": container})
    for path in ("/v1/rebuild", "/v1/reembed"):
        assert api.send("POST", path, {"container": container}).status_code == 200
    shop.settle()


def answers(api: Api) -> dict[str, bytes]:
    """Everything that can be read without asking for what is forgotten."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/v1/search", {"query": "locker PIN"}),
        ("/v1/search", {"query": "locker PIN", "include_superseded": "true"}),
        ("/v1/search", {"query": "locker PIN", "as_of": "@6"}),
        ("/v1/events", {"limit": "1000"}),
        ("/v1/diff", {"start": "@1"}),
        ("/v1/jobs", {}),
        ("/v1/stats", {"store": "true"}),
        *((f"/v1/{what}s", {"include_superseded": "true"} if what == "fact" else {})
          for what in EVERYTHING),
        *((f"/v1/{what}s", {"as_of": "@6"}) for what in EVERYTHING),
    ]  # fmt: skip
    found = {
        f"{path} {more}": api.send("GET", path, params={"container": api.container, **more})
        for path, more in asked
    }
    found["context"] = api.send(
        "POST", "/v1/context", {"container": api.container, "query": "locker PIN"}
    )
    for event in api.events():
        for item in event.items:
            found[item] = api.send(
                "GET", f"/v1/items/{item}/history", params={"container": api.container}
            )
    return {name: response.content for name, response in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fact", "message", "document"])
def test_r22_what_is_forgotten_is_nowhere_and_what_is_erased_in_no_file(
    door: Correcting, how: str
) -> None:
    word = f"QUOKKA{door.container}X"
    pin = f"My locker PIN is 7391-{word}."
    door.say([{"content": "My locker PIN is 1111.", "name": "Nina"}])
    door.shop.settle()
    if how == "fact":
        item = door.add(pin)["id"]
    elif how == "message":
        item = door.say([{"content": pin, "name": "Nina"}], conversation="c2")[0].get("id")
        item = item or next(v["id"] for v in door.views("message") if v["text"] == pin)
    else:
        door.keep(pin, f"{word}.md")
        (item,) = [view["id"] for view in door.views("document") if view["text"].strip() == pin]
    door.shop.settle()
    api, needle = door.api, word.encode()
    fact = next(view["id"] for view in door.views() if word in view["text"])
    assert "facts judged" in [event.type for event in api.events(about=fact)]
    assert [name for name, said in answers(api).items() if needle in said]
    door.forget(item, reason=f"{word} is private")
    for _ in range(2):
        rework(door.shop, door.container)
        assert [name for name, said in answers(api).items() if needle in said] == []
    shown = api.send(
        "GET", f"/v1/items/{item}", params={"container": door.container, "include_forgotten": True}
    )
    assert needle in shown.content
    assert holding(door.shop.served.data, needle)
    erased = door.erase(item)
    assert erased["compaction"] == "done" and erased["bodies"] > 0 and not erased["stands_in"]
    for _ in range(2):
        assert holding(door.shop.served.data, needle, needle.lower()) == []
        assert [name for name, said in answers(api).items() if needle in said] == []
        rework(door.shop, door.container)
    assert word not in door.shop.served.printed
    for again in (door.restore, door.erase):
        with pytest.raises(Refused) as refused:
            again(item)
        assert refused.value.code == "conflict" and "erased" in refused.value.message
    with pytest.raises(Refused) as undone:
        door.undo(erased["event"])
    assert "erase" in undone.value.message.lower()
