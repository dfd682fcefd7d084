/** Messages in the order of the conversation: a reply that waited for the user's answer goes on below that answer. Pure. */

import type { ContentBlock, MsgData } from "@realtime-voice/messages";

/** What is shown in one bubble: a message, or a piece of one. */
export interface Piece {
  /** Unique, and stable while the message grows. */
  readonly key: string;
  /** The id of the whole message. */
  readonly of: string;
  readonly msg: MsgData;
}

/**
 * Splits each message of an agent where a user's message began between two of its blocks, such as the "yes" to a tool that
 * asked. A tool's result stays with its call. Messages come in the order of their beginnings.
 */
export function inOrder(messages: readonly MsgData[]): Piece[] {
  const said = messages.filter(({ role }) => role === "user").map(({ created_at }) => Date.parse(created_at));
  const pieces: Piece[] = [];
  const later: Piece[] = [];
  for (const msg of messages) {
    const [first, ...rest] = msg.role === "assistant" ? split(msg, said) : [whole(msg)];
    if (first) pieces.push(first);
    later.push(...rest);
  }
  for (const piece of later) {
    const before = pieces.findLastIndex(({ msg }) => Date.parse(msg.created_at) <= Date.parse(piece.msg.created_at));
    pieces.splice(before + 1, 0, piece);
  }
  return pieces;
}

function whole(msg: MsgData): Piece {
  return { key: msg.id, of: msg.id, msg };
}

function split(msg: MsgData, said: readonly number[]): Piece[] {
  const contents: ContentBlock[][] = [[]];
  let fromMs = Date.parse(msg.created_at);
  for (const block of msg.content) {
    const atMs = block.created_at == null ? fromMs : Date.parse(block.created_at);
    const last = contents.at(-1)!;
    if (block.type === "tool_result") {
      (contents.find((content) => content.some(({ type, id }) => type === "tool_call" && id === block.id)) ?? last).push(block);
    } else if (last.length > 0 && said.some((saidMs) => saidMs > fromMs && saidMs < atMs)) {
      contents.push([block]);
      fromMs = atMs;
    } else {
      last.push(block);
      // What was said before this block is not between it and the next.
      fromMs = Math.max(fromMs, atMs);
    }
  }
  if (contents.length === 1) return [whole(msg)];
  return contents.map((content, place) => ({
    key: place === 0 ? msg.id : `${msg.id} ${place}`,
    of: msg.id,
    msg: {
      ...msg,
      content,
      created_at: (place > 0 && content[0]?.created_at) || msg.created_at,
      // How it ended stands at its end.
      ...(place < contents.length - 1 && { finished_reason: "completed" as const, finished_at: content.at(-1)?.finished_at ?? msg.finished_at }),
    },
  }));
}
