/** What the lobby shows of the server's rooms. */

import { expect, test } from "vitest";
import { type OpenRoom, readLobby } from "../src/room/lobby.ts";
import { agentsWords, insideWords, roomEndNotice } from "../src/room/words.ts";

const room = (more: Partial<OpenRoom> = {}): OpenRoom => ({ id: "tea", humans: [], count: 0, agents: [], ...more });

test("rooms with humans come first, then empty ones, then those that open with their first human", () => {
  const told = {
    rooms: [
      { room_id: "empty", humans: 0, participants: [{ kind: "agent", name: "Ada" }], agents: [{ name: "Ada" }] },
      { room_id: "tea", humans: 1, participants: [{ kind: "human", name: "Ann" }, { kind: "agent", name: "Ada" }], agents: [{ name: "Ada" }] },
    ],
    templates: ["tea", "demo"],
  };
  expect(readLobby(told)).toEqual([
    room({ humans: ["Ann"], count: 1, agents: ["Ada"] }),
    room({ id: "empty", agents: ["Ada"] }),
    room({ id: "demo" }),
  ]);
});

test("what the server keeps to itself is unknown, and what is odd is left out", () => {
  expect(readLobby({ rooms: [{ room_id: "tea", humans: 3, agents: [{ name: "Ada" }, 3, null] }] })).toEqual([
    room({ humans: null, count: 3, agents: ["Ada"] }),
  ]);
  for (const odd of [null, undefined, "x", {}, { rooms: {} }, { rooms: [null, 3, { room_id: 4 }, { room_id: "" }] }]) {
    expect(readLobby(odd)).toEqual([]);
  }
});

test("who is in a room is said by name, else by number", () => {
  const plain = (text: string): string => text.replaceAll(/[\u2068\u2069]/g, "").replaceAll("\u00a0", " ");
  expect(plain(insideWords(room({ humans: ["Ann", "Ben", "Cleo"], count: 3 })))).toBe("Ann, Ben, and Cleo");
  expect([1, 2].map((count) => plain(insideWords(room({ humans: null, count }))))).toEqual(["1 person", "2 people"]);
  expect(insideWords(room())).toBe("Nobody is in it yet");
  expect(plain(agentsWords(room({ agents: ["Ada"] })))).toBe("With Ada");
  expect(agentsWords(room())).toBe("");
});

test("who was away for too long learns it, and how to join again", () => {
  expect(roomEndNotice("absent")).toEqual({
    what: "You were away for more than a minute, so you left the room.",
    todo: "Press Join to come back in.",
  });
});
