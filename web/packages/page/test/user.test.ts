import { describe, expect, it } from "vitest";

import { keepPermissionsKey, ownUserId, permissionsKey } from "../src/user.ts";

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

describe("the key to what was allowed", () => {
  it("is the one that the server gave, until it is forgotten", () => {
    const here = memory();
    expect(permissionsKey(() => here)).toBe("");
    expect(keepPermissionsKey(() => here, "permissions_1")).toBe(true);
    expect(permissionsKey(() => here)).toBe("permissions_1");
    expect(keepPermissionsKey(() => here, null)).toBe(true);
    expect(permissionsKey(() => here)).toBe("");
  });

  it("is not kept where the browser keeps nothing", () => {
    const forbidden = (): Storage => {
      throw new Error("denied");
    };
    expect(keepPermissionsKey(forbidden, "permissions_1")).toBe(false);
    expect(permissionsKey(forbidden)).toBe("");
  });
});
