/** What a bubble shows of a message. How it is drawn: `tests/web/test_transcript.py`. */

import { describe, expect, test } from "vitest";
import type { ClaimWithheld, ConsentReceipt } from "@realtime-voice/client";
import { CallDeeds } from "../src/call-deeds.ts";
import { HttpProblem, problemWords } from "../src/call-reader.ts";
import { endedWords, startedWords } from "../src/call-words.ts";
import { AssistantMsg, type ContentBlockInput, UserMsg } from "@realtime-voice/messages";
import { type Part, bubbleOf, labelOf, linkTo, rawRateHz, ruleWords, sizeWords } from "../src/message-bubbles.ts";

const parts = (...content: ContentBlockInput[]): readonly Part[] => bubbleOf(AssistantMsg("Friday", content)).parts;
const call = (id: string, state: "pending" | "asking" | "finished" = "finished"): ContentBlockInput => ({
  type: "tool_call",
  id,
  name: "weather",
  input: '{"city": "Bonn"}',
  state,
});
const result = (id: string): ContentBlockInput => ({ type: "tool_result", id, name: "weather", output: "Sunny.", state: "success" });

describe("the label of a hint", () => {
  test("MSG-51, EVT-46: a source in JSON shows its label, else its name", () => {
    expect(labelOf('{"label": "clock", "icon": "time"}')).toBe("clock");
    expect(labelOf('{"name": "team", "label": ""}')).toBe("team");
    expect(labelOf('"calendar"')).toBe("calendar");
    const [hint] = parts({ type: "hint", hint: "It is noon.", source: '{"label": "clock"}' });
    expect(hint).toMatchObject({ kind: "hint", label: "clock", parts: [{ kind: "text", text: "It is noon." }] });
  });

  test("a source in plain words is shown as it is, and one that says nothing is a hint", () => {
    for (const plain of ["the weather service", "{not JSON", "42", "true"]) expect(labelOf(plain)).toBe(plain);
    for (const empty of [null, "", " ", "{}", "[]", '{"label": 3}', '{"label": "  "}', '""']) expect(labelOf(empty)).toBe("Hint");
  });
});

describe("the parts of a bubble", () => {
  test("three rounds of tools are one bubble, each call with its result", () => {
    const text = (words: string): ContentBlockInput => ({ type: "text", text: words });
    const shown = parts(text("One."), call("a"), result("a"), text("Two."), call("b"), result("b"), call("c"), result("c"), text("So."));
    expect(shown.map((part) => (part.kind === "tool" ? [part.state, part.output.length] : part.kind))).toEqual([
      "text", ["done", 1], "text", ["done", 1], ["done", 1], "text",
    ]);
  });

  test("a call without a result says what it waits for, a result without its call stands alone", () => {
    expect(parts(call("a", "pending"), call("b", "asking"), result("lost"))).toMatchObject([
      { state: "preparing", asking: null, output: [] },
      { state: "asks for consent", asking: { id: "b" } },
      { name: "weather", state: "done", input: "", output: [{ text: "Sunny." }] },
    ]);
  });

  test("a call shows its receipt, words the claims that were withheld there", () => {
    const deeds = new CallDeeds();
    const receipt = { tool_call_id: "a", question: "Shall I?" } as ConsentReceipt;
    const claim = { item_id: "t", sentence: "I booked it." } as ClaimWithheld;
    expect(deeds.add({ name: "consent_receipt", value: receipt })).toBe("a");
    for (let told = 0; told < 2; told++) expect(deeds.add({ name: "claim_withheld", value: claim })).toBe("t");
    const text: ContentBlockInput = { type: "text", text: "I did not book it.", id: "t" };
    expect(bubbleOf(AssistantMsg("Friday", [call("a"), result("a"), call("b"), text]), deeds).parts).toMatchObject([
      { kind: "tool", receipt },
      { kind: "tool", receipt: null },
      { kind: "text" },
      { kind: "claim", claims: [claim] },
    ]);
  });

  test("data shows its kind; growing data shows no size", () => {
    const base64 = (media_type: string) => ({ type: "base64" as const, data: "AAAA", media_type });
    const shown = parts(
      { type: "data", source: base64("audio/pcm;rate=16000"), name: "greeting" },
      { type: "data", source: base64("Image/PNG"), created_at: "2026-01-01T00:00:00.000Z" },
      { type: "data", source: base64("application/pdf") },
      { type: "data", source: { type: "url", url: "https://host.example/a.png", media_type: "image/png" } },
    );
    expect(shown).toMatchObject([
      { shape: "audio", title: "greeting", type: "audio/pcm", isGrowing: false },
      { shape: "image", title: "Picture", type: "image/png", isGrowing: true },
      { shape: "file", title: "File", isGrowing: false },
      { shape: "link", title: "Link" },
    ]);
  });

  test("says who speaks, and how a reply ended that did not end as wanted", () => {
    expect(bubbleOf(UserMsg("user", "Hello"))).toMatchObject({ side: "user", who: "User", mark: "" });
    expect(bubbleOf(AssistantMsg("Friday", "Hel", { finished_reason: "interrupted" })).mark).toBe("Interrupted here");
    expect(bubbleOf(AssistantMsg("", "", { finished_reason: "error", error: "no quota" }))).toMatchObject({
      side: "agent",
      who: "Agent",
      mark: "Failed: no quota",
    });
  });
});

describe("words", () => {
  test("an address becomes a link only where it opens a page", () => {
    expect(linkTo("https://host.example/a")).toBe("https://host.example/a");
    for (const bad of ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "a.html"]) expect(linkTo(bad)).toBeNull();
  });

  test("raw samples have the rate that their type tells", () => {
    expect(rawRateHz("audio/pcm;rate=16000")).toBe(16_000);
    expect(rawRateHz("audio/pcm")).toBe(24_000);
    expect(rawRateHz("audio/wav")).toBeNull();
  });

  test("sizes and rules are short", () => {
    expect([999, 1_500, 2_340_000].map(sizeWords)).toEqual(["999 B", "1.5 kB", "2.3 MB"]);
    const rule = { tool_name: "pay", rule_content: "amount < 10", behavior: "allow" as const, source: "" };
    expect(ruleWords(rule)).toBe("Always allow pay (amount < 10)");
    expect(ruleWords({ ...rule, behavior: "deny", rule_content: null })).toBe("Never allow pay");
  });

  test("every problem says what happened", () => {
    expect(problemWords(new TypeError()).what).toContain("cannot be reached");
    expect(problemWords(new HttpProblem(401, "")).what).toContain("token");
    expect(problemWords(new HttpProblem(403, "calls_not_listed")).what).toContain("lists no calls");
    expect(problemWords(new HttpProblem(404, "unknown_call")).what).toContain("no such call");
    expect(problemWords(new HttpProblem(503, "store_failed")).todo).toContain("again");
  });

  test("a call is named by its agent, and its end by its reason", () => {
    const info = { call_id: "c", agent_name: "Friday", created_at: "", ended_at: null, ended_reason: null, live: true };
    expect(startedWords(info)).toBe("Friday");
    expect(endedWords(info)).toBe("Ended");
    expect(endedWords({ ...info, live: false })).toBe("Cut off with its server");
    expect(endedWords({ ...info, ended_at: "now", ended_reason: "idle" })).toBe("Ended: nobody spoke");
    expect(endedWords({ ...info, ended_at: "now", ended_reason: "something_new" })).toBe("Ended");
  });
});
