"""The page asks whether a tool may run: a real server, Chromium and a keyboard."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.pages import end_call, until, write

pytestmark = pytest.mark.night

APP = Path(__file__).with_name("scripted_app.py")
ARGUMENTS = ["5", "<b>Ann</b>"]
TYPED = {
    "Yes, please.": ("paid 5 to <b>Ann</b>", "You agreed in writing"),
    "No, thanks.": ("the user refused: No, thanks.", "You wrote no"),
}


@pytest.fixture
def asked(page: Page, serve: Serve) -> Page:
    """The page in a call whose agent wants to pay."""
    page.goto(serve(f"{APP}:make_cashier").address)
    write(page, "Pay Ann.")
    asks(page)
    return page


def asks(page: Page) -> None:
    """The card shows the question and what the tool is to be given, as text."""
    card = page.get_by_role("group", name="Consent to pay")
    expect(card.locator(".question")).to_contain_text("Ann")
    expect(card.locator("dd")).to_have_text(ARGUMENTS)
    expect(card.get_by_text("It cannot be asked aloud here. Please choose, or type “yes” or “no”.")).to_be_visible()


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
    write(asked, "What is the weather like?")
    expect(tool.locator(".words")).to_contain_text("interrupted by the user")
    expect(tool.get_by_role("group", name="Consent to pay")).to_have_count(0)
    expect(asked.locator(".bubble.agent .words")).to_have_text("I was told: interrupted by the user.")


@pytest.mark.parametrize("words", TYPED)
def test_what_is_typed_under_the_question_answers_it(asked: Page, words: str) -> None:
    told, receipt = TYPED[words]
    # A yes that is typed sooner than a second after the card is to something else.
    until(asked, "(window.asked ??= performance.now()) + 1200 < performance.now()")
    write(asked, words)
    expect(asked.locator(".bubble.tool")).to_have_attribute("data-status", "done")
    expect(asked.get_by_role("group", name="Consent to pay")).to_have_count(0)
    expect(asked.locator(".receipt summary")).to_contain_text(receipt)
    expect(asked.locator(".bubble.agent .words")).to_contain_text(f"I was told: {told}")


def test_a_reload_shows_the_question_again_and_an_ended_call_asks_nothing(asked: Page) -> None:
    """The question does not depend on the page that got it first."""
    asked.reload()
    asks(asked)
    asked.get_by_role("button", name="Yes").click()
    expect(asked.locator(".bubble.agent .words")).to_have_text("I was told: paid 5 to <b>Ann</b>.")
    write(asked, "Pay Ann again.")
    expect(asked.get_by_role("group", name="Consent to pay")).to_have_count(1)
    end_call(asked)
    expect(asked.locator(".bubble.tool").last).to_have_attribute("data-status", "cut")
    expect(asked.get_by_role("group", name="Consent to pay")).to_have_count(0)


@pytest.mark.parametrize("maker", ["make_thinking_cashier", "make_delegating_cashier"])
@pytest.mark.parametrize(("button", "told"), [("Yes", "paid 5 to <b>Ann</b>"), ("No", "the user refused")])
def test_a_tool_of_an_agent_behind_the_voice_asks_on_the_same_card(
    page: Page, serve: Serve, maker: str, button: str, told: str
) -> None:
    page.goto(serve(f"{APP}:{maker}").address)
    write(page, "Pay Ann.")
    card = page.get_by_role("group", name="Consent to pay")
    expect(card.locator("dd")).to_have_text(ARGUMENTS)
    card.get_by_role("button", name=button).click()
    expect(page.locator(".bubble.agent .words").last).to_have_text(f"I was told: {told}.")
    expect(card).to_have_count(0)
    tool = page.locator(".bubble.tool").filter(has_text="amount")
    expect(tool.locator(".words")).to_have_text(f'{{"amount": 5, "to": "<b>Ann</b>"}} → {told}')
    expect(tool).to_have_attribute("data-status", "done")
