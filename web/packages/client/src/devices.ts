/** The microphones and loudspeakers that the browser knows. */

export interface AudioDevice {
  /** What `useMicrophone` and `useSpeaker` take; "" names the system's own choice. */
  readonly id: string;
  /** The name to show; "" until the user has allowed the microphone. */
  readonly label: string;
}

export interface AudioDevices {
  readonly microphones: readonly AudioDevice[];
  /** Empty where the browser lets no page choose (see `canChooseSpeaker`). */
  readonly speakers: readonly AudioDevice[];
}

/** The names by which browsers list the system's choice beside the device itself. */
const SYSTEM_CHOICES: readonly string[] = ["", "default", "communications"];

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
