/** The page's texts in the language of its reader. English is in the page; another language is loaded when it is chosen. */

import { speakOfWaits } from "./latency/texts.ts";
import { type MakeStorage, keep, readKept } from "./storage.ts";
import { EN, type Key, type Texts } from "./texts/en.ts";

export type { Key };

/** Each language by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch", es: "Español", zh: "中文" } as const;
export type Language = keyof typeof LANGUAGES;

const REMEMBERED_AS = "realtime.language";
const LOADERS: Record<Language, () => Promise<Texts>> = {
  en: async () => EN,
  de: async () => (await import("./texts/de.ts")).DE,
  es: async () => (await import("./texts/es.ts")).ES,
  zh: async () => (await import("./texts/zh.ts")).ZH,
};

let texts: Texts = EN;
let language: Language = "en";

/** The text of a key; `{name}` in it becomes the value of that name. */
export function say(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  return texts[key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Whether there is a text of this name. */
export function isKey(name: string): name is Key {
  return name in EN;
}

/** The language of the texts. */
export function presentLanguage(): Language {
  return language;
}

/** The first language of the browser's user that there is; English where there is none. */
export function languageFor(wanted: readonly string[]): Language {
  const found = wanted.map((tag) => tag.toLowerCase().split("-")[0] ?? "").find((code) => code in LANGUAGES);
  return (found as Language | undefined) ?? "en";
}

/** The language that was chosen on an earlier visit, else that of the browser. */
export function languageToBeginWith(storage: MakeStorage, wanted: readonly string[]): Language {
  const kept = readKept(storage, REMEMBERED_AS);
  return languageFor(kept === null ? wanted : [kept, ...wanted]);
}

export function rememberLanguage(storage: MakeStorage, chosen: Language): void {
  keep(storage, REMEMBERED_AS, chosen);
}

/** Loads a language and speaks it. Where it cannot be loaded, the language stays; returns whether it was. */
export async function useLanguage(wanted: Language): Promise<boolean> {
  try {
    texts = await LOADERS[wanted]();
    speakOfWaits(texts);
    language = wanted;
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes the texts of the elements that name a key: `data-say` the text, `data-say-label` the accessible name,
 * `data-say-placeholder` what an empty field shows.
 */
export function writeTexts(root: ParentNode): void {
  for (const element of root.querySelectorAll<HTMLElement>("[data-say], [data-say-label], [data-say-placeholder]")) {
    const { say: text, sayLabel: label, sayPlaceholder: placeholder } = element.dataset;
    if (text && isKey(text)) element.textContent = say(text);
    if (label && isKey(label)) element.setAttribute("aria-label", say(label));
    if (placeholder && isKey(placeholder)) element.setAttribute("placeholder", say(placeholder));
  }
}
