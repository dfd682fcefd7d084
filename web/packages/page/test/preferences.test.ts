import { expect, test } from "vitest";
import {
  DEFAULTS,
  changeOf,
  hasConsent,
  keepConsent,
  loadPreferences,
  savePreferences,
  settingsOf,
  wasAsked,
} from "../src/preferences.ts";

function storage(): () => Pick<Storage, "getItem" | "setItem" | "removeItem"> {
  const kept = new Map<string, string>();
  return () => ({
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  });
}

const forbidden = (): never => {
  throw new DOMException("", "SecurityError");
};

test("what was chosen is there on the next visit, and what is odd becomes the default", () => {
  const place = storage();
  const chosen = { ...DEFAULTS, volume: 0.4, pause: "long", interruption: "off", instructions: "Be brief." } as const;
  savePreferences(place, chosen);
  expect(loadPreferences(place)).toEqual(chosen);
  place().setItem("realtime.preferences", '{"volume": 7, "pause": "never", "interruption": 3, "singleKeys": "yes"}');
  expect(loadPreferences(place)).toEqual(DEFAULTS);
  place().setItem("realtime.preferences", "{");
  expect([loadPreferences(place), loadPreferences(forbidden)]).toEqual([DEFAULTS, DEFAULTS]);
});

test("a new call is asked for what differs from the agent's own way, and for nothing else", () => {
  expect(settingsOf(DEFAULTS)).toEqual({});
  expect(settingsOf({ ...DEFAULTS, instructions: " Be brief. " })).toEqual({ instructions: "Be brief." });
  expect(settingsOf({ ...DEFAULTS, pause: "long", interruption: "immediate" })).toEqual({
    turn_detection: { interruption: "immediate", silence_duration_ms: 1500 },
  });
  expect(settingsOf({ ...DEFAULTS, pause: "long", pushToTalk: true })).toEqual({});
});

test("a running call is asked for what changed", () => {
  expect(changeOf(DEFAULTS, { ...DEFAULTS, volume: 0.2, pushToTalk: true })).toBeNull();
  expect(changeOf(DEFAULTS, { ...DEFAULTS, instructions: "Be brief." })).toEqual({ instructions: "Be brief." });
  expect(changeOf(DEFAULTS, { ...DEFAULTS, interruption: "off" })).toEqual({ turn_detection: { interruption: "off" } });
  // The agent's own pause and its own instructions are not known here: they come back with the next call.
  expect(changeOf({ ...DEFAULTS, pause: "long" }, DEFAULTS)).toBeNull();
  expect(changeOf({ ...DEFAULTS, instructions: "Be brief." }, DEFAULTS)).toBeNull();
});

test("only an answer of this tab's user is consent", () => {
  const place = storage();
  expect([hasConsent(place), wasAsked(place)]).toEqual([false, false]);
  keepConsent(place, false);
  expect([hasConsent(place), wasAsked(place)]).toEqual([false, true]);
  keepConsent(place, true);
  expect([hasConsent(place), wasAsked(place)]).toEqual([true, true]);
  expect(hasConsent(forbidden)).toBe(false);
});
