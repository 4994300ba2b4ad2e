"""R29: `é` is one character or two, depending on the machine that sent it. Names in either spelling
are one name: what is filed under the one is found, and known again, by the other."""

from unicodedata import normalize

import pytest

from rewound.memory import Memory
from tests.cases.given import id_of

ONE = "Café Zoë"
TWO = normalize("NFD", ONE)
assert len(TWO) > len(ONE)


@pytest.fixture(params=[(ONE, TWO), (TWO, ONE)], ids=["kept in one", "kept in two"])
def spelt(request: pytest.FixtureRequest) -> tuple[str, str]:
    """How a name is kept, and how it is asked for."""
    found: tuple[str, str] = request.param
    return found


def test_r29_a_name_is_found_in_either_spelling(memory: Memory, spelt: tuple[str, str]) -> None:
    kept, asked = spelt
    fact = id_of(
        memory.remember(
            "A fact.", tags=[kept], metadata={"k": kept, kept: 1}, subject=kept,
            attribute="home", value="Rome",
        )
    )  # fmt: skip
    memory.add_messages([{"content": "I like tea.", "name": kept}], conversation=kept)
    memory.ingest("A page.", id=kept)
    (view,) = memory.list(tags=[asked]).items
    assert (view.id, view.tags, view.subject) == (fact, (kept,), kept), "it is kept as it was sent"
    for where in (
        {"field": "tag", "op": "eq", "value": asked},
        {"field": "tag", "op": "contains", "value": asked.split()[0]},
        {"field": "subject", "op": "eq", "value": asked.upper()},
        {"field": "entity", "op": "eq", "value": asked},
        {"field": "metadata.k", "op": "eq", "value": asked},
    ):
        assert memory.list(where=where).total == 1, where
    assert memory.list(metadata={"k": asked}).total == 1
    assert memory.list(metadata={asked: 1}).total == 1
    assert memory.list("message", source=asked).total == 1
    speaker = {"field": "speaker", "op": "eq", "value": asked}
    assert memory.list("message", where=speaker).total == 1
    assert memory.recent(asked).recent.text
    assert memory.timeline(asked).lines[0].periods[0].value == "Rome"
    assert memory.graph(asked).edges
    assert "A fact." in memory.profile(subject=asked).text


def test_r29_what_is_sent_again_in_the_other_spelling_is_known(
    memory: Memory, spelt: tuple[str, str]
) -> None:
    kept, asked = spelt
    for name, status in ((kept, "written"), (asked, "seen again")):
        assert memory.remember(f"{name} is open.").items[0].status == status
        said = memory.add_messages([{"content": name, "name": name}], conversation=name)
        assert said.items[0].status == status
    memory.ingest("A page.", id=kept)
    assert memory.ingest("A page.", id=asked).items[0].status != "written"
    assert memory.forget(text=f"{asked} is open.", dry_run=True).items
    assert memory.verify().ok and memory.rebuild().equal


@pytest.mark.parametrize(
    "name", ["स\u095cक", "\u0921\u093c", "ש\ufb2a\ufb2c", "\u0344.md", "क\u093cz"]
)
def test_r29_a_name_of_what_unicode_never_composes_is_found(memory: Memory, name: str) -> None:
    memory.ingest("A page.", id=name)
    memory.add_messages([{"content": "I like tea."}], conversation=name)
    for asked in (name, normalize("NFC", name), normalize("NFD", name)):
        assert memory.list("document", source=asked).total == 1
        assert memory.list("message", source=asked).total == 1


def test_r29_what_a_store_filed_as_it_was_sent_is_known_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As stores did before names were one in either spelling."""

    def send() -> list[str]:
        items = [
            *memory.remember("A fact.", id=TWO).items,
            *memory.remember(f"{TWO} is open.").items,
            *memory.add_messages(
                [{"content": TWO, "name": TWO, "id": TWO}], conversation=TWO
            ).items,
            *memory.ingest("A page.", id=TWO).items,
            *memory.ingest(f"{TWO} is a page.").items,
        ]
        return [item.status for item in items]

    with monkeypatch.context() as patched:
        patched.setattr("rewound.memory.identity.spellings", lambda text: (text,))
        assert send() == ["written"] * 5
    assert send() == ["seen again"] * 5
    assert memory.remember("A changed fact.", id=TWO).items[0].status == "replaced"
    assert memory.remember("A changed fact.", id=ONE).items[0].status == "seen again"
    assert (memory.list("fact").total, memory.list("document").total) == (2, 2)
    assert memory.remove_document(TWO).items[0].status == "done"
    assert memory.verify().ok and memory.rebuild().equal
