/** The words about waiting times. A report has them in English; a page gives them in its reader's language. */

import { WAITS_EN } from "../texts/waits-en.ts";

export type WaitKey = keyof typeof WAITS_EN;
export type WaitTexts = Readonly<Record<WaitKey, string>>;

let texts: WaitTexts = WAITS_EN;

/** From now on these are the words. */
export function speakOfWaits(chosen: WaitTexts): void {
  texts = chosen;
}

/** The text of a key; `{name}` in it becomes the value of that name. */
export function sayWait(key: WaitKey, values: Readonly<Record<string, string | number>> = {}): string {
  return texts[key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
