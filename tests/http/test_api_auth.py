"""Who may ask: the key, the Host, the Origin, the address; and no secret or text in any log."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rewound.memory import replies as r
from tests import loaded
from tests.http.serving import (
    Api,
    Served,
    check_headers,
    environment,
    error_of,
    host_of,
    reply_of,
    serving,
)

KEY = "SRV-CANARY-123"
BEARER = {"authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a key."""
    with serving(tmp_path_factory.mktemp("locked"), REWOUND_API_KEY=KEY) as started:
        yield started


@pytest.fixture(scope="module")
def stranger(locked: Served) -> Iterator[httpx.Client]:
    """A client without the key."""
    with locked.client() as opened:
        yield opened


@pytest.fixture(scope="module")
def holder(locked: Served) -> Iterator[httpx.Client]:
    with locked.client(headers=BEARER) as opened:
        yield opened


# --- the key

ASKED = [
    ("GET", "/v1/facts"),
    ("POST", "/v1/facts"),
    ("DELETE", "/v1/facts/fact_x"),
    ("POST", "/v1/search"),
    ("GET", "/v1/events"),
    ("POST", "/v1/erase"),
    ("PUT", "/v1/containers/a"),
    ("POST", "/v1/verify"),
    ("GET", "/metrics"),
    ("GET", "/v1/nothing"),
    ("PATCH", "/v1/facts"),
]


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_without_the_key_nothing_is_answered(
    stranger: httpx.Client, method: str, path: str
) -> None:
    bad: list[dict[str, Any]] = [
        {}, {"authorization": ""}, {"authorization": KEY}, {"authorization": f"Basic {KEY}"},
        {"authorization": "Bearer"}, {"x-api-key": ""},
        {"authorization": f"Bearer {KEY}x"}, {"authorization": f"Bearer {KEY[:-1]}"},
        {"authorization": f"Bearer {KEY.lower()}"}, {"x-api-key": "wrong"},
        {"x-api-key": KEY[:-1]}, {"cookie": f"api_key={KEY}"},
        {"authorization": "Bearer ü".encode()},
    ]  # fmt: skip
    for headers in bad:
        response = stranger.request(method, path, headers=headers, content=b'{"text": "A."}')
        check_headers(response)
        error = error_of(response)
        assert (response.status_code, error["code"]) == (401, "unauthorized"), (headers, error)
        assert KEY not in response.text
        assert "bearer" in response.headers.get("www-authenticate", "").lower()


@pytest.mark.parametrize(
    "target",
    [
        "//v1/facts", "/v1//facts", "/v1/./facts", "/health/../v1/facts", "/docs/../v1/facts",
        "/V1/FACTS", "/v1/facts/", "/v1/facts;x", "/v1%2ffacts", "/%76%31/facts", "/health/x",
        "http://127.0.0.1/v1/facts", "/health%2f..%2fv1/facts", "/openapi.json/../v1/facts",
        "*", "/v1/facts#health", "/v1/facts?/health", "/docs%00/../v1/facts",
    ],
)  # fmt: skip
def test_no_spelling_of_an_address_gets_past_the_key(
    locked: Served, holder: httpx.Client, target: str
) -> None:
    holder.post("/v1/facts", json={"text": "The secret is a marmot."})
    head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    answer = locked.raw(head.encode())
    assert 400 <= int(answer.split()[1]) < 500 and b"marmot" not in answer, answer[:300]


@pytest.mark.parametrize(
    "headers",
    [BEARER, {"x-api-key": KEY}, {"authorization": f"bearer {KEY}"}],
    ids=["bearer", "x-api-key", "lower case"],
)
def test_with_the_key_all_is_answered(stranger: httpx.Client, headers: dict[str, str]) -> None:
    sent = stranger.post("/v1/facts", json={"text": "A fact."}, headers=headers)
    assert reply_of(sent, r.Written).items
    assert reply_of(stranger.get("/v1/facts", headers=headers), r.Page).total >= 1
    assert stranger.get("/metrics", headers=headers).status_code == 200


def test_only_the_word_of_its_health_is_told_to_strangers(
    stranger: httpx.Client, holder: httpx.Client
) -> None:
    told = stranger.get("/health")
    assert told.status_code == 200 and set(told.json()) == {"status"}
    assert set(holder.get("/health").json()) == {"status", "parts"}
    wrong = stranger.get("/health", headers={"authorization": "Bearer nope"})
    assert wrong.status_code == 401 or set(wrong.json()) == {"status"}


@pytest.mark.parametrize("name", ["api_key", "apikey", "access_token", "token", "x-api-key"])
@pytest.mark.parametrize("headers", [{}, BEARER], ids=["alone", "besides the header"])
def test_r38_a_key_in_the_query_string_is_refused(
    stranger: httpx.Client, name: str, headers: dict[str, str]
) -> None:
    for path in ("/v1/facts", "/health", "/metrics", "/v1/search"):
        response = stranger.get(path, params={name: KEY}, headers=headers)
        if path == "/health" and response.is_success:
            assert headers or set(response.json()) == {"status"}, "nothing was had by it"
            continue
        error = error_of(response)
        assert response.status_code in (400, 401), (path, error)
        assert KEY not in response.text and (name in error["message"] or not headers)


# --- R35: the Host


FOREIGN = [
    "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "[::2]",
    "127.0.0.1@evil.example", "10.0.0.1", "", "evil.example, 127.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("host", FOREIGN)
def test_r35_a_foreign_host_is_refused(api: Api, host: str) -> None:
    for method, path in (
        ("GET", "/v1/facts"),
        ("POST", "/v1/facts"),
        ("GET", "/health"),
        ("GET", "/"),
    ):
        body = {"text": "Not kept.", "container": api.container} if method == "POST" else None
        response = api.send(method, path, body, headers={"host": host})
        error = error_of(response)
        assert (response.status_code, error["code"]) == (403, "forbidden") or (
            host in ("", "127.0.0.1@evil.example", "evil.example, 127.0.0.1")
            and response.status_code == 400
        ), (host, response.text)
        assert response.status_code == 400 or "allowed_hosts" in error["message"].lower(), error
    api.refused(404, "not_found", "GET", "/v1/facts", params={"container": api.container})


def test_r35_a_request_without_a_host_is_refused(served: Served) -> None:
    answer = served.raw(b"GET /v1/facts HTTP/1.0\r\n\r\n")
    assert int(answer.split()[1]) in (400, 403), answer[:300]


def test_r35_two_hosts_are_refused(served: Served) -> None:
    head = b"GET /v1/containers HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n"
    answer = served.raw(head + b"Connection: close\r\n\r\n")
    assert int(answer.split()[1]) in (400, 403), answer[:300]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
@pytest.mark.parametrize("with_port", [True, False])
def test_r35_the_own_names_are_answered(
    api: Api, served: Served, host: str, with_port: bool
) -> None:
    host = f"{host}:{served.port()}" if with_port else host
    assert api.send("GET", "/v1/containers", headers={"host": host}).status_code == 200


def test_r35_x_forwarded_host_is_never_trusted(api: Api) -> None:
    for headers in (
        {"host": "evil.example", "x-forwarded-host": "127.0.0.1"},
        {"host": "evil.example", "forwarded": "host=127.0.0.1"},
        {"host": "evil.example", "x-host": "localhost", "x-original-host": "localhost"},
    ):
        api.refused(403, "forbidden", "GET", "/v1/containers", headers=headers)
    headers = {"x-forwarded-host": "evil.example"}
    assert api.send("GET", "/v1/containers", headers=headers).status_code == 200


# --- R35: the Origin


ORIGINS = [
    "https://evil.example", "http://evil.example", "null", "http://127.0.0.1.evil.example",
    "http://localhost.evil.example:8900", "file://", "https://user@evil.example",
]  # fmt: skip


@pytest.mark.parametrize("origin", ORIGINS)
def test_r35_a_foreign_origin_gets_nothing(api: Api, origin: str) -> None:
    body = {"text": "Not kept.", "container": api.container}
    for method, path, sent in (
        ("GET", "/v1/containers", None),
        ("POST", "/v1/facts", body),
        ("POST", "/v1/search", {"query": "a"}),
        ("DELETE", "/v1/facts/x", None),
        ("POST", "/v4/memories", {"memories": [{"content": "A."}], "containerTag": "a"}),
        ("GET", "/openapi.json", None),
        ("GET", "/health", None),
    ):
        response = api.client.request(method, path, json=sent, headers={"origin": origin})
        check_headers(response)
        assert response.status_code == 403, (path, response.text)
        no_grant(response)
    api.refused(404, "not_found", "GET", "/v1/facts", params={"container": api.container})


CROSS_SITE = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}


def test_r35_what_a_browser_asks_for_another_site_is_refused(api: Api) -> None:
    """An image of a foreign page has no Origin, and could cost the store time."""
    for path in ("/v1/search?query=a", "/v1/facts", "/health", "/metrics", "/docs"):
        api.refused(403, "forbidden", "GET", path, field="sec-fetch-site", headers=CROSS_SITE)
    body = {"text": "Not kept.", "container": api.container}
    api.refused(403, "forbidden", "POST", "/v1/facts", body, headers=CROSS_SITE)
    for site in ("same-origin", "same-site", "none"):
        headers = {"sec-fetch-site": site}
        assert api.send("GET", "/v1/containers", headers=headers).status_code == 200


def test_r35_a_page_of_an_allowed_host_may_ask_across_sites(tmp_path: Path) -> None:
    with serving(tmp_path, REWOUND_ALLOWED_HOSTS="mem.example") as started:
        with started.client() as client:
            headers = {**CROSS_SITE, "origin": "https://mem.example"}
            assert client.get("/v1/containers", headers=headers).status_code == 200
            headers["origin"] = "https://evil.example"
            assert client.get("/v1/containers", headers=headers).status_code == 403


@pytest.mark.parametrize(
    ("name", "status"), [("origin", 403), ("Origin", 403), ("Idempotency-Key", 400)]
)
def test_a_header_that_counts_may_not_be_repeated(
    served: Served, api: Api, name: str, status: int
) -> None:
    body = json.dumps({"text": "Not kept.", "container": api.container})
    own = f"http://127.0.0.1:{served.port()}"
    for second in (own, "https://evil.example"):
        head = f"POST /v1/facts HTTP/1.1\r\nHost: 127.0.0.1:{served.port()}\r\n"
        head += f"{name}: {own}\r\n{name.lower()}: {second}\r\n"
        head += f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        answer = served.raw((head + body).encode())
        assert int(answer.split()[1]) == status, answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["field"] == name.lower()
    api.refused(404, "not_found", "GET", "/v1/facts", params={"container": api.container})


def no_grant(response: httpx.Response) -> None:
    granted = [name for name in response.headers if name.startswith("access-control-allow")]
    assert not granted, response.headers


def test_r35_the_own_origin_is_answered(api: Api, served: Served) -> None:
    for host in (f"127.0.0.1:{served.port()}", f"localhost:{served.port()}"):
        headers = {"host": host, "origin": f"http://{host}"}
        response = api.send("POST", "/v1/search", {"query": "a"}, headers=headers)
        assert response.status_code in (200, 404), response.text
        body = {"container": api.container, "text": f"From a page of {host}."}
        assert api.send("POST", "/v1/facts", body, headers=headers).is_success


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_r35_a_preflight_grants_nothing(api: Api, origin: str) -> None:
    for path in ("/v1/facts", "/v1/search", "/v4/memories", "/v1/nothing"):
        headers = {
            "origin": origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type,authorization",
        }
        response = api.client.options(path, headers=headers)
        assert 400 <= response.status_code < 500, response.status_code
        no_grant(response)


SIMPLE = ["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=x", "TEXT/PLAIN"]  # fmt: skip


@pytest.mark.parametrize("kind", SIMPLE)
def test_r35_a_simple_cross_site_post_changes_nothing(api: Api, served: Served, kind: str) -> None:
    content = json.dumps({"text": "Not kept.", "container": api.container})
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{served.port()}"):
        headers = {"content-type": kind, "origin": origin}
        response = api.send("POST", "/v1/facts", content=content, headers=headers)
        assert 400 <= response.status_code < 500, (origin, response.text)
        no_grant(response)
    api.refused(404, "not_found", "GET", "/v1/facts", params={"container": api.container})


@pytest.mark.parametrize("kind", [None, "application/x-www-form-urlencoded", "application/json"])
def test_r35_a_plain_curl_works(api: Api, kind: str | None) -> None:
    """`curl -d '{…}'` names a form type, and no Origin."""
    content = json.dumps({"text": "From curl.", "container": api.container}).encode()
    headers = {"content-type": kind} if kind else {}
    sent = api.send("POST", "/v1/facts", content=content, headers=headers)
    assert reply_of(sent, r.Written).items[0].status == "written"
    assert [view.text for view in api.facts()] == ["From curl."]


@pytest.mark.parametrize(
    "kind", ["image/png", "application/xml", "application/json; charset=latin-1"]
)
def test_a_body_of_another_type_is_never_an_error_of_ours(api: Api, kind: str) -> None:
    headers = {"content-type": kind}
    response = api.send("POST", "/v1/search", content=b'{"query": "a"}', headers=headers)
    assert response.status_code in (200, 400, 404, 415), response.text


# --- R35: the address


@pytest.mark.parametrize("key", [None, "", "   ", "\t"], ids=repr)
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_r35_an_open_address_without_a_key_is_refused(
    tmp_path: Path, key: str | None, host: str
) -> None:
    settings = {} if key is None else {"REWOUND_API_KEY": key}
    with Served(tmp_path, "--host", host, settings=settings) as refused:
        assert refused.ended() not in (0, None)
        said = refused.printed
    assert "REWOUND_API_KEY" in said and "REWOUND_ALLOW_OPEN" in said, said
    assert "Traceback" not in said and len(said.splitlines()) <= 5, said


def test_r35_an_open_address_by_the_setting_and_with_a_key(tmp_path: Path) -> None:
    settings = [{"REWOUND_ALLOW_OPEN": "1"}, {"REWOUND_API_KEY": KEY}]
    for number, setting in enumerate(settings):
        folder = tmp_path / str(number)
        folder.mkdir()
        with serving(folder, "--host", "0.0.0.0", **setting) as opened:
            with opened.client() as client:
                status = client.get("/v1/containers").status_code
                assert status == (401 if "REWOUND_API_KEY" in setting else 200)
                foreign = client.get("/v1/containers", headers={"host": "evil.example", **BEARER})
                assert foreign.status_code == 403
            assert KEY not in opened.printed


@pytest.mark.parametrize("key", ["", "  ", "\t"], ids=repr)
def test_r35_a_blank_key_is_none(tmp_path: Path, key: str) -> None:
    with serving(tmp_path, REWOUND_API_KEY=key) as started, started.client() as client:
        assert client.get("/v1/containers").status_code == 200
        assert set(client.get("/health").json()) == {"status", "parts"}


def test_r35_an_allowed_host_works_everywhere(tmp_path: Path) -> None:
    with serving(tmp_path, REWOUND_ALLOWED_HOSTS="mem.example") as started:
        with started.client() as client:
            for host in ("mem.example", "mem.example:443", "MEM.example", host_of(started.url)):
                for path in ("/v1/containers", "/health", "/docs", "/openapi.json"):
                    assert client.get(path, headers={"host": host}).status_code == 200, (host, path)
            for host in ("xmem.example", "mem.example.evil", "sub.mem.example", "evil.example"):
                assert client.get("/health", headers={"host": host}).status_code == 403, host
            headers = {"host": "mem.example", "origin": "https://mem.example"}
            sent = client.post("/v1/facts", json={"text": "By a proxy."}, headers=headers)
            assert sent.is_success, sent.text
            headers["origin"] = "https://evil.example"
            assert client.post("/v1/facts", json={"text": "B."}, headers=headers).status_code == 403


@pytest.mark.parametrize(
    ("args", "settings", "said"),
    [
        (("--host", "no such host"), {}, "host"),
        ((), {"REWOUND_PORT": "70000"}, "port"),
        ((), {"REWOUND_MAX_BODY_MB": "0"}, "max_body_mb"),
        ((), {"REWOUND_MAX_BODY_MB": "many"}, "max_body_mb"),
        ((), {"REWOUND_ALLOW_OPEN": "perhaps"}, "allow_open"),
    ],
)
def test_a_setting_that_cannot_be_is_told(
    tmp_path: Path, args: tuple[str, ...], settings: dict[str, str], said: str
) -> None:
    with Served(tmp_path, *args, settings=settings) as refused:
        assert refused.ended() != 0
        assert said in refused.printed.lower() and "Traceback" not in refused.printed


def test_a_port_that_is_taken_is_told(served: Served, tmp_path: Path) -> None:
    with Served(tmp_path, port=served.port()) as second:
        assert second.ended() != 0
        assert str(served.port()) in second.printed and "Traceback" not in second.printed


# --- R38


CANARIES = ("CANARY", "QUOKKA")


def test_r38_no_secret_and_no_text_is_logged(tmp_path: Path) -> None:
    settings = {"REWOUND_API_KEY": KEY, "REWOUND_LOG_LEVEL": "debug", "REWOUND_DEBUG": "1"}
    with serving(tmp_path, **settings) as started, started.client() as client:
        told = rounds(client)
        for path in ("/health", "/metrics", "/openapi.json", "/docs", "/"):
            for headers in ({}, BEARER):
                told.append(client.get(path, headers=headers).text)
        raw = [
            f"GET /v1/facts?api_key={KEY} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
            f"GET /{KEY} FTP/9\r\n\r\n",
            f"{KEY}\r\n\r\n",
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {KEY}\r\nBad {KEY}\r\n\r\n",
            f"POST /v1/facts HTTP/1.1\r\nHost: {KEY}\r\nContent-Length: x{KEY}\r\n\r\n",
        ]
        for request in raw:
            told.append(started.raw(request.encode()).decode())
    for text in told:
        assert not [canary for canary in CANARIES if canary in text], text[:1000]
    for canary in CANARIES:
        assert canary not in started.printed, started.printed
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file
            if not file.is_relative_to(started.data):
                assert b"QUOKKA" not in file.read_bytes(), file


def rounds(client: httpx.Client) -> list[str]:
    """Good and bad calls of every sort that hold the key or a text; what the bad ones answered."""
    good = client.post("/v1/facts", json={"text": "The PIN is QUOKKA-7."}, headers=BEARER)
    assert good.is_success
    found = client.post("/v1/search", json={"query": "QUOKKA"}, headers=BEARER)
    assert len(found.json()["hits"]) == 1
    client.get("/v1/search", params={"query": "QUOKKA"}, headers=BEARER)
    for path in (f"/v1/{KEY}", f"/{KEY}/x", f"/v1/facts/{KEY}", f"/v1/containers/{KEY}"):
        client.get(path, headers=BEARER)
    fact = good.json()["items"][0]["id"]
    bad: list[tuple[str, str, Any, dict[str, Any]]] = [
        ("POST", "/v1/facts", BEARER, {"content": f'{{"text": "QUOKKA {KEY}'}),
        ("POST", "/v1/facts", BEARER, {"content": f'{KEY} {{"text": "QUOKKA"}}'}),
        ("POST", "/v1/facts", BEARER, {"content": b'{"text": "QUOKKA \xff"}'}),
        ("POST", "/v1/facts", BEARER, {"json": {"text": "QUOKKA \0"}}),
        ("POST", "/v1/facts", BEARER, {"json": {"text": "QUOKKA " * 2_000}}),
        ("POST", "/v1/facts", BEARER, {"json": {"text": ["QUOKKA", KEY]}}),
        ("POST", "/v1/facts", BEARER, {"json": {"text": "A.", "tags": "QUOKKA"}}),
        ("POST", "/v1/facts", BEARER, {"json": {"text": "A.", "metadata": "QUOKKA"}}),
        ("POST", "/v1/undo", BEARER, {"json": {"id": fact, "key": KEY}}),
        ("PATCH", f"/v1/facts/{fact}", BEARER, {"json": {"text": " ", "reason": "QUOKKA"}}),
        ("GET", "/v1/facts", {}, {}),
        ("GET", "/v1/facts", {"authorization": f"Bearer {KEY}x"}, {}),
        ("GET", "/v1/facts", {"authorization": f"Digest {KEY}"}, {}),
        ("GET", "/v1/facts", {"x-api-key": f"{KEY}-"}, {"params": {"api_key": KEY}}),
        ("GET", "/v1/facts", {}, {"params": {"api_key": KEY}}),
        ("GET", "/v1/facts", BEARER, {"params": {"token": KEY}}),
        ("GET", "/v1/facts", {"host": "evil.example", **BEARER}, {}),
        ("GET", "/v1/facts", {"origin": "https://evil.example", **BEARER}, {}),
        ("GET", "/metrics", {"authorization": f"Bearer wrong-{KEY}"}, {}),
    ]
    told = []
    for method, path, headers, more in bad:
        response = client.request(method, path, headers=headers, **more)
        assert response.status_code < 500, (method, path, response.text)
        told.append(response.text)
    return told


def test_r38_the_command_that_shows_settings_hides_the_key(tmp_path: Path) -> None:
    settings = environment(tmp_path, tmp_path) | {"REWOUND_API_KEY": KEY}
    for args in (("config",), ("--json", "config"), ("serve", "--help")):
        done = loaded.run(
            [sys.executable, "-m", "rewound.http", *args],
            env=settings,
            cwd=tmp_path,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert KEY.encode() not in done.stdout + done.stderr
    done = loaded.run(
        [sys.executable, "-m", "rewound.http", "serve", "--port", "abc"],
        env=settings,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode != 0 and KEY.encode() not in done.stdout + done.stderr
