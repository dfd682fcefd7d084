/** The agent's voice, as a page sees it: volume, device, level. */

import type { CallController } from "./call-controller.ts";
import { DeviceError } from "./devices.ts";
import { Emitter } from "./emitter.ts";
import { meterLevel } from "./pcm.ts";

/** The events of `Speaker`. */
export interface SpeakerControlEvents {
  /** How loud the agent is, for a meter: 0 to 1, about every 100 ms while it speaks. */
  level: number;
  /** `volume`, `deviceId` or `isBlocked` is new. */
  change: undefined;
}

/**
 * The loudspeaker of a `RealtimeClient`. A choice holds for this call and the next ones; one made before a call holds
 * from its beginning.
 */
export class Speaker extends Emitter<SpeakerControlEvents> {
  #call: CallController<unknown> | null = null;
  #deviceId = "";
  #volume = 1;
  #blocked = false;

  /** How loud the agent is, from 0 (silent) to 1 (as it came). */
  get volume(): number {
    return this.#volume;
  }

  set volume(volume: number) {
    this.#volume = Math.min(1, Math.max(0, volume));
    if (this.#call) this.#call.volume = this.#volume;
    this.emit("change", undefined);
  }

  /** The id of the device in use, else of the chosen one; "": the system's choice. See `listDevices`. */
  get deviceId(): string {
    return this.#call?.speakerId ?? this.#deviceId;
  }

  /** Whether the browser keeps the page silent until the user touches it. */
  get isBlocked(): boolean {
    return this.#blocked;
  }

  /**
   * Uses another device, from now on; "": the system's choice. Rejects with DeviceError where there is no such
   * device; the call then keeps the one that it has. Where the browser lets no page choose (`canChooseSpeaker`), nothing changes.
   */
  async use(deviceId: string): Promise<void> {
    try {
      await this.#call?.useSpeaker(deviceId);
    } catch (error) {
      throw new DeviceError("loudspeaker", deviceId, error);
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
    this.#blocked = false;
    call.on("level", ({ side, rms }) => side === "agent" && this.emit("level", meterLevel(rms)));
    call.on("blocked", (blocked) => {
      this.#blocked = blocked;
      this.emit("change", undefined);
    });
  }
}
