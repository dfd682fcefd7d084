import { expect, test } from "vitest";
import { invitation, readAgents, roomUrl } from "../src/room/room-server.ts";

test("the room's socket is beside the page, under any prefix, with the page's token and the user's name", () => {
  const page = "https://host/voice/room.html?room=a&name=b&token=t";
  expect(roomUrl(page, "the attic", "Ann & Bob")).toBe(
    "wss://host/voice/rooms/the%20attic/ws?token=t&name=Ann+%26+Bob",
  );
  expect(roomUrl("http://host/room.html", "demo", "Ann")).toBe("ws://host/rooms/demo/ws?name=Ann");
});

test("an invitation names the room, keeps the token, and leaves our name out", () => {
  expect(invitation("http://host/room.html?room=x&name=Ann&token=t", "demo")).toBe(
    "http://host/room.html?token=t&room=demo",
  );
});

test("what the server tells of rooms is read, and what is odd is left out", () => {
  expect(readAgents({ agent_templates: ["Ada", 3, null] })).toEqual(["Ada"]);
  for (const odd of [null, undefined, "x", {}, { agent_templates: {} }]) expect(readAgents(odd)).toEqual([]);
});
