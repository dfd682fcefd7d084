import { afterEach, describe, expect, test } from "vitest";
import { DE } from "../src/texts/de.ts";
import { EN } from "../src/texts/en.ts";
import { ES } from "../src/texts/es.ts";
import { ZH } from "../src/texts/zh.ts";
import { languageFor, languageToBeginWith, say, useLanguage } from "../src/texts.ts";
import { endNotice, lengthWords, microphoneNotice, reconnectingWords } from "../src/words.ts";
import index from "../index.html?raw";

const OTHERS = { DE, ES, ZH };
const names = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "").toSorted();

afterEach(() => useLanguage("en"));

describe("each language", () => {
  test.each(Object.entries(OTHERS))("%s has every text, with the same names in it", (_, texts) => {
    expect(Object.keys(texts).toSorted()).toEqual(Object.keys(EN).toSorted());
    for (const [key, text] of Object.entries(EN)) {
      const other = texts[key as keyof typeof EN];
      expect(other.trim(), key).not.toBe("");
      expect(names(other), key).toEqual(names(text));
    }
  });

  test.each(Object.entries(OTHERS))("%s is translated, but for what is the same everywhere", (_, texts) => {
    const same = Object.entries(EN).filter(([key, text]) => texts[key as keyof typeof EN] === text && /\p{L}{4}/u.test(text));
    expect(same.map(([key]) => key).filter((key) => !["talk.agent", "bubble.agent", "settings.agent", "key.enter"].includes(key))).toEqual([]);
  });

  test("has a text for every key that the page's markup names", () => {
    const named = [...index.matchAll(/data-say(?:-label|-placeholder)?="([^"]+)"/g)].map(([, key]) => key ?? "");
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter((key) => !(key in EN))).toEqual([]);
  });
});

describe("the language of the reader", () => {
  test("is the first of the browser's that there is, else English", () => {
    expect(languageFor(["fr-CH", "de-CH", "en"])).toBe("de");
    expect(languageFor(["zh-Hant-TW"])).toBe("zh");
    expect([languageFor(["fr"]), languageFor([])]).toEqual(["en", "en"]);
  });

  test("is the chosen one on the next visit", () => {
    const kept = (value: string | null) => () => ({ getItem: () => value, setItem: () => {}, removeItem: () => {} });
    expect(languageToBeginWith(kept("es"), ["de"])).toBe("es");
    expect(languageToBeginWith(kept(null), ["de"])).toBe("de");
    expect(languageToBeginWith(kept("klingon"), ["de"])).toBe("de");
  });

  test("is spoken by notices that were made before", async () => {
    const notice = microphoneNotice("missing");
    expect(notice.what).toBe("No microphone was found.");
    await useLanguage("de");
    expect(notice.what).toBe("Es wurde kein Mikrofon gefunden.");
    expect(endNotice("idle")?.todo).toBe("Drücken Sie die Taste für ein neues Gespräch.");
    expect(reconnectingWords(3)).toBe("Verbindung wird wiederhergestellt … (Versuch\u00a03)");
    expect(lengthWords(134_000)).toBe("2 Minuten, 14 Sekunden");
  });

  test("puts values in, and leaves braces of values alone", () => {
    expect(say("tool.stopName", { name: "{name}" })).toBe("Stop {name}");
    expect(say("close.said", {})).toBe("It said: {reason}.");
  });
});
