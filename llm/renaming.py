"""Whether a statement gives another name to what an older one only tells the name of."""

import re

_NAME = r"(?P<new>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,3})"
_ACTIVE = re.compile(
    r" (?:re-?named|rechristened|rebranded) (?:(?:the|their|our|his|her|[\w ]{1,30}['’]s) )?"
    rf"(?P<old>[\w'’ -]{{1,40}}?) (?:(?:to|as|into) )?{_NAME}(?=$|[ ,;.])"
)
_PASSIVE = re.compile(
    r"^(?:[Tt]he )?(?P<old>[\w'’ -]{1,40}?) (?:(?:was|is|has been|got) (?:now )?(?:re-?named|"
    rf"rechristened|rebranded)(?: (?:to|as))?|is now called) {_NAME}(?=$|[ ,;.])"
)
_CALLED = re.compile(
    r"^(?:[Tt]he )?(?P<thing>[\w'’ -]{1,60}?)(?:['’]s name is|['’]s name was| (?:is|was|are)"
    r"(?: now)? (?:called|named)) (?P<name>[\w'’ -]{1,40})$"
)


def renames(new: str, old: str) -> bool:
    """Apollo was renamed to Zephyr: then nothing is called Apollo any more. So it is where the
    thing itself is named, the dog whose name was Pip; never by the same name."""
    told = _CALLED.match(old.rstrip("."))
    found = _PASSIVE.match(new) or _ACTIVE.search(new)
    if told is None or found is None or found["new"].lower() == told["name"].lower():
        return False
    renamed = found["old"].lower()
    thing = re.sub(r".*['’]s ", "", told["thing"]).lower()
    return renamed in (told["name"].lower(), thing)
