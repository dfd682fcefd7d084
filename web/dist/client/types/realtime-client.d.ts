/** A voice call with an agent: everything that a page needs, with defaults for all of it. */
import { type CallState } from "./activity.js";
import { type AnswerChanges } from "./call-controller.js";
import { CallError } from "./call-error.js";
import type { CallSettings } from "./call-socket.js";
import { type DeedEvents, type Plan, type PlanEdit } from "./deeds.js";
import { Emitter } from "./emitter.js";
import { type Message, Messages } from "./messages.js";
import { Microphone } from "./microphone.js";
import { type Picture } from "./picture.js";
import type { ServerEvent } from "./protocol.generated.js";
import { Speaker } from "./speaker.js";
import { type Tool, type ToolFunction, type ToolRegistration } from "./tools.js";
/** What a call is doing; "idle" before the first one. */
export type RealtimeState = "idle" | CallState;
/** The agent of a call. */
export interface AgentInfo {
    /** The name that the agent has in the conversation. */
    readonly name: string;
    /** The model and what it can, as the server describes it; null where it does not. */
    readonly model: Readonly<Record<string, unknown>> | null;
    /** Whether the model takes pictures; null where the server does not say. */
    readonly takesPictures: boolean | null;
}
/** What a `RealtimeClient` takes; everything has a default. */
export interface RealtimeOptions {
    /** Address of the server, such as "https://voice.example". Default: where this script came from, else the page's own. */
    server?: string;
    /**
     * What lets this page call, where the server wants it: a token, or a function that gets a short-lived one from your
     * own backend. The function is called for each connection. Never put the server's own token into a page.
     */
    token?: string | (() => string | Promise<string>);
    /** The user's id in the server's records. Default: a random one for each visit. A client token may name another. */
    user?: string;
    /**
     * A name of the call, which its records show. Where a client token names the user, what is kept of accepted rules
     * (`permissions: { keep: true }`) holds for the calls of one name; else it is a label. Default: a random one for each call.
     */
    session?: string;
    /**
     * Settings of the call, such as `instructions`, `voice`, `agent_name`. Default: the agent's own. With
     * `permissions: { keep: true, key }`, accepted rules hold in later calls that show the same key: the one that the event
     * `permissions_key` brought. The client shows it by itself in its own later calls.
     */
    settings?: CallSettings;
    /** The user's turns lie between `press()` and `release()`. Default: false, turns are found in the voice. */
    pushToTalk?: boolean;
    /** Whether a page that is reloaded goes on with its call at the next `start()`. Default: true. */
    resume?: boolean;
    /**
     * Address of the folder with the worklets, for pages whose Content-Security-Policy forbids `blob:` scripts. Default:
     * they are inlined.
     */
    worklets?: string;
}
/**
 * The events of a `RealtimeClient`. When an error ends a call, they come in this order: `state` ("ended"), `error`,
 * `ended`.
 */
export interface RealtimeEvents extends DeedEvents {
    /** What the call is doing now. */
    state: RealtimeState;
    /** The agent is there. */
    ready: AgentInfo;
    /**
     * Something went wrong; `message` is a sentence to show, `detail` is for developers. The detail goes to the console, and
     * without a listener all of it.
     */
    error: CallError;
    /** Every event of the protocol, for what the rest does not cover. */
    event: ServerEvent;
    /** The call is over: true if the page, the user or the agent wanted it, false after an error. */
    ended: boolean;
}
/**
 * Calls an agent and talks with it. One object serves any number of calls, one after the other.
 *
 * ```ts
 * const client = new RealtimeClient({ server: "https://voice.example" });
 * client.on("error", ({ message }) => alert(message));
 * client.messages.on("change", (messages) => show(messages));
 * button.onclick = () => (client.isActive ? client.stop() : client.start());
 * ```
 */
export declare class RealtimeClient extends Emitter<RealtimeEvents> {
    #private;
    /** Mute, device and level of the user's microphone. */
    readonly microphone: Microphone;
    /** Volume, device and level of the agent's voice. */
    readonly speaker: Speaker;
    /** What was said. */
    readonly messages: Messages;
    /** Makes a client; it sends nothing and asks for nothing before `start`. Throws TypeError for a wrong `server`. */
    constructor(options?: RealtimeOptions);
    /** What the call is doing: idle, connecting, listening, hearing, thinking, speaking, reconnecting or ended. */
    get state(): RealtimeState;
    /** Whether there is a call now. */
    get isActive(): boolean;
    /** The agent of the present or last call; null before it is there. */
    get agent(): AgentInfo | null;
    /** The server's name of the call, for its API and its records; null before the call exists. */
    get callId(): string | null;
    /** The user's turn goes on, in push-to-talk. */
    get isPressed(): boolean;
    /** Whether the last page of this tab left a call with which `start` goes on. */
    get canResume(): boolean;
    /**
     * Calls the agent, or goes on with the call that a reload interrupted, and opens the microphone unless told not to.
     * Call it in a click or key handler, else browsers keep the page silent. Resolves when the agent listens, or when there
     * is no call; never rejects: what goes wrong is an `error` event.
     */
    start({ microphone }?: {
        microphone?: boolean;
    }): Promise<void>;
    /** Ends the call. */
    stop(): void;
    /** Says something in writing. Without a call, it makes one that needs no microphone. */
    sendText(text: string): Promise<void>;
    /**
     * Shows the model a picture, scaled down to 1024 pixels a side; what is asked next may be about it. Rejects with
     * CallError for what is no picture, and where the model takes none (`agent.takesPictures`).
     */
    sendPicture(picture: Picture): Promise<void>;
    /** Stops the agent's voice and its answer. */
    interrupt(): void;
    /** Begins the user's turn, in push-to-talk. */
    press(): void;
    /** Ends the user's turn, in push-to-talk. */
    release(): void;
    /**
     * Makes a button, or the space bar anywhere on the page (the default), press and release in push-to-talk while there is
     * a microphone, until the returned function is called. On an element: mouse, finger, Space and Enter. A hold clicks
     * nothing; Space in a text field stays a space. Throws TypeError without `pushToTalk`.
     */
    holdToTalk(where?: HTMLElement | Document): () => void;
    /**
     * Lets the agent use a tool that runs in this page, from the next call on. `name` is for the model, such as
     * "show_on_map": 1 to 64 letters (a to z), digits, _ and -, a letter or _ first. A bare function is a tool without
     * description and parameters; one object with `name` and `handler` is what Agentflow's client takes. Throws TypeError for
     * what is no name of a tool and for one without a function, Error where the name is taken.
     */
    registerTool<Input = Record<string, unknown>>(name: string, tool: Tool<Input> | ToolFunction<Input>): void;
    registerTool<Input = Record<string, unknown>>(tool: ToolRegistration<Input>): void;
    /**
     * Answers a tool of the server that asks (a message with the status "asking"). A consent may change the `input`, and
     * accept some of the message's `suggestedRules`: then the server asks no more where they hold.
     */
    allowTool(message: Pick<Message, "id" | "name">, allowed: boolean, changes?: AnswerChanges): void;
    /**
     * Changes the agent's plan as the user does by hand; `plan` is the latest of `plan_updated`. Another `plan_updated`
     * follows, with the change in it, or an `error`, and then nothing has changed: the plan or the subtask is gone, or a rule
     * of plans forbids it. Without a call it does nothing.
     */
    editPlan(plan: Pick<Plan, "id">, edit: PlanEdit): void;
}
