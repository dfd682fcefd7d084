/** What the page says about its call while it runs: lost lines, missing sound, errors, ends. */

import { type ServerEvent, readDeed } from "@realtime-voice/client";
import type { Call } from "./call.ts";
import { permissionNotice } from "./consent-words.ts";
import { isAboutPlan, planNotice } from "./plan-words.ts";
import { say } from "./texts.ts";
import type { NoticesView } from "./view/notices-view.ts";
import * as words from "./words.ts";

/** Notices of a call; they go when the next one begins. */
const OF_A_CALL = ["closed", "line", "microphone", "end", "agent", "model", "voice", "echo", "blocked", "camera", "device", "picture", "permissions", "plan"];

export function removeCallNotices(notices: NoticesView): void {
  for (const key of OF_A_CALL) notices.remove(key);
}

/** Shows what happens to a call, until it is over. */
export function tellAbout(call: Call, notices: NoticesView): void {
  call.client.on("state", (state) => {
    // Only in an open call: a server that is away cannot serve the voice's worklet either.
    if (state === "reconnecting") notices.show("line", words.LINE_LOST, "hint");
    else if (call.needsClick) notices.show("line", words.BACK_AFTER_RELOAD, "hint");
    else notices.remove("line");
    if (state !== "open" || call.hasVoice) return;
    notices.show("voice", window.isSecureContext ? words.NO_VOICE : words.microphoneNotice("insecure"));
  });
  call.client.on("event", (event) => tellEvent(event, notices));
  call.on("blocked", (blocked) => (blocked && !call.needsClick ? notices.show("blocked", words.SOUND_BLOCKED) : notices.remove("blocked")));
  call.on("microphoneLost", () => notices.show("microphone", words.MICROPHONE_LOST));
}

function tellEvent(event: ServerEvent, notices: NoticesView): void {
  switch (event.type) {
    case "agent_error":
      // In the reader's language, and no fault of the agent.
      if (event.code === "rules_not_kept") return notices.show("permissions", { what: say("rules.endWithCall"), todo: "" }, "hint");
      if (isAboutPlan(event.code)) return notices.show("plan", planNotice(event), "hint");
      return notices.show("agent", { what: event.message, todo: "" });
    case "server_goodbye":
    case "server_session_ended": {
      const notice = words.endNotice(event.reason);
      return notice ? notices.show("end", notice) : undefined;
    }
    case "agent_reconnecting":
      return notices.show("model", words.MODEL_LOST, "hint");
    case "agent_reconnected":
      return notices.remove("model");
    case "server_custom": {
      const deed = readDeed(event);
      const notice = deed?.name === "permission_updated" ? permissionNotice(deed.value) : null;
      return notice ? notices.show("permissions", notice, "hint") : undefined;
    }
    default:
      return;
  }
}
