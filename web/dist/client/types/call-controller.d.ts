/** One call, or one place in a room: socket, speaker, microphone, and the state that a page shows. No DOM. */
import { type Address, type CallSettings, CallSocket, type Closing, type ResumeToken } from "./call-socket.js";
import type { PlanEdit } from "./deeds.js";
import { Emitter } from "./emitter.js";
import type { LiveVoices, VoicesOutput } from "./live-voices.js";
import type { PermissionRule, ServerEvent } from "./protocol.generated.js";
import type { Played } from "./replay-buffer.js";
import { type VoiceOutput } from "./voice-output.js";
export declare const INPUT_RATE_HZ = 16000;
/** What happens on this side, without an event of the server. */
export type LocalSignal = {
    readonly type: "voice_waiting" | "voice_started";
    readonly itemId: string;
} | {
    readonly type: "text_sent" | "voice_idle" | "line_lost" | "line_back" | "closed";
};
/** What a page shows of a call: a pure fold of its events. */
export interface Projection<State> {
    readonly empty: State;
    fold(state: State, event: ServerEvent | LocalSignal): State;
    /** The microphone and typed text wait while it is "waiting"; "over" opens no microphone any more. */
    phase(state: State): "waiting" | "ready" | "over";
    /** The `earlier` state, with what only this side knows as it is `now`. */
    rewind(earlier: State, now: State): State;
    /** Whether a participant is a human, whose voice is played live. */
    isHuman(state: State, participantId: string): boolean;
}
export interface CallControllerEvents {
    /** Something that a page shows is new. */
    change: undefined;
    /** Loudness (RMS, 0..1) of the microphone or of the agents' voice. */
    level: {
        side: "user" | "agent";
        rms: number;
    };
    microphoneLost: undefined;
    /** Whether the browser keeps the page silent until the user touches it. */
    blocked: boolean;
    /** What a reloaded page can resume the call with; null: nothing any more. */
    resumeToken: ResumeToken | null;
    closed: Closing;
}
/** Addresses of the worklets. */
export interface Worklets {
    capture: string;
    playback: string;
}
export interface CallOptions<State> {
    url: Address;
    projection: Projection<State>;
    worklets: Worklets;
    /** Opens the output for the live voices of other humans (`openVoices`); without it they are played in turn. */
    openVoices?: () => Promise<LiveVoices>;
    /** Of a new call. */
    settings?: CallSettings;
    /** Resumes the call of an earlier page. */
    resume?: {
        resumeToken: ResumeToken;
        lastPlayed: Played | null;
    } | null;
    /** What is shown first. */
    state?: State;
    /** Keeps the call silent until `wake`: a page that was reloaded may not sound before a click. */
    silent?: boolean;
    /** The devices and the volume of the call; default: the system's choices, full volume. */
    devices?: Partial<DeviceChoice>;
    /** The user's turns lie between `press` and `release`; default: voice detection decides. */
    pushToTalk?: boolean;
}
/** What an answer to a tool that asks may change. */
export interface AnswerChanges {
    /** The arguments with which it shall run, as JSON; default: those that it asked with. */
    readonly input?: string;
    /** Suggested rules that the user accepts: no question more where they hold. */
    readonly rules?: readonly PermissionRule[];
}
/** An id of `listDevices`, or "" for the system's choice, which also stands in for a device that is away. */
export interface DeviceChoice {
    microphoneId: string;
    speakerId: string;
    /** From 0 to 1. */
    volume: number;
}
/** The parts of a call that tests replace. */
export interface CallParts<State> extends Pick<CallOptions<State>, "projection" | "state" | "silent" | "devices" | "pushToTalk"> {
    client: CallSocket;
    output: VoiceOutput;
    voices: LiveVoices | undefined;
    captureUrl: string;
    cancelEcho?: boolean;
}
export declare class CallController<State> extends Emitter<CallControllerEvents> {
    #private;
    readonly client: CallSocket;
    readonly output: VoiceOutput;
    /** Undefined in a call that plays no live voices. */
    readonly voices: VoicesOutput | undefined;
    /** Opens outputs and socket. Call it in a click or key handler, else the browser may keep the call silent. */
    static open<State>(options: CallOptions<State>): Promise<CallController<State>>;
    constructor({ client, output, voices, captureUrl, cancelEcho, projection, state, silent, devices, pushToTalk }: CallParts<State>);
    get state(): State;
    /** The number of the last try to reconnect, from 1. */
    get attempt(): number;
    /** The call goes on, but the browser wants a click before it may sound. */
    get needsClick(): boolean;
    /** Lets the call sound. Call it in a click or key handler. */
    wake(): void;
    get hasVoice(): boolean;
    get hasMicrophone(): boolean;
    /** Samples that the microphone gave, at 16 kHz. */
    get microphoneSamples(): number;
    /** Whether the browser removes the agent's voice from the microphone; null without one, or where it does not say. */
    get cancelsEcho(): boolean | null;
    get muted(): boolean;
    set muted(muted: boolean);
    /** How loud agents and other humans are, from 0 (silent) to 1 (as they came). */
    get volume(): number;
    set volume(volume: number);
    /** The id of the microphone in use, else of the one to be used; "": the system's choice. */
    get microphoneId(): string;
    /** The id of the loudspeaker in use; "": the system's choice. */
    get speakerId(): string;
    /**
     * Uses another microphone, at once or from its next start; "": the system's choice. Throws MicrophoneError, and then
     * goes on with the one that it has.
     */
    useMicrophone(deviceId: string): Promise<void>;
    /** Uses another loudspeaker; "": the system's choice. Throws DOMException for one that is not there. */
    useSpeaker(deviceId: string): Promise<void>;
    /** Resolves with the first phase that is not "waiting". */
    get settled(): Promise<void>;
    /**
     * Asks for the microphone in the phase "ready", and sends what it hears: no user is asked for a call that is not made,
     * and no first word is lost. Throws MicrophoneError.
     */
    startMicrophone(): Promise<void>;
    /** Whether the user's turn goes on, in push-to-talk. */
    get pressed(): boolean;
    /** Begins the user's turn, in push-to-talk. Stops the agent. */
    press(): void;
    /** Ends the user's turn shortly after, so that its last sound is in it. A turn too short for a word is discarded. */
    release(): void;
    /** Sends a typed turn, as soon as the other side is ready. */
    sendText(text: string): void;
    /** Shows the model a picture: its bytes in base64, and its type, such as "image/jpeg". */
    sendPicture(base64: string, type: string): void;
    /** Answers a tool that asks the user. */
    answerTool(id: string, name: string, confirmed: boolean, { input, rules }?: AnswerChanges): void;
    /** Changes a plan of the agents. */
    editPlan(planId: string, edit: PlanEdit): void;
    /** Asks the agents to stop speaking. */
    interrupt(): void;
    end(): void;
}
