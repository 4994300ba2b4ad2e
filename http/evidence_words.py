"""What spoke for a verdict, in words that people read: each piece of evidence by its name.

A share is told with its number, from 0 to 1; what is or is not so, without one.
"""

from rewound.http import words

OPINION = "opinion "
CROSSED = "*"
"""In the name of a product of two pieces, which says nothing new to a person."""

SHARES = {
    "added": "words added",
    "against": "seems to contradict",
    "bigrams": "pairs of words in common",
    "content_bigrams": "pairs of telling words in common",
    "frame": "said of the same matter",
    "names_added": "names added",
    "names_lost": "names lost",
    "names_order": "names in the same order",
    "near_pairs": "words near each other in both",
    "neighbours": "neighbouring words in common",
    "new_in_old": "of the new words in the old",
    "new_subject_in_old": "of the new subject in the old",
    "old_in_new": "of the old words in the new",
    "order": "words in the same order",
    "overlap": "words in common",
    "places": "places that differ",
    "removed": "words removed",
    "roles": "words in the same role",
    "sequence": "words in one sequence",
    "similar": "much alike in meaning",
    "similarity": "alike in meaning",
    "swaps": "words put for others",
    "things": "things in common",
}
FLAGS = {
    "also": "says “also”",
    "amount": "an amount",
    "attribute_other": "another attribute",
    "attribute_same": "same attribute",
    "backward": "tells of an earlier time",
    "change": "says that it changed",
    "change_said": "a change was spoken of",
    "class_changed": "a word of another sort in the same place",
    "comparable": "alike enough to compare",
    "conflict": "another value of the same attribute",
    "contrary": "the contrary of it",
    "contrasted": "set against it",
    "correction": "says that it was wrong",
    "correction_said": "a correction was spoken of",
    "dates_differ": "other dates",
    "day_apart": "said within two days",
    "denial": "denies it",
    "denial_added": "a “not” more",
    "denial_hits": "the denial hits what was said",
    "denial_removed": "a “not” less",
    "denied_by_one": "denied by one of them",
    "denied_alike": "both deny the same",
    "denied_by_old": "the old one denies it",
    "denied_here": "denied here",
    "denied_whole": "denied as a whole",
    "denies": "the new one denies",
    "denies_after_all": "denies after all",
    "denies_kind": "denies the kind",
    "denies_name": "denies the name",
    "denies_verb": "denies the doing",
    "episode": "something that happened",
    "excluded": "one rules out the other",
    "frame_conflict": "another value for the same matter",
    "has_against": "",
    "has_similarity": "",
    "instead": "says “instead”",
    "labels_differ": "another number or name for the thing",
    "leaves_value": "leaves the value",
    "limited": "limits it",
    "limits_differ": "holds for other times or cases",
    "long": "long statements",
    "may_end": "may end it",
    "may_review": "worth a look by a person",
    "minutes_apart": "said within the hour",
    "name_changed": "another name in the same place",
    "new_denied": "the new one is denied",
    "new_earlier": "began earlier",
    "new_ended": "the new one is over",
    "number_added": "a number added",
    "number_changed": "another number in the same place",
    "numbers_differ": "other numbers",
    "numbers_same": "same numbers",
    "old_change": "the old one speaks of a change",
    "old_indefinite": "the old one is indefinite",
    "old_past": "the old one looks back",
    "old_plan": "the old one is a plan",
    "one_place": "differ in one place",
    "only": "says “only”",
    "only_added": "only adds words",
    "only_here": "only so here",
    "only_removed": "only leaves out words",
    "opposed": "opposite words",
    "opposites": "opposites",
    "over": "says that it is over",
    "over_subject": "says that the subject is over",
    "past": "in the past tense",
    "past_year": "tells of a past year",
    "plan": "a plan",
    "polarity_differs": "one is denied, the other not",
    "put_right": "says what was wrong",
    "restated": "stated anew",
    "said_again": "said again",
    "same_kind": "same kind",
    "same_verb": "same verb",
    "same_words": "same words",
    "single": "can have one value only",
    "slot_changed": "another word in the same place",
    "state_changed": "another state",
    "still": "says “still”",
    "subject_apart": "other subjects",
    "subject_clash": "subjects that clash",
    "subject_known": "both subjects known",
    "subject_named": "subject named otherwise",
    "subject_near": "nearly the same subject",
    "subject_owned": "subjects of other owners",
    "subject_same": "same subject",
    "supposed": "merely supposed",
    "things_swapped": "other things in the same place",
    "together": "said together",
    "told_conflict": "told as another value",
    "told_past": "told of the past",
    "turned": "turned into its opposite",
    "turned_twice": "turned twice",
    "vague": "vague",
    "value_apart": "values with nothing in common",
    "value_class": "values of one sort",
    "value_denied": "the value is denied",
    "value_different": "another value",
    "value_equal": "same value",
    "value_fuller": "a fuller value",
    "value_refined": "a finer value",
    "weeks_apart": "said weeks apart",
}
"""An empty one only says that another piece could be worked out."""

TOLD_MAX = 12
"""Pieces of evidence that are printed for a pair; `--json` tells all."""


def evidence_line(evidence: dict[str, float]) -> str:
    """`same subject, words in common 0.50`, what spoke loudest first, as much as goes on a
    screen."""
    parts = [
        (name, value)
        for name, value in evidence.items()
        if value and CROSSED not in name and FLAGS.get(name) != ""
    ]
    parts.sort(key=lambda part: -part[1])
    told = ", ".join(_told(name, value) for name, value in parts[:TOLD_MAX])
    left = len(parts) - TOLD_MAX
    return f"{told} and {left} more (--json)" if left > 0 else told


def _told(name: str, value: float) -> str:
    if name in FLAGS and value == 1:
        return FLAGS[name]
    if name.startswith(OPINION):
        said = f"the judge says {name.removeprefix(OPINION)}"
    else:
        said = SHARES.get(name) or FLAGS.get(name) or name.replace("_", " ")
    return f"{words.one_line(said)} {value:.2f}"
