"""More faults of the kinds R25 and R29: one word in many spellings, scripts side by side, signs."""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import pytest

from rewound.memory.models import EmbedderName
from tests.cases.asking import BOTH, WORDS, Shelf, likely, shelf, shown
from tests.cases.doors import DOORS, Shop, open_shop


@pytest.fixture(scope="module", params=BOTH)
def here(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shelf]:
    embedder: EmbedderName = request.param
    yield from shelf(tmp_path_factory.mktemp("scripts"), embedder)


@pytest.fixture(scope="module")
def by_words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    yield from shelf(tmp_path_factory.mktemp("words"), WORDS)


# A text, and what of it people type.
SPELLED: dict[str, Sequence[str]] = {
    # without spaces between words, down to a single character
    "明日は陶芸教室に行く予定です": ("陶", "陶芸", "陶芸教室", "陶芸教室はいつ?"),
    "猫が好きです": ("猫", "猫が"),
    "犬が好きです": ("犬",),
    "书法课在周五。": ("书", "书法", "书法课"),
    "김민수는 등산을 좋아한다.": ("등", "등산", "등산을", "민수", "김민수"),
    "ผมแพ้กุ้งมาก": ("กุ้ง", "แพ้กุ้ง"),
    "ｶﾌｪで会う": ("カフェ", "ｶﾌｪ", "カフェで"),
    # from right to left
    "שלום, הפגישה ביום שלישי": ("שלום", "הפגישה", "\u200fהפגישה\u200f", "פגישה", "שָׁלוֹם"),
    "الاجتماع يوم الثلاثاء في القاعة الكبيرة": (
        "الثلاثاء", "الاجتماع يوم الثلاثاء", "اجتماع", "الثَّلاثاء", "القاعه", "للاجتماع",
    ),
    # letters with marks
    "Müller wohnt in Köln.": (
        "müller", "MÜLLER", "Muller", "Koln", "KO\u0308LN", "Mueller", "KOELN",
    ),
    "Frau Schoen kauft Broetchen.": ("Schön", "Bro\u0308tchen", "schoen"),
    "Zoë's Smørrebrød": ("smoerrebroed", "smorrebrod"),
    "Die Straße ist gesperrt.": ("Straße", "Strasse", "STRASSE", "STRAẞE"),
    "Der Mietvertrag endet im Mai.": ("Mietvertrag", "Mietvertrags"),
    "Café Zoë opens at nine.": ("cafe zoe", "Cafe\u0301 Zoe\u0308", "CAFÉ ZOË"),
    "Le rendez-vous est à l'hôtel.": ("rendez-vous", "rendez vous", "l’hôtel", "hotel"),
    "El niño comió piñas.": ("nino", "nin\u0303o", "PIÑAS"),
    "Łukasz lives in Łódź.": ("lukasz", "Lodz", "łódź"),
    "A naïve coöperation.": ("naive", "NAÏVE"),
    "The trip to São Paulo.": ("sao paulo", "São Paulo"),
    "Ångström is a unit.": ("angstrom", "A\u030angstro\u0308m", "\u212bngström"),
    # the two i of Turkish
    "İSTANBUL'da buluşalım.": ("istanbul", "İstanbul", "ISTANBUL", "ıstanbul"),
    "Isparta güzeldir.": ("isparta", "ISPARTA", "Isparta"),
    "Diyarbakır'a gittik.": ("diyarbakir", "DİYARBAKIR", "DIYARBAKIR", "Diyarbakır"),
    # other alphabets
    "Ελλάδα: η συνάντηση είναι Τρίτη.": ("ΕΛΛΑΔΑ", "ελλαδα", "Τρίτη", "τριτη"),
    "Встреча с Ёлкиным во вторник.": (
        "Ёлкиным", "ёлкиным", "Е\u0308ЛКИНЫМ", "ВТОРНИК", "елкиным", "ЕЛКИНЫМ",
    ),
    "नमस्ते दुनिया": ("दुनिया", "नमस्ते"),
    # wide, joined and unseen
    "Ｒｏｏｍ １２３ is on the left.": ("room 123", "１２３", "Ｒｏｏｍ", "ROOM １２３"),
    "The year is ２０２６.": ("2026", "２０２６"),
    "The ﬁnal oﬃce ﬂoor.": ("final", "office floor", "oﬃce"),
    "A co\u00adope\u2060rative bank.": ("cooperative bank", "co\u00adoperative bank"),
    # side by side
    "5G网络3月上线": ("5g", "网络", "3月"),
    "Tom 喜欢 iPhone 手机": ("手机", "iPhone 手机", "TOM 喜欢"),
    "新しいAndroidを買った": ("android", "買った", "Androidを"),
    # signs
    "We had pizza 🍕 on Friday.": ("🍕", "🍕🍕🍕", "pizza🍕"),
    "Party 🎉🎉 at Ann's.": ("🎉",),
    "👩‍👧 family day": ("👩‍👧", "👩"),
    "I ❤️ tea.": ("❤️", "❤", "❤\ufe0e"),
    "Flag 🇩🇪 on the car.": ("🇩🇪",),
    "Thumbs 👍🏽 from Tom.": ("👍", "👍🏽", "👍🏿"),
    "The price is €5 → ask Zed.": ("→", "€5"),
}  # fmt: skip
EACH = [(text, query) for text, queries in SPELLED.items() for query in queries]


@pytest.mark.parametrize(("text", "query"), EACH, ids=[ascii(query) for _, query in EACH])
def test_r25_one_word_in_its_spellings(here: Shelf, text: str, query: str) -> None:
    found = here.facts(tuple(SPELLED)).search(query)
    assert found.hits[0].text == text, shown(found)


Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = get_args(Form)


@pytest.mark.parametrize("kept", FORMS)
def test_r25_forms_of_normalisation_find_each_other(by_words: Shelf, kept: Form) -> None:
    """What is kept is what was sent; what is found is what a reader takes for the same."""
    words = ("Ängstlich café ﬁnal", "한국어를 배운다", "ｶﾞﾗｽの靴", "Ǻ ǖ ṩ Ω Å", "हिन्दी क़लम")
    sent = [unicodedata.normalize(kept, text) for text in words]
    memory = by_words.facts(sent)
    assert [view.text for view in memory.list().items] == sent
    for text, as_sent in zip(words, sent, strict=True):
        for form in FORMS:
            found = memory.search(unicodedata.normalize(form, text))
            assert found.hits[0].text == as_sent, shown(found)
            other = memory.search(unicodedata.normalize(form, text.upper()))
            assert other.hits[0].text == as_sent, shown(other)


class Apart(NamedTuple):
    """What is spelled in a way that words alone do not bring together, and how it is found."""

    text: str
    query: str
    spelled: str


NOT_BY_WORDS = {
    "part of a compound": Apart("Die Kündigungsfrist ist kurz.", "Frist", "Kündigungsfrist"),
    "head of a compound": Apart("Der Mietvertrag endet bald.", "Vertrag", "Mietvertrag"),
    "plural of another language": Apart("Die Katze schläft.", "Katzen", "Katze"),
    "case of another language": Apart("Кошки спят.", "кошка", "кошки"),
    "a break inside a word": Apart("The co\u200boperative bank.", "cooperative", "operative"),
    "hiragana for katakana": Apart("カフェで会う", "かふぇ", "カフェ"),
    "old characters for new": Apart("书法课在周五。", "書法", "书法"),
    "a Thai letter": Apart("ผมแพ้กุ้งมาก", "ก", "กุ้ง"),
    "two spellings of Hindi": Apart("हिन्दी में लिखा", "हिंदी", "हिन्दी"),
    "a letter too few": Apart("Nadia restores accordions.", "acordions", "accordion"),
    "letters changed about": Apart("Please receive the parcel.", "recieve", "receive"),
    "another language": Apart("The cat is called Pepper.", "Wie heißt die Katze?", "the cat"),
    "number in words": Apart("The ladder has 3 rungs.", "three", "3"),
}


@pytest.mark.parametrize("given", NOT_BY_WORDS.values(), ids=NOT_BY_WORDS.keys())
def test_r25_what_words_do_not_bring_together_is_said_and_not_lost(
    by_words: Shelf, given: Apart
) -> None:
    """These are not found today. Found or not, nothing else is given for them; an empty reply says
    that the words are not there; and the text is found by its own spelling."""
    memory = by_words.facts((given.text, "The weather was fine.", "Погода хорошая.", "天気がいい"))
    found = memory.search(given.query)
    assert {hit.text for hit in likely(found)} <= {given.text}, shown(found)
    assert found.hits or found.notes[0].startswith("nothing stored holds a word of the query")
    assert memory.search(given.spelled).hits[0].text == given.text
    assert given.text in [view.text for view in memory.list().items]


NOT_THERE = ("🦄", "👾🚀", "犭", "ʘ", "Ж", "金属", "ភ្នំ", "١٢٣", "\U0001f9ff", "\ue000", "\ufffd")


@pytest.mark.parametrize("query", NOT_THERE, ids=ascii)
def test_r25_a_sign_that_nobody_wrote_is_in_no_text(by_words: Shelf, query: str) -> None:
    memory = by_words.facts(tuple(SPELLED))
    for asked in (query, query * 3, f" {query}\n"):
        found = memory.search(asked)
        assert found.hits == () and found.notes, shown(found)
        assert memory.context(asked).lines == ()


@pytest.mark.parametrize(
    "query", ["🍕 pizza 🦄", "where is 🦄 the pizza", "pizza\u200d\u2066🍕\u2069"]
)
def test_r25_what_is_unknown_does_not_hide_what_is_known(here: Shelf, query: str) -> None:
    found = here.facts(tuple(SPELLED)).search(query)
    assert found.hits[0].text == "We had pizza 🍕 on Friday.", shown(found)


# --- through every door, as it was sent


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with open_shop(tmp_path_factory.mktemp("doors"), REWOUND_EMBEDDER="none") as shop:
        shop.memory.container("scripts").remember(list(SPELLED))
        yield shop


@pytest.mark.parametrize("name", DOORS)
def test_r25_every_door_finds_and_shows_the_same(shop: Shop, name: str) -> None:
    door = DOORS[name](shop, "scripts")
    memory = shop.memory.container("scripts")
    for text, queries in SPELLED.items():
        hits = door.search(queries[-1])
        assert hits[0]["text"] == text, (queries[-1], hits[:2])
        order = [(hit.id, hit.score) for hit in memory.search(queries[-1]).hits]
        assert [(hit["id"], hit["score"]) for hit in hits] == order


@pytest.mark.parametrize("name", DOORS)
def test_r25_what_a_door_takes_in_is_found_through_the_others(shop: Shop, name: str) -> None:
    door = DOORS[name](shop)
    texts = [text for text in SPELLED if not text.isascii()][::4]
    for text in texts:
        door.remember(text)
    assert sorted(view["text"] for view in door.views()) == sorted(texts)
    for other in DOORS.values():
        through = other(shop, door.container)
        for text in texts:
            assert through.search(SPELLED[text][0])[0]["text"] == text
