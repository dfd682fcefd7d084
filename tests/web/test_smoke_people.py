"""Consent, by hand and by voice, and a room with two people, as a person meets them on the page."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from realtime.model.scripted import Speak
from realtime.room import ChatRoom
from realtime.room.floor import addressed
from tests.agent.consent_call import sound
from tests.web.acoustics import Microphone, say_until
from tests.web.conftest import OpenPage, Serve
from tests.web.pages import HEARING, snapshot, start_talking, until, write
from tests.web.plan_app import WANTS, WHERE
from tests.web.rooms import ADA_S, ADA_WORDS, CUT, SILENT, STORY, RoomServing, agent, heard_ms, names, said, talk

HERE = Path(__file__).parent
ASKS = "Shall I book a table for five people on Friday?"
ARGUMENTS = ["5", "<b>Ann</b>"]
LONG_S = 600.0
KEPT = ("--store", "memory:")


@pytest.mark.parametrize(
    ("button", "confirmed", "told"),
    [("Yes", True, "paid 5 to <b>Ann</b>"), ("No", False, "the user refused")],
)
def test_the_card_asks_and_its_answer_goes_to_the_server(
    page: Page, serve: Serve, button: str, confirmed: bool, told: str
) -> None:
    """HITL-22: the page shows a confirm card and sends the result, by keyboard alone."""
    page.goto(serve(f"{HERE / 'scripted_app.py'}:make_cashier", *KEPT).address)
    write(page, "Pay Ann.")
    card = page.get_by_role("group", name="Consent to pay")
    expect(card.locator("dd")).to_have_text(ARGUMENTS)
    tool = page.locator(".bubble.tool")
    expect(tool).to_have_attribute("data-status", "asking")
    expect(page.locator(".bubble b")).to_have_count(0)
    before = page.evaluate("realtime.snapshot().events.length")
    pressed = 0
    while page.evaluate("document.activeElement.textContent") != button:
        page.keyboard.press("Shift+Tab")
        pressed += 1
        assert pressed < 10, "the button cannot be reached by keyboard"
    page.keyboard.press("Enter")
    expect(tool).to_have_attribute("data-status", "done")
    expect(tool.locator(".words")).to_have_text(f'{{"amount": 5, "to": "<b>Ann</b>"}} → {told}')
    expect(card).to_have_count(0)
    expect(page.locator(".bubble.agent .words")).to_have_text(f"I was told: {told}.")
    events: list[str] = page.evaluate("realtime.snapshot().events")
    assert events[before:].count("client_tool_result") == 1
    assert ("agent_item_done" in events[before : events.index("agent_response_tool_result")]) is confirmed


def test_a_spoken_yes_consents_and_leaves_a_receipt(page: Page, serve: Serve) -> None:
    """With stand-ins for the engine: a sound is a sentence."""
    microphone = Microphone(page)
    start_talking(page, serve(f"{HERE / 'consent_app.py'}:make_stand_in_waiter", *KEPT).address)
    until(page, HEARING)
    card = page.get_by_role("group", name="Consent to Book table")
    question = expect(card.locator(".question"))
    order = sound("Book a table for four on Friday.")
    say_until(microphone, order, lambda ms: question.to_have_text(ASKS, timeout=ms))
    asked = "status === 'asking' && tool?.question?.state === 'heard'"
    until(page, f"realtime.snapshot().bubbles.some(({{status, tool}}) => {asked})")
    expect(card).to_contain_text("Say “yes” or “no”")
    say_until(microphone, sound("Yes please."), lambda ms: expect(card).to_have_count(0, timeout=ms))
    tool = page.locator(".bubble.tool")
    expect(tool.locator(".tool-result")).to_have_text("booked for 5 on Friday")
    tool.get_by_text("You agreed by voice").click()
    expect(tool.locator(".receipt dd")).to_contain_text([ASKS, "to its end", "Yes", "it was done"])
    expect(page.locator(".bubble.agent .words").last).to_have_text("I was told: booked for 5 on Friday.")


def test_a_person_changes_the_plan_by_keyboard_and_the_agent_goes_by_that(page: Page, serve: Serve) -> None:
    """The agent knows of its plan what the hint says; what is not done in order is refused in words."""
    page.goto(serve(f"{HERE / 'plan_app.py'}:make_booker", *KEPT).address)
    write(page, WANTS)
    rows = page.get_by_role("group", name="The agent’s plan").get_by_role("listitem")
    train, room, table = "a train to Oslo", "a room at the harbour", "a table for two"
    expect(rows).to_have_text([f"In progress{train}", f"To do{room}", f"To do{table}"])
    page.get_by_role("checkbox", name=table).press("Space")
    expect(page.locator("#notices")).to_contain_text(f"named '{train}' is not done yet")
    page.get_by_role("checkbox", name=train).press("Space")
    expect(rows).to_have_text([f"Done{train}", f"In progress{room}", f"To do{table}"])
    page.get_by_role("button", name="Change plan: Oslo").press("Enter")
    page.get_by_role("button", name=f"Rename: {room}").press("Enter")
    page.keyboard.type("a bed by the sea")
    page.keyboard.press("Enter")
    page.get_by_role("button", name=f"Remove: {table}").press("Enter")
    expect(rows).to_have_count(2)
    write(page, WHERE)
    expect(page.locator(".bubble.agent .words").last).to_contain_text("Now it is a bed by the sea.")


@pytest.fixture
def come_in(open_page: OpenPage) -> Iterator[Callable[..., Page]]:
    """`come_in(name)`: a page in a room with Ada, who tells a long story the second time she is asked."""
    ada = Speak(ADA_WORDS, ADA_S), Speak(STORY, LONG_S)
    serving = RoomServing(lambda: ChatRoom([agent("Ada", *ada)], name="demo", floor=addressed), {})

    def enter(name: str) -> Page:
        page = open_page()
        page.goto(serving.url(name))
        expect(names(page).first).to_have_text(f"{name} (you)")
        return page

    yield enter
    serving.stop()


def test_two_people_in_a_room_read_and_hear_the_same_and_one_interrupts(come_in: Callable[..., Page]) -> None:
    ann, bob = pages = come_in("Ann"), come_in("Bob")
    expect(names(ann)).to_have_text(["Ann (you)", "Ada", "Bob"])
    write(ann, "Ada, hello")
    for page in pages:
        until(page, said(ADA_WORDS))
        until(page, SILENT)
    write(bob, "Ada, tell us a story")
    for page in pages:
        until(page, heard_ms(2_500))
    write(bob, "Thank you")
    for page in pages:
        until(page, said("Thank you"))
        until(page, CUT)
    assert talk(ann) == talk(bob)
    assert talk(ann)[:3] == [
        ("Ann", "Ada, hello", "", "done"),
        ("Ada", ADA_WORDS, "", "done"),
        ("Bob", "Ada, tell us a story", "", "done"),
    ]
    who, told, unheard, status = talk(ann)[3]
    assert (who, f"{told} {unheard}".strip(), status) == ("Ada", STORY, "cut")
    for page in pages:
        expect(page.locator(".bubble[data-status=cut] s")).to_have_text(unheard)
        # The first answer was played by this page, whole.
        first = next(turn["id"] for turn in snapshot(page)["turns"] if turn["side"] == "agent")
        assert snapshot(page)["playedMs"][first] == ADA_S * 1000
        assert snapshot(page)["playback"]["flushes"] == 1
    bob.get_by_role("button", name="Leave").click()
    expect(names(ann)).to_have_text(["Ann (you)", "Ada"])
