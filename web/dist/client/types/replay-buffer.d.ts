/**
 * What the client sent, in order and with its place in the stream of speech: kept for as long as another socket may have
 * to repeat it. Pure.
 */
import type { ClientEvent } from "./protocol.generated.js";
/** How much of an item was played. */
export interface Played {
    readonly itemId: string;
    readonly playedMs: number;
}
export interface Speech {
    readonly kind: "speech";
    /** Samples of the client's stream before this frame. */
    readonly offset: number;
    readonly pcm: Int16Array<ArrayBuffer>;
    /** The position of playback at its recording, where that was new. */
    readonly played: Played | null;
    /** Whether it was written to a socket; it may not have arrived. */
    sent: boolean;
}
export interface Control {
    readonly kind: "control";
    /** Samples of the client's stream before this event. */
    readonly place: number;
    readonly event: ClientEvent;
    sent: boolean;
}
export type Outgoing = Speech | Control;
export declare class ReplayBuffer {
    #private;
    /** Keeps the last `keepSamples` of speech and the last `keepEvents` events that may not have arrived. */
    constructor(keepSamples: number, keepEvents: number);
    /** Samples of the stream so far: the offset of the next frame. */
    get nextOffset(): number;
    /** The offset up to which the server has received everything. */
    get receivedOffset(): number;
    /** Appends `pcm` to the stream and forgets older speech than the limit. */
    speech(pcm: Int16Array<ArrayBuffer>, played: Played | null): Speech;
    /** Appends an event. Of several positions of one item in a row it keeps the last. */
    event(event: ClientEvent): Control;
    /**
     * Notes that the server has all speech before `offset`, and so the events before that. They are kept as long as speech
     * is: a killed server has not stored everything that it received.
     */
    acknowledge(offset: number): void;
    /** Continues at the server's offset, after a reload of the page. */
    continueAt(offset: number): void;
    /**
     * What to send on a new socket, in order: the speech from sample `received` on, and all events that may not have
     * arrived, of which the server takes each once. `received` null: repeats no speech.
     */
    after(received: number | null): Outgoing[];
}
