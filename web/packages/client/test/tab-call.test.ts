import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type TabCall, keepTabCall, tabCall } from "../src/tab-call.ts";

const SERVER = "https://voice.example/";
const CALL: TabCall = {
  server: SERVER,
  user: "ann",
  session: "s1",
  resumeToken: { token: "call_1.resume_1", withinMs: 30_000 },
  lastPlayed: { itemId: "a1", playedMs: 200 },
  leftAt: 1_000,
};

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

test("a call is kept for as long as its server waits", () => {
  keepTabCall(CALL);
  expect(tabCall(SERVER, 30_999)).toEqual(CALL);
  expect(tabCall(SERVER, 31_000)).toBeNull();
});

test("a call with another server is not this one's", () => {
  keepTabCall(CALL);
  expect(tabCall("https://other.example/", 2_000)).toBeNull();
});

test("a call that was ended is forgotten", () => {
  keepTabCall(CALL);
  keepTabCall(null);
  expect(tabCall(SERVER, 2_000)).toBeNull();
});

test("without storage, or with something else in it, there is no call", () => {
  sessionStorage.setItem("realtime.client.call", "{");
  expect(tabCall(SERVER, 2_000)).toBeNull();
  vi.stubGlobal("sessionStorage", undefined);
  keepTabCall(CALL);
  expect(tabCall(SERVER, 2_000)).toBeNull();
});
