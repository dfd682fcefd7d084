"""What the page shows of deeds and sends about them, with a server that is played."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from realtime.plan import Plan
from tests.web.callers import custom, page_of, reply, text
from tests.web.callers import tell as store
from tests.web.conftest import Scripted, ScriptedServer
from tests.web.page_scenes import (
    ASKED,
    ELICITED,
    RECEIPT,
    RULES,
    asked,
    asked_by_voice,
    elicited,
    give,
    permissions,
    question,
    receipt,
    receipts,
    tell,
    use,
)
from tests.web.pages import fits, sends, until
from tests.web.test_page_access import AXE, LANGUAGES, faults

pytestmark = pytest.mark.night

GIVEN = {"people": 4, "day": "Friday"}


def asks(scripted: ScriptedServer, state: str = "heard") -> Locator:
    """A booking asks, with rules; returns its card."""
    page = scripted.begin()
    use(scripted, "c1", "book_table", GIVEN, "asking", suggested_rules=RULES)
    question(scripted, state)
    return card_of(page)


def card_of(page: Page) -> Locator:
    return page.get_by_role("group", name="Consent to Book table")


def answer(scripted: ScriptedServer) -> dict[str, Any]:
    """The answer that the page has sent."""
    until(scripted.page, sends("client_tool_result"))
    (sent,) = scripted.of("client_tool_result")
    return sent


def test_the_card_says_when_a_yes_counts_and_closes_once_it_is_answered(scripted: ScriptedServer) -> None:
    page, card = scripted.page, asks(scripted, "asking")
    expect(card.locator(".question")).to_have_text(ASKED)
    expect(card).to_contain_text("A “yes” counts once you have heard the question to its end.")
    early = {"tool_call_id": "c1", "tool": "book_table", "reason": "before_end", "words": "Yes."}
    tell(scripted, "consent_ignored", **early)
    expect(card).to_contain_text("You answered before the question was over.")
    question(scripted, "heard")
    expect(card).to_contain_text("Say “yes” or “no”, or choose here.")
    expect(page.locator("#state")).to_have_text("Listening")
    card.get_by_role("button", name="No").focus()
    question(scripted, "answered")
    expect(card).to_have_count(0)
    expect(page.locator(".bubble.tool")).to_be_focused()


def test_a_question_that_cannot_be_spoken_is_answered_on_its_card_and_one_for_the_voice_only_refused_there(
    scripted: ScriptedServer,
) -> None:
    card = card_of(scripted.show(asked_by_voice))
    question(scripted, "asking", by="card", why="the model does not begin to ask")
    expect(card).to_contain_text("It cannot be asked aloud here. Please choose, or type “yes” or “no”.")
    expect(card.get_by_role("button", name="Yes")).to_be_visible()
    question(scripted, "waiting", by="voice")
    expect(card).to_contain_text("It is about to be asked aloud.")
    expect(card.get_by_role("button")).to_have_text(["No"])
    question(scripted, "heard", by="voice")
    expect(card).to_contain_text("Say or type “yes” or “no”.")
    expect(card.get_by_role("button")).to_have_text(["No"])
    expect(card.get_by_role("radio")).to_have_count(0)
    card.get_by_role("button", name="No").click()
    assert answer(scripted)["confirmed"] is False


def test_an_accepted_rule_is_sent_as_it_was_suggested(scripted: ScriptedServer) -> None:
    card = asks(scripted)
    card.get_by_label("Allow “Book table” from now on for Day = Friday").check()
    card.get_by_role("button", name="Yes").click()
    sent = answer(scripted)
    assert (sent["confirmed"], sent["rules"]) == (True, RULES[:1])
    assert "tool_call" not in sent
    expect(card.get_by_role("button", name="Yes")).to_be_disabled()
    scripted.send("agent_error", code="unknown_rule", message="only the rules that were suggested")
    expect(card.get_by_role("button", name="Yes")).to_be_enabled()


def test_a_change_by_voice_is_what_the_card_shows_and_what_by_hand_is_what_it_sends(scripted: ScriptedServer) -> None:
    page = scripted.show(asked)
    card = card_of(page)
    expect(card.locator("dd")).to_have_text(["4 before: 5", "Friday"])
    card.get_by_role("button", name="Change").click()
    card.get_by_role("textbox", name="Day").fill("Saturday")
    card.get_by_role("button", name="Yes, as changed").click()
    sent = answer(scripted)["tool_call"]
    assert (sent["name"], json.loads(sent["input"])) == ("book_table", {"people": 4, "day": "Saturday"})


def test_a_server_s_form_is_text_and_what_is_entered_goes_back_in_its_call(scripted: ScriptedServer) -> None:
    page = scripted.show(elicited)
    form = page.get_by_role("form", name="Question from parcels.example")
    expect(form).to_contain_text("Where shall the <b>parcel</b> go?")
    expect(form.locator("b")).to_have_count(0)
    mail = form.get_by_label("E-mail")
    expect(mail).to_be_focused()
    expect(mail).to_have_attribute("aria-invalid", "true")
    expect(mail).to_have_accessible_description("This is no e-mail address.")
    assert scripted.of("client_tool_result") == []
    mail.fill("ann@example.org")
    expect(form.get_by_text("This is no e-mail address.")).to_be_hidden()
    form.get_by_label("Day of delivery").fill("2026-03-01")
    form.get_by_label("Parcels").fill("2")
    form.get_by_label("Size").select_option("Large")
    form.get_by_label("tracked").check()
    form.get_by_label("Ring twice").uncheck()
    mail.press("Enter")
    sent = answer(scripted)
    content = {"name": "Ann", "mail": "ann@example.org", "day": "2026-03-01", "parcels": 2, "size": "large"}
    content |= {"extras": ["tracked"], "ring": False}
    assert sent["confirmed"] is True
    assert json.loads(sent["tool_call"]["input"]) == ELICITED | {"content": content}


def test_a_form_that_the_page_cannot_show_can_be_declined(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    use(scripted, "c2", "elicitation", ELICITED | {"requested_schema": {"properties": 7}}, "asking")
    form = page.get_by_role("form", name="Question from parcels.example")
    expect(form).to_contain_text("This page cannot show the form. You can only decline.")
    expect(form.get_by_role("button")).to_have_text(["Decline"])
    form.get_by_role("button", name="Decline").click()
    assert answer(scripted)["confirmed"] is False


def test_a_receipt_and_a_corrected_claim_are_lines_that_open(scripted: ScriptedServer) -> None:
    page = scripted.show(receipts)
    expect(page.locator(".receipt div")).to_have_text(
        [f"Asked{ASKED}", "Heardto its end", "Answered“Yes, please.”", "Thenit was done"]
    )
    expect(page.locator(".claim dd")).to_have_text(
        ["It was about to say: “I have sent you the confirmation.”", "But this was not done: Send mail"]
    )


def test_a_question_without_an_answer_did_not_run(scripted: ScriptedServer) -> None:
    page = scripted.page
    asks(scripted)
    question(scripted, "answered")
    give(scripted, "c1", "book_table", "the user did not answer", "denied")
    receipt(scripted, answered_by="timeout", answer="silence", words="", done="denied")
    expect(page.locator(".tool-state")).to_have_text("Did not run")
    expect(page.locator(".receipt summary")).to_have_text("Nobody answered")


def call_again(page: Page) -> None:
    for _ in ("end", "begin"):
        page.locator("#talk").click()
    expect(page.locator("#stage")).to_have_attribute("data-talking", "true")


def shown_key(scripted: ScriptedServer) -> str:
    """The key that the latest call began with."""
    asked = scripted.of("client_session_create")[-1]["config"]["permissions"]
    assert asked.pop("keep") is True
    return str(asked["key"])


def test_the_page_asks_to_keep_rules_under_a_key_that_it_forgets_on_request(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    assert shown_key(scripted) == ""
    scripted.send("server_custom", name="permissions_key", value={"key": "permissions_1"})
    permissions(scripted, "session")
    expect(page.locator(".notice")).to_contain_text("Allowed in earlier calls: Book table (Day = Friday).")
    page.get_by_role("button", name="Settings").click()
    rules = page.get_by_role("group", name="Permissions")
    expect(rules.get_by_role("listitem")).to_have_text(["Book table (Day = Friday)"])
    page.keyboard.press("Escape")
    call_again(page)
    assert shown_key(scripted) == "permissions_1"
    expect(rules).to_have_count(0)
    page.get_by_role("button", name="Settings").click()
    expect(rules).to_contain_text("During a call, this lists what you have allowed.")
    rules.get_by_role("button", name="Forget what I allowed").click()
    expect(rules.get_by_role("status")).to_have_text("Forgotten from the next call on.")
    page.keyboard.press("Escape")
    call_again(page)
    assert shown_key(scripted) == ""


def test_the_page_says_that_rules_end_with_the_call(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    scripted.send("agent_error", error_type="server_error", code="rules_not_kept", message="the sentence of the server")
    expect(page.locator(".notice")).to_contain_text("ends with this call")
    page.get_by_role("button", name="Settings").click()
    expect(page.locator("#rules-hint")).to_contain_text("ends with this call")


def test_a_past_call_shows_its_receipts_and_corrections(page: Page, static_page: str) -> None:
    called = [
        {"type": "TOOL_CALL_START", "tool_call_id": "c1", "tool_call_name": "book_table"},
        {"type": "TOOL_CALL_DELTA", "tool_call_id": "c1", "delta": json.dumps(GIVEN)},
        {"type": "TOOL_CALL_END", "tool_call_id": "c1"},
        {"type": "TOOL_RESULT_START", "tool_call_id": "c1", "tool_call_name": "book_table"},
        {"type": "TOOL_RESULT_TEXT_DELTA", "tool_call_id": "c1", "delta": "booked"},
        {"type": "TOOL_RESULT_END", "tool_call_id": "c1", "state": "success"},
    ]
    claim = {"item_id": "item_4", "response_id": "r", "sentence": "I have sent you the confirmation."}
    claim |= {"tools": ["send_mail"], "correction": "I have not.", "heard": True}
    told = [custom("consent_receipt", **RECEIPT), custom("claim_withheld", **claim)]
    store(page, [*reply("r1", *called, *text("item_4", "I have not.")), *told])
    page.goto(page_of(static_page))
    page.get_by_text("You agreed by voice").click()
    expect(page.locator(".receipt dd")).to_have_text([ASKED, "to its end", "“Yes, please.”", "it was done"])
    page.get_by_text("Corrected after you heard it").click()
    expect(page.locator(".claim dd").first).to_have_text("It said: “I have sent you the confirmation.”")
    expect(page.locator(".parts > .words")).to_have_text("I have not.")


def test_a_plan_is_a_checklist_in_the_call_and_after_it(scripted: ScriptedServer, page: Page, static_page: str) -> None:
    """Its states are text in a list that is announced; each changes in place."""
    trip = Plan(name="Trip to <b>Oslo</b>", description="", expected_outcome="", subtasks=["Train", "Room"])  # type: ignore[list-item]  # texts become subtasks
    in_call = scripted.begin()
    box = in_call.get_by_role("group", name="The agent’s plan")
    rows = box.get_by_role("listitem")
    tell(scripted, "plan_updated", plan=trip.model_dump())
    expect(rows).to_have_text(["To doTrain", "To doRoom"])
    first = rows.first.element_handle()
    trip.subtasks[0].finish("The 9:05.")
    trip.suspend()
    tell(scripted, "plan_updated", plan=trip.model_dump())
    expect(rows).to_have_text(["DoneTrain", "To doRoom"])
    assert first.text_content() == "DoneTrain"
    expect(box.get_by_role("heading")).to_have_text(trip.name)
    expect(box).to_contain_text("Put aside for now")
    expect(box).to_have_attribute("aria-live", "polite")
    if AXE.is_file():
        assert faults(in_call) == []
    tell(scripted, "plan_updated", plan=None)
    expect(rows).to_have_count(0)
    told = [custom("plan_updated", plan=plan) for plan in (trip.model_dump(), None)]
    store(page, [*reply("r1", *text("i1", "Booked.")), *told])
    page.goto(page_of(static_page))
    expect(page.get_by_role("group", name="The agent’s plan").get_by_role("listitem")).to_have_text(
        ["DoneTrain", "To doRoom"]
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_in_each_language_cards_and_forms_fit_a_small_screen(scripted_for: Scripted, language: str) -> None:
    server = scripted_for(locale=language, viewport={"width": 320, "height": 720})
    page = server.begin()
    use(server, "c1", "book_table", GIVEN, "asking", suggested_rules=RULES)
    for state in ("asking", "changed"):
        question(server, state, input=json.dumps(GIVEN | {"people": 3}))
    use(server, "c2", "elicitation", ELICITED, "asking")
    permissions(server)
    receipt(server, tool_call_id="c3")
    expect(page.locator(".confirm")).to_have_count(2)
    page.locator(".confirm .change").click()
    page.locator(".receipt summary").filter(visible=True).click()
    assert fits(page)
    assert page.locator("#captions").evaluate("(box) => box.scrollWidth <= box.clientWidth")
    if AXE.is_file():
        assert faults(page) == []
