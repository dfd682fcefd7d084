import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Closing, CallSocket } from "../src/call-socket.ts";
import { encodeAudioFrame } from "../src/frames.ts";
import { event } from "../../../test/events.ts";
import { FakeSocket } from "./fake-socket.ts";

const SETTINGS = {
  user_name: "Ada",
  input_audio_format: { type: "audio/pcm", rate: 16_000 },
  output_audio_format: { type: "audio/pcm", rate: 24_000 },
} as const;

function connected(): { client: CallSocket; socket: FakeSocket } {
  const client = CallSocket.connect("ws://host/ws/u/s", SETTINGS);
  const socket = FakeSocket.last;
  socket.open();
  return { client, socket };
}

beforeEach(() => {
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.useFakeTimers();
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("the session", () => {
  test("is created as the first frame, with binary audio, under the subprotocol", () => {
    const { client, socket } = connected();
    expect([socket.url, socket.protocol, socket.binaryType, client.state]).toEqual([
      "ws://host/ws/u/s",
      "realtime.v1",
      "arraybuffer",
      "open",
    ]);
    expect(socket.events).toEqual([{ type: "client_session_create", config: { ...SETTINGS, audio_frames: "binary" } }]);
  });

  test("emits every event, and unknown ones by their type only", () => {
    const { client, socket } = connected();
    const heard: string[] = [];
    client.on("event", ({ type }) => heard.push(type));
    client.on("unknown", (type) => heard.push(`unknown: ${type}`));
    socket.say(event("agent_ready"));
    socket.onmessage?.({ data: '{"type": "agent_dances"}' });
    socket.onmessage?.({ data: "{broken" });
    socket.onmessage?.({ data: new ArrayBuffer(3) });
    expect(heard).toEqual(["agent_ready", "unknown: agent_dances", "unknown: no type", "unknown: binary frame"]);
  });

  test("hands on agent audio as frames", () => {
    const { client, socket } = connected();
    const frame = { kind: 2, flags: 0, stream: 0, itemIndex: 4, sampleOffset: 480, pcm: Int16Array.of(1, 2, 3) };
    const heard: unknown[] = [];
    client.on("audio", (audio) => heard.push(audio));
    socket.say(encodeAudioFrame(frame));
    expect(heard).toEqual([frame]);
  });
});

describe("sending", () => {
  test("speech carries its place in the stream, and the server's receipt is kept", () => {
    const { client, socket } = connected();
    for (let i = 0; i < 3; i++) client.sendAudio(new Int16Array(320));
    socket.say(event("server_audio_received", { offset: 640 }));
    expect(socket.offsets).toEqual([0, 320, 640]);
    expect(client.audioSent).toEqual({ samples: 960, droppedFrames: 0, receivedOffset: 640 });
  });

  test("speech carries what was played, each position once", () => {
    const { client, socket } = connected();
    for (const [item_index, item_id] of [[3, "a"], [4, "b"]] as const) {
      socket.say(event("server_audio_item", { item_index, item_id }));
    }
    client.played = { itemId: "a", playedMs: 100 };
    client.played = { itemId: "a", playedMs: 200 };
    for (let i = 0; i < 2; i++) client.sendAudio(Int16Array.of(7, 8));
    client.played = { itemId: "b", playedMs: 0 };
    client.sendAudio(Int16Array.of(9));
    expect(
      socket.speech.map((frame) => frame && [frame.flags, frame.itemIndex, frame.playedMs, [...frame.pcm]]),
    ).toEqual([
      [1, 3, 200, [7, 8]],
      [0, 0, undefined, [7, 8]],
      [1, 4, 0, [9]],
    ]);
    expect(socket.offsets).toEqual([0, 2, 4]);
  });

  test("while the socket is behind, frames wait; old audio is dropped, control is not", () => {
    const { client, socket } = connected();
    socket.bufferedAmount = 1_000_000;
    for (let i = 0; i < 150; i++) client.sendAudio(new Int16Array(320));
    client.send({ type: "client_text_append", text: "hello" });
    vi.advanceTimersByTime(1000);
    expect(socket.sent.length).toBe(1);
    socket.bufferedAmount = 0;
    vi.advanceTimersByTime(20);
    expect(socket.offsets).toEqual(Array.from({ length: 100 }, (_, i) => (50 + i) * 320));
    expect(socket.events.at(-1)).toMatchObject({ type: "client_text_append", text: "hello" });
    expect(client.audioSent.droppedFrames).toBe(50);
  });

  test("nothing is sent before the socket is open or after it closes", () => {
    const client = CallSocket.connect("ws://host/ws/u/s", SETTINGS);
    const socket = FakeSocket.last;
    client.sendAudio(new Int16Array(320));
    client.send({ type: "client_text_append", text: "early" });
    socket.open();
    socket.lose(1006);
    client.send({ type: "client_text_append", text: "late" });
    expect(socket.sent.length).toBe(1);
    expect(client.audioSent.samples).toBe(0);
  });
});

describe("the end", () => {
  function closings(client: CallSocket): Closing[] {
    const heard: Closing[] = [];
    client.on("closed", (closing) => heard.push(closing));
    return heard;
  }

  test("by us: the session is ended first, and the closing was expected", () => {
    const { client, socket } = connected();
    const heard = closings(client);
    client.close();
    expect(socket.events.at(-1)).toMatchObject({ type: "client_session_end" });
    expect([socket.closedWith?.[0], client.state]).toEqual([1000, "closing"]);
    socket.lose(1000);
    client.close();
    expect(heard).toEqual([{ wasOpen: true, code: 1000, reason: "", expected: true, instead: null }]);
    expect(client.state).toBe("closed");
  });

  test("on a dead line: does not wait a minute for its end", () => {
    const { client, socket } = connected();
    const heard = closings(client);
    client.close();
    vi.advanceTimersByTime(999);
    expect(client.state).toBe("closing");
    vi.advanceTimersByTime(1);
    expect(heard).toEqual([{ wasOpen: true, code: 1000, reason: "", expected: true, instead: null }]);
    socket.lose(1006);
    expect([heard.length, client.state]).toEqual([1, "closed"]);
  });

  test("by the server after a goodbye is expected, a broken line is not", () => {
    const polite = connected();
    const politely = closings(polite.client);
    polite.socket.say(event("server_goodbye"));
    polite.socket.lose(1001, "drain");
    const broken = connected();
    const brokenly = closings(broken.client);
    broken.socket.lose(1006);
    expect([politely[0]?.expected, brokenly[0]?.expected]).toEqual([true, false]);
  });

  test("after the session's end nothing is sent, and late events are dropped", () => {
    const { client, socket } = connected();
    const heard: string[] = [];
    client.on("event", ({ type }) => heard.push(type));
    socket.say(event("server_session_ended"));
    client.close();
    socket.say(event("agent_error"));
    expect(heard).toEqual(["server_session_ended"]);
    expect(socket.events.map(({ type }) => type)).toEqual(["client_session_create"]);
    expect(socket.closedWith?.[0]).toBe(1000);
  });

  test("an absent server gives a closing that never was open", () => {
    const client = CallSocket.connect("ws://host/ws/u/s", SETTINGS);
    const heard = closings(client);
    FakeSocket.last.lose(1006);
    expect(heard).toEqual([{ wasOpen: false, code: 1006, reason: "", expected: false, instead: null }]);
  });
});
