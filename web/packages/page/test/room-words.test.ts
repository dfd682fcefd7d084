import { expect, test } from "vitest";
import { Hues } from "../src/room/hues.ts";
import { NOBODY, type People, type Person } from "../src/room/people.ts";
import { LevelHistory } from "../src/room/waveform.ts";
import { doingWords, roomCloseNotice, roomEndNotice, statusWords } from "../src/room/words.ts";

const person = (id: string, more: Partial<Person> = {}): Person => ({
  id,
  name: id,
  kind: "human",
  away: false, muted: false,
  active: false,
  voice: null,
  ...more,
});
const two: People = { ...NOBODY, all: [person("Ann"), person("Ada", { kind: "agent" })], me: "Ann" };

test("the status says how the line is, then who has the floor", () => {
  expect(statusWords("reconnecting", 3, two)).toContain("try");
  expect(statusWords("connecting", 1, NOBODY)).toBe("Coming in…");
  expect(statusWords("open", 1, NOBODY)).toBe("Coming in…");
  expect(statusWords("open", 1, { ...two, floor: "Ada" })).toBe("Ada has the floor");
  expect(statusWords("open", 1, { ...two, floor: "Ann" })).toBe("You have the floor");
  expect(statusWords("open", 1, two)).toBe("Anybody may speak");
  expect(statusWords("open", 1, { ...two, all: [person("Ann")] })).toBe("Nobody else is here yet");
  expect(statusWords("closed", 1, two)).toBe("");
});

test("the activity of a participant: away and muted come first", () => {
  const agent = person("Ada", { kind: "agent", active: true });
  expect(doingWords(agent, false, false)).toBe("Thinking");
  expect(doingWords(agent, true, false)).toBe("Speaking");
  expect(doingWords({ ...agent, away: true }, true, true)).toContain("Away");
  expect(doingWords(person("Ann", { active: true }), false, true)).toBe("Muted");
  expect(doingWords(person("Ann", { active: true }), false, false)).toBe("Speaking");
});

test("a user who left gets no notice; one who was removed or lost learns how to join again", () => {
  const lost = { wasOpen: true, code: 1006, reason: "", expected: false, instead: null };
  expect(roomCloseNotice({ ...lost, expected: true }, true)).toBeNull();
  expect(roomCloseNotice(lost, true)?.todo).toContain("Join");
  expect(roomCloseNotice(lost, false)?.todo).toContain("Start it");
  expect(roomEndNotice("client_end")).toBeNull();
  expect(roomEndNotice("kicked")?.what).toContain("asked to leave");
  expect(roomEndNotice("agent_ended")).toBeNull();
  expect(roomEndNotice("idle")?.todo).toContain("Join");
});

test("names keep their colour, and the first ones share none", () => {
  const hues = new Hues();
  const names = ["a", "b", "c", "d", "e", "f"];
  expect(new Set(names.map((name) => hues.of(name))).size).toBe(6);
  expect(hues.of("a")).toBe("0");
});

test("a level holds between two reports, and a voice without reports falls silent", () => {
  const history = new LevelHistory(3);
  expect(history.isFlat(0)).toBe(true);
  history.tell(0.5, 0);
  expect(history.isFlat(0)).toBe(false);
  for (const nowMs of [60, 120, 180]) history.step(nowMs);
  expect(history.levels.every((level) => level > 0.8)).toBe(true);
  for (const nowMs of [240, 300, 360]) history.step(nowMs);
  expect(history.isFlat(360)).toBe(true);
});
