import { describe, expect, test } from "vitest";
import { HeardWords } from "../src/heard.ts";
import { event } from "../../../test/events.ts";

const RATE_HZ = 24_000;
const FORMAT = { type: "audio/pcm", rate: RATE_HZ, encoding: "pcm16", sample_rate: RATE_HZ };

/** Speech of one item: each sentence comes right before its sound, as many ms long. */
function spoken(...sentences: [words: string, ms: number][]): HeardWords {
  const heard = new HeardWords();
  heard.receive(event("server_audio_item", { item_index: 1, item_id: "item_1", format: FORMAT }));
  let samples = 0;
  for (const [words, ms] of sentences) {
    heard.receive(event("agent_response_audio_transcript_delta", { item_id: "item_1", delta: words }));
    samples += (ms * RATE_HZ) / 1000;
    heard.receiveAudio(1, samples);
  }
  return heard;
}

function wordsHeard(heard: HeardWords, words: string, playedMs: number): string {
  heard.played("item_1", playedMs);
  return words.slice(0, heard.heard("item_1", words) ?? words.length);
}

describe("the words that were heard", () => {
  const words = "One two three four. Five six seven eight.";
  const sentences: [string, number][] = [["One two three four. ", 1000], ["Five six seven eight.", 3000]];

  test("follow the sound, sentence by sentence, to the end of a word", () => {
    const heard = spoken(...sentences);
    expect(wordsHeard(heard, words, 0)).toBe("");
    expect(wordsHeard(heard, words, 500)).toBe("One two three");
    expect(wordsHeard(heard, words, 1000)).toMatch(/^One two three four\.( Five)?$/);
    expect(wordsHeard(heard, words, 2500)).toMatch(/^One two three four\. Five six/);
    expect(wordsHeard(heard, words, 4000)).toBe(words);
  });

  test("are never fewer than before", () => {
    const heard = spoken(...sentences);
    const lengths = [900, 300, 0, 950].map((ms) => wordsHeard(heard, words, ms).length);
    expect(lengths.toSorted((one, other) => one - other)).toEqual(lengths);
  });

  test("do not run ahead where words come long before their sound", () => {
    const heard = new HeardWords();
    heard.receive(event("agent_response_audio_transcript_delta", { item_id: "item_1", delta: words }));
    heard.receive(event("agent_response_audio_delta", { item_id: "item_1", delta: "A".repeat(9600), format: FORMAT }));
    expect(wordsHeard(heard, words, 100)).toBe("One");
  });

  test("follow the sound also where the words come after it", () => {
    const heard = spoken(["", 4000]);
    heard.receive(event("agent_response_audio_transcript_delta", { item_id: "item_1", delta: words }));
    expect(wordsHeard(heard, words, 3000).length).toBeGreaterThan(words.length / 3);
    expect(wordsHeard(heard, words, 3000).length).toBeLessThan(words.length);
  });

  test("are all of them at the end, and of words without sound", () => {
    const heard = spoken(...sentences);
    heard.finished("item_1");
    expect(wordsHeard(heard, words, 10)).toBe(words);
    expect(new HeardWords().heard("item_9", words)).toBeNull();
  });

  test("are single characters in a script without spaces", () => {
    const heard = spoken(["你好我是语音助手很高兴", 2000]);
    expect(wordsHeard(heard, "你好我是语音助手很高兴", 1000).length).toBeGreaterThan(3);
    expect(wordsHeard(heard, "你好我是语音助手很高兴", 1000).length).toBeLessThan(8);
  });
});
