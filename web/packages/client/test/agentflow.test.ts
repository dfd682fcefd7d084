import { describe, expect, test } from "vitest";
import EXPORTED from "../../../../fixtures/interop/agentflow.json";

// `src/message.ts` of Agentflow's TypeScript client 0.2.0 (2026-06-16): the fields of each class, `?` where one may be
// missing or null.
const MEDIA = "kind url? file_id? data_base64? mime_type? size_bytes? sha256? filename? width? height? duration_ms? page?";
const FIELDS: Record<string, string> = {
  text: "type text annotations",
  image: "type media alt_text? bbox?",
  audio: "type media transcript? sample_rate? channels?",
  video: "type media thumbnail?",
  document: "type media pages? excerpt?",
  data: "type mime_type data_base64? media?",
  tool_call: "type id name args tool_type?",
  remote_tool_call: "type id name args tool_type",
  tool_result: "type call_id output is_error status?",
  reasoning: "type summary details?",
  error: "type message code? data?",
};
const MESSAGE = "message_id role content delta tools_calls? timestamp metadata usages? raw?";
const USAGES =
  "completion_tokens prompt_tokens total_tokens reasoning_tokens cache_creation_input_tokens cache_read_input_tokens image_tokens? audio_tokens?";

/** What an object lacks, and what it has beyond these fields. */
function differs(value: object, fields: string, also: readonly string[] = []): string[] {
  const names = fields.split(" ");
  const lacks = names.filter((name) => !name.endsWith("?") && (value as Record<string, unknown>)[name] == null);
  const known = new Set([...names.map((name) => name.replace("?", "")), ...also]);
  return [...lacks.map((name) => `no ${name}`), ...Object.keys(value).filter((name) => !known.has(name))];
}

describe("messages for Agentflow's TypeScript client", () => {
  test("TS-09: an exported message has the fields of its class", () => {
    // The package has `reasoning` and `parsed_content` too, which the client ignores.
    for (const message of EXPORTED) expect(differs(message, MESSAGE, ["reasoning", "parsed_content"])).toEqual([]);
    const usages = EXPORTED.flatMap((message) => message.usages ?? []);
    expect(usages.map((one) => differs(one, USAGES))).toEqual([[]]);
  });

  test("TS-09: every block has the fields of its class", () => {
    const blocks = EXPORTED.flatMap((message) => message.content as { type: string; media?: object | null }[]);
    expect(new Set(blocks.map(({ type }) => type))).toEqual(new Set(Object.keys(FIELDS)));
    for (const block of blocks) {
      expect([block.type, ...differs(block, FIELDS[block.type]!, block.type === "document" ? ["text"] : [])]).toEqual([block.type]);
      if (block.media) expect(differs(block.media, MEDIA)).toEqual([]);
    }
  });
});
