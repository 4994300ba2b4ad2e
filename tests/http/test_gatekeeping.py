"""Who may ask: pure rules over headers and addresses, without a server."""

import pytest

from rewound.http.gatekeeping import (
    Authority,
    Doorstep,
    check_bind,
    check_host,
    check_key,
    check_origin,
    check_site,
    doorstep,
    is_known,
    is_loopback,
    only_one,
    split_authority,
)
from rewound.http.problems import Problem

KEY = "correct-horse"


def door(host: str = "127.0.0.1", names: str = "", key: str = "") -> Doorstep:
    return doorstep(host, names, key)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost", Authority("localhost", None)),
        ("LocalHost.:8900", Authority("localhost", 8900)),
        ("127.0.0.1:80", Authority("127.0.0.1", 80)),
        ("[::1]:8900", Authority("::1", 8900)),
        ("[::1]", Authority("::1", None)),
        ("::1", Authority("::1", None)),
        ("", None),
        (":8900", None),
        ("[::1", None),
        ("[::1]8900", None),
        ("a:b", None),
        ("a:70000", None),
        ("127.0.0.1@evil.example", None),
        ("a/b", None),
        ("a b", None),
        ("bücher.example", None),
    ],
)
def test_an_authority_is_read_or_refused(text: str, expected: Authority | None) -> None:
    assert split_authority(text) == expected


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST."]
)
def test_loopback_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.evil.example", "", "127"])
def test_nothing_else_is_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "nas.local"])
def test_listening_beyond_this_machine_wants_a_key_or_a_word(host: str) -> None:
    refusal = check_bind(host, has_key=False, allow_open=False)
    assert refusal is not None
    assert "REWOUND_API_KEY" in refusal and "REWOUND_ALLOW_OPEN" in refusal
    assert check_bind(host, has_key=True, allow_open=False) is None
    assert check_bind(host, has_key=False, allow_open=True) is None


def test_listening_on_this_machine_wants_nothing() -> None:
    assert check_bind("127.0.0.1", has_key=False, allow_open=False) is None
    assert check_bind("::1", has_key=False, allow_open=False) is None


# --- Host


@pytest.mark.parametrize(
    "host",
    ["localhost:8900", "127.0.0.1", "[::1]:8900", "10.1.2.3:8900", "10.9.9.9", "nas:8900",
     "memory.example.com", "MEMORY.example.com:443"],
)  # fmt: skip
def test_a_host_of_ours_is_let_in(host: str) -> None:
    rules = door("10.1.2.3", "memory.example.com, nas:8900")
    assert check_host([host], rules, local="10.9.9.9").host


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "10.0.0.1", "nas", "nas:80",
     "sub.memory.example.com", "", "127.0.0.1, evil.example", "127.0.0.1@evil.example"],
)  # fmt: skip
def test_a_foreign_host_is_refused_and_the_setting_named(host: str) -> None:
    rules = door("10.1.2.3", "memory.example.com, nas:8900")
    with pytest.raises(Problem, match="allowed_hosts") as caught:
        check_host([host], rules, local="10.9.9.9")
    assert (caught.value.code, caught.value.field) == ("forbidden", "host")


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"]])
def test_there_is_exactly_one_host(hosts: list[str]) -> None:
    with pytest.raises(Problem, match="exactly one") as caught:
        check_host(hosts, door(), local=None)
    assert caught.value.code == "forbidden"


def test_an_allowed_host_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a host"):
        door(names="https://memory.example.com/")


# --- Origin

HERE = Authority("localhost", 8900)


@pytest.mark.parametrize(
    "origin",
    [None, "http://localhost:8900", "http://127.0.0.1:8900", "http://[::1]:8900",
     "https://memory.example.com", "https://memory.example.com:8443"],
)  # fmt: skip
def test_own_pages_and_none_may_ask(origin: str | None) -> None:
    check_origin(origin, HERE, door(names="memory.example.com"), local="127.0.0.1")


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://evil.example", "http://localhost:3000", "http://localhost",
     "https://localhost", "file://", "http://localhost:8900.evil.example",
     "http://localhost:8900@evil.example", "ftp://localhost:8900", "localhost:8900",
     "http://evil.example#localhost:8900"],
)  # fmt: skip
def test_foreign_pages_may_not(origin: str) -> None:
    with pytest.raises(Problem, match="allowed_hosts") as caught:
        check_origin(origin, HERE, door(names="memory.example.com"), local="127.0.0.1")
    assert (caught.value.code, caught.value.field) == ("forbidden", "origin")


def test_ports_left_out_are_the_usual_ones() -> None:
    check_origin("http://localhost", Authority("localhost", 80), door(), None)
    with pytest.raises(Problem):
        check_origin("http://localhost:8900", Authority("localhost", 80), door(), None)


@pytest.mark.parametrize("site", ["same-origin", "same-site", "none"])
def test_a_browser_may_ask_for_itself_and_for_own_pages(site: str) -> None:
    check_site([])
    check_site([site])


@pytest.mark.parametrize("sites", [["cross-site"], [" Cross-Site "], ["none", "cross-site"]])
def test_a_browser_may_not_ask_for_another_site(sites: list[str]) -> None:
    with pytest.raises(Problem, match="allowed_hosts") as caught:
        check_site(sites)
    assert (caught.value.code, caught.value.field) == ("forbidden", "sec-fetch-site")


def test_a_header_that_counts_is_given_once() -> None:
    assert only_one([], "origin", "forbidden") is None
    assert only_one(["a"], "origin", "forbidden") == "a"
    with pytest.raises(Problem, match="origin is given 2 times") as caught:
        only_one(["a", "a"], "origin", "forbidden")
    assert (caught.value.code, caught.value.field) == ("forbidden", "origin")


# --- the key


@pytest.mark.parametrize(
    ("authorization", "x_api_key"),
    [
        (f"Bearer {KEY}", None),
        (f"bearer   {KEY} ", None),
        (None, KEY),
        ("Basic abc", KEY),
        ("Bearer wrong", KEY),
    ],
)
def test_a_right_key_opens(authorization: str | None, x_api_key: str | None) -> None:
    rules = door(key=KEY)
    check_key(rules, authorization, x_api_key)
    assert is_known(rules, authorization, x_api_key)


@pytest.mark.parametrize(
    ("authorization", "x_api_key"),
    [
        (None, None),
        ("", ""),
        (KEY, None),
        (f"Basic {KEY}", None),
        ("Bearer", None),
        (f"Bearer {KEY}x", None),
        (f"Bearer {KEY[:-1]}", None),
        (None, KEY.upper()),
        ("Bearer \udcff", "\udcff"),
    ],
)
def test_a_wrong_one_does_not(authorization: str | None, x_api_key: str | None) -> None:
    rules = door(key=KEY)
    assert not is_known(rules, authorization, x_api_key)
    with pytest.raises(Problem, match="Bearer KEY") as caught:
        check_key(rules, authorization, x_api_key)
    assert caught.value.code == "unauthorized"
    assert KEY not in caught.value.message


@pytest.mark.parametrize("blank", [None, "", "  \n"])
def test_a_blank_key_is_none(blank: str | None) -> None:
    rules = doorstep("127.0.0.1", None, blank)
    assert rules.key is None
    check_key(rules, None, None)
