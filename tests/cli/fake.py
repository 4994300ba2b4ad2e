"""A store that answers what it is told to, and one sample of every reply."""

from collections.abc import Callable
from typing import Any

import msgspec
from click.testing import CliRunner, Result

from rewound.http.cli import main
from rewound.http.cli_base import State
from rewound.memory import replies as r

FACT = "fact_01jdzy3m8q9v2k7x4w5e6t7y8z"
OLD = "fact_01jdzy3m8q0000000000000000"
DOC = "doc_01jdzy3m8q1v2k7x4w5e6t7y8z"
MSG = "msg_01jdzy3m8q2v2k7x4w5e6t7y8z"
EVENT = "ev_01jdzy3m8q3v2k7x4w5e6t7y8z"
GROUP = "grp_01jdzy3m8q4v2k7x4w5e6t7y8z"
NOW = r.Moment(position=12)
THEN = r.Moment(position=7, as_of="2026-03-03T23:59:59.999999Z", zone="Europe/Berlin")

FROM_GUIDE = r.Source(id=DOC, kind="document", title="guide.md", start=120, end=180)
FROM_CHAT = r.Source(
    id=MSG,
    kind="message",
    conversation="planning",
    role="user",
    speaker="Nina",
    time="2026-03-02T10:00:00.000000Z",
)
CURRENT = r.Standing(state="current")
OVER = r.Standing(state="superseded", by=FACT, at="2026-05-01T00:00:00.000000Z")

VIEW = r.View(
    id=FACT,
    kind="fact",
    text="Nina works at Orbit Labs.",
    fact_kind="fact",
    standing=CURRENT,
    root=OLD,
    current=FACT,
    supersedes=(OLD,),
    valid_from="2026-03-02",
    recorded_at="2026-03-02T10:00:01.000000Z",
    tags=("work",),
    metadata={"n": 3},
    scope={"user": "nina"},
    sources=(FROM_GUIDE, FROM_CHAT),
    event=EVENT,
)
OLD_VIEW = msgspec.structs.replace(
    VIEW, id=OLD, text="Nina works at Harbor Foods.", standing=OVER, tags=()
)
TOLD = r.EventView(
    id=EVENT,
    position=3,
    type="fact remembered",
    recorded_at="2026-03-02T10:00:01.000000Z",
    items=(FACT,),
    texts={"text": "Nina works at Orbit Labs."},
)
SWITCH = r.VectorSwitch(
    old="hashing/384/1", new="all-MiniLM-L6-v2/int8/8199be6f/2", state="making", done=1_200,
    total=5_000,
)  # fmt: skip
CHANGE = r.Change(view="facts", id=FACT, change="appears", text="Nina works at Orbit Labs.")
INFO = r.ContainerInfo(
    name="default",
    id="con_01jdzy3m8q5v2k7x4w5e6t7y8z",
    zone="UTC",
    position=12,
    head="ab" * 32,
    counts={"documents": 1, "facts": 2},
    last_recorded_at="2026-03-02T10:00:01.000000Z",
)

WRITTEN = r.Written(
    container="default",
    group=GROUP,
    position=12,
    items=(r.Item(status="written", kind="fact", id=FACT, event=EVENT),),
)
FORGOT = r.Forgot(
    container="default",
    group=GROUP,
    position=13,
    events=(EVENT,),
    items=(
        r.Hidden(id=FACT, kind="fact", text="Nina works at Orbit Labs."),
        r.Hidden(id=OLD, kind="fact", text="Nina works at Harbor Foods."),
    ),
    count=2,
    masked=1,
)

PAIR = r.PairView(
    old=OLD,
    outcome="review",
    probability=0.61,
    old_text="Nina works at Harbor Foods.",
    leaning="updates",
    label="distinct",
    label_event=EVENT,
    evidence={"words": 0.5, "cosine": 0.8, "negation": 0.0},
)
VERDICT = r.VerdictView(
    event=EVENT,
    fact=FACT,
    recorded_at="2026-03-02T10:00:02.000000Z",
    pairs=(PAIR,),
    fact_text="Nina works at Orbit Labs.",
    judge="features/1",
)
STEP = r.Step(
    event=EVENT,
    position=3,
    type="fact remembered",
    recorded_at="2026-03-02T10:00:01.000000Z",
    what=f"{FACT} was stated: “Nina works at Orbit Labs.”",
    undo=f"rewound undo {EVENT}",
)
FLIP = r.Flip(
    fact=FACT,
    old=OLD,
    was="review",
    outcome="updates",
    probability=0.9,
    text="Nina works at Orbit Labs.",
    old_text="Nina works at Harbor Foods.",
)

EXPLANATION = r.Explanation(
    place=1,
    of=OLD,
    nearness=r.Nearness(
        rank=4, closeness=0.5, words=2.5, share=0.8, meaning=0.3, previous=MSG,
        previous_share=0.25, previous_meaning=0.125,
    ),
    rank=2,
    score=4.5,
    logit=0.75,
    probability=0.679,
    unit=MSG,
    further=1,
    collapsed=1,
    features=tuple(
        r.Feature(name=f"feature {number}", value=1.0, weight=0.5, adds=1.0 / number)
        for number in range(1, 11)
    ),
)  # fmt: skip
RANKING = r.Ranking(
    ranker="lists", version=1, words_alone=False,
    understood=r.Understood(
        when=True, many=False, suggestion=False, assistant=False, first_person=True, months=(5,),
        years=(2026,), speakers=("nina",),
    ),
    entries=1_200, allowed=1_100, found=900, candidates=300, units=250, fit=0.75, best=5.0,
    slope=0.5,
)  # fmt: skip

PROFILE_LINE = r.ProfileLine(
    id=FACT, kind="preference", text="Nina likes tea.", sources=3, tokens=17, since="2026-03-02"
)

SAMPLES: dict[str, r.Reply] = {
    "Written": WRITTEN,
    "Forgot": FORGOT,
    "Erased": r.Erased(
        container="default",
        position=13,
        event=EVENT,
        items=FORGOT.items,
        bodies=3,
        stands_in=(DOC,),
        compaction="done",
    ),
    "Undid": r.Undid(
        container="default",
        position=14,
        event=EVENT,
        dropped=(EVENT,),
        changes=(msgspec.structs.replace(CHANGE, change="disappears"),),
    ),
    "Found": r.Found(
        container="default",
        query="where",
        hits=(
            r.Hit(
                id=FACT,
                kind="fact",
                text="Nina works at Orbit Labs.",
                score=1.25,
                signals={"words": 1.25},
                standing=CURRENT,
                sources=(FROM_CHAT,),
                valid_from="2026-03-02",
                tags=("work",),
            ),
            r.Hit(
                id=OLD,
                kind="fact",
                text="Nina works at Harbor Foods.",
                score=0.5,
                signals={"words": 0.5},
                standing=OVER,
                sources=(FROM_GUIDE,),
            ),
        ),
        moment=THEN,
        filters={"tags": ["work"]},
        notes=("the limit was lowered to 1,000",),
    ),
    "Traced": r.Traced(
        container="default",
        query="where",
        limit=3,
        fate=r.Fate(
            id=DOC,
            kind="document",
            found=False,
            told="psg_1: it would be hit 7",
            reason="beyond_limit",
            place=7,
            by=FACT,
        ),
        moment=THEN,
        part="psg_1",
        parts=(
            r.Fate(id="psg_1", kind="passage", found=True, told="it is hit 1", place=1),
            r.Fate(id="psg_2", kind="passage", found=False, told="no word", reason="no_word"),
        ),
        explanation=EXPLANATION,
        ranking=RANKING,
        filters={"tags": ["work"]},
        notes=("one note",),
    ),
    "Packed": r.Packed(
        container="default",
        query="where",
        text="2026-03-02 Nina works at Orbit Labs. [fact_01]\n",
        tokens=14,
        budget=1200,
        lines=(r.Line(id=FACT, text="Nina works at Orbit Labs.", tokens=14),),
        moment=NOW,
    ),
    "Responded": r.Responded(
        container="default",
        query="where",
        answered=True,
        text="Nina works at Orbit Labs. [1]",
        sentences=(r.Sentence(text="Nina works at Orbit Labs.", cites=(1,), ids=(FACT,)),),
        used=(FACT,),
        given=(
            r.GivenLine(
                number=1,
                id=FACT,
                kind="fact",
                text="Nina works at Orbit Labs.",
                score=0.8,
                date="2026-03-02",
                until="2026-05-01",
                asked="Where?",
                state="superseded",
            ),
            r.GivenLine(
                number=2,
                id="msg_1",
                kind="message",
                text="Yes.",
                score=0.3,
                by="Nina",
            ),
        ),
        moment=NOW,
        withheld=(r.WithheldSentence(reason="it cites nothing"),),
        answering=r.Answering(answerer="model/1 toy", calls=1, tokens=300, ms=12.5),
    ),
    "Recounted": r.Recounted(
        container="default",
        recent=r.ShortTerm(
            conversation="planning",
            conversations=("conv_01jzzzzzzzzzzzzzzzzzzzzzzz",),
            messages=(
                r.Turn(
                    id="msg_3",
                    role="user",
                    text="Is it May?\nYes.",
                    time="2026-03-02T10:00:00Z",
                    speaker="Nina",
                    scope={"user": "nina"},
                ),
            ),
            summaries=(
                r.Summary(
                    id="ev_9",
                    text="The launch moved to May. [1]",
                    cites=("msg_1",),
                    first="msg_1",
                    last="msg_2",
                    count=2,
                    since="2026-03-02",
                    until="2026-03-02",
                    scope={"user": "nina"},
                    summarizer="model/1",
                    cut=True,
                ),
            ),
            facts=(
                r.OlderFact(
                    id=FACT, text="Nina likes tea", messages=("msg_2",), since="2026-03-02"
                ),
            ),
            told_by="both",
            older=3,
            summed=2,
            left_out=1,
            chars=15,
            tokens=80,
            counter="estimate",
            text="The last messages:",
        ),
        moment=NOW,
        notes=("one note",),
    ),
    "Page": r.Page(
        container="default",
        items=(OLD_VIEW, VIEW),
        total=150,
        limit=2,
        has_more=True,
        cursor="abc",
        moment=NOW,
    ),
    "Shown": r.Shown(container="default", item=VIEW, moment=NOW),
    "Told": r.Told(container="default", events=(TOLD,), next=3, moment=NOW),
    "Versions": r.Versions(
        container="default",
        id=FACT,
        current=FACT,
        versions=(OLD_VIEW, VIEW),
        events=(TOLD,),
        moment=NOW,
    ),
    "Differences": r.Differences(
        container="default", start=THEN, end=NOW, learned=(CHANGE,), changed=(), gone=()
    ),
    "Explained": r.Explained(
        container="default",
        item=VIEW,
        quotes=(r.Quote(source=FROM_CHAT, words="I work at Orbit Labs now."),),
        extractor="rules/1",
        confidence=0.87,
        versions=(OLD_VIEW, VIEW),
        verdict=VERDICT,
        against=(msgspec.structs.replace(VERDICT, policy=EVENT),),
        steps=(
            STEP,
            msgspec.structs.replace(STEP, position=4, undo=None, undone_by=EVENT),
            msgspec.structs.replace(STEP, position=5, undo=None),
        ),
        moment=THEN,
        notes=("a note",),
    ),
    "ReviewList": r.ReviewList(
        container="default",
        reviews=(
            r.Review(
                fact=FACT,
                old=OLD,
                text="Nina works at Orbit Labs.",
                old_text="Nina works at Harbor Foods.",
                leaning="updates",
                probability=0.61,
                judged=EVENT,
                evidence=PAIR.evidence,
                standing=CURRENT,
                old_standing=CURRENT,
                valid_from="2026-03-02",
                sources=(FROM_CHAT,),
                old_sources=(FROM_GUIDE,),
            ),
        ),
        total=3,
        has_more=True,
        cursor="abc",
        moment=NOW,
    ),
    "Labelled": r.Labelled(
        container="default",
        group=GROUP,
        position=14,
        labels=(r.LabelView(event=EVENT, fact=FACT, old=OLD, was="review", outcome="updates"),),
        changes=(msgspec.structs.replace(CHANGE, id=OLD, change="changes", fields=("ended",)),),
    ),
    "Fitted": r.Fitted(
        container="default",
        position=15,
        accepted=True,
        event=EVENT,
        labels=20,
        figures={"error_before": 0.21, "error_after": 0.12},
        flips=(FLIP,),
    ),
    "Rejudged": r.Rejudged(
        container="default",
        group=GROUP,
        position=16,
        sources=1,
        learned=(FORGOT.items[0],),
        ended=(FORGOT.items[1],),
        judged=2,
        flips=(FLIP,),
    ),
    "Chronicle": r.Chronicle(
        container="default",
        subject="Nina",
        lines=(
            r.AttributeLine(
                attribute="works at",
                periods=(
                    r.Period(
                        id=OLD,
                        text="Nina works at Harbor Foods.",
                        standing=OVER,
                        value="Harbor Foods",
                        valid_from="2026-03-01",
                        valid_to="2026-05-01",
                        sources=(FROM_GUIDE,),
                    ),
                    r.Period(id=FACT, text="Nina works at Orbit Labs.", standing=CURRENT),
                ),
            ),
            r.AttributeLine(attribute=None, periods=()),
        ),
        has_more=True,
        moment=THEN,
    ),
    "Network": r.Network(
        container="default",
        entity="Nina",
        nodes=(r.Node(name="Orbit Labs", distance=1, facts=2),),
        edges=(
            r.Edge(
                kind="attribute",
                source="Nina",
                target="Orbit Labs",
                fact=FACT,
                standing=CURRENT,
                relation="works at",
                valid_from="2026-03-02",
            ),
            r.Edge(kind="updates", source=FACT, target=OLD, fact=FACT, standing=OVER),
        ),
        path=("Nina", "Orbit Labs"),
        has_more=True,
        moment=NOW,
    ),
    "Portrait": r.Portrait(
        container="default",
        subject="Nina",
        text="# What is known\n\n## Stable\n- [2026-03-02] Nina likes tea. (" + FACT + ")",
        tokens=40,
        budget=1_000,
        stable=(PROFILE_LINE,),
        recent=(),
        buckets={"preferences": (PROFILE_LINE,), "work": ()},
        left_out=2,
        moment=NOW,
        notes=("one note",),
    ),
    "JobList": r.JobList(
        container="default",
        pending=1,
        failed=0,
        parked=1,
        jobs=(
            r.Job(source=DOC, kind="document", state="pending"),
            r.Job(source=MSG, kind="message", state="parked", attempts=5, why="empty reply"),
        ),
        moment=NOW,
        unjudged=4,
    ),
    "ContainerList": r.ContainerList(containers=(INFO,), total=1, has_more=False, cursor=None),
    "Figures": r.Figures(
        container="default",
        containers=1,
        info=(INFO,),
        events=12,
        log_bytes=20_480,
        view_bytes=1_400_000,
        views={"facts": 1, "words": 1},
        switch=SWITCH,
    ),
    "Verified": r.Verified(
        ok=True, events=12, bodies=20, erased=0, head="cd" * 32, expected=None, findings=()
    ),
    "Sealed": r.Sealed(head="cd" * 32, containers=2),
    "Accepted": r.Accepted(recorded_at="2026-03-02T10:00:01.000000Z"),
    "NodeList": r.NodeList(
        nodes=(
            r.NodeShown(
                name="gpu",
                lanes=("interactive", "background"),
                addresses=(
                    r.NodeAddress(
                        roles=("chat",),
                        url="http://10.0.0.2:8082",
                        state="up",
                        draining=False,
                        slots=4,
                        busy=1,
                        lanes={
                            "background": r.LaneCalls(
                                running=1,
                                ok=12,
                                failed=1,
                                away=0,
                                given_up=0,
                                seconds=30.5,
                            )
                        },
                        checked={"chat": "ok"},
                    ),
                ),
            ),
        ),
        queues={"background": r.LaneQueue(waiting=3, busy=0, away=0)},
    ),
    "Working": r.Working(
        state="running",
        extractor="rules/1",
        embedder="hashing/384/1",
        pending=3,
        failed=1,
        parked=0,
        unembedded=2,
        judge="features/1",
        unjudged=4,
        switch=SWITCH,
        notes=("one note",),
    ),
    "Rebuilt": r.Rebuilt(views={"facts": 2}, events=12, equal=True),
    "Reembedding": r.Reembedding(
        model="hashing/384/1",
        embedder="all-MiniLM-L6-v2/int8/8199be6f/2",
        switch=SWITCH,
        unembedded=2,
        notes=("one note",),
    ),
    "Replayed": r.Replayed(
        at=THEN, events=7, containers=1, rows={"facts": 2}, agrees=True, to="/tmp/then"
    ),
}
"""One reply of each type, by its name."""

ANSWERED_WITH = {
    "Remember": "Written",
    "Ingest": "Written",
    "AddMessages": "Written",
    "Update": "Written",
    "Configure": "Written",
    "RemoveDocument": "Written",
    "Retry": "Written",
    "Forget": "Forgot",
    "Restore": "Forgot",
    "Erase": "Erased",
    "Undo": "Undid",
    "Search": "Found",
    "Explain": "Traced",
    "Context": "Packed",
    "Inquire": "Responded",
    "Recent": "Recounted",
    "Profile": "Portrait",
    "List": "Page",
    "Get": "Shown",
    "History": "Versions",
    "Events": "Told",
    "Diff": "Differences",
    "Why": "Explained",
    "Reviews": "ReviewList",
    "Label": "Labelled",
    "Fit": "Fitted",
    "Rejudge": "Rejudged",
    "Timeline": "Chronicle",
    "Graph": "Network",
    "Jobs": "JobList",
    "Containers": "ContainerList",
    "Stats": "Figures",
    "Verify": "Verified",
    "Rebuild": "Rebuilt",
    "Reembed": "Reembedding",
    "Replay": "Replayed",
    "Seal": "Sealed",
    "AcceptClock": "Accepted",
    "Workers": "Working",
    "Nodes": "NodeList",
}

Answer = r.Reply | Exception | Callable[[Any], r.Reply]


class FakeLink:
    """Keeps what it was asked; answers with the samples unless told otherwise."""

    def __init__(self, **answers: Answer) -> None:
        self.answers = answers
        self.requests: list[Any] = []
        self.settled = False
        self.closed = False

    def call(self, request: Any) -> r.Reply:
        self.requests.append(request)
        name = type(request).__name__
        answer = self.answers.get(name, SAMPLES[ANSWERED_WITH[name]])
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, r.Reply) else answer(request)

    def settle(self, timeout_s: float) -> bool:
        self.settled = True
        return True

    def close(self) -> None:
        self.closed = True


def run(
    *args: str,
    link: FakeLink | None = None,
    input: bytes | str | None = None,  # noqa: A002  as CliRunner names it
    env: dict[str, str | None] | None = None,
) -> Result:
    """The command line over a fake store, with nothing of this machine's settings."""
    clean = {"REWOUND_CONFIG": None, "XDG_CONFIG_HOME": "/nowhere", "NO_COLOR": None}
    clean |= {f"REWOUND_{name}": None for name in ("DATA", "CONTAINER", "ZONE", "JSON", "COLOR")}
    clean |= {f"REWOUND_{name}": None for name in ("LIMIT", "PAGE", "BUDGET", "MAX_TEXT_MB")}
    state = State(link or FakeLink())
    return CliRunner().invoke(
        main, list(args), obj=state, input=input, env={**clean, **(env or {})}
    )


def asked(*args: str, **more: Any) -> Any:
    """The one request that a command puts to the store."""
    link = FakeLink()
    result = run(*args, link=link, **more)
    assert result.exit_code == 0, result.output
    assert len(link.requests) == 1
    return link.requests[0]
