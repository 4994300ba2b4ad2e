"""The law of endings: by which evidence one claim may end another, whatever the weights say.

A fact is ended only by one about the same subject and the same single-valued attribute, or by words
that say so of this very matter. `MAY_REVIEW` is any ground for that, worth asking a person about;
`MAY_END` is one that is enough by itself.
"""

from rewound.llm.judging import Evidence

YES = 1000
MAY_END = "may_end"
"""Where it is 0, neither claim ends the other."""

MAY_REVIEW = "may_review"
"""Whether there is any ground to ask a person about an ending."""

ELSEWHERE = "elsewhere"
"""Whether both hold: one only denies another value than the other has, or each tells one of several
values."""

THINGS_APART = "things_apart"
"""Whether both are opinions, each of another thing."""

VALUES_GIVEN = "values_given"
"""Whether both came with the value of the attribute that they share, rather than only in words."""

TURNED = "turned_to"
"""Whether a statement tells of a step from one value to another: joined, moved to, pushed to."""

RENAMED = "renamed"
"""Whether another name is given to what the older one only tells the name of."""

BOND_TURNED = "bond_turned"
"""Whether a couple is told to be another now: engaged, then married; married, then divorced."""

DEPARTED = "departed"
"""Whether who is spoken of died, or was given away, since."""

REPLACED = "replaced"
"""Whether both came with a value of what the very same subject has one of, and the newer one says
that it changed: whatever the words else have in common, the new value takes the old one's place."""

CONTRARY = "contrary"
"""Whether one affirms the very thing that the other denies, and neither says any more: the newer
one ends the older one."""

NARROWER = "narrower"
"""Whether less is denied than the other affirms: no coffee after dinner, not this week."""

PUT_RIGHT = "put_right"
"""Whether words say that the older value was wrong, of what there may be several of."""

DENIED_BY_ONE = "denied_by_one"
"""Whether one of them denies or ends what it tells of, and the other denies nothing: whatever words
they have in common, neither repeats the other."""

SAID_AGAIN = "said_again"
"""The same words again: a duplicate, whatever the weights say."""

RESTATED = "restated"
"""The same value of the same attribute of the same subject, and next to nothing else."""

COMPARABLE = "comparable"
"""Whether two statements have enough words in common for a doubt to be worth a person's time."""


def settle(found: Evidence) -> None:
    """Whether one may end the other at all: the same single-valued attribute of the same subject,
    or words that say so of this very matter. What is only likely is for a person to decide."""
    same = bool(found["subject_same"])
    near = same or bool(found["subject_near"])
    differ = not found.get("value_equal")
    many = bool(found.get("attribute_same")) and not found.get("single")
    said = bool(found["change_said"] or found["correction_said"])
    # No longer at Orbit Labs: that tells nothing of the job at Harbor Foods.
    apart = bool(found.get("value_different"))
    elsewhere = (apart and bool(found.get("value_denied"))) or bool(found.get(THINGS_APART))
    put_right = bool(
        (found["correction"] or (found["correction_said"] and found["minutes_apart"]))
        and (found["day_apart"] or (same and found["overlap"] >= 650))
    )
    found["conflict"] = YES * bool(
        near
        and found.get("single")
        and found.get("value_different")
        and not elsewhere
        and not found["old_plan"]
        and (found["subject_known"] or found.get("value_class"))
    )
    framed = bool(found["same_verb"]) and found["frame"] >= 400 and differ
    framed = framed and (not many or bool(found.get("numbers_differ")))
    framed = framed and not found["labels_differ"]
    framed = framed and not found["things_swapped"] and not found.get("dates_differ")
    counted = found.get("numbers_differ") or found["slot_changed"] or found["opposed"]
    found["conflict"] = max(found["conflict"], _taken(found, same, elsewhere))
    found["frame_conflict"] = YES * bool(
        (same and framed and counted) or (near and found["state_changed"])
    )
    found["denial"] = YES * _denied_matter(found, near)
    swapped = (
        found["slot_changed"]
        or found["opposed"]
        or found["name_changed"]
        or found.get("numbers_differ")
    )
    framed_alike = found["same_verb"] and found["overlap"] >= 450 and found["frame"] >= 400
    placed = found["one_place"] or found.get("attribute_same") or (framed_alike and swapped)
    told = said or found["told_past"]
    # Love turned to hate: the same thing of the same subject, with the contrary said of it.
    found["turned"] = YES * bool(
        same and found["denial"] and found["one_place"]
        and (found["opposed"] or found["polarity_differs"])
    )  # fmt: skip
    found["told_conflict"] = YES * bool(
        (told and placed and same and differ and not many)
        or (
            put_right
            and found["overlap"] >= 500
            and not found["subject_clash"]
            and (found.get("numbers_differ") or found["one_place"])
        )
    )
    limited = (found["only"] or found["instead"]) and (
        found.get("attribute_same") or found["overlap"] >= (350 if found["same_verb"] else 500)
    )
    found["limited"] = YES * bool(near and limited and differ)
    alike = found["same_verb"] or found.get("attribute_same") or found["things"] >= 350
    earlier = found["new_earlier"] or found["told_past"]
    found["backward"] = YES * bool(near and earlier and alike and differ and not many)
    none = found["plan"] or elsewhere
    found[MAY_REVIEW] = 0 if none else max(found[name] for name in _GROUNDS)
    found[ELSEWHERE] = YES * (elsewhere or _is_beside(found, many))
    found[MAY_END] = YES * (bool(found[MAY_REVIEW]) and _is_sure(found, same, said, put_right))


def _taken(found: Evidence, same: bool, elsewhere: bool) -> int:
    """Whether the newer one takes the older one's place, whatever they else have in common."""
    found[REPLACED] = YES * (not elsewhere and same and _is_replaced(found))
    found[REPLACED] = max(found[name] for name in (REPLACED, RENAMED, BOND_TURNED, DEPARTED))
    found[CONTRARY] = found.get(CONTRARY, 0) * (same and not (elsewhere or found["old_plan"]))
    found[PUT_RIGHT] = found.get(PUT_RIGHT, 0) * (same and not elsewhere)
    return max(found[REPLACED], found[CONTRARY], found[PUT_RIGHT])


def _is_beside(found: Evidence, many: bool) -> bool:
    """Allergic to walnuts, allergic to pecans; Nina's home, her sister's home: nothing says that
    one takes the other's place."""
    apart = found.get("value_different") and found.get(VALUES_GIVEN)
    beside = apart and (many or found["subject_owned"])
    return bool(beside and not (found["correction_said"] or found[MAY_REVIEW]))


def _is_replaced(found: Evidence) -> bool:
    """Whether the newer one tells a new value of what there is one of, and that it is new."""
    differ = found.get("value_different") or (found.get("value_refined") and found[TURNED])
    told = found["change_said"] or found[TURNED]
    open_ = found["plan"] or found["supposed"] or found["also"] or found["still"]
    given = found.get("single") and found.get(VALUES_GIVEN)
    return bool(given and differ and told and not open_ and not found["new_earlier"])


_GROUNDS = (
    "conflict", "frame_conflict", "denial", "told_conflict", "limited", "backward", "contrasted",
)  # fmt: skip


def _is_sure(found: Evidence, same: bool, said: bool, put_right: bool) -> bool:
    """Whether a ground is enough to end without a person's word."""
    if found["supposed"]:
        return False
    many = bool(found.get("attribute_same")) and not found.get("single")
    if found["also"] and not found["denial"] and (many or not found["correction_said"]):
        return False
    if found[REPLACED] or found[CONTRARY] or found[PUT_RIGHT]:
        return True
    if found["denial"] and (found["denies_after_all"] or _is_denied_here(found)):
        return not found.get(NARROWER)
    if found["contrasted"]:
        return True
    if found["subject_apart"] or found.get("vague"):
        return False
    if found["limited"] and _is_left_out(found, same):
        return True
    stated = said or put_right
    if (found["limits_differ"] or found.get("amount")) and not stated:
        return False
    # The meeting, and the meeting with Anya: of a fuller name, it may be another one.
    if found["conflict"] and (same or said or not found["subject_named"]):
        over = found["old_ended"] or (found["new_ended"] and found["new_earlier"])
        if over and found[DENIED_BY_ONE]:
            return False  # Whoever is married was divorced all the same.
        return not found["episode"] or said
    if found["labels_differ"] and not found.get("single"):
        return False
    if found["told_conflict"] or found["frame_conflict"]:
        return _is_changed(found, same, put_right)
    return bool(found["limited"] and found["instead"])


def _is_denied_here(found: Evidence) -> bool:
    """Whether it is this very matter that is denied, ended or turned to the contrary."""
    turned = found["turned"] and found["opposed"] and not found["names_lost"]
    if turned and found["old_in_new"] >= 500 and not found["past"]:
        return True
    if found["denied_alike"]:
        return False  # Both deny it: got rid of the old one, told twice.
    if found["denies_name"] and found["overlap"] >= 450 and found["old_in_new"] >= 600:
        return True
    if found["denies_kind"] and found["subject_same"] and found["overlap"] >= 400:
        return True
    # What is denied is told of in the other, all of it: does not work in engineering.
    hits = found["denial_hits"]
    general = found["denies_verb"] and hits == YES and found["denies"] >= 600
    aside = found["same_verb"] and hits == YES and found["old_in_new"] >= 750
    limited = found["only"] and found["same_verb"] and hits >= 500
    now = (general or limited) and not found["past"]
    if found["denied_here"] and found["subject_same"]:
        if now or (aside and found["overlap"] >= 600):
            return True
    alike = (
        found.get("attribute_same")
        or found["leaves_value"]
        or ((found["denies_verb"] or found["same_verb"]) and found["denied_whole"])
        or (found["new_ended"] and found["same_verb"])
    )
    return bool(found["denied_here"] and alike)


def _is_left_out(found: Evidence, same: bool) -> bool:
    """Speaks only English, where it was three languages: what is not named holds no more."""
    named = found.get("value_different") or found["names_lost"] or found["things_swapped"]
    alike = found.get("attribute_same") or (found["same_verb"] and found["frame"] >= 330)
    return bool(
        same and found["only_here"] and alike and named and found["overlap"] >= 450
        and not (found["plan"] or found["supposed"] or found["denial_removed"])
    )  # fmt: skip


def _is_changed(found: Evidence, same: bool, put_right: bool) -> bool:
    """Whether both say the same but for a number, a name or a member of a class, and the words
    tell that the one takes the place of the other."""
    counted = found.get("numbers_differ") or found["slot_changed"]
    one_value = bool(found.get("single") or found.get("attribute_same"))
    # Watched some shows, actually watched this one: only where the rest is said again.
    again = put_right and found["old_in_new"] >= 400
    swapped = counted or ((found["name_changed"] or found["excluded"]) and (one_value or again))
    framed = found["same_verb"] and found["frame"] >= 750
    at_one = bool(found["one_place"] or found.get("single") or (framed and counted))
    stated = bool(found["change_said"]) and same and at_one and not found["episode"]
    # Nothing but a number is another one: gets 3 euros, gets 4 euros. Not of what happened.
    bare = same and bool(found["one_place"]) and bool(found.get("numbers_differ"))
    bare = bare and found["frame"] == YES and not (found["past"] or found["episode"])
    if found.get("attribute_other"):
        return False
    if not swapped or not (found["same_verb"] or found.get("single")):
        return bool(found["state_changed"] and same and found["same_verb"])
    return put_right or stated or bare


def _denied_matter(found: Evidence, near: bool) -> bool:
    """Whether words deny what the other says: all of it, or the very thing that it says."""
    overlap, denies, hits = found["overlap"], found["denies"], found["denial_hits"]
    if found["denies_after_all"] and overlap >= 400:
        return True
    # Anya, not Tom, led the tour: somebody who did it is denied.
    named = found["denies_name"] and not found["subject_owned"]
    if named and hits >= 600 and found["denial_added"] and overlap >= 450:
        return True
    if found["turned_twice"]:
        return False
    over = found["over"] and (found["denial_added"] or found["new_ended"])
    if over and found["over_subject"] and hits >= 500 and denies >= 200:
        return True
    if not near or not (found["subject_same"] or overlap >= 500):
        return False
    return bool(
        denies >= 600
        or (denies >= 250 and hits >= 400 and overlap >= 350)
        or (found["denies_verb"] and overlap >= 350)
        or found["denied_by_old"] >= 600
        or (found["leaves_value"] and overlap >= 250)
        or (found["opposed"] and found["frame"] >= 400 and not found.get("dates_differ"))
        or (over and hits >= 600)
    )
