import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallController, type DeviceChoice, type LocalSignal, type Projection } from "../src/call-controller.ts";
import { CallSocket } from "../src/call-socket.ts";
import { MicrophoneCapture } from "../src/microphone-capture.ts";
import type { ServerEvent } from "../src/protocol.generated.ts";
import { SilentOutput } from "../src/voice-output.ts";
import { event } from "../../../test/events.ts";
import { FakeMediaDevices } from "./fake-media-devices.ts";
import { FakeSocket } from "./fake-socket.ts";

/** Records the calls of its methods. */
class FakeOutput extends SilentOutput {
  readonly done: string[] = [];
  override pause(): void {
    this.done.push("pause");
  }
  override resume(): void {
    this.done.push("resume");
  }
  override unlock(): void {
    this.done.push("unlock");
  }
  override async useDevice(deviceId = ""): Promise<void> {
    if (deviceId === "unknown") throw new DOMException("no such device", "NotFoundError");
    this.done.push(`use ${deviceId}`);
  }
  override async close(): Promise<void> {
    this.done.push("close");
  }
}

interface Seen {
  readonly types: readonly string[];
  readonly ready: boolean;
}

const SEEN: Projection<Seen> = {
  empty: { types: [], ready: false },
  fold: ({ types, ready }, { type }: ServerEvent | LocalSignal) => ({
    types: [...types, type],
    ready: ready || type === "agent_ready",
  }),
  phase: ({ ready }) => (ready ? "ready" : "waiting"),
  rewind: (earlier) => earlier,
  isHuman: () => false,
};

const FORMAT = { type: "audio/pcm", rate: 16_000 } as const;
const SETTINGS = { input_audio_format: FORMAT, output_audio_format: FORMAT };
const created = event("server_session_created", { seq: 1, resume_token: "t1", resume_within_ms: 30_000 });
const ready = event("agent_ready", { seq: 2 });
const resumed = (fields: object): ServerEvent =>
  event("server_session_resumed", { token: "t2", last_seq: 2, gap: false, from_store: false, rewound_to_seq: null, ...fields });

function opened(silent = false, devices?: Partial<DeviceChoice>): { call: CallController<Seen>; output: FakeOutput } {
  const client = CallSocket.connect("ws://server/ws/u/s", SETTINGS, () => 0.5);
  const output = new FakeOutput();
  const call = new CallController({
    client,
    output,
    voices: undefined,
    captureUrl: "",
    projection: SEEN,
    silent,
    ...(devices && { devices }),
  });
  FakeSocket.last.open();
  return { call, output };
}

function typed(): unknown[] {
  return FakeSocket.last.events.filter(({ type }) => type === "client_text_append").map(({ text }) => text);
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("text that is typed too early is sent as soon as the other side is ready", () => {
  const { call } = opened();
  call.sendText("Hello");
  FakeSocket.last.say(created);
  expect(typed()).toEqual([]);
  FakeSocket.last.say(ready);
  call.sendText("Bye");
  expect(typed()).toEqual(["Hello", "Bye"]);
  expect(call.state.types).toEqual(["server_session_created", "agent_ready", "text_sent", "text_sent"]);
});

test("the voice waits while the line is lost, and goes on with the next one", () => {
  const { call, output } = opened();
  FakeSocket.last.say(created);
  FakeSocket.last.lose();
  expect(output.done).toEqual(["pause"]);
  vi.advanceTimersByTime(0);
  FakeSocket.last.open();
  FakeSocket.last.say(resumed({}));
  FakeSocket.last.say(event("server_audio_received", { offset: 0 }));
  expect(call.state.types.slice(1)).toEqual(["line_lost", "server_session_resumed", "line_back", "server_audio_received"]);
  expect(output.done).toEqual(["pause", "resume"]);
});

test("a silent call sounds after the click that wakes it", () => {
  const { call, output } = opened(true);
  FakeSocket.last.say(created);
  expect(call.needsClick).toBe(true);
  call.wake();
  call.wake();
  expect(call.needsClick).toBe(false);
  expect(output.done).toEqual(["unlock", "resume"]);
});

test("a server that was killed takes back what it had not stored", () => {
  const { call } = opened();
  for (const said of [created, ready, event("agent_input_started", { seq: 3 })]) FakeSocket.last.say(said);
  FakeSocket.last.lose();
  vi.advanceTimersByTime(0);
  FakeSocket.last.open();
  FakeSocket.last.say(resumed({ rewound_to_seq: 2, from_store: true }));
  expect(call.state.types).toEqual(["server_session_created", "agent_ready", "server_session_resumed"]);
});

test("a call that could not be made closes with the error that says so", () => {
  const { call, output } = opened();
  const closings: boolean[] = [];
  call.on("closed", ({ expected }) => closings.push(expected));
  FakeSocket.last.say(event("agent_error", { seq: 1 }));
  expect(FakeSocket.last.closedWith?.[0]).toBe(1000);
  FakeSocket.last.lose(1000);
  expect(closings).toEqual([true]);
  expect(call.state.types.at(-1)).toBe("closed");
  expect(output.done).toEqual(["close"]);
});

test("a microphone that is asked for after the end is not opened", async () => {
  const { call } = opened();
  FakeSocket.last.say(event("agent_error", { seq: 1 }));
  FakeSocket.last.lose(1000);
  await call.startMicrophone();
  expect(call.hasMicrophone).toBe(false);
});

test.each([
  [true, [{ audio: { cancels_echo: true } }]],
  [false, [{ audio: { cancels_echo: false } }]],
  [null, []],
])("the server is told whether the browser cancels echoes: %s", async (cancelsEcho, reports) => {
  const microphone = { cancelsEcho, on: () => undefined, close: () => Promise.resolve() } as unknown as MicrophoneCapture;
  const create = vi.spyOn(MicrophoneCapture, "create").mockResolvedValue(microphone);
  const { call } = opened();
  FakeSocket.last.say(event("agent_ready", { seq: 1 }));
  const send = vi.spyOn(call.client, "send");
  await call.startMicrophone();
  expect(create.mock.calls[0]?.[0].cancelEcho).toBe(true);
  expect(send.mock.calls.map(([sent]) => (sent as { config?: unknown }).config)).toEqual(reports);
  expect(call.cancelsEcho).toBe(cancelsEcho);
  create.mockRestore();
});

/** A microphone that hears nothing and notes which device it is to use. */
function silentMicrophone(): { microphone: MicrophoneCapture; used: string[] } {
  const used: string[] = [];
  const useDevice = (deviceId: string): Promise<void> => {
    used.push(deviceId);
    return Promise.resolve();
  };
  const microphone = { cancelsEcho: null, useDevice, on: () => undefined, close: () => Promise.resolve() };
  return { microphone: microphone as unknown as MicrophoneCapture, used };
}

test("a microphone that was chosen before the call is the one that is opened", async () => {
  const create = vi.spyOn(MicrophoneCapture, "create").mockResolvedValue(silentMicrophone().microphone);
  const { call } = opened(false, { microphoneId: "headset" });
  FakeSocket.last.say(event("agent_ready", { seq: 1 }));
  await call.startMicrophone();
  expect(create.mock.calls[0]?.[0].deviceId).toBe("headset");
  create.mockRestore();
});

test("a microphone that is chosen during the call is used at once", async () => {
  const { microphone, used } = silentMicrophone();
  const create = vi.spyOn(MicrophoneCapture, "create").mockResolvedValue(microphone);
  const { call } = opened();
  FakeSocket.last.say(event("agent_ready", { seq: 1 }));
  await call.startMicrophone();
  await call.useMicrophone("headset");
  expect(used).toEqual(["headset"]);
  create.mockRestore();
});

test("a microphone that is chosen while the browser still asks the user is used in the end", async () => {
  const { microphone, used } = silentMicrophone();
  let allow: (microphone: MicrophoneCapture) => void = () => undefined;
  const create = vi.spyOn(MicrophoneCapture, "create").mockReturnValue(new Promise((resolve) => (allow = resolve)));
  const { call } = opened();
  FakeSocket.last.say(event("agent_ready", { seq: 1 }));
  const started = call.startMicrophone();
  await vi.waitFor(() => expect(create).toHaveBeenCalled());
  await call.useMicrophone("headset");
  allow(microphone);
  await started;
  expect([create.mock.calls[0]?.[0].deviceId, used]).toEqual(["", ["headset"]]);
  create.mockRestore();
});

test("the call sounds on the chosen loudspeaker, as loud as chosen", async () => {
  const { call, output } = opened(false, { speakerId: "headset", volume: 0.4 });
  await vi.waitFor(() => expect(call.speakerId).toBe("headset"));
  expect([output.done, call.volume]).toEqual([["use headset"], 0.4]);
  call.volume = 0.8;
  expect(output.volume).toBe(0.8);
});

test("a loudspeaker that is not there changes nothing", async () => {
  const { call } = opened(false, { speakerId: "unknown" });
  await expect(call.useSpeaker("unknown")).rejects.toThrow("no such device");
  expect(call.speakerId).toBe("");
});

test("when the chosen loudspeaker is unplugged, the call goes on with the system's choice", async () => {
  const media = new FakeMediaDevices([{ kind: "audiooutput", deviceId: "headset", label: "Headset" }]);
  vi.stubGlobal("navigator", { mediaDevices: media });
  vi.stubGlobal("AudioContext", class { setSinkId(): void {} });
  const { call } = opened(false, { speakerId: "headset" });
  await vi.waitFor(() => expect(call.speakerId).toBe("headset"));
  media.change([]);
  await vi.waitFor(() => expect(call.speakerId).toBe(""));
});
