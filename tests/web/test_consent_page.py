"""Consent on the page: a real server with the embedded voice, Chromium, and answers from its microphone."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.acoustics import Acoustics
from tests.web.conftest import ROOT, Serve
from tests.web.pages import HEARING, end_call, start_talking, until, write

pytestmark = pytest.mark.night

APP = f"{Path(__file__).with_name('consent_app.py')}:make_waiter"
ASKS = "Shall I book a table for five people on Friday?"
ASKS_CHANGED = "Shall I book a table for two people on Friday?"
SOUNDS = ROOT / "fixtures" / "audio" / "consent"
BOOK, YES, NO = "request-book_a_table_for", "yes-yes_please", "no-no_thank_you"
CHANGE = "change-yes_but_only_two"


def said(kind: str) -> Path:
    """A recording of what people say, in another voice than the agent's."""
    return SOUNDS / f"{kind}-en-us.flac"


@pytest.fixture(autouse=True)
def _speech_models() -> None:
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")


def asked(page: Page, address: str) -> Acoustics:
    """The page in a call whose user has asked for a table, and has heard the question."""
    acoustics = Acoustics(page)
    start_talking(page, address)
    until(page, HEARING)
    acoustics.say(said(BOOK))
    heard(page, ASKS)
    return acoustics


def card(page: Page) -> Locator:
    return page.get_by_role("group", name="Consent to Book table")


def heard(page: Page, question: str) -> None:
    """Wait until the question was heard to its end."""
    is_it = f"tool?.question?.state === 'heard' && tool.question.question === '{question}'"
    until(page, f"realtime.snapshot().bubbles.some(({{status, tool}}) => status === 'asking' && {is_it})")


def test_a_spoken_yes_consents_and_leaves_a_receipt(page: Page, serve: Serve) -> None:
    acoustics = asked(page, serve(APP).address)
    expect(card(page)).to_contain_text("Say “yes” or “no”")
    acoustics.say(said(YES))
    expect(card(page)).to_have_count(0)
    tool = page.locator(".bubble.tool")
    expect(tool.locator(".tool-result")).to_have_text("booked for 5 on Friday")
    tool.get_by_text("You agreed by voice").click()
    expect(tool.locator(".receipt dd")).to_contain_text([ASKS, "to its end", "Yes", "it was done"])
    expect(page.locator(".bubble.agent .words").last).to_have_text("I was told: booked for 5 on Friday.")


def test_a_change_in_words_is_shown_and_asked_again(page: Page, serve: Serve) -> None:
    acoustics = asked(page, serve(APP).address)
    acoustics.say(said(CHANGE))
    expect(card(page).locator(".question")).to_have_text(ASKS_CHANGED)
    expect(card(page).locator(".was")).to_have_text("before: 5")
    heard(page, ASKS_CHANGED)
    acoustics.say(said(YES))
    tool = page.locator(".bubble.tool")
    expect(tool.locator(".tool-result")).to_have_text("booked for 2 on Friday")
    expect(tool.locator(".receipt summary")).to_have_text("You agreed by voice")


def test_a_no_by_voice_closes_the_card(page: Page, serve: Serve) -> None:
    acoustics = asked(page, serve(APP).address)
    acoustics.say(said(NO))
    expect(card(page)).to_have_count(0)
    expect(page.locator(".tool-state")).to_have_text("You refused it")
    expect(page.locator(".receipt summary")).to_have_text("You said no")


def test_an_accepted_rule_holds_in_the_next_call_after_a_restart_until_it_is_forgotten(
    page: Page, serve: Serve
) -> None:
    first = serve(APP)
    asked(page, first.address)
    expect(card(page).get_by_label("Ask each time")).to_be_checked()
    card(page).get_by_label("Allow “Book table” from now on", exact=True).check()
    card(page).get_by_role("button", name="Yes", exact=True).click()
    booked = page.locator(".bubble.tool .tool-result")
    expect(booked).to_have_text("booked for 5 on Friday")
    expect(page.locator(".notice")).to_contain_text("No more questions before: Book table.")
    expect(page.locator(".receipt summary")).to_have_text("You agreed on the card")
    end_call(page)
    expect(page.locator("#stage")).to_have_attribute("data-state", "ended")
    first.stop()

    second = serve(APP, port=first.port)
    page.goto(second.address)
    write(page, "The same again.")
    expect(booked).to_have_text("booked for 5 on Friday")
    expect(page.locator(".notice")).to_contain_text("Allowed in earlier calls: Book table.")
    assert page.evaluate("realtime.snapshot().bubbles.every(({tool}) => !tool?.question)")
    page.get_by_role("button", name="Settings").click()
    expect(page.locator("#rules-in-force li")).to_have_text(["Book table"])
    page.get_by_role("button", name="Forget what I allowed").click()
    expect(page.get_by_text("Forgotten from the next call on.")).to_be_visible()
    page.keyboard.press("Escape")
    end_call(page)

    write(page, "And once more.")
    expect(card(page).locator(".question")).to_have_text(ASKS)
    expect(page.locator(".notice")).to_have_count(0)
