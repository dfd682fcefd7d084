import { describe, expect, test } from "vitest";
import { type FoldStep, Msg, Transcript, foldMessages, foldStream, readReplyEvent } from "../src/index.ts";

// As `packages/agentscope/src/{event,message}` of agentscope-typescript 0.0.2 (2026-04) declare and send them.
const at = (second: number): { id: string; createdAt: string; replyId: string } => ({
  id: `e${second}`,
  createdAt: `2026-04-01T10:00:0${second}.000Z`,
  replyId: "r",
});
const PICTURE = { type: "data", id: "p", source: { type: "base64", data: "AQID", mediaType: "image/png" } };
const CALL = { type: "tool_call", id: "c", name: "look", input: '{"replyId": 1}' };
const RUN = [
  { ...at(0), type: "RUN_STARTED", sessionId: "s", name: "Friday", role: "assistant" },
  { ...at(1), type: "MODEL_CALL_STARTED", modelName: "qwen" },
  { ...at(2), type: "TEXT_BLOCK_START", blockId: "t" },
  { ...at(3), type: "TEXT_BLOCK_DELTA", blockId: "t", delta: "Hello" },
  { ...at(4), type: "TEXT_BLOCK_END", blockId: "t" },
  { ...at(5), type: "BINARY_BLOCK_START", blockId: "b", mediaType: "audio/pcm" },
  { ...at(6), type: "BINARY_BLOCK_DELTA", blockId: "b", data: "AQID", mediaType: "audio/pcm" },
  { ...at(7), type: "BINARY_BLOCK_END", blockId: "b" },
  { ...at(8), type: "MODEL_CALL_ENDED", inputTokens: 3, outputTokens: 4 },
  { ...at(9), type: "RUN_FINISHED", sessionId: "s" },
];
const OURS = {
  id: "r",
  name: "Friday",
  role: "assistant",
  created_at: "2026-04-01T10:00:00.000Z",
  finished_at: "2026-04-01T10:00:09.000Z",
  finished_reason: "completed",
  usage: { input_tokens: 3, output_tokens: 4 },
  content: [
    { type: "text", text: "Hello", id: "t" },
    { type: "data", id: "b", source: { type: "base64", data: "AQID", media_type: "audio/pcm" } },
  ],
};

describe("older TypeScript releases", () => {
  test("TS-07: their events fold to the message that ours fold to", () => {
    expect(foldMessages(RUN.map(readReplyEvent))).toMatchObject([OURS]);
  });

  test("TS-07: a stream of their events loses none", async () => {
    async function* stream(): AsyncGenerator<string> {
      for (const event of RUN) yield `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`;
    }
    const steps: FoldStep[] = [];
    const transcript = new Transcript();
    for await (const step of foldStream(stream(), transcript)) steps.push(step);
    expect(steps.map(({ id }) => id)).toEqual(RUN.map(({ id }) => id));
    expect(transcript.messages).toMatchObject([OURS]);
  });

  test("TS-07: their messages are read: `timestamp`, camelCase and a call that awaits confirmation", () => {
    const msg = Msg.read({
      id: "r",
      name: "Friday",
      role: "assistant",
      timestamp: "2026-04-01T10:00:00.000Z",
      usage: { inputTokens: 3, outputTokens: 4 },
      metadata: { createdAt: "kept" },
      content: [
        { ...CALL, awaitUserConfirmation: true },
        { ...CALL, id: "d", awaitUserConfirmation: false },
        { type: "tool_result", id: "d", name: "look", output: [PICTURE], state: "success" },
        { type: "thinking", id: "h", thinking: "Hm", mediaType: "kept" },
      ],
    });
    expect(msg).toMatchObject({
      created_at: "2026-04-01T10:00:00.000Z",
      usage: { input_tokens: 3, output_tokens: 4 },
      metadata: { createdAt: "kept" },
      content: [
        { id: "c", state: "asking", input: CALL.input },
        { id: "d", state: "pending" },
        { id: "d", output: [{ id: "p", source: { media_type: "image/png", data: "AQID" } }] },
        { id: "h", mediaType: "kept" },
      ],
    });
  });

  test.each([
    ["a piece of a tool's output", { type: "TOOL_RESULT_BINARY_DELTA", toolCallId: "c", mediaType: "image/png", data: "AQID" }, { type: "TOOL_RESULT_DATA_DELTA", tool_call_id: "c", block_id: "e0_data", media_type: "image/png", url: null }],
    ["a question", { type: "REQUIRE_USER_CONFIRM", toolCalls: [CALL] }, { tool_calls: [{ id: "c", input: CALL.input }] }],
    ["an answer", { type: "USER_CONFIRM_RESULT", confirmResults: [{ confirmed: true, toolCall: CALL }] }, { confirm_results: [{ confirmed: true, tool_call: { id: "c" } }] }],
    ["results from outside", { type: "EXTERNAL_EXECUTION_RESULT", executionResults: [{ type: "tool_result", id: "c", name: "look", output: [PICTURE] }] }, { execution_results: [{ output: [{ source: { media_type: "image/png" } }] }] }],
    ["both names of a field", { type: "TEXT_BLOCK_START", blockId: "old", block_id: "new" }, { block_id: "new" }],
  ])("TS-07: %s in camelCase is read", (_, older, ours) => {
    expect(readReplyEvent({ ...at(0), ...older })).toMatchObject({ created_at: at(0).createdAt, reply_id: "r", ...ours });
  });

  test.each([
    ["a field that is missing", { ...at(0), type: "BINARY_BLOCK_START", blockId: "b" }, "DataBlockStartEvent.media_type is missing"],
    ["a field of another type", { ...at(0), type: "TEXT_BLOCK_DELTA", blockId: 3, delta: "" }, "TextBlockDeltaEvent.block_id is not text"],
    ["calls that are no list", { ...at(0), type: "REQUIRE_USER_CONFIRM", toolCalls: "c" }, "RequireUserConfirmEvent.tool_calls is not a list"],
    ["results that are no objects", { ...at(0), type: "USER_CONFIRM_RESULT", confirmResults: [null] }, "UserConfirmResultEvent.confirm_results[0] is not an object"],
    ["an unknown type", { ...at(0), type: "RUN_PAUSED" }, "unknown event type"],
    ["a name of objects", { ...at(0), type: "toString" }, "unknown event type"],
  ])("%s is named as in ours", (_, event, why) => {
    expect(() => readReplyEvent(event)).toThrow(why);
  });
});
