import { expect, test } from "vitest";
import { NO_CAPTIONS } from "../src/captions.ts";
import { CallStorage, type KeptCall } from "../src/kept-call.ts";

class FakeStorage {
  readonly kept = new Map<string, string>();
  getItem(name: string): string | null {
    return this.kept.get(name) ?? null;
  }
  setItem(name: string, value: string): void {
    this.kept.set(name, value);
  }
  removeItem(name: string): void {
    this.kept.delete(name);
  }
}

const CALL: KeptCall = {
  sessionId: "page-1",
  resumeToken: { token: "call_1.resume_1", withinMs: 30_000 },
  captions: NO_CAPTIONS,
  lastPlayed: { itemId: "item_1", playedMs: 400 },
};

test("what was saved is there after a reload, until it is forgotten", () => {
  const browser = new FakeStorage();
  const tab = (page: string): CallStorage => new CallStorage(() => browser, page);
  tab("http://host/?token=x").save(CALL);
  expect(tab("http://host/").load()).toEqual(CALL);
  expect(tab("http://host/other/").load()).toBeNull();
  tab("http://host/").save(null);
  expect([tab("http://host/").load(), browser.kept.size]).toEqual([null, 0]);
});

test("what cannot be read counts as nothing", () => {
  const browser = new FakeStorage();
  const storage = new CallStorage(() => browser, "http://host/");
  storage.save(CALL);
  const [name] = [...browser.kept.keys()];
  const broken: unknown[] = [
    {},
    7,
    { ...CALL, resumeToken: { token: 1 } },
    { ...CALL, captions: {} },
    { ...CALL, lastPlayed: {} },
    { ...CALL, sessionId: null },
  ];
  for (const text of ["{broken", ...broken.map((value) => JSON.stringify(value))]) {
    browser.kept.set(name ?? "", text);
    expect(storage.load()).toBeNull();
  }
});

test("a browser that keeps nothing is lived with", () => {
  const storage = new CallStorage(() => {
    throw new DOMException("no", "SecurityError");
  }, "http://host/");
  storage.save(CALL);
  storage.save(null);
  expect(storage.load()).toBeNull();
});
