import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  AGENT_EVENT_TYPES,
  type AgentEvent,
  AssistantMsg,
  type ContentBlock,
  type DataBlock,
  type DataPiece,
  Msg,
  type MsgData,
  appendEvent,
  dataBytes,
  decodeBase64,
  encodeBase64,
  foldMessages,
  readReplyEvent,
} from "../src/index.ts";
import { FIXTURES, end, reply, start } from "./events.ts";
import { random } from "../../../test/random.ts";

beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

/** Checked by the compiler: each of the six blocks, with both sources, is a part of a message. */
const EVERY_BLOCK: { [Type in ContentBlock["type"]]: Extract<ContentBlock, { type: Type }> } = {
  text: { type: "text", text: "Hi", id: "b1" },
  thinking: { type: "thinking", thinking: "Hm", id: "b2", signature: "s" },
  data: { type: "data", source: { type: "base64", data: "AAA=", media_type: "audio/pcm" }, id: "b3", name: null },
  hint: { type: "hint", hint: "It is noon.", id: "b4", source: null },
  tool_call: { type: "tool_call", id: "c1", name: "look", input: "{}", state: "finished" },
  tool_result: {
    type: "tool_result",
    id: "c1",
    name: "look",
    output: [{ type: "data", source: { type: "url", url: "https://a.b/c.png", media_type: "image/png" }, id: "d", name: null }],
    state: "success",
  },
};

describe("messages in TypeScript", () => {
  test("TS-01: a message of all six blocks and both sources is typed, and every event has a type and a reader", () => {
    const msg = AssistantMsg("Friday", Object.values(EVERY_BLOCK));
    expect(msg.content).toEqual(Object.values(EVERY_BLOCK));
    const read: { [Type in AgentEvent["type"]]?: string } = {};
    for (const event of FIXTURES.flatMap(([, { events }]) => events).map(readReplyEvent)) read[event.type] = event.id;
    // These speak to the agent or of a limit; what is left over would be a type that no stream of the fixtures has.
    const elsewhere = AGENT_EVENT_TYPES.filter((type) => read[type] === undefined);
    for (const type of elsewhere) expect(() => readReplyEvent({ type })).toThrow("is missing");
    expect(Object.keys(read).length + elsewhere.length).toBe(AGENT_EVENT_TYPES.length);
  });

  test.each(FIXTURES)("TS-02, REC-28: %s folds to the bytes that Python writes", (_name, { events, canonical }) => {
    const messages = foldMessages(events.map(readReplyEvent));
    expect(messages.map((message) => message.toCanonicalJson())).toEqual(canonical);
  });

  test("TS-02, AMB-32: the method and the function do the same, on a message and on its plain JSON", () => {
    for (const [, { events, canonical }] of FIXTURES) {
      const read = events.map(readReplyEvent);
      const starts = read.filter((event) => event.type === "REPLY_START");
      const folded = starts.map((first) => {
        const plain: MsgData = JSON.parse(JSON.stringify(Msg.fromEvents([first])));
        for (const event of read) appendEvent(plain, event);
        return Msg.read(plain).toCanonicalJson();
      });
      expect(folded).toEqual(canonical);
    }
  });

  test("TS-03: the module is our own and imports nothing but itself", () => {
    const sources = import.meta.glob<string>("../src/*.ts", { eager: true, query: "?raw", import: "default" });
    const imported = Object.values(sources).flatMap((text) => [...text.matchAll(/from "([^"]+)"/g)].map(([, from]) => from));
    expect(imported.length).toBeGreaterThan(10);
    expect(imported.filter((from) => !from?.startsWith("./"))).toEqual([]);
  });

  test("TS-04: the documented loop makes the message of the reply", () => {
    const events = [
      start(),
      reply("TEXT_BLOCK_START", { block_id: "b" }),
      reply("TEXT_BLOCK_DELTA", { block_id: "b", delta: "Good " }),
      reply("TEXT_BLOCK_DELTA", { block_id: "b", delta: "day" }),
      reply("TEXT_BLOCK_END", { block_id: "b" }),
      end(),
    ];
    let msg: Msg | undefined;
    for (const event of events) {
      if (event.type === "REPLY_START") msg = AssistantMsg({ name: event.name, content: [], id: event.reply_id });
      else msg?.appendEvent(event);
    }
    expect(msg?.name).toBe("Friday");
    expect(msg?.id).toBe("r");
    expect(msg?.getTextContent()).toBe("Good day");
    expect(msg?.finished_at).toBe(events.at(-1)?.created_at);
    expect(msg?.finished_reason).toBe("completed");
  });

  test("a fold that goes on from any checkpoint ends the same, whatever is sent again", () => {
    for (const [, { events, canonical }] of FIXTURES) {
      const read = events.map(readReplyEvent);
      for (let cut = 0; cut <= read.length; cut++) {
        const again = Math.max(0, cut - 5);
        const messages = foldMessages([...read.slice(0, cut), ...read.slice(again)]);
        expect(messages.map((message) => message.toCanonicalJson())).toEqual(canonical);
      }
    }
  });

  test("EVT-50: a signal of an unknown name changes nothing and does not even warn", () => {
    const msg = Msg.fromEvents([start(), reply("CUSTOM", { name: "x", value: { deep: [1] } }), end()]);
    expect(msg.content).toEqual([]);
    expect(console.warn).not.toHaveBeenCalled();
  });

  test("events of an unknown type are skipped, with one warning", () => {
    const msg = Msg.fromEvents([start()]);
    const before = msg.toCanonicalJson();
    for (const id of ["n1", "n2"]) {
      const event: unknown = { type: "AGENT_DANCES", id, reply_id: "r", created_at: "2026-01-01T00:00:00.000Z" };
      msg.appendEvent(event as AgentEvent);
    }
    expect(msg.toCanonicalJson()).toBe(before);
    expect(vi.mocked(console.warn).mock.calls).toEqual([['reply events of the unknown type "AGENT_DANCES" are skipped']]);
  });

  test("a delta without its start is skipped, with one warning; events of other replies without any", () => {
    const msg = Msg.fromEvents([start()]);
    for (const delta of ["a", "b"]) msg.appendEvent(reply("TEXT_BLOCK_DELTA", { block_id: "lost", delta }));
    msg.appendEvent(reply("TEXT_BLOCK_START", { reply_id: "other", block_id: "b" }));
    expect(msg.content).toEqual([]);
    expect(vi.mocked(console.warn).mock.calls).toEqual([["TEXT_BLOCK_DELTA of reply r skipped: there is no unfinished text block lost"]]);
  });

  test("a copy has seen the same events and shares nothing else", () => {
    const [text, delta] = [reply("TEXT_BLOCK_START", { block_id: "b" }), reply("TEXT_BLOCK_DELTA", { block_id: "b", delta: "a" })];
    const msg = Msg.fromEvents([start(), text, delta]);
    const twin = msg.copy().appendEvent(delta).appendEvent(reply("TEXT_BLOCK_DELTA", { block_id: "b", delta: "c" }));
    expect([msg.getTextContent(), twin.getTextContent()]).toEqual(["a", "ac"]);
  });

  test("what an event holds is not shared with the message", () => {
    const hint = reply("HINT_BLOCK", { block_id: "h", hint: [{ type: "text", text: "Noon", id: "t" }] });
    const msg = Msg.fromEvents([start(), hint]);
    const block = msg.getFirstContentBlock("hint")!;
    (block.hint as { text: string }[])[0]!.text = "Night";
    expect((hint.hint as { text: string }[])[0]!.text).toBe("Noon");
  });
});

class FakePlayer {
  readonly played = new Map<string, number[]>();
  readonly play = ({ block_id, media_type, bytes }: DataPiece): void => {
    if (!media_type.startsWith("audio/pcm")) return;
    const heard = this.played.get(block_id) ?? [];
    heard.push(...bytes);
    this.played.set(block_id, heard);
  };
}

describe("audio in messages", () => {
  const chance = random(4);
  const pieces = Array.from({ length: 200 }, () =>
    Uint8Array.from({ length: Math.floor(chance() * 70) }, () => Math.floor(chance() * 256)),
  );
  const whole = pieces.flatMap((piece) => [...piece]);

  test("TS-08: a player gets each piece once, in order, while the message gets the same bytes", () => {
    const player = new FakePlayer();
    const picture = reply("DATA_BLOCK_START", { block_id: "p", media_type: "image/png" });
    const deltas = pieces.map((piece) => reply("DATA_BLOCK_DELTA", { block_id: "a", data: encodeBase64(piece) }));
    const msg = Msg.fromEvents([start(), reply("DATA_BLOCK_START", { block_id: "a", media_type: "audio/pcm;rate=24000" }), picture]);
    let heard = 0;
    deltas.forEach((delta, place) => {
      appendEvent(msg, delta, player.play);
      heard += pieces[place]!.length;
      expect(player.played.get("a") ?? []).toHaveLength(heard);
      // A replay overlaps: it is neither heard nor kept twice.
      appendEvent(msg, deltas[Math.floor(place / 2)]!, player.play);
    });
    appendEvent(msg, reply("DATA_BLOCK_DELTA", { block_id: "p", data: "AAAA" }), player.play);
    expect([...player.played.keys()]).toEqual(["a"]);
    expect(player.played.get("a")).toEqual(whole);
    const block = msg.getFirstContentBlock("data")!;
    expect(block.source).toMatchObject({ type: "base64", data: encodeBase64(Uint8Array.from(whole)) });
    expect([...dataBytes(block)!]).toEqual(whole);
  });

  test("audio can be read and added to in turns, also in a message that came as JSON", () => {
    let msg: MsgData = Msg.fromEvents([start(), reply("DATA_BLOCK_START", { block_id: "a", media_type: "audio/pcm" })]);
    let sofar: number[] = [];
    for (const piece of pieces) {
      appendEvent(msg, reply("DATA_BLOCK_DELTA", { block_id: "a", data: encodeBase64(piece) }));
      sofar = [...sofar, ...piece];
      const { source } = msg.content[0] as DataBlock;
      if (chance() < 0.5) expect(source).toMatchObject({ data: encodeBase64(Uint8Array.from(sofar)) });
      if (chance() < 0.3) msg = JSON.parse(JSON.stringify(msg)) as MsgData;
    }
    expect([...dataBytes(msg.content[0] as DataBlock)!]).toEqual(whole);
  });

  test("each delta is decoded once and encoded when it is read, whatever came before", () => {
    const encode = vi.spyOn(TextDecoder.prototype, "decode");
    const data = encodeBase64(new Uint8Array(1920));
    const deltas = Array.from({ length: 2_000 }, () => reply("DATA_BLOCK_DELTA", { block_id: "a", data }));
    const msg = Msg.fromEvents([start(), reply("DATA_BLOCK_START", { block_id: "a", media_type: "audio/pcm" })]);
    encode.mockClear();
    for (const delta of deltas) msg.appendEvent(delta);
    expect(encode).not.toHaveBeenCalled();
    const { source } = (JSON.parse(JSON.stringify(msg)) as MsgData).content[0] as DataBlock;
    expect(source.type === "base64" && decodeBase64(source.data).length).toBe(deltas.length * 1920);
    expect(encode).toHaveBeenCalledOnce();
  });
});
