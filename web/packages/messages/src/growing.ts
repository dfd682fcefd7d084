/**
 * Binary content that arrives in pieces: the bytes are collected, and joined and encoded when somebody reads `data`.
 *
 * To decode and encode all of it for each piece would take an hour for an hour of audio.
 */

import { decodeBase64, encodeBase64 } from "./base64.ts";
import type { Base64Source, DataBlock } from "./types.generated.ts";

const PIECES = Symbol("pieces");

interface Pieces {
  add(bytes: Uint8Array): void;
  joined(): Uint8Array;
}

type Growing = Base64Source & { [PIECES]?: Pieces };

/** A source to which bytes can be added. It is a plain object in JSON: `data` is base64 text, made when it is read. */
export function growingSource(media_type: string, first: Uint8Array): Base64Source {
  let parts = [first];
  let text: string | null = null;
  const pieces: Pieces = {
    add(bytes) {
      parts.push(bytes);
      text = null;
    },
    joined() {
      if (parts.length > 1) parts = [join(parts)];
      return parts[0]!;
    },
  };
  const source: Base64Source = {
    type: "base64",
    media_type,
    get data() {
      return (text ??= encodeBase64(pieces.joined()));
    },
    set data(replaced) {
      parts = [decodeBase64(replaced)];
      text = null;
    },
  };
  return Object.defineProperty(source, PIECES, { value: pieces });
}

/** Put `bytes` to the end of a block. One with a URL does not grow. */
export function addBytes(block: DataBlock, bytes: Uint8Array): void {
  if (block.source.type !== "base64") return;
  let pieces = (block.source as Growing)[PIECES];
  if (!pieces) {
    block.source = growingSource(block.source.media_type, decodeBase64(block.source.data));
    pieces = (block.source as Growing)[PIECES]!;
  }
  pieces.add(bytes);
}

/** The bytes of a block as far as received, without the way over base64; null where it has a URL. */
export function dataBytes(block: DataBlock): Uint8Array | null {
  if (block.source.type !== "base64") return null;
  return (block.source as Growing)[PIECES]?.joined() ?? decodeBase64(block.source.data);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}
