import { expect, test } from "vitest";
import type { ClientEvents } from "../src/call-socket.ts";
import { Emitter } from "../src/emitter.ts";
import type { AudioFrame } from "../src/frames.ts";
import type { ServerEvent } from "../src/protocol.generated.ts";
import { type VoicesEvents, type VoicesOutput, attachVoices } from "../src/live-voices.ts";
import { event } from "../../../test/events.ts";

/** Records the calls of its methods. */
class FakeVoices extends Emitter<VoicesEvents> implements VoicesOutput {
  readonly done: string[] = [];
  readonly counters = {};
  volume = 1;
  async useDevice(): Promise<void> {}
  play(who: string, pcm: Int16Array, rateHz: number): void {
    this.done.push(`${who} ${[...pcm].join(",")} at ${rateHz}`);
  }
  remove(who: string): void {
    this.done.push(`remove ${who}`);
  }
  unlock(): void {}
  async close(): Promise<void> {}
}

function attached(): { client: Emitter<ClientEvents>; output: FakeVoices; isLive: (itemId: string) => boolean } {
  const client = new Emitter<ClientEvents>();
  const output = new FakeVoices();
  const { isLive } = attachVoices(client, output, (id) => id.startsWith("h"));
  return { client, output, isLive };
}

const announce = (item_index: number, agent_id: string, rate = 24_000): ServerEvent => {
  const format = { type: "audio/pcm", rate, encoding: "pcm16", sample_rate: rate };
  return event("server_audio_item", { item_index, item_id: `${agent_id}.voice`, agent_id, format });
};
const audio = (itemIndex: number, sampleOffset: number, values: number[]): AudioFrame => ({
  kind: 2,
  flags: 0,
  stream: 0,
  itemIndex,
  sampleOffset,
  pcm: Int16Array.from(values),
});

test("voices of humans are played side by side, and nothing of an agent's", () => {
  const { client, output, isLive } = attached();
  for (const told of [announce(1, "h1"), announce(2, "h2", 16_000), announce(3, "a1")]) client.emit("event", told);
  client.emit("audio", audio(1, 0, [1]));
  client.emit("audio", audio(2, 0, [2]));
  client.emit("audio", audio(3, 0, [3]));
  client.emit("audio", audio(1, 1, [4]));
  expect(output.done).toEqual(["h1 1 at 24000", "h2 2 at 16000", "h1 4 at 24000"]);
  expect([isLive("h1.voice"), isLive("a1.voice")]).toEqual([true, false]);
});

test("no flush concerns them", () => {
  const { client, output } = attached();
  client.emit("event", announce(1, "h1"));
  client.emit("event", event("server_audio_flush", { item_id: null }));
  client.emit("event", event("server_audio_flush", { item_id: "h1.voice" }));
  client.emit("audio", audio(1, 0, [1]));
  expect(output.done).toEqual(["h1 1 at 24000"]);
});

test("what comes twice after a lost line is heard once, and a hole is no sound", () => {
  const { client, output } = attached();
  client.emit("event", announce(1, "h1"));
  client.emit("audio", audio(1, 0, [1, 2]));
  client.emit("event", announce(7, "h1"));
  client.emit("audio", audio(7, 1, [2, 3]));
  client.emit("audio", audio(7, 9, [4]));
  expect(output.done).toEqual(["h1 1,2 at 24000", "h1 3 at 24000", "h1 4 at 24000"]);
});

test("a number that stands for an agent's item on a new socket is no human's any more", () => {
  const { client, output } = attached();
  client.emit("event", announce(1, "h1"));
  client.emit("event", announce(1, "a1"));
  client.emit("audio", audio(1, 0, [1]));
  expect(output.done).toEqual([]);
});

test("a human who leaves is silent at once", () => {
  const { client, output } = attached();
  client.emit("event", announce(1, "h1"));
  client.emit("event", event("server_room_left", { participant_id: "h1", reason: "left" }));
  client.emit("audio", audio(1, 0, [1]));
  expect(output.done).toEqual(["remove h1"]);
});

test("a renamed human still plays", () => {
  const { client, output } = attached();
  client.emit("event", announce(1, "h1"));
  client.emit("event", event("server_room_left", { participant_id: "h1", reason: "renamed" }));
  client.emit("audio", audio(1, 0, [1]));
  expect(output.done).toHaveLength(1);
  expect(output.done[0]).not.toContain("remove");
});
