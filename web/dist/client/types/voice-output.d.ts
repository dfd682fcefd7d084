/** Connects the socket's audio to the speaker, and the speaker's positions to the socket. */
import type { CallSocket } from "./call-socket.js";
import { Emitter } from "./emitter.js";
import type { AudioFormat } from "./protocol.generated.js";
import { SpeakerOutput, type SpeakerCounters, type SpeakerEvents } from "./speaker-output.js";
export declare const OUTPUT_RATE_HZ = 24000;
/** What a call needs of a speaker. */
export type VoiceOutput = Pick<SpeakerOutput, "on" | "play" | "skip" | "end" | "flush" | "setGain" | "volume" | "useDevice" | "pause" | "resume" | "unlock" | "close" | "counters" | "played" | "ranges">;
/**
 * Plays nothing, where the browser has no audio worklets: the words are captions, so everything counts as played when it
 * comes. Otherwise the server would keep it as unplayed audio, and close at its limit.
 */
export declare class SilentOutput extends Emitter<SpeakerEvents> implements VoiceOutput {
    #private;
    readonly counters: SpeakerCounters | null;
    readonly ranges: {};
    volume: number;
    get played(): Record<string, number>;
    play(itemId: string, pcm: Int16Array, rateHz: number): void;
    skip(itemId: string, samples: number, rateHz: number): void;
    setGain(): void;
    useDevice(): Promise<void>;
    pause(): void;
    resume(): void;
    unlock(): void;
    end(itemId: string): void;
    flush(itemId: string | null): void;
    close(): Promise<void>;
}
/** Opens a speaker; a silent output where the browser has none. Call it in a click or key handler. */
export declare function openOutput(workletUrl: string): Promise<VoiceOutput>;
/**
 * Plays the agents' speech and acknowledges what was played, until the returned function is called.
 *
 * While the user's speech is sent, it carries the acknowledgements; the end of an item is an event. Items that
 * `isElsewhere` names when they are announced are neither played nor acknowledged here.
 */
export declare function attachVoice(client: Pick<CallSocket, "on" | "send" | "audioSent" | "played" | "lastPlayed">, output: VoiceOutput, isElsewhere?: (itemId: string) => boolean): () => void;
/** The rate of a format in Hz; that of agents' speech where it has none. */
export declare function rateOf(format: AudioFormat): number;
