/** Where the worklets come from: out of this file, or from a folder of a server. */

import type { Worklets } from "./call-controller.ts";
import { CAPTURE, PLAYBACK } from "./inlined-worklets.ts";

let inlined: Worklets | null = null;

/** Addresses of the worklets in this file. Works wherever the page's policy lets scripts come from `blob:`. */
export function inlinedWorklets(): Worklets {
  return (inlined ??= { capture: scriptAddress(CAPTURE), playback: scriptAddress(PLAYBACK) });
}

/** Addresses of the worklets in a folder. */
export function workletsBelow(folder: string): Worklets {
  const base = new URL(folder.endsWith("/") ? folder : `${folder}/`, document.baseURI);
  return { capture: new URL("capture.js", base).href, playback: new URL("playback.js", base).href };
}

function scriptAddress(script: string): string {
  return URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
}
