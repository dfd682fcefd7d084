import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { addressOf, asFolder, defaultServer, socketAddress } from "../src/server-address.ts";

beforeEach(() => {
  vi.stubGlobal("document", { baseURI: "https://shop.example/talk/index.html?x=1" });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

test.each([
  ["https://voice.example/client/realtime.js", "https://voice.example/"],
  ["https://voice.example/voice/client/realtime.script.js?v=2", "https://voice.example/voice/"],
  ["https://shop.example/assets/main-4f1c.js", "https://shop.example/"],
  ["", "https://shop.example/"],
])("a client from %j calls %s", (module, server) => {
  expect(defaultServer(module)).toBe(server);
});

test.each([
  ["https://voice.example", "https://voice.example/"],
  ["https://voice.example/voice?token=x", "https://voice.example/voice/"],
  ["/voice", "https://shop.example/voice/"],
  ["./voice", "https://shop.example/talk/voice/"],
  ["ws://localhost:8000", "http://localhost:8000/"],
  ["WSS://voice.example", "https://voice.example/"],
])("the server %s is at %s", (server, folder) => {
  expect(asFolder(server)).toBe(folder);
});

test.each(["https://", "htp:nonsense", "127.0.0.1:9310", "localhost:9310", "voice.example", "", "http://a:b"])(
  "%j is no address, and is refused with one that is",
  (server) => {
    expect(() => asFolder(server)).toThrow(TypeError);
    expect(() => asFolder(server)).toThrow('is no address of a server: give one such as "http://localhost:8000"');
  },
);

test("a call's socket has its names, its token and the scheme of sockets", () => {
  expect(socketAddress("https://voice.example/", "ann/b", "s 1", "ct_1&2")).toBe("wss://voice.example/ws/ann%2Fb/s%201?token=ct_1%262");
  expect(socketAddress("http://localhost:8000/", "ann", "s1", "")).toBe("ws://localhost:8000/ws/ann/s1");
  expect(addressOf("https://voice.example/v/", "api/info", "ct_1")).toBe("https://voice.example/v/api/info?token=ct_1");
});
