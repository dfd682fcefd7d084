/** The page: buttons, captions, meters and words around one call at a time. */

import "./style.css";
import { CallController, type Closing, MicrophoneError, type SpeakerCounters, meterLevel } from "@realtime-voice/client";
import { CALL, type Call, stateOf } from "./call.ts";
import { type Bubble, NO_CAPTIONS, callIdOf, visibleBubbles } from "./captions.ts";
import { CallStorage, type KeptCall } from "./kept-call.ts";
import { InspectorLog } from "./inspector-log.ts";
import { fetchOffer, rememberModel, rememberedModel } from "./models.ts";
import { callUrl, fetchServerInfo } from "./server-info.ts";
import type { CallState } from "./state.ts";
import { CaptionsView } from "./view/captions-view.ts";
import { browserUserId } from "./user.ts";
import { byId, drawnOncePerFrame, setText } from "./view/elements.ts";
import { InspectorView } from "./view/inspector-view.ts";
import { ModelView } from "./view/model-view.ts";
import { NoticesView } from "./view/notices-view.ts";
import * as words from "./words.ts";

const MAX_LOGGED_EVENTS = 1000;
/** The page knows no accounts. */
const USER = browserUserId();
/** A user who opens the page as `?recording` consents to keeping the sound of the calls. */
const IS_RECORDED = new URL(document.baseURI).searchParams.has("recording");
const WORKLETS = { capture: "./worklets/capture.js", playback: "./worklets/playback.js" };

const stage = byId("stage", HTMLElement);
const talk = byId("talk", HTMLButtonElement);
const mute = byId("mute", HTMLButtonElement);
const interrupt = byId("interrupt", HTMLButtonElement);
const end = byId("end", HTMLButtonElement);
const voice = byId("voice", HTMLSelectElement);
const text = byId("text", HTMLInputElement);

const log = new InspectorLog(MAX_LOGGED_EVENTS);
const captions = new CaptionsView(byId("captions", HTMLElement), byId("empty", HTMLElement), (asking, confirmed) =>
  call?.answerTool(callIdOf(asking), asking.name, confirmed),
);
const inspector = new InspectorView(log);
const notices = new NoticesView(byId("notices", HTMLElement));
const models = new ModelView(
  byId("model-choice", HTMLLabelElement),
  byId("model-list", HTMLSelectElement),
  byId("hearing", HTMLElement),
  ({ name, info }) => {
    rememberModel(name);
    showModel(info, "");
  },
);

const storage = new CallStorage(() => window.sessionStorage, document.baseURI);

let call: Call | null = null;
/** What is kept of the call for a reload. */
let kept: KeptCall | null = null;
let opening: Promise<Call> | null = null;
/** The last typed text, until the conversation has it. */
let unsaid = "";

/** The present call, else a new one. */
async function ensureCall(): Promise<Call> {
  if (call && stateOf(call) !== "ended") return call;
  opening ??= openCall().finally(() => {
    opening = null;
  });
  return opening;
}

async function openCall(): Promise<Call> {
  for (const key of ["closed", "line", "microphone", "end", "agent", "model", "voice", "echo"]) notices.remove(key);
  inspector.clear();
  // A quick click still gets the chosen model, not the server's default.
  await shown;
  const chosen = models.chosen;
  const settings = {
    ...(voice.value === "" ? {} : { voice: voice.value }),
    ...(chosen ? { model_provider: chosen.name } : {}),
    ...(IS_RECORDED ? { recording: true } : {}),
  };
  if (IS_RECORDED) notices.show("recording", words.RECORDED, "hint");
  const sessionId = `page-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
  const url = callUrl(document.baseURI, USER, sessionId);
  return show(await CallController.open({ url, projection: CALL, worklets: WORKLETS, settings }), sessionId);
}

/** Resumes the call that this tab had before a reload. */
async function resume(left: KeptCall): Promise<Call> {
  kept = left;
  notices.show("line", words.BACK_AFTER_RELOAD, "hint");
  const url = callUrl(document.baseURI, USER, left.sessionId);
  const state = { ...CALL.empty, captions: left.captions ?? NO_CAPTIONS };
  const options = { url, projection: CALL, worklets: WORKLETS, resume: left, state, silent: true };
  return show(await CallController.open(options), left.sessionId);
}

function show(opened: Call, sessionId: string): Call {
  const startedAt = performance.now();
  const since = (): number => performance.now() - startedAt;
  call = opened;
  opened.client.on("state", (state) => {
    // Only in an open call: a server that is away cannot serve the voice's worklet either.
    if (state === "reconnecting") notices.show("line", words.LINE_LOST, "hint");
    else if (opened.needsClick) notices.show("line", words.BACK_AFTER_RELOAD, "hint");
    else notices.remove("line");
    if (state !== "open" || opened.hasVoice) return;
    notices.show("voice", window.isSecureContext ? words.NO_VOICE : words.microphoneNotice("insecure"));
  });
  opened.client.on("sent", (event) => log.addEvent("out", event, since()));
  opened.client.on("audio", ({ pcm, sampleOffset }) => log.addAudio("in", pcm.length, sampleOffset, since()));
  opened.client.on("event", (event) => {
    log.addEvent("in", event, since());
    if (event.type === "agent_ready") showModel(words.readModelInfo(event.model), event.agent_name);
    if (event.type === "agent_item_added" && event.item.role === "user") unsaid = "";
    if (event.type === "agent_error") notices.show("agent", { what: event.message, todo: "" });
    if (event.type === "server_goodbye" || event.type === "server_session_ended") {
      const notice = words.endNotice(event.reason);
      if (notice) notices.show("end", notice);
    }
    if (event.type === "agent_reconnecting") {
      notices.show("model", { what: "The link to the model was lost.", todo: "Trying to get it back…" }, "hint");
    }
    if (event.type === "agent_reconnected") notices.remove("model");
  });
  opened.on("change", draw);
  opened.on("level", ({ side, rms }) => showLevel(side, rms));
  opened.on("resumeToken", (resumeToken) => {
    kept = resumeToken && { sessionId, resumeToken, captions: null, lastPlayed: null };
    storage.save(kept);
  });
  opened.on("microphoneLost", () => notices.show("microphone", words.MICROPHONE_LOST));
  opened.on("closed", (closing) => void showClosing(closing));
  draw();
  return opened;
}

async function startTalking(): Promise<void> {
  notices.remove("microphone");
  const current = await ensureCall();
  wake(current);
  try {
    await current.startMicrophone();
    if (current.cancelsEcho === false) notices.show("echo", words.ECHO_STAYS, "hint");
  } catch (error) {
    const problem = error instanceof MicrophoneError ? error.problem : "failed";
    notices.show("microphone", words.microphoneNotice(problem));
  }
}

/** Call it in a click or key handler. */
function wake(current: Call): void {
  if (!current.needsClick) return;
  current.wake();
  if (stateOf(current) !== "reconnecting") notices.remove("line");
}

async function showClosing(closing: Closing): Promise<void> {
  for (const side of ["user", "agent"] as const) showLevel(side, 0);
  notices.remove("line");
  // The text was refused or lost: the user can send it again.
  text.value ||= unsaid;
  unsaid = "";
  if (closing.expected) return;
  const reachable = (await fetchServerInfo(document.baseURI)) !== null;
  const notice = words.closeNotice(closing, reachable);
  if (notice) notices.show("closed", notice);
}

function showModel(info: words.ModelInfo | null, agentName: string): void {
  if (agentName) setText(byId("agent-label", HTMLSpanElement), agentName);
  if (!info) return;
  setText(byId("model", HTMLParagraphElement), words.modelWords(info));
  const of = `${info.provider}:${info.model}`;
  if (voice.dataset["of"] === of) return;
  voice.dataset["of"] = of;
  const voices = info.voices.length < 2 ? [] : info.voices;
  byId("voice-choice", HTMLLabelElement).hidden = voices.length === 0;
  voice.replaceChildren(...voices.map((name) => new Option(name, name, name === info.voice, name === info.voice)));
}

function showLevel(side: "user" | "agent", rms: number): void {
  const level = meterLevel(rms);
  byId(`meter-${side}`, HTMLElement).style.transform = `scaleX(${level.toFixed(3)})`;
  // The ring around the button moves with the speaker.
  if ((stateNow() === "speaking") === (side === "agent")) {
    byId("ring", HTMLElement).style.transform = `scale(${(1 + level * 0.36).toFixed(3)})`;
  }
}

const draw = drawnOncePerFrame(() => {
  const state = stateNow();
  const running = state !== null && state !== "ended";
  const talking = running && call?.hasMicrophone === true;
  stage.dataset["state"] = state ?? "idle";
  stage.dataset["talking"] = String(talking);
  const line = byId("state", HTMLElement);
  // A user who talks hears whose turn it is: a screen reader would talk into the call.
  line.ariaLive = talking && state !== "reconnecting" ? "off" : "polite";
  setText(line, stateWords(state, talking));
  const start = call?.needsClick ? "Go on talking" : "Start talking";
  setText(byId("talk-label", HTMLElement), talking ? "End call" : start);
  mute.hidden = !talking;
  mute.setAttribute("aria-pressed", String(call?.muted ?? false));
  setText(mute, call?.muted ? "Unmute" : "Mute");
  interrupt.hidden = state !== "speaking";
  end.hidden = !running || talking;
  voice.disabled = running;
  models.disabled = running;
  captions.render(call?.state.captions ?? NO_CAPTIONS);
  inspector.render();
});

function stateNow(): CallState | null {
  return call && stateOf(call);
}

function stateWords(state: CallState | null, talking: boolean): string {
  if (state === null) return "Press to talk";
  if (state === "reconnecting") return words.reconnectingWords(call?.attempt ?? 1);
  if (call?.needsClick) return "Press to go on talking";
  if (state === "listening" && call?.muted) return "Muted";
  if (state === "listening" && !talking) return "Ready for your message";
  return words.STATE_WORDS[state];
}

talk.addEventListener("click", () => {
  if (call?.hasMicrophone && stateOf(call) !== "ended") call.end();
  else void startTalking();
});
mute.addEventListener("click", () => {
  if (call) call.muted = !call.muted;
});
interrupt.addEventListener("click", () => call?.interrupt());
end.addEventListener("click", () => call?.end());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && stateNow() === "speaking") call?.interrupt();
});
byId("typed", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = text.value.trim();
  if (typed === "") return;
  text.value = "";
  unsaid = typed;
  void ensureCall().then((current) => {
    wake(current);
    current.sendText(typed);
  });
});
window.addEventListener("online", () => call?.client.retryNow());
window.addEventListener("pagehide", () => {
  if (!call || !kept) return;
  storage.save({ ...kept, captions: call.state.captions, lastPlayed: call.client.lastPlayed });
});

async function showServer(): Promise<void> {
  if (!window.isSecureContext) notices.show("microphone", words.microphoneNotice("insecure"));
  const [info, offer] = await Promise.all([fetchServerInfo(document.baseURI), fetchOffer(document.baseURI)]);
  if (!info) {
    setText(byId("model", HTMLParagraphElement), "The server does not answer.");
    return;
  }
  if (info.refused) notices.show("closed", words.REFUSED);
  models.show(offer, rememberedModel());
  const model = models.chosen?.info ?? info.model;
  if (model) showModel(model, "");
  else setText(byId("model", HTMLParagraphElement), "");
  for (const [index, what] of info.notices.entries()) notices.show(`server-${index}`, { what, todo: "" }, "hint");
}

/** What tests read from the console. */
export interface Snapshot {
  state: string;
  bubbles: readonly Bubble[];
  /** Of the agent's voice; null before the first call. */
  playback: SpeakerCounters | null;
  /** How much of each item was played. */
  playedMs: Readonly<Record<string, number>>;
  /** Which samples of each item were played by this page: from the first to before the last. */
  playedRanges: Readonly<Record<string, readonly [number, number]>>;
  microphoneSamples: number;
  sent: { samples: number; droppedFrames: number; receivedOffset: number } | null;
  notices: string[];
  events: string[];
}

declare global {
  interface Window {
    realtime: { snapshot(): Snapshot };
  }
}

window.realtime = {
  snapshot: () => ({
    state: stateNow() ?? "idle",
    bubbles: visibleBubbles(call?.state.captions ?? NO_CAPTIONS),
    playback: call?.output.counters ?? null,
    playedMs: call?.output.played ?? {},
    playedRanges: call?.output.ranges ?? {},
    microphoneSamples: call?.microphoneSamples ?? 0,
    sent: call?.client.audioSent ?? null,
    notices: notices.texts,
    events: log.entries.map(({ type }) => type),
  }),
};

const shown = showServer();
const left = storage.load();
if (left) opening = resume(left).finally(() => (opening = null));
