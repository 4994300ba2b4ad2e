"""Vectors are replaced while an owner and a reader answer: each with the model of its snapshot."""

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from tests.http.serving import serving
from tests.http.test_readers import Both, settle
from tests.unit.tiny_graphs import folder

TEXTS = [f"{colours} red" for colours in ("green", "blue", "green blue", "blue green")]
QUIET = {"REWOUND_EXTRACTOR": "none", "REWOUND_JUDGE": "none"}


def asked(client: httpx.Client, query: str) -> Any:
    reply = client.post("/v1/search", json={"container": "s", "query": query, "limit": 100})
    assert reply.status_code == 200, reply.text
    return reply


def meant(reply: httpx.Response) -> bool:
    hits = reply.json()["hits"]
    return len(hits) == len(TEXTS) and all("meaning" in hit["signals"] for hit in hits)


def nearness(reply: httpx.Response) -> list[float]:
    return [hit["signals"]["meaning"] for hit in reply.json()["hits"]]


def test_both_answer_by_meaning_before_meanwhile_and_after(tmp_path: Path) -> None:
    with serving(tmp_path, REWOUND_EMBEDDER="hashing", **QUIET) as served, served.client() as one:
        given = {"container": "s", "facts": [{"text": text} for text in TEXTS]}
        assert one.post("/v1/facts", json=given).status_code == 200
        settle(one)
    onnx = {"REWOUND_EMBEDDER": "onnx", "REWOUND_EMBED_FOLDER": str(folder(tmp_path / "tiny"))}
    with (
        serving(tmp_path, "--workers", "2", **onnx, **QUIET) as served,
        ExitStack() as opened,
        served.client() as watching,
    ):
        both = Both(served, opened)
        before = [asked(client, "red") for client in (both.owner, both.reader)]
        assert before[0].content == before[1].content and meant(before[0])
        assert "hashing/384/1, which goes on" in before[1].json()["notes"][0]
        over, wrong = threading.Event(), list[str]()

        def watch(client: httpx.Client) -> None:
            number = 0
            while not over.wait(0.02):  # the one that makes the vectors works here too
                number += 1
                reply = asked(client, f"red {number}")  # no query's vector is remembered
                if not meant(reply):
                    wrong.append(reply.text)

        clients = [both.reader, watching]
        threads = [threading.Thread(target=watch, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        try:
            begun = both.owner.post("/v1/reembed", json={"container": "s"}).json()
            assert begun["switch"]["old"] == "hashing/384/1"
            settle(both.owner)
            status = both.owner.post("/v1/reembed", json={"action": "status"}).json()
        finally:
            over.set()
            for thread in threads:
                thread.join()
        assert wrong == [] and status.get("switch") is None
        assert status["model"].startswith("onnx/1 tiny/")
        after = [asked(client, "red") for client in (both.owner, both.reader)]
        assert after[0].content == after[1].content and meant(after[0])
        assert not after[1].json().get("notes")
        assert nearness(after[1]) != nearness(before[1])
        both.check()
        assert both.reader.get("/health").json()["status"] == "ok"
