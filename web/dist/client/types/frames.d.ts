/**
 * Binary audio frames of the subprotocol `realtime.v1`: a 16-byte little-endian header, then pcm16 mono.
 *
 *     0 kind u8 | 1 flags u8 | 2 stream u16 | 4 item index u32 | 8 sample offset u64
 *
 * In a client's frame with `FLAG_PLAYED`, the played part of the item stands between the two: 16 played ms u32.
 */
export declare const HEADER_BYTES = 16;
export declare const KIND_CLIENT_AUDIO = 1;
export declare const KIND_AGENT_AUDIO = 2;
/** Of agent audio. */
export declare const FLAG_LAST = 1;
/** Of client audio. */
export declare const FLAG_PLAYED = 1;
export interface AudioFrame {
    kind: number;
    flags: number;
    /** 0 for the client; the agent's number for agent audio. */
    stream: number;
    /** From `server_audio_item`: of agent audio, or of the item that plays. 0 for other client audio. */
    itemIndex: number;
    /** Samples before this frame: since the call began (client) or since the item began (agent). */
    sampleOffset: number;
    /** How much of the item was played; in client audio with `FLAG_PLAYED` only. */
    playedMs?: number;
    pcm: Int16Array<ArrayBuffer>;
}
/** The bytes of one frame. Throws RangeError for an offset that is not a whole number from 0 to 2^53 - 1. */
export declare function encodeAudioFrame(frame: AudioFrame): ArrayBuffer;
/** The frame in `bytes`, its pcm a view; null for a short frame, an unknown kind or half a sample. */
export declare function decodeAudioFrame(bytes: ArrayBuffer): AudioFrame | null;
