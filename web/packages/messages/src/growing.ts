/**
 * Binary content that arrives in pieces: collects the bytes, and joins and encodes them when `data` is read.
 *
 * Decoding and encoding everything for each piece would take an hour for an hour of audio.
 */

import { decodeBase64, encodeBase64 } from "./base64.ts";
import type { Base64Source, DataBlock } from "./types.generated.ts";

const PIECES = Symbol("pieces");

interface Pieces {
  add(bytes: Uint8Array): void;
  joined(): Uint8Array;
}

type Growing = Base64Source & { [PIECES]?: Pieces };

/** A source to which bytes can be added. In JSON it is a plain object; `data` is base64 text, made on reading. */
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

/** Appends `bytes` to a block; does nothing for a block with a URL. */
export function addBytes(block: DataBlock, bytes: Uint8Array): void {
  if (block.source.type !== "base64") return;
  let pieces = (block.source as Growing)[PIECES];
  if (!pieces) {
    block.source = growingSource(block.source.media_type, decodeBase64(block.source.data));
    pieces = (block.source as Growing)[PIECES]!;
  }
  pieces.add(bytes);
}

/** The bytes of a block received so far, without base64; null for a block with a URL. */
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
