import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { holdToTalk } from "../src/hold-to-talk.ts";

/** Stands in for an element, or with `isDocument` for the document. */
class Target extends EventTarget {
  captured = 0;
  constructor(isDocument = false, readonly isField = false) {
    super();
    if (!isDocument) Object.assign(this, { setPointerCapture: () => (this.captured += 1) });
  }
  closest(): Target | null {
    return this.isField ? this : null;
  }
  /** Whether what a browser does besides was prevented. */
  gets(type: string, fields: object = {}): boolean {
    return !this.dispatchEvent(Object.assign(new Event(type, { cancelable: true }), fields));
  }
}

const SPACE = { key: " " };
const turns: boolean[] = [];
let ready = true;
const hold = { ready: () => ready, held: (held: boolean) => turns.push(held) };

beforeEach(() => {
  turns.length = 0;
  ready = true;
  vi.stubGlobal("window", new EventTarget());
  vi.stubGlobal("Element", Target);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

test("a turn lasts from the first press of the key to its release, and clicks nothing", () => {
  const page = new Target(true);
  holdToTalk(page as never, hold);
  expect([page.gets("keydown", SPACE), page.gets("keydown", SPACE), page.gets("keyup", SPACE)]).toEqual([true, true, true]);
  expect(turns).toEqual([true, false]);
  expect([page.gets("keydown", { key: "a" }), page.gets("keydown", { ...SPACE, ctrlKey: true })]).toEqual([false, false]);
});

test("where something is typed, space is a space", () => {
  const field = new Target(true, true);
  holdToTalk(field as never, hold);
  expect([field.gets("keydown", SPACE), field.gets("keyup", SPACE), turns]).toEqual([false, false, []]);
});

test("without a call the key does what it always does, and its release too if the call began meanwhile", () => {
  const page = new Target(true);
  holdToTalk(page as never, hold);
  ready = false;
  expect(page.gets("keydown", SPACE)).toBe(false);
  ready = true;
  expect([page.gets("keyup", SPACE), turns]).toEqual([false, []]);
});

test("a window that loses the focus ends the turn", () => {
  const page = new Target(true);
  holdToTalk(page as never, hold);
  page.gets("keydown", SPACE);
  window.dispatchEvent(new Event("blur"));
  expect([page.gets("keyup", SPACE), turns]).toEqual([false, [true, false]]);
});

test("an element is held by a pointer, whose click is swallowed once", () => {
  const button = new Target();
  const clicked = vi.fn();
  holdToTalk(button as never, hold);
  button.addEventListener("click", clicked);
  button.gets("pointerdown", { button: 0, pointerId: 1 });
  button.gets("pointerup");
  button.gets("lostpointercapture");
  expect([button.captured, turns, button.gets("click"), clicked.mock.calls.length]).toEqual([1, [true, false], true, 0]);
  expect([button.gets("click"), clicked.mock.calls.length]).toEqual([false, 1]);
  button.gets("pointerdown", { button: 2, pointerId: 1 });
  expect(turns).toEqual([true, false]);
});

test("when it is no longer watched, a hold ends and none begins", () => {
  const button = new Target();
  const stop = holdToTalk(button as never, hold);
  button.gets("keydown", { key: "Enter" });
  stop();
  expect([button.gets("keydown", { key: "Enter" }), turns]).toEqual([false, [true, false]]);
});
