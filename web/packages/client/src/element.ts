/** `<realtime-voice>`: one button that talks, for pages that want no script of their own. */

import type { CallError } from "./call-error.ts";
import { STYLE } from "./element-style.ts";
import { holdToTalk } from "./hold-to-talk.ts";
import type { Message } from "./messages.ts";
import { RealtimeClient, type RealtimeOptions, type RealtimeState } from "./realtime-client.ts";

/** The words of the element; set `words` to change some of them. */
export interface VoiceWords extends Record<RealtimeState, string> {
  /** On the button, without a call. */
  start: string;
  /** On the button, during a call. */
  stop: string;
  /** On the button, during a call in push-to-talk. */
  hold: string;
  /** Before what the user said. */
  you: string;
}

const WORDS: VoiceWords = {
  start: "Talk",
  stop: "End",
  hold: "Hold to talk",
  you: "You",
  idle: "",
  connecting: "Connecting…",
  listening: "Listening",
  hearing: "Hearing you",
  thinking: "Thinking…",
  speaking: "Speaking",
  reconnecting: "Connection lost, trying again…",
  ended: "Call ended",
};

const WRONG_SETTINGS = "This page cannot call: its developer has to correct it, as the browser's console says.";

/** On a server there is no HTML: the class exists and does nothing. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/**
 * A button that talks. Attributes: `server` (address), `token` or `token-url` (an address of your own backend that
 * answers `{"token": "..."}` to a POST), `agent` (its name in the captions), `instructions`, `voice`, `push-to-talk`,
 * `captions`, `worklets` (folder). They are read once: at the first click, or at the first use of `client`. Parts for styling:
 * `button`, `dot`, `end` (only in push-to-talk), `state`, `error`, `captions`, `caption`.
 *
 * Events, which bubble: `voice-state` (detail: the state), `voice-messages` (detail: the messages), `voice-error` (detail:
 * a CallError), `voice-event` (detail: an event of the protocol).
 */
export class RealtimeVoice extends Base {
  #client: RealtimeClient | null = null;
  #words: VoiceWords = WORDS;
  #held = false;
  readonly #button: HTMLButtonElement;
  readonly #label: HTMLElement;
  readonly #dot: HTMLElement;
  readonly #end: HTMLButtonElement;
  readonly #state: HTMLElement;
  readonly #error: HTMLElement;
  readonly #captions: HTMLElement;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open", delegatesFocus: true });
    const style = new CSSStyleSheet();
    style.replaceSync(STYLE);
    root.adoptedStyleSheets = [style];
    this.#button = part("button", "button");
    this.#button.type = "button";
    this.#dot = part("span", "dot");
    this.#dot.ariaHidden = "true";
    this.#label = document.createElement("span");
    this.#button.append(this.#dot, this.#label);
    this.#end = part("button", "end");
    this.#end.type = "button";
    this.#end.addEventListener("click", () => this.#client?.stop());
    this.#state = part("p", "state");
    this.#state.role = "status";
    this.#error = part("p", "error");
    this.#error.role = "alert";
    this.#captions = part("ol", "captions");
    root.append(this.#button, this.#end, this.#state, this.#error, this.#captions);
    this.#button.addEventListener("click", () => this.#clicked());
    holdToTalk(this.#button, { ready: () => this.#isHolding, held: (held) => this.#hold(held) });
  }

  /** See custom elements. */
  connectedCallback(): void {
    this.#draw();
  }

  /** See custom elements. A call does not outlive its button, which may move, however. */
  disconnectedCallback(): void {
    queueMicrotask(() => this.isConnected || this.#client?.stop());
  }

  /** The client of the present or the next call: add tools to it, or listen to its events. */
  get client(): RealtimeClient {
    return (this.#client ??= this.#make());
  }

  /** The words that the element shows. */
  get words(): VoiceWords {
    return this.#words;
  }

  set words(words: Partial<VoiceWords>) {
    this.#words = { ...this.#words, ...words };
    this.#draw();
  }

  #make(): RealtimeClient {
    const client = new RealtimeClient(this.#options());
    client.on("state", (state) => {
      this.#draw();
      this.#tell("voice-state", state);
    });
    client.on("error", (error) => this.#fail(error));
    client.on("event", (event) => this.#tell("voice-event", event));
    client.messages.on("change", (messages) => {
      this.#drawCaptions(messages);
      this.#tell("voice-messages", messages);
    });
    const draw = (level: number): void => this.#dot.style.setProperty("--level", level.toFixed(2));
    client.microphone.on("level", (level) => client.state === "speaking" || draw(level));
    client.speaker.on("level", (level) => client.state === "speaking" && draw(level));
    client.microphone.on("change", () => this.#draw());
    return client;
  }

  #options(): RealtimeOptions {
    const server = this.getAttribute("server");
    const worklets = this.getAttribute("worklets");
    const settings = {
      agent_name: this.getAttribute("agent"),
      instructions: this.getAttribute("instructions"),
      voice: this.getAttribute("voice"),
    };
    return {
      ...(server !== null && { server }),
      ...(worklets !== null && { worklets }),
      token: () => this.#token(),
      pushToTalk: this.#isPushToTalk,
      settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null)),
    };
  }

  async #token(): Promise<string> {
    const address = this.getAttribute("token-url");
    if (address === null) return this.getAttribute("token") ?? "";
    const response = await fetch(address, { method: "POST" }).catch((cause: unknown) => {
      throw new Error(`${address} cannot be reached`, { cause });
    });
    if (!response.ok) throw new Error(`${address} answers ${response.status}`);
    const answer: unknown = await response.json().catch(() => null);
    const token = typeof answer === "object" && answer !== null && "token" in answer ? answer.token : null;
    if (typeof token !== "string") throw new Error(`${address} answers without {"token": "..."}`);
    return token;
  }

  get #isPushToTalk(): boolean {
    return this.hasAttribute("push-to-talk");
  }

  get #isHolding(): boolean {
    return this.#isPushToTalk && (this.#client?.microphone.isOpen ?? false);
  }

  #hold(held: boolean): void {
    if (held) this.#client?.press();
    else this.#client?.release();
    this.#held = held;
    this.#draw();
  }

  #clicked(): void {
    if (this.#isHolding) return;
    this.#error.textContent = "";
    if (this.#client?.isActive) return this.#client.stop();
    try {
      void this.client.start();
    } catch (error) {
      this.#error.textContent = WRONG_SETTINGS;
      throw error;
    }
  }

  #fail(error: CallError): void {
    this.#error.textContent = error.message;
    this.#tell("voice-error", error);
  }

  #draw(): void {
    const state = this.#client?.state ?? "idle";
    const active = this.#client?.isActive ?? false;
    const label = !active ? this.#words.start : this.#isHolding ? this.#words.hold : this.#words.stop;
    this.#label.textContent = label;
    this.#button.ariaPressed = String(this.#isHolding ? this.#held : active);
    this.#end.textContent = this.#words.stop;
    this.#end.hidden = !this.#isPushToTalk || !active;
    this.#state.textContent = this.#words[state];
    this.#state.dataset["state"] = state;
    // A user who talks hears whose turn it is: a screen reader would talk into the call.
    this.#state.ariaLive = this.#client?.microphone.isOpen ? "off" : "polite";
    if (!active) this.#dot.style.removeProperty("--level");
  }

  #drawCaptions(messages: readonly Message[]): void {
    if (!this.hasAttribute("captions")) return this.#captions.replaceChildren();
    const shown = messages.filter(({ from }) => from !== "tool");
    this.#captions.replaceChildren(...shown.map((message) => this.#caption(message)));
    this.#captions.scrollTop = this.#captions.scrollHeight;
  }

  #caption({ from, name, text, status }: Message): HTMLElement {
    const line = part("li", "caption");
    line.classList.toggle("cut", status === "cut");
    const who = document.createElement("span");
    who.className = "who";
    who.textContent = `${from === "user" ? this.#words.you : name}: `;
    line.append(who, text);
    return line;
  }

  #tell(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

function part<Name extends keyof HTMLElementTagNameMap>(tag: Name, name: string): HTMLElementTagNameMap[Name] {
  const element = document.createElement(tag);
  element.className = name;
  element.setAttribute("part", name);
  return element;
}

/** Defines `<realtime-voice>` where there are elements and nobody has defined it. */
export function defineRealtimeVoice(): void {
  const elements = globalThis.customElements as CustomElementRegistry | undefined;
  if (elements && !elements.get("realtime-voice")) elements.define("realtime-voice", RealtimeVoice);
}
