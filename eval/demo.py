"""The story in a minute: `make demo`.

Real commands on a store in a temporary folder, printed as they are typed, with what they answer.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHAT = ROOT / "eval" / "datasets" / "trip.jsonl"


class Story:
    """Runs commands and remembers ids that later commands need."""

    def __init__(self, data: Path) -> None:
        self._environment = os.environ | {"REWOUND_DATA": str(data), "NO_COLOR": "1"}

    def tell(self, text: str) -> None:
        print(f"\n# {text}", flush=True)

    def run(self, *words: str) -> str:
        """One command, shown; ends the demo when it fails."""
        shown = " ".join(f'"{word}"' if re.search(r"[\s'()]", word) else word for word in words)
        print(f"$ rewound {shown}", flush=True)
        command = [sys.executable, "-m", "rewound.http", *words]
        done = subprocess.run(
            command, env=self._environment, cwd=ROOT, text=True, capture_output=True, check=False
        )
        print(done.stdout + done.stderr, end="", flush=True)
        if done.returncode:
            sys.exit(f"the demo stopped: exit status {done.returncode}")
        return done.stdout

    def quiet(self, *words: str) -> str:
        command = [sys.executable, "-m", "rewound.http", *words]
        done = subprocess.run(
            command, env=self._environment, cwd=ROOT, text=True, capture_output=True, check=True
        )
        return done.stdout


def first(kind: str, text: str) -> str:
    """The first id of a kind in what a command printed."""
    found = re.search(rf"{kind}_[0-9a-z]{{26}}", text)
    if found is None:
        sys.exit(f"the demo stopped: no {kind} id in\n{text}")
    return found.group()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = Story(Path(folder) / "store")
        _tell(story)


def _tell(story: Story) -> None:
    story.tell("Put in this project's documentation and a conversation.")
    story.run("ingest", "docs/*.md", "ARCHITECTURE.md")
    story.run("import", str(CHAT.relative_to(ROOT)))
    story.tell("Ask. Every hit says where it comes from.")
    story.run("search", "which tram goes to Alfama", "--limit", "2")
    story.run("search", "what does erase destroy", "--limit", "1")
    story.tell("Remember a fact, and correct it later: the old one stays as history.")
    fact = first("fact", story.run("remember", "Nina's train leaves at 21:40."))
    before = first("ev", story.quiet("log", "--json", "--limit", "1", "--newest"))
    edited = story.run("update", fact, "Nina's train leaves at 22:15.")
    story.run("search", "when does Nina's train leave", "--limit", "1")
    story.run("history", fact)
    story.tell("What did the store say before that?")
    story.run("search", "when does Nina's train leave", "--limit", "1", "--as-of", before)
    story.tell("Forget something private. It is gone from every answer, also from the past.")
    message = first("msg", story.quiet("search", "door code", "--limit", "1", "--json"))
    story.run("forget", message)
    story.run("list", "--what", "message", "--as-of", before)
    story.tell("Take a step back: undo the correction, after a look at what that would change.")
    edit = first("ev", edited)
    story.run("undo", edit, "--dry-run")
    story.run("undo", edit)
    story.run("search", "when does Nina's train leave", "--limit", "1")
    story.tell("Build the store again as it was, and prove that it agrees.")
    story.run("replay", "--at", before, "--verify")
    story.run("diff", before, "now")
    story.tell("Nothing was lost or altered.")
    story.run("verify")


if __name__ == "__main__":
    main()
