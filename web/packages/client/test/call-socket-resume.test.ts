/** A client whose sockets are lost: how it comes back, what it says again, and when it stops. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Closing, CallSocket, type ResumeToken } from "../src/call-socket.ts";
import { event } from "../../../test/events.ts";
import { FakeSocket } from "./fake-socket.ts";

const SETTINGS = {
  input_audio_format: { type: "audio/pcm", rate: 16_000 },
  output_audio_format: { type: "audio/pcm", rate: 24_000 },
} as const;
const chance = (): number => 0.5;

interface Told {
  states: string[];
  events: string[];
  resumeTokens: (ResumeToken | null)[];
  closings: Closing[];
}

function follow(client: CallSocket): Told {
  const told: Told = { states: [], events: [], resumeTokens: [], closings: [] };
  client.on("state", (state) => told.states.push(state));
  client.on("event", ({ type }) => told.events.push(type));
  client.on("resumeToken", (resumeToken) => told.resumeTokens.push(resumeToken));
  client.on("closed", (closing) => told.closings.push(closing));
  return told;
}

/** In a call that can be come back to, and that held for a while. */
function called(): { client: CallSocket; told: Told } {
  const client = CallSocket.connect("ws://host/ws/u/s", SETTINGS, chance);
  const told = follow(client);
  FakeSocket.last.open();
  const created = event("server_session_created", { resume_token: "call.1", resume_within_ms: 30_000, seq: 1 });
  FakeSocket.last.say(created);
  vi.advanceTimersByTime(5000);
  return { client, told };
}

/** The next socket opens, and the server has this much of our speech. */
function letIn(token: string, offset: number | null, fromStore = false): FakeSocket {
  const socket = FakeSocket.last;
  socket.open();
  socket.say(event("server_session_resumed", { token, from_store: fromStore, rewound_to_seq: null, last_seq: 1 }));
  if (offset !== null) socket.say(event("server_audio_received", { offset, seq: 1 }));
  return socket;
}

beforeEach(() => {
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.useFakeTimers();
  FakeSocket.count = 0;
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("coming back", () => {
  test("is tried at once, with the token and the last event seen, and what was heard last", () => {
    const { client, told } = called();
    FakeSocket.last.say(event("agent_ready", { seq: 41 }));
    client.lastPlayed = { itemId: "item_1", playedMs: 640 };
    FakeSocket.last.lose();
    expect([client.state, FakeSocket.count]).toEqual(["reconnecting", 1]);
    vi.advanceTimersByTime(0);
    const socket = letIn("call.2", 0);
    expect(socket.events).toEqual([
      { type: "client_session_resume", token: "call.1", last_seq: 41, played_item_id: "item_1", played_ms: 640 },
    ]);
    expect(told.states).toEqual(["open", "reconnecting", "open"]);
    expect(told.resumeTokens.map((resumeToken) => resumeToken?.token)).toEqual(["call.1", "call.2"]);
    expect(told.closings).toEqual([]);
  });

  test("of a server that was killed is not refused: what it takes back is asked for no more", () => {
    const { client, told } = called();
    FakeSocket.last.say(event("agent_ready", { seq: 41 }));
    FakeSocket.last.lose();
    vi.advanceTimersByTime(0);
    const socket = FakeSocket.last;
    socket.open();
    const rewound = { from_store: true, last_seq: 38, rewound_to_seq: 38 };
    socket.say(event("server_session_resumed", { token: "call.2", ...rewound }));
    socket.say(event("server_audio_received", { offset: 0 }));
    expect([client.state, told.closings]).toEqual(["open", []]);
    socket.say(event("agent_ready", { seq: 39 }));
    socket.lose();
    vi.advanceTimersByTime(1000);
    FakeSocket.last.open();
    expect(FakeSocket.last.events[0]).toMatchObject({ type: "client_session_resume", last_seq: 39 });
  });

  test("is tried again and again, later each time, until the server will not wait any more", () => {
    const { client, told } = called();
    const lostAt = performance.now();
    const tries: number[] = [];
    client.on("attempt", () => tries.push(Math.round(performance.now() - lostAt)));
    FakeSocket.last.lose();
    while (client.state === "reconnecting") {
      const before = FakeSocket.count;
      vi.advanceTimersToNextTimer();
      if (FakeSocket.count > before) FakeSocket.last.lose();
    }
    // Of each delay three quarters, by this chance, in whole ms: of 250, 500, 1,000, 2,000, 4,000, 4,000.
    expect(tries.slice(0, 7)).toEqual([0, 187, 562, 1312, 2812, 5812, 8812]);
    expect(Math.round(performance.now() - lostAt)).toBe(32_000);
    expect(told.closings).toEqual([{ wasOpen: true, code: 1006, reason: "", expected: false, instead: "gave_up" }]);
    expect(told.resumeTokens.at(-1)).toBeNull();
  });

  test("is tried where the server had heard nothing from us, too", () => {
    const { client } = called();
    FakeSocket.last.lose(1011, "keepalive ping timeout");
    expect(client.state).toBe("reconnecting");
  });

  test("does not wait where the network is said to be back", () => {
    const { client } = called();
    FakeSocket.last.lose();
    for (let i = 0; i < 6; i++) {
      vi.advanceTimersByTime(i === 0 ? 0 : 4000);
      FakeSocket.last.lose();
    }
    const before = FakeSocket.count;
    client.retryNow();
    expect(FakeSocket.count).toBe(before + 1);
    letIn("call.2", 0);
    client.retryNow();
    expect([client.state, FakeSocket.count]).toEqual(["open", before + 1]);
  });

  test("does not trust a silent line where the network is said to be back", () => {
    const { client } = called();
    const silent = FakeSocket.last;
    client.retryNow();
    expect([client.state, FakeSocket.count, silent.closedWith?.[0]]).toEqual(["reconnecting", 2, 4001]);
    letIn("call.2", 0);
    expect(client.state).toBe("open");
  });

  test("is tried where a typed line is answered by nothing at all", () => {
    const { client } = called();
    client.send({ type: "client_text_append", text: "Hello?" });
    vi.advanceTimersByTime(4900);
    expect(client.state).toBe("open");
    vi.advanceTimersByTime(200);
    expect(client.state).toBe("reconnecting");
    vi.advanceTimersByTime(0);
    const socket = letIn("call.2", 0);
    expect(socket.events.map(({ type }) => type)).toEqual(["client_session_resume", "client_text_append"]);
  });

  test("is not tried where a typed line is answered", () => {
    const { client } = called();
    client.send({ type: "client_text_append", text: "Hello?" });
    vi.advanceTimersByTime(1000);
    FakeSocket.last.say(event("agent_ready", { seq: 2 }));
    vi.advanceTimersByTime(20_000);
    expect([client.state, FakeSocket.count]).toEqual(["open", 1]);
  });

  test("a try without an answer is given up for the next one", () => {
    called();
    FakeSocket.last.lose();
    vi.advanceTimersByTime(0);
    const silent = FakeSocket.last;
    vi.advanceTimersByTime(8000 + 250);
    expect([FakeSocket.count, silent.closedWith?.[0]]).toEqual([3, 4001]);
  });

  test("a socket that is lost before the answer costs nothing: the same token is shown again", () => {
    const { client } = called();
    FakeSocket.last.lose();
    vi.advanceTimersByTime(0);
    FakeSocket.last.open();
    FakeSocket.last.lose();
    vi.advanceTimersByTime(250);
    const socket = letIn("call.2", 0);
    expect([client.state, socket.events[0]?.["token"]]).toEqual(["open", "call.1"]);
  });

  test("a line that dies between the answer and the place costs a try as well", () => {
    const { client, told } = called();
    FakeSocket.last.lose();
    vi.advanceTimersByTime(0);
    letIn("call.2", null);
    vi.advanceTimersByTime(8000 + 250);
    expect([client.state, FakeSocket.count]).toEqual(["reconnecting", 3]);
    FakeSocket.last.open();
    expect(FakeSocket.last.events[0]?.["token"]).toBe("call.2");
    vi.advanceTimersByTime(30_000);
    expect(told.closings).toMatchObject([{ instead: "gave_up" }]);
  });

  test("lines that never hold are not taken at once for ever", () => {
    called();
    FakeSocket.last.lose();
    vi.advanceTimersByTime(0);
    letIn("call.2", 0).lose();
    vi.advanceTimersByTime(186);
    expect(FakeSocket.count).toBe(2);
    vi.advanceTimersByTime(1);
    letIn("call.3", 0);
    vi.advanceTimersByTime(1000);
    FakeSocket.last.lose();
    vi.advanceTimersByTime(0);
    expect(FakeSocket.count).toBe(4);
  });

  test("a line on which nothing comes while we speak is taken for lost", () => {
    const { client } = called();
    FakeSocket.last.say(event("server_audio_received", { offset: 320 }));
    for (let ms = 0; ms < 5000; ms += 20) {
      client.sendAudio(new Int16Array(320));
      vi.advanceTimersByTime(20);
    }
    expect(client.state).toBe("open");
    for (let i = 0; i < 3; i++) {
      client.sendAudio(new Int16Array(320));
      vi.advanceTimersByTime(20);
    }
    expect([client.state, FakeSocket.count]).toEqual(["reconnecting", 2]);
  });
});

describe("saying again", () => {
  test("speech from the place on, what was typed in its place, and what was heard before the frame that told it", () => {
    const { client } = called();
    const first = FakeSocket.last;
    first.say(event("server_audio_item", { item_index: 3, item_id: "item_1" }));
    client.sendAudio(new Int16Array(320));
    client.send({ type: "client_text_append", text: "one" });
    client.played = { itemId: "item_1", playedMs: 100 };
    client.sendAudio(new Int16Array(320));
    first.lose();
    client.sendAudio(new Int16Array(320));
    client.send({ type: "client_text_append", text: "two" });
    vi.advanceTimersByTime(0);
    client.sendAudio(new Int16Array(320));
    const socket = FakeSocket.last;
    socket.open();
    expect(socket.sent.length).toBe(1);
    socket.say(event("server_session_resumed", { token: "call.2", from_store: false, rewound_to_seq: null }));
    expect(socket.sent.length).toBe(1);
    socket.say(event("server_audio_received", { offset: 320 }));
    client.sendAudio(new Int16Array(320));
    expect(first.speech.map((frame) => frame?.playedMs)).toEqual([undefined, 100]);
    const said = socket.sent.slice(1).map((data) => (typeof data === "string" ? JSON.parse(data) : "speech"));
    expect(said).toEqual([
      expect.objectContaining({ text: "one", event_id: first.events.at(-1)?.["event_id"] }),
      { type: "client_playback_ack", item_id: "item_1", played_ms: 100 },
      "speech",
      "speech",
      expect.objectContaining({ text: "two" }),
      "speech",
      "speech",
    ]);
    expect(socket.offsets).toEqual([320, 640, 960, 1280]);
    expect(client.audioSent.droppedFrames).toBe(0);
  });

  test("every event but a position has an id of its own", () => {
    const { client } = called();
    for (const text of ["a", "b"]) client.send({ type: "client_text_append", text });
    client.send({ type: "client_playback_ack", item_id: "item_1", played_ms: 1 });
    const ids = FakeSocket.last.events.slice(1).map((sent) => sent["event_id"]);
    expect([new Set(ids.slice(0, 2)).size, ids[2]]).toEqual([2, undefined]);
    expect(ids.slice(0, 2).every((id) => typeof id === "string")).toBe(true);
  });

  test("ten seconds of it are not too much for a socket that takes a second at a time", () => {
    const { client } = called();
    FakeSocket.last.lose();
    for (let i = 0; i < 700; i++) client.sendAudio(new Int16Array(320));
    vi.advanceTimersByTime(0);
    FakeSocket.last.bufferedAmount = 1_000_000;
    const socket = letIn("call.2", 0);
    for (let i = 0; i < 50; i++) client.sendAudio(new Int16Array(320));
    expect(socket.offsets).toEqual([]);
    socket.bufferedAmount = 0;
    vi.advanceTimersByTime(20);
    expect(socket.offsets).toEqual(Array.from({ length: 550 }, (_, i) => (200 + i) * 320));
  });

  test("repeats no speech of a call read from a store without an offset", () => {
    const { client } = called();
    client.sendAudio(new Int16Array(320));
    client.send({ type: "client_text_append", text: "old" });
    FakeSocket.last.lose();
    client.send({ type: "client_text_append", text: "new" });
    client.sendAudio(new Int16Array(320));
    vi.advanceTimersByTime(0);
    const socket = letIn("call.2", null, true);
    expect([client.state, socket.sent.length]).toEqual(["reconnecting", 1]);
    socket.say(event("agent_ready"));
    expect([client.state, socket.offsets]).toEqual(["open", [320]]);
    expect(socket.events.slice(1)).toMatchObject([{ text: "old" }, { text: "new" }]);
  });

  test("the same where nothing follows; repeats speech with an offset", () => {
    const quiet = called();
    FakeSocket.last.lose();
    quiet.client.sendAudio(new Int16Array(320));
    vi.advanceTimersByTime(0);
    letIn("call.2", null, true);
    vi.advanceTimersByTime(250);
    expect([quiet.client.state, FakeSocket.last.offsets]).toEqual(["open", [0]]);
    const { client } = called();
    client.sendAudio(new Int16Array(320));
    client.send({ type: "client_text_append", text: "old" });
    FakeSocket.last.lose();
    vi.advanceTimersByTime(0);
    const socket = letIn("call.3", 0, true);
    expect([socket.offsets, socket.events.length]).toEqual([[0], 2]);
  });
});

describe("a page that was reloaded", () => {
  test("asks for everything, goes on at the server's count of its speech, and can be lost again", () => {
    const resumeToken = { token: "call.1", withinMs: 30_000 };
    const client = CallSocket.resume("ws://host/ws/u/s", 16_000, resumeToken, null, chance);
    const told = follow(client);
    expect(client.state).toBe("reconnecting");
    const socket = letIn("call.2", 48_000);
    socket.say(event("server_session_created", { resume_token: null, resume_within_ms: null, seq: 1 }));
    client.sendAudio(new Int16Array(320));
    expect(socket.events).toEqual([{ type: "client_session_resume", token: "call.1", last_seq: 0 }]);
    expect([client.state, socket.offsets]).toEqual(["open", [48_000]]);
    expect(told.resumeTokens).toEqual([{ token: "call.2", withinMs: 30_000 }]);
    socket.lose();
    vi.advanceTimersByTime(250);
    expect(letIn("call.3", 48_320).events[0]).toMatchObject({ token: "call.2" });
  });

  test("gives up in the same time", () => {
    const client = CallSocket.resume("ws://host/", 16_000, { token: "call.1", withinMs: 3000 }, null, chance);
    const told = follow(client);
    vi.advanceTimersByTime(5000);
    expect(told.closings).toEqual([{ wasOpen: false, code: 1006, reason: "", expected: false, instead: "gave_up" }]);
  });
});

describe("staying away", () => {
  test.each([
    [1000, null],
    [1008, "refused"],
    [1011, null],
    [4000, "elsewhere"],
  ])("after close code %i", (code, instead) => {
    const { client, told } = called();
    FakeSocket.last.lose(code);
    vi.advanceTimersByTime(60_000);
    expect([client.state, FakeSocket.count]).toEqual(["closed", 1]);
    expect([told.closings[0]?.instead, told.resumeTokens.at(-1)]).toEqual([instead, null]);
  });

  test("where the token opens nothing; its error is no trouble of the call", () => {
    const { told } = called();
    FakeSocket.last.lose();
    vi.advanceTimersByTime(0);
    FakeSocket.last.open();
    FakeSocket.last.say(event("agent_error", { code: "invalid_resume_token", retryable: false }));
    expect(told.closings[0]).toMatchObject({ instead: "refused", expected: false });
    expect(told.events).not.toContain("agent_error");
  });

  test("but not where the server says that it may be tried again", () => {
    const { client } = called();
    FakeSocket.last.lose();
    vi.advanceTimersByTime(0);
    FakeSocket.last.open();
    FakeSocket.last.say(event("agent_error", { code: "session_ended", retryable: true }));
    vi.advanceTimersByTime(250);
    expect([client.state, FakeSocket.count]).toEqual(["reconnecting", 3]);
  });

  test("after the user hung up, on a line that holds or on one that is lost", () => {
    const holding = called();
    holding.client.close();
    FakeSocket.last.lose();
    const lost = called();
    FakeSocket.last.lose();
    lost.client.close();
    vi.advanceTimersByTime(60_000);
    expect(FakeSocket.count).toBe(2);
    for (const { told } of [holding, lost]) {
      expect(told.closings).toMatchObject([{ expected: true, instead: null }]);
      expect(told.resumeTokens.at(-1)).toBeNull();
    }
  });

  test("after the session ended, and where there never was a token", () => {
    const { told } = called();
    FakeSocket.last.say(event("server_session_ended"));
    FakeSocket.last.lose();
    CallSocket.connect("ws://host/", SETTINGS);
    FakeSocket.last.open();
    FakeSocket.last.say(event("server_session_created", { resume_token: null, resume_within_ms: null }));
    FakeSocket.last.lose();
    vi.advanceTimersByTime(60_000);
    expect(FakeSocket.count).toBe(2);
    expect(told.closings).toMatchObject([{ expected: true }]);
  });
});

test("a server that goes down with a promise is come back to when it said, and its end of the call is none", () => {
  const { client, told } = called();
  const socket = FakeSocket.last;
  socket.say(event("server_goodbye", { reason: "shutdown", resume_token: "call.9", retry_after_ms: 1000, seq: 50 }));
  socket.say(event("agent_ended", { seq: 51 }));
  expect(client.state).toBe("open");
  socket.say(event("server_session_ended", { seq: 52, reason: "shutdown" }));
  expect(client.state).toBe("reconnecting");
  vi.advanceTimersByTime(999);
  expect(FakeSocket.count).toBe(1);
  vi.advanceTimersByTime(1);
  expect(letIn("call.10", 0, true).events[0]).toMatchObject({ token: "call.9", last_seq: 52 });
  expect(told.events).toEqual(["server_session_created", "server_session_resumed", "server_audio_received"]);
  expect([client.state, told.closings]).toEqual(["open", []]);
});
