/** The reader's language on pages that have no choice of it: as chosen on the page of a call, else the browser's. */

import { type Key, languageToBeginWith, presentLanguage, say, useLanguage, writeTexts } from "./texts.ts";

/** Loads the language and writes the page's texts in it. */
export async function speakReadersLanguage(): Promise<void> {
  await useLanguage(languageToBeginWith(() => localStorage, navigator.languages));
  document.documentElement.lang = presentLanguage();
  writeTexts(document);
}

/** The locale of dates and lists: the browser's own where it is of the texts' language, such as en-GB. */
export function locale(): string {
  const own = navigator.language;
  return own.toLowerCase().split("-")[0] === presentLanguage() ? own : presentLanguage();
}

/** A text with a number, in the form that the language has for it. */
export function sayCount(what: "calls.turns" | "calls.errors" | "room.people", count: number): string {
  const form = new Intl.PluralRules(locale()).select(count) === "one" ? "one" : "other";
  const key: Key = `${what}.${form}`;
  return say(key, { count }).replace(" ", "\u00a0");
}

/** Names as a list in a sentence. Each is read in its own direction and turns no words around it. */
export function listed(names: readonly string[]): string {
  return new Intl.ListFormat(locale()).format(names.map((name) => `\u2068${name}\u2069`));
}
