"""One spelling of what looks the same: `é` is one character or two, depending on who typed it.

Texts and names are kept as they were sent. Where two are compared, or one is looked up, both are
composed first (NFC of Unicode TR15): a tag, a path or a name that a Mac spells in two characters is
found by what any other machine sends.
"""

from unicodedata import normalize


def composed(text: str) -> str:
    return text if text.isascii() else normalize("NFC", text)


def lengths(name: str) -> range:
    """How many characters a spelling of a composed name may have."""
    longest = len(name) if name.isascii() else len(normalize("NFD", name))
    return range(len(name), longest + 1)
