"""Commands as processes of their own, beside each other and an owner."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Cli, first_line, refused, spawn, told


@pytest.fixture
def owner(data: Path) -> Iterator["subprocess.Popen[str]"]:
    with spawn(data, "own", "--json") as running:
        yield running
        if running.poll() is None:
            running.kill()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("heeding_interrupts")
def test_an_owner_serves_others_until_it_is_stopped(
    cli: Cli, data: Path, owner: "subprocess.Popen[str]", how: signal.Signals
) -> None:
    said = json.loads(first_line(owner))
    assert said["reply"] == "Owning"
    assert (said["data"], said["pid"]) == (str(data), owner.pid)
    assert Path(said["socket"]).is_socket()
    cli("remember", "Nina works at Orbit Labs.")
    refused(cli("search", "x", "--limit", "0", code=2), "limit")
    owner.send_signal(how)
    assert owner.wait(30) == 0
    assert not Path(said["socket"]).exists()
    assert len(told(cli, "search", "Nina")["hits"]) == 1


@pytest.mark.slow
def test_a_second_owner_takes_over(cli: Cli, data: Path, owner: "subprocess.Popen[str]") -> None:
    first_line(owner)
    with spawn(data, "own") as second:
        assert "holding the store" in first_line(second)
        assert owner.wait(30) == 0
        cli("remember", "Nina works at Orbit Labs.")
        second.terminate()
        assert second.wait(30) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("heeding_interrupts")
def test_following_the_log_of_a_store_in_use(cli: Cli, data: Path) -> None:
    cli("remember", "one")
    with spawn(data, "log", "--follow", "--json", "--type", "fact remembered") as follower:
        assert json.loads(first_line(follower))["texts"]
        cli("remember", "two")
        assert "two" in first_line(follower)
        follower.send_signal(signal.SIGINT)
        assert follower.wait(30) == 130


@pytest.mark.slow
def test_a_reader_that_leaves_early(cli: Cli, data: Path) -> None:
    for number in range(30):
        cli("remember", f"Fact number {number}. " + "word " * 500)
    command = f"{sys.executable} -m rewound.http --data {data} list --all"
    script = f"{command} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "141")


@pytest.mark.slow
def test_commands_side_by_side_lose_nothing(data: Path) -> None:
    running = [spawn(data, "remember", f"Fact number {number}.") for number in range(8)]
    for one in running:
        with one:
            _, err = one.communicate(timeout=60)
            assert (one.returncode, err) == (0, "")
    with spawn(data, "list", "--json") as listing:
        out, _ = listing.communicate(timeout=60)
    texts = {item["text"] for item in json.loads(out)["items"]}
    assert texts == {f"Fact number {number}." for number in range(8)}
