import { expect, test } from "vitest";
import type { Plan } from "@realtime-voice/client";
import { CallDeeds } from "../src/call-deeds.ts";

const plan = (id: string, state: Plan["state"]): Plan => ({ id, name: id, description: "", expected_outcome: "", subtasks: [], state });

test("all plans of a call stay, each as far as it came, and concern no block", () => {
  const deeds = new CallDeeds();
  const told = [plan("trip", "todo"), plan("party", "in_progress"), plan("trip", "suspended"), null];
  expect(told.map((one) => deeds.add({ name: "plan_updated", value: { plan: one } }))).toEqual([null, null, null, null]);
  expect(deeds.plans.map(({ id, state }) => [id, state])).toEqual([
    ["trip", "suspended"],
    ["party", "in_progress"],
  ]);
});
