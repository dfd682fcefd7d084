"""Settings before and during a call: devices, volume, push-to-talk, turns, instructions, keys, pictures, recordings."""

import base64
import struct
import zlib

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Scripted, ScriptedServer
from tests.web.page_scenes import SEEING
from tests.web.pages import end_call, sends, start_talking, until

pytestmark = pytest.mark.night


def png(width: int, height: int) -> bytes:
    """A red picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = (b"\0" + b"\xff\0\0" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def set_up(page: Page) -> None:
    page.get_by_role("button", name="Settings").click()


def call_again(page: Page) -> None:
    """End the call where there is one, and make the next."""
    page.keyboard.press("Escape")
    end_call(page)
    start_talking(page)
    expect(page.get_by_role("status")).to_have_text("Listening")


def test_another_microphone_is_used_during_the_call_and_it_and_the_volume_on_the_next_visit(
    scripted: ScriptedServer,
) -> None:
    page = scripted.begin()
    set_up(page)
    microphones, volume = page.get_by_label("Microphone"), page.get_by_label("Volume")
    expect(microphones.locator("option").nth(1)).to_contain_text("Fake")
    other = microphones.locator("option").nth(2).get_attribute("value") or ""
    microphones.select_option(other)
    sent = page.evaluate("realtime.snapshot().sent.samples")
    until(page, f"realtime.snapshot().sent.samples > {sent + 16_000}")
    expect(page.locator(".notice")).to_have_count(0)
    assert len(scripted.of("client_session_create")) == 1
    expect(volume).to_have_value("1")
    volume.fill("0.25")
    page.reload()
    assert other in page.evaluate("localStorage.getItem('realtime.preferences')")
    set_up(page)
    expect(volume).to_have_value("0.25")


def test_with_push_to_talk_only_what_is_said_while_the_space_bar_is_held_is_a_turn(scripted: ScriptedServer) -> None:
    page = scripted.page
    page.goto(scripted.address)
    set_up(page)
    page.get_by_label("Push-to-talk").check()
    page.keyboard.press("Escape")
    start_talking(page)
    expect(page.get_by_role("status")).to_have_text("Hold the button or the space bar to talk")
    (created,) = scripted.of("client_session_create")
    assert created["config"]["turn_detection"] == "none"
    until(page, "realtime.snapshot().microphoneSamples > 8000")
    assert scripted.audio == []
    page.keyboard.down("Space")
    expect(page.get_by_role("button", name="Release to send")).to_be_visible()
    until(page, "realtime.snapshot().sent.samples > 8000")
    page.keyboard.up("Space")
    until(page, sends("client_audio_commit"))
    expect(page.get_by_role("button", name="Hold to talk")).to_be_visible()
    # The space bar types where one types.
    page.get_by_label("Message").press_sequentially("a b")
    expect(page.get_by_label("Message")).to_have_value("a b")
    assert len(scripted.of("client_audio_commit")) == 1
    # A finger holds the button as well.
    page.get_by_role("button", name="Hold to talk").hover()
    page.mouse.down()
    until(page, "realtime.snapshot().sent.samples > 16000")
    page.mouse.up()
    until(page, "realtime.snapshot().events.filter((type) => type === 'client_audio_commit').length === 2")


def test_changed_instructions_and_turns_hold_at_once_where_the_model_takes_them(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    updates = "realtime.snapshot().events.filter((type) => type === 'client_session_update').length"
    set_up(page)
    page.get_by_label("Instructions").fill("Speak like a pirate.")
    page.get_by_role("button", name="Apply").click()
    until(page, f"{updates} === 2")
    asked = scripted.of("client_session_update")[-1]
    assert asked["config"] == {"instructions": "Speak like a pirate."}
    scripted.send("server_session_updated")
    expect(page.locator("#holds")).to_have_text("In force now.")
    page.get_by_label("When you speak over an answer").select_option("off")
    until(page, f"{updates} === 3")
    asked = scripted.of("client_session_update")[-1]
    assert asked["config"] == {"turn_detection": {"interruption": "off"}}
    scripted.send("agent_error", message="not during a call", client_event_id=asked["event_id"])
    expect(page.locator("#holds")).to_have_text("Holds from the next call on.")
    expect(page.locator(".notice")).to_have_count(0)
    call_again(page)
    config = scripted.of("client_session_create")[-1]["config"]
    assert config["instructions"] == "Speak like a pirate."
    assert config["turn_detection"] == {"interruption": "off"}


def test_what_the_page_alone_cannot_change_in_a_call_is_said(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    set_up(page)
    page.get_by_label("Push-to-talk").check()
    expect(page.locator("#holds")).to_have_text("Holds from the next call on.")
    expect(page.get_by_label("When you speak over an answer")).to_be_disabled()


def test_single_keys_act_until_they_are_switched_off(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    muting = page.get_by_role("button", name="Mute microphone", exact=True)
    page.locator("body").press("m")
    expect(page.get_by_role("button", name="Unmute microphone")).to_be_visible()
    page.locator("body").press("m")
    expect(muting).to_be_visible()
    page.locator("body").press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("body").press("t")
    expect(page.get_by_label("Message")).to_be_focused()
    # What is typed is no shortcut.
    page.keyboard.type("smt?")
    expect(page.get_by_label("Message")).to_have_value("smt?")
    set_up(page)
    page.get_by_label("Single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.get_by_role("log").press("m")
    expect(muting).to_be_visible()


def show_picture(page: Page, content: bytes) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Show a picture").click()
    chooser.value.set_files({"name": "red.png", "mimeType": "image/png", "buffer": content})


def test_a_picture_is_shown_to_a_model_that_takes_pictures_and_to_no_other(scripted: ScriptedServer) -> None:
    """A camera that is refused is told."""
    page = scripted.begin()
    expect(page.get_by_role("button", name="Show a picture")).to_be_hidden()
    scripted.send("agent_ready", agent_name="Heart", model=SEEING)
    show_picture(page, png(3000, 1500))
    until(page, sends("client_image_append"))
    (shown,) = scripted.of("client_image_append")
    jpeg = base64.b64decode(shown["image"])
    assert shown["format"]["type"] == "image/jpeg"
    assert jpeg[:2] == b"\xff\xd8"
    assert len(jpeg) < 100_000
    show_picture(page, b"no picture")
    expect(page.get_by_role("alert")).to_contain_text("This picture could not be read.")
    page.get_by_role("button", name="Camera").click()
    expect(page.get_by_role("alert")).to_contain_text("The camera could not be opened.")


def test_the_camera_shows_a_picture_a_second_until_it_is_switched_off(scripted_for: Scripted) -> None:
    scripted = scripted_for()
    page = scripted.begin()
    scripted.send("agent_ready", agent_name="Heart", model=SEEING)
    page.get_by_role("button", name="Camera").click()
    expect(page.get_by_label("What your camera shows the agent")).to_be_visible()
    until(page, "realtime.snapshot().events.filter((type) => type === 'client_image_append').length >= 2")
    page.get_by_role("button", name="Camera off").click()
    expect(page.get_by_label("What your camera shows the agent")).to_be_hidden()
    end_call(page)
    expect(page.get_by_role("button", name="Camera")).to_be_hidden()


def test_consent_in_the_settings_holds_for_this_tab_and_is_withdrawn_there(scripted: ScriptedServer) -> None:
    page = scripted.page
    page.goto(scripted.address)
    set_up(page)
    page.get_by_label("Keep the sound of my calls").check()
    page.keyboard.press("Escape")
    start_talking(page)
    expect(page.get_by_role("status")).to_have_text("Listening")
    assert scripted.of("client_session_create")[0]["config"]["recording"] is True
    other = page.context.new_page()
    other.goto(scripted.address)
    set_up(other)
    expect(other.get_by_label("Keep the sound of my calls")).not_to_be_checked()
    set_up(page)
    page.get_by_label("Keep the sound of my calls").uncheck()
    call_again(page)
    assert "recording" not in scripted.of("client_session_create")[1]["config"]


def test_a_second_tab_is_warned_while_the_first_has_a_call(scripted: ScriptedServer) -> None:
    first = scripted.begin()
    second = first.context.new_page()
    ScriptedServer(second)
    second.goto(scripted.address)
    warning = second.locator(".notice", has_text="There is a call in another tab of this browser.")
    expect(warning).to_have_count(1)
    expect(first.locator(".notice")).to_have_count(0)
    end_call(first)
    expect(warning).to_have_count(0)
    start_talking(second)
    expect(second.get_by_role("status")).to_have_text("Listening")
    expect(first.locator(".notice", has_text="in another tab")).to_have_count(1)
    second.close()
    expect(first.locator(".notice", has_text="in another tab")).to_have_count(0)
