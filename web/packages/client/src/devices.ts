/** The microphones and loudspeakers that the browser knows. */

/** A microphone or a loudspeaker. */
export interface AudioDevice {
  /** What the `use` of `Microphone` and `Speaker` takes; "" names the system's own choice. */
  readonly id: string;
  /** The name to show; "" until the user has allowed the microphone. */
  readonly label: string;
}

/** The devices that a page may offer. */
export interface AudioDevices {
  /** Empty before the user allows the microphone, in some browsers. */
  readonly microphones: readonly AudioDevice[];
  /** Empty where the browser lets no page choose (see `canChooseSpeaker`). */
  readonly speakers: readonly AudioDevice[];
}

/** A device that was chosen cannot be used; the call goes on with the one before. */
export class DeviceError extends Error {
  constructor(kind: "microphone" | "loudspeaker", deviceId: string, cause: unknown) {
    super(`The chosen ${kind} (${JSON.stringify(deviceId)}) cannot be used: the call goes on with the one before.`, { cause });
    this.name = "DeviceError";
  }
}

/** The names by which browsers list the system's choice beside the device itself. */
const SYSTEM_CHOICES: readonly string[] = ["", "default", "communications"];

/** The id by which `listDevices` knows a device of the browser: "" for all names of the system's choice. */
export function listedId(deviceId: string): string {
  return SYSTEM_CHOICES.includes(deviceId) ? "" : deviceId;
}

/** Whether a page may choose the loudspeaker: Chromium lets it, Safari and Firefox do not for this kind of output. */
export function canChooseSpeaker(): boolean {
  return typeof AudioContext !== "undefined" && "setSinkId" in AudioContext.prototype;
}

/**
 * Returns the devices that are there now, without asking the user for anything. Before the user has allowed the
 * microphone, browsers tell neither ids nor names, so both lists may be empty: list them again once the microphone runs.
 */
export async function listDevices(): Promise<AudioDevices> {
  const all = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
  const named = (kind: MediaDeviceKind): AudioDevice[] =>
    all
      .filter((device) => device.kind === kind && !SYSTEM_CHOICES.includes(device.deviceId))
      .map(({ deviceId: id, label }) => ({ id, label }));
  return { microphones: named("audioinput"), speakers: canChooseSpeaker() ? named("audiooutput") : [] };
}

/** Calls `changed` with the devices whenever one comes or goes, until the returned function is called. */
export function watchDevices(changed: (devices: AudioDevices) => void): () => void {
  const over = new AbortController();
  const tell = (): void => {
    // A browser that refuses the list has nothing to tell.
    void listDevices().then((devices) => over.signal.aborted || changed(devices), () => undefined);
  };
  navigator.mediaDevices?.addEventListener("devicechange", tell, { signal: over.signal });
  return () => over.abort();
}
