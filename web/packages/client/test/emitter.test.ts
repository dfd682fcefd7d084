import { expect, test } from "vitest";
import { Emitter } from "../src/emitter.ts";

test("a listener hears what it is put on for, until its undo is called", () => {
  const emitter = new Emitter<{ a: number; b: string }>();
  const heard: unknown[] = [];
  const off = emitter.on("a", (value) => heard.push(value));
  emitter.emit("a", 1);
  emitter.emit("b", "not for it");
  off();
  off();
  emitter.emit("a", 2);
  expect(heard).toEqual([1]);
});

test("the same function put on twice is called twice and taken off one by one", () => {
  const emitter = new Emitter<{ a: undefined }>();
  let calls = 0;
  const listener = (): void => void (calls += 1);
  const off = emitter.on("a", listener);
  emitter.on("a", listener);
  emitter.emit("a", undefined);
  off();
  emitter.emit("a", undefined);
  expect(calls).toBe(3);
});

test("a listener may remove another one during an event", () => {
  const emitter = new Emitter<{ a: undefined }>();
  const heard: string[] = [];
  const off = emitter.on("a", () => {
    off();
    heard.push("first");
  });
  emitter.on("a", () => heard.push("second"));
  emitter.emit("a", undefined);
  emitter.emit("a", undefined);
  expect(heard).toEqual(["first", "second", "second"]);
});
