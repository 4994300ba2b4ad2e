"""The files in deploy/: units that systemd reads, limits that are there and checked, settings that
exist."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy import check_limits
from rewound.http.config import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"), key=lambda unit: unit.stem)
SHIPPED = ("rewound", "rewound-chat", "rewound-embed", "rewound-rerank")


def lines(unit: Path) -> dict[str, str]:
    pairs = (line.split("=", 1) for line in unit.read_text().splitlines() if "=" in line)
    return {name: value for name, value in pairs if not name.startswith("#")}


def test_there_is_a_unit_for_rewound_and_each_role() -> None:
    assert tuple(unit.stem for unit in UNITS) == SHIPPED == tuple(sorted(check_limits.UNITS))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: Path, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this machine has no systemd-analyze")
    here = tmp_path / unit.name
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.M)
    here.write_text("\n".join(line for line in text.splitlines() if not line.startswith("Wants=")))
    done = subprocess.run([analyze, "verify", here], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_every_unit_bounds_its_memory_and_reaches_this_machine_only(unit: Path) -> None:
    told = lines(unit)
    assert 0 < check_limits.asked(unit.read_text()) < check_limits.UNLIMITED
    assert told["MemorySwapMax"] == "0", "what is over would go to the disk instead"
    assert (told["IPAddressDeny"], told["IPAddressAllow"]) == ("any", "localhost")


def test_the_servers_of_the_roles_listen_where_a_bare_host_is_asked() -> None:
    ports = {unit.stem: re.search(r"--port (\d+)", unit.read_text()) for unit in UNITS}
    found = {name: match[1] for name, match in ports.items() if match}
    assert found == {"rewound-embed": "8080", "rewound-rerank": "8081", "rewound-chat": "8082"}


@pytest.mark.parametrize(
    "name", ["rewound.env.example", "compose.yaml", "rewound.service", "Dockerfile"]
)
def test_every_setting_that_is_named_exists(name: str) -> None:
    named = set(re.findall(r"REWOUND_([A-Z_]+)", (DEPLOY / name).read_text()))
    known = {setting.upper() for setting in Settings.__struct_fields__}
    assert named and named <= known | {"NODES", "BG_NODES", "CONFIG"}


def composed() -> dict[str, str]:
    """What the compose file says of each service."""
    text = (DEPLOY / "compose.yaml").read_text().partition("\nservices:\n")[2]
    parts = re.split(r"^  (\w+):\n", text.partition("\nvolumes:\n")[0], flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_compose_file_has_rewound_and_each_role_within_the_same_limits() -> None:
    services = composed()
    assert services.keys() == {unit.removeprefix("rewound-") for unit in SHIPPED}
    for unit in UNITS:
        told = services[unit.stem.removeprefix("rewound-")]
        limits = re.findall(r"^    mem(?:swap)?_limit: (\w+)$", told, flags=re.M)
        wanted = check_limits.asked(unit.read_text())
        assert [check_limits.size_of(each.upper()) for each in limits] == [wanted, wanted]


def test_by_itself_the_compose_file_names_no_server_that_does_not_start() -> None:
    """A server that is named and away makes the memory's health degraded."""
    services = composed()
    assert re.findall(r"REWOUND_\w+_URL: (.*)$", services["rewound"], flags=re.M) == [
        "${REWOUND_CHAT_URL:-}", "${REWOUND_EMBED_URL:-}", "${REWOUND_RERANK_URL:-}",
    ]  # fmt: skip
    started = [name for name, told in services.items() if "profiles:" not in told]
    assert started == ["rewound"]


def test_the_image_holds_every_package_and_no_more() -> None:
    copied = re.findall(r"^COPY (\w+) \1$", (DEPLOY / "Dockerfile").read_text(), flags=re.M)
    assert sorted(copied) == ["eventlog", "http", "llm", "memory", "projections"]


# --- the check of the limits


def done(code: int, out: str = "", err: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.CompletedProcess([], code, out, err)


class Machine:
    """A machine with one unit under a control group, as the check sees it."""

    def __init__(self, folder: Path, *, wanted: str = "1G", active: str = "active") -> None:
        self.unit = folder / "rewound.service"
        self.unit.write_text(f"[Service]\n{f'MemoryMax={wanted}' if wanted else ''}\n")
        self.active = active
        self.ends = True
        self.root = folder / "cgroup"
        self.group = "/system.slice/rewound.service"

    def limit(self, group: str, text: str, name: str = "memory.max") -> None:
        base = self.root if name == "memory.max" else self.root / "memory"
        place = base / group.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text + "\n")

    def run(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        if command[0] == "systemctl":
            told = {
                "LoadState": "loaded", "ActiveState": self.active, "ControlGroup": self.group,
                "FragmentPath": str(self.unit),
            }  # fmt: skip
            return done(0, "".join(f"{name}={value}\n" for name, value in told.items()))
        hungry = str(4 * check_limits.PROOF_MIB << 20) in command[-1]
        return done(-9 if hungry and self.ends else 0)

    def told(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
        code = check_limits.main([*arguments, "rewound"], self.run, self.root)
        return code, capsys.readouterr().out


@pytest.mark.parametrize("name", ["memory.max", "memory.limit_in_bytes"])
@pytest.mark.parametrize(
    ("enforced", "holds"), [(1 << 30, True), (1 << 29, True), ((1 << 30) + 4096, False)]
)
def test_a_limit_holds_when_the_kernel_enforces_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, enforced: int, holds: bool
) -> None:
    machine = Machine(tmp_path)
    machine.limit(machine.group, str(enforced), name)
    code, out = machine.told(capsys)
    assert (code, "DOES NOT HOLD" in out) == ((0, False) if holds else (1, True)), out


def test_no_limit_does_not_hold_but_one_above_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine(tmp_path)
    machine.limit(machine.group, "max")
    assert machine.told(capsys)[0] == 1
    machine.limit("/system.slice", "1000000000")
    assert machine.told(capsys)[0] == 0


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        ({"active": "inactive"}, "inactive"),
        ({"wanted": ""}, "no MemoryMax"),
        ({}, "shows no memory"),
    ],
)
def test_what_cannot_be_told_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], machine: dict[str, str], reason: str
) -> None:
    code, out = Machine(tmp_path, **machine).told(capsys)
    assert code == 2 and "cannot tell" in out and reason in out


def test_the_proof_fails_when_nothing_is_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine(tmp_path)
    machine.limit(machine.group, str(1 << 30))
    assert machine.told(capsys, "--prove")[0] == 0
    machine.ends = False
    code, out = machine.told(capsys, "--prove")
    assert code == 1 and "proof: DOES NOT HOLD" in out


def test_sizes_are_read_as_units_write_them() -> None:
    found = [check_limits.size_of(text) for text in ("768M", "1G", "512K", "4096", "infinity")]
    assert found == [768 << 20, 1 << 30, 512 << 10, 4096, check_limits.UNLIMITED]
    with pytest.raises(ValueError):
        check_limits.size_of("lots")
