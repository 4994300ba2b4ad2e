"""The client of a chat server, against a scripted one on this machine."""

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rewound.eventlog.enums import Why
from rewound.llm.chat import CONTEXT_TOKENS, Chat
from rewound.llm.chat_model import Spent
from rewound.llm.replies import ChatFailed
from tests.integration.chatting import ChatServer, chatting

SCHEMA = {"type": "object", "properties": {"facts": {"type": "array"}}}
KEY = "LLM-CANARY-456"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chatting() as chat:
        yield chat


def ask(chat: Chat, text: str = "a secret text") -> dict[str, Any]:
    return chat.answer("Do as you are told.", text, SCHEMA, 100)


def fails(chat: Chat) -> ChatFailed:
    with pytest.raises(ChatFailed) as caught:
        ask(chat)
    assert "secret" not in str(caught.value) and KEY not in str(caught.value)
    return caught.value


def test_what_is_asked(server: ChatServer) -> None:
    chat = Chat(server.url, "toy", KEY)
    assert ask(chat) == {"facts": []}
    (asked,) = server.asked
    assert asked == {
        "model": "toy",
        "messages": [
            {"role": "system", "content": "Do as you are told."},
            {"role": "user", "content": "a secret text"},
        ],
        "max_tokens": 100,
        "temperature": 0,
        "stream": False,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }
    assert server.keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_where_the_api_begins(server: ChatServer, path: str) -> None:
    server.props = {"default_generation_settings": {"n_ctx": 2048}}
    chat = Chat(server.url + path, "toy")
    assert chat.context_tokens() == 2048
    ask(chat)
    assert len(server.asked) == 1


@pytest.mark.parametrize(("forms", "calls"), [({"json_object", None}, 2), ({None}, 3)])
def test_a_server_without_schemas_is_asked_otherwise(
    server: ChatServer, forms: set[str | None], calls: int
) -> None:
    server.forms = forms
    chat = Chat(server.url, "toy")
    assert ask(chat) == {"facts": []}
    assert len(server.asked) == calls
    assert '"facts"' in server.asked[-1]["messages"][0]["content"], "the form is told in words"
    ask(chat)
    assert len(server.asked) == calls + 1, "and it is kept in mind"


def test_one_text_that_is_refused_changes_nothing(server: ChatServer) -> None:
    chat = Chat(server.url, "toy")
    server.forms = set()
    assert fails(chat).why is Why.REFUSED
    server.forms = {"json_schema"}
    assert ask(chat) == {"facts": []}


def test_parameters_that_a_model_does_not_take_are_left_out(server: ChatServer) -> None:
    server.takes = {"max_completion_tokens"}
    assert ask(Chat(server.url, "toy")) == {"facts": []}
    assert server.asked[-1].keys() == {
        "model", "messages", "max_completion_tokens", "stream", "response_format",
    }  # fmt: skip
    assert server.asked[-1]["response_format"]["type"] == "json_schema"


def test_a_text_that_is_too_long_is_said_to_be(server: ChatServer) -> None:
    server.context = 10
    failed = fails(Chat(server.url, "toy"))
    assert failed.too_long and failed.smaller_may_help and failed.why is Why.REFUSED
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("mode", "why", "words"),
    [
        ("away", Why.UNREACHABLE, "busy or not ready"),
        ("key", Why.REFUSED, "REWOUND_CHAT_KEY"),
        ("broken", Why.REFUSED, "status 500"),
        ("error", Why.REFUSED, "error"),
        ("html", Why.MALFORMED, "web page"),
        ("cut", Why.CUT_OFF, "cut off"),
    ],
)
def test_faults_are_told(server: ChatServer, mode: str, why: Why, words: str) -> None:
    server.mode = mode
    failed = fails(Chat(server.url, "toy", KEY))
    assert failed.why is why and words in str(failed)


def test_an_address_that_is_not_there(server: ChatServer) -> None:
    failed = fails(Chat(server.url + "/v2/nowhere", "toy"))
    assert failed.why is Why.REFUSED and "check REWOUND_CHAT_URL" in str(failed)


def test_nobody_there() -> None:
    with chatting() as gone:
        url = gone.url
    chat = Chat(url, "toy", KEY)
    failed = fails(chat)
    assert failed.why is Why.UNREACHABLE and url.removeprefix("http://") in str(failed)
    with pytest.raises(ChatFailed, match="cannot be reached"):
        chat.context_tokens()


def test_a_slow_server_is_not_waited_for(server: ChatServer) -> None:
    server.mode = "slow"
    failed = fails(Chat(server.url, "toy", timeout_s=0.05))
    assert failed.why is Why.UNREACHABLE and "within 0.05 s" in str(failed)


def test_closing_ends_what_is_under_way(server: ChatServer) -> None:
    server.mode = "slow"
    chat = Chat(server.url, "toy")
    found: list[BaseException] = []

    def run() -> None:
        try:
            ask(chat)
        except ChatFailed as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert server.begun.wait(30)
    chat.close()
    thread.join(30)
    assert not thread.is_alive(), "it was waited for in vain"
    assert "is not asked any more" in str(found[0])
    assert fails(chat).why is Why.UNREACHABLE


@pytest.mark.parametrize(
    ("props", "models", "tokens"),
    [
        ({"default_generation_settings": {"n_ctx": 3000}}, None, 3000),
        ({"default_generation_settings": {"n_ctx": 0}}, None, CONTEXT_TOKENS),
        ({"default_generation_settings": 7}, None, CONTEXT_TOKENS),
        (None, {"data": [{"id": "a"}, {"id": "toy", "max_model_len": 9000}]}, 9000),
        (None, {"data": [{"id": "toy", "meta": {"n_ctx_train": 8000}}]}, 8000),
        (None, {"data": [{"id": "other", "max_model_len": 9000}]}, CONTEXT_TOKENS),
        (None, {"data": "none"}, CONTEXT_TOKENS),
        (None, {"data": [{"id": "toy", "max_model_len": "many"}]}, CONTEXT_TOKENS),
        (None, None, CONTEXT_TOKENS),
    ],
)
def test_how_much_the_model_reads(server: ChatServer, props: Any, models: Any, tokens: int) -> None:
    server.props, server.models = props, models
    assert Chat(server.url, "toy").context_tokens() == tokens


def test_without_a_name_the_first_model_is_asked(server: ChatServer) -> None:
    server.models = {"data": [{"id": "first"}, {"id": "second"}]}
    chat = Chat(server.url)
    ask(chat)
    assert server.asked[0]["model"] == "first" and chat.model is None
    server.models = None
    other = Chat(server.url)
    ask(other)
    assert "model" not in server.asked[1]


LLAMA: dict[str, Any] = {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 4}
THINKER = LLAMA | {"chat_template": "{% if enable_thinking %}<think>{% endif %}"}


@pytest.mark.parametrize(
    ("props", "models", "field", "value"),
    [
        (THINKER, None, "chat_template_kwargs", {"enable_thinking": False}),
        (LLAMA, None, "chat_template_kwargs", None),
        (None, {"data": [{"id": "toy", "owned_by": "vllm"}]}, "chat_template_kwargs",
         {"enable_thinking": False}),
        (None, {"data": [{"id": "toy", "owned_by": "library"}]}, "reasoning_effort", "none"),
        (None, {"data": [{"id": "toy", "owned_by": "openai"}]}, "reasoning_effort", None),
    ],
)  # fmt: skip
def test_thinking_is_turned_off_where_the_server_allows_it(
    server: ChatServer, props: Any, models: Any, field: str, value: Any
) -> None:
    server.props, server.models = props, models
    ask(Chat(server.url, "toy"))
    assert server.asked[0].get(field) == value
    both = {"chat_template_kwargs", "reasoning_effort"} & server.asked[0].keys()
    assert both == (set() if value is None else {field})


def test_a_server_that_refuses_to_be_told_how_to_think(server: ChatServer) -> None:
    server.models = {"data": [{"id": "toy", "owned_by": "vllm"}]}
    server.refuses = "chat_template_kwargs"
    chat = Chat(server.url, "toy")
    assert ask(chat) == ask(chat) == {"facts": []}
    assert [("chat_template_kwargs" in asked) for asked in server.asked] == [True, False, False]
    assert server.asked[-1]["response_format"]["type"] == "json_schema"


def test_a_model_that_thinks_all_the_same_gets_room_for_it(server: ChatServer) -> None:
    server.props = LLAMA
    chat = Chat(server.url, "toy")
    server.mode = "budget"
    assert fails(chat).why is Why.CUT_OFF
    server.mode = "think"
    assert ask(chat) == {"facts": []}
    assert [asked["max_tokens"] for asked in server.asked] == [100, 100 + 4096]


def test_how_many_calls_it_works_on_at_once(server: ChatServer) -> None:
    assert Chat(server.url, "toy").slots() is None
    server.props = LLAMA
    assert Chat(server.url, "toy").slots() == 4


def test_what_an_answer_took(server: ChatServer) -> None:
    spent: list[Spent] = []
    server.usage = {"prompt_tokens": 30, "completion_tokens": 4}
    ask(Chat(server.url, "toy", spent=spent.append))
    server.usage = {"prompt_tokens": "many"}
    ask(Chat(server.url, "toy", spent=spent.append))
    assert spent == [Spent(30, 4), Spent(0, 0)]


def test_proxies_of_the_environment_are_not_used(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(Chat(server.url, "toy")) == {"facts": []}


def test_no_key_and_no_text_in_the_logs(
    server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        chat = Chat(server.url, "toy", KEY)
        for mode in ("ok", "key", "html", "away", "cut"):
            server.mode = mode
            if mode == "ok":
                ask(chat)
            else:
                fails(chat)
    assert caplog.records, "the client's own library logs at this level"
    assert KEY not in caplog.text and "secret" not in caplog.text
    assert KEY not in repr(chat)
