/** Which words of a call sound at a moment of its recording. Pure. */

import type { Line } from "./call-reader.ts";

/** A stretch of the recording, in ms. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The line that sounds at this moment; of several the one that began last. Null in silence. */
export function lineAt(lines: readonly Line[], ms: number): Line | null {
  let found: Line | null = null;
  for (const line of lines) {
    if (line.kind !== "speech" || ms < line.from_ms || ms >= line.to_ms) continue;
    if (!found || line.from_ms >= found.from_ms) found = line;
  }
  return found;
}

/** From the first to the last sound of these items; null where none of them sounds. */
export function stretchOf(lines: readonly Line[], itemIds: ReadonlySet<string>): Stretch | null {
  const spoken = lines.filter((line) => line.kind === "speech" && itemIds.has(line.item_id));
  if (spoken.length === 0) return null;
  return {
    fromMs: Math.min(...spoken.map((line) => line.from_ms)),
    toMs: Math.max(...spoken.map((line) => line.to_ms)),
  };
}

/** How much of a line is over at this moment, 0..1: inside a line only its begin and end are known. */
export function portionAt({ from_ms, to_ms }: Line, ms: number): number {
  return Math.min(1, Math.max(0, (ms - from_ms) / Math.max(1, to_ms - from_ms)));
}

const words = new Intl.Segmenter(undefined, { granularity: "word" });

/** Where the word stands that is said after this portion (0..1) of the text: [begin, end]. Null without words. */
export function wordAt(text: string, portion: number): readonly [number, number] | null {
  const place = Math.min(text.length - 1, Math.floor(text.length * portion));
  let last: readonly [number, number] | null = null;
  for (const { index, segment, isWordLike } of words.segment(text)) {
    // Between two words, the one before is said.
    if (last && index > place) break;
    if (isWordLike) last = [index, index + segment.length];
    if (last && index + segment.length > place) break;
  }
  return last;
}
