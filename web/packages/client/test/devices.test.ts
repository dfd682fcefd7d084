import { afterEach, expect, test, vi } from "vitest";
import { type AudioDevices, DeviceError, canChooseSpeaker, listDevices, listedId, watchDevices } from "../src/devices.ts";
import { Microphone } from "../src/microphone.ts";
import { Speaker } from "../src/speaker.ts";
import { FakeMediaDevices } from "./fake-media-devices.ts";

const HEADSET = { kind: "audioinput", deviceId: "in-1", label: "Headset" } as const;
const EARS = { kind: "audiooutput", deviceId: "out-1", label: "Headset" } as const;

function stub(devices: readonly Partial<MediaDeviceInfo>[], chooses = true): FakeMediaDevices {
  const media = new FakeMediaDevices(devices);
  vi.stubGlobal("navigator", { mediaDevices: media });
  vi.stubGlobal("AudioContext", chooses ? class { setSinkId(): void {} } : class {});
  return media;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

test("microphones and loudspeakers are listed apart, without cameras and the system's choices", async () => {
  stub([HEADSET, EARS, { kind: "audioinput", deviceId: "default" }, { kind: "videoinput", deviceId: "cam" }]);
  expect(await listDevices()).toEqual({
    microphones: [{ id: "in-1", label: "Headset" }],
    speakers: [{ id: "out-1", label: "Headset" }],
  });
});

test("a device in use has the id that the list has: the system's choice is always nameless", () => {
  expect(["default", "communications", "", "in-1"].map(listedId)).toEqual(["", "", "", "in-1"]);
});

test.each([
  ["microphone", new Microphone()],
  ["loudspeaker", new Speaker()],
] as const)("a %s that cannot be used is named, and the call goes on with the one before", async (kind, control) => {
  const cause = new DOMException("raw words of the browser", "NotFoundError");
  const refuse = (): Promise<void> => Promise.reject(cause);
  const call = { microphoneId: "before", speakerId: "before", useMicrophone: refuse, useSpeaker: refuse, on: () => undefined };
  control.attach(call as never);
  const error: unknown = await control.use("nonsense").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DeviceError);
  expect(error).toMatchObject({ message: `The chosen ${kind} ("nonsense") cannot be used: the call goes on with the one before.`, cause });
  expect([control.deviceId, control.choice]).toEqual(["before", ""]);
});

test("before the user allows the microphone, browsers tell no ids, and none are listed", async () => {
  stub([{ kind: "audioinput", deviceId: "", label: "" }]);
  expect((await listDevices()).microphones).toEqual([]);
});

test("where a page may not choose the loudspeaker, none is offered", async () => {
  stub([HEADSET, EARS], false);
  expect([canChooseSpeaker(), (await listDevices()).speakers]).toEqual([false, []]);
});

test("a page without access to devices has none", async () => {
  vi.stubGlobal("navigator", {});
  expect(await listDevices()).toEqual({ microphones: [], speakers: [] });
});

test("a device that comes is told until the watch ends", async () => {
  const media = stub([]);
  const told: AudioDevices[] = [];
  const stop = watchDevices((devices) => told.push(devices));
  media.change([HEADSET]);
  await vi.waitFor(() => expect(told).toEqual([{ microphones: [{ id: "in-1", label: "Headset" }], speakers: [] }]));
  stop();
  media.change([]);
  await listDevices();
  expect(told).toHaveLength(1);
});
