"""Settings: one frozen struct, filled once from defaults, a TOML file, the environment and flags.

The later of these wins, and each value remembers where it came from. The file is `$REWOUND_CONFIG`,
else `rewound/config.toml` in `$XDG_CONFIG_HOME` (by default `~/.config`). The environment
variable of a setting is `REWOUND_` and its name in capitals; an empty one counts as not set.
"""

import os
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin

import click
import msgspec

if TYPE_CHECKING:
    from rewound.memory.models import Models

ENV_PREFIX = "REWOUND_"
CONFIG_ENV = "REWOUND_CONFIG"

Color = Literal["auto", "always", "never"]
Positive = Annotated[int, msgspec.Meta(ge=1)]


class NodeSetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `[[nodes]]` table of the file: a machine (`host`) with a server for each role at its usual
    port, or servers at the addresses that are given."""

    name: str | None = None
    host: str | None = None
    embed: str | None = None
    rerank: str | None = None
    chat: str | None = None
    decide: str | None = None
    lanes: tuple[Literal["interactive", "background"], ...] = ("interactive", "background")
    slots: int | None = None
    model: str | None = None
    key: str | None = None
    key_file: str | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set once for all commands. `docs/configuration.md` says the same at length."""

    data: str
    """The folder that holds the store."""
    container: Annotated[str, msgspec.Meta(min_length=1)] = "default"
    """The container that a command works in unless `-c` names another."""
    zone: str | None = None
    """Time zone given to containers that the command line makes; UTC when not set."""
    json: bool = False
    """Answer in JSON, as with `--json`."""
    color: Color = "auto"
    """Colours and styles: `auto` is on a terminal only, and never when NO_COLOR is set."""
    limit: Positive = 10
    """Hits that `search` shows, and that `explain` looks among."""
    page: Positive = 50
    """Rows that `list`, `log`, `jobs` and `review` show."""
    budget: Positive = 1200
    """Tokens that `context` packs its answer into, and that `ask` draws its answer from."""
    max_text_mb: Annotated[int, msgspec.Meta(ge=1, le=32)] = 8
    """Larger files are skipped by `ingest`, longer lines by `import` (in MiB)."""
    embedder: Literal["minilm", "hashing", "onnx", "server", "none"] = "minilm"
    """What gives texts their meaning, in the process that owns the store: `none` finds by words."""
    extractor: Literal["rules", "model", "none"] = "rules"
    """What draws facts from conversations and documents there: `model` asks the chat server."""
    judge: Literal["rules", "model", "none"] = "rules"
    """What judges how new facts relate to older ones: `model` asks the chat server as well."""
    chat_url: str | None = None
    """Where the API of an OpenAI-compatible chat server begins, as http://127.0.0.1:8080."""
    chat_model: str | None = None
    """The model that is asked there; its first one when not set."""
    chat_key: str | None = None
    """The key that the chat server wants."""
    chat_key_file: str | None = None
    """A file that holds this key."""
    chat_api: Literal["openai", "anthropic"] = "openai"
    """What the chat server speaks: the API of OpenAI, as most do, or that of Anthropic."""
    embed_url: str | None = None
    """Where the API of the embedding server begins, for `embedder = "server"`."""
    embed_model: str | None = None
    """The model that is asked there; tells its vectors from those of others."""
    embed_key: str | None = None
    """The key that the embedding server wants."""
    embed_key_file: str | None = None
    """A file that holds this key."""
    embed_folder: str | None = None
    """A folder with an ONNX model and its tokenizer, for `embedder = "onnx"`."""
    embed_pooling: Literal["mean", "cls", "lasttoken"] | None = None
    """How its vectors of pieces become one, where the folder does not say."""
    embed_query_prefix: str | None = None
    """Put before a question that the embedding model is given, as it is."""
    embed_document_prefix: str | None = None
    """The same for a text that is to be found."""
    reranker: Literal["words", "embedder", "server", "model", "none"] = "none"
    """What orders the first hits of a search anew: `server` and `model` ask a server."""
    rerank: Literal["asked", "always"] = "asked"
    """Whether it does so for questions that ask for it, or for all that do not say no."""
    rerank_depth: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    """How many of the first hits it orders."""
    rerank_weight: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    """How much its score counts; the rest is the ranking's own."""
    rerank_url: str | None = None
    """Where the API of the rerank server begins, for `reranker = "server"`."""
    rerank_model: str | None = None
    """The model that is asked there."""
    rerank_key: str | None = None
    """The key that the rerank server wants."""
    rerank_key_file: str | None = None
    """A file that holds this key."""
    rerank_scale: Literal["auto", "share", "logit"] = "auto"
    """What the rerank server's scores are: shares from 0 to 1, logits, or as they look."""
    rewriter: Literal["model", "none"] = "none"
    """What puts a question into further words: `model` asks the chat server."""
    rewrite: Literal["asked", "always"] = "asked"
    """Whether it does so for questions that ask for it, or for all that do not say no."""
    decomposer: Literal["rules", "model", "none"] = "none"
    """What takes a question apart, to search for its parts too: `model` asks the chat server."""
    decompose: Literal["asked", "always"] = "asked"
    """Whether it does so for questions that ask for it, or for all that do not say no."""
    answerer: Literal["facts", "model", "none"] = "facts"
    """What answers questions: `facts` by what was found itself, `model` asks the chat server."""
    answer_confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """Where even what fits best is less likely to answer, the answer is not known."""
    answer_timeout_s: Annotated[int, msgspec.Meta(ge=1, le=600)] = 60
    """How many seconds a model has for one answer."""
    summarizer: Literal["model", "none"] = "none"
    """What sums up older messages of long conversations: `model` asks the chat server."""
    recent_chars: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)] = 64_000
    """Characters of a conversation's last messages that are shown as they are."""
    nodes: str | tuple[NodeSetting, ...] | None = None
    """Model servers: names of machines and addresses, separated by commas; tables in the file."""
    bg_nodes: str | None = None
    """Those that work behind people's backs, where these are not the same."""
    hedge_ms: Annotated[int, msgspec.Meta(ge=0, le=60_000)] = 0
    """After so long a read that waits for a node is put to a second one as well; 0 never does."""
    quiet: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 120.0
    """Seconds without a new message until a model reads what waits in a conversation."""
    batch_messages: Annotated[int, msgspec.Meta(ge=1, le=32)] = 8
    """How many messages of a conversation it reads in one call; so many need not wait."""
    batch_age: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 600.0
    """Seconds after which the oldest that waits is read, whatever is said."""
    attributes: str | None = None
    """A JSON file of attributes that rules are to know besides their own."""
    ranker: str | None = None
    """A JSON file of weights that order the hits of a search in place of those that are shipped."""
    token_counter: Annotated[str, msgspec.Meta(min_length=1)] = "embedder"
    """What counts tokens: `estimate`, the `embedder`, or the path of a tokenizer.json."""
    threads: Annotated[int, msgspec.Meta(ge=0, le=256)] = 0
    """Threads that one model may use at once; 0 leaves that to the model."""
    host: Annotated[str, msgspec.Meta(min_length=1)] = "127.0.0.1"
    """Address that `serve` listens on."""
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8900
    """Port that `serve` listens on; 0 takes a free one."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    """Processes that answer on the port: the one that owns the store, and readers beside it."""
    api_key: str | None = None
    """Key that every request to the server must show; blank counts as none."""
    allow_open: bool = False
    """Let `serve` listen beyond this machine although no key is set."""
    allow_node_changes: bool = False
    """Let requests to the server add, drain and remove model servers, as `rewound nodes` does."""
    allowed_hosts: str | None = None
    """Other names the server goes by, separated by commas; their pages may ask it too."""
    max_body_mb: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 32
    """Larger bodies are refused by the server (in MiB)."""


def models_of(settings: Settings) -> "Models":
    """The models that a process works with while it owns the store. Raises BadSetting."""
    from rewound.memory import RewoundError
    from rewound.memory.model_servers import key_of
    from rewound.memory.models import Models
    from rewound.memory.node_tables import nodes_from

    given = {name: getattr(settings, name) for name in Models.__struct_fields__}
    for name, value in given.items():
        if name.endswith("_prefix"):
            given[name] = value or ""  # its last space belongs to it
        elif isinstance(value, str):
            given[name] = value.strip() or None
    try:
        given["nodes"] = nodes_from(_told(settings.nodes), settings.bg_nodes)
        for role in ("chat", "embed", "rerank"):
            file = getattr(settings, f"{role}_key_file")
            given[f"{role}_key"] = key_of(given[f"{role}_key"], file, role.upper())
        return Models(**given)
    except RewoundError as error:
        raise BadSetting(error.message, field=error.field or "models") from None


def _told(nodes: str | tuple[NodeSetting, ...] | None) -> str | list[dict[str, Any]] | None:
    return [msgspec.structs.asdict(each) for each in nodes] if isinstance(nodes, tuple) else nodes


class BadSetting(click.ClickException):
    """A value that a setting cannot take; says which, from where, and what would be right."""

    exit_code = 2

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class Configured(NamedTuple):
    settings: Settings
    origins: dict[str, str]
    """Setting -> `default`, `file …`, `environment REWOUND_…` or `flag --…`."""
    file: Path
    """Where the file is, or would be."""
    found: bool


def load(flags: Mapping[str, Any], env: Mapping[str, str] | None = None) -> Configured:
    """Settle every setting. `flags` holds only what was given. Raises BadSetting."""
    env = os.environ if env is None else env
    file, asked_for = config_file(env)
    values: dict[str, Any] = {"data": default_data(env)}
    origins = {name: "default" for name in Settings.__struct_fields__}
    from_file = _read(file, must_exist=asked_for)
    for name, value in (from_file or {}).items():
        _check_name(name, file)
        values[name] = _checked(name, value, f"in {file}", strict=True)
        origins[name] = f"file {file}"
    if "data" in (from_file or {}):
        values["data"] = str(file.parent / Path(values["data"]).expanduser())
    for name in Settings.__struct_fields__:
        variable = ENV_PREFIX + name.upper()
        if text := env.get(variable, ""):
            values[name] = _checked(name, text, f"of {variable}", strict=False)
            origins[name] = f"environment {variable}"
        if name in flags:
            option = f"--{name.replace('_', '-')}"
            values[name] = _checked(name, flags[name], f"of {option}", strict=False)
            origins[name] = f"flag {option}"
    values["data"] = _folder(values["data"], origins["data"])
    return Configured(Settings(**values), origins, file, from_file is not None)


def config_file(env: Mapping[str, str]) -> tuple[Path, bool]:
    """The file's path, and whether somebody asked for just that one."""
    if named := env.get(CONFIG_ENV, ""):
        return Path(named).expanduser(), True
    base = env.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else _home(env) / ".config"
    return folder / "rewound" / "config.toml", False


def default_data(env: Mapping[str, str]) -> str:
    """The library's own default, so that both doors open the same store."""
    return str(_home(env) / ".rewound")


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or "~").expanduser()


def _read(file: Path, *, must_exist: bool) -> dict[str, Any] | None:
    try:
        with file.open("rb") as opened:
            return tomllib.load(opened)
    except FileNotFoundError:
        if not must_exist:
            return None
        raise BadSetting(f"{file}, named by {CONFIG_ENV}, does not exist", field="config") from None
    except NotADirectoryError:
        return None
    except OSError as error:
        raise BadSetting(f"{file} cannot be read: {error.strerror}", field="config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"{file} is not TOML: {error}", field="config") from None


def _check_name(name: str, file: Path) -> None:
    known = Settings.__struct_fields__
    if name in known:
        return
    near = get_close_matches(name, known)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    raise BadSetting(f"unknown setting {name!r} in {file}: {hint}", field=name)


_TYPES: dict[str, Any] = {field.name: field.type for field in msgspec.structs.fields(Settings)}


def _checked(name: str, value: Any, where: str, *, strict: bool) -> Any:
    try:
        return msgspec.convert(value, _TYPES[name], strict=strict)
    except msgspec.ValidationError as error:
        reason = _choices(_TYPES[name], value) or str(error)
        raise BadSetting(f"{name} {where}: {reason[:1].lower()}{reason[1:]}", field=name) from None


def _choices(kind: Any, value: Any) -> str | None:
    """What would be right, where a setting is one of a few words."""
    told = [each for each in get_args(kind) if each is not type(None)] or [kind]
    words = get_args(kind) if get_origin(kind) is Literal else get_args(told[0])
    if not words or not all(isinstance(word, str) for word in words) or not isinstance(value, str):
        return None
    return f"use one of {', '.join(words)}, not {value[:40]!r}"


def _folder(text: str, origin: str) -> str:
    """An absolute path: the process that owns the store may stand in another folder."""
    if not text or "\0" in text:
        raise BadSetting(f"data ({origin}): expected the path of a folder", field="data")
    return os.path.abspath(Path(text).expanduser())


def shown(name: str, value: object) -> str:
    """A value as `rewound config` prints it; what looks like a secret is never printed."""
    if value is None:
        return "(not set)"
    if isinstance(value, tuple):
        return ", ".join(each.name or each.host or "?" for each in value)
    if any(word in name for word in ("secret", "password", "_token", "_key")):
        return "(hidden)"
    return str(value).lower() if isinstance(value, bool) else str(value)
