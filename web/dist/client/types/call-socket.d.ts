/**
 * The protocol of one call, typed: events both ways, speech as binary frames, one state, the end with its cause.
 *
 * A lost socket does not end the call: the client resumes it on another one, sends again what may not have arrived, and
 * receives what it missed. It knows no microphone, speaker or page. Listeners added right after `connect()` miss nothing.
 */
import { Emitter } from "./emitter.js";
import { type AudioFrame } from "./frames.js";
import { type ClientEvent, type ServerEvent, type SessionConfig } from "./protocol.generated.js";
import { type Played } from "./replay-buffer.js";
export type ClientState = "connecting" | "open" | "reconnecting" | "closing" | "closed";
/** The right to resume a call. */
export interface ResumeToken {
    readonly token: string;
    /** How long the call waits for its client. */
    readonly withinMs: number;
}
/** The end of the connection; emitted once. */
export interface Closing {
    /** False where no socket ever opened: the server is away or refuses. */
    wasOpen: boolean;
    code: number;
    reason: string;
    /** The client asked for the end, or the server said goodbye first. */
    expected: boolean;
    /**
     * Why a call that could be resumed is over here. gave_up: no line opened in time; refused: the server does not resume
     * it; elsewhere: another page resumed it.
     */
    instead: "gave_up" | "refused" | "elsewhere" | null;
}
export interface ClientEvents {
    state: ClientState;
    event: ServerEvent;
    audio: AudioFrame;
    /** An event that was sent. */
    sent: ClientEvent;
    /** The type of a frame that is no known event. */
    unknown: string;
    /** The number of the try to reconnect that begins, from 1. */
    attempt: number;
    /** What the call can be resumed with; null: it cannot any more. */
    resumeToken: ResumeToken | null;
    closed: Closing;
}
/** What a call may ask for; see `SessionConfig`. */
export type CallSettings = Omit<SessionConfig, "input_audio_format" | "output_audio_format" | "audio_frames">;
export interface SessionSettings extends CallSettings {
    /** Rates in Hz. */
    input_audio_format: {
        type: "audio/pcm";
        rate: number;
    };
    output_audio_format: {
        type: "audio/pcm";
        rate: number;
    };
}
/** The address of a call's socket, or what gives it for each new socket: a short-lived token in it may have expired. */
export type Address = string | (() => Promise<string>);
export declare class CallSocket extends Emitter<ClientEvents> {
    #private;
    /** The latest position: a restarted server truncates the response there. */
    lastPlayed: Played | null;
    /** Opens a socket and then a session. Does not throw where the server is away: see `closed`. */
    static connect(url: Address, settings: SessionSettings, chance?: () => number): CallSocket;
    /** Resumes the call of an earlier page at the same `url`, with all events from the beginning. */
    static resume(url: Address, inputRateHz: number, resumeToken: ResumeToken, lastPlayed: Played | null, chance?: () => number): CallSocket;
    private constructor();
    get state(): ClientState;
    /** What the call can be resumed with now; null: nothing. */
    get resumeToken(): ResumeToken | null;
    /** A position that the next frame of speech reports. */
    get played(): Played | null;
    set played(played: Played | null);
    /** Samples of the client's audio stream so far, frames dropped by a slow socket, and samples that the server has. */
    get audioSent(): {
        samples: number;
        droppedFrames: number;
        receivedOffset: number;
    };
    /** Sends an event, on a lost line as soon as there is another; does nothing once the call closes. */
    send(event: ClientEvent): void;
    /** Sends the next samples of the client's audio stream. Takes over `pcm`. */
    sendAudio(pcm: Int16Array<ArrayBuffer>): void;
    /** Ends the call and closes the socket. */
    close(): void;
    /**
     * Tries to reconnect at once; call it when the browser is online again. Gives up an open line that is silent, since a
     * line of the network before does not report its end.
     */
    retryNow(): void;
}
