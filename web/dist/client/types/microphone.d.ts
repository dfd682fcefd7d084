/** The user's microphone, as a page sees it: mute, device, level. */
import { Emitter } from "./emitter.js";
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
export declare class Microphone extends Emitter<MicrophoneControlEvents> {
    #private;
    /** Whether the call hears the user, unless muted. */
    get isOpen(): boolean;
    /** Whether the call gets silence instead of the user's voice. */
    get muted(): boolean;
    set muted(muted: boolean);
    /** The id of the device in use, else of the chosen one; "": the system's choice. See `listDevices`. */
    get deviceId(): string;
    /**
     * Uses another device, from now on and without a gap; "": the system's choice. Rejects with DeviceError where
     * that device cannot be used; the call then keeps the one that it has.
     */
    use(deviceId: string): Promise<void>;
}
