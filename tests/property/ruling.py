"""Random rulings handed to the writer as the product's own workers do: what follows it decides.

`judging.py` appends what might follow by itself, and more wildly; here the deciders are tried.
"""

from rewound.eventlog import events as e
from rewound.eventlog.ids import EventId, GroupId
from rewound.eventlog.log import Draft
from rewound.llm.policy import Ruling
from rewound.memory import requests
from rewound.memory.deciding import Judge, Ruled
from tests.property.choices import Choices, chance, one
from tests.property.desk import Desk, event_id, fact_id
from tests.property.judging import DECIDED, OUTCOMES, PAIRS

NAMES: tuple[requests.OutcomeName, ...] = (
    "duplicate",
    "updates",
    "corrects",
    "extends",
    "distinct",
)


def ruled(c: Choices, old: str) -> Ruled:
    outcome = one(c, OUTCOMES)
    leaning = one(c, DECIDED) if outcome is e.Outcome.REVIEW else outcome
    evidence = {f"cosineq{240 + c.below(9)}": c.below(1000)}
    return Ruled(fact_id(old), Ruling(outcome, c.below(1000), leaning), evidence)


def judge(c: Choices, desk: Desk) -> Judge | None:
    """A fact, mostly one that waits for it, and some others; it may have been hidden meanwhile."""
    facts = list(desk.dump["facts"])
    waiting = [fact for fact in facts if fact in desk.dump["unjudged"]]
    again = not waiting or chance(c, 20)
    pool = facts if again else waiting
    if not pool:
        return None
    new = one(c, pool)
    others = [fact for fact in facts if fact != new]
    olds = list(dict.fromkeys(one(c, others) for _ in range(c.below(PAIRS + 1)) if others))
    pairs = [ruled(c, old) for old in olds]
    container = desk.driver.container(desk.name)
    policies = [event_id(row["event"]) for row in desk.dump["policies"].values()]
    policy = policies[0] if policies else None
    return Judge(container, fact_id(new), pairs, "rules/1", policy, again=again)


def label(c: Choices, desk: Desk) -> requests.Label | None:
    """A person's word on some pairs, those left open first."""
    pairs = [(new, old) for new, row in desk.dump["verdicts"].items() for old, *_ in row["pairs"]]
    left_open = [(new, old) for new, row in desk.dump["reviews"].items() for old in row["old"]]
    if not pairs:
        return None
    labels: list[requests.NewLabel] = []
    for _ in range(1 + c.below(2)):
        new, old = one(c, left_open if left_open and chance(c, 60) else pairs)
        confirm = chance(c, 60) if chance(c, 30) else None
        outcome = one(c, NAMES) if confirm is None else None
        labels.append(requests.NewLabel(fact=new, old=old, outcome=outcome, confirm=confirm))
    return requests.Label(container=desk.name, labels=tuple(labels))


def fit(c: Choices, desk: Desk) -> tuple[Draft, list[Judge]] | None:
    """A policy fitted from the labels, and the verdicts that come out otherwise under it."""
    labels = tuple(r.envelope.event_id for r in desk.of_type(e.LabelGiven))
    if not labels:
        return None
    bodies, fitted = desk.bodies(), EventId(desk.new_id())
    container = desk.driver.container(desk.name)
    event = e.PolicyFitted(container, bodies.piece(f"weight {c.below(9)}"), labels)
    turned: list[Judge] = []
    for new, row in desk.dump["verdicts"].items():
        if row["pairs"] and chance(c, 60):
            pairs = [ruled(c, old) for old, *_ in row["pairs"]]
            group = GroupId(fitted)
            causes = (fitted,)
            turned.append(
                Judge(
                    container, fact_id(new), pairs, "fitted anew", fitted,
                    again=True, causes=causes, group=group,
                )
            )  # fmt: skip
    return Draft(event, bodies.sealed, labels, event_id=fitted), turned
