import { describe, expect, test } from "vitest";
import golden from "../../../../fixtures/protocol/binary.json" with { type: "json" };
import { decodeAudioFrame, encodeAudioFrame } from "../src/frames.ts";

const bytesOf = (hex: string): ArrayBuffer =>
  Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)).buffer;
const hexOf = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

describe("binary audio frames", () => {
  test.each(golden)("$says", ({ kind, flags, stream, item_index, sample_offset, played_ms, pcm_hex, frame_hex }) => {
    const pcm = new Int16Array(bytesOf(pcm_hex));
    const head = { kind, flags, stream, itemIndex: item_index, sampleOffset: sample_offset };
    const frame = { ...head, ...(played_ms !== undefined && { playedMs: played_ms }), pcm };
    expect(hexOf(encodeAudioFrame(frame))).toBe(frame_hex);
    expect(decodeAudioFrame(bytesOf(frame_hex))).toEqual(frame);
  });

  test("a frame that is too short, of an unknown kind, with half a sample or an impossible offset is none", () => {
    const frame = "020000000300000000000000000000000100";
    expect(decodeAudioFrame(bytesOf(frame))).not.toBeNull();
    expect(decodeAudioFrame(bytesOf(frame.slice(0, 30)))).toBeNull();
    expect(decodeAudioFrame(bytesOf(`07${frame.slice(2)}`))).toBeNull();
    expect(decodeAudioFrame(bytesOf(`${frame}00`))).toBeNull();
    expect(decodeAudioFrame(bytesOf(`${frame.slice(0, 16)}ffffffffffffffff0100`))).toBeNull();
    expect(decodeAudioFrame(new ArrayBuffer(0))).toBeNull();
    const played = "010100000300000000000000000000007b000000";
    expect(decodeAudioFrame(bytesOf(played))?.playedMs).toBe(123);
    expect(decodeAudioFrame(bytesOf(played.slice(0, 36)))).toBeNull();
  });

  test.each([-1, 0.5, Number.NaN, 2 ** 53])("offset %d cannot be written", (sampleOffset) => {
    const frame = { kind: 1, flags: 0, stream: 0, itemIndex: 0, sampleOffset, pcm: new Int16Array(1) };
    expect(() => encodeAudioFrame(frame)).toThrow(RangeError);
  });
});
