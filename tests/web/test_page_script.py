"""The built page against a server that the test plays: what it shows, sends and plays at each step of a call."""

import base64
import struct
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.rotates(1 / 4)

Until = Callable[[Page, str], None]

QUANTUM = 128
FADE = 120  # 5 ms at 24 kHz
PCM_24 = {"type": "audio/pcm", "rate": 24_000, "encoding": "pcm16", "sample_rate": 24_000}


@pytest.fixture
def talking(page: Page, static_page: str, scripted: Any, until: Until) -> Page:
    """The page in a call, its microphone on."""
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening' && realtime.snapshot().microphoneSamples > 0")
    return page


def snapshot(page: Page) -> dict[str, Any]:
    result: dict[str, Any] = page.evaluate("realtime.snapshot()")
    return result


def test_the_session_is_created_first_and_speech_follows_as_binary_frames_in_order(
    talking: Page, scripted: Any, until: Until
) -> None:
    until(talking, "realtime.snapshot().sent.samples >= 16000")
    create = scripted.events[0]
    assert create["type"] == "client_session_create"
    assert create["config"]["audio_frames"] == "binary"
    assert create["config"]["input_audio_format"] == {"type": "audio/pcm", "rate": 16_000}
    headers = [struct.unpack_from("<BBHIQ", frame) for frame in scripted.audio]
    assert headers == [(1, 0, 0, 0, 320 * number) for number in range(len(headers))]
    assert {len(frame) for frame in scripted.audio} == {16 + 640}
    # The fake device beeps.
    assert max(max(struct.unpack("<320h", frame[16:])) for frame in scripted.audio) > 1000


def test_nothing_is_read_aloud_into_the_talk_but_its_words_and_its_end(talking: Page, scripted: Any) -> None:
    state = talking.get_by_role("status")
    expect(state).to_have_attribute("aria-live", "off")
    scripted.send("agent_response_created", response_id="r")
    scripted.send("agent_response_audio_transcript_delta", response_id="r", item_id="i", delta="Well")
    scripted.send("server_latency", response_id="r", latency_ms=40, stages_ms={})
    expect(talking.locator(".wait")).to_have_attribute("aria-live", "off")
    expect(talking.get_by_role("log", name="Captions")).to_have_attribute("aria-live", "polite")
    talking.get_by_role("button", name="End call").click()
    expect(state).to_have_text("Call ended")
    expect(state).to_have_attribute("aria-live", "polite")


def test_a_reply_says_why_voices_did_not_stop_it_and_why_one_did(talking: Page, scripted: Any) -> None:
    reply = talking.locator(".bubble.agent")
    scripted.speak("item_1", "Once upon a time", seconds=10)
    scripted.send("agent_interruption", item_id="item_1", state="possible", reason="")
    scripted.send("agent_interruption", item_id="item_1", state="dismissed", reason="backchannel")
    went_on = reply.get_by_text("Went on: only “mm-hm” or the like", exact=True)
    expect(went_on).to_have_attribute("aria-live", "off")
    scripted.send("agent_interruption", item_id="item_1", state="confirmed", reason="answer")
    scripted.send("agent_item_truncated", item_id="item_1", transcript="Once upon")
    expect(reply.locator(".mark").last).to_have_text("Interrupted here: an answer to its question")
    expect(went_on).to_be_visible()


def test_a_browser_that_cancels_no_echo_is_named_with_a_remedy(page: Page, static_page: str, scripted: Any) -> None:
    page.add_init_script("MediaStreamTrack.prototype.getSettings = () => ({echoCancellation: false})")
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    expect(page.locator(".notice.hint")).to_contain_text("leaves the agent's voice in the microphone. With headphones")
    assert [event["config"] for event in scripted.of("client_session_update")] == [{"audio": {"cancels_echo": False}}]


def test_the_user_s_speech_is_shown_while_it_comes_and_settled_when_it_ends(talking: Page, scripted: Any) -> None:
    """SEV-15: user bubble live. SEV-16: user bubble final. SEV-17: speaking indicator. SEV-18: indicator off."""
    stage = talking.get_by_label("Call", exact=True)
    state, bubble = talking.get_by_role("status"), talking.locator(".bubble.user")
    scripted.send("agent_input_started", item_id="item_1")
    expect(state).to_have_text("Hearing you")
    expect(stage).to_have_attribute("data-state", "hearing")
    scripted.send("agent_input_transcription_delta", item_id="item_1", delta="What")
    expect(bubble.locator(".words")).to_have_text("What")
    scripted.send("agent_input_transcription_delta", item_id="item_1", delta=" thyme")
    expect(bubble.locator(".words")).to_have_text("What thyme")
    expect(bubble).to_have_attribute("data-status", "live")
    expect(bubble).to_have_attribute("aria-busy", "true")
    scripted.send("agent_input_done", item_id="item_1")
    expect(state).to_have_text("Thinking")
    expect(stage).to_have_attribute("data-state", "thinking")
    scripted.send("agent_input_transcription_done", item_id="item_1", transcript="What time is it?")
    expect(bubble.locator(".words")).to_have_text("What time is it?")
    expect(bubble).to_have_attribute("data-status", "done")
    expect(bubble).to_have_attribute("aria-busy", "false")
    expect(talking.locator(".bubble")).to_have_count(1)


def test_the_agent_s_words_are_shown_while_they_come_and_settled_when_they_end(talking: Page, scripted: Any) -> None:
    """SEV-10: shown live. SEV-11: bubble final, before the response is over."""
    bubble = talking.locator(".bubble.agent")
    scripted.speak("item_1", "It is", seconds=0.2)
    expect(bubble.locator(".words")).to_have_text("It is")
    scripted.send("agent_response_audio_transcript_delta", item_id="item_1", response_id="resp_1", delta=" nun.")
    expect(bubble.locator(".words")).to_have_text("It is nun.")
    expect(bubble).to_have_attribute("data-status", "live")
    where = {"item_id": "item_1", "response_id": "resp_1"}
    scripted.send("agent_response_audio_transcript_done", **where, transcript="It is noon.")
    expect(bubble.locator(".words")).to_have_text("It is noon.")
    expect(bubble).to_have_attribute("data-status", "done")


def test_speech_inside_events_is_played_and_its_end_lets_the_player_drain(
    talking: Page, scripted: Any, until: Until
) -> None:
    """SEV-08: played, sample by sample, from any rate. SEV-09: until it comes the player waits for more."""
    state, where = talking.get_by_role("status"), {"item_id": "item_1", "response_id": "resp_1"}
    scripted.send("agent_response_created", response_id="resp_1")
    for rate in (24_000, 24_000, 16_000):
        speech = base64.b64encode(struct.pack("<h", 9000) * (rate // 4)).decode()
        scripted.send(
            "agent_response_audio_delta", **where, delta=speech, format=PCM_24 | {"rate": rate, "sample_rate": rate}
        )
    # The resampler of the last chunk holds a few samples back until it knows that no more will come.
    until(talking, "realtime.snapshot().playback?.rendered >= 17900")
    expect(state).to_have_text("Speaking")
    assert set(snapshot(talking)["playedMs"]) == {"item_1"}
    scripted.send("agent_response_audio_done", **where)
    # The response itself goes on: nothing is heard any more, and something may yet come.
    expect(state).to_have_text("Thinking")
    played = snapshot(talking)
    assert played["playback"]["rendered"] == 18_000
    assert played["playedMs"] == {"item_1": 750}
    assert scripted.of("client_playback_ack")[-1]["played_ms"] == 750
    scripted.send("agent_response_done", response_id="resp_1", status="completed")
    expect(state).to_have_text("Listening")


def test_an_answer_is_played_to_its_end_and_acknowledged_as_it_is_heard(
    talking: Page, scripted: Any, until: Until
) -> None:
    """SEV-08: the same speech as a binary frame."""
    state = talking.get_by_role("status")
    scripted.send("agent_input_transcription_done", item_id="item_1", transcript="What time is it?")
    scripted.speak("item_2", "It is noon.", seconds=0.5)
    expect(state).to_have_text("Speaking")
    scripted.finish("item_2", "It is noon.")
    latency = {"response_id": "resp_1", "latency_ms": 250, "stages_ms": {"turn_end": 50, "played": 200}}
    scripted.send("server_latency", **latency)
    expect(state).to_have_text("Listening")
    expect(talking.locator(".bubble .words")).to_have_text(["What time is it?", "It is noon."])
    expect(talking.locator(".wait .total")).to_have_text("250 ms until the answer was heard")
    played = snapshot(talking)["playback"]
    assert played["rendered"] == played["audible"] == 12_000
    assert {item_id for item_id, _ in scripted.heard} == {"item_2"}
    heard_ms = [played_ms for _, played_ms in scripted.heard]
    assert heard_ms == sorted(heard_ms)
    assert heard_ms[-1] == 500
    assert len(heard_ms) >= 4
    # The microphone's speech carries them; the end is an event.
    assert scripted.carried >= 3
    assert scripted.of("client_playback_ack")[-1] == {
        "type": "client_playback_ack",
        "item_id": "item_2",
        "played_ms": 500,
        "flushed": False,
    }


def test_a_flush_silences_the_item_at_once_and_the_caption_keeps_what_was_heard(
    talking: Page, scripted: Any, until: Until
) -> None:
    """SEV-17: the player is flushed on barge-in."""
    scripted.speak("item_1", "One two three four five.", seconds=4)
    until(talking, "realtime.snapshot().playback?.rendered > 6000")
    expect(talking.get_by_role("status")).to_have_text("Speaking")
    scripted.send("agent_input_started", item_id="item_2")
    scripted.send("server_audio_flush", item_id="item_1")
    scripted.send("agent_item_truncated", item_id="item_1", transcript="One two")
    scripted.send("agent_response_audio_transcript_delta", item_id="item_1", response_id="resp_1", delta=" six")
    scripted.send("agent_response_done", response_id="resp_1", status="cancelled")
    until(talking, "realtime.snapshot().playback.flushes === 1")
    expect(talking.locator(".bubble.agent .words")).to_have_text("One two")
    expect(talking.get_by_role("status")).to_have_text("Hearing you")
    until(talking, "realtime.snapshot().playback.afterFlush > 0")
    played = snapshot(talking)["playback"]
    assert played["afterFlush"] <= 2 * QUANTUM + FADE
    until(talking, f"realtime.snapshot().sent.samples > {snapshot(talking)['sent']['samples'] + 16_000}")
    assert snapshot(talking)["playback"] == played
    flushed = [ack for ack in scripted.of("client_playback_ack") if ack["flushed"]]
    assert [(ack["item_id"], ack["played_ms"]) for ack in flushed] == [("item_1", played["rendered"] // 24)]


def test_a_reply_that_is_withdrawn_leaves_no_trace(talking: Page, scripted: Any) -> None:
    scripted.send("agent_input_transcription_done", item_id="item_1", transcript="I would like")
    scripted.speak("item_2", "Sure", seconds=1)
    expect(talking.locator(".bubble.agent")).to_have_count(1)
    scripted.send("server_audio_flush", item_id=None)
    scripted.send("agent_item_deleted", item_id="item_2")
    scripted.send("agent_input_started", item_id="item_1")
    scripted.send("agent_input_transcription_done", item_id="item_1", transcript="I would like a trip.")
    expect(talking.locator(".bubble .words")).to_have_text(["I would like a trip."])


def test_typing_needs_no_microphone_and_is_answered_aloud(
    page: Page, static_page: str, scripted: Any, until: Until
) -> None:
    page.goto(static_page)
    page.get_by_label("Message").fill("  what time is it  ")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().events.includes('client_text_append')")
    assert [event["text"] for event in scripted.of("client_text_append")] == ["what time is it"]
    expect(page.get_by_role("status")).to_have_text("Thinking")
    scripted.speak("item_2", "It is noon.", seconds=0.2)
    scripted.finish("item_2", "It is noon.")
    until(page, "realtime.snapshot().playback?.audible === 4800")
    expect(page.get_by_role("status")).to_have_text("Ready for your message")
    assert snapshot(page)["microphoneSamples"] == 0
    assert scripted.audio == []
    # The microphone can join the same call.
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().sent.samples > 0")
    assert len(scripted.of("client_session_create")) == 1


def test_mute_sends_silence_and_unmute_sends_sound_again(talking: Page, scripted: Any, until: Until) -> None:
    def loud(frames: list[bytes]) -> bool:
        return any(abs(sample) > 100 for frame in frames for sample in struct.unpack("<320h", frame[16:]))

    talking.get_by_role("button", name="Mute microphone", exact=True).click()
    expect(talking.get_by_role("button", name="Unmute microphone")).to_have_attribute("aria-pressed", "true")
    expect(talking.get_by_role("status")).to_have_text("Muted")
    until(talking, f"realtime.snapshot().sent.samples > {snapshot(talking)['sent']['samples'] + 4800}")
    before = len(scripted.audio)
    until(talking, f"realtime.snapshot().sent.samples > {snapshot(talking)['sent']['samples'] + 24000}")
    assert len(scripted.audio) - before > 60
    assert not loud(scripted.audio[before:])
    talking.get_by_role("button", name="Unmute microphone").click()
    until(talking, f"realtime.snapshot().sent.samples > {snapshot(talking)['sent']['samples'] + 24000}")
    assert loud(scripted.audio[before + 60 :])


def test_the_voice_can_be_stopped_by_button_and_by_escape(talking: Page, scripted: Any) -> None:
    scripted.speak("item_1", "One two three.", seconds=3)
    talking.get_by_role("button", name="Stop the answer").click()
    talking.keyboard.press("Escape")
    expect(talking.get_by_role("status")).to_have_text("Speaking")
    assert len(scripted.of("client_response_cancel")) == 2


def test_ending_the_call_ends_the_session_and_frees_the_microphone(talking: Page, scripted: Any, until: Until) -> None:
    talking.get_by_role("button", name="End call").click()
    expect(talking.get_by_role("status")).to_have_text("Call ended")
    until(talking, "realtime.snapshot().events.includes('client_session_end')")
    assert len(scripted.of("client_session_end")) == 1
    assert snapshot(talking)["notices"] == []
    samples = snapshot(talking)["microphoneSamples"]
    talking.get_by_role("button", name="Start talking").click()
    until(talking, "realtime.snapshot().state === 'listening' && realtime.snapshot().microphoneSamples > 0")
    assert snapshot(talking)["microphoneSamples"] < samples + 16_000
    assert len(scripted.of("client_session_create")) == 2


def test_model_text_is_text_and_never_markup(talking: Page, scripted: Any) -> None:
    words = "<img src=x onerror=alert(1)> & <b>bold</b>"
    scripted.send("agent_response_text_done", item_id="item_1", response_id="resp_1", text=words)
    scripted.send("agent_error", message=words)
    expect(talking.locator(".bubble.agent .words")).to_have_text(words)
    expect(talking.locator(".notice")).to_contain_text(words)
    assert talking.locator("img, b").count() == 0


def test_the_inspector_lists_events_and_shows_one_as_json(talking: Page, scripted: Any, until: Until) -> None:
    scripted.speak("item_1", "One", seconds=0.2)
    scripted.finish("item_1", "One")
    until(talking, "realtime.snapshot().events.includes('client_playback_ack')")
    talking.locator("#inspector summary").click()
    events = talking.locator("#events li")
    expect(events.filter(has_text="agent_ready")).to_have_count(1)
    expect(events.filter(has_text="client_session_create")).to_have_count(1)
    expect(events.filter(has_text="client_playback_ack")).to_have_count(0)
    events.filter(has_text="agent_ready").get_by_role("button").click()
    expect(talking.locator("#event-json")).to_contain_text('"agent_name": "Heart"')
    talking.get_by_label("Show audio").check()
    expect(events.filter(has_text="client_playback_ack").first).to_be_visible()
    expect(events.filter(has_text="audio frame")).to_have_count(1)
    talking.get_by_role("button", name="Clear").click()
    scripted.send("agent_input_started", item_id="item_2")
    expect(events.filter(has_text="agent_input_started")).to_be_in_viewport()


def test_it_says_which_model_speaks_and_that_it_understands_english_only(talking: Page) -> None:
    expect(talking.locator("#model")).to_have_text(
        "The embedded model speaks, voice heart. It understands English only."
    )
    expect(talking.locator("#agent-label")).to_have_text("Heart")


def test_a_chosen_voice_is_asked_for(page: Page, static_page: str, scripted: Any, until: Until) -> None:
    page.goto(static_page)
    page.get_by_label("Voice").select_option("low")
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening'")
    assert scripted.events[0]["config"]["voice"] == "low"


def test_all_is_reached_by_keyboard_and_has_a_name(page: Page, static_page: str, scripted: Any, until: Until) -> None:
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").focus()
    page.keyboard.press("Enter")
    until(page, "realtime.snapshot().state === 'listening'")
    expect(page.get_by_role("button", name="Mute microphone", exact=True)).to_be_visible()
    names = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        names.add(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent.trim()"))
    assert {"Mute microphone", "Captions", "Send"} <= names
    expect(page.get_by_role("log", name="Captions")).to_have_attribute("aria-live", "polite")


def test_on_a_phone_nothing_is_wider_than_the_screen(open_page: Callable[..., Page], static_page: str) -> None:
    phone = open_page(viewport={"width": 360, "height": 640}, is_mobile=True, has_touch=True)
    phone.goto(static_page)
    expect(phone.get_by_role("button", name="Start talking")).to_be_in_viewport()
    expect(phone.get_by_label("Message")).to_be_in_viewport()
    assert phone.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize(("width", "height"), [(667, 320), (360, 380), (844, 335), (683, 330)])
def test_in_a_short_window_the_page_scrolls_and_nothing_is_cut_off(
    open_page: Callable[..., Page], static_page: str, width: int, height: int
) -> None:
    """A phone on its side or with its keyboard, a laptop's page at twice its size."""
    page = open_page(viewport={"width": width, "height": height})
    page.goto(static_page)
    talk, message = page.get_by_role("button", name="Start talking"), page.get_by_label("Message")
    expect(talk).to_be_in_viewport()
    boxes = [page.locator(where).bounding_box() for where in ("header", "#talk", "#conversation")]
    header, button, conversation = (box or {"y": 0, "height": 0} for box in boxes)
    assert button["y"] >= header["y"] + header["height"] > 0
    assert conversation["height"] >= 256
    message.scroll_into_view_if_needed()
    expect(message).to_be_in_viewport(ratio=0.9)
    assert page.evaluate("document.documentElement.scrollWidth") == width
