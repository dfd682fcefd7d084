import { describe, expect, test } from "vitest";
import { type Bubble, NO_CAPTIONS, callIdOf, foldCaptions, isTakenBack, visibleBubbles } from "../src/captions.ts";
import type { ServerEvent } from "@realtime-voice/client";
import { event } from "../../../test/events.ts";

const fold = (...events: ServerEvent[]) => events.reduce(foldCaptions, NO_CAPTIONS);
/** What a reader sees: side, words and whether they still grow. */
const seen = (...events: ServerEvent[]) =>
  visibleBubbles(fold(...events)).map(({ side, text, status }: Bubble) => `${side} ${status}: ${text}`);

const started = (item_id: string) => event("agent_input_started", { item_id });
const heard = (item_id: string, delta: string) => event("agent_input_transcription_delta", { item_id, delta });
const written = (item_id: string, transcript: string) => event("agent_input_transcription_done", { item_id, transcript });
const says = (item_id: string, delta: string, response_id = "r1") =>
  event("agent_response_audio_transcript_delta", { item_id, delta, response_id });
const said = (item_id: string, transcript: string) =>
  event("agent_response_audio_transcript_done", { item_id, transcript, response_id: "r1" });
const cut = (item_id: string, transcript: string | null) => event("agent_item_truncated", { item_id, transcript });
const deleted = (item_id: string) => event("agent_item_deleted", { item_id });

describe("a turn", () => {
  test("shows the user's bubble when the voice begins, and grows until the words are final", () => {
    expect(seen(started("u1"))).toEqual(["user live: "]);
    expect(seen(started("u1"), heard("u1", "what "), heard("u1", "thyme"))).toEqual(["user live: what thyme"]);
    expect(seen(started("u1"), heard("u1", "what thyme"), written("u1", "What time is it?"))).toEqual([
      "user done: What time is it?",
    ]);
  });

  test("keeps the order of speaking when the user's words come after the agent's", () => {
    expect(seen(started("u1"), says("a1", "It is "), says("a1", "noon."), written("u1", "What time?"), said("a1", "It is noon."))).toEqual([
      "user done: What time?",
      "agent done: It is noon.",
    ]);
  });

  test("speech without words leaves no bubble, speech that failed says so", () => {
    expect(seen(started("u1"), written("u1", ""))).toEqual([]);
    expect(seen(started("u1"), event("agent_input_transcription_failed", { item_id: "u1" }))).toEqual(["user failed: "]);
  });

  test("a text answer grows like a spoken one", () => {
    const delta = event("agent_response_text_delta", { item_id: "a1", delta: "Hel" });
    expect(seen(delta)).toEqual(["agent live: Hel"]);
    expect(seen(delta, event("agent_response_text_done", { item_id: "a1", text: "Hello." }))).toEqual(["agent done: Hello."]);
  });

  test("a response that is done leaves nothing growing", () => {
    const done = event("agent_response_done", { response_id: "r1", status: "cancelled" });
    expect(seen(says("a1", "I was"), done)).toEqual(["agent done: I was"]);
  });
});

describe("typed text", () => {
  const content = [{ type: "text" as const, text: "hello" }];
  const added = (id: string, previous_item_id: string | null, fields = {}) =>
    event("agent_item_added", {
      item: { id, type: "message", role: "user", name: null, status: "completed", content, tool_call: null, tool_result: null, ...fields },
      previous_item_id,
    });

  test("appears as the user's bubble, behind the item that it follows", () => {
    expect(seen(added("u1", null))).toEqual(["user done: hello"]);
    expect(seen(written("u1", "one"), said("a1", "two"), added("u2", "u1"))).toEqual([
      "user done: one",
      "user done: hello",
      "agent done: two",
    ]);
  });

  test("an item that is there keeps its words when it is added without any", () => {
    expect(seen(written("u1", "one"), added("u1", null, { content: [] }))).toEqual(["user done: one"]);
  });

  test("the agent's items wait for their words", () => {
    expect(seen(added("a1", null, { role: "assistant", content: [] }))).toEqual([]);
  });
});

describe("barge-in", () => {
  test("cuts the words to what was heard, and nothing late brings them back", () => {
    const events = [says("a1", "One two three four."), cut("a1", "One two"), says("a1", " five"), said("a1", "One two three")];
    expect(seen(...events)).toEqual(["agent cut: One two"]);
  });

  test("an answer of which nothing was heard leaves no bubble", () => {
    expect(seen(says("a1", "One"), cut("a1", ""), says("a1", " two"))).toEqual([]);
    expect(seen(cut("a1", ""), says("a1", "One"))).toEqual([]);
  });

  test("where the heard words are unknown, the words stay", () => {
    expect(seen(says("a1", "One two"), cut("a1", null))).toEqual(["agent cut: One two"]);
  });
});

describe("a voice over a reply", () => {
  const decided = (state: "possible" | "confirmed" | "dismissed", reason = "", item_id: string | null = "a1") =>
    event("agent_interruption", { state, reason, item_id });
  const reply = (...events: ServerEvent[]) => fold(says("a1", "One two"), ...events).bubbles[0];

  test("leaves the reason why it stopped the reply", () => {
    expect(reply(decided("possible"), decided("confirmed", "stop_words"), cut("a1", "One"))).toMatchObject({
      text: "One",
      status: "cut",
      stoppedBy: "stop_words",
    });
  });

  test("leaves each reason once why it did not", () => {
    const coughs = [decided("dismissed", "no_words"), decided("dismissed", "backchannel"), decided("dismissed", "no_words")];
    expect(reply(...coughs)?.ignored).toEqual(["no_words", "backchannel"]);
    expect(reply(...coughs)?.stoppedBy).toBeUndefined();
  });

  test("leaves nothing while it is undecided, or over no known reply", () => {
    expect(reply(decided("possible"))).toEqual(reply());
    expect(reply(decided("dismissed", "echo", null), decided("dismissed", "echo", "a2"))).toEqual(reply());
  });
});

describe("a hasty end of turn that is undone", () => {
  test("removes the reply, and the user's bubble grows on to one text", () => {
    const events = [started("u1"), written("u1", "I would like"), says("a1", "Sure"), deleted("a1"), started("u1")];
    expect(seen(...events)).toEqual(["user live: I would like"]);
    expect(seen(...events, says("a1", " thing"), written("u1", "I would like a trip."))).toEqual([
      "user done: I would like a trip.",
    ]);
  });

  test("of two user items merged into one, the deleted one is gone", () => {
    const events = [written("u1", "I would like"), started("u2"), deleted("u1"), written("u2", "I would like a trip.")];
    expect(seen(...events)).toEqual(["user done: I would like a trip."]);
  });
});

test("a tool shows its arguments, then its result", () => {
  const tool_use = { type: "tool_call" as const, id: "t1", name: "add", input: '{"a": 1}', state: "pending" as const };
  const tool_result = { type: "tool_result" as const, id: "t1", name: "add", output: "2", state: "success" as const };
  const used = event("agent_response_tool_use_done", { tool_use });
  expect(seen(used)).toEqual(['tool live: {"a": 1}']);
  expect(seen(used, event("agent_response_tool_result", { tool_result }))).toEqual(['tool done: {"a": 1} → 2']);
  const bare = event("agent_response_tool_use_done", { tool_use: { ...tool_use, input: "{}" } });
  expect(seen(bare, event("agent_response_tool_result", { tool_result }))).toEqual(["tool done: → 2"]);
});

test("a line tells who has the call after a transfer", () => {
  const value = { from: "Ann", to: "Ben" };
  expect(seen(says("a1", "Bye."), event("server_custom", { name: "agent_changed", value }))).toEqual([
    "agent live: Bye.",
    "change done: Now speaking with Ben",
  ]);
  expect(seen(event("server_custom", { name: "order_placed", value }))).toEqual([]);
});

test("latency is kept by response, in the order of its stages", () => {
  const latency = { response_id: "r1", latency_ms: 710, stages_ms: { turn_end: 310, played: 400 }, estimated: true };
  expect(fold(event("server_latency", latency)).latencies).toEqual({
    r1: { totalMs: 710, stages: [["turn_end", 310], ["played", 400]], estimated: true },
  });
});

test("what a server of an earlier version measured is no wait", () => {
  expect(fold(event("server_latency", { response_id: "r1", latency_ms: null })).latencies).toEqual({});
});

test("events that say nothing leave the captions as they are", () => {
  const captions = fold(written("u1", "one"));
  expect(foldCaptions(captions, event("server_audio_received"))).toBe(captions);
});

describe("a tool that asks", () => {
  const use = (state: "pending" | "asking", input = '{"amount": 5}') =>
    event("agent_response_tool_use_done", { tool_use: { type: "tool_call", id: "c1", name: "pay", input, state } });
  const result = (output: string) =>
    event("agent_response_tool_result", { tool_result: { type: "tool_result", id: "c1", name: "pay", output, state: "success" } });
  const allowed = (input: string) =>
    event("agent_item_done", {
      item: {
        id: "use_1", type: "tool_call", role: null, name: null, status: "completed", content: [], tool_result: null,
        tool_call: { type: "tool_call", id: "c1", name: "pay", input, state: "allowed" },
      },
    });

  test("waits until the user has agreed, then runs with what was agreed to", () => {
    expect(seen(use("asking"))).toEqual(['tool asking: {"amount": 5}']);
    expect(seen(use("asking", "{}"))).toEqual(["tool asking: "]);
    expect(seen(use("asking"), allowed('{"amount": 4}'))).toEqual(['tool live: {"amount": 4}']);
    expect(seen(use("asking"), allowed('{"amount": 4}'), result("paid"))).toEqual(['tool done: {"amount": 4} → paid']);
    expect(fold(use("asking")).bubbles.map(callIdOf)).toEqual(["c1"]);
  });

  test("ends with a refusal and with the call", () => {
    expect(seen(use("asking", "{}"), result("the user refused"))).toEqual(["tool done: → the user refused"]);
    expect(seen(use("asking"), event("agent_ended"))).toEqual(['tool cut: {"amount": 5}']);
    expect(seen(use("pending"), event("agent_ended"))).toEqual(['tool live: {"amount": 5}']);
  });
});

describe("what a tool does", () => {
  const tool_use = { type: "tool_call" as const, id: "t1", name: "find", input: '{"a": 1}', state: "pending" as const };
  const used = event("agent_response_tool_use_done", { tool_use });
  const work = (...events: ServerEvent[]) => events.reduce(foldCaptions, NO_CAPTIONS).bubbles.at(-1)?.tool;

  test("is what it was given, its latest note, its growing result, and how it ended", () => {
    expect(work(used)).toEqual({ input: '{"a": 1}', note: "", output: "", outcome: null });
    const noted = ["one", "two"].map((delta) => event("agent_tool_progress", { tool_call_id: "t1", delta, kind: "note" }));
    expect(work(used, ...noted)).toMatchObject({ note: "two", output: "" });
    const grown = ["12 ", "degrees"].map((delta) => event("agent_tool_progress", { tool_call_id: "t1", delta, kind: "result" }));
    expect(work(used, ...grown)).toMatchObject({ output: "12 degrees", outcome: null });
    const tool_result = { type: "tool_result" as const, id: "t1", name: "find", output: "12", state: "error" as const };
    expect(work(used, ...grown, event("agent_response_tool_result", { tool_result }))).toMatchObject({ output: "12", outcome: "error" });
  });
});

test("the words after an interruption are kept beside those that were heard", () => {
  const spoken = event("agent_response_audio_transcript_delta", { item_id: "a1", delta: "One two three four." });
  const cut = (transcript: string) => event("agent_item_truncated", { item_id: "a1", transcript });
  const lost = (...events: ServerEvent[]) => events.reduce(foldCaptions, NO_CAPTIONS).bubbles.at(-1)?.lost;
  expect(lost(spoken, cut("One two"))).toBe("three four.");
  expect(lost(spoken, cut("One two"), cut("One two three"))).toBe("four.");
  expect(lost(spoken, cut("Other words"))).toBe("");
});

test("pictures without words between them are one bubble", () => {
  const picture = (id: string) => {
    const golden = event("agent_item_added").item;
    return event("agent_item_added", { item: { ...golden, id, content: [{ type: "image", media_type: "image/jpeg" }] } });
  };
  const { bubbles } = [picture("p1"), picture("p2"), picture("p3")].reduce(foldCaptions, NO_CAPTIONS);
  expect(bubbles.map(({ id, status, pictures }) => [id, status, pictures])).toEqual([["p1", "done", 3]]);
});

describe("consent", () => {
  const RULE = { tool_name: "book", rule_content: null, behavior: "allow" as const, source: "suggested" };
  const use = (input: string, state: "asking" | "finished" = "asking", suggested_rules = [RULE]) =>
    event("agent_response_tool_use_done", {
      tool_use: { type: "tool_call", id: "t1", name: "book", input, state, suggested_rules },
    });
  const tells = (name: string, value: Record<string, unknown>) => event("server_custom", { name, value });
  const asks = (state: string, changed: Record<string, unknown> = {}) =>
    tells("consent_question", { tool_call_id: "t1", tool: "book", question: "Shall I book for 5?", by: "either", state, n: 1, ...changed });
  const RECEIPT = {
    tool_call_id: "t1",
    tool: "book",
    question: "Shall I book for 5?",
    question_item_id: null,
    question_played_ms: 0,
    heard_whole: false,
    answered_by: "card",
    answer: "yes",
    words: "",
    answer_start_ms: null,
    answer_end_ms: null,
    participant: null,
    recording: null,
    done: "success",
  };
  const result = event("agent_response_tool_result", {
    tool_result: { type: "tool_result", id: "t1", name: "book", output: "booked", state: "success" },
  });
  const bubble = (...events: ServerEvent[]) => fold(...events).bubbles[0];

  test("a question is shown with its words and its rules, whichever event comes first", () => {
    const shown = { status: "asking", tool: { input: '{"n":5}', rules: [RULE], question: { question: "Shall I book for 5?", state: "asking" } } };
    expect(bubble(use('{"n":5}'), asks("asking"))).toMatchObject(shown);
    expect(bubble(asks("asking"), use('{"n":5}'))).toMatchObject(shown);
  });

  test("an answer by voice closes the question before the tool is done", () => {
    expect(bubble(use("{}"), asks("heard"), asks("answered"))).toMatchObject({ status: "live", tool: { question: { state: "answered" } } });
    expect(bubble(use("{}"), asks("answered"), result)).toMatchObject({ status: "done" });
  });

  test("a change keeps what it was before, and goes on asking", () => {
    const four = { question: "Shall I book for 4?", input: '{"n":4}' };
    const changed = bubble(use('{"n":5}'), asks("heard"), asks("changed", four), asks("heard", four));
    expect(changed).toMatchObject({ status: "asking", tool: { input: '{"n":4}', before: '{"n":5}', question: { question: "Shall I book for 4?" } } });
  });

  test("words that are no answer are said to be none, until the question goes on", () => {
    const early = tells("consent_ignored", { tool_call_id: "t1", tool: "book", reason: "before_end", words: "Yes." });
    expect(bubble(use("{}"), asks("asking"), early)).toMatchObject({ status: "asking", tool: { ignored: "before_end" } });
    expect(bubble(use("{}"), asks("asking"), early, asks("repeated"))).toMatchObject({ tool: { ignored: "before_end" } });
    expect(bubble(use("{}"), asks("asking"), early, asks("repeated"), asks("heard"))?.tool?.ignored).toBeUndefined();
    expect(bubble(use("{}"), asks("asking"), early, asks("heard"))?.tool?.ignored).toBeUndefined();
  });

  test("how it is asked is known before it is spoken", () => {
    expect(bubble(use("{}"), asks("waiting", { by: "voice", n: 0 }))).toMatchObject({ status: "asking", tool: { question: { by: "voice", state: "waiting" } } });
  });

  test("an answer that the server does not take leaves the question open, as new", () => {
    const before = fold(use("{}"), asks("heard"));
    for (const code of ["unknown_rule", "asked_by_voice"]) {
      const after = foldCaptions(before, event("agent_error", { code }));
      expect(after.bubbles).toEqual(before.bubbles);
      expect(after.bubbles[0]?.tool).not.toBe(before.bubbles[0]?.tool);
    }
  });

  test("the receipt stays with its tool, and stands alone where no tool was shown", () => {
    expect(bubble(use("{}"), result, tells("consent_receipt", RECEIPT))).toMatchObject({ status: "done", tool: { outcome: "success", receipt: RECEIPT } });
    expect(bubble(tells("consent_receipt", RECEIPT))).toMatchObject({ name: "book", status: "done", tool: { receipt: RECEIPT } });
  });

  test("a withheld claim stands at what was said instead, and does not take its name", () => {
    const claim = { item_id: "a1", response_id: "r1", sentence: "I booked it.", tools: ["book"], correction: "I did not book.", heard: false };
    const named = event("agent_response_text_delta", { item_id: "a1", delta: "I did not book.", agent_name: "Friday" });
    const [withheld] = visibleBubbles(fold(tells("claim_withheld", claim), named));
    expect(withheld).toMatchObject({ side: "agent", name: "Friday", text: "I did not book.", withheld: [claim] });
  });

  test("a reply that was cut to take a claim back was not interrupted, one that a voice stopped was", () => {
    const claim = { item_id: "a1", response_id: "r1", sentence: "I booked it.", tools: ["book"], correction: "", heard: false };
    const taken = [says("a1", "I booked it."), tells("claim_withheld", claim), cut("a1", "")];
    const stopped = event("agent_interruption", { item_id: "a1", state: "confirmed", reason: "words" });
    expect([fold(...taken), fold(...taken, stopped)].map(({ bubbles }) => bubbles.map(isTakenBack))).toEqual([[true], [false]]);
  });

  test("what is allowed is known from the latest update", () => {
    const update = (rules: unknown[]) => tells("permission_updated", { mode: "default", rules, added: [], removed: [], by: "program" });
    expect(fold().permissions).toBeUndefined();
    expect(fold(update([RULE]), update([])).permissions?.rules).toEqual([]);
  });

  test("the plan is the latest that was told; it goes at its end, and with its agent", () => {
    const plan = { id: "p1", name: "Trip", description: "", expected_outcome: "", subtasks: [], state: "todo" };
    const told = [tells("plan_updated", { plan }), tells("plan_updated", { plan: { ...plan, state: "suspended" } })];
    expect(fold(...told).plans).toMatchObject([{ plan: { id: "p1", state: "suspended" }, agentId: "", isEditable: false }]);
    expect(fold(...told, tells("plan_updated", { plan: null })).plans).toEqual([]);
    const handed = fold(...told, tells("agent_changed", { from: "Ann", to: "Ben" }));
    expect([handed.plans, handed.bubbles.length]).toEqual([[], 1]);
  });

  test("each agent of a room has its plan, in the order in which they were told first", () => {
    const plan = { id: "p1", name: "Trip", description: "", expected_outcome: "", subtasks: [], state: "todo" };
    const of = (agent: string, id: string | null): ServerEvent =>
      tells("plan_updated", { plan: id && { ...plan, id }, agent_id: agent, agent_name: agent, editable: true });
    const names = (...events: ServerEvent[]): unknown => fold(...events).plans?.map((one) => [one.agentName, one.plan.id, one.isEditable]);
    expect(names(of("ann", "p1"), of("ben", "p2"), of("ann", "p3"))).toEqual([["ann", "p3", true], ["ben", "p2", true]]);
    expect(names(of("ann", "p1"), of("ben", "p2"), of("ann", null))).toEqual([["ben", "p2", true]]);
  });

  test("a program's event of that name but another form changes nothing", () => {
    expect(fold(tells("consent_question", { tool_call_id: "t1" }))).toBe(NO_CAPTIONS);
  });
});
