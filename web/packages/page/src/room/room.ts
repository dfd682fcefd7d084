/** The room page: lanes, captions, words and buttons around one call at a time. */

import "./room.css";
import { type AgentPlan, callIdOf } from "../captions.ts";
import { CallController, type Closing, MicrophoneError, openVoices } from "@realtime-voice/client";
import { CallStorage, type KeptCall } from "../kept-call.ts";
import { isAboutPlan, planNotice } from "../plan-words.ts";
import { speakReadersLanguage } from "../reader-language.ts";
import { besidePage, fetchServerInfo } from "../server-info.ts";
import { keep, readKept } from "../storage.ts";
import { say } from "../texts.ts";
import { byId, drawnOncePerFrame, setText } from "../view/elements.ts";
import { NoticesView } from "../view/notices-view.ts";
import { PlanView } from "../view/plan-view.ts";
import { ECHO_STAYS, LINE_LOST, MICROPHONE_LOST, microphoneNotice } from "../words.ts";
import { Hues } from "./hues.ts";
import { type Lane, LanesView } from "./lanes-view.ts";
import { LobbyView } from "./lobby-view.ts";
import { NOBODY, type Person, makerOf, personOf } from "./people.ts";
import { ROOM, type RoomCall } from "./room-call.ts";
import { addAgent, fetchAgents, fetchLobby, fetchRefusal, invitation, roomUrl } from "./room-server.ts";
import { soundMayBegin } from "./sound.ts";
import { NO_TALK, type Turn, turnsOf } from "./talk.ts";
import { type SaidTurn, TalkView } from "./talk-view.ts";
import * as words from "./words.ts";

const REMEMBERED_NAME = "realtime.name";
/** Of this tab: whether the microphone was on when the page was left. */
const MICROPHONE = "realtime.microphone";
const COPIED_MS = 2_000;
const LOBBY_AGAIN_MS = 5_000;
const WORKLETS = { capture: "./worklets/capture.js", playback: "./worklets/playback.js" };
const VOICES_WORKLET = "./worklets/voices.js";

const lobby = byId("lobby", HTMLElement);
const nameField = byId("name", HTMLInputElement);
const roomField = byId("room", HTMLInputElement);
const withMicrophone = byId("with-microphone", HTMLInputElement);
const mute = byId("mute", HTMLButtonElement);
const copy = byId("copy", HTMLButtonElement);
const leave = byId("leave", HTMLButtonElement);
const interrupt = byId("interrupt", HTMLButtonElement);
const add = byId("add", HTMLFormElement);
const template = byId("template", HTMLSelectElement);
const text = byId("text", HTMLInputElement);
const captionsBox = byId("captions", HTMLElement);

const hues = new Hues();
const lanes = new LanesView(byId("lanes", HTMLElement), hues);
const talk = new TalkView(
  captionsBox,
  byId("turns", HTMLElement),
  byId("empty", HTMLElement),
  hues,
  (asking, { confirmed, ...changes }) => call?.answerTool(callIdOf(asking), asking.name, confirmed, changes),
);
const plans = new PlanView(byId("plan", HTMLElement), (id, edit) => {
  notices.remove("plan");
  call?.editPlan(id, edit);
});
const join = byId("join", HTMLFormElement);
const rooms = new LobbyView(byId("rooms", HTMLElement), byId("open-rooms", HTMLElement), (wanted) => {
  roomField.value = wanted;
  // Without a name the browser asks for one.
  join.requestSubmit();
});
const notices = new NoticesView(byId("notices", HTMLElement));
const storage = new CallStorage(() => window.sessionStorage, document.baseURI);

let call: RoomCall | null = null;
/** The room that is shown; its conversation stays after the user left it. */
let room = "";
let opening = false;
/** The agents that can be added, by name. */
let agents: readonly string[] = [];
let kept: KeptCall | null = null;

// -- coming and going ---------------------------------------------------------------------------------------------------

async function enter(wanted: string, name: string, left: KeptCall | null): Promise<void> {
  if (opening || (call && call.client.state !== "closed")) return;
  opening = true;
  try {
    room = wanted;
    keep(() => localStorage, REMEMBERED_NAME, name);
    showAddress(wanted);
    for (const key of ["closed", "line", "microphone", "end", "trouble", "voice", "link", "echo", "plan"]) notices.remove(key);
    const url = roomUrl(document.baseURI, wanted, name);
    const options = { url, projection: ROOM, worklets: WORKLETS, openVoices: () => openVoices(VOICES_WORKLET), resume: left };
    show(await CallController.open(options), name, left !== null);
  } finally {
    opening = false;
  }
  void askAgents();
  if (withMicrophone.checked) void startMicrophone();
}

function show(opened: RoomCall, name: string, returns: boolean): void {
  const sessionId = sessionOf(room, name);
  call = opened;
  opened.client.on("state", (state) => {
    if (state === "reconnecting") notices.show("line", LINE_LOST, "hint");
    else notices.remove("line");
    if (state !== "open" || opened.hasVoice) return;
    notices.show("voice", window.isSecureContext ? words.noVoice() : microphoneNotice("insecure"));
  });
  // A refusal comes with its own words: the socket's end needs no notice then.
  let isRefused = false;
  let isIn = false;
  opened.client.on("event", (event) => {
    isIn ||= event.type === "server_room_joined";
    if (event.type === "agent_error" && isAboutPlan(event.code)) {
      notices.show("plan", planNotice(event), "hint");
    } else if (event.type === "agent_error") {
      isRefused = !isIn;
      notices.show("trouble", { what: event.message, todo: "" });
    }
    // A room that removes the user ends the call for that reason.
    const isOurEnd = event.type === "agent_ended" && event.agent_id === opened.state.people.me;
    if (!isOurEnd && event.type !== "server_goodbye" && event.type !== "server_session_ended") return;
    const notice = words.roomEndNotice(event.reason);
    if (notice) notices.show("end", notice);
  });
  let sounding: string | null = null;
  opened.on("change", () => {
    if (sounding !== null && sounding !== opened.state.sounding) lanes.tell(sounding, 0);
    ({ sounding } = opened.state);
    draw();
  });
  opened.on("level", ({ side, rms }) => {
    const who = side === "user" ? opened.state.people.me : opened.state.sounding;
    if (who !== null) lanes.tell(who, rms);
  });
  opened.voices?.on("level", ({ who, rms }) => lanes.tell(who, rms));
  opened.on("resumeToken", (resumeToken) => {
    kept = resumeToken && { sessionId, resumeToken, captions: null, lastPlayed: null };
    storage.save(kept);
  });
  opened.on("microphoneLost", () => notices.show("microphone", MICROPHONE_LOST));
  opened.on("closed", (closing) => {
    // A call that was kept too long begins anew.
    if (returns && !closing.wasOpen && closing.instead !== null) void enter(room, name, null);
    else void showClosing(closing, isRefused);
  });
  draw();
}

async function showClosing(closing: Closing, isExplained: boolean): Promise<void> {
  for (const key of ["line", "microphone", "voice"]) notices.remove(key);
  draw();
  roomField.value = room;
  if (closing.expected || isExplained) return;
  const reachable = (await fetchServerInfo(document.baseURI)) !== null;
  const refusal = closing.wasOpen || !reachable ? null : await fetchRefusal(document.baseURI, room);
  const notice = refusal === null ? words.roomCloseNotice(closing, reachable) : { what: refusal, todo: "" };
  if (notice) notices.show("closed", notice);
}

async function startMicrophone(): Promise<void> {
  notices.remove("microphone");
  try {
    await call?.startMicrophone();
    if (call?.cancelsEcho === false) notices.show("echo", ECHO_STAYS, "hint");
  } catch (error) {
    notices.show("microphone", microphoneNotice(error instanceof MicrophoneError ? error.problem : "failed"));
  }
}

async function askAgents(): Promise<void> {
  agents = await fetchAgents(document.baseURI);
  draw();
}

/** Offers the agents that are not in the room; hides the choice where there are none. */
function offerAgents(people: readonly Person[]): void {
  const here = new Set(people.map(({ name }) => name));
  const absent = agents.filter((name) => !here.has(name));
  add.hidden = absent.length === 0;
  if (absent.join("\n") === [...template.options].map(({ value }) => value).join("\n")) return;
  const chosen = template.value;
  template.replaceChildren(...absent.map((name) => new Option(name, name, false, name === chosen)));
}

function sessionOf(inRoom: string, name: string): string {
  return `${inRoom}\n${name}`;
}

/** The address is the link for others: it has the room, and not the user's name. */
function showAddress(inRoom: string): void {
  history.replaceState(null, "", invitation(document.location.href, inRoom));
}

/** Shows who is in which room, while the lobby is shown. */
async function followLobby(): Promise<void> {
  for (;;) {
    if (!lobby.hidden && !document.hidden) {
      const found = await fetchLobby(document.baseURI);
      if (found) rooms.update(found);
    }
    await new Promise((go) => setTimeout(go, LOBBY_AGAIN_MS));
  }
}

// -- what is shown ------------------------------------------------------------------------------------------------------

const draw = drawnOncePerFrame(() => {
  const state = call?.client.state ?? null;
  const inside = opening || (state !== null && state !== "closed");
  const seen = call !== null || inside;
  const people = call?.state.people ?? NOBODY;
  const turns = turnsOf(call?.state.talk ?? NO_TALK);
  const hadFocus = document.activeElement;
  lobby.hidden = inside;
  byId("people", HTMLElement).hidden = !inside;
  byId("conversation", HTMLElement).hidden = !seen;
  byId("typed", HTMLFormElement).hidden = !inside;
  document.body.dataset["inside"] = String(inside);
  const title = room === "" ? say("page.rooms") : say("room.named", { room });
  setText(byId("title", HTMLElement), title);
  document.title = `${title} · realtime`;
  setText(byId("status", HTMLElement), words.statusWords(state, call?.attempt ?? 1, people));
  copy.hidden = leave.hidden = !inside;
  // The button that was pressed is gone: the keyboard goes on where the words come, or where one joins.
  if (inside && lobby.contains(hadFocus)) captionsBox.focus({ preventScroll: true });
  if (!inside && hadFocus === leave) join.querySelector("button")?.focus();
  byId("pages", HTMLElement).hidden = inside;
  const muted = call?.muted === true;
  mute.setAttribute("aria-pressed", String(muted));
  setText(mute, call?.hasMicrophone ? say(muted ? "room.unmute" : "room.mute") : say("room.microphoneOn"));
  interrupt.disabled = (call?.state.sounding ?? null) === null;
  offerAgents(people.all);
  // Lanes come first, so that colours follow their order.
  lanes.render(people.all.map((person) => toLane(person, turns)));
  talk.render(turns.map(toSaid));
  plans.render(inside ? plansHere(people.all) : []);
});

/** The plans of the agents that are here, with the names that they have now. */
function plansHere(people: readonly Person[]): readonly AgentPlan[] {
  const told = call?.state.talk.captions.plans ?? [];
  return told.flatMap((plan) => {
    const agent = people.find(({ id }) => id === plan.agentId);
    return agent ? [{ ...plan, agentName: agent.name, isEditable: plan.isEditable && !agent.away }] : [];
  });
}

function toLane(person: Person, turns: readonly Turn[]): Lane {
  const isMe = person.id === call?.state.people.me;
  const isMuted = person.muted || (isMe && call?.hasMicrophone === true && call.muted);
  const latest = turns.findLast((turn) => turn.side !== "tool" && makerIdOf(turn) === person.id);
  return {
    id: person.id,
    name: person.name,
    isMe,
    isAgent: person.kind === "agent",
    voice: person.voice,
    hasFloor: person.id === call?.state.people.floor,
    isAway: person.away,
    isMuted,
    doing: isMe && !call?.hasMicrophone && !person.muted ? "" : words.doingWords(person, call?.state.sounding === person.id, isMuted),
    words: latest?.text ?? "",
  };
}

function toSaid(turn: Turn): SaidTurn {
  const people = call?.state.people ?? NOBODY;
  const id = makerIdOf(turn);
  const who = turn.author.name || personOf(people, id)?.name || say("room.somebody");
  return { ...turn, who, isMine: people.mine.includes(id) };
}

/** The id of a turn's author. Turns before the user joined have none, but items of agents begin with theirs. */
function makerIdOf({ id, author }: Turn): string {
  return author.id || (makerOf(call?.state.people ?? NOBODY, id)?.id ?? "");
}

// -- buttons ------------------------------------------------------------------------------------------------------------

join.addEventListener("submit", (event) => {
  event.preventDefault();
  const [wanted, name] = [roomField.value.trim(), nameField.value.trim()];
  if (wanted === "" || name === "") return;
  void enter(wanted, name, keptFor(wanted, name));
});
mute.addEventListener("click", () => {
  if (call?.hasMicrophone) call.muted = !call.muted;
  else void startMicrophone();
});
leave.addEventListener("click", () => call?.end());
interrupt.addEventListener("click", () => call?.interrupt());
copy.addEventListener("click", () => void copyLink());
add.addEventListener("submit", (event) => {
  event.preventDefault();
  void addChosen();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && (call?.state.sounding ?? null) !== null) call?.interrupt();
});
byId("typed", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = text.value.trim();
  // Outside a call the words stay in the field.
  if (typed === "" || (call?.client.state !== "open" && call?.client.state !== "reconnecting")) return;
  text.value = "";
  call.sendText(typed);
});
window.addEventListener("online", () => call?.client.retryNow());
window.addEventListener("pagehide", () => {
  if (!call || !kept) return;
  storage.save({ ...kept, lastPlayed: call.client.lastPlayed });
  keep(() => sessionStorage, MICROPHONE, call.hasMicrophone && !call.muted ? "on" : "off");
});

async function copyLink(): Promise<void> {
  const link = invitation(document.location.href, room);
  try {
    await navigator.clipboard.writeText(link);
    setText(copy, say("room.copied"));
    setTimeout(() => setText(copy, say("room.copy")), COPIED_MS);
  } catch {
    notices.show("link", words.linkInHand(link), "hint");
  }
}

async function addChosen(): Promise<void> {
  const button = add.querySelector("button");
  if (button) button.disabled = true;
  notices.remove("add");
  const problem = await addAgent(document.baseURI, room, template.value);
  if (problem !== null) notices.show("add", { what: say("room.notAdded", { name: template.value }), todo: problem });
  if (button) button.disabled = false;
}

// -- the beginning ------------------------------------------------------------------------------------------------------

function keptFor(inRoom: string, name: string): KeptCall | null {
  const left = storage.load();
  return left?.sessionId === sessionOf(inRoom, name) ? left : null;
}

/** Under which name this tab was in the room before a reload; empty where it was not. */
function nameBefore(inRoom: string): string {
  const [kept, name] = storage.load()?.sessionId.split("\n") ?? [];
  return kept === inRoom ? (name ?? "") : "";
}

async function begin(): Promise<void> {
  await speakReadersLanguage();
  const given = new URL(document.location.href).searchParams;
  room = given.get("room")?.trim() || "";
  const name = given.get("name")?.trim() || nameBefore(room);
  roomField.value = room;
  nameField.value = name || (readKept(() => localStorage, REMEMBERED_NAME) ?? "");
  // A reload does not unmute the user.
  if (keptFor(room, name)) withMicrophone.checked = readKept(() => sessionStorage, MICROPHONE) !== "off";
  // Where the browser wants a click before sound, the button Join is that click.
  if (room !== "" && name !== "" && (await soundMayBegin())) return enter(room, name, keptFor(room, name));
  draw();
  lobby.hidden = false;
  (nameField.value === "" ? nameField : room === "" ? roomField : join.querySelector("button"))?.focus();
}

/** What tests read from the console. */
function snapshot(): object {
  const people = call?.state.people ?? NOBODY;
  return {
    state: call?.client.state ?? "outside",
    people: people.all,
    me: people.me,
    floor: people.floor,
    sounding: call?.state.sounding ?? null,
    turns: turnsOf(call?.state.talk ?? NO_TALK).map((turn) => {
      const { who, isMine } = toSaid(turn);
      return { id: turn.id, who, isMine, side: turn.side, text: turn.text, unheard: turn.unheard, status: turn.status };
    }),
    playback: call?.output.counters ?? null,
    playedMs: call?.output.played ?? {},
    voices: call?.voices?.counters ?? {},
    microphone: call?.hasMicrophone ?? false,
    muted: call?.muted ?? true,
    sent: call?.client.audioSent ?? null,
    notices: notices.texts,
  };
}

Object.assign(window, { realtime: { snapshot } });

for (const [id, page] of [["calls-here", "./transcript.html"], ["talk-here", "./"]] as const) {
  byId(id, HTMLAnchorElement).href = besidePage(document.baseURI, page).href;
}
void begin().then(followLobby);
