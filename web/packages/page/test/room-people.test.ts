import { expect, test } from "vitest";
import type { ServerEvent } from "@realtime-voice/client";
import { NOBODY, type People, foldPeople, makerOf, personOf } from "../src/room/people.ts";
import { event } from "../../../test/events.ts";

const fold = (...events: ServerEvent[]): People => events.reduce(foldPeople, NOBODY);
const joined = (participant_id: string, name: string, kind = "human"): ServerEvent =>
  event("server_room_joined", { participant_id, name, kind, muted: false, away: false });
const left = (participant_id: string, reason: string): ServerEvent =>
  event("server_room_left", { participant_id, reason });

test("the first participant is the user, and the others follow in order", () => {
  const people = fold(joined("h2", "Ann 2"), joined("a1", "Ada", "agent"), joined("h1", "Ann"));
  expect(people.me).toBe("h2");
  expect(people.all.map(({ name, kind }) => `${name} ${kind}`)).toEqual(["Ann 2 human", "Ada agent", "Ann human"]);
});

test("who leaves is gone, who is away or renamed stays", () => {
  const all = [joined("h1", "Ann"), joined("a1", "Ada", "agent"), joined("h2", "Bob")];
  expect(fold(...all, left("h2", "left")).all.map(({ id }) => id)).toEqual(["h1", "a1"]);
  const away = fold(...all, left("a1", "away"));
  expect(personOf(away, "a1")?.away).toBe(true);
  expect(personOf(foldPeople(away, joined("a1", "Ada", "agent")), "a1")?.away).toBe(false);
  const renamed = fold(...all, left("h2", "renamed"), joined("h2", "Robert"));
  expect(renamed.all.map(({ name }) => name)).toEqual(["Ann", "Ada", "Robert"]);
});

test("after the server was started again everybody is there once, and what we said before is still ours", () => {
  const before = [joined("h1", "Ann"), joined("a1", "Emma", "agent"), event("server_room_floor", { participant_id: "a1" })];
  const gone = [event("server_room_floor", { participant_id: null }), left("h1", "call_interrupted"), left("a1", "call_interrupted")];
  expect(fold(...before, ...gone)).toMatchObject({ all: [], me: null, floor: null });
  const people = fold(...before, ...gone, joined("h7", "Ann"), joined("a7", "Emma", "agent"));
  expect(people.me).toBe("h7");
  expect(people.mine).toEqual(["h1", "h7"]);
  expect(people.all.map(({ id }) => id)).toEqual(["h7", "a7"]);
});

test("who is muted or away is known from the first moment and with each change", () => {
  const came = event("server_room_joined", { participant_id: "h2", name: "Bob", kind: "human", muted: true, away: true });
  const changed = (muted: boolean, away: boolean): ServerEvent =>
    event("server_room_changed", { participant_id: "h2", name: "Bob", kind: "human", muted, away });
  const states = [came, changed(false, true), changed(true, false), changed(false, false)];
  let people = fold(joined("h1", "Ann"));
  const shown = states.map((state) => {
    people = foldPeople(people, state);
    const bob = personOf(people, "h2");
    return [bob?.muted, bob?.away];
  });
  expect(shown).toEqual([[true, true], [false, true], [true, false], [false, false]]);
});

test("a human who loses the line in mid-sentence stops speaking", () => {
  const speaking = fold(joined("h1", "Ann"), event("agent_input_started", { agent_id: "h1" }));
  const away = event("server_room_changed", { participant_id: "h1", name: "Ann", kind: "human", muted: false, away: true });
  expect(personOf(foldPeople(speaking, away), "h1")?.active).toBe(false);
});

test("a turn that was none after all ends as one that was", () => {
  const speaking = fold(joined("h1", "Ann"), event("agent_input_started", { agent_id: "h1" }));
  const cleared = event("agent_input_cleared", { agent_id: "h1", item_id: "said_1" });
  expect(personOf(foldPeople(speaking, cleared), "h1")?.active).toBe(false);
});

test("the floor is as the server reports, and free in between", () => {
  const first = fold(joined("h1", "Ann"), event("server_room_floor", { participant_id: "h1" }));
  expect(first.floor).toBe("h1");
  expect(foldPeople(first, event("server_room_floor", { participant_id: null })).floor).toBeNull();
});

test("a voice and an answer are active from their beginning to their end", () => {
  const all = [joined("h1", "Ann"), joined("a1", "Ada", "agent")];
  const speaking = fold(...all, event("agent_input_started", { agent_id: "h1" }));
  expect(personOf(speaking, "h1")?.active).toBe(true);
  expect(personOf(foldPeople(speaking, event("agent_input_done", { agent_id: "h1" })), "h1")?.active).toBe(false);
  const thinking = fold(...all, event("agent_response_created", { agent_id: "a1" }));
  expect(personOf(thinking, "a1")?.active).toBe(true);
  expect(personOf(foldPeople(thinking, event("agent_response_done", { agent_id: "a1" })), "a1")?.active).toBe(false);
});

test("an agent that was ready before it joined has its voice's name", () => {
  const ready = event("agent_ready", { agent_id: "a1", model: { provider: "local", voice: "heart" } });
  expect(personOf(fold(ready, joined("h1", "Ann"), joined("a1", "Ada", "agent")), "a1")?.voice).toBe("heart");
});

test("what agents make is named after them", () => {
  const people = fold(joined("h1", "Ann"), joined("agent_1", "Ada", "agent"), joined("agent_12", "Ben", "agent"));
  expect(makerOf(people, "agent_12.item_3")?.name).toBe("Ben");
  expect(makerOf(people, "said_4")).toBeNull();
});
