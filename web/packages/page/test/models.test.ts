import { describe, expect, test } from "vitest";
import { NO_OFFER, type OfferedModel, choiceWords, hearingWords, modelToBeginWith, readOffer } from "../src/models.ts";

const ANSWER = {
  default: "local",
  models: [
    { name: "local", title: "Embedded model", provider: "local", model: "local", missing: null, heard_by: "this computer" },
    {
      name: "openai",
      title: "OpenAI",
      provider: "openai",
      model: "gpt-realtime-2.1",
      voices: ["alloy", "marin"],
      missing: null,
      heard_by: "OpenAI",
      may_cost: true,
    },
    { name: "gemini", title: "Gemini", provider: "gemini", model: "flash", missing: "GEMINI_API_KEY", may_cost: true },
  ],
};
const offer = readOffer(ANSWER);
const [local, openai, gemini] = offer.models as [OfferedModel, OfferedModel, OfferedModel];

describe("what the server offers", () => {
  test("is read as it is said", () => {
    expect(offer.unasked).toBe("local");
    expect(openai.info.voices).toEqual(["alloy", "marin"]);
    expect([local.mayCost, openai.mayCost]).toEqual([false, true]);
    expect(gemini.missing).toBe("GEMINI_API_KEY");
  });

  test.each([null, 7, [], {}, { models: 7 }, { models: [null, {}, { name: 7 }] }])("is nothing in %j", (answer) => {
    expect(readOffer(answer)).toEqual(NO_OFFER);
  });
});

describe("the model to begin with", () => {
  test.each([
    ["openai", "openai"],
    ["gemini", "local"],
    ["gone", "local"],
    [null, "local"],
  ])("with %s remembered is %s", (remembered, name) => {
    expect(modelToBeginWith(offer, remembered)?.name).toBe(name);
  });

  test("is the first that can be called where the server's own cannot", () => {
    expect(modelToBeginWith({ ...offer, unasked: "gemini" }, null)?.name).toBe("local");
    expect(modelToBeginWith({ unasked: "gemini", models: [gemini] }, null)).toBeNull();
    expect(modelToBeginWith(NO_OFFER, "openai")).toBeNull();
  });
});

test("a line names the model, or what is missing", () => {
  expect([local, openai, gemini].map(choiceWords)).toEqual([
    "Embedded model",
    "OpenAI gpt-realtime-2.1",
    "Gemini: set GEMINI_API_KEY",
  ]);
});

test("it is said who hears the user and that it may cost money", () => {
  expect(hearingWords(local, true)).toBe("What you say stays on this computer.");
  expect(hearingWords(local, false)).toBe("What you say goes to the computer that serves this page.");
  expect(hearingWords(openai, true)).toBe("OpenAI hears what you say, and it may cost money.");
  const chat = { ...local, readBy: "the chat endpoint that REALTIME_LLM_BASE_URL names" };
  expect(hearingWords(chat, true)).toBe(
    "Your voice stays on this computer, your words go to the chat endpoint that REALTIME_LLM_BASE_URL names.",
  );
  expect(hearingWords({ ...chat, mayCost: true }, false)).toMatch(/^Your voice goes to .*, and it may cost money\.$/);
  expect(hearingWords({ ...openai, heardBy: "the service that OPENAI_BASE_URL names" }, true)).toBe(
    "The service that OPENAI_BASE_URL names hears what you say, and it may cost money.",
  );
});
