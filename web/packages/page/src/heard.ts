/** How much of each spoken caption was heard so far, from the speech that came and what of it was played. Pure. */

import type { ServerEvent } from "@realtime-voice/client";

/** Nobody speaks faster: words that come ahead of their sound count as heard no sooner. */
const MAX_CHARS_PER_MS = 0.025;
/** How far the words may be from an even pace. */
const SLACK_CHARS = 12;
/** Captions whose sound is remembered. */
const KEPT_ITEMS = 32;
const BYTES_PER_SAMPLE = 2;
const DEFAULT_RATE_HZ = 24_000;

interface Spoken {
  /** How many characters there were when how much of the sound had come. */
  readonly marks: { readonly ms: number; readonly chars: number }[];
  chars: number;
  soundMs: number;
  playedMs: number;
  /** All of it was played. */
  over: boolean;
  heardChars: number;
}

export class HeardWords {
  readonly #spoken = new Map<string, Spoken>();
  readonly #ofIndex = new Map<number, { itemId: string; rateHz: number }>();

  receive(event: ServerEvent): void {
    switch (event.type) {
      case "server_audio_item":
        this.#ofIndex.set(event.item_index, { itemId: event.item_id, rateHz: rateOf(event.format) });
        return;
      case "agent_response_audio_transcript_delta": {
        const spoken = this.#item(event.item_id);
        if (spoken.marks.at(-1)?.ms !== spoken.soundMs) spoken.marks.push({ ms: spoken.soundMs, chars: spoken.chars });
        spoken.chars += event.delta.length;
        return;
      }
      case "agent_response_audio_delta":
        this.#add(event.item_id, (event.delta.length * 3) / 4 / BYTES_PER_SAMPLE, rateOf(event.format));
        return;
      default:
        return;
    }
  }

  /** Speech of a binary frame: all samples of the part up to `endSample`. */
  receiveAudio(itemIndex: number, endSample: number): void {
    const part = this.#ofIndex.get(itemIndex);
    if (!part) return;
    const spoken = this.#item(part.itemId);
    spoken.soundMs = Math.max(spoken.soundMs, (endSample * 1000) / part.rateHz);
  }

  played(itemId: string, playedMs: number): void {
    const spoken = this.#spoken.get(itemId);
    if (spoken) spoken.playedMs = Math.max(spoken.playedMs, playedMs);
  }

  finished(itemId: string): void {
    const spoken = this.#spoken.get(itemId);
    if (spoken) spoken.over = true;
  }

  /** How many characters of the words were heard, to the end of a word; null where nothing was spoken here. */
  heard(itemId: string, words: string): number | null {
    const spoken = this.#spoken.get(itemId);
    if (!spoken || spoken.soundMs === 0) return null;
    if (spoken.over) return words.length;
    const chars = Math.round(Math.min(charsAt(spoken), MAX_CHARS_PER_MS * spoken.playedMs, words.length));
    spoken.heardChars = Math.max(spoken.heardChars, chars);
    return endOfWord(words, spoken.heardChars);
  }

  #add(itemId: string, samples: number, rateHz: number): void {
    this.#item(itemId).soundMs += (samples * 1000) / rateHz;
  }

  #item(itemId: string): Spoken {
    let spoken = this.#spoken.get(itemId);
    if (!spoken) {
      spoken = { marks: [], chars: 0, soundMs: 0, playedMs: 0, over: false, heardChars: 0 };
      this.#spoken.set(itemId, spoken);
      const [oldest] = this.#spoken.keys();
      if (this.#spoken.size > KEPT_ITEMS && oldest !== undefined) this.#spoken.delete(oldest);
    }
    return spoken;
  }
}

/**
 * The words that go with the sound played so far. By what came together, as far as that agrees with an even pace: of
 * some models the words come before their sound, of some after it.
 */
function charsAt({ marks, chars, soundMs, playedMs }: Spoken): number {
  if (playedMs >= soundMs) return chars;
  const next = marks.findIndex(({ ms }) => ms > playedMs);
  const from = marks.at(next === -1 ? -1 : next - 1) ?? { ms: 0, chars: 0 };
  const to = marks[next] ?? { ms: soundMs, chars };
  const share = to.ms > from.ms ? (playedMs - from.ms) / (to.ms - from.ms) : 0;
  const even = (chars * playedMs) / soundMs;
  return Math.max(even - SLACK_CHARS, Math.min(even + SLACK_CHARS, from.chars + share * (to.chars - from.chars)));
}

/** The end of the word that `at` is in; scripts without spaces have words of one character. */
function endOfWord(words: string, at: number): number {
  if (at <= 0) return 0;
  const rest = words.slice(at).search(/[\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u);
  return rest === -1 ? words.length : at + rest;
}

function rateOf({ rate, sample_rate: sampleRate }: { rate?: number | null; sample_rate?: number | null }): number {
  return rate ?? sampleRate ?? DEFAULT_RATE_HZ;
}
