"""One spelling of what looks the same: `é` is one character or two, depending on who typed it.

Texts and names are kept as they were sent. Where two are compared, or one is looked up, both are
composed first (NFC of Unicode TR15): a tag, a path or a name that a Mac spells in two characters is
found by what any other machine sends.
"""

from unicodedata import normalize


def composed(text: str) -> str:
    return text if text.isascii() else normalize("NFC", text)


def spellings(text: str) -> tuple[str, ...]:
    """The composed spelling of a text, then the one it was sent in, if that is another."""
    return tuple(dict.fromkeys((composed(text), text)))


def lengths(name: str) -> range:
    """How many characters a spelling of a composed name may have.

    What Unicode never composes is up to three characters in a composed name and may have been sent
    as one: the `ड़` of Hindi, a `שׁ` of Hebrew.
    """
    if name.isascii():
        return range(len(name), len(name) + 1)
    return range(-(-len(name) // 3), len(normalize("NFD", name)) + 1)
