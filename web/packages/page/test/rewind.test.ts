import { expect, test } from "vitest";
import { Rewind, type ServerEvent } from "@realtime-voice/client";
import { NO_CAPTIONS, foldCaptions, visibleBubbles } from "../src/captions.ts";
import { event } from "../../../test/events.ts";

const words = (seq: number, delta: string): ServerEvent & { seq: number } =>
  ({ ...event("agent_response_audio_transcript_delta", { delta, item_id: "a", response_id: "r", agent_name: "Friday" }), seq });

test("words that a server which was killed takes back are not shown any more", () => {
  const shown = new Rewind(NO_CAPTIONS);
  let captions = NO_CAPTIONS;
  for (const told of [words(7, "one "), words(9, "two "), words(11, "three ")]) {
    captions = foldCaptions(captions, told);
    shown.note(told.seq, captions);
  }
  expect(visibleBubbles(shown.to(10)).map(({ text }) => text)).toEqual(["one two "]);
  shown.note(11, foldCaptions(shown.to(10), words(11, "four ")));
  expect(visibleBubbles(shown.to(11)).map(({ text }) => text)).toEqual(["one two four "]);
  expect(visibleBubbles(shown.to(6))).toEqual([]);
});

test("of a long call the latest states are kept, and the oldest of them stands for all before", () => {
  const shown = new Rewind(0);
  for (let seq = 1; seq <= 2_000; seq++) shown.note(seq, seq);
  expect([shown.to(1_500), shown.to(3)]).toEqual([1_500, 1_001]);
});
