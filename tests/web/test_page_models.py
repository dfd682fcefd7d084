"""The choice of the model: the offer, the notes before a call, and a call with the chosen model."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import ScriptedServer, Serve
from tests.web.pages import end_call, start_talking, until

pytestmark = pytest.mark.night

APP = Path(__file__).with_name("scripted_app.py")


def model(name: str, title: str, missing: str | None, heard_by: str, **more: Any) -> dict[str, Any]:
    provider, _, version = name.partition(":")
    told = {"name": name, "title": title, "provider": provider, "model": version or provider, "missing": missing}
    return told | {"ready": missing is None, "heard_by": heard_by, "may_cost": name != "local"} | more


OFFER = {
    "default": "local",
    "models": [
        model("local", "Embedded model", None, "this computer", voice="heart", voices=["heart", "low"]),
        model("openai:gpt-realtime-2.1", "OpenAI", None, "OpenAI", voice="marin", voices=["alloy", "marin"]),
        model("gemini:flash", "Gemini", "GEMINI_API_KEY", "Google"),
    ],
}


def offering(page: Page, offer: dict[str, Any] = OFFER) -> None:
    """The page's server offers these models."""
    page.route("**/api/models", lambda route: route.fulfill(json=offer))


def test_the_models_are_offered_and_it_is_said_who_hears_before_the_first_call(page: Page, static_page: str) -> None:
    offering(page)
    page.goto(static_page)
    choice = page.get_by_label("Model")
    expect(choice.locator("option")).to_have_text(
        ["Embedded model", "OpenAI gpt-realtime-2.1", "Gemini: set GEMINI_API_KEY"]
    )
    expect(choice.locator("option:disabled")).to_have_text(["Gemini: set GEMINI_API_KEY"])
    talk = page.get_by_role("button", name="Start talking")
    expect(talk).to_have_accessible_description("Press to talk What you say stays on this computer.")
    expect(page.get_by_label("Voice")).to_have_value("heart")
    choice.select_option("OpenAI gpt-realtime-2.1")
    expect(talk).to_have_accessible_description("Press to talk OpenAI hears what you say, and it may cost money.")
    expect(page.get_by_text("OpenAI hears what you say, and it may cost money.")).to_be_visible()
    expect(page.get_by_label("Voice")).to_have_value("marin")


def test_the_choice_is_made_by_keyboard_and_remembered_while_it_can_be_called(scripted: ScriptedServer) -> None:
    page, choice = scripted.page, scripted.page.get_by_label("Model")
    offering(page)
    page.goto(scripted.address)
    expect(choice.locator("option")).to_have_count(3)
    choice.focus()
    page.keyboard.press("ArrowDown")
    page.reload()
    expect(choice).to_have_value("openai:gpt-realtime-2.1")
    start_talking(page)
    expect(page.get_by_role("status")).to_have_text("Listening")
    (created,) = scripted.of("client_session_create")
    assert created["config"]["model_provider"] == "openai:gpt-realtime-2.1"
    assert created["config"]["voice"] == "marin"
    # What a call began with, it keeps.
    expect(choice).to_be_disabled()
    end_call(page)
    expect(choice).to_be_enabled()
    # One that cannot be called any more is not chosen.
    page.evaluate("localStorage.setItem('realtime.model', 'gemini:flash')")
    page.reload()
    expect(choice).to_have_value("local")


def test_a_server_that_offers_nothing_shows_no_choice_and_is_asked_for_nothing(scripted: ScriptedServer) -> None:
    page = scripted.page
    offering(page, {"default": None, "models": []})
    page.goto(scripted.address)
    expect(page.locator("#model")).to_contain_text("speaks")
    expect(page.get_by_label("Model")).to_be_hidden()
    start_talking(page)
    expect(page.get_by_role("status")).to_have_text("Listening")
    (created,) = scripted.of("client_session_create")
    assert "model_provider" not in created["config"]


def test_with_one_key_a_reload_and_one_click_give_a_spoken_turn_through_that_provider(page: Page, serve: Serve) -> None:
    provider = serve(f"{APP}:make_greeter", "--token", "sk-4711")
    keys = {"OPENAI_API_KEY": "sk-4711", "OPENAI_BASE_URL": f"{provider.address}/v1"}
    serving = serve(keys=keys)
    assert "The only key found is for OpenAI" in serving.said
    page.goto(serving.address)
    page.reload()
    expect(page.get_by_label("Model")).to_have_value("openai")
    expect(page.locator("#hearing")).to_have_text(
        "The service that OPENAI_BASE_URL names hears what you say, and it may cost money."
    )
    start_talking(page)
    until(page, "realtime.snapshot().bubbles.some((bubble) => bubble.text === 'Hello, I am Heart.')")
    until(page, "realtime.snapshot().bubbles.some((bubble) => bubble.text === 'Tell me a story.')")
    until(page, "realtime.snapshot().state === 'speaking' && realtime.snapshot().playback?.audible > 12000")
    expect(page.locator("#model")).to_contain_text("OpenAI gpt-realtime-2.1 speaks")
    assert page.evaluate("realtime.snapshot().notices") == []
    assert "sk-4711" not in page.content() + serving.said


def test_a_key_that_is_refused_is_told_with_the_variable_to_set(page: Page, serve: Serve) -> None:
    provider = serve("--model", "scripted", "--token", "right")
    serving = serve(keys={"OPENAI_API_KEY": "wrong", "OPENAI_BASE_URL": f"{provider.address}/v1"})
    start_talking(page, serving.address)
    expect(page.get_by_role("alert")).to_contain_text("OpenAI refused the key: set OPENAI_API_KEY to a valid one")
