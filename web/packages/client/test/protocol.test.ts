import { describe, expect, test } from "vitest";
import golden from "../../../../fixtures/protocol/server.json" with { type: "json" };
import { SERVER_EVENT_TYPES, isServerEvent } from "../src/protocol.generated.ts";

describe("the generated protocol", () => {
  test("takes the golden frame of every server event", () => {
    expect(golden.filter((frame) => !isServerEvent(frame))).toEqual([]);
    expect(new Set(golden.map(({ type }) => type))).toEqual(new Set(SERVER_EVENT_TYPES));
  });

  test("refuses an unknown type, a missing field and what is no object", () => {
    expect(isServerEvent({ type: "agent_dances", seq: 1, ts_ms: 0 })).toBe(false);
    expect(isServerEvent({ type: "server_audio_received", seq: 1, ts_ms: 0 })).toBe(false);
    expect([null, undefined, 3, "agent_ready", []].some(isServerEvent)).toBe(false);
  });
});
