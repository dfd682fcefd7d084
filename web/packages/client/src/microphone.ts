/** The user's microphone, as a page sees it: mute, device, level. */

import type { CallController } from "./call-controller.ts";
import { DeviceError } from "./devices.ts";
import { Emitter } from "./emitter.ts";
import { meterLevel } from "./pcm.ts";

/** The events of `Microphone`. */
export interface MicrophoneControlEvents {
  /** How loud the user is, for a meter: 0 to 1, about every 20 ms while the microphone is open. */
  level: number;
  /** `isOpen`, `muted` or `deviceId` is new. */
  change: undefined;
}

/**
 * The microphone of a `RealtimeClient`. A choice holds for this call and the next ones; one made before a call holds
 * from its beginning.
 */
export class Microphone extends Emitter<MicrophoneControlEvents> {
  #call: CallController<unknown> | null = null;
  #deviceId = "";
  #muted = false;

  /** Whether the call hears the user, unless muted. */
  get isOpen(): boolean {
    return this.#call?.hasMicrophone ?? false;
  }

  /** Whether the call gets silence instead of the user's voice. */
  get muted(): boolean {
    return this.#muted;
  }

  set muted(muted: boolean) {
    this.#muted = muted;
    if (this.#call) this.#call.muted = muted;
    this.emit("change", undefined);
  }

  /** The id of the device in use, else of the chosen one; "": the system's choice. See `listDevices`. */
  get deviceId(): string {
    return this.#call?.microphoneId ?? this.#deviceId;
  }

  /**
   * Uses another device, from now on and without a gap; "": the system's choice. Rejects with DeviceError where
   * that device cannot be used; the call then keeps the one that it has.
   */
  async use(deviceId: string): Promise<void> {
    try {
      await this.#call?.useMicrophone(deviceId);
    } catch (error) {
      throw new DeviceError("microphone", deviceId, error);
    }
    this.#deviceId = deviceId;
    this.emit("change", undefined);
  }

  /** @internal The chosen device. */
  get choice(): string {
    return this.#deviceId;
  }

  /** @internal */
  attach(call: CallController<unknown>): void {
    this.#call = call;
    call.on("level", ({ side, rms }) => side === "user" && this.emit("level", meterLevel(rms)));
  }

  /** @internal The microphone was opened or closed. */
  opened(): void {
    if (this.#muted && this.#call) this.#call.muted = true;
    this.emit("change", undefined);
  }
}
