"""Settings: where each value comes from, and what is wrong with the ones that cannot be."""

import json
import os
from pathlib import Path

import pytest

from rewound.http.config import BadSetting, Settings, default_data, load, models_of, shown
from rewound.memory.place import default_data as library_default
from tests.cli.fake import asked, run


def env_with(file: Path, **more: str) -> dict[str, str]:
    return {"HOME": "/home/nina", "REWOUND_CONFIG": str(file), **more}


def test_later_sources_win_and_each_value_knows_its_own(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('container = "file"\nlimit = 3\nbudget = 300\nzone = "Europe/Berlin"\n')
    env = env_with(file, REWOUND_LIMIT="4", REWOUND_BUDGET="400", REWOUND_JSON="1")
    settings, origins, found_at, found = load({"budget": 500}, env)
    assert (settings.container, settings.limit, settings.budget) == ("file", 4, 500)
    assert settings.json is True
    assert settings.page == 50
    assert origins["container"] == f"file {file}"
    assert origins["limit"] == "environment REWOUND_LIMIT"
    assert origins["budget"] == "flag --budget"
    assert origins["page"] == "default"
    assert (found_at, found) == (file, True)


def test_the_file_lies_where_xdg_says() -> None:
    home = {"HOME": "/home/nina"}
    assert load({}, home).file == Path("/home/nina/.config/rewound/config.toml")
    elsewhere = load({}, home | {"XDG_CONFIG_HOME": "/etc/xdg"})
    assert elsewhere.file == Path("/etc/xdg/rewound/config.toml")
    assert elsewhere.found is False


def test_the_default_store_is_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REWOUND_DATA", raising=False)
    assert default_data(os.environ) == str(library_default().expanduser())


def test_a_folder_is_read_from_where_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the file: beside the file. In the environment or a flag: from here."""
    file = tmp_path / "config.toml"
    file.write_text('data = "store"\n')
    assert load({}, env_with(file)).settings.data == str(tmp_path / "store")
    monkeypatch.chdir("/")
    assert load({}, env_with(file, REWOUND_DATA="x")).settings.data == "/x"
    monkeypatch.setenv("HOME", "/home/nina")
    assert load({"data": "~/y"}, env_with(file)).settings.data == "/home/nina/y"


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "REWOUND_DATA": "", "REWOUND_LIMIT": "", "REWOUND_CONFIG": ""}
    settings, origins, _, _ = load({}, env)
    assert settings.data == str(tmp_path / ".rewound")
    assert origins["data"] == origins["limit"] == "default"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("limmit = 3\n", ["limmit", "did you mean limit"]),
        ("frobnicate = 3\n", ["frobnicate", "known are data, container"]),
        ('limit = "3"\n', ["limit in ", "expected `int`"]),
        ("limit = 0\n", ["limit in ", ">= 1"]),
        ('color = "sometimes"\n', ["color in ", "use one of auto, always, never", "sometimes"]),
        ('embed_pooling = "max"\n', ["embed_pooling in ", "use one of mean, cls, lasttoken"]),
        ("json = 1\n", ["json in ", "expected `bool`"]),
        ("max_text_mb = 10000\n", ["max_text_mb in ", "<= 32"]),
        ('container = ""\n', ["container in "]),
        ("limit = = 3\n", ["is not TOML", "line 1"]),
        ("[limit]\nx = 1\n", ["limit in "]),
    ],
)
def test_a_file_that_cannot_be_says_what_is_wrong(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(BadSetting) as caught:
        load({}, env_with(file))
    assert str(file) in caught.value.message
    for word in words:
        assert word in caught.value.message
    result = run("stats", env={"REWOUND_CONFIG": str(file)})
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"limit = 3\n\xff"])
def test_a_file_that_is_no_text(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(raw)
    with pytest.raises(BadSetting, match="is not TOML"):
        load({}, env_with(file))


def test_a_file_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="does not exist"):
        load({}, env_with(tmp_path / "missing.toml"))
    with pytest.raises(BadSetting, match="cannot be read"):
        load({}, env_with(tmp_path))


@pytest.mark.parametrize(
    ("variable", "value"),
    [("REWOUND_LIMIT", "many"), ("REWOUND_JSON", "perhaps"), ("REWOUND_COLOR", "blue")],
)
def test_a_variable_that_cannot_be_is_named(variable: str, value: str) -> None:
    result = run("stats", env={variable: value})
    assert result.exit_code == 2
    assert variable in result.stderr
    assert value in result.stderr or "expected" in result.stderr


def test_no_value_that_looks_like_a_secret_is_shown() -> None:
    for name in ("api_key", "access_token", "password", "client_secret"):
        assert shown(name, "CANARY") == "(hidden)"
    assert shown("container", "work") == "work"


def test_a_chat_server_is_part_of_the_models(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("CANARY\n")
    url = "http://127.0.0.1:9"
    settings = Settings(data="/x", extractor="model", chat_url=url, chat_key_file=str(file))
    models = models_of(settings)
    assert (models.extractor, models.chat_url, models.chat_key) == ("model", url, "CANARY")
    for wrong, field in (
        (Settings(data="/x", judge="model"), "REWOUND_CHAT_URL"),
        (Settings(data="/x", chat_url="nas:8080"), "REWOUND_CHAT_URL"),
        (Settings(data="/x", chat_key_file=str(tmp_path)), "REWOUND_CHAT_KEY_FILE"),
    ):
        with pytest.raises(BadSetting, match=field) as caught:
            models_of(wrong)
        assert caught.value.field == field


def test_an_unknown_secret_in_the_file_is_not_printed(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('api_key = "CANARY-123"\n')
    for args in (("config",), ("stats", "--json")):
        assert "CANARY" not in run(*args, env={"REWOUND_CONFIG": str(file)}).output


def test_config_tells_value_and_origin_of_every_setting(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("limit = 7\n")
    env: dict[str, str | None] = {"REWOUND_CONFIG": str(file), "REWOUND_BUDGET": "900"}
    text = run("config", "-c", "work", env=env)
    assert text.exit_code == 0
    told = json.loads(run("config", "--json", "-c", "work", env=env).stdout)
    by_name = {row["name"]: row for row in told["settings"]}
    assert set(by_name) == set(Settings.__struct_fields__)
    assert by_name["limit"]["value"] == "7"
    assert by_name["limit"]["origin"] == f"file {file}"
    assert by_name["budget"]["origin"] == "environment REWOUND_BUDGET"
    assert by_name["container"] == {
        "name": "container",
        "value": "work",
        "origin": "flag --container",
        "variable": "REWOUND_CONTAINER",
    }
    for name in by_name:
        assert f"\n{name} " in f"\n{text.stdout}"


def test_settings_are_read_by_the_commands(tmp_path: Path) -> None:
    env: dict[str, str | None] = {"REWOUND_LIMIT": "3", "REWOUND_PAGE": "4", "REWOUND_BUDGET": "5"}
    assert asked("search", "x", env=env).limit == 3
    assert asked("search", "x", "--limit", "9", env=env).limit == 9
    assert asked("list", env=env).limit == 4
    assert asked("log", env=env).limit == 4
    assert asked("jobs", env=env).limit == 4
    assert asked("context", "x", env=env).budget == 5
    assert asked("stats", env={"REWOUND_CONTAINER": "work"}).container == "work"
    assert asked("-c", "a", "stats", "-c", "b").container == "b"
    assert json.loads(run("stats", env={"REWOUND_JSON": "true"}).stdout)["reply"] == "Figures"
    assert not run("stats", "--no-json", env={"REWOUND_JSON": "true"}).stdout.startswith("{")
