/** The microphone as frames of pcm16 at the call's rate. */
import { Emitter } from "./emitter.js";
import type { CaptureFrame } from "./worklets/messages.js";
/**
 * Why there is no microphone. insecure: the page is not served over HTTPS; refused: by the user, the browser or the
 * policy of an embedding page; missing: there is no such device; busy: another program has it; failed: anything else.
 */
export type MicrophoneProblem = "insecure" | "refused" | "missing" | "busy" | "failed";
/** There is no microphone; `message` is a sentence to show to the user. */
export declare class MicrophoneError extends Error {
    /** Which problem it is, for programs. */
    readonly problem: MicrophoneProblem;
    constructor(problem: MicrophoneProblem, cause?: unknown);
}
export interface MicrophoneOptions {
    /** Address of the capture worklet. */
    workletUrl: string;
    rateHz: number;
    /** Whether the browser is asked to remove the agent's voice; default true. */
    cancelEcho?: boolean;
    /** An id of `listDevices`; default "", the system's choice, which also stands in for a device that is away. */
    deviceId?: string;
}
export interface MicrophoneEvents {
    frame: CaptureFrame;
    /** The device was removed while in use. */
    lost: undefined;
}
export declare class MicrophoneCapture extends Emitter<MicrophoneEvents> {
    #private;
    /** Asks for the microphone. Throws MicrophoneError and releases everything then. */
    static create({ workletUrl, rateHz, cancelEcho, deviceId }: MicrophoneOptions): Promise<MicrophoneCapture>;
    private constructor();
    /** The id of the device in use; "": the system's choice. */
    get deviceId(): string;
    /**
     * Listens to another device from now on, without a gap in the stream of frames; "": the system's choice. Throws
     * MicrophoneError, and then goes on with the device that it has. The last of several wishes counts.
     */
    useDevice(deviceId: string): Promise<void>;
    /** Whether the browser really removes the agent's voice; null where it does not say. */
    get cancelsEcho(): boolean | null;
    get muted(): boolean;
    /** Mutes at the source: the browser sends silence, and the clock of the stream goes on. */
    set muted(muted: boolean);
    close(): Promise<void>;
}
