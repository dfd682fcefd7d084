import { afterEach, expect, test, vi } from "vitest";
import { askServer, cannotBegin, noToken, problemOf } from "../src/call-error.ts";
import type { Closing } from "../src/call-socket.ts";

const closing = (fields: Partial<Closing>): Closing => ({ wasOpen: true, code: 1006, reason: "", expected: false, instead: null, ...fields });

afterEach(() => {
  vi.unstubAllGlobals();
});

test("an end that was wanted is no problem", async () => {
  expect(await problemOf(closing({ expected: true }), "", () => Promise.resolve("ours"))).toBeNull();
});

test.each([
  [{ instead: "elsewhere" }, "elsewhere"],
  [{ instead: "gave_up" }, "lost"],
  [{ instead: "refused" }, "lost"],
  [{ code: 1013 }, "busy"],
  [{ code: 1008, reason: "no token was given" }, "refused"],
  [{ code: 1011 }, "lost"],
  [{ code: 1006 }, "lost"],
] as const)("a call that ends by %o has the problem %s, in a sentence", async (fields, problem) => {
  const error = await problemOf(closing(fields), "", () => Promise.resolve("ours"));
  expect(error?.problem).toBe(problem);
  expect(error?.message).toMatch(/^[A-Z].*\.$/);
});

test.each([
  ["other", "other_version"],
  ["refuses", "refused"],
  ["ours", "unreachable"],
  ["silent", "unreachable"],
] as const)("a socket that never opened, at a server that says %s, is %s", async (answer, problem) => {
  const error = await problemOf(closing({ wasOpen: false }), "", () => Promise.resolve(answer));
  expect(error?.problem).toBe(problem);
});

test.each([
  ["no token was given: show that of --token", "", "This page may not call: its developer has to give it a token."],
  ["the token is wrong: show that of --token", "x", "This page may not call: its permission is wrong or has expired. Reload it, or sign in again."],
  ["pages of 'http://token.example' may not call: --allow-embed lets them", "", "This page may not call: its developer has to allow it at the server."],
])("why the server refuses a page (%s) is told to its user without options, and to its developer as it is", async (reason, token, message) => {
  const error = await problemOf(closing({ code: 1008, reason }), token, () => Promise.resolve("ours"));
  expect(error).toMatchObject({ message, detail: `The server refuses the call: ${reason}.` });
});

test("what a server says before a call begins is for its operator", () => {
  const { message, detail } = cannotBegin("OPENAI_API_KEY is not set");
  expect([message.includes("OPENAI"), detail]).toEqual([false, "OPENAI_API_KEY is not set"]);
});

test("a token that did not come names its cause to the developer only", () => {
  const { problem, message, detail } = noToken(new Error("/voice-token answers 404"));
  expect([problem, message.includes("404"), detail]).toEqual(["no_token", false, "No token: /voice-token answers 404."]);
});

test.each([
  [200, { protocols: ["realtime.v1", "realtime.v2"] }, "ours"],
  [200, { protocols: ["realtime.v2"] }, "other"],
  [200, {}, "other"],
  [200, null, "other"],
  [401, {}, "refuses"],
  [404, {}, "silent"],
])("a server that answers %i with %o is known as %s", async (status, body, answer) => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify(body), { status })));
  expect(await askServer("https://voice.example/api/info")).toBe(answer);
});

test("a server that does not answer is silent", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed to fetch")));
  expect(await askServer("https://voice.example/api/info")).toBe("silent");
});
