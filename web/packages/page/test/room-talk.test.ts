import { expect, test } from "vitest";
import type { Item, LocalSignal, ServerEvent } from "@realtime-voice/client";
import { NO_TALK, type Talk, foldTalk, turnsOf } from "../src/room/talk.ts";
import { event } from "../../../test/events.ts";

const fold = (...events: (ServerEvent | LocalSignal)[]): Talk => events.reduce(foldTalk, NO_TALK);
const read = (talk: Talk): string[] =>
  turnsOf(talk).map(({ author, text, unheard, status }) => `${author.name}: ${text}|${unheard} ${status}`);
const ada = { agent_id: "a1", agent_name: "Ada" };
const ann = { agent_id: "h1", agent_name: "Ann" };
const item = (id: string, role: "user" | "assistant", text: string, more: Partial<Item> = {}): Item => ({
  id,
  type: "message",
  role,
  name: null,
  status: "completed",
  content: text === "" ? [] : [{ type: "text", text, transcript: null } as Item["content"][number]],
  tool_call: null,
  tool_result: null,
  ...more,
});
const delta = (item_id: string, text: string): ServerEvent =>
  event("agent_response_audio_transcript_delta", { item_id, delta: text, response_id: "a1.resp_1", ...ada });
const cut = (item_id: string, transcript: string | null): ServerEvent =>
  event("agent_item_truncated", { item_id, transcript, ...ada });

test("each turn has the name of its author, human or agent", () => {
  const talk = fold(
    event("agent_input_started", { item_id: "said_1", ...ann }),
    event("agent_input_transcription_done", { item_id: "said_1", transcript: "Hello", ...ann }),
    delta("a1.item_1", "Hi Ann"),
    event("agent_response_done", { response_id: "a1.resp_1", ...ada }),
  );
  expect(read(talk)).toEqual(["Ann: Hello| done", "Ada: Hi Ann| done"]);
});

test("a turn that was none after all leaves nothing behind, whatever comes late", () => {
  const begun = event("agent_input_started", { item_id: "said_1", ...ann });
  const talk = fold(begun, event("agent_input_cleared", { item_id: "said_1", ...ann }));
  expect(read(talk)).toEqual([]);
  expect(read(foldTalk(talk, event("agent_input_transcription_done", { item_id: "said_1", transcript: "Hm", ...ann })))).toEqual([]);
  // Whose item is not told of ends nothing.
  expect(read(fold(begun, event("agent_input_cleared", { item_id: null, ...ann })))).toEqual(["Ann: | live"]);
});

test("words of a human who left are not awaited, and shown if they come", () => {
  const begun = event("agent_input_started", { item_id: "said_1", ...ann });
  const left = (reason: string): ServerEvent => event("server_room_left", { participant_id: "h1", name: "Ann", reason });
  for (const reason of ["away", "renamed"]) expect(read(fold(begun, left(reason)))).toEqual(["Ann: | live"]);
  const gone = fold(begun, left("left"));
  expect(read(gone)).toEqual([]);
  const words = event("agent_input_transcription_done", { item_id: "said_1", transcript: "I have to go", ...ann });
  expect(read(foldTalk(gone, words))).toEqual(["Ann: I have to go| done"]);
});

test("when we are out of the room nothing is busy any more", () => {
  const talk = fold(event("agent_input_started", { item_id: "said_1", ...ann }), delta("a1.item_1", "One two"), { type: "closed" });
  expect(read(talk)).toEqual(["Ada: One two| done"]);
});

test("an interruption leaves the words that were heard, and keeps the others apart", () => {
  const talk = fold(delta("a1.item_1", "One two three four"), cut("a1.item_1", "One two"));
  expect(read(talk)).toEqual(["Ada: One two|three four cut"]);
  // Told again after a lost line: nothing changes.
  expect(read(foldTalk(talk, cut("a1.item_1", "One two")))).toEqual(["Ada: One two|three four cut"]);
});

test("a corrected interruption divides the words anew: none is lost or shown twice", () => {
  const said = [delta("a1.item_1", "One two three four"), cut("a1.item_1", "One two")];
  expect(read(fold(...said, cut("a1.item_1", "One two three")))).toEqual(["Ada: One two three|four cut"]);
  expect(read(fold(...said, cut("a1.item_1", "One")))).toEqual(["Ada: One|two three four cut"]);
  expect(read(fold(...said, cut("a1.item_1", "One two three four")))).toEqual(["Ada: One two three four| cut"]);
});

test("an answer of which no word was heard is still shown as unheard", () => {
  expect(read(fold(delta("a1.item_1", "One two"), cut("a1.item_1", "")))).toEqual(["Ada: |One two cut"]);
});

test("words that do not begin as those that were said leave nothing to strike", () => {
  expect(read(fold(delta("a1.item_1", "One two"), cut("a1.item_1", "Eins")))).toEqual(["Ada: Eins| cut"]);
  expect(read(fold(delta("a1.item_1", "One two"), cut("a1.item_1", null)))).toEqual(["Ada: One two| cut"]);
});

test("what was said before we came is there, the agents' words too", () => {
  const nobody = { agent_id: "", agent_name: "" };
  const talk = fold(
    event("agent_item_added", { item: item("said_1", "user", "Hello"), ...nobody, agent_name: "Ann" }),
    event("agent_item_added", { item: item("a1.item_1", "assistant", "Hi"), ...nobody }),
    event("agent_item_added", { item: item("a1.item_2", "assistant", "So", { status: "incomplete" }), ...nobody }),
  );
  expect(read(talk)).toEqual(["Ann: Hello| done", ": Hi| done", ": So| cut"]);
});

test("an item of an agent's that has only begun is no turn yet", () => {
  expect(read(fold(event("agent_item_added", { item: item("a1.item_1", "assistant", ""), ...ada })))).toEqual([]);
});
