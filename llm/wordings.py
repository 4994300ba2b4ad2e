"""How attributes are worded when two statements are compared: in any tense, from either side.

The rows of `attribute_table` find an attribute in a finished statement when a fact is drawn. These
go further, for a comparison forgives more: phrases and nouns that mean one attribute, the words
that end it, and those that name it from the value's side.
"""

from typing import NamedTuple


class Wording(NamedTuple):
    """One attribute in the words of people.

    `phrases` stand between subject and value (`lives in`), in any tense, with or without an
    article or an adverb inside. `nouns` name the attribute (`phone number`: Nina's phone number
    is …, the phone number of Nina is …). `ends` say that a value holds no more (`moved out of`).
    `owned` are phrases the other way round, from the value to the subject (Nina owns the billing
    service). `single` says that a subject has one value at a time, so that a new one ends the old.
    """

    name: str
    phrases: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    single: bool = True


def _row(
    name: str,
    phrases: str = "",
    nouns: str = "",
    ends: str = "",
    owned: str = "",
    single: bool = True,
) -> Wording:
    return Wording(name, _split(phrases), _split(nouns), _split(ends), _split(owned), single)


def _split(listed: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in listed.split(",") if phrase.strip())


WORDINGS: tuple[Wording, ...] = (
    _row(
        "home",
        "lives in, lives at, lives near, lives with, living in, resides in, resides at, is based "
        "in, is based out of, based in, relocated to, settled in, settled down in, "
        "moved back to, moved back in with, moved to, moved into, rents a flat in, "
        "has an apartment in, bought a house "
        "in, calls home, is living in, is at home in, moves to, is back in",
        "home, home town, hometown, home city, city of residence, residence, current city, town, "
        "place of residence",
        "moved out of, moved away from, left town",
    ),
    _row(
        "employer",
        "works at, works for, works with, joined, is employed by, is employed at, started at, "
        "started working at, started working for, got a job at, took a job at, started a job at, "
        "started a new job at, accepted an offer from, accepted a job at, has a job at, got hired "
        "by, was hired by, was hired at, switched jobs to, moved jobs to, interns at, teaches at, "
        "is on the staff of, changed jobs to, changed employers to",
        "employer, workplace, company",
        "quit her job at, quit his job at, quit my job at, left her job at, left his "
        "job at, left my job at, resigned from, was fired from, got fired from, was laid off from, "
        "got laid off from, retired from, stopped working at, stopped working for, quit working at",
    ),
    _row(
        "occupation",
        "works as, is employed as, was promoted to, got promoted to, became, started as, "
        "started working as, is working as, now works as, trained as, took a role as, serves as",
        "job, job title, title, role, occupation, profession",
        "stopped working as, quit working as, retired as, stepped down as",
    ),
    _row(
        "due",
        "is due, is due on, is due by, is due in, is due at, falls due on, must be finished by, "
        "has to be done by, needs to be done by, must be done by, should be done by, must be "
        "submitted by, must be delivered by, has to be submitted by, is to be delivered on, "
        "ships on, will ship on, ships in, will ship in, launches on, launches in, goes live on, "
        "expires on, expires in, runs until, is valid until, is valid till, lasts until, should "
        "ship by, must ship by, must be handed in by",
        "deadline, due date, due day, delivery date, launch date, launch, release date, cutoff, "
        "cut-off, ship date, submission deadline, expiry date, expiration date, target date, "
        "go-live date, go-live",
    ),
    _row(
        "cost",
        "costs, is priced at, sells for, sells at, goes for, retails at, retails for, charges, "
        "rents for",
        "price, cost, fee, monthly fee, ticket price, list price",
    ),
    _row("rent", "pays in rent, pays rent of", "rent, monthly rent"),
    _row("salary", "earns, makes a year, is paid", "salary, pay, income, wage"),
    _row(
        "when",
        "is at, is on, starts at, starts on, begins at, begins on, takes place at, takes place on, "
        "is scheduled for, is set for, is planned for, is booked for, meets at, meets on, "
        "meets every, is held on, is held at, is held every, happens on, happens at, happens "
        "every, runs at, runs on, runs every, was moved to, was rescheduled to, was rescheduled "
        "for, got rescheduled to, was pushed to, was pushed back to, was postponed to, was "
        "postponed until, was brought forward to, was shifted to, got moved to, got pushed to, "
        "moved to, has moved to, leaves at, departs at, arrives at, goes off at, kicks off at, "
        "is in, will be at, will be on, will be in, gets up at, wakes up at, happens in, takes "
        "place in, is every, was delayed to, was delayed until, slipped to, is due to start on, "
        "airs on, airs at, falls on, changed to, was changed to, switched to, rescheduled for, "
        "rescheduled to, meets, occurs on, lands at, boards at, gets collected on, is collected on",
        "time, date, start time, start date, meeting time, day, slot, appointment, departure time, "
        "schedule, time slot",
    ),
    _row("closing", "closes at, shuts at, ends at", "closing time, end time"),
    _row("opening", "opens at", "opening time, opening hours"),
    _row(
        "place",
        "is in, is at, takes place in, takes place at, is held in, is held at, is located in, "
        "is located at, is located on, meets in, was moved to, moved to, is hosted in, "
        "is parked in, is stored in, is kept in, sits in, is on, got moved to, is stored at, "
        "lives on, happens in, hangs in, stands in, was relocated to, is filed under, lies in, "
        "was moved into, is kept at, is kept under, takes place on, is stored on, was put in",
        "location, venue, place, room, meeting room, office, seat, gate, spot, desk, parking spot",
    ),
    _row(
        "status",
        "is marked as, is marked, has status, has been marked, is set to, was set to, changed to, "
        "went to, is in state",
        "status, state, condition, stage, phase",
    ),
    _row(
        "owner",
        "is owned by, belongs to, is maintained by, is managed by, is run by, is led by, "
        "is headed by, is assigned to, was assigned to, was handed to, was handed over to, "
        "was reassigned to, is now with, was given to, was taken over by, is looked after by, "
        "is handled by, passed to, is chaired by, is overseen by, was transferred to, reports to, "
        "is supervised by, answers to",
        "owner, maintainer, lead, tech lead, team lead, manager, assignee, boss, head, leader, "
        "chair, project lead, product owner, product manager, ceo, cto, captain, director, "
        "point of contact, main contact, contact, contact person, supervisor, on-call engineer, "
        "line manager",
        "",
        "owns, took over, leads, manages, maintains, is responsible for, is in charge of, "
        "heads, is the owner of, is the lead of, is the maintainer of, "
        "took charge of, is leading, is heading, took ownership of, chairs, "
        "became the owner of, is the new owner of, is the manager of, captains",
    ),
    _row(
        "version",
        "runs version, is on version, is at version, is at, is on, upgraded to, was upgraded to, "
        "updated to, was updated to, runs on, runs, is running, was bumped to, bumped to, "
        "is pinned to, was downgraded to, downgraded to, is pinned at, requires, targets",
        "version, release, latest version, latest release, minimum version",
    ),
    _row(
        "phone",
        "can be reached at, can be reached on, can be reached under, has the number, "
        "is reachable at",
        "phone, phone number, number, mobile, mobile number, cell, cell number, telephone number, "
        "extension",
    ),
    _row("email", "can be emailed at", "email, e-mail, email address, e-mail address, mail"),
    _row("address", "", "address, home address, mailing address, shipping address, postal address"),
    _row("birthday", "was born on, celebrates birthday on", "birthday, birth date, date of birth"),
    _row("birthplace", "was born in, was born and raised in", "birthplace, place of birth"),
    _row("origin", "comes from, is from, is originally from, grew up in", "nationality"),
    _row(
        "name",
        "is called, is named, goes by, goes by the name, was renamed to, was renamed, "
        "got renamed to, was rebranded as, renamed itself to, likes to be called, "
        "wants to be called, was rebranded to, is officially called, prefers to be called",
        "name, nickname, full name, codename, code name, surname, last name, first name, username, "
        "handle, maiden name, pen name, branch name",
    ),
    _row(
        "spouse",
        "is married to, married, got married to, is engaged to",
        "wife, husband, spouse, fiance, fiancee",
        "divorced, got divorced from, separated from, is divorced from, split from",
    ),
    _row(
        "partner",
        "is dating, is going out with, is in a relationship with",
        "girlfriend, boyfriend, partner",
        "broke up with, split up with, stopped dating, stopped seeing",
    ),
    _row("diet", "follows a, is on a", "diet"),
    _row("age", "is years old, turned, is aged", "age"),
    _row("height", "is tall", "height"),
    _row("weight", "weighs", "weight"),
    _row("colour", "is painted, was painted, was repainted, painted", "colour, color"),
    _row("vehicle", "drives a, drives", "car, vehicle"),
    _row("commute", "commutes by, gets to work by, goes to work by, commutes with", "commute"),
    _row(
        "school",
        "attends, goes to school at, studies at, is enrolled at, transferred to, is a student at, "
        "enrolled at, is studying at",
        "school, university, college",
        "dropped out of, graduated from",
    ),
    _row(
        "study",
        "studies, majors in, is majoring in, switched majors to, is studying, changed majors to, "
        "changed her major to, changed his major to",
        "major, field of study",
    ),
    _row("written in", "is written in, was rewritten in, is implemented in", "default language"),
    _row(
        "deploys from",
        "deploys from, is deployed from, ships from, releases from, is released from, deploy from",
        "deploy branch, release branch, default branch, main branch, production branch",
    ),
    _row(
        "deploys to",
        "deploys to, is deployed to, is deployed on, is hosted on, is hosted at, "
        "is hosted by, deploys on, moved hosting to, was migrated to, is hosted with",
        "host, hosting, cloud provider, hosting provider, server, production environment, cloud",
    ),
    _row(
        "stores in",
        "stores data in, keeps its data in, keeps its state in, stores its data in, saves data to, "
        "is backed by, uses as its database, persists to",
        "database, data store, datastore, storage, primary database, main database",
    ),
    _row("bank", "banks with, banks at", "bank"),
    _row("doctor", "", "doctor, family doctor, gp, physician, general practitioner"),
    _row("vet", "", "vet, veterinarian"),
    _row(
        "part",
        "",
        "dentist, therapist, accountant, lawyer, trainer, "
        "landlord, landlady, teacher, "
        "size, capacity, limit, quota, budget, timeout, rate limit, interval, length, duration, "
        "headcount, shoe size, threshold, port, port number, maximum, minimum, retention, "
        "retention period, max, batch size, memory limit, upload limit, password, password hint, "
        "hint, pin, wifi "
        "password, discount, score, interest rate, rate, dose, dosage, attendance, population, "
        "team size, frequency, speed, distance, weekly hours, price limit, pool size, "
        "goal, target, theme, topic, language setting, time zone, timezone, currency, format, "
        "color scheme, default, preferred language, blood type, ip address, license, licence, "
        "subscription, tier, pricing plan, battery, code, door code, gate code",
    ),
    _row("speaks", "speaks, is fluent in, speaks fluent", "languages", single=False),
    _row("plays", "plays, plays the, is learning", "hobby, hobbies", "stopped playing", "", False),
    _row(
        "has",
        "has, owns, bought, got, adopted",
        "pets, children, siblings, sister, brother, friend, friends, dog, cat, son, daughter",
        "sold, gave away, got rid of, lost, returned, donated",
        single=False,
    ),
    _row(
        "uses",
        "uses, use, switched to, switched over to, migrated to, moved over to, adopted, is using, "
        "changed to, went with, relies on, chose, works with, writes in, codes in, moved to, "
        "standardised on, standardized on, takes, wears",
        "editor, tool, tools, default editor, ide, shell, browser, phone provider, framework",
        "dropped, stopped using, ditched, abandoned, gave up on, phased out, "
        "moved off, moved away from, migrated off, quit using, retired",
        single=False,
    ),
    _row(
        "prefers",
        "prefers, would rather have, favours, favors, would rather, likes best, has switched to, "
        "always orders, usually orders, drinks, orders",
        "preference",
        single=False,
    ),
    _row("allergy", "is allergic to, has an allergy to", "allergy", single=False),
)
"""The attributes that are known without any setting."""

ALIASES = {
    "price": "cost",
    "date": "when",
    "time": "when",
    "wake-up time": "when",
    "departure time": "when",
    "arrival time": "when",
    "end time": "closing",
    "closing time": "closing",
    "opening time": "opening",
    "room": "place",
    "location": "place",
    "lead": "owner",
    "manager": "owner",
    "assignee": "owner",
    "host": "deploys to",
    "language": "speaks",
    "owns": "has",
    "pet": "has",
    "instrument": "plays",
}
"""What the rows of `attribute_table` call an attribute -> its name here."""
