/** The conversation of a room: each turn with its author, and the unplayed words of agents. Pure. */

import { type Bubble, type Captions, NO_CAPTIONS, foldCaptions, visibleBubbles } from "../captions.ts";
import { type LocalSignal, type ServerEvent, isGone } from "@realtime-voice/client";

interface Author {
  /** Empty where unknown. */
  readonly id: string;
  readonly name: string;
}

export interface Talk {
  readonly captions: Captions;
  /** By bubble. */
  readonly authors: Readonly<Record<string, Author>>;
  /** By bubble: the words after the played ones. */
  readonly unheard: Readonly<Record<string, string>>;
}

export interface Turn extends Bubble {
  readonly author: Author;
  readonly unheard: string;
}

export const NO_TALK: Talk = { captions: NO_CAPTIONS, authors: {}, unheard: {} };

/** The turns to show, in order. One that was interrupted before its first word shows the unplayed words. */
export function turnsOf(talk: Talk): readonly Turn[] {
  const shown = new Set(visibleBubbles(talk.captions));
  return talk.captions.bubbles
    .map((bubble) => ({ bubble, unheard: talk.unheard[bubble.id] ?? "" }))
    .filter(({ bubble, unheard }) => shown.has(bubble) || (unheard !== "" && bubble.status === "cut"))
    .map(({ bubble, unheard }) => {
      const author = talk.authors[bubble.id] ?? { id: "", name: bubble.side === "agent" ? bubble.name : "" };
      return { ...bubble, author, unheard };
    });
}

export function foldTalk(talk: Talk, event: ServerEvent | LocalSignal): Talk {
  const known = new Map(talk.captions.bubbles.map((bubble) => [bubble.id, bubble]));
  const captions = foldCaptions(withoutWaiting(withHistory(talk.captions, event), talk.authors, event), event);
  const authors = withAuthor(talk.authors, event);
  let { unheard } = talk;
  if (event.type === "agent_item_truncated" && event.transcript !== null) {
    const before = known.get(event.item_id);
    // A second truncation corrects the first: it divides the same words anew.
    const rest = restOf(`${before?.text ?? ""} ${unheard[event.item_id] ?? ""}`, event.transcript);
    if (rest !== "" || event.item_id in unheard) unheard = { ...unheard, [event.item_id]: rest };
  }
  if (captions === talk.captions && authors === talk.authors && unheard === talk.unheard) return talk;
  return { captions, authors, unheard };
}

/** Ends the wait for the words of a turn that was discarded, and of humans who left. */
function withoutWaiting(captions: Captions, authors: Talk["authors"], event: ServerEvent | LocalSignal): Captions {
  // After leaving, no words come any more.
  if (event.type === "closed") return changed(captions, ({ status }) => status === "live", settled);
  if (event.type === "agent_input_cleared") {
    return changed(captions, ({ id }) => id === event.item_id, (bubble) => ({ ...bubble, status: "deleted" }));
  }
  if (event.type !== "server_room_left" || !isGone(event)) return captions;
  const isTheirs = ({ id, side }: Bubble): boolean => side === "user" && authors[id]?.id === event.participant_id;
  return changed(captions, isTheirs, settled);
}

function changed(captions: Captions, which: (bubble: Bubble) => boolean, how: (bubble: Bubble) => Bubble): Captions {
  if (!captions.bubbles.some(which)) return captions;
  return { ...captions, bubbles: captions.bubbles.map((bubble) => (which(bubble) ? how(bubble) : bubble)) };
}

function settled(bubble: Bubble): Bubble {
  return bubble.status === "live" ? { ...bubble, status: "done" } : bubble;
}

/** Adds what agents said before the user joined, which comes as whole items. */
function withHistory(captions: Captions, event: ServerEvent | LocalSignal): Captions {
  if (event.type !== "agent_item_added" || event.item.role !== "assistant") return captions;
  const { item } = event;
  const text = item.content.map((part) => part.text ?? part.transcript ?? "").join(" ").trim();
  if (text === "" || captions.bubbles.some(({ id }) => id === item.id)) return captions;
  const status = item.status === "incomplete" ? "cut" : "done";
  const bubble: Bubble = { id: item.id, side: "agent", name: event.agent_name, text, status, responseId: null };
  return { ...captions, bubbles: [...captions.bubbles, bubble] };
}

function withAuthor(authors: Talk["authors"], event: ServerEvent | LocalSignal): Talk["authors"] {
  const id = bubbleOf(event);
  if (id === null || authors[id] !== undefined || !("agent_id" in event)) return authors;
  return { ...authors, [id]: { id: event.agent_id, name: event.agent_name } };
}

function bubbleOf(event: ServerEvent | LocalSignal): string | null {
  switch (event.type) {
    case "agent_response_tool_use_done":
      return `tool:${event.tool_use.id}`;
    case "agent_response_tool_result":
      return `tool:${event.tool_result.id}`;
    case "agent_item_added":
      return event.item.id;
    case "agent_input_started":
    case "agent_input_transcription_delta":
    case "agent_input_transcription_done":
    case "agent_input_transcription_failed":
    case "agent_response_audio_transcript_delta":
    case "agent_response_audio_transcript_done":
    case "agent_response_text_delta":
    case "agent_response_text_done":
      return event.item_id;
    default:
      return null;
  }
}

/** The rest of `text` after `heard`; empty where `text` does not begin with it. */
function restOf(text: string, heard: string): string {
  return text.startsWith(heard.trim()) ? text.slice(heard.trim().length).trim() : "";
}
