import { expect, test } from "vitest";
import { Emitter } from "../src/emitter.ts";
import type { ClientEvents } from "../src/call-socket.ts";
import type { AudioFrame } from "../src/frames.ts";
import type { ClientEvent } from "../src/protocol.generated.ts";
import type { Played } from "../src/replay-buffer.ts";
import type { SpeakerEvents } from "../src/speaker-output.ts";
import { SilentOutput, type VoiceOutput, attachVoice } from "../src/voice-output.ts";
import { event } from "../../../test/events.ts";

class FakeClient extends Emitter<ClientEvents> {
  readonly sent: ClientEvent[] = [];
  audioSent = { samples: 0, droppedFrames: 0, receivedOffset: 0 };
  played: Played | null = null;
  lastPlayed: Played | null = null;
  /** A frame of speech leaves. Returns what it carries. */
  speak(): Played | null {
    this.audioSent = { ...this.audioSent, samples: this.audioSent.samples + 320 };
    const { played } = this;
    this.played = null;
    return played;
  }
  send(sent: ClientEvent): void {
    this.sent.push(sent);
  }
}

/** Records the calls of its methods. */
class FakeOutput extends Emitter<SpeakerEvents> implements VoiceOutput {
  readonly done: string[] = [];
  readonly counters = null;
  readonly played = {};
  readonly ranges = {};
  volume = 1;
  play(itemId: string, pcm: Int16Array, rateHz: number): void {
    this.done.push(`play ${itemId} ${[...pcm].join(",")} at ${rateHz}`);
  }
  skip(itemId: string, samples: number): void {
    this.done.push(`skip ${samples} of ${itemId}`);
  }
  end(itemId: string): void {
    this.done.push(`end ${itemId}`);
  }
  async useDevice(): Promise<void> {}
  pause(): void {}
  resume(): void {}
  unlock(): void {}
  flush(itemId: string | null): void {
    this.done.push(`flush ${itemId}`);
  }
  setGain(gainDb: number, rampMs: number): void {
    this.done.push(`gain ${gainDb} in ${rampMs}`);
  }
  async close(): Promise<void> {}
}

function attached(): { client: FakeClient; output: FakeOutput; undo: () => void } {
  const client = new FakeClient();
  const output = new FakeOutput();
  return { client, output, undo: attachVoice(client, output) };
}

const format = { type: "audio/pcm", rate: 24_000, encoding: "pcm16", sample_rate: 24_000 };
const announce = (item_index: number, item_id: string, response_id = "r1") =>
  event("server_audio_item", { item_index, item_id, response_id, format });
const audio = (itemIndex: number, sampleOffset: number, values: number[], flags = 0): AudioFrame => ({
  kind: 2,
  flags,
  stream: 0,
  itemIndex,
  sampleOffset,
  pcm: Int16Array.from(values),
});

test("binary audio is played under the item that was announced for its number, at its rate", () => {
  const { client, output } = attached();
  client.emit("event", announce(3, "item_a"));
  client.emit("audio", audio(3, 0, [1, 2]));
  client.emit("audio", audio(3, 2, [3], 1));
  client.emit("audio", audio(9, 0, [7, 7]));
  expect(output.done).toEqual(["play item_a 1,2 at 24000", "play item_a 3 at 24000", "end item_a"]);
});

test("samples that were received before are not played twice", () => {
  const { client, output } = attached();
  client.emit("event", announce(0, "item_a"));
  client.emit("audio", audio(0, 0, [1, 2, 3]));
  client.emit("audio", audio(0, 1, [2, 3, 4]));
  client.emit("audio", audio(0, 0, [1, 2]));
  expect(output.done).toEqual(["play item_a 1,2,3 at 24000", "play item_a 4 at 24000"]);
});

test("audio inside json is played too", () => {
  const { client, output } = attached();
  client.emit("event", event("agent_response_audio_delta", { item_id: "item_a", delta: "AADoAxj8", format }));
  client.emit("event", event("agent_response_audio_done", { item_id: "item_a" }));
  expect(output.done).toEqual(["play item_a 0,1000,-1000 at 24000", "end item_a"]);
});

test("the end of a response ends all its items and no others", () => {
  const { client, output } = attached();
  client.emit("event", announce(0, "item_a"));
  client.emit("event", announce(1, "item_b"));
  client.emit("event", announce(2, "item_c", "r2"));
  client.emit("event", event("agent_response_done", { response_id: "r1" }));
  expect(output.done).toEqual(["end item_a", "end item_b"]);
});

test("a flush is passed on, and everything heard is acknowledged", () => {
  const { client, output } = attached();
  client.emit("event", event("server_audio_flush", { item_id: null }));
  client.emit("event", event("server_audio_flush", { item_id: "item_a" }));
  output.emit("progress", { itemId: "item_a", playedMs: 40 });
  output.emit("finished", { itemId: "item_b", playedMs: 900 });
  output.emit("flushed", { itemId: "item_a", playedMs: 60 });
  expect(output.done).toEqual(["flush null", "flush item_a"]);
  expect(client.sent).toEqual([
    { type: "client_playback_ack", item_id: "item_a", played_ms: 40, flushed: false },
    { type: "client_playback_ack", item_id: "item_b", played_ms: 900, flushed: false },
    { type: "client_playback_ack", item_id: "item_a", played_ms: 60, flushed: true },
  ]);
});

test("while speech is sent it carries what was heard, without it an event does", () => {
  const { client, output } = attached();
  client.emit("event", announce(3, "item_a"));
  client.emit("event", event("agent_response_done", { response_id: "r1" }));
  client.speak();
  output.emit("progress", { itemId: "item_a", playedMs: 100 });
  output.emit("progress", { itemId: "item_a", playedMs: 200 });
  expect(client.speak()).toBeNull();
  output.emit("progress", { itemId: "item_a", playedMs: 300 });
  expect(client.speak()).toEqual({ itemId: "item_a", playedMs: 300 });
  output.emit("progress", { itemId: "item_a", playedMs: 400 });
  expect([client.speak(), client.speak()]).toEqual([{ itemId: "item_a", playedMs: 400 }, null]);
  expect(client.sent).toEqual([{ type: "client_playback_ack", item_id: "item_a", played_ms: 200, flushed: false }]);
});

test("the end of an item is an event, and speech carries no older position of it", () => {
  const { client, output } = attached();
  client.emit("event", announce(3, "item_a"));
  client.emit("event", announce(4, "item_b"));
  client.speak();
  output.emit("progress", { itemId: "item_a", playedMs: 100 });
  output.emit("finished", { itemId: "item_a", playedMs: 120 });
  expect(client.speak()).toBeNull();
  output.emit("progress", { itemId: "item_b", playedMs: 50 });
  output.emit("flushed", { itemId: "item_a", playedMs: 120 });
  expect(client.speak()).toEqual({ itemId: "item_b", playedMs: 50 });
  output.emit("progress", { itemId: "item_b", playedMs: 60 });
  output.emit("flushed", { itemId: "item_b", playedMs: 70 });
  expect(client.speak()).toBeNull();
  expect(client.sent.map((sent) => "flushed" in sent && [sent.played_ms, sent.flushed])).toEqual([
    [120, false],
    [120, true],
    [70, true],
  ]);
});

test("on another socket only what did not come on the first one is played", () => {
  const { client, output } = attached();
  client.emit("event", announce(7, "item_a"));
  client.emit("audio", audio(7, 0, [1, 2, 3]));
  client.emit("event", announce(1, "item_a"));
  client.emit("audio", audio(1, 1, [2, 3]));
  client.emit("audio", audio(1, 2, [3, 4, 5]));
  expect(output.done).toEqual(["play item_a 1,2,3 at 24000", "play item_a 4,5 at 24000"]);
});

test("speech that will not come here is skipped, so that what follows keeps its place", () => {
  const { client, output } = attached();
  client.emit("event", announce(1, "item_a"));
  client.emit("audio", audio(1, 480, [1, 2]));
  client.emit("audio", audio(1, 490, [3]));
  expect(output.done).toEqual([
    "skip 480 of item_a",
    "play item_a 1,2 at 24000",
    "skip 8 of item_a",
    "play item_a 3 at 24000",
  ]);
});

test("the level follows the server while a voice over the reply is undecided", () => {
  const { client, output } = attached();
  client.emit("event", event("server_audio_gain", { gain_db: -15, ramp_ms: 60, item_id: "item_a" }));
  client.emit("event", event("server_audio_gain", { gain_db: 0, ramp_ms: 250, item_id: "item_a" }));
  expect(output.done).toEqual(["gain -15 in 60", "gain 0 in 250"]);
});

test("an item that was cut is silenced, by a flush or without one", () => {
  const { client, output } = attached();
  client.emit("event", announce(1, "item_a"));
  client.emit("event", event("agent_item_truncated", { item_id: "item_a" }));
  expect(output.done).toEqual(["flush item_a"]);
});

test("the item that was heard last is known for coming back", () => {
  const { client, output } = attached();
  output.emit("finished", { itemId: "item_a", playedMs: 900 });
  output.emit("progress", { itemId: "item_b", playedMs: 40 });
  expect(client.lastPlayed).toEqual({ itemId: "item_b", playedMs: 40 });
});

test("after the undo nothing is passed on in either direction", () => {
  const { client, output, undo } = attached();
  undo();
  client.emit("event", event("server_audio_flush", { item_id: null }));
  output.emit("progress", { itemId: "item_a", playedMs: 40 });
  expect([output.done, client.sent]).toEqual([[], []]);
});

test("without a speaker everything counts as heard when it comes", () => {
  const client = new FakeClient();
  attachVoice(client, new SilentOutput());
  client.emit("event", announce(0, "item_a"));
  client.emit("audio", audio(0, 0, Array(480).fill(1)));
  client.emit("audio", audio(0, 480, Array(480).fill(1)));
  client.emit("event", event("server_audio_flush", { item_id: null }));
  expect(client.sent.map((sent) => "flushed" in sent && [sent.played_ms, sent.flushed])).toEqual([
    [20, false],
    [40, false],
    [40, true],
  ]);
});

test("speech that a server which was killed takes back is not played on", () => {
  const { client, output } = attached();
  client.emit("event", event("agent_ready", { seq: 30 }));
  client.emit("event", announce(1, "item_a"));
  client.emit("event", event("agent_ready", { seq: 41 }));
  client.emit("event", announce(2, "item_b"));
  client.emit("event", event("server_session_resumed", { last_seq: 38, rewound_to_seq: 38 }));
  expect(output.done).toEqual(["flush item_b"]);
  client.emit("event", event("server_session_resumed", { last_seq: 39, rewound_to_seq: null }));
  expect(output.done).toEqual(["flush item_b"]);
});
