/** The calls page: a user's calls, or one call, live. */

import { type CallInfo, CallReader, CallShelf, HttpProblem, problemWords } from "./call-reader.ts";
import { endedWords, isCutOff, startedWords } from "./call-words.ts";
import type { MsgData } from "@realtime-voice/messages";
import { besidePage } from "./server-info.ts";
import { browserUserId } from "./user.ts";
import { CallListView } from "./view/call-list-view.ts";
import { CaseView } from "./view/case-view.ts";
import { byId, drawnOncePerFrame, keepAtEnd, setText } from "./view/elements.ts";
import { KeyedList } from "./view/keyed-list.ts";
import { renderMessage } from "./view/message-card.ts";
import { NoticesView } from "./view/notices-view.ts";

const LIST_AGAIN_MS = 5_000;

type State = "connecting" | "live" | "waiting" | "ended" | "failed";

const address = new URL(window.location.href);
const user = address.searchParams.get("user") || browserUserId();
const callId = address.searchParams.get("call");
const shelf = new CallShelf(document.baseURI, user);
const notices = new NoticesView(byId("notices", HTMLElement));
const about = byId("about", HTMLElement);
const empty = byId("empty", HTMLElement);

/** The address of a call or of the list, with the other parameters of this page's address. */
function screenUrl(call: string | null): string {
  const url = new URL(address);
  url.searchParams.delete("call");
  if (call !== null) url.searchParams.set("call", call);
  return url.href;
}

async function showList(): Promise<void> {
  const view = new CallListView(byId("calls", HTMLElement), screenUrl, async ({ call_id }) => {
    try {
      await shelf.delete(call_id);
    } catch (error) {
      if (!(error instanceof HttpProblem && error.status === 404)) {
        notices.show("delete", { what: "The call was not deleted.", todo: problemWords(error).what });
        return;
      }
    }
    notices.remove("delete");
    await refresh();
  });
  const older = byId("older-calls", HTMLButtonElement);
  let pages = 1;
  older.addEventListener("click", () => {
    pages++;
    void refresh();
  });
  const refresh = async (): Promise<boolean> => {
    try {
      const { calls, next } = await shelf.list(pages);
      older.hidden = next === null;
      notices.remove("list");
      view.update(calls);
      setText(about, `Calls of ${user}`);
      setText(empty, "No calls yet. What is said in a call can be read here, while it goes on and later.");
      empty.hidden = calls.length > 0;
    } catch (error) {
      notices.show("list", problemWords(error));
      setText(about, `Calls of ${user}`);
      return !(error instanceof HttpProblem) || error.mayPass;
    }
    return true;
  };
  while (await refresh()) {
    await new Promise((go) => setTimeout(go, LIST_AGAIN_MS));
    if (document.hidden) await new Promise((go) => document.addEventListener("visibilitychange", go, { once: true }));
  }
}

let reader: CallReader | null = null;
let state: State = "connecting";

async function showCall(id: string): Promise<void> {
  const allCalls = byId("all-calls", HTMLAnchorElement);
  allCalls.href = screenUrl(null);
  allCalls.hidden = false;
  const box = byId("bubbles", HTMLElement);
  const toEnd = keepAtEnd(box);
  const changed = new Set<string>();
  const bubbles = new KeyedList<MsgData>(
    box,
    (msg) => msg.id,
    (first) => {
      const card = renderMessage(first);
      return { root: card.root, update: (msg) => changed.has(msg.id) && card.update(msg) };
    },
  );
  const caseView = new CaseView(byId("case", HTMLFormElement), shelf, id, notices);
  let info: CallInfo | null = null;
  const draw = drawnOncePerFrame(() => {
    const messages = current.transcript.told();
    bubbles.update(messages);
    changed.clear();
    box.hidden = messages.length === 0;
    empty.hidden = messages.length > 0;
    setText(empty, state === "ended" ? "Nothing was said in this call." : "What is said in this call appears here.");
    setText(about, aboutWords(info));
    about.dataset["state"] = state;
    const isOver = state === "ended" || (info !== null && isCutOff(info));
    caseView.update(isOver && messages.length > 0 ? info : null);
    toEnd();
  });
  const current = (reader = new CallReader(shelf, id, {
    info(told) {
      info = told;
      if (told.gaps?.length) notices.show("gaps", { what: "A part of this call was not kept.", todo: "" }, "hint");
      draw();
    },
    changed(messageId) {
      changed.add(messageId);
      draw();
    },
    line(isOpen, error) {
      state = isOpen ? (info?.live ? "live" : "connecting") : "waiting";
      if (error) notices.show("line", problemWords(error), "hint");
      else notices.remove("line");
      draw();
    },
  }));
  draw();
  try {
    await current.follow();
    state = "ended";
  } catch (error) {
    // A server that stores no calls forgets a call at its end.
    const isOver = info !== null && error instanceof HttpProblem && error.status === 404;
    state = isOver ? "ended" : "failed";
    if (isOver) notices.show("line", { what: "The server does not know this call any more.", todo: "What was told is still shown." }, "hint");
    else notices.show("line", problemWords(error));
    empty.textContent = "";
  }
  draw();
}

function aboutWords(info: CallInfo | null): string {
  if (state === "failed") return "This call cannot be shown.";
  if (!info) return "Asking the server…";
  const ended = endedWords(info);
  const words = { connecting: "Reading…", live: "Live", waiting: "Waiting for the call…", failed: "", ended };
  return `${startedWords(info)} · ${isCutOff(info) ? ended : words[state]}`;
}

/** What tests read from the console. */
export interface TranscriptSnapshot {
  state: State;
  /** The id after which a new stream resumes. */
  lastId: string;
  /** Canonical JSON of each message shown. */
  messages: string[];
}

declare global {
  interface Window {
    transcript: { snapshot(): TranscriptSnapshot };
  }
}

window.transcript = {
  snapshot: () => ({
    state,
    lastId: reader?.lastId ?? "",
    messages: reader?.transcript.told().map((msg) => msg.toCanonicalJson()) ?? [],
  }),
};

byId("talk-here", HTMLAnchorElement).href = besidePage(document.baseURI, "./").href;
if (callId === null) void showList();
else void showCall(callId);
