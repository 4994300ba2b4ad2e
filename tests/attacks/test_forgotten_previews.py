"""A dry run is a read: what is forgotten must not show in it."""

from pathlib import Path

import msgspec

from rewound.memory import Memory


def told(memory: Memory, event: str, *, dry_run: bool) -> str:
    return msgspec.json.encode(memory.undo(event, dry_run=dry_run, cascade=True)).decode()


def test_the_dry_run_of_undoing_a_forgetting_tells_no_text(tmp_path: Path) -> None:
    with Memory(tmp_path / "store") as memory:
        remembered = memory.remember("The code is zanzibar.").items[0]
        assert remembered.id is not None and remembered.event is not None
        forgetting = memory.forget(remembered.id).events[0]
        for event in (forgetting, remembered.event):
            preview = told(memory, event, dry_run=True)
            assert remembered.id in preview
            assert "zanzibar" not in preview
        assert "zanzibar" in told(memory, forgetting, dry_run=False)


def test_nor_do_the_sources_that_it_blacked_out(tmp_path: Path) -> None:
    with Memory(tmp_path / "store") as memory:
        sent = memory.add_messages([{"content": "The code is zanzibar."}], infer=False).items[0]
        assert sent.event is not None
        memory.forget(sent.facts)
        assert "zanzibar" not in told(memory, sent.event, dry_run=True)


def test_what_shows_is_told_as_before(tmp_path: Path) -> None:
    with Memory(tmp_path / "store") as memory:
        hidden = memory.remember("The code is zanzibar.").items[0]
        shown = memory.remember("Nina likes tea.").items[0]
        assert hidden.id is not None and shown.event is not None
        memory.forget(hidden.id)
        assert "Nina likes tea." in told(memory, shown.event, dry_run=True)
