/** Sentences for users: what went wrong and what to do, which model speaks. Pure. */

import type { Closing, MicrophoneProblem } from "@realtime-voice/client";
import { asRecord, asText, asTexts } from "./json.ts";
import type { CallState } from "./state.ts";

/** What happened, and what the reader can do about it. */
export interface Notice {
  readonly what: string;
  readonly todo: string;
}

export const STATE_WORDS: Record<CallState, string> = {
  connecting: "Connecting",
  reconnecting: "Reconnecting",
  listening: "Listening",
  hearing: "Hearing you",
  thinking: "Thinking",
  speaking: "Speaking",
  ended: "Call ended",
};

const MICROPHONE: Record<MicrophoneProblem, Notice> = {
  insecure: {
    what: "This page is not in a secure context, so the browser gives it neither microphone nor voice.",
    todo:
      "Open it by https, or as http://localhost on the machine that serves it. " +
      "`realtime serve --tls self` makes a certificate. You can type; the answers come as text.",
  },
  refused: {
    what: "The microphone was refused.",
    todo: "Allow it with the symbol beside the page's address, then press the button again. You can also type.",
  },
  missing: {
    what: "No microphone was found.",
    todo: "Plug one in or choose one in the system's sound settings, then press the button again. You can also type.",
  },
  busy: {
    what: "The microphone is there, but another program holds it.",
    todo: "Close that program, then press the button again. You can also type.",
  },
  failed: {
    what: "The microphone could not be started.",
    todo: "Reload the page and try again. You can also type.",
  },
};

export function microphoneNotice(problem: MicrophoneProblem): Notice {
  return MICROPHONE[problem];
}

export const MICROPHONE_LOST: Notice = {
  what: "The microphone went away.",
  todo: "Plug it in again and press the button, or type.",
};

export const ECHO_STAYS: Notice = {
  what: "The browser leaves the agent's voice in the microphone.",
  todo: "With headphones the agent does not hear itself.",
};

export const NO_VOICE: Notice = {
  what: "The browser could not open the sound output, so the answers come as text only.",
  todo: "Check the system's sound output, then reload the page.",
};

/** The state line during try number `attempt` to reconnect. */
export function reconnectingWords(attempt: number): string {
  return attempt < 2 ? "Reconnecting…" : `Reconnecting… (try\u00a0${attempt})`;
}

const REFUSED_CODE = 1008;

/** The meaning of the server's close codes. */
const CLOSE_CODES: Record<number, string> = {
  1001: "The server is shutting down.",
  1002: "The server did not understand this page.",
  1003: "The server did not understand this page.",
  1006: "The connection broke off.",
  [REFUSED_CODE]: "The server refused this page.",
  1009: "A frame was too large for the server.",
  1011: "The server had an internal error.",
  1012: "The server restarts.",
  1013: "The server is busy.",
};

export const LINE_LOST: Notice = {
  what: "The connection is lost.",
  todo: "Trying to get it back. What you type meanwhile is sent then, and the last 10 seconds of what you say.",
};

export const RECORDED: Notice = {
  what: "You agreed to be recorded.",
  todo: "The sound of this call is kept, where the server keeps any.",
};

export const BACK_AFTER_RELOAD: Notice = {
  what: "You are back in your call.",
  todo: "Press the button to hear the agent and to be heard.",
};

/** Why a call that could be resumed was not. */
const INSTEAD: Record<NonNullable<Closing["instead"]>, Notice> = {
  gave_up: {
    what: "The connection did not come back in time, so the call is over.",
    todo: "What was said is still shown. Press the button for a new call.",
  },
  refused: {
    what: "The server does not know this call any more.",
    todo: "What was said is still shown. Press the button for a new call.",
  },
  elsewhere: { what: "The call went on elsewhere, in another tab or window.", todo: "Press the button for a new call here." },
};

/** The notice for the end of a connection; null for a wanted end. `reachable`: the server answers over HTTP. */
export function closeNotice(closing: Closing, reachable: boolean): Notice | null {
  const { code, reason, wasOpen, expected, instead } = closing;
  if (expected) return null;
  if (instead) return INSTEAD[instead];
  if (!wasOpen && !reachable) {
    return {
      what: "The server cannot be reached.",
      todo: "See whether it runs (`make serve` starts it) and whether this page's address is right, then try again.",
    };
  }
  if (!wasOpen) {
    return {
      what: "The server is there, but it refused the call.",
      todo: "Use the full address that it printed at its start, with its token. It may also be at its limit of calls.",
    };
  }
  const said = reason === "" ? "" : ` It said: ${reason}.`;
  if (code === REFUSED_CODE && said !== "") {
    return { what: `${CLOSE_CODES[code]}${said}`, todo: "Once that is put right, press the button to call again." };
  }
  return {
    what: `The connection to the server is gone (code ${code}). ${CLOSE_CODES[code] ?? ""}${said}`.trim(),
    todo: reachable ? "Press the button to call again." : "The server does not answer. Start it, then press the button.",
  };
}

const AGAIN = "Press the button to call again.";

/** Why the server ends a call, by the reason that it gives. */
const END_REASONS: Record<string, Notice | null> = {
  client_end: null,
  idle: { what: "The call ended because nobody spoke for a while.", todo: AGAIN },
  call_limit: { what: "The call reached its longest allowed time.", todo: AGAIN },
  shutdown: { what: "The server is about to stop.", todo: "Start it again, then press the button." },
  server_stopped: { what: "The server stopped.", todo: "Start it again, then press the button." },
  agent_ended: { what: "The agent left the call.", todo: AGAIN },
  agent_failed: { what: "The server could not make an agent for this call.", todo: "Its log says why." },
};

/** The notice for a `server_goodbye` or `server_session_ended`; null for a wanted end. */
export function endNotice(reason: string): Notice | null {
  const known = END_REASONS[reason];
  return known === undefined ? { what: `The server ended the call (${reason}).`, todo: AGAIN } : known;
}

export const REFUSED: Notice = {
  what: "The server asks for its token.",
  todo: "Open this page with ?token=… in its address. A server that made its token printed the whole address at its start.",
};

/** The model as `GET api/info` and `agent_ready` describe it. */
export interface ModelInfo {
  readonly provider: string;
  readonly model: string;
  readonly voice: string | null;
  readonly voices: readonly string[];
  readonly languages: readonly string[];
}

/** Reads the server's description of its model; missing and odd fields become empty. */
export function readModelInfo(value: unknown): ModelInfo | null {
  if (typeof value !== "object" || value === null) return null;
  const { provider, model, voice, voices, languages } = asRecord(value);
  return {
    provider: asText(provider),
    model: asText(model),
    voice: asText(voice) || null,
    voices: asTexts(voices),
    languages: asTexts(languages),
  };
}

const PROVIDERS: Record<string, string> = { openai: "OpenAI", gemini: "Gemini", dashscope: "DashScope" };

/** One line about the model, e.g. "Local model tiny, voice heart. It understands English only." */
export function modelWords(info: ModelInfo): string {
  const embedded = info.provider === "local";
  const who = embedded ? "The embedded model" : (PROVIDERS[info.provider] ?? (info.provider || "The model"));
  const name = info.model && info.model !== info.provider ? ` ${info.model}` : "";
  const voice = info.voice ? `, voice ${info.voice}` : "";
  const only = info.languages.length > 0 ? info.languages : embedded ? ["en"] : [];
  return `${who}${name} speaks${voice}.${only.length > 0 && only.length <= 3 ? ` It understands ${languages(only)} only.` : ""}`;
}

function languages(codes: readonly string[]): string {
  const names = new Intl.DisplayNames(["en"], { type: "language" });
  return new Intl.ListFormat("en").format(codes.map((code) => names.of(code) ?? code));
}
