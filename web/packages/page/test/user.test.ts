import { describe, expect, it } from "vitest";

import { forgetSessionId, ownSessionId, ownUserId } from "../src/user.ts";

function memory(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as Storage;
}

const ones = (bytes: Uint8Array<ArrayBuffer>): Uint8Array => bytes.fill(1);

describe("the user of a browser", () => {
  it("is the same on each visit and another one in another browser", () => {
    const here = memory();
    const first = ownUserId(() => here, ones);
    expect(first).toBe(`guest-${"01".repeat(12)}`);
    expect(ownUserId(() => here, (bytes) => bytes.fill(2))).toBe(first);
    expect(ownUserId(() => memory(), (bytes) => bytes.fill(2))).not.toBe(first);
  });

  it("is made anew where the browser keeps nothing", () => {
    const forbidden = (): Storage => {
      throw new Error("denied");
    };
    expect(ownUserId(forbidden, ones)).toBe(`guest-${"01".repeat(12)}`);
  });
});

describe("the session of a browser", () => {
  it("has 128 random bits, and is the same until it is forgotten", () => {
    const here = memory();
    const first = ownSessionId(() => here, ones);
    expect(first).toBe(`page-${"01".repeat(16)}`);
    expect(ownSessionId(() => here, (bytes) => bytes.fill(2))).toBe(first);
    forgetSessionId(() => here);
    expect(ownSessionId(() => here, (bytes) => bytes.fill(2))).toBe(`page-${"02".repeat(16)}`);
  });
});
