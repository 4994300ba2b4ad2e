"""Forgetting, restoring, undoing and erasing through a door, and how a door refuses."""

import json
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from click.testing import CliRunner

from rewound.eventlog.errors import RewoundError
from rewound.http.cli import main
from rewound.memory import replies as r
from tests.cases.doors import CommandLine, Door, Json, Library, Rest, listed, told
from tests.http.serving import error_of, reply_of

CODES = ("invalid_input", "wrong_kind", "not_found", "conflict", "already_undone", "stale")
"""What a person may be refused with here; anything else fails the test."""


_OPTIONS = {"tags": "tag", "kinds": "kind"}


class Refused(Exception):
    """A door said no, in the words of its own form."""

    def __init__(self, error: Json) -> None:
        super().__init__(error)
        assert error["code"] in CODES and error["message"], error
        self.code: str = error["code"]
        self.field: str | None = error.get("field")
        self.message: str = error["message"]


class Correcting(Door):
    """A door with the commands that take something back."""

    @abstractmethod
    def forget(self, *ids: str, **which: Any) -> Json:
        """Ids, or the fields of a forgetting and of its filters, flat."""

    @abstractmethod
    def restore(self, *ids: str) -> Json: ...

    @abstractmethod
    def undo(self, event: str) -> Json: ...

    @abstractmethod
    def erase(self, *ids: str) -> Json: ...

    def found(self, query: str) -> list[str]:
        return [hit["text"] for hit in self.search(query)]

    def add(self, text: str) -> Json:
        """A fact sent once more: what became of it."""
        (item,) = listed(told(self.api.write("POST", "/v1/facts", {"text": text})), "items")
        return item


class CorrectingLibrary(Library, Correcting):
    def forget(self, *ids: str, **which: Any) -> Json:
        return self._said(lambda: self.memory.forget(ids or None, **which))

    def restore(self, *ids: str) -> Json:
        return self._said(lambda: self.memory.restore(ids))

    def undo(self, event: str) -> Json:
        return self._said(lambda: self.memory.undo(event))

    def erase(self, *ids: str) -> Json:
        return self._said(lambda: self.memory.erase(ids))

    def add(self, text: str) -> Json:
        (item,) = listed(self._said(lambda: self.memory.remember(text)), "items")
        return item

    def _said(self, call: Callable[[], r.Reply]) -> Json:
        try:
            return told(call())
        except RewoundError as error:
            said = {"code": error.code, "message": error.message, "field": error.field}
            raise Refused(said) from None


class CorrectingCommands(CommandLine, Correcting):
    def forget(self, *ids: str, **which: Any) -> Json:
        args = [*ids, "--yes"]
        scope = which.pop("scope", {})
        for name, value in (which | scope).items():
            flag = f"--{_OPTIONS.get(name, name)}".replace("_", "-")
            if name == "dry_run":
                args.append(flag if value else "--no-dry-run")
            elif name == "metadata":
                args += [f"--meta={key}:={json.dumps(part)}" for key, part in value.items()]
            else:
                parts = value if isinstance(value, list) else [value]
                args += [f"{flag}={part}" for part in parts]
        return self._run("forget", *args)

    def restore(self, *ids: str) -> Json:
        return self._run("restore", *ids)

    def undo(self, event: str) -> Json:
        return self._run("undo", event)

    def erase(self, *ids: str) -> Json:
        return self._run("erase", *ids, "--yes")

    def add(self, text: str) -> Json:
        (item,) = listed(self._run("remember", text), "items")
        return item

    def _run(self, *args: str) -> Json:
        place = ["--data", str(self.shop.served.data), "-c", self.container, "--json"]
        done = CliRunner().invoke(main, [*place, *args])
        assert "Traceback" not in done.output and done.exit_code in (0, 2, 3), done.output[:2000]
        if done.exit_code:
            raise Refused(json.loads(done.stderr.splitlines()[-1]))
        answer: Json = json.loads(done.stdout)
        return answer


class CorrectingRest(Rest, Correcting):
    _FIELDS = ("text", "query", "similar", "batch", "limit", "reason", "dry_run", "key")

    def forget(self, *ids: str, **which: Any) -> Json:
        body: Json = {name: which.pop(name) for name in self._FIELDS if name in which}
        if "what" in which and isinstance(which["what"], str):
            which["what"] = [which["what"]]
        body |= {"ids": list(ids)} if ids else {}
        body |= {"filters": which} if which else {}
        return self._post("/v1/forget", body, r.Forgot)

    def restore(self, *ids: str) -> Json:
        return self._post("/v1/restore", {"ids": list(ids)}, r.Forgot)

    def undo(self, event: str) -> Json:
        return self._post("/v1/undo", {"id": event}, r.Undid)

    def erase(self, *ids: str) -> Json:
        return self._post("/v1/erase", {"ids": list(ids)}, r.Erased)

    def _post(self, path: str, body: Json, want: type[r.Reply]) -> Json:
        response = self.api.send("POST", path, {"container": self.container, **body})
        if response.status_code >= 400:
            raise Refused(error_of(response))
        return told(reply_of(response, want))


CORRECTING: dict[str, type[Correcting]] = {
    "library": CorrectingLibrary,
    "command line": CorrectingCommands,
    "REST": CorrectingRest,
}
