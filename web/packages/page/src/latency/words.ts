/** What the parts of a wait are called, in words for people who are no engineers. */

import { WAITS_EN } from "../texts/waits-en.ts";
import { type WaitKey, sayWait } from "./texts.ts";

export interface StageWords {
  /** What had happened at its end. */
  readonly done: string;
  /** What the time was spent on. */
  readonly means: string;
}

/** The words of a stage, by its name in `stages_ms` of `server_latency`; null for one that this page does not know. */
export function stageWords(name: string): StageWords | null {
  const key = `wait.${name}.done`;
  if (!(key in WAITS_EN)) return null;
  return { done: sayWait(key as WaitKey), means: sayWait(`wait.${name}.means` as WaitKey) };
}

export function inMs(ms: number): string {
  return `${Math.round(ms)} ms`;
}

/** The middle of some numbers; of an even count the lower one. */
export function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor((values.length - 1) / 2)] ?? 0;
}
