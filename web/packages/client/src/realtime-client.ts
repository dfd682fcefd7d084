/** A voice call with an agent: everything that a page needs, with defaults for all of it. */

import { type CallState, INITIAL_ACTIVITY, type Activity, callState, foldActivity } from "./activity.ts";
import { type AnswerChanges, CallController, type Projection } from "./call-controller.ts";
import {
  CallError,
  askServer,
  cannotBegin,
  microphoneLost,
  microphoneProblem,
  noSound,
  noToken,
  otherVersion,
  picturesUnwanted,
  problemOf,
  soundBlocked,
} from "./call-error.ts";
import type { CallSettings, Closing } from "./call-socket.ts";
import { type DeedEvents, type Plan, type PlanEdit, readDeed } from "./deeds.ts";
import { Emitter } from "./emitter.ts";
import { holdToTalk } from "./hold-to-talk.ts";
import { type Conversation, EMPTY, type Message, Messages, foldConversation } from "./messages.ts";
import { Microphone } from "./microphone.ts";
import { type Picture, jpegOf } from "./picture.ts";
import type { ServerEvent } from "./protocol.generated.ts";
import { addressOf, asFolder, defaultServer, socketAddress } from "./server-address.ts";
import { Speaker } from "./speaker.ts";
import { keepTabCall, tabCall } from "./tab-call.ts";
import { type Tool, type ToolFunction, type ToolRegistration, Tools } from "./tools.ts";
import { inlinedWorklets, workletsBelow } from "./worklet-addresses.ts";

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

interface Shown {
  readonly conversation: Conversation;
  readonly activity: Activity;
}

const SHOWN: Projection<Shown> = {
  empty: { conversation: EMPTY, activity: INITIAL_ACTIVITY },
  fold: ({ conversation, activity }, event) => ({
    conversation: foldConversation(conversation, event),
    activity: foldActivity(activity, event),
  }),
  phase: ({ activity: { ended, ready, away } }) => (ended ? "over" : ready && !away ? "ready" : "waiting"),
  rewind: ({ conversation, activity }, { activity: { away, playing, voiceWaits } }) => ({
    conversation,
    activity: { ...activity, away, playing, voiceWaits },
  }),
  isHuman: () => false,
};

type Call = CallController<Shown>;

/** After a reload, what the call has told so far comes within this time. */
const TOLD_AGAIN_MS = 1_000;

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
export class RealtimeClient extends Emitter<RealtimeEvents> {
  /** Mute, device and level of the user's microphone. */
  readonly microphone = new Microphone();
  /** Volume, device and level of the agent's voice. */
  readonly speaker = new Speaker();
  /** What was said. */
  readonly messages = new Messages();
  readonly #options: RealtimeOptions;
  readonly #server: string;
  readonly #tools = new Tools();
  #call: Call | null = null;
  #opening: Promise<Call> | null = null;
  /** Counts the calls of `stop`: one that comes while a call opens ends that call. */
  #stops = 0;
  #state: RealtimeState = "idle";
  #wantsMicrophone = false;
  #agent: AgentInfo | null = null;
  #callId: string | null = null;
  #shownToken = "";
  #tokenFault: unknown = null;
  #permissionsKey: string | null = null;
  /** An error was told that explains the end of the call. */
  #explained = false;

  /** Makes a client; it sends nothing and asks for nothing before `start`. Throws TypeError for a wrong `server`. */
  constructor(options: RealtimeOptions = {}) {
    super();
    this.#options = options;
    this.#server = asFolder(options.server ?? defaultServer(import.meta.url));
  }

  /** What the call is doing: idle, connecting, listening, hearing, thinking, speaking, reconnecting or ended. */
  get state(): RealtimeState {
    return this.#state;
  }

  /** Whether there is a call now. */
  get isActive(): boolean {
    return this.#state !== "idle" && this.#state !== "ended";
  }

  /** The agent of the present or last call; null before it is there. */
  get agent(): AgentInfo | null {
    return this.#agent;
  }

  /** The server's name of the call, for its API and its records; null before the call exists. */
  get callId(): string | null {
    return this.#callId;
  }

  /** The user's turn goes on, in push-to-talk. */
  get isPressed(): boolean {
    return this.#call?.pressed ?? false;
  }

  /** Whether the last page of this tab left a call with which `start` goes on. */
  get canResume(): boolean {
    return this.#call === null && this.#left() !== null;
  }

  /**
   * Calls the agent, or goes on with the call that a reload interrupted, and opens the microphone unless told not to.
   * Call it in a click or key handler, else browsers keep the page silent. Resolves when the agent listens, or when there
   * is no call; never rejects: what goes wrong is an `error` event.
   */
  async start({ microphone = true }: { microphone?: boolean } = {}): Promise<void> {
    const call = await this.#ensureCall();
    this.#wantsMicrophone = microphone;
    if (!microphone) return call.settled;
    try {
      await call.startMicrophone();
    } catch (error) {
      this.#fail(microphoneProblem(error));
    }
  }

  /** Ends the call. */
  stop(): void {
    keepTabCall(null);
    this.#stops += 1;
    this.#opening = null;
    if (!this.isActive) return;
    this.#call?.end();
    this.#follow("ended");
  }

  /** Says something in writing. Without a call, it makes one that needs no microphone. */
  async sendText(text: string): Promise<void> {
    (await this.#ensureCall()).sendText(text);
  }

  /**
   * Shows the model a picture, scaled down to 1024 pixels a side; what is asked next may be about it. Rejects with
   * CallError for what is no picture, and where the model takes none (`agent.takesPictures`).
   */
  async sendPicture(picture: Picture): Promise<void> {
    const jpeg = await jpegOf(picture);
    const call = await this.#ensureCall();
    await call.settled;
    if (this.#agent?.takesPictures === false) throw picturesUnwanted(this.#agent.name);
    call.sendPicture(jpeg, "image/jpeg");
  }

  /** Stops the agent's voice and its answer. */
  interrupt(): void {
    this.#call?.interrupt();
  }

  /** Begins the user's turn, in push-to-talk. */
  press(): void {
    this.#call?.press();
  }

  /** Ends the user's turn, in push-to-talk. */
  release(): void {
    this.#call?.release();
  }

  /**
   * Makes a button, or the space bar anywhere on the page (the default), press and release in push-to-talk while there is
   * a microphone, until the returned function is called. On an element: mouse, finger, Space and Enter. A hold clicks
   * nothing; Space in a text field stays a space. Throws TypeError without `pushToTalk`.
   */
  holdToTalk(where: HTMLElement | Document = document): () => void {
    if (!this.#options.pushToTalk) throw new TypeError("holdToTalk needs a client made with pushToTalk: true.");
    return holdToTalk(where, {
      ready: () => this.isActive && this.microphone.isOpen,
      held: (held) => (held ? this.press() : this.release()),
    });
  }

  /**
   * Lets the agent use a tool that runs in this page, from the next call on. `name` is for the model, such as
   * "show_on_map": 1 to 64 letters (a to z), digits, _ and -, a letter or _ first. A bare function is a tool without
   * description and parameters; one object with `name` and `handler` is what Agentflow's client takes. Throws TypeError for
   * what is no name of a tool and for one without a function, Error where the name is taken.
   */
  registerTool<Input = Record<string, unknown>>(name: string, tool: Tool<Input> | ToolFunction<Input>): void;
  registerTool<Input = Record<string, unknown>>(tool: ToolRegistration<Input>): void;
  registerTool<Input>(given: string | ToolRegistration<Input>, tool?: Tool<Input> | ToolFunction<Input>): void {
    this.#tools.add(given, tool);
  }

  /**
   * Answers a tool of the server that asks (a message with the status "asking"). A consent may change the `input`, and
   * accept some of the message's `suggestedRules`: then the server asks no more where they hold.
   */
  allowTool(message: Pick<Message, "id" | "name">, allowed: boolean, changes: AnswerChanges = {}): void {
    this.#call?.answerTool(message.id, message.name, allowed, changes);
  }

  /**
   * Changes the agent's plan as the user does by hand; `plan` is the latest of `plan_updated`. Another `plan_updated`
   * follows, with the change in it, or an `error`, and then nothing has changed: the plan or the subtask is gone, or a rule
   * of plans forbids it. Without a call it does nothing.
   */
  editPlan(plan: Pick<Plan, "id">, edit: PlanEdit): void {
    this.#call?.editPlan(plan.id, edit);
  }

  // -- one call -------------------------------------------------------------------------------------------------------

  async #ensureCall(): Promise<Call> {
    if (this.#call && this.isActive) return this.#call;
    if (this.#opening) return this.#opening;
    const opening = this.#open().finally(() => {
      if (this.#opening === opening) this.#opening = null;
    });
    this.#opening = opening;
    return opening;
  }

  async #open(): Promise<Call> {
    const { settings, pushToTalk = false, worklets } = this.#options;
    const permissions = settings?.permissions;
    const key = this.#permissionsKey ?? permissions?.key ?? "";
    const stops = this.#stops;
    this.#explained = false;
    this.#agent = this.#callId = null;
    this.messages.replace([]);
    this.#follow("connecting");
    const left = this.#left();
    const user = left?.user ?? this.#options.user ?? `guest-${randomName()}`;
    const session = left?.session ?? this.#options.session ?? `call-${randomName()}`;
    const tools = this.#tools.declarations;
    const call = await CallController.open({
      url: () => this.#address(user, session),
      projection: SHOWN,
      worklets: worklets === undefined ? inlinedWorklets() : workletsBelow(worklets),
      settings: { ...settings, ...(permissions?.keep && { permissions: { ...permissions, key } }), ...(tools.length > 0 && { tools }) },
      devices: { microphoneId: this.microphone.choice, speakerId: this.speaker.choice, volume: this.speaker.volume },
      pushToTalk,
      resume: left,
    });
    if (stops !== this.#stops) {
      call.end();
      return call;
    }
    this.#call = call;
    this.#opening = null;
    this.microphone.attach(call);
    this.speaker.attach(call);
    this.#listen(call, user, session, left !== null);
    this.microphone.opened();
    if (!call.hasVoice) this.#fail(noSound());
    return call;
  }

  #listen(call: Call, user: string, session: string, isResumed: boolean): void {
    const leave = (): void => {
      if (this.#call !== call || this.#options.resume === false) return;
      const { resumeToken } = call.client;
      const leftAt = Date.now();
      keepTabCall(resumeToken && { server: this.#server, user, session, resumeToken, lastPlayed: call.client.lastPlayed, leftAt });
    };
    const retry = (): void => call.client.retryNow();
    addEventListener("pagehide", leave);
    addEventListener("online", retry);
    let hadMicrophone = false;
    const stops = this.#stops;
    const answered = new Set<string>();
    call.client.on("event", (event) => {
      this.#receive(event);
      if (event.type === "agent_response_tool_result") answered.add(event.tool_result.id);
      if (event.type !== "agent_response_tool_use_done" || !this.#tools.has(event.tool_use.name)) return;
      const { tool_use: toolUse } = event;
      // It waits for consent, after which it is told again, or a rule denies it.
      if (toolUse.state === "asking" || toolUse.state === "finished") return;
      const run = async (): Promise<void> => {
        if (!answered.has(toolUse.id)) call.client.send(await this.#tools.run(toolUse));
      };
      // After a reload everything is told again: what has a result does not run again.
      setTimeout(() => void run(), isResumed ? TOLD_AGAIN_MS : 0);
    });
    call.client.on("unknown", () => {
      // The first thing that a server of our protocol says is known.
      if (this.#callId !== null || this.#explained) return;
      call.end();
      this.#explain(otherVersion());
    });
    call.on("change", () => {
      if (!this.#isCurrent(call)) return;
      this.messages.replace(call.state.conversation.list);
      const state = callState(call.state.activity);
      // A call that was over before the reload is followed by a new one.
      const isFollowed = state === "ended" && isResumed && this.#callId === null;
      if (!isFollowed && !this.#explained && call.client.state !== "closing" && stops === this.#stops) this.#follow(state);
      if (call.hasMicrophone === hadMicrophone) return;
      hadMicrophone = call.hasMicrophone;
      this.microphone.opened();
    });
    call.on("blocked", (blocked) => blocked && this.#fail(soundBlocked()));
    call.on("microphoneLost", () => this.#fail(microphoneLost()));
    call.on("closed", (closing) => {
      removeEventListener("pagehide", leave);
      removeEventListener("online", retry);
      if (!this.#isCurrent(call)) return;
      keepTabCall(null);
      if (isResumed && !closing.wasOpen && closing.instead === "refused") return void this.#startAnew();
      this.#follow("ended");
      return void this.#close(closing);
    });
  }

  /** Whether no other call has followed, or is about to. */
  #isCurrent(call: Call): boolean {
    return this.#call === call && this.#opening === null;
  }

  #receive(event: ServerEvent): void {
    switch (event.type) {
      case "server_session_created":
      case "server_session_resumed":
        this.#callId = event.call_id;
        break;
      case "agent_ready":
        this.#agent = { name: event.agent_name, model: event.model, takesPictures: takesPictures(event.model) };
        this.emit("ready", this.#agent);
        break;
      case "agent_error":
        if (this.#callId === null) this.#explain(event.retryable ? new CallError("busy", event.message) : cannotBegin(event.message));
        else this.#fail(new CallError("agent", event.message));
        break;
      case "server_custom": {
        const deed = readDeed(event);
        if (deed?.name === "permissions_key") this.#permissionsKey = deed.value.key;
        if (deed) this.emit(deed.name, deed.value);
        break;
      }
      default:
        break;
    }
    this.emit("event", event);
  }

  /** The call of the page before the reload is over: the user gets a new one. */
  async #startAnew(): Promise<void> {
    this.#call = null;
    await this.start({ microphone: this.#wantsMicrophone });
  }

  async #close(closing: Closing): Promise<void> {
    const fault = this.#tokenFault === null ? null : noToken(this.#tokenFault);
    const info = addressOf(this.#server, "api/info", this.#shownToken);
    const problem = this.#explained ? null : (fault ?? (await problemOf(closing, this.#shownToken, () => askServer(info))));
    if (problem) this.#fail(problem);
    this.emit("ended", closing.expected && !this.#explained);
  }

  #left(): ReturnType<typeof tabCall> {
    return this.#options.resume === false ? null : tabCall(this.#server, Date.now());
  }

  async #address(user: string, session: string): Promise<string> {
    const { token = "" } = this.#options;
    try {
      const shown: unknown = typeof token === "string" ? token : await token();
      if (typeof shown !== "string") throw new TypeError(`the token function returned ${String(shown)}, not a string`);
      this.#shownToken = shown;
      this.#tokenFault = null;
      return socketAddress(this.#server, user, session, shown);
    } catch (error) {
      this.#tokenFault = error;
      throw error;
    }
  }

  /** Tells an error that ends the call. */
  #explain(error: CallError): void {
    this.#explained = true;
    this.#follow("ended");
    this.#fail(error);
  }

  #fail(error: CallError): void {
    if (error.detail !== "") console.warn(error.detail);
    if (!this.emit("error", error)) console.error(error);
  }

  #follow(state: RealtimeState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.emit("state", state);
  }
}

function takesPictures(model: AgentInfo["model"]): boolean | null {
  const modalities = model?.["input_modalities"];
  return Array.isArray(modalities) ? modalities.includes("image") : null;
}

/** 96 bits of chance: who knows the id of a call's user may read the call. */
function randomName(): string {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
