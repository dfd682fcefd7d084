/** The calls page: a user's calls, or one call, live. */

import { CallShelf } from "./call-reader.ts";
import { CallScreen, type CallScreenState } from "./call-screen.ts";
import { listTitle } from "./call-words.ts";
import { showList } from "./list-screen.ts";
import { speakReadersLanguage } from "./reader-language.ts";
import { besidePage } from "./server-info.ts";
import { say } from "./texts.ts";
import { browserUserId } from "./user.ts";
import { byId, setText } from "./view/elements.ts";
import { NoticesView } from "./view/notices-view.ts";

await speakReadersLanguage();

const address = new URL(window.location.href);
const user = address.searchParams.get("user") || browserUserId();
const callId = address.searchParams.get("call");
const shelf = new CallShelf(document.baseURI, user);
const notices = new NoticesView(byId("notices", HTMLElement));

/** The address of a call or of the list, with the other parameters of this page's address. */
function screenUrl(call: string | null): string {
  const url = new URL(address);
  url.searchParams.delete("call");
  if (call !== null) url.searchParams.set("call", call);
  return url.href;
}

/** What tests read from the console. */
export interface TranscriptSnapshot {
  state: CallScreenState;
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

document.title = `${say("calls.title")} · realtime`;
const screen = callId === null ? null : new CallScreen(shelf, callId, notices, () => location.assign(screenUrl(null)));

window.transcript = {
  snapshot: () => ({
    state: screen?.state ?? "connecting",
    lastId: screen?.reader.lastId ?? "",
    messages: screen?.reader.transcript.told().map((msg) => msg.toCanonicalJson()) ?? [],
  }),
};

byId("talk-here", HTMLAnchorElement).href = besidePage(document.baseURI, "./").href;
byId("rooms-here", HTMLAnchorElement).href = besidePage(document.baseURI, "./room.html").href;
if (screen) {
  const allCalls = byId("all-calls", HTMLAnchorElement);
  allCalls.href = screenUrl(null);
  allCalls.hidden = false;
  void screen.follow();
} else {
  setText(byId("about", HTMLElement), listTitle(user, user === browserUserId()));
  void showList(shelf, screenUrl, notices);
}
