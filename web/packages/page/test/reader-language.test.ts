/** The pages of calls and rooms in every language. */

import { afterEach, expect, test } from "vitest";
import type { CallInfo } from "../src/call-reader.ts";
import { dayWords, deleteQuestion, durationWords, endedWords, errorWords } from "../src/call-words.ts";
import { listed, sayCount } from "../src/reader-language.ts";
import { insideWords, roomEndNotice } from "../src/room/words.ts";
import { EN } from "../src/texts/en.ts";
import { useLanguage } from "../src/texts.ts";
import calls from "../transcript.html?raw";
import room from "../room.html?raw";

afterEach(() => useLanguage("en"));

const CALL: CallInfo = {
  call_id: "c", agent_name: "Friday", created_at: "2026-01-01T00:00:00.000Z", ended_at: "2026-01-01T00:01:05.000Z",
  live: false, ended_reason: "idle",
};

test("every key that the markup names has a text", () => {
  const named = [...`${calls}${room}`.matchAll(/data-say(?:-label|-placeholder)?="([^"]+)"/g)].map(([, key]) => key ?? "");
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((key) => !(key in EN))).toEqual([]);
});

test("a call is told in the reader's language", async () => {
  await useLanguage("de");
  expect(endedWords(CALL)).toBe("Beendet: niemand sprach");
  expect(durationWords(CALL).replaceAll("\u00a0", " ")).toBe("1 Min. 5 Sek.");
  expect(errorWords(1).replaceAll("\u00a0", " ")).toBe("1 Fehler");
  expect(dayWords(new Date(2024, 1, 3, 12).toISOString(), new Date(2026, 0, 1))).toBe("Samstag, 3. Februar 2024");
  await useLanguage("es");
  expect(deleteQuestion({ ...CALL, recorded: true })).toBe("¿Eliminar definitivamente esta llamada y su sonido?");
  await useLanguage("zh");
  expect(endedWords(CALL)).toBe("已结束：无人说话");
});

test("numbers and lists are those of the language", async () => {
  const plain = (text: string): string => text.replaceAll(/[\u2068\u2069]/g, "").replaceAll("\u00a0", " ");
  expect([1, 2].map((count) => plain(sayCount("calls.turns", count)))).toEqual(["1 turn", "2 turns"]);
  await useLanguage("de");
  expect([1, 2].map((count) => plain(sayCount("calls.turns", count)))).toEqual(["1 Beitrag", "2 Beiträge"]);
  expect(plain(listed(["Ann", "Ben", "Cleo"]))).toBe("Ann, Ben und Cleo");
  expect(insideWords({ id: "tea", humans: [], count: 0, agents: [] })).toBe("Noch ist niemand darin");
  expect(roomEndNotice("absent")?.todo).toBe("Drücken Sie Beitreten, um zurückzukommen.");
});
