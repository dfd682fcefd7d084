import { describe, expect, test } from "vitest";
import {
  AssistantMsg,
  Msg,
  SystemMsg,
  UserMsg,
  canonicalJson,
  decodeBase64,
  encodeBase64,
  getContentBlocks,
  getTextContent,
  readContentBlock,
  readReplyEvent,
} from "../src/index.ts";
import { random } from "../../../test/random.ts";

const CALL = { type: "tool_call", id: "c", name: "look" } as const;
const IMAGE = { type: "data", source: { type: "url", url: "https://a.b/c.png", media_type: "image/png" } } as const;

describe("messages", () => {
  test("text becomes one text block; ids and times are made where none are given", () => {
    const [one, two] = [UserMsg("Ada", "Hello"), UserMsg({ name: "Ada", content: "Hello" })];
    expect(one.content).toEqual([{ type: "text", text: "Hello", id: expect.stringMatching(/^[0-9a-f]{32}$/) }]);
    expect(new Set([one.id, two.id, one.content[0]!.id, two.content[0]!.id]).size).toBe(4);
    expect(one.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect([one.role, SystemMsg("s", "Be brief.").role, AssistantMsg("Friday").role]).toEqual(["user", "system", "assistant"]);
    expect(AssistantMsg({ name: "Friday", content: [], id: "r" })).toMatchObject({ id: "r", content: [], metadata: {} });
  });

  test("a role refuses blocks it may not hold, usage that is not an assistant's, and what is no block", () => {
    expect(() => UserMsg("Ada", CALL)).toThrow("a user message holds no tool_call block");
    expect(() => SystemMsg("s", IMAGE)).toThrow("a system message holds no data block");
    expect(UserMsg("Ada", [{ type: "text", text: "What is this?" }, IMAGE]).content).toHaveLength(2);
    const usage = { input_tokens: 1, output_tokens: 1, cache_input_tokens: 0, cache_creation_input_tokens: 0 };
    expect(() => UserMsg("Ada", "Hi", { usage })).toThrow("only assistant messages have usage");
    expect(() => Msg.read({ name: "x", role: "tool", content: [] })).toThrow("message.role is not one of");
    expect(() => Msg.read({ name: "x", role: "user", content: [{ type: "smell" }] })).toThrow("message.content[0].type");
    expect(() => Msg.read([])).toThrow("a message is a JSON object");
    expect(() => readContentBlock({ type: "tool_call", name: "x" })).toThrow("block.id is missing");
    expect(() => readContentBlock({ ...IMAGE, source: { ...IMAGE.source, url: "not a url" } })).toThrow("is not a URI");
  });

  test("blocks are found by type, text is joined", () => {
    const msg = AssistantMsg("Friday", [{ type: "text", text: "a" }, CALL, { type: "text", text: "b" }]);
    expect([msg.getTextContent(), getTextContent(msg, " ")]).toEqual(["a\nb", "a b"]);
    expect(AssistantMsg("Friday", CALL).getTextContent()).toBeNull();
    expect(msg.getContentBlocks().map(({ type }) => type)).toEqual(["text", "tool_call", "text"]);
    expect(getContentBlocks(msg, ["tool_call", "data"]).map(({ id }) => id)).toEqual(["c"]);
    expect(msg.getFirstContentBlock("text")?.text).toBe("a");
    expect([msg.hasContentBlocks("tool_call"), msg.hasContentBlocks("data")]).toEqual([true, false]);
    expect(msg.getFirstContentBlock("hint")).toBeNull();
  });

  test("reading completes, lowers states, drops what is not known, keeps a provider's additions to thinking", () => {
    expect(readContentBlock({ ...CALL, state: "ASKING", colour: 1, suggested_rules: [], created_at: null })).toEqual({
      ...CALL,
      input: "",
      state: "asking",
    });
    const thinking = { type: "thinking", thinking: "Hm", id: "t", signature: { a: [1] } };
    expect(readContentBlock({ ...thinking, extra: { b: 2 } })).toEqual(thinking);
    expect(readReplyEvent('{"type":"HINT_BLOCK","id":"e","created_at":"","reply_id":"r","block_id":"h","hint":[{"type":"text","text":"x"}]}')).toMatchObject({
      hint: [{ type: "text", text: "x", id: "e_0" }],
      source: null,
    });
    const data = { type: "TOOL_RESULT_DATA_DELTA", reply_id: "r", tool_call_id: "c", block_id: "b", media_type: "image/png" };
    expect(() => readReplyEvent(data)).toThrow("give exactly one");
    expect(() => readReplyEvent({ ...data, data: "A" })).toThrow("ToolResultDataDeltaEvent.data is not base64");
    expect(() => readReplyEvent({ type: "NO_SUCH" })).toThrow("unknown event type");
    expect(() => readReplyEvent("{")).toThrow("the event is not JSON");
  });

  test("a message survives JSON", () => {
    const msg = AssistantMsg("Friday", ["Hi", "there"].map((text) => ({ type: "text", text })), { metadata: { a: [1] } });
    expect(Msg.read(JSON.parse(JSON.stringify(msg))).toCanonicalJson()).toBe(msg.toCanonicalJson());
  });
});

describe("canonical JSON", () => {
  // The sample of RFC 8785, sections 3.2.2 to 3.2.4.
  test("is what RFC 8785 prints", () => {
    const sample = {
      numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      literals: [null, true, false],
    };
    expect(canonicalJson(sample)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
    const keys = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7 };
    expect(Object.values(JSON.parse(canonicalJson(Object.entries(keys).map(([, value]) => value))))).toHaveLength(7);
    expect([...canonicalJson(keys).matchAll(/:(\d)/g)].map(([, value]) => value).join("")).toBe("2467153");
  });

  test("refuses what is not JSON and leaves out what is undefined", () => {
    for (const value of [Number.NaN, Infinity, "\ud800", { "\udc00": 1 }, () => 0, 1n, undefined]) {
      expect(() => canonicalJson(value)).toThrow(TypeError);
    }
    expect(canonicalJson({ b: undefined, a: -0 })).toBe('{"a":0}');
  });
});

describe("base64", () => {
  test("agrees with the platform for bytes of every length", () => {
    const chance = random(2);
    for (let size = 0; size < 100; size++) {
      const bytes = Uint8Array.from({ length: size }, () => Math.floor(chance() * 256));
      const text = btoa(String.fromCharCode(...bytes));
      expect(encodeBase64(bytes)).toBe(text);
      expect(decodeBase64(text)).toEqual(bytes);
    }
  });

  test("refuses text that is not base64", () => {
    for (const text of ["A", "AA", "AAA", "AA==AA==", "A===", "====", "AA A", "AAA-", "ÄAAA", "AAAA\n"]) {
      expect(() => decodeBase64(text), text).toThrow("not valid base64");
    }
  });
});
