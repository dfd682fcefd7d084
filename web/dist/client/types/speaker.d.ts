/** The agent's voice, as a page sees it: volume, device, level. */
import { Emitter } from "./emitter.js";
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
export declare class Speaker extends Emitter<SpeakerControlEvents> {
    #private;
    /** How loud the agent is, from 0 (silent) to 1 (as it came). */
    get volume(): number;
    set volume(volume: number);
    /** The id of the device in use, else of the chosen one; "": the system's choice. See `listDevices`. */
    get deviceId(): string;
    /** Whether the browser keeps the page silent until the user touches it. */
    get isBlocked(): boolean;
    /**
     * Uses another device, from now on; "": the system's choice. Rejects with DeviceError where there is no such
     * device; the call then keeps the one that it has. Where the browser lets no page choose (`canChooseSpeaker`), nothing changes.
     */
    use(deviceId: string): Promise<void>;
}
