"""Words that exclude each other, words that mean the same, and numbers in any spelling.

A *class* is a set of which one place in a statement holds one member: a line that is yellow is not
red. Antonyms exclude each other too, but each only its own opposite.
"""

import threading
from functools import lru_cache

import Stemmer

from rewound.eventlog.letting_go import holds_texts

_CLASSES: dict[str, str] = {
    "colour": "red blue green yellow orange purple pink brown black white grey gray silver beige "
    "turquoise violet teal navy maroon crimson magenta cyan gold blond",
    "weekday": "monday tuesday wednesday thursday friday saturday sunday",
    "month": "january february march april maymonth june july august september october november "
    "december",
    "season": "spring summer autumn winter",
    "country": "afghanistan algeria argentina armenia australia austria bangladesh belgium bolivia "
    "brazil bulgaria canada chile china colombia croatia cuba cyprus denmark ecuador egypt england "
    "estonia ethiopia finland france georgia germany ghana greece hungary iceland india indonesia "
    "iran iraq ireland israel italy jamaica japan jordan kenya latvia lebanon lithuania luxembourg "
    "malaysia malta mexico morocco nepal netherlands new_zealand nigeria north_korea norway "
    "pakistan "
    "panama peru philippines poland portugal romania russia saudi_arabia scotland senegal serbia "
    "singapore slovakia slovenia south_africa south_korea spain sweden switzerland syria taiwan "
    "tanzania thailand tunisia turkey uganda ukraine united_kingdom uk united_states usa uruguay "
    "venezuela vietnam wales zimbabwe",
    "nation": "american argentinian australian austrian belgian brazilian british canadian chilean "
    "chinese cuban czech danish dutch egyptian english finnish french german greek hungarian "
    "indian "
    "indonesian iranian irish israeli italian japanese kenyan malaysian mexican moroccan "
    "north_korean norwegian pakistani polish portuguese romanian russian scottish south_korean "
    "spanish swedish swiss thai turkish ukrainian vietnamese welsh",
    "city": "amsterdam athens atlanta auckland austin bangkok barcelona beijing belgrade berlin "
    "bern "
    "bogota boston bratislava bristol brussels bucharest budapest cairo calgary cardiff chicago "
    "cologne copenhagen dallas delhi denver detroit dubai dublin dresden edinburgh florence "
    "frankfurt geneva ghent glasgow graz hamburg hanoi helsinki hong_kong houston istanbul jakarta "
    "johannesburg kyiv krakow kyoto lagos leeds leipzig lima lisbon liverpool ljubljana london "
    "los_angeles lyon madrid manchester manila marseille melbourne mexico_city miami milan "
    "minneapolis montreal moscow mumbai munich nairobi naples new_york nice osaka oslo ottawa "
    "oxford paris philadelphia phoenix porto portland prague riga rome rotterdam salzburg "
    "san_diego san_francisco santiago sao_paulo seattle seoul seville shanghai sofia stockholm "
    "stuttgart sydney taipei tallinn tokyo toronto turin utrecht valencia vancouver venice vienna "
    "vilnius warsaw wellington zagreb zurich",
    "drink": "beer wine champagne whisky whiskey gin vodka tequila rum cider brandy coke cola "
    "lemonade juice tea coffee espresso cappuccino latte cocoa hot_chocolate milk water soda",
    "vegetable": "carrot potato tomato onion celery pumpkin cucumber zucchini avocado eggplant "
    "cabbage broccoli spinach lettuce",
    "room": "kitchen bathroom bedroom living_room dining_room classroom courtroom common_room "
    "garage office lounge hallway prison_cell attic basement cellar library ballroom",
    "material": "brick glass sand cement concrete plastic wood bronze stone copper titanium "
    "aluminium "
    "aluminum steel iron marble leather silver gold",
    "instrument": "saxophone trumpet banjo cello piano violin clarinet oboe tuba harmonica harp "
    "french_horn didgeridoo flute guitar electric_guitar acoustic_guitar drums accordion ukulele "
    "trombone viola bassoon",
    "planet": "mercury venus earth mars jupiter saturn uranus neptune pluto",
    "vehicle": "car bike bicycle bus train tram van truck motorbike scooter boat ship plane",
    "meal": "breakfast lunch dinner brunch supper",
    "pet": "dog cat parrot rabbit hamster horse snake turtle",
    "status": "open closed active inactive enabled disabled blocked unblocked pending approved "
    "rejected cancelled canceled finished unfinished paused suspended archived deprecated broken "
    "fixed resolved unresolved draft published merged done complete completed live offline online "
    "available unavailable public private optional mandatory required",
    "parcel": "ordered order transit packed shipped dispatched arrived delivered returned",
    "diet": "vegan vegetarian pescatarian omnivore carnivore keto",
    "marital": "single married divorced engaged widowed separated",
    "database": "postgres postgresql mysql mariadb sqlite mongodb redis cassandra dynamodb oracle "
    "cockroachdb duckdb clickhouse lmdb",
    "cloud": "aws azure gcp google_cloud heroku digitalocean hetzner render vercel netlify",
    "code": "python java javascript typescript rust go golang ruby php kotlin swift scala elixir "
    "haskell perl c++ c#",
    "editor": "vim neovim emacs vscode vs_code pycharm intellij sublime zed nano",
    "ci": "jenkins github_actions gitlab_ci circleci travis buildkite teamcity",
    "chat": "slack teams discord telegram whatsapp signal zulip mattermost",
    "os": "windows linux macos ubuntu debian fedora android ios",
    "broker": "kafka rabbitmq nats sqs pulsar",
    "browser": "chrome firefox safari edge opera brave",
    "frontend": "react vue angular svelte solid ember",
    "tracker": "jira linear trello asana notion github_issues redmine",
    "bundler": "npm yarn pnpm bun",
    "packager": "pip poetry uv conda pipenv",
    "format": "json yaml toml xml csv parquet protobuf avro",
    "theme": "dark light",
    "shift": "day night",
    "frequency": "hourly daily weekly fortnightly biweekly monthly quarterly yearly annually",
    "daytime": "morning noon afternoon evening night midnight daytime nighttime",
    "compass": "north south east west northern southern eastern western",
    "level": "beginner intermediate advanced amateur professional junior senior",
    "priority": "low medium high critical",
    "ordinal": "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "sixteenth twentieth last",
}

_ANTONYMS = """
near/far close/far inside/outside indoors/outdoors sun/moon little,small,tiny/big,large,giant,huge
start,begin/end,finish,stop including/excluding can/cannot selling,sell,sold/buying,buy,bought
behind/front young,teenage/old,elderly,senior,aged happy,glad,pleased/unhappy,sad,depressed,angry
cloudy/sunny
long,tall/short empty/full annoy/satisfy man,men/woman,women boy,boys/girl,girls standing,stand/
sitting,sit,running,run,lying,lie large/tiny old/new up/down day,daytime/night,nighttime
mother,mom,mum/father,dad good/bad,poor every,all,everybody,everyone/some,none,nobody,no
bright,light/dark hot,warm/cold,cool thin,narrow/thick,wide,broad same,identical/different,other
lost/found,won lose/win,find alive/dead 
love,loves,like,likes,adore,enjoy/hate,hates,dislike,dislikes,detest,loathe
accept,accepted/reject,rejected,decline,declined allow,allowed/forbid,forbidden,deny,denied
always/never,sometimes,rarely,seldom often/rarely,seldom,never early/late above/below over/under
before/after left/right top/bottom rich,wealthy/poor strong/weak fast,quick/slow clean/dirty
dry/wet loud/quiet easy,simple/hard,difficult cheap/expensive safe/dangerous first/last
fail,failing,fails/pass,passes,passing profit/loss won,win/lost,lose
increase,raise,rise,increased,raised/
decrease,lower,drop,decreased,lowered,reduce,reduced
enable,enabled/disable,disabled on/off true/false male/female king/queen husband/wife
brother/sister
son,boy/daughter uncle/aunt hire,hired/fire,fired arrive,arrived/leave,left,depart,departed
join,joined/leave,left,quit open,opened/close,closed,shut add,added/remove,removed,drop,dropped
push/pull give,gave/take,took borrow/lend teach/learn remember/forget succeed,succeeded/fail,failed
pass,passed/fail,failed come/go send/receive import/export upload/download upstairs/downstairs
asleep/awake healthy/sick,ill possible/impossible able/unable willing/unwilling lucky/unlucky
comfortable/uncomfortable legal/illegal married/single,divorced major/minor minimum/maximum
background/foreground upper/lower interior/exterior public/private together/apart,alone,separately
profit/loss win/lose supports,support,favors/opposes,oppose professional/amateur crowded/empty
everything/nothing everywhere/nowhere noisy/quiet beautiful,pretty/ugly smiling,laughing/frowning,
crying
"""

_SYNONYMS = """
small,little,tiny big,large,huge,giant,enormous,massive near,close street,road happy,glad,pleased,
delighted,joyful mom,mum,mother dad,father talk,speak sad,unhappy,miserable
pretty,beautiful kid,child,children begin,start purchase,buy car,automobile film,movie sofa,couch
job,position autumn,fall postgres,postgresql gray,grey whisky,whiskey aluminum,aluminium
photo,picture,photograph doctor,physician phone,telephone,cell,mobile
reside,live company,firm colleague,coworker bike,bicycle shop,store present,gift
doctor,physician holiday,vacation flat,apartment infant,baby go,golang vscode,vs_code
sofa,couch smart,clever,intelligent fast,quick,rapid angry,mad scared,afraid,frightened
rug,carpet student,pupil forest,woods rock,stone taxi,cab coat,jacket wealthy,rich
quiet,silent jump,leap shout,yell,scream strange,weird,odd sidewalk,pavement lawyer,attorney
end,finish,complete nobody,no_one,noone throw,toss attractive,pretty grin,smile lift,raise
usa,united_states,us uk,united_kingdom,britain canceled,cancelled ill,sick rubbish,trash,garbage
"""

_NUMBERS = {
    name: str(number)
    for number, name in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | dict(
    zip(
        "thirty forty fifty sixty seventy eighty ninety hundred thousand million".split(),
        "30 40 50 60 70 80 90 100 1000 1000000".split(),
        strict=True,
    )
)
_ORDINALS = {
    name: str(number)
    for number, name in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
        "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth "
        "twentieth".split(),
        1,
    )
}
_MONTHS = {short: full for full in _CLASSES["month"].split() for short in (full[:3], full)} | {
    "sept": "september"
}

_stemmer = Stemmer.Stemmer("english", 0)
_turn = threading.Lock()


@holds_texts
@lru_cache(maxsize=1 << 16)
def stem(low: str) -> str:
    """The Snowball stem of a lower-case word; numbers and identifiers stay as they are.

    Words that mean the same have one stem.
    """
    with _turn:  # The stemmer keeps a buffer.
        root: str = _stemmer.stemWord(low) if low.isascii() and low.isalpha() else low
    if root in _OF_TWO_MEANINGS and low != root:
        return root
    return _SAME.get(low) or _SAME.get(root, root)


# Close is near, but closed is not; a present is a gift, but to present is to show.
_OF_TWO_MEANINGS = frozenset(("close", "present", "cell", "flat", "shop", "move"))


def _synonyms() -> dict[str, str]:
    same: dict[str, str] = {}
    for group in "".join(_SYNONYMS.replace(",\n", ",")).split():
        first, *others = group.split(",")
        root = same.get(first, str(_stemmer.stemWord(first)))
        for word in (first, *others):
            same[word] = root
            same[str(_stemmer.stemWord(word))] = root
    return same


_SAME: dict[str, str] = {}
_SAME.update(_synonyms())


def _members() -> dict[str, frozenset[str]]:
    classes: dict[str, set[str]] = {}
    for name, members in _CLASSES.items():
        for member in members.split():
            for form in (member, stem(member)):
                classes.setdefault(form, set()).add(name)
    return {word: frozenset(names) for word, names in classes.items()}


def _opposites() -> frozenset[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for pair in _ANTONYMS.replace("/\n", "/").replace(",\n", ",").split():
        left, right = pair.split("/")
        for one in left.split(","):
            for other in right.split(","):
                found |= {(stem(one), stem(other)), (stem(other), stem(one)), (one, other)}
                found.add((other, one))
    return frozenset(found)


_MEMBERS = _members()
_OPPOSITES = _opposites()
PHRASES = {
    tuple(member.split("_")): member
    for members in _CLASSES.values()
    for member in members.split()
    if "_" in member
}
PHRASES[("no", "1")] = "no_one"
"""Names of several words, as one word each."""


@holds_texts
@lru_cache(maxsize=1 << 14)
def classes_of(word: str) -> frozenset[str]:
    """The classes that a lower-case word, or its stem, is a member of."""
    if word[:1].isdigit():
        return frozenset({"ordinal" if word[-2:] in ("st", "nd", "rd", "th") else "number"})
    return _MEMBERS.get(word) or _MEMBERS.get(stem(word), frozenset())


@holds_texts
@lru_cache(maxsize=1 << 16)
def are_opposites(one: str, other: str) -> bool:
    """Hot and cold, and what a prefix turns round: happy and unhappy."""
    if (one, other) in _OPPOSITES or (stem(one), stem(other)) in _OPPOSITES:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) > 3 and long in {f"{turn}{short}" for turn in _TURNS}


_TURNS = ("un", "in", "im", "ir", "dis", "non", "il")


def number_of(low: str) -> str | None:
    """`three` as 3; None for what is no number word. An ordinal keeps its mark: 3rd."""
    if low in _NUMBERS:
        return _NUMBERS[low]
    if low in _ORDINALS:
        return ordinal(_ORDINALS[low])
    return None


def ordinal(digits: str) -> str:
    """`3` as 3rd."""
    ends = {"1": "st", "2": "nd", "3": "rd"}
    return digits + ("th" if digits[-2:-1] == "1" else ends.get(digits[-1], "th"))


def month_of(low: str) -> str | None:
    """The full name of a month, short or long; May has one of its own, for `may` is a verb."""
    return _MONTHS.get(low)
