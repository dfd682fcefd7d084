import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type AgentEvent,
  type FoldStep,
  type SseEvent,
  SseParser,
  type TextSource,
  Transcript,
  foldStream,
  parseSse,
  readReplyEvent,
} from "../src/index.ts";
import { FIXTURES, end, reply, start } from "./events.ts";
import { random } from "../../../test/random.ts";

beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

const NEWLINES = ["\n", "\r\n", "\r"];

/** The events as the server sends them, the first one with the id `from` + 1. */
function streamText(events: readonly unknown[], { from = 0, newline = "\n" } = {}): string {
  const blocks = events.map((event, place) => {
    const { type } = event as AgentEvent;
    return [`id: ${from + place + 1}`, `event: ${type}`, `data: ${JSON.stringify(event)}`, "", ""].join(newline);
  });
  return `: welcome${newline}retry: 1000${newline}${newline}${blocks.join("")}`;
}

/** The bytes of `text`, cut at random places, also inside of a character. */
function cut(text: string, chance: () => number): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  const pieces = [];
  for (let place = 0; place < bytes.length; ) {
    const size = Math.ceil(chance() ** 3 * 200) + 1;
    pieces.push(bytes.slice(place, place + size));
    place += size;
  }
  return pieces;
}

function asStream(pieces: readonly Uint8Array[], onCancel?: () => void): ReadableStream<Uint8Array> {
  let place = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces[place++];
      if (piece) controller.enqueue(piece);
      else controller.close();
    },
    cancel: () => onCancel?.(),
  });
}

async function* asIterable<Piece>(pieces: readonly Piece[]): AsyncGenerator<Piece> {
  yield* pieces;
}

async function collect<Entry>(source: AsyncIterable<Entry>): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of source) entries.push(entry);
  return entries;
}

const canonical = ({ messages }: Transcript): string[] => messages.map((message) => message.toCanonicalJson());

describe("folding a stream of server-sent events", () => {
  test.each(FIXTURES)("TS-05: %s arrives in pieces cut anywhere, as a stream or an iterable", async (_name, fixture) => {
    const chance = random(11);
    for (const newline of NEWLINES) {
      const text = streamText(fixture.events, { newline });
      const sources: TextSource[] = [
        asStream(cut(text, chance)),
        asIterable(cut(text, chance)),
        asIterable([...text]),
        new Response(text).body!,
      ];
      for (const source of sources) {
        const transcript = new Transcript();
        const steps = await collect(foldStream(source, transcript));
        expect(canonical(transcript)).toEqual(fixture.canonical);
        expect(steps.map(({ event }) => event)).toEqual(fixture.events.map(readReplyEvent));
        expect(steps.at(-1)?.id).toBe(String(fixture.events.length));
      }
    }
  });

  test("a reader sees every step of the message as it grows", async () => {
    const events = [start(), reply("TEXT_BLOCK_START", { block_id: "b" })];
    for (const delta of ["Good", " ", "day"]) events.push(reply("TEXT_BLOCK_DELTA", { block_id: "b", delta }));
    const seen: (string | null | undefined)[] = [];
    for await (const { message } of foldStream(asIterable([streamText(events)]))) seen.push(message?.getTextContent());
    expect(seen).toEqual([null, "", "Good", "Good ", "Good day"]);
  });

  test("after a loss the fold goes on from the last id, and an overlap is dropped", async () => {
    for (const [, { events, canonical: expected }] of FIXTURES) {
      for (let lost = 1; lost < events.length; lost += 3) {
        const transcript = new Transcript();
        const before = streamText(events.slice(0, lost));
        // The line breaks in the middle of the next event.
        const torn = streamText(events.slice(lost, lost + 1), { from: lost }).slice(0, -2);
        const steps: FoldStep[] = await collect(foldStream(asIterable([before, torn]), transcript));
        expect(steps.at(-1)?.id).toBe(String(lost));
        const from = Math.max(0, Number(steps.at(-1)?.id) - 2);
        await collect(foldStream(asIterable([streamText(events.slice(from), { from })]), transcript));
        expect(canonical(transcript)).toEqual(expected);
      }
    }
  });

  test("what cannot be read or is not known is skipped with a warning, and the rest goes on", async () => {
    const events = [start(), { type: "AGENT_SINGS" }, { type: "AGENT_SINGS" }, { type: "TEXT_BLOCK_START" }, 5, end()];
    const text = `data: {"torn\n\n${streamText(events)}`;
    const transcript = new Transcript();
    const steps = await collect(foldStream(asIterable([text]), transcript));
    expect(steps.map(({ event }) => event.type)).toEqual(["REPLY_START", "REPLY_END"]);
    expect(transcript.messages[0]?.finished_reason).toBe("completed");
    expect(vi.mocked(console.warn).mock.calls.flat()).toEqual([
      "an event of the stream is skipped: it is not JSON",
      'reply events of the unknown type "AGENT_SINGS" are skipped',
      "an event of the stream is skipped: TextBlockStartEvent.reply_id is missing",
      "an event of the stream is skipped: an event is a JSON object",
    ]);
  });

  test("who stops reading cancels the stream", async () => {
    const cancelled = vi.fn();
    const pieces = cut(streamText([start(), end(), start("r2")]), random(3));
    for await (const _step of foldStream(asStream(pieces, cancelled))) break;
    expect(cancelled).toHaveBeenCalledOnce();
  });
});

describe("what a call tells", () => {
  const withText = (reply_id: string, text: string, role: "user" | "assistant" = "assistant"): AgentEvent[] => [
    reply("REPLY_START", { reply_id, name: "Friday", session_id: "s", role }),
    reply("TEXT_BLOCK_START", { reply_id, block_id: "b" }),
    reply("TEXT_BLOCK_DELTA", { reply_id, block_id: "b", delta: text }),
  ];
  const over = (reply_id: string, finished_reason: "completed" | "interrupted"): AgentEvent =>
    reply("REPLY_END", { reply_id, session_id: "s", finished_reason });
  const corrected = (reply_id: string, text: string, block_id = "b"): AgentEvent =>
    reply("CUSTOM", { reply_id: "", name: "text_corrected", value: { reply_id, block_id, text } });

  test("leaves out what came to nothing, and heeds corrections that come after the end", () => {
    const transcript = new Transcript();
    const events = [
      ...[...withText("spoken", "Good day, how are you?"), over("spoken", "completed")],
      ...[...withText("withdrawn", ""), over("withdrawn", "interrupted")],
      ...[...withText("silent user", "", "user"), over("silent user", "completed")],
      ...[...withText("deleted", "Never mind"), over("deleted", "completed")],
      ...withText("going on", ""),
    ];
    const corrections = [corrected("spoken", "Good day"), corrected("deleted", ""), corrected("spoken", "!", "later"), corrected("lost", "x")];
    for (const event of [...events, ...corrections, ...corrections]) transcript.append(event);
    expect(transcript.told().map((msg) => [msg.id, msg.getTextContent(" ")])).toEqual([
      ["spoken", "Good day !"],
      ["silent user", ""],
      ["going on", ""],
    ]);
    expect(transcript.messages[0]?.getTextContent()).toBe("Good day, how are you?");
  });
});

describe("the parser of server-sent events", () => {
  const parse = (...pieces: string[]): SseEvent[] => {
    const parser = new SseParser();
    return pieces.flatMap((piece) => parser.push(piece));
  };

  test("takes the fields as the standard says", () => {
    expect(parse("data\n\n", "data:a\ndata: b\ndata:  c\n\n")).toEqual([
      { id: "", event: "message", data: "" },
      { id: "", event: "message", data: "a\nb\n c" },
    ]);
    expect(parse("id: 7\nevent: x\ndata: 1\n\n: note\nother: y\ndata: 2\n\nid\ndata: 3\n\n")).toEqual([
      { id: "7", event: "x", data: "1" },
      { id: "7", event: "message", data: "2" },
      { id: "", event: "message", data: "3" },
    ]);
    expect(parse("id: 7\n\nevent: x\n\ndata: 1\n\n")).toEqual([{ id: "7", event: "message", data: "1" }]);
    expect(parse("id: 7\0\ndata: 1\n\n")).toEqual([{ id: "", event: "message", data: "1" }]);
  });

  test("knows a line end that is cut in two, a byte order mark, and what was never finished", () => {
    expect(parse("\ufeffdata: 1\r", "\n\r", "\ndata: 2\r", "\rdata: 3\n")).toEqual([
      { id: "", event: "message", data: "1" },
      { id: "", event: "message", data: "2" },
    ]);
    expect(parse("", "\ufeff", "data: \ufeff1\n\n")).toEqual([{ id: "", event: "message", data: "\ufeff1" }]);
  });

  test("joins characters whose bytes are cut", async () => {
    const bytes = new TextEncoder().encode("data: 👩‍🚀 ä\n\n");
    const events = await collect(parseSse(asIterable(Array.from(bytes, (byte) => Uint8Array.of(byte)))));
    expect(events).toEqual([{ id: "", event: "message", data: "👩‍🚀 ä" }]);
  });
});
