/**
 * The live voices of other humans, all at once, each with a small jitter buffer. They are neither acknowledged nor
 * flushed: a human is not cut off.
 */
import type { CallSocket } from "./call-socket.js";
import { Emitter } from "./emitter.js";
import type { ServerEventOf } from "./protocol.generated.js";
import type { LaneCounters } from "./jitter-lane.js";
export interface VoicesEvents {
    /** Loudness of a participant's voice (RMS, 0..1). */
    level: {
        who: string;
        rms: number;
    };
}
/** Where live voices are played. */
export interface VoicesOutput extends Emitter<VoicesEvents> {
    /** Takes over `pcm`. */
    play(who: string, pcm: Int16Array<ArrayBuffer>, rateHz: number): void;
    /** Forgets a participant who left. */
    remove(who: string): void;
    /** How loud the voices are, from 0 (silent) to 1 (as they came). */
    volume: number;
    /** Plays on another loudspeaker from now on; "": the system's choice. Throws DOMException for an unknown one. */
    useDevice(deviceId: string): Promise<void>;
    /** Lets the voices sound. Call it in a click or key handler. */
    unlock(): void;
    close(): Promise<void>;
    /** By participant. */
    readonly counters: Readonly<Record<string, LaneCounters>>;
}
/** Whether a participant left for good: not away, and not renamed (who joins again at once). */
export declare function isGone({ reason }: ServerEventOf<"server_room_left">): boolean;
/** Live voices for a call of `CallController`. */
export interface LiveVoices {
    readonly output: VoicesOutput;
    /** See `attachVoices`. */
    readonly attach: typeof attachVoices;
}
/** Opens an output for live voices; a silent one where the browser has none. Call it in a click or key handler. */
export declare function openVoices(workletUrl: string): Promise<LiveVoices>;
/**
 * Plays the speech of humans until `detach` is called. `isLive` names the items that are live voices, which no other
 * output may play.
 */
export declare function attachVoices(client: Pick<CallSocket, "on">, output: VoicesOutput, isHuman: (participantId: string) => boolean): {
    isLive: (itemId: string) => boolean;
    detach: () => void;
};
