import { describe, expect, test } from "vitest";
import { besidePage, callUrl } from "../src/server-info.ts";
import { closeNotice, endNotice, microphoneNotice, reconnectingWords, modelWords, readModelInfo } from "../src/words.ts";

const info = (fields: object) => readModelInfo(fields) as NonNullable<ReturnType<typeof readModelInfo>>;

describe("which model speaks", () => {
  test("the embedded one says that it understands English only", () => {
    const words = modelWords(info({ provider: "local", model: "local", voice: "heart", languages: ["en"] }));
    expect(words).toBe("The embedded model speaks, voice heart. It understands English only.");
    expect(modelWords(info({ provider: "local" }))).toContain("English only");
  });

  test("another one is named by provider and model, without a limit it does not have", () => {
    expect(modelWords(info({ provider: "openai", model: "gpt-realtime" }))).toBe("OpenAI gpt-realtime speaks.");
  });

  test("odd fields become empty, and no object is no model", () => {
    expect(readModelInfo({ provider: 3, voices: ["a", 4], voice: "" })).toEqual({
      provider: "",
      model: "",
      voice: null,
      voices: ["a"],
      languages: [],
      takes: [],
      suggestions: [],
    });
    expect([readModelInfo(null), readModelInfo("local")]).toEqual([null, null]);
  });
});

describe("what went wrong", () => {
  const closing = { wasOpen: true, code: 1006, reason: "", expected: false, instead: null };

  test("every microphone problem has words and a way on", () => {
    for (const problem of ["insecure", "refused", "missing", "busy", "failed"] as const) {
      expect(microphoneNotice(problem).what.length).toBeGreaterThan(20);
      expect(microphoneNotice(problem).todo).toContain("type");
    }
    expect(microphoneNotice("refused").what).toBe("The microphone was refused.");
    expect(microphoneNotice("insecure").todo).toContain("https");
  });

  test("an absent, a refusing and a lost server have different notices", () => {
    expect(closeNotice({ ...closing, wasOpen: false }, false)?.what).toBe("The server cannot be reached.");
    expect(closeNotice({ ...closing, wasOpen: false }, true)?.what).toContain("refused the call");
    expect(closeNotice(closing, false)?.todo).toContain("Start it");
    expect(closeNotice(closing, true)?.what).toContain("gone (code 1006)");
  });

  test("why a call did not go on is said, with what to do", () => {
    const lost = { ...closing, code: 1006 };
    expect(closeNotice({ ...lost, instead: "gave_up" }, false)?.what).toContain("did not come back in time");
    expect(closeNotice({ ...lost, instead: "refused" }, true)?.todo).toContain("new call");
    expect(closeNotice({ ...lost, instead: "elsewhere" }, true)?.what).toContain("went on elsewhere");
    expect([reconnectingWords(1), reconnectingWords(4)]).toEqual(["Reconnecting…", "Reconnecting… (try\u00a04)"]);
  });

  test("a reason of the server is shown, and a wanted end is no problem", () => {
    const refusal = "pages of 'http://a.example' may not call: --allow-origin lets them";
    expect(closeNotice({ ...closing, code: 1008, reason: refusal }, false)?.what).toBe(
      `The server refused this page. It said: ${refusal}.`,
    );
    expect(closeNotice({ ...closing, code: 1013, reason: "8 calls already" }, true)?.what).toContain("8 calls already");
    expect(closeNotice({ ...closing, expected: true }, true)).toBeNull();
    expect(endNotice("anything")?.what).toContain("anything");
    expect(endNotice("idle")?.what).toContain("nobody spoke");
    expect(endNotice("client_end")).toBeNull();
  });
});

describe("addresses", () => {
  test("the call lives beside the page, under any prefix, with the page's token", () => {
    expect(callUrl("http://localhost:8000/", "guest", "s1")).toBe("ws://localhost:8000/ws/guest/s1");
    expect(callUrl("https://host/voice/?token=a%20b", "guest", "s/1")).toBe("wss://host/voice/ws/guest/s%2F1?token=a+b");
    expect(besidePage("http://host/voice/index.html#x", "api/info").href).toBe("http://host/voice/api/info");
  });
});
