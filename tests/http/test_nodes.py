"""Model servers as a served store tells of them: listed, changed, in health and in figures."""

from pathlib import Path

from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.link import Link
from rewound.memory.models import NO_MODELS
from tests.http.serving import Api, reply_of, serving
from tests.integration.noding import nodes
from tests.integration.test_dispatching import eventually
from tests.integration.test_nodes_under_load import box, said


def test_a_store_serves_with_its_node_down_and_says_so(tmp_path: Path) -> None:
    with nodes(2) as (server, other):
        server.good = other.good = box
        server.kill()
        settings = {
            "REWOUND_EXTRACTOR": "model",
            "REWOUND_NODES": server.url,
            "REWOUND_ALLOW_NODE_CHANGES": "true",
            "REWOUND_QUIET": "0",
        }
        with serving(tmp_path, **settings) as served, served.client() as client:
            api = Api(client, "a")
            api.send("POST", "/v1/messages", {"messages": [{"content": said("a")[0]}]})
            eventually(lambda: client.get("/health").json()["status"] == "degraded")
            health = client.get("/health").json()
            first, second = health["parts"]["degraded"]
            assert first.endswith(f"(chat at {server.url}) does not answer")
            assert "follow by themselves" in second
            figures = client.get("/metrics").text
            label = f'node="127.0.0.1:{server.port}",role="chat"'
            assert f"rewound_node_up{{{label}}} 0" in figures
            added = reply_of(
                api.send("POST", "/v1/nodes", {"action": "add", "name": "b", "chat": other.url}),
                r.NodeList,
            )
            assert [node.name for node in added.nodes] == [f"127.0.0.1:{server.port}", "b"]
            eventually(lambda: api.send("GET", "/v1/facts").json()["items"])
            told = r'rewound_node_calls_total{node="b",role="chat",lane="background",result="ok"} 1'
            assert told in client.get("/metrics").text
            assert client.get("/v1/nodes").json()["nodes"][1]["addresses"][0]["state"] == "up"
            gone = api.send("POST", "/v1/nodes", {"action": "remove", "name": "nobody"})
            assert gone.status_code == 404 and "the nodes are" in gone.json()["error"]["message"]


def test_whoever_has_the_key_does_not_choose_where_texts_are_sent(tmp_path: Path) -> None:
    """But who has the store's own socket may, as the command line has."""
    with serving(tmp_path) as served, served.client() as client:
        api = Api(client, "a")
        changes = (
            {"action": "add", "name": "theirs", "chat": "http://127.0.0.1:9"},
            {"action": "drain", "name": "theirs"},
            {"action": "remove", "name": "theirs"},
        )
        for change in changes:
            refused = api.send("POST", "/v1/nodes", change)
            error = refused.json()["error"]
            assert (refused.status_code, error["code"]) == (403, "forbidden")
            assert "allow_node_changes" in error["message"] and error["field"] == "action"
        link = Link(served.data, models=NO_MODELS, may_own=False)
        link.call(q.Nodes(action="add", name="ours", chat="http://127.0.0.1:9"))
        link.close()
        listed = reply_of(api.send("POST", "/v1/nodes", {"action": "list"}), r.NodeList)
        assert [node.name for node in listed.nodes] == ["ours"]
