/** Which words of a recording sound when. */

import { describe, expect, test } from "vitest";
import type { CallInfo, Line } from "../src/call-reader.ts";
import { dayWords, deleteQuestion, durationWords, errorWords, firstWords, oddWords, placeWords } from "../src/call-words.ts";
import { lineAt, portionAt, stretchOf, wordAt } from "../src/sound-lines.ts";

const line = (item_id: string, from_ms: number, to_ms: number, kind: Line["kind"] = "speech"): Line => ({
  item_id, who: "Ann", kind, text: "Where is my order?", from_ms, to_ms,
});
const LINES = [line("a", 0, 1000), line("b", 2000, 4000), line("c", 3000, 5000), line("d", 6000, 7000, "text")];

describe("the line that sounds", () => {
  test("is the one that is spoken, of two at once the later one, and none in silence or in writing", () => {
    expect([0, 999, 1000, 2500, 3500, 4500, 6500].map((ms) => lineAt(LINES, ms)?.item_id ?? null)).toEqual([
      "a", "a", null, "b", "c", "c", null,
    ]);
  });

  test("a bubble sounds from its first to its last item", () => {
    expect(stretchOf(LINES, new Set(["b", "c", "x"]))).toEqual({ fromMs: 2000, toMs: 5000 });
    expect(stretchOf(LINES, new Set(["d", "x"]))).toBeNull();
  });

  test("a portion is bounded", () => {
    expect([-5, 0, 500, 5000].map((ms) => portionAt(LINES[0]!, ms))).toEqual([0, 0, 0.5, 1]);
    expect(portionAt(line("z", 5, 5), 9)).toBe(1);
  });
});

describe("the word that is said", () => {
  const said = (text: string, portion: number): string | null => {
    const place = wordAt(text, portion);
    return place && text.slice(...place);
  };

  test("moves from the first to the last word", () => {
    expect([0, 0.3, 0.5, 0.99, 1].map((portion) => said("Where is my order?", portion))).toEqual([
      "Where", "Where", "my", "order", "order",
    ]);
  });

  test("is found in writing without spaces, and nowhere without words", () => {
    expect(said("你好世界", 0)).not.toBeNull();
    expect([said("", 0.5), said("...", 0.5)]).toEqual([null, null]);
  });
});

describe("the words of a list", () => {
  const call: CallInfo = {
    call_id: "c", agent_name: "Friday", created_at: "2026-01-01T00:00:00.000Z", ended_at: "2026-01-01T00:01:05.000Z",
    live: false, ended_reason: "client_end",
  };

  test("a call is named by its first words, else by what is known", () => {
    expect(firstWords({ ...call, first_words: "Hello" })).toBe("Hello");
    expect(firstWords({ ...call, first_words: "" })).toBe("Nothing was said");
    expect(firstWords({ ...call, first_words: "", live: true })).toBe("Nothing was said yet");
    expect(firstWords(call)).toBe("A call with Friday");
  });

  test("durations, places, errors and days read as people say them", () => {
    const plain = (text: string): string => text.replaceAll("\u00a0", " ");
    const lasting = (ended_at: string | null): string => plain(durationWords({ ...call, ended_at }));
    expect(lasting("2026-01-01T00:00:09.000Z")).toBe("9 sec");
    expect(lasting("2026-01-01T00:01:05.000Z")).toBe("1 min 5 sec");
    expect(lasting("2026-01-01T00:02:00.000Z")).toBe("2 min");
    expect(lasting("2026-01-01T01:02:00.000Z")).toBe("1 hr 2 min");
    expect([lasting(null), lasting("2025-01-01T00:00:00.000Z"), lasting("soon")]).toEqual(["", "", ""]);
    expect([0, 65_400, 3_723_000].map(placeWords)).toEqual(["0:00", "1:05", "1:02:03"]);
    expect([null, 0, 1, 3].map((errors) => plain(errorWords(errors)))).toEqual(["", "", "1 error", "3 errors"]);
    const now = new Date(2026, 2, 1, 0, 5);
    expect(dayWords(new Date(2026, 2, 1).toISOString(), now)).toBe("Today");
    expect(dayWords(new Date(2026, 1, 28, 23, 59).toISOString(), now)).toBe("Yesterday");
    expect(dayWords(new Date(2025, 1, 28).toISOString(), now)).toContain("2025");
    expect(dayWords("soon", now)).toBe("");
  });

  test("an end is named where it is no plain one, and a question says what is lost", () => {
    expect(oddWords(call)).toBe("");
    expect(oddWords({ ...call, ended_reason: "idle" })).toBe("Ended: nobody spoke");
    expect(oddWords({ ...call, ended_at: null, ended_reason: null })).toBe("Cut off with its server");
    expect(deleteQuestion({ ...call, recorded: true })).toBe("Delete this call and its sound for good?");
    expect(deleteQuestion({ ...call, live: true })).toBe("End this call and delete it?");
  });
});
