"""Consent by voice on the room page: a real room with the embedded voice, two pages, and answers from a microphone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from realtime.agent import RealtimeAgent
from realtime.model.scripted import Speak
from realtime.room import ChatRoom
from realtime.room.floor import addressed
from tests.web.acoustics import Acoustics
from tests.web.conftest import OpenPage
from tests.web.consent_app import make_waiter
from tests.web.pages import snapshot, until
from tests.web.rooms import RoomServing, agent, names
from tests.web.test_consent_page import ASKS, BOOK, YES, card, said

pytestmark = pytest.mark.night


@pytest.fixture
def room() -> Iterator[RoomServing]:
    """A server with a room of a waiter and another agent."""
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")

    def make() -> ChatRoom:
        agents: list[RealtimeAgent] = [make_waiter(), agent("Ada", Speak("I am Ada", 1.0))]
        return ChatRoom(agents, name="demo", floor=addressed)

    serving = RoomServing(make, {})
    yield serving
    serving.stop()


def test_the_yes_of_the_asked_human_consents_and_closes_the_card_on_every_page(
    room: RoomServing, open_page: OpenPage
) -> None:
    anna, ben = open_page(permissions=["microphone"]), open_page()
    acoustics = Acoustics(anna)
    anna.goto(room.url("Anna"))
    expect(names(anna).first).to_have_text("Anna (you)")
    ben.goto(room.url("Ben"))
    until(anna, "realtime.snapshot().microphone")
    acoustics.say(said(BOOK))
    for page in (anna, ben):
        expect(card(page).locator(".question")).to_have_text(ASKS)
    expect(card(anna).locator(".how")).to_have_attribute("data-state", "heard")
    expect(card(anna)).to_contain_text("Say “yes” or “no”")
    expect(card(ben)).to_contain_text("Anna is asked")
    acoustics.say(said(YES))
    for page in (anna, ben):
        expect(card(page)).to_have_count(0)
        expect(page.locator(".bubble.tool .words")).to_contain_text("booked for 5 on Friday")
    anna.locator(".bubble.tool").get_by_text("You agreed by voice").click()
    expect(anna.locator(".receipt dd")).to_contain_text([ASKS, "to its end", "Yes", "Anna", "it was done"])
    until(anna, "realtime.snapshot().turns.at(-1).text.startsWith('I was told: booked for 5 on Friday')")
    assert snapshot(anna)["notices"] == []
