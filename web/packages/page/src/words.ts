/** Sentences for users: what went wrong and what to do, which model speaks. Pure, but for the language of the texts. */

import type { Closing, MicrophoneProblem } from "@realtime-voice/client";
import { asRecord, asText, asTexts } from "./json.ts";
import { type Key, isKey, presentLanguage, say } from "./texts.ts";

/** What happened, and what the reader can do about it. */
export interface Notice {
  readonly what: string;
  readonly todo: string;
}

type Named<Suffix extends string> = Key extends infer Each ? (Each extends `${infer Name}.${Suffix}` ? Name : never) : never;
type NoticeName = Named<"what"> & Named<"todo">;

/** A notice that is read in the language of that moment. */
function notice(name: NoticeName): Notice {
  return {
    get what() {
      return say(`${name}.what`);
    },
    get todo() {
      return say(`${name}.todo`);
    },
  };
}

export function microphoneNotice(problem: MicrophoneProblem): Notice {
  return notice(`mic.${problem}`);
}

export const MICROPHONE_LOST = notice("mic.lost");
export const ECHO_STAYS = notice("echo");
export const NO_VOICE = notice("noVoice");
export const SOUND_BLOCKED = notice("blocked");
export const NO_CAMERA = notice("camera");
export const NO_PICTURE = notice("picture");
export const NO_DEVICE = notice("device");
export const LINE_LOST = notice("line.lost");
export const MODEL_LOST = notice("line.model");
export const RECORDED = notice("recorded");
export const BACK_AFTER_RELOAD = notice("back");
export const OTHER_TAB = notice("tabs");
export const OTHER_VERSION = notice("version");
export const REFUSED = notice("token");

/** The state line during try number `attempt` to reconnect. */
export function reconnectingWords(attempt: number): string {
  return attempt < 2
    ? say("state.reconnecting.first")
    : say("state.reconnecting.again", { attempt }).replace(/ (?=\d)/, "\u00a0");
}

const REFUSED_CODE = 1008;

/** The meaning of the server's close codes; 1003 reads as 1002. */
function codeWords(code: number): string {
  const name = `code.${code === 1003 ? 1002 : code}`;
  return isKey(name) ? say(name) : "";
}

/** The notice for the end of a connection; null for a wanted end. `reachable`: the server answers over HTTP. */
export function closeNotice(closing: Closing, reachable: boolean): Notice | null {
  const { code, reason, wasOpen, expected, instead } = closing;
  if (expected) return null;
  if (instead === "elsewhere") return notice("close.elsewhere");
  if (instead) return { what: say(`close.${instead}.what`), todo: say("close.shown") };
  if (!wasOpen) return notice(reachable ? "close.noCall" : "close.away");
  const said = reason === "" ? "" : say("close.said", { reason });
  const join = (...parts: string[]): string => parts.filter(Boolean).join(" ");
  if (code === REFUSED_CODE && said !== "") return { what: join(codeWords(code), said), todo: say("close.refusedPage.todo") };
  return {
    what: join(say("close.gone.what", { code }), codeWords(code), said),
    todo: say(reachable ? "close.again" : "close.gone.start"),
  };
}

/** What to do, by the reason that the server gives for an end. */
const END_TODO = {
  idle: "close.again",
  call_limit: "close.again",
  shutdown: "ended.start",
  server_stopped: "ended.start",
  agent_ended: "close.again",
  agent_failed: "ended.agent_failed.todo",
} as const;

function isEnd(reason: string): reason is keyof typeof END_TODO {
  return reason in END_TODO;
}

/** The notice for a `server_goodbye` or `server_session_ended`; null for a wanted end. */
export function endNotice(reason: string): Notice | null {
  if (reason === "client_end") return null;
  if (isEnd(reason)) return { what: say(`ended.${reason}`), todo: say(END_TODO[reason]) };
  return { what: say("ended.other", { reason }), todo: say("close.again") };
}

/** The model as `GET api/info` and `agent_ready` describe it. */
export interface ModelInfo {
  readonly provider: string;
  readonly model: string;
  readonly voice: string | null;
  readonly voices: readonly string[];
  readonly languages: readonly string[];
  /** What it takes: "text", "audio", "image". */
  readonly takes: readonly string[];
  /** What its agent offers to say first. */
  readonly suggestions: readonly string[];
}

/** Reads the server's description of its model; missing and odd fields become empty. */
export function readModelInfo(value: unknown): ModelInfo | null {
  if (typeof value !== "object" || value === null) return null;
  const { provider, model, voice, voices, languages, input_modalities, suggestions } = asRecord(value);
  return {
    provider: asText(provider),
    model: asText(model),
    voice: asText(voice) || null,
    voices: asTexts(voices),
    languages: asTexts(languages),
    takes: asTexts(input_modalities),
    suggestions: asTexts(suggestions),
  };
}

const PROVIDERS: Record<string, string> = { openai: "OpenAI", gemini: "Gemini", dashscope: "DashScope" };

/** One line about the model, e.g. "The embedded model speaks, voice heart. It understands English only." */
export function modelWords(info: ModelInfo): string {
  const embedded = info.provider === "local";
  const maker = embedded ? say("model.embedded") : (PROVIDERS[info.provider] ?? (info.provider || say("model.some")));
  const who = info.model && info.model !== info.provider ? `${maker} ${info.model}` : maker;
  const speaks = info.voice ? say("model.speaksAs", { who, voice: info.voice }) : say("model.speaks", { who });
  const only = onlyLanguages(info);
  return only.length > 0 && only.length <= 3 ? `${speaks} ${say("model.only", { languages: named(only) })}` : speaks;
}

/** The languages that the model understands, as BCP 47 tags; empty: many or unknown. */
export function onlyLanguages({ provider, languages }: ModelInfo): readonly string[] {
  return languages.length > 0 || provider !== "local" ? languages : ["en"];
}

function named(codes: readonly string[]): string {
  const names = new Intl.DisplayNames([presentLanguage()], { type: "language" });
  return new Intl.ListFormat(presentLanguage()).format(codes.map((code) => names.of(code) ?? code));
}

/** The length of a call in words, e.g. "2 minutes, 14 seconds". */
export function lengthWords(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  const parts = [
    [Math.floor(seconds / 3600), "hour"],
    [Math.floor(seconds / 60) % 60, "minute"],
    [seconds % 60, "second"],
  ] as const;
  const words = parts
    .filter(([count]) => count > 0)
    .map(([value, unit]) => new Intl.NumberFormat(presentLanguage(), { style: "unit", unit, unitDisplay: "long" }).format(value));
  return new Intl.ListFormat(presentLanguage(), { type: "unit" }).format(words);
}
