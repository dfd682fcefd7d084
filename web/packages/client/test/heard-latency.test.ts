import { afterEach, expect, test, vi } from "vitest";
import { CallController, type Projection } from "../src/call-controller.ts";
import { encodeAudioFrame, decodeAudioFrame } from "../src/frames.ts";
import { SpeakerOutput } from "../src/speaker-output.ts";
import { event } from "../../../test/events.ts";
import { FakeAudio } from "./fake-audio.ts";
import { FakeSocket } from "./fake-socket.ts";

const READY: Projection<boolean> = {
  empty: false,
  fold: (ready, { type }) => ready || type === "agent_ready",
  phase: (ready) => (ready ? "ready" : "waiting"),
  rewind: (earlier) => earlier,
  isHuman: () => false,
};
const VOICE_FROM_MS = 400;
const VOICE_TO_MS = 900;
const ANSWER_MS = 400;
/** A frame of the microphone, and the blocks of both contexts. */
const NEAR_MS = 30;

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A call with microphone and loudspeaker; the user speaks once. */
async function talking(outputLatencyMs: number): Promise<{ audio: FakeAudio; call: CallController<boolean> }> {
  const audio = await FakeAudio.install(outputLatencyMs, (ms) => (VOICE_FROM_MS <= ms && ms < VOICE_TO_MS ? 0.3 : 0));
  vi.stubGlobal("WebSocket", FakeSocket);
  const worklets = { capture: "capture.js", playback: "playback.js" };
  const call = await CallController.open({ url: "ws://server/ws/u/s", projection: READY, worklets });
  FakeSocket.last.open();
  FakeSocket.last.say(event("server_session_created", { seq: 1 }));
  FakeSocket.last.say(event("agent_ready", { seq: 2 }));
  await call.startMicrophone();
  return { audio, call };
}

/** The server's answer: loud from its first sample on, at `rateHz`. */
function answer(rateHz = 24_000): void {
  const format = { type: "audio/pcm", rate: rateHz, encoding: "pcm16", sample_rate: rateHz };
  FakeSocket.last.say(event("server_audio_item", { item_index: 1, item_id: "item_1", response_id: "resp_1", format }));
  const pcm = new Int16Array((ANSWER_MS * rateHz) / 1000).fill(9_000);
  FakeSocket.last.say(encodeAudioFrame({ kind: 2, flags: 1, stream: 0, itemIndex: 1, sampleOffset: 0, pcm }));
}

interface Report {
  readonly playedMs: number;
  /** How much of the microphone the server had then. */
  readonly inputMs: number;
}

/** What the server was told: every position of the answer, and where the user's voice ended in its own audio. */
function told(): { reports: Report[]; voiceEndMs: number } {
  const reports: Report[] = [];
  let inputMs = 0;
  let voiceEndMs = 0;
  for (const sent of FakeSocket.last.sent) {
    if (typeof sent === "string") {
      const { type, played_ms: playedMs } = JSON.parse(sent);
      if (type === "client_playback_ack") reports.push({ playedMs, inputMs });
      continue;
    }
    const frame = decodeAudioFrame(sent);
    if (!frame) throw new Error("no audio frame");
    const lastLoud = frame.pcm.findLastIndex((sample) => sample !== 0);
    if (lastLoud >= 0) voiceEndMs = (frame.sampleOffset + lastLoud + 1) / 16;
    inputMs = (frame.sampleOffset + frame.pcm.length) / 16;
    if (frame.playedMs !== undefined) reports.push({ playedMs: frame.playedMs, inputMs });
  }
  return { reports, voiceEndMs };
}

test.each([
  [0, 0],
  [0, 700],
  [30, 120],
  [30, 350],
  [180, 120],
])("with %d ms to the loudspeaker and %d ms to the answer, what the user waited is what the server can tell", async (latencyMs, afterMs) => {
  const { audio, call } = await talking(latencyMs);
  expect(call.output).toBeInstanceOf(SpeakerOutput);
  audio.advance(VOICE_TO_MS + 200 + afterMs);
  answer();
  audio.advance(1_000);
  const { reports, voiceEndMs } = told();
  expect(voiceEndMs).toBe(VOICE_TO_MS);
  const heardMs = (audio.soundedMs ?? 0) - VOICE_TO_MS;
  expect(heardMs).toBeGreaterThanOrEqual(200 + afterMs + latencyMs);
  // The server takes the first report, and would say the same by any later one but the end.
  for (const { playedMs, inputMs } of reports.slice(0, -1)) {
    expect(Math.abs(inputMs - playedMs - voiceEndMs - heardMs)).toBeLessThanOrEqual(NEAR_MS);
  }
  expect(reports.length).toBeGreaterThanOrEqual(3);
  expect(reports.at(-1)?.playedMs).toBe(ANSWER_MS);
});

test("an answer is over when its last sample has left the loudspeaker, not when it was rendered", async () => {
  const { audio, call } = await talking(180);
  const over: number[] = [];
  call.output.on("finished", () => over.push(audio.nowMs));
  audio.advance(1_000);
  answer();
  audio.advance(1_000);
  expect(over).toHaveLength(1);
  expect(Math.abs((over[0] ?? 0) - (audio.soundedMs ?? 0) - ANSWER_MS)).toBeLessThanOrEqual(NEAR_MS);
  expect(call.output.played).toEqual({ item_1: ANSWER_MS });
});

test("what is flushed counts as heard to the last sample that was rendered", async () => {
  const { audio, call } = await talking(30);
  const flushed: number[] = [];
  call.output.on("flushed", ({ playedMs }) => flushed.push(playedMs));
  audio.advance(1_000);
  answer(16_000);
  audio.advance(200);
  FakeSocket.last.say(event("server_audio_flush", { item_id: "item_1" }));
  audio.advance(200);
  const renderedMs = ((call.output.counters?.rendered ?? 0) * 1000) / 24_000;
  expect(flushed).toEqual([Math.floor(renderedMs)]);
  expect(call.output.counters).toMatchObject({ flushes: 1, afterFlush: 120 });
});
