"""Settings before and during a call: devices, volume, push-to-talk, turns, instructions, keys, pictures, recordings."""

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.web.conftest import ScriptedServer
from tests.web.page_scenes import SEEING, begin

pytestmark = pytest.mark.rotates(1 / 4)

Until = Callable[[Page, str], None]


def png(width: int, height: int) -> bytes:
    """A red picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = (b"\0" + b"\xff\0\0" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


@pytest.fixture
def talking(page: Page, static_page: str, scripted: ScriptedServer) -> Page:
    """The page in a call, with the microphone open."""
    begin(page, scripted, static_page)
    return page


def test_another_microphone_is_used_during_the_call_and_on_the_next_visit(
    talking: Page, scripted: ScriptedServer, until: Until
) -> None:
    talking.get_by_role("button", name="Settings").click()
    microphones = talking.get_by_label("Microphone")
    expect(microphones.locator("option").nth(1)).to_contain_text("Fake")
    other = microphones.locator("option").nth(2).get_attribute("value") or ""
    microphones.select_option(other)
    sent = talking.evaluate("realtime.snapshot().sent.samples")
    until(talking, f"realtime.snapshot().sent.samples > {sent + 16_000}")
    expect(talking.locator(".notice")).to_have_count(0)
    assert len(scripted.of("client_session_create")) == 1
    talking.reload()
    assert other in talking.evaluate("localStorage.getItem('realtime.preferences')")


def test_the_volume_is_kept(talking: Page) -> None:
    talking.get_by_role("button", name="Settings").click()
    volume = talking.get_by_label("Volume")
    expect(volume).to_have_value("1")
    volume.fill("0.25")
    talking.reload()
    talking.get_by_role("button", name="Settings").click()
    expect(volume).to_have_value("0.25")


def test_with_push_to_talk_only_what_is_said_while_the_space_bar_is_held_is_a_turn(
    page: Page, static_page: str, scripted: ScriptedServer, until: Until
) -> None:
    page.goto(static_page)
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Push-to-talk").check()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Hold the button or the space bar to talk")
    (created,) = scripted.of("client_session_create")
    assert created["config"]["turn_detection"] == "none"
    until(page, "realtime.snapshot().microphoneSamples > 8000")
    assert scripted.audio == []
    page.keyboard.down("Space")
    expect(page.get_by_role("button", name="Release to send")).to_be_visible()
    until(page, "realtime.snapshot().sent.samples > 8000")
    page.keyboard.up("Space")
    until(page, "realtime.snapshot().events.includes('client_audio_commit')")
    expect(page.get_by_role("button", name="Hold to talk")).to_be_visible()
    # The space bar types where one types.
    page.get_by_label("Message").press_sequentially("a b")
    expect(page.get_by_label("Message")).to_have_value("a b")
    assert len(scripted.of("client_audio_commit")) == 1


def test_the_button_of_push_to_talk_is_held_by_a_finger_as_well(
    page: Page, static_page: str, scripted: ScriptedServer, until: Until
) -> None:
    page.goto(static_page)
    page.evaluate("localStorage.setItem('realtime.preferences', '{\"pushToTalk\": true}')")
    begin(page, scripted, static_page)
    page.get_by_role("button", name="Hold to talk").hover()
    page.mouse.down()
    until(page, "realtime.snapshot().sent.samples > 8000")
    page.mouse.up()
    until(page, "realtime.snapshot().events.includes('client_audio_commit')")


def test_changed_instructions_and_turns_hold_at_once_where_the_model_takes_them(
    talking: Page, scripted: ScriptedServer, until: Until
) -> None:
    talking.get_by_role("button", name="Settings").click()
    talking.get_by_label("Instructions").fill("Speak like a pirate.")
    talking.get_by_role("button", name="Apply").click()
    until(talking, "realtime.snapshot().events.filter((type) => type === 'client_session_update').length === 2")
    asked = scripted.of("client_session_update")[-1]
    assert asked["config"] == {"instructions": "Speak like a pirate."}
    scripted.send("server_session_updated")
    expect(talking.locator("#holds")).to_have_text("In force now.")
    talking.get_by_label("When you speak over an answer").select_option("off")
    until(talking, "realtime.snapshot().events.filter((type) => type === 'client_session_update').length === 3")
    asked = scripted.of("client_session_update")[-1]
    assert asked["config"] == {"turn_detection": {"interruption": "off"}}
    scripted.send("agent_error", message="not during a call", client_event_id=asked["event_id"])
    expect(talking.locator("#holds")).to_have_text("Holds from the next call on.")
    expect(talking.locator(".notice")).to_have_count(0)
    talking.keyboard.press("Escape")
    talking.get_by_role("button", name="End call").click()
    talking.get_by_role("button", name="Start talking").click()
    expect(talking.get_by_role("status")).to_have_text("Listening")
    config = scripted.of("client_session_create")[-1]["config"]
    assert config["instructions"] == "Speak like a pirate."
    assert config["turn_detection"] == {"interruption": "off"}


def test_what_the_page_alone_cannot_change_in_a_call_is_said(talking: Page) -> None:
    talking.get_by_role("button", name="Settings").click()
    talking.get_by_label("Push-to-talk").check()
    expect(talking.locator("#holds")).to_have_text("Holds from the next call on.")
    expect(talking.get_by_label("When you speak over an answer")).to_be_disabled()


def test_single_keys_act_until_they_are_switched_off(talking: Page) -> None:
    talking.locator("body").press("m")
    expect(talking.get_by_role("button", name="Unmute microphone")).to_be_visible()
    talking.locator("body").press("m")
    expect(talking.get_by_role("button", name="Mute microphone", exact=True)).to_be_visible()
    talking.locator("body").press("?")
    expect(talking.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    talking.keyboard.press("Escape")
    talking.locator("body").press("t")
    expect(talking.get_by_label("Message")).to_be_focused()
    # What is typed is no shortcut.
    talking.keyboard.type("smt?")
    expect(talking.get_by_label("Message")).to_have_value("smt?")
    talking.get_by_role("button", name="Settings").click()
    talking.get_by_label("Single-key shortcuts").uncheck()
    talking.keyboard.press("Escape")
    talking.get_by_role("log").press("m")
    expect(talking.get_by_role("button", name="Mute microphone", exact=True)).to_be_visible()


def test_a_picture_is_shown_to_a_model_that_takes_pictures_and_to_no_other(
    talking: Page, scripted: ScriptedServer, until: Until
) -> None:
    expect(talking.get_by_role("button", name="Show a picture")).to_be_hidden()
    scripted.send("agent_ready", agent_name="Heart", model=SEEING)
    with talking.expect_file_chooser() as chooser:
        talking.get_by_role("button", name="Show a picture").click()
    chooser.value.set_files({"name": "red.png", "mimeType": "image/png", "buffer": png(3000, 1500)})
    until(talking, "realtime.snapshot().events.includes('client_image_append')")
    (shown,) = scripted.of("client_image_append")
    jpeg = base64.b64decode(shown["image"])
    assert shown["format"]["type"] == "image/jpeg"
    assert jpeg[:2] == b"\xff\xd8"
    assert len(jpeg) < 100_000
    with talking.expect_file_chooser() as chooser:
        talking.get_by_role("button", name="Show a picture").click()
    chooser.value.set_files({"name": "no.png", "mimeType": "image/png", "buffer": b"no picture"})
    expect(talking.get_by_role("alert")).to_contain_text("This picture could not be read.")


def test_the_camera_shows_a_picture_a_second_until_it_is_switched_off(
    open_page: Callable[..., Page], static_page: str, scripted_for: Callable[[Page], ScriptedServer], until: Until
) -> None:
    page = open_page(permissions=["microphone", "camera"])
    scripted = scripted_for(page)
    begin(page, scripted, static_page)
    scripted.send("agent_ready", agent_name="Heart", model=SEEING)
    page.get_by_role("button", name="Camera").click()
    expect(page.get_by_label("What your camera shows the agent")).to_be_visible()
    until(page, "realtime.snapshot().events.filter((type) => type === 'client_image_append').length >= 2")
    page.get_by_role("button", name="Camera off").click()
    expect(page.get_by_label("What your camera shows the agent")).to_be_hidden()
    page.get_by_role("button", name="End call").click()
    expect(page.get_by_role("button", name="Camera")).to_be_hidden()


def test_a_camera_that_is_refused_is_told(talking: Page, scripted: ScriptedServer) -> None:
    scripted.send("agent_ready", agent_name="Heart", model=SEEING)
    talking.get_by_role("button", name="Camera").click()
    expect(talking.get_by_role("alert")).to_contain_text("The camera could not be opened.")


# -- recordings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "recorded"), [("I agree", True), ("Do not record", None)])
def test_a_link_asks_for_a_recording_and_only_the_user_allows_it(
    page: Page, static_page: str, scripted: ScriptedServer, answer: str, recorded: bool | None
) -> None:
    page.goto(f"{static_page}?recording")
    question = page.get_by_role("dialog", name="May the sound of your calls be kept?")
    expect(question).to_contain_text("A link is no consent")
    question.get_by_role("button", name=answer).click()
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Listening")
    (created,) = scripted.of("client_session_create")
    assert created["config"].get("recording") is recorded
    expect(page.locator(".notice", has_text="You agreed to be recorded.")).to_have_count(1 if recorded else 0)
    # It is asked once.
    page.goto(f"{static_page}?recording")
    expect(page.get_by_role("button", name="Settings")).to_be_visible()
    expect(question).to_be_hidden()


def test_a_question_that_is_not_answered_is_no_consent(page: Page, static_page: str, scripted: ScriptedServer) -> None:
    page.goto(f"{static_page}?recording")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Listening")
    assert "recording" not in scripted.of("client_session_create")[0]["config"]


def test_consent_in_the_settings_holds_for_this_tab_and_is_withdrawn_there(
    page: Page, static_page: str, scripted: ScriptedServer
) -> None:
    page.goto(static_page)
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Keep the sound of my calls").check()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Listening")
    assert scripted.of("client_session_create")[0]["config"]["recording"] is True
    page.get_by_role("button", name="End call").click()
    other = page.context.new_page()
    other.goto(static_page)
    other.get_by_role("button", name="Settings").click()
    expect(other.get_by_label("Keep the sound of my calls")).not_to_be_checked()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Keep the sound of my calls").uncheck()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Listening")
    assert "recording" not in scripted.of("client_session_create")[1]["config"]


# -- other tabs --------------------------------------------------------------------------------------------------------


def test_a_second_tab_is_warned_while_the_first_has_a_call(
    talking: Page, static_page: str, scripted_for: Callable[[Page], Any]
) -> None:
    context: BrowserContext = talking.context
    second = context.new_page()
    scripted_for(second)
    second.goto(static_page)
    warning = second.locator(".notice", has_text="There is a call in another tab of this browser.")
    expect(warning).to_have_count(1)
    expect(talking.locator(".notice")).to_have_count(0)
    talking.get_by_role("button", name="End call").click()
    expect(warning).to_have_count(0)
    second.get_by_role("button", name="Start talking").click()
    expect(second.get_by_role("status")).to_have_text("Listening")
    expect(talking.locator(".notice", has_text="in another tab")).to_have_count(1)
    second.close()
    expect(talking.locator(".notice", has_text="in another tab")).to_have_count(0)
