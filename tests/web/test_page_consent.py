"""The page asks whether a tool may run: a real server, Chromium and a keyboard."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serving

pytestmark = pytest.mark.rotates(1 / 4)

Serve = Callable[..., Serving]

APP = Path(__file__).with_name("scripted_app.py")
ARGUMENTS = ["5", "<b>Ann</b>"]


@pytest.fixture
def asked(page: Page, serve: Serve) -> Page:
    """The page in a call whose agent wants to pay."""
    page.goto(serve(f"{APP}:make_cashier").address)
    types(page, "Pay Ann.")
    asks(page)
    return page


def types(page: Page, words: str) -> None:
    """The user types a turn."""
    page.get_by_label("Message", exact=True).fill(words)
    page.keyboard.press("Enter")


def asks(page: Page) -> None:
    """The card shows the question and what the tool is to be given, as text."""
    card = page.get_by_role("group", name="Consent to pay")
    expect(card.locator(".question")).to_contain_text("Ann")
    expect(card.locator("dd")).to_have_text(ARGUMENTS)
    expect(card.get_by_text("It cannot be asked aloud here. Please choose, or type “yes” or “no”.")).to_be_visible()


@pytest.mark.parametrize(
    ("button", "confirmed", "told"),
    [("Yes", True, "paid 5 to <b>Ann</b>"), ("No", False, "the user refused")],
)
def test_the_card_asks_and_its_answer_goes_to_the_server(asked: Page, button: str, confirmed: bool, told: str) -> None:
    """HITL-22: the page shows a confirm card and sends the result, by keyboard alone."""
    tool = asked.locator(".bubble.tool")
    expect(tool).to_have_attribute("data-status", "asking")
    expect(asked.locator(".bubble b")).to_have_count(0)
    before = asked.evaluate("realtime.snapshot().events.length")
    asked.keyboard.press("Shift+Tab")
    pressed = 0
    while asked.evaluate("document.activeElement.textContent") != button:
        asked.keyboard.press("Shift+Tab")
        pressed += 1
        assert pressed < 10, "the button cannot be reached by keyboard"
    asked.keyboard.press("Enter")
    expect(tool).to_have_attribute("data-status", "done")
    expect(tool.locator(".words")).to_have_text(f'{{"amount": 5, "to": "<b>Ann</b>"}} → {told}')
    expect(asked.get_by_role("group", name="Consent to pay")).to_have_count(0)
    expect(asked.locator(".bubble.agent .words")).to_have_text(f"I was told: {told}.")
    events: list[str] = asked.evaluate("realtime.snapshot().events")
    assert events[before:].count("client_tool_result") == 1
    assert ("agent_item_done" in events[before : events.index("agent_response_tool_result")]) is confirmed


def test_what_the_tool_is_given_can_be_changed_on_the_card(asked: Page) -> None:
    """The changed input is what runs."""
    card = asked.get_by_role("group", name="Consent to pay")
    card.get_by_role("button", name="Change").click()
    amount = card.get_by_role("textbox", name="Amount")
    expect(amount).to_be_focused()
    amount.fill("")
    card.get_by_role("button", name="Yes, as changed").click()
    expect(card.get_by_text("Please fill this in.")).to_be_visible()
    amount.fill("7")
    asked.keyboard.press("Tab")
    card.get_by_role("button", name="Yes, as changed").click()
    expect(asked.locator(".bubble.agent .words")).to_have_text("I was told: paid 7 to <b>Ann</b>.")
    expect(asked.locator(".receipt summary")).to_have_text("You agreed to it as you changed it")


def test_the_question_goes_when_the_user_wants_something_else(asked: Page) -> None:
    tool = asked.locator(".bubble.tool")
    types(asked, "What is the weather like?")
    expect(tool.locator(".words")).to_contain_text("interrupted by the user")
    expect(tool.get_by_role("group", name="Consent to pay")).to_have_count(0)
    expect(asked.locator(".bubble.agent .words")).to_have_text("I was told: interrupted by the user.")


@pytest.mark.parametrize(
    ("words", "told", "receipt"),
    [
        ("Yes, please.", "paid 5 to <b>Ann</b>", "You agreed in writing"),
        ("No, thanks.", "the user refused: No, thanks.", "You wrote no"),
    ],
)
def test_what_is_typed_under_the_question_answers_it(asked: Page, words: str, told: str, receipt: str) -> None:
    asked.wait_for_timeout(1_200)  # A yes that is typed sooner is to something else.
    types(asked, words)
    expect(asked.locator(".bubble.tool")).to_have_attribute("data-status", "done")
    expect(asked.get_by_role("group", name="Consent to pay")).to_have_count(0)
    expect(asked.locator(".receipt summary")).to_contain_text(receipt)
    expect(asked.locator(".bubble.agent .words")).to_contain_text(f"I was told: {told}")


def test_an_ended_call_asks_nothing(asked: Page) -> None:
    asked.get_by_role("button", name="End call").click()
    expect(asked.locator(".bubble.tool")).to_have_attribute("data-status", "cut")
    expect(asked.get_by_role("group", name="Consent to pay")).to_have_count(0)


def test_a_reload_shows_the_question_again(asked: Page) -> None:
    """The question does not depend on the page that got it first."""
    asked.reload()
    asks(asked)
    asked.get_by_role("button", name="Yes").click()
    expect(asked.locator(".bubble.agent .words")).to_have_text("I was told: paid 5 to <b>Ann</b>.")


@pytest.mark.parametrize("maker", ["make_thinking_cashier", "make_delegating_cashier"])
@pytest.mark.parametrize(("button", "told"), [("Yes", "paid 5 to <b>Ann</b>"), ("No", "the user refused")])
def test_a_tool_of_an_agent_behind_the_voice_asks_on_the_same_card(
    page: Page, serve: Serve, maker: str, button: str, told: str
) -> None:
    page.goto(serve(f"{APP}:{maker}").address)
    page.get_by_label("Message", exact=True).fill("Pay Ann.")
    page.keyboard.press("Enter")
    card = page.get_by_role("group", name="Consent to pay")
    expect(card.locator("dd")).to_have_text(ARGUMENTS)
    card.get_by_role("button", name=button).click()
    expect(page.locator(".bubble.agent .words").last).to_have_text(f"I was told: {told}.")
    expect(page.get_by_role("group", name="Consent to pay")).to_have_count(0)
    tool = page.locator(".bubble.tool").filter(has_text="amount")
    expect(tool.locator(".words")).to_have_text(f'{{"amount": 5, "to": "<b>Ann</b>"}} → {told}')
    expect(tool).to_have_attribute("data-status", "done")
