"""R10, R11 and R38 with model servers: replies of every sort, texts beyond what a model reads, and
servers that answer whatever they were told, keys and all."""

import contextlib
import http.server
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rewound.llm.prompting import prompt
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.cases.doors import Shop, open_shop
from tests.cases.given import Cli
from tests.http.serving import Api
from tests.integration.chatting import ChatServer, chatting
from tests.integration.listening import listening

SAID = "My bike is orange."
FACT = "The user's bike is orange"


def fact(quote: str, text: str) -> dict[str, Any]:
    return {
        "quote": quote, "text": text, "kind": "fact", "subject": None, "attribute": None,
        "value": None, "entities": [], "valid_from": None, "valid_to": None, "confidence": 0.9,
    }  # fmt: skip


def bike(told: str) -> Any:
    return {"facts": [fact("My bike is orange", FACT)] if SAID in told else []}


# --- R10

READ = ("ok", "fence", "chatty", "think", "reason", "comma", "array", "nan")
FAILED = ("cut", "budget", "empty", "null", "html")


@pytest.fixture(scope="module")
def stub() -> Iterator[ChatServer]:
    with chatting() as server:
        server.good = bike
        yield server


@pytest.fixture(scope="module")
def shop(stub: ChatServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    settings = {
        "REWOUND_EMBEDDER": "none", "REWOUND_EXTRACTOR": "model", "REWOUND_JUDGE": "none",
        "REWOUND_CHAT_URL": stub.url, "REWOUND_CHAT_MODEL": "toy",
    }  # fmt: skip
    with open_shop(tmp_path_factory.mktemp("r10"), **settings) as opened:
        yield opened


def get(api: Api, path: str, **params: str) -> httpx.Response:
    return api.send("GET", path, params={"container": api.container, **params})


def post(api: Api, path: str, **body: Any) -> Any:
    return api.send("POST", path, {"container": api.container, **body}).json()


def ended(shop: Shop, container: str) -> Api:
    """What becomes of the sentence in a container of its own, once nothing is under way."""
    api = Api(shop.client, container)
    (item,) = post(api, "/v1/messages", messages=[{"content": SAID}])["items"]
    assert item["status"] == "written" and item["pending"], "it is told that more is to come"
    assert api.send("POST", "/v1/workers", {"action": "wait"}).json()["pending"] == 0
    return api


@pytest.mark.parametrize("mode", READ)
def test_r10_a_reply_that_can_be_read_is(shop: Shop, stub: ChatServer, mode: str) -> None:
    stub.mode = mode
    api = ended(shop, f"read-{mode}")
    listed = get(api, "/v1/facts")
    assert [item["text"] for item in listed.json()["items"]] == [FACT]
    whole = listed.text + get(api, "/v1/events").text
    assert "NaN" not in whole and "draft" not in whole
    assert get(api, "/v1/jobs").json()["jobs"] == []


@pytest.mark.parametrize("mode", FAILED)
def test_r10_any_other_is_a_failure_that_shows(shop: Shop, stub: ChatServer, mode: str) -> None:
    stub.mode = mode
    api = ended(shop, f"failed-{mode}")
    (job,) = get(api, "/v1/jobs").json()["jobs"]
    assert (job["state"], job["attempts"]) == ("failed", 1) and job["retry_at"]
    assert job["why"] in ("cut off", "empty reply", "malformed")
    (hit,) = get(api, "/v1/search", query="orange bike").json()["hits"]
    assert hit["text"] == SAID, "it is kept, and found by its words"
    assert get(api, "/v1/facts").json()["items"] == []
    events = get(api, "/v1/events").json()["events"]
    assert "extraction finished" not in {event["type"] for event in events}
    (shown,) = shop.memory.container(api.container).jobs().jobs
    assert shown.state == "failed"
    told = Cli(shop.served.data).told("-c", api.container, "jobs")
    assert told["jobs"][0]["state"] == "failed"


# --- R11


def test_r11_what_is_longer_than_a_model_reads_is_split(tmp_path: Path) -> None:
    """With three hundred memories beside it, and a word without an end. (What a judge is shown at
    once: tests/unit/test_model_judge.py; real servers: tests/llama.)"""
    marks = ("ZX-ALPHA-1", "ZX-MID-2", "ZX-OMEGA-3")
    filler = ["The weather was fine again and nobody said a word about it all day."] * 920
    rooms = ("cellar", "attic", "garage")
    sentences = [f"The code {m} opens the {r}." for m, r in zip(marks, rooms, strict=True)]
    text = " ".join((sentences[0], *filler[:460], sentences[1], *filler[460:], sentences[2]))
    assert len(text.split()) > 12_000
    word = "x7q" * 6_667

    def good(told: str) -> Any:
        return {"facts": [fact(each.rstrip("."), each) for each in sentences if each in told]}

    with chatting() as server:
        server.good, server.context = good, 4096 * 3
        server.props = {"default_generation_settings": {"n_ctx": 4096}}
        models = Models(
            embedder="none", extractor="model", judge="none", chat_url=server.url,
            chat_model="toy",
        )  # fmt: skip
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            memory.remember([f"Zorp{n} likes vint{n}." for n in range(300)])
            memory.ingest(text)
            memory.ingest(word)
            memory.workers("wait", timeout_s=240)
            assert memory.jobs().failed == 0 and not memory.jobs().jobs
            drawn = {item.text for item in memory.list("fact", limit=1000).items}
            for mark, sentence in zip(marks, sentences, strict=True):
                assert mark in memory.search(mark).hits[0].text
                assert sentence.rstrip(".") in drawn
            assert len(memory.list("document").items) == 2
        sizes = [sum(len(part["content"]) for part in one["messages"]) for one in server.asked]
        assert max(sizes) <= 4096 * 3, "nothing that the model cannot read was sent"


# --- R38

KEY = "LLM-CANARY-456"
SECRET = "QUOKKA"


class _Parrot(http.server.BaseHTTPRequestHandler):
    """Looks well, and answers any call with its own words and key in an error."""

    answers: tuple[int, str] = (401, "json")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is printed."""

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # whoever asked has gone
            super().handle()

    def do_GET(self) -> None:
        self._say(200 if self.path == "/health" else 404, json.dumps({"status": "ok"}))

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["content-length"])).decode()
        said = f"{self.headers.get('authorization')} may not ask {asked}"
        status, form = self.answers
        self._say(status, f"<html>{said}</html>" if form == "html" else
                  json.dumps({"error": {"message": said, "code": said}}))  # fmt: skip

    def _say(self, status: int, body: str) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())


def test_r38_whatever_model_servers_answer_no_log_holds_it(tmp_path: Path) -> None:
    with listening(_Parrot) as url:
        settings = {
            "REWOUND_EXTRACTOR": "model", "REWOUND_JUDGE": "model", "REWOUND_REWRITER": "model",
            "REWOUND_RERANKER": "server", "REWOUND_EMBEDDER": "server",
            "REWOUND_EMBED_MODEL": "toy", "REWOUND_NODES": "http://127.0.0.1:9",
            **{f"REWOUND_{role}_URL": url for role in ("CHAT", "EMBED", "RERANK")},
            **{f"REWOUND_{role}_KEY": KEY for role in ("CHAT", "EMBED", "RERANK")},
        }  # fmt: skip
        with open_shop(tmp_path, **settings) as shop:
            told = ""
            for number, answers in enumerate(
                [(401, "json"), (500, "html"), (200, "json"), (503, "json")]
            ):  # fmt: skip
                _Parrot.answers = answers
                told += rounds(Api(shop.client, f"c{number}"))
            config = Cli(shop.served.data).run("config", env=settings).output
            printed = shop.served.printed
            figures = shop.client.get("/metrics").text
    prompts = [prompt(name).system[:40] for name in ("extract.v1", "judge.v1", "rewrite.v1")]
    for canary in (KEY, SECRET, *prompts):
        assert canary not in printed, printed
    assert "failed" in printed, "what failed is logged, without the words"
    assert re.search(r'role="chat[^}]*result="failed"} [1-9]', figures), "no error is a success"
    assert KEY not in told and KEY not in config
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


def rounds(api: Api) -> str:
    """All that makes a call to a model; what the doors tell of it."""
    post(api, "/v1/facts", facts=[{"text": f"The {SECRET} lives in Oslo."}])
    post(api, "/v1/messages", messages=[{"content": f"My {SECRET} is orange."}])
    post(api, "/v1/facts", facts=[{"text": f"The {SECRET} lives in Rome."}])
    api.send("POST", "/v1/workers", {"action": "wait"})
    told = [get(api, "/v1/search", query=f"orange {SECRET}", rerank="true", rewrite="true").text]
    told += [api.send("POST", "/v1/nodes", {"action": "check"}).text]
    told += [get(api, f"/v1/{what}").text for what in ("events", "jobs", "stats")]
    told += [api.client.get(path).text for path in ("/health", "/metrics")]
    return "".join(told)
