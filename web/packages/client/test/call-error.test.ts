import { afterEach, expect, test, vi } from "vitest";
import { askServer, problemOf } from "../src/call-error.ts";
import type { Closing } from "../src/call-socket.ts";

const closing = (fields: Partial<Closing>): Closing => ({ wasOpen: true, code: 1006, reason: "", expected: false, instead: null, ...fields });

afterEach(() => {
  vi.unstubAllGlobals();
});

test("an end that was wanted is no problem", async () => {
  expect(await problemOf(closing({ expected: true }), () => Promise.resolve("ours"))).toBeNull();
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
  const error = await problemOf(closing(fields), () => Promise.resolve("ours"));
  expect(error?.problem).toBe(problem);
  expect(error?.message).toMatch(/^[A-Z].*\.$/);
});

test.each([
  ["other", "other_version"],
  ["refuses", "refused"],
  ["ours", "unreachable"],
  ["silent", "unreachable"],
] as const)("a socket that never opened, at a server that says %s, is %s", async (answer, problem) => {
  const error = await problemOf(closing({ wasOpen: false }), () => Promise.resolve(answer));
  expect(error?.problem).toBe(problem);
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
