"""Text -> index terms, the same for documents and queries.

A text is folded first: NFKC and casefold (Unicode TR15 and D145), invisible characters out, curly
quotes and dashes to ASCII, accents off Latin and Greek letters, dots off `ё`, vowel marks off
Arabic and Hebrew; Arabic letters that are written for each other are one. Then it is cut into
*tokens*, and every token gives one or more *terms*:

- a word gives its Snowball English stem (Porter 2001) if it is all ASCII letters, else itself:
  numbers and identifiers stay exact;
- words held together by inner punctuation (`multi-agent`, `don't`, `src/main.py`, `v1.2.3`) give
  each part and a joined form, so that the whole outranks its parts; `C++` and `C#` also give
  themselves; a final `'s` is dropped;
- a version or code with a leading `v` gives itself without that too (`v1.2.3` and `1.2.3`), and
  groups of digits that stand together (`+49 (0)30 901820`, `978-3-16-148410-0`) also give all
  their digits as one term, from seven digits on: they are written in one piece or in several;
- a word with an umlaut also gives how it is written without one (`Müller` and `mueller`), an
  Arabic or Hebrew word itself without its article, and a code in two pieces both as one (`LH 403`
  and `lh403`);
- a run of a script without spaces gives its overlapping character bigrams (R25: bigrams find words
  of two characters, trigrams do not), and for Han and Hangul the single characters too;
- other symbols (`"`, `(`, `→`, an emoji) give themselves, once a text, after all else.

A term has 1 to `TERM_BYTES_MAX` UTF-8 bytes and no NUL. Nothing here raises on any `str`, and the
work grows linearly with the text. All functions may be called from any thread.
"""

import re
import threading
from base64 import b32encode
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Final, NamedTuple
from unicodedata import category, combining, normalize

import Stemmer

from rewound.eventlog.letting_go import named

TERM_BYTES_MAX: Final = 64
"""A longer term is replaced by a digest of the whole, so that long look-alikes stay apart."""

CACHED_TOKENS_MAX: Final = 1 << 16
"""Bound of the token cache that all threads share, about 16 MB; when full it starts anew."""

_JOINS_MAX = 63  # of one token: bounds what the regex engine has to remember
_MARKS_MAX = 30  # on one letter (TR15's stream-safe form): sorting a run of them is quadratic

_SPLIT = re.compile(r"[/\\@?&#]+")  # the pieces between these have joined forms of their own
_VERSION = re.compile(r"v[0-9]")
# Groups of digits as phones and codes have them; `(0)` is what is left out behind a country code.
_GROUPED = re.compile(r"[0-9](?<![\w.][0-9])[0-9]{0,14}(?:[-. ()/]{1,3}[0-9]{1,15}){1,11}(?!\w)")
_LEFT_OUT = re.compile(r" ?\(0\) ?|[^0-9]+")
_DIGITS_MIN, _DIGITS_MAX = 7, 20
_SOFT = frozenset("-'_,")  # what people leave out: `e-mail` and `email`, `1,200` and `1200`
_SYMBOLS = frozenset('"$()*;<>[]^`{|}')

# Han (with 々〆〇) and Hangul: one character may be a word.
_SINGLE = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af"
# Thai, Lao, Myanmar, Khmer, Tai Le and Lue, Tai Tham, Kana and Bopomofo; and the Hangul letters,
# to which NFKC turns those that stand alone.
_SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u1049\u1050-\u109d\ua9e0-\ua9fe"
    "\uaa60-\uaa76\uaa7a-\uaadd\u1780-\u17d3\u17d7\u17dc-\u17e9\u17f0-\u17f9\u1950-\u19da"
    "\u1a20-\u1a99\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb" + _SINGLE
)
_IS_SINGLE = re.compile(f"[{_SINGLE}]").match
_IS_SPACELESS = re.compile(f"[{_SPACELESS}]").match

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20f0"
    "\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]+"
)
"""And the tones of skin: a thumb is found in whichever it was sent."""
_LOOKALIKE = re.compile("[‘’‛ʼ‐–−⁄]")
_ASCII_OF = dict(zip("‘’‛ʼ‐–−⁄", "''''---/", strict=True))
_ACCENTED = re.compile("[\u00c0-\u024f\u0300-\u036f\u0386-\u03ce\u1e00-\u1fff]")
_ACCENTS = re.compile("(?<=[a-zα-ω])[\u0300-\u036f]+")
# What is written above and below letters for how they are spoken, and what draws them out.
_SPOKEN = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670]+"
)
_ALIKE = str.maketrans("أإآٱىیئؤةک\u05be", "اااايييوهك-")
_SEMITIC = re.compile("[\u0591-\u06cc]")
_ARTICLE = re.compile("[وفبك]?ال(?=...)|لل(?=...)|ה(?=...)")
_UMLAUTED = re.compile("[A-Za-z\u00c0-\u024f]*[äöüåøÄÖÜÅØ][A-Za-z\u00c0-\u024f]*")
_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"}
    | {"Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Å": "Aa", "Ø": "Oe"}
)
_UMLAUTED_MAX = 64  # characters of a word
_CODE = re.compile(r"(?<![\w.-])([A-Z]{1,3}) ([0-9]{2,5})(?![\w.-])")
_STROKES = {"æ": "ae", "đ": "d", "ħ": "h", "ı": "i", "ł": "l", "ø": "o", "œ": "oe", "ŧ": "t"}
_STROKE = re.compile(f"[{''.join(_STROKES)}]")


class _Patterns(NamedTuple):
    tokens: Callable[[str], list[str]]
    words: Callable[[str], list[str]]
    signed: Callable[[str], list[str]]
    """Words that carry `++` or `#`."""
    symbols: Callable[[str], list[str]]


def _patterns(word: str, symbol: str, spaceless: str = "") -> _Patterns:
    """Patterns over character classes, which are given without their brackets."""
    # `--` and `..` part words; a comma joins only the groups of a number.
    join = r"(?:(?!--|\.\.)[-'_./\\:@&=?#%+~]{1,3}|(?<=[0-9]),(?=[0-9]{3}(?![0-9])))"
    token = rf"[{word}]+(?:{join}[{word}]+){{0,{_JOINS_MAX}}}(?:\+\+|\#)?"
    return _Patterns(
        re.compile(rf"[{spaceless}]+|{token}" if spaceless else token).findall,
        re.compile(rf"[{word}]+").findall,
        re.compile(rf"[{word}]+(?:\+\+|\#$)").findall,
        re.compile(rf"[{symbol}]").findall,
    )


class _Unicode(NamedTuple):
    patterns: _Patterns
    marks: frozenset[str]
    """Characters that normalisation puts in order behind their letter."""
    crowd: re.Pattern[str]
    """More of them in a row than any writing has; its group holds those that are kept."""


_ASCII_SYMBOL = re.escape("".join(sorted(_SYMBOLS)))
_ASCII = _patterns("a-z0-9", _ASCII_SYMBOL)


@cache
def _unicode() -> _Unicode:
    """Patterns for all of Unicode: tens of milliseconds, so not before they are needed.

    Beyond U+FFFF whole blocks stand for their characters: `re` tries such ranges one by one.
    """
    words: list[int] = []
    symbols: list[int] = []
    for code in (*range(0x80, 0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0xFFFD)):
        char = chr(code)
        kind = category(char)
        if kind[0] in "LNM" and not _IS_SPACELESS(char):
            words.append(code)
        elif kind in ("So", "Sm", "Sc"):
            symbols.append(code)
    # The halfwidth voice marks are letters, but NFKC makes marks of them.
    marks = [code for code in range(0x300, 0x1EFFF) if combining(chr(code))] + [0xFF9E, 0xFF9F]
    mark = _ranges(sorted(marks))
    return _Unicode(
        _patterns(
            "a-z0-9" + _ranges(words) + "\U00010000-\U0001ceff\U0001df00-\U0001efff",
            _ASCII_SYMBOL + _ranges(symbols) + "\U0001cf00-\U0001deff\U0001f000-\U0001fbff",
            _SPACELESS,
        ),
        frozenset(map(chr, marks)),
        re.compile(f"([{mark}]{{{_MARKS_MAX}}})[{mark}]+"),
    )


def _ranges(codes: list[int]) -> str:
    """Ascending code points as the inside of a character class."""
    starts = [b for a, b in pairwise([-2, *codes]) if b != a + 1]
    ends = [a for a, b in pairwise([*codes, -2]) if b != a + 1]
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True))


def folded(text: str) -> str:
    """The form in which texts are compared; see the module's docstring."""
    if text.isascii():
        return text.lower()
    text = _LOOKALIKE.sub(lambda found: _ASCII_OF[found[0]], _INVISIBLE.sub("", text))
    if text.isascii():
        return text.lower()
    if not _unicode().marks.isdisjoint(text):
        text = _unicode().crowd.sub(r"\1", text)
    text = normalize("NFKC", normalize("NFKC", text).casefold())
    if _ACCENTED.search(text):
        text = _STROKE.sub(lambda found: _STROKES[found[0]], normalize("NFD", text))
        text = normalize("NFC", _ACCENTS.sub("", text))
    text = text.replace("ё", "е")
    if _SEMITIC.search(text):
        text = _SPOKEN.sub("", text).translate(_ALIKE)
    return _LOOKALIKE.sub(lambda found: _ASCII_OF[found[0]], text)


class _PerThread(threading.local):
    """Two threads must not share a stemmer. It keeps no cache of its own: ours is enough."""

    def __init__(self) -> None:
        self.stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord


_thread = _PerThread()


def _bounded(term: str) -> str:
    """The term, or 24 characters of ASCII for one that is too long (115 bits of BLAKE2b)."""
    if len(term) * 4 <= TERM_BYTES_MAX:
        return term
    raw = term.encode("utf-8", "surrogatepass")
    if len(raw) <= TERM_BYTES_MAX:
        return term
    return "~" + b32encode(blake2b(raw, digest_size=15).digest()).decode("ascii").lower()[:23]


def _word(word: str) -> str:
    if len(word) <= TERM_BYTES_MAX and word.isascii() and word.isalpha():
        return _thread.stem(word)
    return _bounded(word)


def _joined(piece: str, words: Sequence[str]) -> str:
    """One term for words held together, without the punctuation that people leave out."""
    piece = piece.replace(",", "")
    between = set(piece).difference(*words)
    # `3-2` must not become the number 32.
    if between <= _SOFT and not all(word.isdigit() for word in words):
        return _word("".join(words))
    return _bounded(piece)


def _compound(token: str) -> list[str]:
    """Terms of a token with punctuation in it: its words, then the joined forms."""
    patterns = _ASCII if token.isascii() else _unicode().patterns
    token = token.removesuffix("'s")
    words = patterns.words(token)
    terms = [_word(word) for word in words]
    terms += [_bounded(signed) for signed in patterns.signed(token)]
    token = token.rstrip("+#")
    pieces = _SPLIT.split(token)
    for piece in pieces:
        inner = patterns.words(piece)
        if len(inner) > 1:
            whole = piece.strip("-'_.:=%+~")
            terms.append(_joined(whole, inner))
            if _VERSION.match(whole):
                terms.append(_bounded(whole[1:]))
    if len(pieces) > 1:
        terms.append(_joined(token, words))
    return terms


def _grams(run: str) -> list[str]:
    """Terms of a run without spaces."""
    if len(run) == 1:
        return [run]
    return [*map("".join, pairwise(run)), *filter(_IS_SINGLE, run)]


class _Terms(dict[str, tuple[str, ...]]):
    """Token -> its terms. Shared: single dict operations are atomic, and the values are frozen."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        if token.isascii() and token.isalnum():
            terms = [_word(token)]
        else:
            terms = _grams(token) if _IS_SPACELESS(token) else _compound(token)
            if article := _ARTICLE.match(token):
                terms.append(_bounded(token[article.end() :]))
        found = tuple(terms)
        if len(token) <= TERM_BYTES_MAX:
            if len(self) >= CACHED_TOKENS_MAX:
                self.clear()
            self[token] = found
        return found


_terms = _Terms()


def clear_cache() -> None:
    """Forget every token seen so far."""
    _terms.clear()


named(clear_cache, lambda: len(_terms))  # an erase leaves no word behind in memory


def tokenize(text: str) -> list[str]:
    """The index terms of a text, in its order, repeated as often as they occur."""
    others = _other_spellings(text)
    text = folded(text)
    patterns = _ASCII if text.isascii() else _unicode().patterns
    terms = list(chain.from_iterable(map(_terms.__getitem__, patterns.tokens(text))))
    terms += _numbers(text)
    terms += others
    if symbols := patterns.symbols(text):
        terms.extend(dict.fromkeys(symbols))
    return terms


def _other_spellings(text: str) -> list[str]:
    """Terms of words with umlauts as they are written without, and of codes as one piece. The text
    is not folded yet."""
    found = [(letters + digits).lower() for letters, digits in _CODE.findall(text)]
    if not text.isascii():
        composed = normalize("NFC", text) if "\u0308" in text or "\u030a" in text else text
        words = (word.translate(_UMLAUTS) for word in _UMLAUTED.findall(composed))
        found += [_word(folded(word)) for word in words if len(word) <= _UMLAUTED_MAX]
    return found


def _numbers(text: str) -> list[str]:
    """The digits of each row of groups as one term."""
    found = (_LEFT_OUT.sub("", row) for row in _GROUPED.findall(text))
    return [digits for digits in found if _DIGITS_MIN <= len(digits) <= _DIGITS_MAX]


def tokenize_many(texts: Sequence[str]) -> list[list[str]]:
    """`tokenize` of every text."""
    return [tokenize(text) for text in texts]


def query_terms(text: str) -> list[str]:
    """The distinct terms by which to search for a text, best left to right as written.

    Left out are the single characters of a longer run, which the bigrams say better, and stop
    words and signs as long as another term remains. Empty for a text without any term.
    """
    others = _other_spellings(text)
    text = folded(text)
    patterns = _ASCII if text.isascii() else _unicode().patterns
    terms: dict[str, None] = {}
    for token in patterns.tokens(text):
        grams = len(token) > 1 and _IS_SPACELESS(token)
        terms |= dict.fromkeys(t for t in _terms[token] if not (grams and len(t) == 1))
    terms |= dict.fromkeys([*_numbers(text), *others])
    terms |= dict.fromkeys(patterns.symbols(text))
    telling = [term for term in terms if not is_stopword(term)]
    return telling or list(terms)


_FUNCTION_WORDS = """
a about am an and any are as at be been being but by can could did do does doing for from had has
have having he her here hers him his how i if in into is it its me mine my of on or our ours she
should so than that the their theirs them then there these they this those to too was we were what
when where which while who whom whose why with would you your yours yourself
d ll m re s t ve i'm i've i'd i'll you're you've he's she's it's we're we've they're
don't doesn't didn't isn't aren't wasn't weren't hasn't haven't hadn't wouldn't shouldn't couldn't
"""
# Parts of the last line that are words or names of their own.
_CONTENT = frozenset({"don", "doesn", "didn", "isn"})


@cache
def _stopwords() -> frozenset[str]:
    """Stems, so that `doing` is caught by `do`; the list holds no word that is also a name."""
    return frozenset(tokenize(_FUNCTION_WORDS)) - _CONTENT | _SYMBOLS


def is_stopword(term: str) -> bool:
    """Whether a term says so little that a query drops it as long as another one remains."""
    return term in _stopwords()
