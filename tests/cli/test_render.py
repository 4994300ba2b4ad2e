"""What a person sees."""

from typing import Any

import msgspec
import pytest

from rewound.http import words
from rewound.http.accounts import Healthy
from rewound.http.render import RENDERERS, render
from rewound.http.render_parts import Look
from rewound.memory import replies as r
from rewound.memory.replies import NodeList, Recounted
from tests.cli import fake
from tests.cli.fake import SAMPLES, FakeLink, run

TERMINAL = Look(color=True, width=80, terminal=True)


def shown(reply: msgspec.Struct, look: Look = Look(), **more: Any) -> str:  # noqa: B008
    return render(reply, look, **more)


def test_every_reply_but_a_failure_can_be_printed() -> None:
    replies = {reply for reply in vars(r).values() if isinstance(reply, type)}
    asked = {reply for reply in replies if issubclass(reply, r.Reply)} - {r.Reply, r.Failure}
    assert asked <= set(RENDERERS)
    assert {type(sample) for sample in SAMPLES.values()} == asked


@pytest.mark.parametrize("name", SAMPLES)
def test_colour_changes_nothing_but_the_colour(name: str) -> None:
    import re

    plain = shown(SAMPLES[name], Look(width=200, terminal=True))
    coloured = shown(SAMPLES[name], Look(color=True, width=200, terminal=True))
    assert "\x1b" not in plain
    stripped = re.sub("\x1b\\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_hits_tell_source_date_and_standing() -> None:
    assert shown(SAMPLES["Found"]).splitlines() == [
        "1  Nina works at Orbit Labs.",
        "   fact · current since 2026-03-02 · score 1.25 · #work",
        "   Nina, 2026-03-02 in “planning”",
        f"   {fake.FACT}",
        "",
        "2  Nina works at Harbor Foods.",
        f"   fact · superseded 2026-05-01 by {fake.FACT} · score 0.50",
        "   guide.md · chars 120–180",
        f"   {fake.OLD}",
        "",
        "2 hits in default · as of 2026-03-03 23:59:59 (@7) · "
        "times without an offset read in Europe/Berlin · tags work",
        "note: the limit was lowered to 1,000",
    ]
    nothing = msgspec.structs.replace(SAMPLES["Found"], hits=(), moment=fake.NOW, filters={})
    assert shown(nothing).splitlines()[0] == "nothing found in default"


def test_a_search_tells_what_its_reranker_did() -> None:
    found = SAMPLES["Found"]
    assert isinstance(found, r.Found)
    first = msgspec.structs.replace(
        found.hits[0], reranked=r.Reranked(before=4, probability=0.25, score=0.875)
    )
    cost = r.Reranking(
        reranker="server/1 toy", hits=20, weight=0.5, ms=1234.5, calls=1, tokens=3210
    )
    lines = shown(msgspec.structs.replace(found, hits=(first,), reranking=cost)).splitlines()
    assert lines[1].endswith("score 1.25 · #work · was 4, likely 0.25, reranked 0.88")
    assert "the first 20 ordered anew by server/1 toy · 1,234 ms · 1 call · 3,210 tokens" in lines


def test_a_search_tells_in_which_words_it_was_sought() -> None:
    took = r.Rewriting(rewriter="model/1 toy", query="a\ndog pet", ms=812.0, calls=1, tokens=0)
    lines = shown(msgspec.structs.replace(SAMPLES["Found"], rewriting=took)).splitlines()
    assert "sought by “a dog pet”, put so by model/1 toy · 812 ms · 1 call" in lines


def test_a_question_in_parts_tells_what_each_found() -> None:
    took = r.Decomposing(
        decomposer="model/1 toy", parts=("Who?", "Where is {1}?"), ms=90.0, calls=1, tokens=40
    )
    searched = (
        r.Searched(query="where is who", hits=()),
        r.Searched(query="Who?", hits=("fact_1",)),
        r.Searched(query="Where is\nOmar?", hits=("fact_1", "fact_2")),
    )
    for name in ("Found", "Packed", "Traced"):
        lines = shown(
            msgspec.structs.replace(SAMPLES[name], decomposing=took, searched=searched)
        ).splitlines()
        at = lines.index("2 parts, says model/1 toy · 90 ms · 1 call · 40 tokens")
        assert lines[at + 1 : at + 4] == [
            "  the question: “where is who” · 0 hits",
            "  part 1: “Who?” · 1 hit",
            "  part 2: “Where is Omar?” · 2 hits",
        ]
    whole = msgspec.structs.replace(took, parts=())
    assert "not to be taken apart, says model/1 toy · 90 ms · 1 call · 40 tokens" in shown(
        msgspec.structs.replace(SAMPLES["Found"], decomposing=whole)
    )


def test_what_no_longer_holds_is_struck() -> None:
    coloured = shown(SAMPLES["Page"], TERMINAL)
    assert "\x1b[2;9mNina works at Harbor Foods." in coloured
    assert "\x1b[2;9mNina works at Orbit Labs." not in coloured


def test_a_list_is_aligned_and_ids_stand_whole_on_any_terminal() -> None:
    lines = shown(SAMPLES["Page"]).splitlines()
    assert lines[0].startswith(f"2026-03-02  {fake.OLD}  Nina works at Harbor")
    assert lines[1].startswith(f"2026-03-02  {fake.FACT}  Nina works at Orbit")
    for width in (60, 80, 100):
        look = Look(width=width, terminal=True)
        for name in ("Page", "Told", "Versions", "Forgot", "JobList", "Undid"):
            text = shown(SAMPLES[name], look)
            for id_ in (fake.FACT, fake.EVENT):
                assert id_ in text or id_ not in shown(SAMPLES[name])


def test_nothing_is_cut_when_a_program_reads() -> None:
    long = "word " * 200 + "end"
    page = msgspec.structs.replace(
        SAMPLES["Page"], items=(msgspec.structs.replace(fake.VIEW, text=long),)
    )
    assert long in shown(page)
    narrow = shown(page, Look(width=80, terminal=True))
    assert "end" not in narrow
    assert "…" in narrow
    assert all(len(line) <= 80 for line in narrow.splitlines())


def test_the_way_back_is_always_said() -> None:
    assert f"undo with: rewound undo {fake.EVENT}" in shown(SAMPLES["Written"])
    two = msgspec.structs.replace(fake.WRITTEN, items=fake.WRITTEN.items * 2)
    assert f"undo all with: rewound undo {fake.GROUP}" in shown(two)
    forgot = shown(SAMPLES["Forgot"])
    assert f"show again with: rewound restore {fake.FACT}" in forgot
    assert f"take the undo back with: rewound undo {fake.EVENT}" in shown(SAMPLES["Undid"])
    assert "cannot be undone" in shown(SAMPLES["Erased"])
    restored = shown(SAMPLES["Forgot"], verb="restored")
    assert "2 items restored" in restored
    assert "show again" not in restored.replace("shown again", "")


def test_a_dry_run_says_would() -> None:
    for name in ("Forgot", "Erased", "Undid"):
        text = shown(msgspec.structs.replace(SAMPLES[name], dry_run=True))
        assert "would" in text
        assert "rewound undo" not in text


def test_hints_lead_to_the_same_container_and_store() -> None:
    result = run("-c", "my work", "remember", "x", "--data", "/tmp/x y")
    hint = f"undo with: rewound undo {fake.EVENT} --data '/tmp/x y' -c 'my work'"
    assert hint in result.stdout
    assert run("remember", "x").stdout.endswith(f"rewound undo {fake.EVENT}\n")


def test_refused_items_and_old_ids_say_so() -> None:
    item = r.Item(
        status="refused", kind="fact", field="text", code="invalid_input", message="blank"
    )
    old = r.Item(status="replaced", kind="fact", id=fake.OLD, current=fake.FACT, event=fake.EVENT)
    text = shown(msgspec.structs.replace(fake.WRITTEN, items=(item, old), pending=1, refused=1))
    assert "refused   fact" in text
    assert "text: blank" in text
    assert f"current version is {fake.FACT}" in text
    assert "facts are still to be derived from 1 item: rewound jobs" in text


def test_long_writes_are_counted() -> None:
    items = tuple(msgspec.structs.replace(fake.WRITTEN.items[0]) for _ in range(1500))
    text = shown(msgspec.structs.replace(fake.WRITTEN, items=items))
    assert text.splitlines()[0] == "1,500 written"
    assert len(text.splitlines()) < 5


def judgements(evil: str, view: r.View) -> list[msgspec.Struct]:
    """Replies about judging with the text wherever one can stand."""
    pair = msgspec.structs.replace(fake.PAIR, old_text=evil, evidence={evil: 0.5})
    verdict = msgspec.structs.replace(fake.VERDICT, pairs=(pair,), fact_text=evil, judge=evil)
    source = msgspec.structs.replace(fake.FROM_CHAT, speaker=evil, conversation=evil)
    said = r.Period(id=fake.FACT, text=evil, standing=fake.CURRENT, value=evil, sources=(source,))
    edge = r.Edge(
        kind="attribute", source=evil, target=evil, fact=fake.FACT, standing=fake.CURRENT,
        relation=evil,
    )  # fmt: skip
    review = SAMPLES["ReviewList"]
    assert isinstance(review, r.ReviewList)
    return [
        msgspec.structs.replace(
            SAMPLES["Explained"],
            item=view,
            versions=(view, view),
            verdict=verdict,
            against=(verdict,),
            extractor=evil,
            notes=(evil,),
            quotes=(r.Quote(source=source, words=evil),),
            steps=(msgspec.structs.replace(fake.STEP, what=evil),),
        ),
        msgspec.structs.replace(
            review,
            container=evil,
            reviews=(
                msgspec.structs.replace(
                    review.reviews[0],
                    text=evil,
                    old_text=evil,
                    evidence={evil: 0.5},
                    sources=(source,),
                ),
            ),
        ),
        msgspec.structs.replace(
            SAMPLES["Fitted"],
            why=evil,
            accepted=False,
            flips=(msgspec.structs.replace(fake.FLIP, text=evil, old_text=evil),),
        ),
        msgspec.structs.replace(
            SAMPLES["Chronicle"],
            subject=evil,
            lines=(r.AttributeLine(attribute=evil, periods=(said,)),),
        ),
        msgspec.structs.replace(
            SAMPLES["Network"],
            entity=evil,
            path=(evil, evil),
            edges=(edge,),
            nodes=(r.Node(name=evil, distance=1, facts=1),),
        ),
    ]


@pytest.mark.parametrize(
    "evil",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07",
        "\x9b31m",
        "back\x08space",
        "a\rb",
        "\u202edlrow",
        "\u2066x",
        "bom\ufeff",
        "line\u2028break",
        "[bold]markup[/bold] :smile: [link=x]y[/link]",
    ],
)
def test_a_memory_cannot_move_the_terminal(evil: str) -> None:
    view = msgspec.structs.replace(
        fake.VIEW,
        text=evil,
        title=evil,
        tags=(evil,),
        metadata={evil: evil},
        scope={"user": evil},
        caller_id=evil,
        speaker=evil,
        sources=(msgspec.structs.replace(fake.FROM_CHAT, speaker=evil, conversation=evil),),
    )
    event = msgspec.structs.replace(fake.TOLD, texts={"text": evil}, data={"note": evil})
    change = msgspec.structs.replace(fake.CHANGE, text=evil)
    replies: list[msgspec.Struct] = [
        *judgements(evil, view),
        r.Shown(container=evil, item=view, moment=fake.NOW),
        msgspec.structs.replace(SAMPLES["Page"], items=(view,), container=evil, notes=(evil,)),
        msgspec.structs.replace(SAMPLES["Told"], events=(event,)),
        msgspec.structs.replace(SAMPLES["Differences"], learned=(change,), container=evil),
        msgspec.structs.replace(SAMPLES["Packed"], text=evil),
        msgspec.structs.replace(SAMPLES["Found"], filters={"tags": [evil]}, container=evil),
        msgspec.structs.replace(
            SAMPLES["Forgot"], items=(r.Hidden(id=fake.FACT, kind="fact", text=evil),)
        ),
        msgspec.structs.replace(
            SAMPLES["ContainerList"], containers=(msgspec.structs.replace(fake.INFO, name=evil),)
        ),
    ]
    for reply in replies:
        text = shown(reply)
        unsafe = set(text) & set("\x1b\x07\x9b\x08\r\u202e\u2066\ufeff\u2028")
        assert not unsafe, (type(reply), unsafe)
    if evil.startswith("[bold]"):
        assert all(evil in shown(reply) for reply in replies)


def test_colour_follows_the_setting_and_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in run("search", "x").stdout
    assert "\x1b[" in run("search", "x", "--color", "always").stdout
    monkeypatch.setattr(
        "click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False
    )
    assert "\x1b[" in run("search", "x", env={"TERM": "xterm"}).stdout
    assert "\x1b[" not in run("search", "x", env={"TERM": "xterm", "NO_COLOR": "1"}).stdout
    assert "\x1b[" not in run("search", "x", env={"TERM": "dumb"}).stdout
    assert "\x1b[" not in run("search", "x", "--color", "never", env={"TERM": "xterm"}).stdout


def test_why_is_one_screen_with_the_way_back_for_each_step() -> None:
    why = SAMPLES["Explained"]
    assert isinstance(why, r.Explained)
    text = shown(why)
    for part in (
        "“I work at Orbit Labs now.”",
        "by rules/1, confidence 0.87",
        "by features/1, under the policy that comes with Rewound",
        "leans to updates",
        f"a person said distinct ({fake.EVENT})",
        "cosine 0.80, words 0.50\n",
        f"rewound undo {fake.EVENT}",
        f"undone by {fake.EVENT}",
        "cannot be undone",
        "note: a note",
    ):
        assert part in text, part
    of_its_own = msgspec.structs.replace(fake.VERDICT, policy=fake.EVENT)
    assert f"under the policy of {fake.EVENT}" in shown(
        msgspec.structs.replace(why, verdict=of_its_own)
    )
    long = msgspec.structs.replace(why, steps=why.steps * 30, against=why.against * 30)
    lines = shown(long, Look(width=100, terminal=True)).splitlines()
    assert "  and 70 earlier steps (--json tells all)" in lines
    assert "  and 22 earlier ones (--json tells all)" in lines
    assert len([line for line in lines if "earlier" not in line]) < 80


def test_a_review_says_how_to_decide_it() -> None:
    text = shown(SAMPLES["ReviewList"])
    assert "leans to updates, 0.61 · cosine 0.80, words 0.50" in text
    assert f"decide with: rewound label {fake.FACT} {fake.OLD} updates" in text
    assert "1 of 3 to be decided in default" in text
    reviews = SAMPLES["ReviewList"]
    assert isinstance(reviews, r.ReviewList)
    other = msgspec.structs.replace(reviews.reviews[0], old=fake.EVENT, leaning="corrects")
    both = shown(msgspec.structs.replace(reviews, reviews=(*reviews.reviews, other)))
    assert f"decide with: rewound label {fake.FACT} {fake.OLD} updates" in both
    assert f"decide with: rewound label {fake.FACT} {fake.EVENT} corrects" in both


def test_a_fit_that_was_not_taken_says_why() -> None:
    refused = msgspec.structs.replace(
        SAMPLES["Fitted"], accepted=False, event=None, flips=(), why="it would be worse"
    )
    text = shown(refused)
    assert "the policy stays as it is (20 labels)" in text and "it would be worse" in text
    assert "undo" not in text
    dry = shown(msgspec.structs.replace(SAMPLES["Fitted"], dry_run=True))
    assert "would be fitted" in dry and "undo" not in dry


def test_a_context_without_lines_says_why() -> None:
    none = msgspec.structs.replace(SAMPLES["Packed"], lines=(), text="", recent=None)
    assert "nothing found" in shown(msgspec.structs.replace(none, nothing_relevant=True))
    assert "no room for what was found" in shown(none)
    recounted = SAMPLES["Recounted"]
    assert isinstance(recounted, Recounted)
    told = msgspec.structs.replace(none, recent=recounted.recent)
    assert "nothing but the recent part" in shown(told)


def test_a_page_says_how_to_go_on() -> None:
    result = run("list", link=FakeLink())
    assert "2 of 150 in default" in result.stdout
    assert "--cursor abc, or with --all" in result.stdout


def test_no_model_server_is_told_in_words() -> None:
    assert shown(NodeList(nodes=(), queues={}, degraded=())).startswith("no model server is set")


def test_nodes_are_told_by_role_and_lane() -> None:
    nodes = SAMPLES["NodeList"]
    assert isinstance(nodes, NodeList)
    calls = r.LaneCalls(running=1, ok=1_200, failed=0, away=2, given_up=0, seconds=9.0)
    (node,) = nodes.nodes
    address = node.addresses[0]
    lanes = {"interactive": calls, **address.lanes}
    both = msgspec.structs.replace(address, lanes=lanes)
    queue = r.LaneQueue(waiting=0, busy=1, away=4)
    reply = msgspec.structs.replace(
        nodes,
        nodes=(msgspec.structs.replace(node, addresses=(both,)),),
        queues={"interactive": queue, **nodes.queues},
    )
    table, *queues = shown(reply, Look(width=200)).splitlines()
    assert (
        "2 of 4 slots; interactive 1,200 done, 2 without an answer; background 12 done, 1 failed"
    ) in table
    assert queues == [
        "interactive lane: 1 turned away since too many waited, "
        "4 turned away since no server was up",
        "background lane: 3 waiting",
    ]
    healthy = Healthy(
        status="ok", degraded=(), extractor=None, embedder=None, judge=None, pending=0, failed=0,
        parked=0, unembedded=0, unjudged=0, nodes=reply.nodes, queues=reply.queues,
    )  # fmt: skip
    assert shown(healthy, Look(width=200)).splitlines()[-3:] == [table, *queues]


def test_words() -> None:
    assert words.counted(1, "fact") == "1 fact"
    assert words.counted(1203, "fact") == "1,203 facts"
    assert words.size(512) == "512 B"
    assert words.size(1 << 20) == "1.0 MiB"
    assert words.cut("abcdef", 4) == "abc…"
    assert words.day("2026-03-02T10:00:00Z") == "2026-03-02"
    assert words.minute("2026-03-02T10:00:01.5Z") == "2026-03-02 10:00:01"
    assert words.minute("2026-03") == "2026-03"
    assert words.minute("2026-03-02T00:00:00.000000Z") == "2026-03-02"
    assert words.safe("a\r\nb\tc") == "a\nb\tc"
    assert words.one_line("a\n b\u2028c") == "a b c"
