/** Small parts of the report: elements, times and words. */

import { make } from "../view/elements.ts";
import type { Caption } from "./data.ts";

export function button(label: string, act: () => void, className = ""): HTMLButtonElement {
  const made = make("button", className, label);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** A section with a heading. */
export function card(title: string, ...inside: (Node | string)[]): HTMLElement {
  const made = make("section", "card", make("h3", "", title), ...inside);
  made.setAttribute("aria-label", title);
  return made;
}

/** A time as `1:02.345`, with `digits` after the point. */
export function clock(ms: number, digits = 3): string {
  const unit = 10 ** (3 - digits);
  const rounded = Math.round(ms / unit) * unit;
  const minutes = Math.floor(rounded / 60_000);
  const seconds = ((rounded % 60_000) / 1_000).toFixed(digits);
  return `${minutes}:${seconds.padStart(digits ? digits + 3 : 2, "0")}`;
}

export function inMs(ms: number | null): string {
  return ms === null ? "–" : `${Math.round(ms)} ms`;
}

export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/** The words of a caption, with those that were not played struck through. */
export function words(caption: Caption): HTMLElement {
  const text = caption.unheard.trimStart();
  const made = make("span", "words", caption.heard, caption.heard && text ? " " : "");
  if (text) {
    const unheard = make("del", "unheard", text);
    unheard.title = caption.withdrawn ? "withdrawn" : "not heard";
    made.append(unheard);
  }
  return made;
}

/** The bytes of base64 text. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/** JSON with line breaks; other text as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
