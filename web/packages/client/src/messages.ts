/** The conversation as a list of messages, folded from the events of a call. */

import type { LocalSignal } from "./call-controller.ts";
import { Emitter } from "./emitter.ts";
import { readDeed } from "./deeds.ts";
import type { PermissionRule, ServerEvent } from "./protocol.generated.ts";

/** Something that was said, typed, or done by a tool. */
export interface Message {
  /** The same for as long as the message grows and changes. */
  readonly id: string;
  /** Who said it, or did it. */
  readonly from: "user" | "agent" | "tool";
  /** The agent's or the tool's name; "" for the user. */
  readonly name: string;
  /** The words, at least one; of a tool its result. After an interruption, only the words that were heard. */
  readonly text: string;
  /** The arguments of a tool, as JSON; "" otherwise. */
  readonly input: string;
  /** The words of the question for consent, of a tool that asked; "" otherwise. */
  readonly question: string;
  /** What a tool that asks may be allowed from now on, see `RealtimeClient.allowTool`. */
  readonly suggestedRules: readonly PermissionRule[];
  /**
   * growing: more may come; done; cut: interrupted; failed: speech that could not be written down whole, or a tool that
   * did not work; asking: a tool that waits for `RealtimeClient.allowTool`.
   */
  readonly status: "growing" | "done" | "cut" | "failed" | "asking";
}

/** The events of `Messages`. */
export interface MessagesEvents {
  /** The whole list, after each change. */
  change: readonly Message[];
}

/** The messages of the present call, or of the last one: tools, and what has words. */
export class Messages extends Emitter<MessagesEvents> {
  #all: readonly Message[] = [];
  #list: readonly Message[] = [];

  /** In the order of the conversation; a new list after each change. */
  get list(): readonly Message[] {
    return this.#list;
  }

  /** @internal */
  replace(list: readonly Message[]): void {
    if (list === this.#all) return;
    this.#all = list;
    // What is being recognised has a place already, and no words yet.
    const worded = list.filter(({ from, text }) => from === "tool" || text.trim() !== "");
    if (worded.length === this.#list.length && worded.every((message, at) => message === this.#list[at])) return;
    this.#list = worded;
    this.emit("change", worded);
  }
}

/** What a fold of messages remembers. */
export interface Conversation {
  readonly list: readonly Message[];
  /** Messages that no late event brings back. */
  readonly deleted: ReadonlySet<string>;
}

export const EMPTY: Conversation = { list: [], deleted: new Set() };

/** The conversation after an event. Pure. */
export function foldConversation(before: Conversation, event: ServerEvent | LocalSignal): Conversation {
  const { list, deleted } = before;
  switch (event.type) {
    case "agent_input_cleared":
    case "agent_item_deleted":
      return event.item_id === null ? before : without(before, event.item_id);
    case "agent_input_started": {
      // The same item again: a hasty end of turn was undone, and the user goes on.
      const alive = new Set(deleted);
      alive.delete(event.item_id);
      return { list: change(list, made(event.item_id, "user"), () => ({ status: "growing" })), deleted: alive };
    }
    case "agent_input_transcription_done":
      if (event.transcript.trim() === "") return without(before, event.item_id);
      break;
    default:
      break;
  }
  if ("item_id" in event && event.item_id !== null && deleted.has(event.item_id)) return before;
  const after = foldList(list, event);
  return after === list ? before : { list: after, deleted };
}

function without({ list, deleted }: Conversation, gone: string): Conversation {
  return { list: list.filter(({ id }) => id !== gone), deleted: new Set([...deleted, gone]) };
}

function foldList(list: readonly Message[], event: ServerEvent | LocalSignal): readonly Message[] {
  switch (event.type) {
    case "agent_input_transcription_delta":
      return grow(list, made(event.item_id, "user"), event.delta);
    case "agent_input_transcription_done":
      return settle(list, made(event.item_id, "user"), event.transcript);
    case "agent_input_transcription_failed":
      return change(list, made(event.item_id, "user"), () => ({ status: "failed" }));
    case "agent_item_added": {
      const { item, previous_item_id: previous } = event;
      if (item.role !== "user") return list;
      const text = item.content.map((part) => part.text ?? part.transcript ?? "").join(" ").trim();
      const placed = place(list, made(item.id, "user"), previous);
      return text === "" ? placed : settle(placed, made(item.id, "user"), text);
    }
    case "agent_response_audio_transcript_delta":
    case "agent_response_text_delta":
      return grow(list, made(event.item_id, "agent", event.agent_name), event.delta);
    case "agent_response_audio_transcript_done":
      return settle(list, made(event.item_id, "agent", event.agent_name), event.transcript);
    case "agent_response_text_done":
      return settle(list, made(event.item_id, "agent", event.agent_name), event.text);
    case "agent_item_truncated":
      // Where it comes first, it is added: the words that come late are not heard.
      return change(list, made(event.item_id, "agent", event.agent_name), ({ text }) => ({ text: event.transcript ?? text, status: "cut" }));
    case "agent_response_tool_use_done": {
      const { id, name, input, state, suggested_rules: suggestedRules = [] } = event.tool_use;
      return change(list, made(id, "tool", name), () => ({ input, suggestedRules, status: state === "asking" ? "asking" : "growing" }));
    }
    case "server_custom": {
      const deed = readDeed(event);
      if (deed?.name !== "consent_question") return list;
      const { tool_call_id: id, tool, question, state, input } = deed.value;
      const isOver = ({ status }: Message): boolean => state === "answered" && status === "asking";
      return change(list, made(id, "tool", tool), (old) => ({
        question,
        input: input ?? old.input,
        ...(isOver(old) && { status: "growing" }),
      }));
    }
    case "agent_response_tool_result": {
      const { id, name, output, state } = event.tool_result;
      // The bytes of a picture are no words.
      const text = typeof output === "string" ? output : output.map((part) => ("text" in part ? part.text : "(data)")).join(" ");
      return change(list, made(id, "tool", name), () => ({ text, status: state === "success" ? "done" : "failed" }));
    }
    case "agent_ended":
    case "server_session_ended":
    case "closed":
      return list.some(isOpen) ? list.map((old) => (isOpen(old) ? { ...old, status: "cut" } : old)) : list;
    default:
      return list;
  }
}

function isOpen({ status }: Message): boolean {
  return status === "growing" || status === "asking";
}

function made(id: string, from: Message["from"], name = ""): Message {
  return { id, from, name, text: "", input: "", question: "", suggestedRules: [], status: "growing" };
}

function grow(list: readonly Message[], message: Message, delta: string): readonly Message[] {
  return change(list, message, (old) => (old.status === "cut" ? {} : { text: old.text + delta, status: "growing" }));
}

function settle(list: readonly Message[], message: Message, text: string): readonly Message[] {
  return change(list, message, (old) => (old.status === "cut" ? {} : { text, status: "done" }));
}

/** Changes the message with this id; adds the changed `message` at the end where there is none. */
function change(list: readonly Message[], message: Message, how: (old: Message) => Partial<Message>): readonly Message[] {
  if (!list.some(({ id }) => id === message.id)) return [...list, { ...message, ...how(message) }];
  return list.map((old) => (old.id === message.id ? { ...old, ...how(old) } : old));
}

/** Puts a new message after the one with the id `previous`, else at the end. */
function place(list: readonly Message[], message: Message, previous: string | null): readonly Message[] {
  if (list.some(({ id }) => id === message.id)) return list;
  const at = list.findIndex(({ id }) => id === previous) + 1;
  return at === 0 ? [...list, message] : list.toSpliced(at, 0, message);
}
