"""docs/cli.md and docs/configuration.md say what the command line does: all of it, and no more."""

import os
import re
import subprocess
import types
import typing
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
import msgspec
import pytest

from rewound.eventlog.errors import ERRORS_BY_CODE
from rewound.http.accounts import Configuration, Healthy, Imported, Ingested, Owning
from rewound.http.cli import COMMANDS, main
from rewound.http.cli_base import COMMON
from rewound.http.cli_errors import EXITS
from rewound.http.config import Settings, load, models_of, shown
from rewound.llm.attribute_table import parse
from rewound.memory import replies as r
from rewound.memory.evaluating import Evaluated
from tests import loaded
from tests.cli.fake import ANSWERED_WITH

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "cli.md").read_text(encoding="utf-8")
CONFIGURATION = (DOCS / "configuration.md").read_text(encoding="utf-8")

OWN_REPLIES = (Ingested, Imported, Configuration, Owning, Evaluated, Healthy)
REPLIES: dict[str, type[msgspec.Struct]] = {
    reply.__name__: reply
    for reply in (*get_args(r.AnyReply), *OWN_REPLIES)
    if reply is not r.Failure
}
SAID = {
    "ingest": "Ingested", "import": "Imported", "config": "Configuration", "own": "Owning",
    "eval": "Evaluated", "health": "Healthy",
}  # fmt: skip
SILENT = {"serve", "mcp"}
"""They answer others."""
ASKS = {
    "remember": "Remember", "update": "Update", "search": "Search", "context": "Context",
    "ask": "Inquire", "recent": "Recent",
    "list": "List", "show": "Get", "why": "Why", "history": "History", "timeline": "Timeline",
    "profile": "Profile", "graph": "Graph", "containers": "Containers", "review": "Reviews",
    "label": "Label", "explain": "Explain",
    "fit": "Fit", "rejudge": "Rejudge",
    "forget": "Forget", "restore": "Restore", "erase": "Erase", "undo": "Undo", "log": "Events",
    "diff": "Diff", "replay": "Replay", "verify": "Verify", "seal": "Seal", "rebuild": "Rebuild",
    "reembed": "Reembed",
    "stats": "Stats", "jobs": "Jobs", "configure": "Configure", "accept-clock": "AcceptClock",
    "nodes": "Nodes",
}  # fmt: skip


def sections(page: str) -> dict[str, str]:
    """Third-level heading -> the text below it."""
    parts = re.split(r"^#{2,3} (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = sections(PAGE)


def commands() -> dict[str, click.Command]:
    ctx = main.make_context("rewound", ["stats"], resilient_parsing=True)
    found = {name: main.get_command(ctx, name) for name in COMMANDS}
    return {name: command for name, command in found.items() if command is not None}


def with_linked(name: str) -> str:
    """A command's section, and the shared ones that it links to (which link further)."""
    text, linked = SECTIONS[name], {name}
    shared = {title.lower().replace(" ", "-"): title for title in SECTIONS}
    while new := set(re.findall(r"\(#([a-z-]+)\)", text)) - linked:
        linked |= new
        text += "".join(SECTIONS[shared[anchor]] for anchor in new)
    return text


def options_in(text: str) -> set[str]:
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(re.findall(r"`([^`]+)`", prose))))


def options_of(command: click.Command) -> set[str]:
    return {
        option
        for param in command.params
        if isinstance(param, click.Option) and param.name not in COMMON
        for option in (*param.opts, *param.secondary_opts)
    }


def test_every_command_has_a_section_in_the_order_of_the_help() -> None:
    named = [title for title in SECTIONS if title in COMMANDS]
    assert named == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_tells_the_options_and_arguments_of_its_command(name: str) -> None:
    command = commands()[name]
    assert options_of(command) <= options_in(with_linked(name))
    for param in command.params:
        if isinstance(param, click.Argument):
            metavar = (param.metavar or param.human_readable_name).strip(".[]").upper()
            assert metavar in SECTIONS[name], metavar


def test_no_option_is_told_that_does_not_exist() -> None:
    known = {"-h", "--help", "--version"}
    for command in (main, *commands().values()):
        for param in command.params:
            if isinstance(param, click.Option):
                known |= {*param.opts, *param.secondary_opts}
    assert options_in(PAGE) | options_in(CONFIGURATION) <= known
    for name, command in commands().items():
        rows = re.findall(r"^\| (`-.*?) \|", SECTIONS[name], flags=re.MULTILINE)
        assert options_in(" ".join(rows)) <= options_of(command), name


def test_every_option_has_a_help_text() -> None:
    for name, command in commands().items():
        assert command.help, name
        for param in command.params:
            if isinstance(param, click.Option):
                assert param.help, (name, param.name)


def test_common_options_are_told() -> None:
    text = SECTIONS["Common options"]
    for param in main.params:
        if isinstance(param, click.Option):
            assert {*param.opts, *param.secondary_opts} <= options_in(text), param.name


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_has_an_example_and_names_its_reply(name: str) -> None:
    assert re.search(rf"^```sh\n(?:.*\n)*?.*\brewound {name}\b", SECTIONS[name], re.MULTILINE)
    if name in SILENT:
        assert "It prints no reply." in SECTIONS[name]
        return
    reply = SAID.get(name) or ANSWERED_WITH[ASKS[name]]
    assert f"JSON: `{reply}`" in SECTIONS[name]


def test_exit_codes_are_told() -> None:
    text = SECTIONS["Output, errors and exit codes"]
    rows = re.findall(r"^\| (\d+) \| ([^|]*) \|", text, flags=re.MULTILINE)
    told = {code: int(number) for number, codes in rows for code in re.findall(r"`(\w+)`", codes)}
    del told["interrupted"]
    assert told == {code: EXITS.get(code, 1) for code in ERRORS_BY_CODE}


# --- the shape of replies


def told_type(hint: Any) -> str:
    """A type in words."""
    plain = {str: "text", int: "number", float: "number", bool: "true or false", Any: "anything"}
    if hint in plain:
        return plain[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in args)
    if origin is tuple:
        return f"list of {told_type(args[0])}"
    if origin is dict:
        return "object" if args[1] is Any else f"object of {told_type(args[1])}"
    assert origin in (types.UnionType, typing.Union), hint
    parts = [told_type(arg) for arg in args if arg is not type(None)]
    return " or ".join([*parts, "null"])


def shape(struct: type[msgspec.Struct]) -> str:
    """A section about one struct, as docs/cli.md has it."""
    brief = " ".join((struct.__doc__ or "").split())
    lines = [f"### {struct.__name__}", "", brief, ""] if brief else [f"### {struct.__name__}", ""]
    hints = typing.get_type_hints(struct)
    for field in msgspec.structs.fields(struct):
        mark = "*" if struct.__struct_config__.omit_defaults and not field.required else ""
        lines.append(f"- `{field.encode_name}`{mark}: {told_type(hints[field.name])}")
    return "\n".join(lines) + "\n"


def parts_of(struct: type[msgspec.Struct], found: dict[str, type[msgspec.Struct]]) -> None:
    for hint in typing.get_type_hints(struct).values():
        todo = [hint]
        while todo:
            one = todo.pop()
            todo += get_args(one)
            if (
                isinstance(one, type)
                and issubclass(one, msgspec.Struct)
                and one.__name__ not in found
            ):
                found[one.__name__] = one
                parts_of(one, found)


def shapes() -> str:
    """All replies, then the parts that they are made of, each once."""
    parts: dict[str, type[msgspec.Struct]] = {}
    for reply in REPLIES.values():
        parts_of(reply, parts)
    structs = {**REPLIES, **{name: parts[name] for name in sorted(parts) if name not in REPLIES}}
    return "\n".join(shape(struct) for struct in structs.values())


def test_the_shape_of_every_reply_is_told() -> None:
    """To bring the page up to date: `python -m tests.cli.test_docs_cli >> docs/cli.md`."""
    _, _, told = PAGE.partition("left out when they are empty.\n\n")
    assert told == shapes()


# --- settings


def test_every_setting_is_told() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| `(\w+)` \| ([^|]*)\| ([^|]*) \|", CONFIGURATION, flags=re.MULTILINE
    )
    assert [row[0] for row in rows] == list(Settings.__struct_fields__)
    settings = load({}, {"HOME": "/home/nina"}).settings
    for name, variable, _, default in rows:
        value = getattr(settings, name)
        expected = {"None": "not set", "False": "`false`"}.get(str(value), f"`{value}`")
        assert variable == f"REWOUND_{name.upper()}"
        assert default.replace("~", "/home/nina") == expected


# --- the examples


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def test_the_example_of_a_settings_file_can_be_read(tmp_path: Path) -> None:
    first, chat, embed, onnx, rerank, nodes = blocks(CONFIGURATION, "toml")
    file = tmp_path / "config.toml"
    file.write_text(first)
    environment = {"HOME": "/home/nina", "REWOUND_CONFIG": str(file)}
    settings = load({}, environment).settings
    assert (settings.data, settings.limit) == (str(tmp_path / "store"), 5)
    file.write_text(chat)
    settings = load({}, environment).settings
    assert (settings.extractor, settings.chat_url) == ("model", "http://127.0.0.1:8080")
    file.write_text(onnx)
    settings = load({}, environment).settings
    assert (settings.embedder, settings.embed_folder) == ("onnx", "~/models/multilingual-e5-small")
    file.write_text(embed + rerank)
    models = models_of(load({}, environment).settings)
    assert (models.embedder, models.reranker, models.rerank) == ("server", "server", "always")
    assert models.embed_query_prefix == "task: search result | query: "
    key = tmp_path / "gpu.key"
    key.write_text("NODE-CANARY\n")
    file.write_text(nodes.replace("/etc/rewound/gpu.key", str(key)))
    settings = load({}, environment).settings
    gpu, host = models_of(settings).nodes
    assert (gpu.name, gpu.slots, gpu.key) == ("gpu", 8, "NODE-CANARY")
    assert (host.name, host.lanes) == ("10.0.0.3", ("background",))
    assert shown("nodes", settings.nodes) == "gpu, 10.0.0.3"
    (listed,) = blocks(CONFIGURATION, "ini")
    told = dict(line.split("=", 1) for line in listed.splitlines())
    file.write_text("")
    settings = load({}, environment | told).settings
    lanes = {node.name: node.lanes for node in models_of(settings).nodes}
    assert lanes["10.0.0.2"] == ("interactive",)
    assert lanes["10.0.0.6:9001"] == ("background",)


def test_the_examples_for_model_servers_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    page = (DOCS.parent / "deploy" / "models.md").read_text(encoding="utf-8")
    file.write_text("".join(blocks(page, "toml")))
    models = models_of(load({}, {"HOME": "/home/nina", "REWOUND_CONFIG": str(file)}).settings)
    named = (models.embedder, models.reranker, models.extractor, models.judge)
    assert named == ("server", "server", "model", "model")


def test_the_example_of_own_attributes_can_be_read() -> None:
    (example,) = blocks(CONFIGURATION, "json")
    assert [row.attribute for row in parse(example)] == ["parking spot", "height"]


def _when_embedded(block: str) -> str:
    """A look at what is similar is stale once vectors have come: a person reads meanwhile."""
    return f"rewound jobs --wait > /dev/null\n{block}" if "--similar" in block else block


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_examples_run(tmp_path: Path) -> None:
    """All of the page, in order and in one shell, beside an owner whose models are loaded once.

    It ends when the page's own `rewound own` takes the store.
    """
    (tmp_path / "bin").mkdir()
    command = loaded.command(tmp_path / "bin")
    work = tmp_path / "work"
    work.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith("REWOUND_")}
    env |= {"PATH": f"{tmp_path / 'bin'}:{env['PATH']}", "HOME": str(tmp_path)}
    env["XDG_CONFIG_HOME"] = str(tmp_path)
    script = "set -e\n" + "".join(
        f"echo '+ {n}' >&2\n{_when_embedded(b)}" for n, b in enumerate(blocks(PAGE, "sh"))
    )
    own: list[str | Path] = [command, "own", "--data", work / "store"]
    with subprocess.Popen(own, env=env, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None and "holding the store" in owner.stdout.readline()
        done = subprocess.run(
            ["bash", "-c", script], cwd=work, env=env, capture_output=True, text=True, timeout=580
        )
        owner.terminate()
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "error" not in done.stderr


if __name__ == "__main__":
    print(shapes(), end="")
