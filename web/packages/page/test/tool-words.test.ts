/** How far a tool is, in words. How it is drawn: `tests/web/test_page_tools.py`. */

import { afterEach, describe, expect, test } from "vitest";
import type { ServerEvent } from "@realtime-voice/client";
import { event } from "../../../test/events.ts";
import { NO_CAPTIONS, foldCaptions } from "../src/captions.ts";
import { say, useLanguage } from "../src/texts.ts";
import { stateOf } from "../src/tool-words.ts";

const used = (state: "pending" | "asking" | "finished") =>
  event("agent_response_tool_use_done", {
    item_id: "i1",
    response_id: "r1",
    tool_use: { type: "tool_call", id: "t1", name: "pay", input: "{}", state },
  });
const gave = (state: "success" | "denied" | "interrupted") =>
  event("agent_response_tool_result", {
    response_id: "r1",
    tool_result: { type: "tool_result", id: "t1", name: "pay", output: "", state },
  });
const about = { tool_call_id: "t1", tool: "pay", question: "Shall I pay?" };
const asks = (state: string) => event("server_custom", { name: "consent_question", value: { ...about, by: "voice", state, n: 1 } });
const receipt = (answer: string, answered_by: string) =>
  event("server_custom", {
    name: "consent_receipt",
    value: {
      ...about,
      question_item_id: null,
      question_played_ms: 0,
      heard_whole: false,
      answered_by,
      answer,
      words: "",
      answer_start_ms: null,
      answer_end_ms: null,
      participant: null,
      recording: null,
      done: "denied",
    },
  });

const words = (...events: ServerEvent[]): string => {
  const [bubble] = events.reduce(foldCaptions, NO_CAPTIONS).bubbles;
  return bubble ? say(stateOf(bubble)) : "";
};

afterEach(() => useLanguage("en"));

describe("how far a tool is", () => {
  test("what no one was asked about was not allowed, and no user refused it", () => {
    expect(words(used("pending"), gave("denied"))).toBe("Did not run: not allowed");
    expect(words(used("finished"), gave("denied"))).toBe("Did not run: not allowed");
  });

  test.each([
    ["de", "Nicht ausgeführt: nicht erlaubt"],
    ["es", "No se ejecutó: no está permitido"],
    ["zh", "没有运行：不允许"],
  ] as const)("the same in %s", async (language, said) => {
    await useLanguage(language);
    expect(words(used("pending"), gave("denied"))).toBe(said);
  });

  test("a no is a refusal, on a card as aloud, with its receipt still to come or without any", () => {
    const aloud = [used("pending"), asks("asking"), asks("answered"), gave("denied")];
    expect(words(...aloud)).toBe("You refused it");
    expect(words(...aloud, receipt("no", "voice"))).toBe("You refused it");
    expect(words(used("asking"), gave("denied"))).toBe("You refused it");
  });

  test("silence, or a rule about what the user changed, is no refusal", () => {
    expect(words(used("asking"), asks("answered"), gave("denied"), receipt("silence", "timeout"))).toBe("Did not run");
    expect(words(used("asking"), asks("answered"), gave("denied"), receipt("change", "rule"))).toBe("Did not run");
  });

  test("any other end, and the way there", () => {
    expect(words(used("pending"))).toBe("Working on it…");
    expect(words(used("asking"))).toBe("Asks for your consent");
    expect(words(used("pending"), gave("success"))).toBe("Done");
    expect(words(used("pending"), gave("interrupted"))).toBe("Stopped");
  });
});
