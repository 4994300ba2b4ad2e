"""Every route that writes: what it does, what it answers, and that nothing is left untold."""

from typing import Any
from urllib.parse import quote

import pytest

from rewound.eventlog.ids import as_uuid, parse_any
from rewound.memory import replies as r
from tests.http.serving import Api, reply_of

CHAT: list[dict[str, Any]] = [
    {
        "id": "m1",
        "role": "user",
        "name": "Nina",
        "content": "The launch moved to May.",
        "time": "2026-03-02T10:00:00Z",
        "metadata": {"channel": 7},
        "tags": ["plans"],
    },
    {"id": "m2", "role": "assistant", "content": "Noted, the launch is in May."},
]


def only(written: r.Written) -> r.Item:
    (item,) = written.items
    return item


def given(name: str | None) -> str:
    assert name is not None
    return name


# --- facts


def test_facts_are_remembered_as_a_list_or_one_inline(api: Api) -> None:
    many = api.write(
        "POST",
        "/v1/facts",
        {"facts": [{"text": "Nina works at Orbit Labs.", "id": "job"}, {"text": "Nina is 31."}]},
    )
    assert [item.status for item in many.items] == ["written", "written"]
    assert [item.caller_id for item in many.items] == ["job", None]
    assert (many.container, many.refused) == (api.container, 0)
    one = api.write(
        "POST",
        "/v1/facts",
        {
            "text": "Nina prefers tea.",
            "kind": "preference",
            "said_at": "2026-03-01T10:00:00Z",
            "valid_from": "2026-02-01",
            "tags": ["drinks"],
            "metadata": {"n": 1, "deep": {"list": [1.5, None, True]}},
            "subject": "Nina",
            "attribute": "drink",
            "value": "tea",
            "scope": {"user": "nina", "session": "s1"},
        },
    )
    item = only(one)
    assert (item.status, item.kind) == ("written", "fact")
    assert one.position > many.position
    shown = api.read(f"/v1/facts/{item.id}", r.Shown).item
    assert (shown.text, shown.fact_kind, shown.tags) == (
        "Nina prefers tea.",
        "preference",
        ("drinks",),
    )
    assert shown.metadata == {"n": 1, "deep": {"list": [1.5, None, True]}}
    assert (shown.subject, shown.attribute, shown.value) == ("Nina", "drink", "tea")
    assert shown.scope == {"user": "nina", "session": "s1"}
    assert shown.event == item.event
    assert len(api.facts()) == 3


def test_one_of_both_forms_of_facts_is_given(api: Api) -> None:
    bodies: list[dict[str, Any]] = [
        {"text": "A.", "facts": [{"text": "B."}]}, {}, {"facts": []}, {"tags": ["a"]},
    ]  # fmt: skip
    for body in bodies:
        api.refused(400, "invalid_input", "POST", "/v1/facts", {"container": api.container, **body})
    with_default = {"facts": [{"text": "A."}], "kind": "episode"}
    api.refused(400, "invalid_input", "POST", "/v1/facts", with_default, field="kind")


def test_what_cannot_be_taken_is_refused_in_its_place(api: Api) -> None:
    facts = [{"text": "First."}, {"text": "   ", "id": "blank"}, {"text": "Third."}]
    written = api.write("POST", "/v1/facts", {"facts": facts})
    assert [item.status for item in written.items] == ["written", "refused", "written"]
    assert (written.items[1].field, written.items[1].code) == ("text", "invalid_input")
    assert written.items[1].caller_id == "blank"
    assert [view.text for view in api.facts()] == ["First.", "Third."]
    documents = [{"text": "A page."}, {"text": "A page.", "tags": [""]}]
    written = api.write("POST", "/v1/documents", {"documents": documents})
    assert [item.status for item in written.items] == ["written", "refused"]
    messages = [{"content": ""}, {"content": "Hello."}]
    written = api.write("POST", "/v1/messages", {"messages": messages})
    assert [item.status for item in written.items] == ["refused", "written"]


def test_one_of_a_batch_with_a_wrong_type_is_named(api: Api) -> None:
    """Refused by itself, as the library does, or with the whole request; never left untold."""
    body = {"container": api.container, "facts": [{"text": "First."}, {"text": 5}]}
    response = api.send("POST", "/v1/facts", body)
    if response.is_success:
        written = reply_of(response, r.Written)
        assert [item.status for item in written.items] == ["written", "refused"]
        assert written.items[1].field == "text"
    else:
        assert response.status_code == 400
        assert response.json()["error"]["field"] == "facts[1].text"
        api.refused(404, "not_found", "GET", "/v1/facts", params={"container": api.container})


def test_the_same_again_is_accounted_for(api: Api) -> None:
    first = api.remember("The gym code is 4471.", said_at="2026-03-01T10:00:00Z")
    again = api.remember("The gym code is 4471.", said_at="2026-03-01T10:00:00Z")
    assert (again.status, again.id) == ("seen again", first.id)
    assert again.event is not None and again.event != first.event
    assert len(api.facts()) == 1


def test_a_note_to_derive_from_is_kept(api: Api) -> None:
    written = api.write("POST", "/v1/facts", {"text": "We met Ana in Rome.", "infer": True})
    item = only(written)
    assert item.status == "written"
    assert item.kind != "fact" and written.pending == int(item.pending)


def test_a_fact_gets_a_new_wording_and_other_tags(api: Api) -> None:
    old = api.fact("Nina works at Harbor Foods.", tags=["work"], said_at="2026-03-01")
    written = api.write(
        "PATCH",
        f"/v1/facts/{old}",
        {"text": "Nina works at Orbit Labs.", "said_at": "2026-05-01", "add_tags": ["job"]},
    )
    new = only(written)
    assert new.id not in (None, old)
    assert api.found("where does Nina work") == ["Nina works at Orbit Labs."]
    before = api.read(f"/v1/facts/{old}", r.Shown).item
    assert (before.text, before.current) == ("Nina works at Harbor Foods.", new.id)
    assert before.standing is not None and before.standing.state == "superseded"
    tagged = api.write("PATCH", f"/v1/facts/{new.id}", {"remove_tags": ["work"]})
    assert only(tagged).id == new.id
    assert api.read(f"/v1/facts/{new.id}", r.Shown).item.tags == ("job",)
    corrected = api.write(
        "PATCH", f"/v1/facts/{new.id}", {"text": "Nina works at Orbis Labs.", "corrects": True}
    )
    shown = api.read(f"/v1/facts/{new.id}", r.Shown).item
    assert shown.standing is not None and shown.standing.state == "corrected"
    assert only(corrected).id != new.id


def test_a_fact_is_deleted_with_a_preview_first(api: Api) -> None:
    fact = api.fact("The locker PIN is 7391.")
    dry = api.delete(f"/v1/facts/{fact}", dry_run="true", reason="private")
    assert (dry.dry_run, dry.count, dry.events) == (True, 1, ())
    assert [view.id for view in api.facts()] == [fact]
    gone = api.delete(f"/v1/facts/{fact}", reason="private")
    assert [hidden.id for hidden in gone.items] == [fact]
    assert (gone.count, gone.dry_run, len(gone.events)) == (1, False, 1)
    assert api.facts() == [] and api.found("locker") == []
    where = {"container": api.container}
    api.refused(404, "not_found", "GET", f"/v1/facts/{fact}", params=where)
    error = api.send("DELETE", f"/v1/facts/{fact}", params=where)
    assert error.status_code in (404, 409), "a second time is not a second success"


# --- documents


def test_documents_are_kept_replaced_and_removed(api: Api) -> None:
    page = {"text": "Nina leads the antenna team.", "id": "wiki/home", "title": "Home"}
    page |= {"media": "markdown", "address": "https://example.org/home"}
    first = only(api.write("POST", "/v1/documents", page))
    assert (first.status, first.kind, first.caller_id) == ("written", "document", "wiki/home")
    again = only(api.write("POST", "/v1/documents", {"documents": [page]}))
    assert (again.status, again.id) == ("seen again", first.id)
    replaced = only(
        api.write("POST", "/v1/documents", {**page, "text": "Omar leads the antenna team."})
    )
    assert replaced.status == "replaced"
    assert "Omar" in api.found("who leads the antenna team")[0]
    shown = api.read(f"/v1/documents/{replaced.id}", r.Shown).item
    assert shown.status in ("ready", "pending", "failed", "parked")
    assert (shown.text, shown.title) == ("Omar leads the antenna team.", "Home")
    removed = only(api.write("POST", f"/v1/documents/{replaced.id}/remove"))
    assert removed.event is not None
    assert api.read("/v1/documents", r.Page).total == 0
    undone = api.write("POST", f"/v1/events/{removed.event}/undo", {}, r.Undid)
    assert undone.dropped == (removed.event,)
    assert api.read("/v1/documents", r.Page).total == 1


def test_a_document_is_removed_by_the_callers_own_id(api: Api) -> None:
    api.write("POST", "/v1/documents", {"text": "A page.", "id": "notes/a b.md"})
    removed = api.write("POST", f"/v1/documents/{quote('notes/a b.md', safe='')}/remove")
    assert only(removed).status == "done"
    assert api.read("/v1/documents", r.Page).total == 0


def test_a_document_gets_tags_and_is_deleted(api: Api) -> None:
    document = only(api.write("POST", "/v1/documents", {"text": "The greenhouse is warm."})).id
    api.write("PATCH", f"/v1/documents/{document}", {"add_tags": ["garden"]})
    assert api.read(f"/v1/documents/{document}", r.Shown).item.tags == ("garden",)
    api.write("PATCH", f"/v1/documents/{document}", {"remove_tags": ["garden"]})
    assert api.read("/v1/documents", r.Page, tags="garden").total == 0
    gone = api.delete(f"/v1/documents/{document}", reason="moved")
    assert document in [hidden.id for hidden in gone.items]
    assert api.read("/v1/documents", r.Page).total == 0
    assert api.found("greenhouse") == []


def test_a_text_without_inferring_is_one_fact_too(api: Api) -> None:
    written = api.write("POST", "/v1/documents", {"text": "Omar grows figs.", "infer": False})
    assert len(only(written).facts) == 1 and written.pending == 0
    assert [view.text for view in api.facts()] == ["Omar grows figs."]


# --- messages


def test_messages_are_kept_once_with_speaker_and_time(api: Api) -> None:
    body = {"conversation": "planning", "messages": CHAT}
    first = api.write("POST", "/v1/messages", body)
    assert [item.status for item in first.items] == ["written", "written"]
    assert [item.caller_id for item in first.items] == ["m1", "m2"]
    body["messages"] = [*CHAT, {"id": "m3", "role": "tool", "content": "Calendar changed."}]
    grown = api.write("POST", "/v1/messages", body)
    assert [item.status for item in grown.items] == ["seen again", "seen again", "written"]
    assert [item.id for item in grown.items][:2] == [item.id for item in first.items]
    page = api.read("/v1/messages", r.Page)
    assert page.total == 3
    shown = api.read(f"/v1/messages/{first.items[0].id}", r.Shown).item
    assert (shown.text, shown.speaker, shown.role) == (CHAT[0]["content"], "Nina", "user")
    assert (shown.conversation, shown.caller_id) == ("planning", "m1")
    assert shown.metadata == {"channel": 7} and shown.tags == ("plans",)
    assert shown.said_at is not None and shown.said_at.startswith("2026-03-02T10:00:00")
    gone = api.delete(f"/v1/messages/{first.items[0].id}")
    assert gone.count >= 1
    assert api.read("/v1/messages", r.Page).total == 2


# --- by filters, ids and queries


def test_forgetting_by_filters_and_restoring(api: Api) -> None:
    for text in ("Omar likes tea.", "Omar likes cake."):
        api.fact(text, tags=["drinks"])
    keep = api.fact("Nina likes figs.")
    dry = api.write(
        "POST", "/v1/forget", {"filters": {"tags": ["drinks"]}, "dry_run": True}, r.Forgot
    )
    assert (dry.count, dry.dry_run) == (2, True)
    assert len(api.facts()) == 3
    forgot = api.write(
        "POST", "/v1/forget", {"filters": {"tags": ["drinks"]}, "reason": "asked"}, r.Forgot
    )
    assert forgot.count == len(forgot.items) == 2
    assert {hidden.id for hidden in forgot.items} == {hidden.id for hidden in dry.items}
    assert [view.id for view in api.facts()] == [keep]
    assert len(api.facts(include_forgotten="true")) == 3
    ids = [hidden.id for hidden in forgot.items]
    shown = api.write("POST", "/v1/restore", {"ids": ids}, r.Forgot)
    assert {hidden.id for hidden in shown.items} == set(ids)
    assert len(api.facts()) == 3
    found = api.write("POST", "/v1/forget", {"query": "figs", "limit": 1}, r.Forgot)
    assert [hidden.id for hidden in found.items] == [keep]
    by_id = api.write("POST", "/v1/forget", {"ids": ids[:1]}, r.Forgot)
    assert [hidden.id for hidden in by_id.items] == ids[:1]


def test_erasing_destroys_and_cannot_be_undone(api: Api) -> None:
    fact = api.fact("The safe opens with 8812-WALRUS.")
    dry = api.write("POST", "/v1/erase", {"ids": [fact], "dry_run": True}, r.Erased)
    assert (dry.dry_run, [hidden.id for hidden in dry.items]) == (True, [fact])
    assert api.found("walrus") != []
    erased = api.write("POST", "/v1/erase", {"ids": [fact]}, r.Erased)
    assert (erased.compaction, erased.dry_run) == ("done", False)
    assert erased.bodies >= 1
    assert api.found("walrus", include_forgotten=True) == []
    where = {"container": api.container}
    refusal = api.send("POST", f"/v1/events/{erased.event}/undo", where)
    assert 400 <= refusal.status_code < 500, "an erasing cannot be undone"


# --- by event


def test_an_event_is_undone_and_the_undoing_too(api: Api) -> None:
    item = api.remember("Omar moved to Bergen.")
    event = given(item.event)
    dry = api.write("POST", f"/v1/events/{event}/undo", {"dry_run": True}, r.Undid)
    assert (dry.dry_run, dry.event, dry.dropped) == (True, None, (event,))
    assert any(change.id == item.id for change in dry.changes)
    assert len(api.facts()) == 1
    undone = api.write("POST", f"/v1/events/{event}/undo", {}, r.Undid)
    assert undone.dropped == (event,) and undone.event is not None
    assert api.facts() == []
    where = {"container": api.container}
    api.refused(409, "already_undone", "POST", f"/v1/events/{event}/undo", where)
    back = api.write("POST", "/v1/undo", {"id": undone.event}, r.Undid)
    assert event in back.returned
    assert [view.id for view in api.facts()] == [item.id]


def test_a_group_is_undone_whole(api: Api) -> None:
    written = api.write("POST", "/v1/facts", {"facts": [{"text": "One."}, {"text": "Two."}]})
    undone = api.write("POST", "/v1/undo", {"id": written.group}, r.Undid)
    assert set(undone.dropped) == {item.event for item in written.items}
    assert api.facts() == []


def test_undoing_names_what_stands_on_the_event(api: Api) -> None:
    item = api.remember("Nina lives in Oslo.")
    later = api.write("PATCH", f"/v1/facts/{item.id}", {"text": "Nina lives in Bergen."})
    event = given(only(later).event)
    where = {"container": api.container}
    error = api.refused(409, "has_dependents", "POST", f"/v1/events/{item.event}/undo", where)
    assert event in error["ids"]
    undone = api.write("POST", f"/v1/events/{item.event}/undo", {"cascade": True}, r.Undid)
    assert {item.event, event} <= set(undone.dropped)
    assert api.facts() == []


def test_what_an_event_brought_is_forgotten(api: Api) -> None:
    item = api.remember("Omar fears geese.")
    body = {"reason": "private"}
    dry = api.write("POST", f"/v1/events/{item.event}/forget", {**body, "dry_run": True}, r.Forgot)
    assert (dry.dry_run, dry.count) == (True, 1)
    forgot = api.write("POST", f"/v1/events/{item.event}/forget", body, r.Forgot)
    assert [hidden.id for hidden in forgot.items] == [item.id]
    assert api.facts() == [] and api.found("geese") == []
    assert api.events() and "geese" not in repr(api.events())
    undone = api.write("POST", f"/v1/events/{forgot.events[0]}/undo", {}, r.Undid)
    assert undone.dropped == forgot.events
    assert len(api.facts()) == 1


def test_a_write_may_hang_on_nothing_having_happened(api: Api) -> None:
    fact = api.fact("The demo is at 3 pm.")
    seen = api.events()[-1].position
    path = f"/v1/facts/{fact}"
    api.write("PATCH", path, {"text": "The demo is at 4 pm.", "unless_after": seen})
    body = {"container": api.container, "text": "The demo is at 5 pm.", "unless_after": seen}
    api.refused(409, "stale", "PATCH", path, body)
    assert [view.text for view in api.facts()] == ["The demo is at 4 pm."]


# --- what stands in the wrong place


def test_a_preview_asked_for_in_the_wrong_place_is_never_the_deed(api: Api) -> None:
    """`dry_run` in a DELETE's body or in a POST's address: honoured or refused, not passed over."""
    item = api.remember("To be kept.", tags=["kept"])
    body = {"container": api.container, "filters": {"tags": ["kept"]}}
    event = {"container": api.container, "id": item.event}
    where = {"container": api.container}
    tries = [
        api.send("POST", "/v1/forget?dry_run=true", body),
        api.send("POST", "/v1/undo?dry_run=true", event),
        api.send("POST", "/v1/erase?dry_run=true", {**where, "ids": [item.id]}),
        api.send("POST", f"/v1/events/{item.event}/undo?dry_run=true", where),
        api.send("POST", f"/v1/events/{item.event}/forget?dry_run=true", where),
        api.send("DELETE", f"/v1/facts/{item.id}", {"dry_run": True}, params=where),
        api.send("DELETE", f"/v1/facts/{item.id}", params={**where, "dry_run": "maybe"}),
        api.send("DELETE", f"/v1/facts/{item.id}", params={**where, "dryrun": "true"}),
    ]
    for response in tries:
        assert response.status_code == 400 or response.json()["dry_run"] is True, response.text
    assert [view.id for view in api.facts()] == [item.id]


def test_a_container_named_in_two_places_is_one_or_none(api: Api) -> None:
    other = f"{api.container}-b"
    body = {"container": api.container, "text": "Where does it go?"}
    response = api.send("POST", f"/v1/facts?container={other}", body)
    assert response.status_code == 400, response.text
    response = api.send("PUT", f"/v1/containers/{other}", {"container": api.container})
    assert response.status_code == 400, response.text
    for path in (f"/v1/facts?container={other}", f"/v1/facts?container={api.container}"):
        api.refused(404, "not_found", "GET", path)


def test_a_delete_keeps_to_its_scope(api: Api) -> None:
    fact = api.fact("Of Nina alone.", scope={"user": "nina"})
    where = {"container": api.container, "user": "omar"}
    api.refused(404, "not_found", "DELETE", f"/v1/facts/{fact}", params=where)
    assert [view.id for view in api.facts()] == [fact]
    assert api.delete(f"/v1/facts/{fact}", user="nina").count == 1


# --- containers and the store


def test_a_container_is_made_and_gets_a_zone(api: Api) -> None:
    name = f"trips/{api.container} ü"
    path = f"/v1/containers/{quote(name, safe='')}"
    made = reply_of(api.send("PUT", path, {"zone": "Asia/Tokyo"}), r.Written)
    assert made.container == name
    told = reply_of(api.send("GET", "/v1/containers"), r.ContainerList)
    assert {info.name: info.zone for info in told.containers}[name] == "Asia/Tokyo"
    api.refused(400, "invalid_input", "PUT", path, {"zone": "Mars/Olympus"}, field="zone")
    again = reply_of(api.send("PUT", path, {}), r.Written)
    assert again.container == name
    there = api.within(name)
    there.fact("The train leaves.", said_at="2026-03-01T10:00:00")
    (view,) = there.facts()
    assert view.said_at == "2026-03-01T10:00:00+09:00"


def test_the_default_container_is_called_default(api: Api) -> None:
    written = reply_of(api.send("POST", "/v1/facts", {"text": "By default."}), r.Written)
    assert written.container == "default"
    page = reply_of(api.send("GET", "/v1/facts"), r.Page)
    assert "By default." in [view.text for view in page.items]


def test_the_store_is_looked_after(api: Api) -> None:
    api.fact("Something to check.")
    position = api.events()[-1].position
    sealed = reply_of(api.send("POST", "/v1/seal", {}), r.Sealed)
    verified = reply_of(api.send("POST", "/v1/verify", {"expect": sealed.head}), r.Verified)
    assert (verified.ok, verified.expected) == (True, True)
    assert reply_of(api.send("POST", "/v1/verify"), r.Verified).ok, "no body is no demand"
    other = sealed.head[:-1] + ("0" if sealed.head[-1] != "0" else "1")
    other_head = reply_of(api.send("POST", "/v1/verify", {"expect": other}), r.Verified)
    assert other_head.expected is False
    rebuilt = reply_of(api.send("POST", "/v1/rebuild", {"views": []}), r.Rebuilt)
    assert rebuilt.equal and rebuilt.views
    one = next(iter(rebuilt.views))
    assert list(reply_of(api.send("POST", "/v1/rebuild", {"views": [one]}), r.Rebuilt).views) == [
        one
    ]
    replayed = api.write("POST", "/v1/replay", {"at": f"@{position}", "verify": True}, r.Replayed)
    assert replayed.agrees is True and replayed.to is None
    assert reply_of(api.send("POST", "/v1/accept-clock", {}), r.Accepted).recorded_at


def test_workers_are_asked_and_jobs_tried_again(api: Api) -> None:
    written = api.write("POST", "/v1/documents", {"text": "Omar grows figs."})
    for action in ("status", "pause", "resume", "status"):
        told = reply_of(api.send("POST", "/v1/workers", {"action": action}), r.Working)
        assert told.state in ("running", "paused", "off") and told.extractor is None
    where = {"container": api.container}
    api.refused(404, "not_found", "POST", "/v1/jobs/retry", where)
    item = written.items[0]
    pending = {**where, "ids": [item.id]}
    api.refused(409, "conflict", "POST", "/v1/jobs/retry", pending)
    api.refused(400, "wrong_kind", "POST", "/v1/jobs/retry", {**where, "ids": [item.event]})


def test_a_replay_never_writes_to_a_path_on_the_server(api: Api, tmp_path: Any) -> None:
    api.fact("A fact.")
    target = tmp_path / "copy"
    body = {"container": api.container, "at": "@1", "to": str(target)}
    api.refused(400, "invalid_input", "POST", "/v1/replay", body, field="to")
    assert not target.exists()


@pytest.mark.parametrize("kind", ["fact", "document", "message"])
def test_both_forms_of_an_id_are_read(api: Api, kind: str) -> None:
    """An id is shown with its kind; its bits as a UUID are understood too."""
    bodies: dict[str, tuple[str, dict[str, Any]]] = {
        "fact": ("/v1/facts", {"text": "A."}),
        "document": ("/v1/documents", {"text": "A."}),
        "message": ("/v1/messages", {"messages": [{"content": "A."}]}),
    }
    path, body = bodies[kind]
    item = given(only(api.write("POST", path, body)).id)
    assert api.read(f"{path}/{item}", r.Shown).item.id == item
    _, bits = parse_any(item)
    assert api.read(f"{path}/{as_uuid(bits)}", r.Shown).item.id == item
