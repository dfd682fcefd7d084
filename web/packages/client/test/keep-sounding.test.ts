import { expect, test } from "vitest";

import { keepSounding } from "../src/keep-sounding.ts";

class FakeContext extends EventTarget {
  state: AudioContextState | "interrupted" = "suspended";
  resumes = 0;
  refuses = false;

  async resume(): Promise<void> {
    this.resumes += 1;
    if (this.refuses) throw new DOMException("not without a touch", "NotAllowedError");
    this.become("running");
  }

  become(state: FakeContext["state"]): void {
    this.state = state;
    this.dispatchEvent(new Event("statechange"));
  }
}

function started(): { context: FakeContext; page: EventTarget; stop: () => void } {
  const [context, page] = [new FakeContext(), new EventTarget()];
  const stop = keepSounding(context as unknown as AudioContext, page as Document);
  return { context, page, stop };
}

test("it begins to sound at once, and again when the system has taken the sound away", () => {
  const { context } = started();
  expect(context.state).toBe("running");
  context.become("interrupted");
  expect(context.state).toBe("running");
  expect(context.resumes).toBe(2);
});

test.each(["pointerdown", "keydown", "visibilitychange"])("what is refused is tried again at the next %s", (chance) => {
  const { context, page } = started();
  context.refuses = true;
  context.become("suspended");
  expect(context.state).toBe("suspended");
  context.refuses = false;
  page.dispatchEvent(new Event(chance));
  expect(context.state).toBe("running");
});

test("what runs is left alone, and what is over is asked for no more", () => {
  const { context, page, stop } = started();
  page.dispatchEvent(new Event("keydown"));
  expect(context.resumes).toBe(1);
  stop();
  context.become("suspended");
  page.dispatchEvent(new Event("keydown"));
  expect(context.resumes).toBe(1);
});
