"""The built page against a server that the test plays: what it shows, sends and plays at each step of a call."""

import base64
import struct

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import PCM_24, OpenPage, ScriptedServer
from tests.web.pages import HEARING, end_call, fits, sends, sent_beyond, snapshot, start_talking, until, write

pytestmark = pytest.mark.night

QUANTUM = 128
FADE = 120  # 5 ms at 24 kHz
RESPONSE = {"item_id": "item_1", "response_id": "resp_1"}


def test_the_session_is_created_first_and_speech_follows_as_binary_frames_in_order(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    until(page, "realtime.snapshot().sent.samples >= 16000")
    create = scripted.events[0]
    assert create["type"] == "client_session_create"
    assert create["config"]["audio_frames"] == "binary"
    assert create["config"]["input_audio_format"] == {"type": "audio/pcm", "rate": 16_000}
    headers = [struct.unpack_from("<BBHIQ", frame) for frame in scripted.audio]
    assert headers == [(1, 0, 0, 0, 320 * number) for number in range(len(headers))]
    assert {len(frame) for frame in scripted.audio} == {16 + 640}
    # The fake device beeps.
    assert max(max(struct.unpack("<320h", frame[16:])) for frame in scripted.audio) > 1000


def test_nothing_is_read_aloud_into_the_talk_but_its_words_and_its_end(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    state = page.get_by_role("status")
    expect(state).to_have_attribute("aria-live", "off")
    scripted.send("agent_response_created", response_id="r")
    scripted.send("agent_response_audio_transcript_delta", response_id="r", item_id="i", delta="Well")
    scripted.send("server_latency", response_id="r", latency_ms=40, stages_ms={})
    expect(page.locator(".wait")).to_have_attribute("aria-live", "off")
    expect(page.get_by_role("log", name="Captions")).to_have_attribute("aria-live", "polite")
    end_call(page)
    expect(state).to_have_text("Call ended")
    expect(state).to_have_attribute("aria-live", "polite")


def test_a_reply_says_why_voices_did_not_stop_it_and_why_one_did(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    reply = page.locator(".bubble.agent")
    scripted.speak("item_1", "Once upon a time", seconds=10)
    scripted.send("agent_interruption", item_id="item_1", state="possible", reason="")
    scripted.send("agent_interruption", item_id="item_1", state="dismissed", reason="backchannel")
    went_on = reply.get_by_text("Went on: only “mm-hm” or the like", exact=True)
    expect(went_on).to_be_visible()
    expect(went_on).to_have_attribute("aria-live", "off")
    scripted.send("agent_interruption", item_id="item_1", state="confirmed", reason="answer")
    scripted.send("agent_item_truncated", item_id="item_1", transcript="Once upon")
    expect(reply.locator(".mark").last).to_have_text("Interrupted here: an answer to its question")
    # A reply that was stopped did not go on: its bubble does not say both.
    expect(reply.locator(".mark:visible")).to_have_count(1)


def test_a_browser_that_cancels_no_echo_is_named_with_a_remedy(scripted: ScriptedServer) -> None:
    scripted.page.add_init_script("MediaStreamTrack.prototype.getSettings = () => ({echoCancellation: false})")
    page = scripted.begin()
    expect(page.locator(".notice.hint")).to_contain_text("leaves the agent's voice in the microphone. With headphones")
    assert [event["config"] for event in scripted.of("client_session_update")] == [{"audio": {"cancels_echo": False}}]


def test_speech_inside_events_is_played_and_its_end_lets_the_player_drain(scripted: ScriptedServer) -> None:
    """SEV-08: played, sample by sample, from any rate. SEV-09: until it comes the player waits for more."""
    page = scripted.begin()
    state = page.get_by_role("status")
    scripted.send("agent_response_created", response_id="resp_1")
    for rate in (24_000, 24_000, 16_000):
        speech = base64.b64encode(struct.pack("<h", 9000) * (rate // 4)).decode()
        kind = PCM_24 | {"rate": rate, "sample_rate": rate}
        scripted.send("agent_response_audio_delta", **RESPONSE, delta=speech, format=kind)
    # The resampler of the last chunk holds a few samples back until it knows that no more will come.
    until(page, "realtime.snapshot().playback?.rendered >= 17900")
    expect(state).to_have_text("Speaking")
    assert set(snapshot(page)["playedMs"]) == {"item_1"}
    scripted.send("agent_response_audio_done", **RESPONSE)
    # The response itself goes on: nothing is heard any more, and something may yet come.
    expect(state).to_have_text("Thinking")
    played = snapshot(page)
    assert played["playback"]["rendered"] == 18_000
    assert played["playedMs"] == {"item_1": 750}
    assert scripted.of("client_playback_ack")[-1]["played_ms"] == 750
    scripted.send("agent_response_done", response_id="resp_1", status="completed")
    expect(state).to_have_text("Listening")


def test_typing_needs_no_microphone_and_is_answered_aloud(scripted: ScriptedServer) -> None:
    page = scripted.page
    page.goto(scripted.address)
    write(page, "  what time is it  ")
    until(page, sends("client_text_append"))
    assert [event["text"] for event in scripted.of("client_text_append")] == ["what time is it"]
    expect(page.get_by_role("status")).to_have_text("Thinking")
    scripted.speak("item_2", "It is noon.", seconds=0.2)
    scripted.finish("item_2", "It is noon.")
    until(page, "realtime.snapshot().playback?.audible === 4800")
    expect(page.get_by_role("status")).to_have_text("Ready for your message")
    assert snapshot(page)["microphoneSamples"] == 0
    assert scripted.audio == []
    # The microphone can join the same call.
    start_talking(page)
    until(page, "realtime.snapshot().sent.samples > 0")
    assert len(scripted.of("client_session_create")) == 1


def loud(frames: list[bytes]) -> bool:
    return any(abs(sample) > 100 for frame in frames for sample in struct.unpack("<320h", frame[16:]))


def test_mute_sends_silence_and_unmute_sends_sound_again(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    page.get_by_role("button", name="Mute microphone", exact=True).click()
    expect(page.get_by_role("button", name="Unmute microphone")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("status")).to_have_text("Muted")
    sent_beyond(page, 4_800)
    before = len(scripted.audio)
    sent_beyond(page, 24_000)
    assert len(scripted.audio) - before > 60
    assert not loud(scripted.audio[before:])
    page.get_by_role("button", name="Unmute microphone").click()
    sent_beyond(page, 24_000)
    assert loud(scripted.audio[before + 60 :])


def test_the_voice_can_be_stopped_by_button_and_by_escape(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    scripted.speak("item_1", "One two three.", seconds=30)
    page.get_by_role("button", name="Stop the answer").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("status")).to_have_text("Speaking")
    assert len(scripted.of("client_response_cancel")) == 2


def test_ending_the_call_ends_the_session_and_frees_the_microphone(scripted: ScriptedServer) -> None:
    scripted.page.add_init_script(
        "window.streams = []; const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);"
        "navigator.mediaDevices.getUserMedia = async (wanted) => (streams.unshift(await ask(wanted)), streams[0]);"
    )
    page = scripted.begin()
    end_call(page)
    expect(page.get_by_role("status")).to_have_text("Call ended")
    until(page, sends("client_session_end"))
    until(page, "streams[0].getTracks().every(({readyState}) => readyState === 'ended')")
    assert len(scripted.of("client_session_end")) == 1
    assert snapshot(page)["notices"] == []
    start_talking(page)
    until(page, HEARING)
    assert len(scripted.of("client_session_create")) == 2


def test_model_text_is_text_and_never_markup(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    words = "<img src=x onerror=alert(1)> & <b>bold</b>"
    scripted.send("agent_response_text_done", item_id="item_1", response_id="resp_1", text=words)
    scripted.send("agent_error", message=words)
    expect(page.locator(".bubble.agent .words")).to_have_text(words)
    expect(page.locator(".notice")).to_contain_text(words)
    assert page.locator("img, b").count() == 0


def test_all_is_reached_by_keyboard_and_has_a_name_and_a_chosen_voice_is_asked_for(scripted: ScriptedServer) -> None:
    page = scripted.page
    page.goto(scripted.address)
    page.get_by_label("Voice").select_option("low")
    page.get_by_role("button", name="Start talking").focus()
    page.keyboard.press("Enter")
    until(page, HEARING)
    assert scripted.events[0]["config"]["voice"] == "low"
    expect(page.get_by_role("button", name="Mute microphone", exact=True)).to_be_visible()
    names = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        names.add(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent.trim()"))
    assert {"Mute microphone", "Captions", "Send"} <= names
    expect(page.get_by_role("log", name="Captions")).to_have_attribute("aria-live", "polite")


def test_on_a_phone_all_is_in_sight_and_nothing_is_wider_than_the_screen(open_page: OpenPage, static_page: str) -> None:
    phone = open_page(viewport={"width": 360, "height": 640}, is_mobile=True, has_touch=True)
    phone.goto(static_page)
    expect(phone.get_by_role("button", name="Start talking")).to_be_in_viewport()
    expect(phone.get_by_label("Message")).to_be_in_viewport()
    assert fits(phone)


def test_in_a_short_window_the_page_scrolls_and_nothing_is_cut_off(page: Page, static_page: str) -> None:
    """A phone on its side or with its keyboard, a laptop's page at twice its size."""
    for width, height in ((667, 320), (360, 380), (844, 335), (683, 330)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(static_page)
        talk, message = page.get_by_role("button", name="Start talking"), page.get_by_label("Message")
        expect(talk).to_be_in_viewport()
        boxes = [page.locator(where).bounding_box() for where in ("header", "#talk", "#conversation")]
        header, button, conversation = (box or {"y": 0, "height": 0} for box in boxes)
        assert button["y"] >= header["y"] + header["height"] > 0
        assert conversation["height"] >= 256
        message.scroll_into_view_if_needed()
        expect(message).to_be_in_viewport(ratio=0.9)
        assert fits(page)
