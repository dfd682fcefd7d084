/** The page: buttons, captions, voices and words around one call at a time. */

import { CallController, type CallState, type Closing, MicrophoneError, type SpeakerCounters, listDevices, readDeed, watchDevices } from "@realtime-voice/client";
import { BackgroundTools } from "./background-tools.ts";
import { type Call, CALL, stateOf } from "./call.ts";
import { CallLinkFinder } from "./call-links.ts";
import { removeCallNotices, tellAbout } from "./call-notices.ts";
import { type Bubble, NO_CAPTIONS, callIdOf, visibleBubbles } from "./captions.ts";
import { HeardWords } from "./heard.ts";
import { InspectorLog } from "./inspector-log.ts";
import { CallStorage, type KeptCall } from "./kept-call.ts";
import { fetchOffer, hearingOf, rememberModel, rememberedModel } from "./models.ts";
import { type Preferences, changeOf, hasConsent, keepConsent, loadPreferences, savePreferences, settingsOf, wasAsked } from "./preferences.ts";
import { type ServerInfo, callUrl, fetchServerInfo } from "./server-info.ts";
import { listenToKeys } from "./shortcuts.ts";
import { Tabs } from "./tabs.ts";
import { LANGUAGES, type Language, languageToBeginWith, presentLanguage, rememberLanguage, say, useLanguage, writeTexts } from "./texts.ts";
import { SESSION_ID, browserUserId, keepPermissionsKey, permissionsKey } from "./user.ts";
import { BackgroundView } from "./view/background-view.ts";
import { CaptionsView } from "./view/captions-view.ts";
import { byId, drawnOncePerFrame, setText } from "./view/elements.ts";
import { EndView } from "./view/end-view.ts";
import { HeardView } from "./view/heard-view.ts";
import { InspectorView } from "./view/inspector-view.ts";
import { ModelView } from "./view/model-view.ts";
import { NoticesView } from "./view/notices-view.ts";
import { PermissionsView } from "./view/permissions-view.ts";
import { PicturesView } from "./view/pictures-view.ts";
import { PlanView } from "./view/plan-view.ts";
import { type Holds, SettingsView, closeOnBackdrop } from "./view/settings-view.ts";
import { StartView } from "./view/start-view.ts";
import { VoiceView } from "./view/voice-view.ts";
import { WaitsView } from "./view/waits-view.ts";
import * as words from "./words.ts";

const MAX_LOGGED_EVENTS = 1000;
/** The page knows no accounts. */
const USER = browserUserId();
const PROTOCOL = "realtime.v1";
const WORKLETS = { capture: "./worklets/capture.js", playback: "./worklets/playback.js" };
const kept = { visit: () => window.sessionStorage, always: () => window.localStorage };

const stage = byId("stage", HTMLElement);
const talk = byId("talk", HTMLButtonElement);
const hold = byId("hold", HTMLButtonElement);
const mute = byId("mute", HTMLButtonElement);
const interrupt = byId("interrupt", HTMLButtonElement);
const end = byId("end", HTMLButtonElement);
const voice = byId("voice", HTMLSelectElement);
const text = byId("text", HTMLInputElement);
const help = byId("help", HTMLDialogElement);

const log = new InspectorLog(MAX_LOGGED_EVENTS);
const captionsBox = byId("captions", HTMLElement);
const captions = new CaptionsView(captionsBox, byId("empty", HTMLElement), (asking, { confirmed, ...changes }) =>
  call?.answerTool(callIdOf(asking), asking.name, confirmed, changes),
);
const heardView = new HeardView(captionsBox);
const inspector = new InspectorView(log);
const waits = new WaitsView(byId("waits", HTMLDetailsElement));
const notices = new NoticesView(byId("notices", HTMLElement));
const voices = new VoiceView(byId("voices", HTMLCanvasElement), {
  user: byId("meter-user", HTMLElement),
  agent: byId("meter-agent", HTMLElement),
});
const models = new ModelView(
  byId("model-choice", HTMLLabelElement),
  byId("model-list", HTMLSelectElement),
  byId("hearing", HTMLElement),
  ({ name, info }) => {
    rememberModel(name);
    showModel(info, "");
  },
);
const ended = new EndView(() => void startTalking());
const start = new StartView((sentence) => sayTyped(sentence));
const pictures = new PicturesView(notices, (jpeg) => call?.sendPicture(jpeg, "image/jpeg"));
const links = new CallLinkFinder(document.baseURI, USER);
const background = new BackgroundTools(links, (tools) => backgroundView.render(tools));
const backgroundView = new BackgroundView((tool) => void background.stop(tool));
const settings = new SettingsView(loadPreferences(kept.always), hasConsent(kept.visit), change, (agreed) => keepConsent(kept.visit, agreed));
const permissions = new PermissionsView(() => keepPermissionsKey(kept.always, null));
const plan = new PlanView(byId("plan", HTMLElement), (id, edit) => {
  notices.remove("plan");
  call?.editPlan(id, edit);
});
const tabs = new Tabs(document.baseURI, (elsewhere) => {
  if (elsewhere) notices.show("tabs", words.OTHER_TAB);
  else notices.remove("tabs");
});
const storage = new CallStorage(kept.visit, document.baseURI);

let preferences = loadPreferences(kept.always);
let call: Call | null = null;
let heard = new HeardWords();
/** What is kept of the call for a reload. */
let forReload: KeptCall | null = null;
let opening: Promise<Call> | null = null;
let callId: string | null = null;
/** Whether the user holds a button or a key for each turn of this call. */
let isHeld = false;
/** How long the call has gone on, by its latest event. */
let lengthMs = 0;
/** The last typed text, until the conversation has it. */
let unsaid = "";
let server: ServerInfo | null = null;
/** The change of settings that waits for the server's answer. */
let changing: string | null = null;
let shownModel: { info: words.ModelInfo; agentName: string } | null = null;

/** The present call, else a new one. */
async function ensureCall(): Promise<Call> {
  if (call && stateOf(call) !== "ended") return call;
  opening ??= openCall().finally(() => {
    opening = null;
  });
  return opening;
}

async function openCall(): Promise<Call> {
  removeCallNotices(notices);
  inspector.clear();
  ended.hide();
  // A quick click still gets the chosen model, not the server's default.
  await shown;
  const chosen = models.chosen;
  const recording = hasConsent(kept.visit);
  const wanted = {
    ...settingsOf(preferences),
    ...(voice.value === "" ? {} : { voice: voice.value }),
    ...(chosen ? { model_provider: chosen.name } : {}),
    ...(recording ? { recording } : {}),
    permissions: { keep: true, key: permissionsKey(kept.always) },
  };
  if (recording) notices.show("recording", words.RECORDED, "hint");
  else notices.remove("recording");
  void noticeOtherVersion();
  permissions.endWithCall(false);
  const url = callUrl(document.baseURI, USER, SESSION_ID);
  isHeld = preferences.pushToTalk;
  const options = { url, projection: CALL, worklets: WORKLETS, settings: wanted, devices: devices(), pushToTalk: isHeld };
  return show(await CallController.open(options), SESSION_ID);
}

/** Resumes the call that this tab had before a reload. */
async function resume(left: KeptCall): Promise<Call> {
  forReload = left;
  notices.show("line", words.BACK_AFTER_RELOAD, "hint");
  const url = callUrl(document.baseURI, USER, left.sessionId);
  const state = { ...CALL.empty, captions: left.captions ?? NO_CAPTIONS };
  isHeld = preferences.pushToTalk;
  const options = { url, projection: CALL, worklets: WORKLETS, resume: left, state, silent: true, devices: devices(), pushToTalk: isHeld };
  return show(await CallController.open(options), left.sessionId);
}

function devices(): { microphoneId: string; speakerId: string; volume: number } {
  const { microphone: microphoneId, speaker: speakerId, volume } = preferences;
  return { microphoneId, speakerId, volume };
}

function show(opened: Call, sessionId: string): Call {
  const startedAt = performance.now();
  const since = (): number => performance.now() - startedAt;
  call = opened;
  callId = null;
  lengthMs = 0;
  heard = new HeardWords();
  tabs.talks = true;
  tellAbout(opened, notices);
  opened.client.on("sent", (event) => log.addEvent("out", event, since()));
  opened.client.on("unknown", (type) => log.addUnknown(type, since()));
  opened.client.on("audio", ({ pcm, sampleOffset, itemIndex }) => {
    heard.receiveAudio(itemIndex, sampleOffset + pcm.length);
    log.addAudio("in", pcm.length, sampleOffset, since());
  });
  opened.output.on("progress", ({ itemId, playedMs }) => {
    heard.played(itemId, playedMs);
    draw();
  });
  opened.output.on("finished", ({ itemId }) => heard.finished(itemId));
  opened.client.on("event", (event) => {
    log.addEvent("in", event, since());
    heard.receive(event);
    if ("ts_ms" in event) lengthMs = Math.max(lengthMs, event.ts_ms ?? 0);
    if (event.type === "server_session_created" || event.type === "server_session_resumed") callId = event.call_id || callId;
    background.receive(event, callId);
    if (event.type === "agent_ready") showModel(words.readModelInfo(event.model), event.agent_name);
    if (event.type === "agent_item_added" && event.item.role === "user") unsaid = "";
    if (event.type === "server_session_updated") answerChange("now");
    const deed = event.type === "server_custom" ? readDeed(event) : null;
    if (deed?.name === "permissions_key" && !keepPermissionsKey(kept.always, deed.value.key)) permissions.endWithCall(true);
    if (event.type === "agent_error" && event.code === "rules_not_kept") permissions.endWithCall(true);
    if (event.type === "agent_error" && event.client_event_id === changing) answerChange("nextCall");
  });
  opened.on("change", draw);
  opened.on("level", ({ side, rms }) => voices.hear(side, rms));
  opened.on("resumeToken", (resumeToken) => {
    forReload = resumeToken && { sessionId, resumeToken, captions: null, lastPlayed: null };
    storage.save(forReload);
  });
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
    await showDevices();
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

function sayTyped(sentence: string): void {
  unsaid = sentence;
  void ensureCall().then((current) => {
    wake(current);
    current.sendText(sentence);
  });
}

async function showClosing(closing: Closing): Promise<void> {
  for (const side of ["user", "agent"] as const) voices.hear(side, 0);
  tabs.talks = false;
  background.end();
  pictures.closeCamera();
  notices.remove("line");
  // The text was refused or lost: the user can send it again.
  text.value ||= unsaid;
  unsaid = "";
  if (callId !== null && lengthMs > 0) {
    ended.show(lengthMs);
    void links.find(callId).then((found) => ended.link(found));
  }
  if (closing.expected) return;
  const reachable = (await fetchServerInfo(document.baseURI)) !== null;
  const notice = words.closeNotice(closing, reachable);
  if (notice) notices.show("closed", notice);
}

/** A server of another version may not understand this page: one that was updated meanwhile, or one beside it. */
async function noticeOtherVersion(): Promise<void> {
  const before = server?.version ?? "";
  const now = await fetchServerInfo(document.baseURI);
  if (!now) return;
  const isOther = before !== "" && now.version !== "" && now.version !== before;
  const speaksOther = now.protocols.length > 0 && !now.protocols.includes(PROTOCOL);
  if (isOther || speaksOther) notices.show("version", words.OTHER_VERSION);
}

// -- settings ----------------------------------------------------------------------------------------------------------

function change(changed: Preferences): void {
  const before = preferences;
  preferences = changed;
  savePreferences(kept.always, changed);
  const running = call && stateOf(call) !== "ended" ? call : null;
  if (!running) return;
  if (changed.volume !== before.volume) running.volume = changed.volume;
  if (changed.microphone !== before.microphone) void useDevice(running.useMicrophone(changed.microphone));
  if (changed.speaker !== before.speaker) void useDevice(running.useSpeaker(changed.speaker));
  const asked = changeOf(before, changed);
  if (asked) {
    changing = `settings-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
    running.client.send({ type: "client_session_update", event_id: changing, config: asked });
  } else if (holdsLater(before, changed)) settings.tell("nextCall");
  draw();
}

function holdsLater(before: Preferences, { pushToTalk, pause, instructions }: Preferences): boolean {
  return pushToTalk !== before.pushToTalk || pause !== before.pause || instructions.trim() !== before.instructions.trim();
}

function answerChange(holds: Holds): void {
  if (changing === null) return;
  changing = null;
  settings.tell(holds);
  if (holds === "nextCall") notices.remove("agent");
}

async function useDevice(switched: Promise<void>): Promise<void> {
  notices.remove("device");
  try {
    await switched;
  } catch {
    notices.show("device", words.NO_DEVICE);
  }
  await showDevices();
}

async function showDevices(): Promise<void> {
  const found = await listDevices().catch(() => ({ microphones: [], speakers: [] }));
  settings.showDevices(found, preferences.microphone, preferences.speaker);
}

async function speak(language: Language): Promise<void> {
  await useLanguage(language);
  document.documentElement.lang = presentLanguage();
  byId("language", HTMLSelectElement).value = presentLanguage();
  writeTexts(document);
  for (const view of [models, start, ended, inspector, settings, pictures, waits]) view.writeTexts();
  if (shownModel) showModel(shownModel.info, shownModel.agentName);
  else if (server) showUnknownModel();
  draw();
}

// -- drawing -----------------------------------------------------------------------------------------------------------

function showModel(info: words.ModelInfo | null, agentName: string): void {
  const name = agentName || shownModel?.agentName || server?.agentName || "";
  setText(byId("agent-label", HTMLSpanElement), name || say("talk.agent"));
  setText(byId("agent-name", HTMLElement), name || say("talk.agent"));
  if (!info) return;
  shownModel = { info, agentName: name };
  setText(byId("model", HTMLParagraphElement), words.modelWords(info));
  const only = words.onlyLanguages(info);
  const suggestions = info.suggestions.length > 0 ? info.suggestions : (server?.suggestions ?? []);
  start.offer(suggestions, only.length > 0 && only.every((tag) => tag.split("-")[0] === "en"));
  pictures.takesPictures = info.takes.includes("image");
  const of = `${info.provider}:${info.model}`;
  if (voice.dataset["of"] === of) return;
  voice.dataset["of"] = of;
  const choices = info.voices.length < 2 ? [] : info.voices;
  byId("voice-choice", HTMLLabelElement).hidden = choices.length === 0;
  voice.replaceChildren(...choices.map((one) => new Option(one, one, one === info.voice, one === info.voice)));
}

function showUnknownModel(): void {
  setText(byId("model", HTMLParagraphElement), "");
  showModel(null, "");
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
  setText(byId("talk-label", HTMLElement), say(talking ? "talk.end" : call?.needsClick ? "talk.goOn" : "talk.start"));
  mute.hidden = !talking || isHeld;
  mute.setAttribute("aria-pressed", String(call?.muted ?? false));
  setText(mute, say(call?.muted ? "talk.unmute" : "talk.mute"));
  hold.hidden = !talking || !isHeld;
  hold.setAttribute("aria-pressed", String(call?.pressed ?? false));
  setText(hold, say(call?.pressed ? "talk.holding" : "talk.hold"));
  interrupt.hidden = state !== "speaking";
  end.hidden = !running || talking;
  voice.disabled = running;
  models.disabled = running;
  pictures.inCall = running;
  const shownNow = call?.state.captions ?? NO_CAPTIONS;
  captions.render(shownNow);
  heardView.render(shownNow.bubbles, ({ id, text: said }) => heard.heard(id, said));
  waits.render(shownNow.latencies);
  permissions.render(shownNow.permissions ?? null);
  plan.render((shownNow.plans ?? []).map((one) => ({ ...one, agentName: "", isEditable: one.isEditable && running })));
  start.hidden = state === "ended" || shownNow.bubbles.some(({ side }) => side === "user");
  inspector.render();
});

function stateNow(): CallState | null {
  return call && stateOf(call);
}

function stateWords(state: CallState | null, talking: boolean): string {
  if (state === null) return say("state.idle");
  if (state === "reconnecting") return words.reconnectingWords(call?.attempt ?? 1);
  if (call?.needsClick) return say("state.goOn");
  if (state === "listening" && call?.muted) return say("state.muted");
  if (state === "listening" && !talking) return say("state.typing");
  if (state === "listening" && isHeld) return say(call?.pressed ? "state.hearing" : "state.hold");
  return say(`state.${state}`);
}

// -- what the user does ------------------------------------------------------------------------------------------------

talk.addEventListener("click", () => {
  if (call?.hasMicrophone && stateOf(call) !== "ended") call.end();
  else void startTalking();
});
mute.addEventListener("click", () => {
  if (call) call.muted = !call.muted;
});
hold.addEventListener("pointerdown", (event) => {
  hold.setPointerCapture(event.pointerId);
  call?.press();
});
for (const over of ["pointerup", "pointercancel", "lostpointercapture"]) hold.addEventListener(over, () => call?.release());
hold.addEventListener("contextmenu", (event) => event.preventDefault());
interrupt.addEventListener("click", () => call?.interrupt());
end.addEventListener("click", () => call?.end());
byId("typed", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = text.value.trim();
  if (typed === "") return;
  text.value = "";
  sayTyped(typed);
});
byId("open-help", HTMLButtonElement).addEventListener("click", () => help.showModal());
byId("close-help", HTMLButtonElement).addEventListener("click", () => help.close());
closeOnBackdrop(help);
listenToKeys({
  enabled: () => preferences.singleKeys,
  mute: () => {
    if (call?.hasMicrophone) call.muted = !call.muted;
  },
  interrupt: () => {
    if (stateNow() === "speaking") call?.interrupt();
  },
  type: () => text.focus(),
  settings: () => settings.open(),
  help: () => help.showModal(),
  holds: () => isHeld && call?.hasMicrophone === true && stateNow() !== "ended",
  press: () => call?.press(),
  release: () => call?.release(),
});
window.addEventListener("online", () => call?.client.retryNow());
window.addEventListener("pagehide", () => {
  if (!call || !forReload) return;
  storage.save({ ...forReload, captions: call.state.captions, lastPlayed: call.client.lastPlayed });
});
byId("language", HTMLSelectElement).append(...Object.entries(LANGUAGES).map(([code, name]) => new Option(name, code)));
byId("language", HTMLSelectElement).addEventListener("change", ({ target }) => {
  const chosen = (target as HTMLSelectElement).value as Language;
  rememberLanguage(kept.always, chosen);
  void speak(chosen);
});
watchDevices(() => void showDevices());

/** A link may ask for a recording; only the user's own answer in this tab allows it. */
function askForConsent(): void {
  if (!new URL(document.baseURI).searchParams.has("recording") || wasAsked(kept.visit)) return;
  const consent = byId("consent", HTMLDialogElement);
  const answer = (agreed: boolean) => () => {
    keepConsent(kept.visit, agreed);
    settings.consented = agreed;
    consent.close();
  };
  byId("consent-agree", HTMLButtonElement).addEventListener("click", answer(true));
  byId("consent-refuse", HTMLButtonElement).addEventListener("click", answer(false));
  consent.showModal();
}

async function showServer(): Promise<void> {
  if (!window.isSecureContext) notices.show("microphone", words.microphoneNotice("insecure"));
  const [info, offer] = await Promise.all([fetchServerInfo(document.baseURI), fetchOffer(document.baseURI), spoken]);
  server = info;
  if (!info) {
    setText(byId("model", HTMLParagraphElement), say("page.silent"));
    return;
  }
  if (info.refused) notices.show("closed", words.REFUSED);
  models.show(offer, rememberedModel(), info.model && hearingOf(info.model));
  const model = models.chosen?.info ?? info.model;
  if (model) showModel(model, info.agentName);
  else showUnknownModel();
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

start.offer([], false);
const spoken = speak(languageToBeginWith(kept.always, navigator.languages));
const shown = showServer();
void showDevices();
askForConsent();
const left = storage.load();
if (left) opening = resume(left).finally(() => (opening = null));
