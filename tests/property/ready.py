"""Whether the engine is whole: what needs it is skipped as long as deciders are missing."""

from rewound.memory import deciding, requests

MISSING = sorted(
    command.__name__ for command in {*requests.Write.__subclasses__()} - set(deciding.load())
)
REASON = f"no decider yet for {', '.join(MISSING)}"
