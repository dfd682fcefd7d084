"""The built worklets in a real Chromium, on its real audio thread."""

import itertools
from typing import Any

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.rotates(1 / 4)

RATE_HZ = 24_000
QUANTUM = 128
FADE = 120  # 5 ms

# Plays items of a constant value through the playback worklet, with the capture worklet listening at its output, so
# that what was played is counted by other code than the one under test.
PLAYBACK = """async ({rate, plan}) => {
  const context = new AudioContext({sampleRate: rate});
  await context.audioWorklet.addModule('./worklets/playback.js');
  await context.audioWorklet.addModule('./worklets/capture.js');
  const playback = new AudioWorkletNode(context, 'realtime-playback', {
    numberOfInputs: 0, outputChannelCount: [1],
    processorOptions: {capacitySamples: 2 ** 20, fadeMs: 5, reportMs: 50},
  });
  const ear = new AudioWorkletNode(context, 'realtime-capture', {
    numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit', processorOptions: {rateHz: rate, frameMs: 20},
  });
  const heard = {}, messages = [], waiting = [];
  let lastSound = 0, frames = 0;
  ear.port.onmessage = ({data: {pcm}}) => {
    frames += 1;
    for (const sample of pcm) if (sample !== 0) { heard[sample] = (heard[sample] ?? 0) + 1; lastSound = frames; }
  };
  playback.port.onmessage = ({data}) => {
    messages.push(structuredClone(data));
    for (const entry of [...waiting]) if (entry.test(data)) { waiting.splice(waiting.indexOf(entry), 1); entry.go(); }
  };
  const until = (test) => messages.some(test) ? null : new Promise((go) => waiting.push({test, go}));
  playback.connect(ear);
  playback.connect(context.destination);
  await context.resume();
  const post = (message) => playback.port.postMessage(message);
  const push = (slot, count, value) => post({type: 'push', slot, pcm: new Int16Array(count).fill(value)});
  const end = (slot) => post({type: 'end', slot});
  const flush = (slot, id) => post({type: 'flush', slot, id, postedAtS: context.currentTime});
  if (plan === 'flush') {
    push(0, rate, 8000);
    push(1, rate, 4000);
    await until((m) => m.type === 'position' && m.playedSamples > rate / 4);
    flush(0, 7);
    await until((m) => m.type === 'flushed');
    push(0, rate, 8000);
    end(0);
    await until((m) => m.type === 'position' && m.slot === 1 && m.playedSamples > rate / 4);
    flush(null, 8);
    await until((m) => m.type === 'flushed' && m.id === 8);
    push(1, rate, 4000);
  } else {
    push(0, rate / 4, 8000);
    push(1, rate / 8, 4000);
    end(0);
    end(1);
    await until((m) => m.type === 'finished' && m.slot === 1);
  }
  const quiet = frames;
  while (frames < quiet + 10) await new Promise((go) => setTimeout(go, 20));
  // One more, to be told the counters after all that.
  flush(null, 9);
  await until((m) => m.type === 'flushed' && m.id === 9);
  await context.close();
  return {heard, messages, quietFrames: frames - lastSound};
}"""

# Feeds a tone through the capture worklet at the rate of the context.
CAPTURE = """async ({contextRate, seconds}) => {
  const context = new OfflineAudioContext(1, contextRate * seconds, contextRate);
  await context.audioWorklet.addModule('./worklets/capture.js');
  const capture = new AudioWorkletNode(context, 'realtime-capture', {
    numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit', processorOptions: {rateHz: 16000, frameMs: 20},
  });
  const frames = [];
  capture.port.onmessage = ({data}) => frames.push({pcm: [...data.pcm], rms: data.rms});
  const tone = new OscillatorNode(context, {frequency: 400});
  const loud = new GainNode(context, {gain: 1.5});
  tone.connect(loud).connect(capture);
  tone.start();
  await context.startRendering();
  while (frames.length < seconds * 50 - 1) await new Promise((go) => setTimeout(go, 10));
  return frames;
}"""


def of(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [message for message in messages if message["type"] == kind]


def test_items_are_played_to_their_last_sample_and_reported(page: Page, static_page: str) -> None:
    page.goto(static_page)
    result = page.evaluate(PLAYBACK, {"rate": RATE_HZ, "plan": "play"})
    assert result["heard"] == {"8000": RATE_HZ // 4, "4000": RATE_HZ // 8}
    finished = [(message["slot"], message["playedSamples"]) for message in of(result["messages"], "finished")]
    assert finished == [(0, RATE_HZ // 4), (1, RATE_HZ // 8)]
    counters = of(result["messages"], "flushed")[-1]["counters"]
    assert counters["rendered"] == counters["audible"] == RATE_HZ // 4 + RATE_HZ // 8


def test_a_flush_plays_at_most_two_quanta_and_the_fade_and_nothing_of_the_item_afterwards(
    page: Page, static_page: str
) -> None:
    page.goto(static_page)
    result = page.evaluate(PLAYBACK, {"rate": RATE_HZ, "plan": "flush"})
    first, second, last = of(result["messages"], "flushed")
    (flushed,) = first["slots"]
    assert flushed["slot"] == 0
    # Samples of the fade have values of their own: all that was heard, but the two plateaus.
    plateau = result["heard"]["8000"]
    assert flushed["playedSamples"] - plateau in (FADE, FADE - 1)
    assert [entry["slot"] for entry in second["slots"]] == [1]
    assert last["slots"] == []
    counters = last["counters"]
    assert FADE <= counters["afterFlush"] <= 2 * (2 * QUANTUM + FADE)
    assert counters["refused"] == 2 * RATE_HZ
    assert sum(result["heard"].values()) in range(counters["rendered"] - 4, counters["rendered"] + 1)
    assert result["quietFrames"] >= 8


def test_the_microphone_is_resampled_clamped_and_cut_into_frames_of_20_ms(page: Page, static_page: str) -> None:
    page.goto(static_page)
    for context_rate in (16_000, 48_000, 44_100):
        frames = page.evaluate(CAPTURE, {"contextRate": context_rate, "seconds": 1})
        assert {len(frame["pcm"]) for frame in frames} == {320}
        samples = [sample for frame in frames[5:45] for sample in frame["pcm"]]
        assert max(samples) == 32767
        assert min(samples) == -32768
        rises = sum(1 for before, after in itertools.pairwise(samples) if before < 0 <= after)
        assert abs(rises - 400 * len(samples) / 16_000) <= 1
        assert 0.9 < frames[20]["rms"] < 1.1
