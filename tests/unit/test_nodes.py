"""Nodes as settings name them."""

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.llm.nodes import Node, check_names, endpoints_of, nodes_of

KEY = "NODE-CANARY-1"


def test_a_bare_host_has_a_server_for_each_role_at_its_port() -> None:
    (node,) = nodes_of("gpu.lan", None)
    assert node == Node(
        name="gpu.lan",
        urls={
            "embed": "http://gpu.lan:8080",
            "rerank": "http://gpu.lan:8081",
            "chat": "http://gpu.lan:8082",
        },
    )
    assert node.lanes == ("interactive", "background")
    assert [node.name for node in nodes_of("10.0.0.2, [fe80::1]  b", "")] == [
        "10.0.0.2", "[fe80::1]", "b",
    ]  # fmt: skip


def test_an_address_means_chat_unless_its_role_is_named() -> None:
    chat, embed = nodes_of("http://a:9000/v1 embed=https://b/x", None)
    assert (chat.name, chat.urls) == ("a:9000", {"chat": "http://a:9000/v1"})
    assert (embed.name, embed.urls) == ("b/x", {"embed": "https://b/x"})


def test_two_lists_are_two_lanes_and_what_is_in_both_is_shared() -> None:
    lanes = {node.name: node.lanes for node in nodes_of("a b", "b c")}
    assert lanes == {
        "a": ("interactive",), "b": ("interactive", "background"), "c": ("background",),
    }  # fmt: skip
    assert nodes_of(None, "c")[0].lanes == ("background",)
    assert nodes_of(" ", None) == ()


def test_what_is_said_of_one_node_in_several_places_counts_together() -> None:
    (node,) = nodes_of("embed=http://a:1 rerank=http://a:1, http://a:1", None)
    assert node.urls == dict.fromkeys(("embed", "rerank", "chat"), "http://a:1")
    assert [server.roles for server in endpoints_of(node)] == [{"embed", "rerank", "chat"}]
    with pytest.raises(InvalidInput, match="bg_nodes has a:1 for other roles than nodes"):
        nodes_of("embed=http://a:1", "http://a:1")


def test_one_address_of_several_roles_is_one_server() -> None:
    node = Node(
        name="n",
        urls={"chat": "http://a:1/", "decide": "http://a:1", "embed": "http://a:2"},
        key=KEY,
    )
    assert [(server.id, set(server.roles)) for server in endpoints_of(node)] == [
        ("n/embed", {"embed"}), ("n/chat", {"chat", "decide"}),
    ]  # fmt: skip
    assert KEY not in repr(node) and KEY not in repr(endpoints_of(node))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a:8080", "use the name of a machine"), ("http://", "an address such as"),
        ("ftp://a", "an address such as"), ("talk=http://a", "the role before the ="),
        ("chat=a", "an address such as"), ("a/b", "use the name of a machine"),
        (f"http://u:{KEY}@a", "holds a user or a password"), ("a<b", "use the name of a machine"),
        (f"http://u:{KEY}@a:port", "an address such as"),
        (f"{KEY}@a", "use the name of a machine"), (f"talk={KEY}", "the role before the ="),
        (f"http://a?k={KEY}", "an address such as"), (f"a?k={KEY}", "the role before the ="),
        ("http://a:port", "an address such as"), ("[x", "use the name of a machine"),
    ],
)  # fmt: skip
def test_what_names_no_node_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        nodes_of(text, None, ("REWOUND_NODES", "REWOUND_BG_NODES"))
    assert words in caught.value.message and "REWOUND_NODES" in caught.value.message
    assert caught.value.field == "REWOUND_NODES" and KEY not in caught.value.message


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": ""}, "name"), ({"name": 'a"b'}, "name"), ({"urls": {}}, "url"),
        ({"urls": {"chat": "x"}}, "chat of node n"), ({"lanes": ()}, "lanes"),
        ({"slots": 0}, "slots"), ({"key": f"{KEY}\n"}, "the key of node n"),
    ],
)  # fmt: skip
def test_a_node_that_cannot_be(given: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Node(**({"name": "n", "urls": {"chat": "http://a"}} | given))  # type: ignore[arg-type]
    assert caught.value.field == field and KEY not in caught.value.message


def test_a_name_is_given_once() -> None:
    node = Node(name="n", urls={"chat": "http://a"})
    check_names([node])
    with pytest.raises(InvalidInput, match="two nodes are named n"):
        check_names([node, node])
