"""Words that put right what was said: `Correction: my dog is called Max`, `Max, not Rex`.

Of most attributes there is one value at a time, and a new one takes the old one's place by itself.
Of others there are several (dogs, languages, allergies): there a new value stands beside the old,
unless words say that the old one was wrong.
"""

import re

_PLAIN = re.compile(
    r"\b(?:correction|corrected|typo|(?:scratch|strike) that|i (?:misspoke|mistyped|meant|lied)"
    r"|(?:i )?take (?:that|it) back|my (?:mistake|bad)|(?:i|that|it) was wrong"
    r"|got (?:that|it) wrong|wrong (?:name|word|one)|(?:just )?kidding|jk)\b",
    re.I,
)


def is_put_right(said: str, old_value: str | None, *, soon: bool) -> bool:
    """Whether the words of a new statement say that `old_value` was wrong: they name it, or they
    plainly correct and came soon after it."""
    if soon and _PLAIN.search(said):
        return True
    if not old_value:
        return False
    wrong = re.escape(old_value.strip())
    return (
        re.search(
            rf"\b(?:not|instead of|rather than) (?:(?:an?|the|at|on|in|to) )?{wrong}(?!\w)",
            said,
            re.I,
        )
        is not None
    )
