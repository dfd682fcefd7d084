/** The data that a report holds, as `realtime/testing/report` writes it. Times are in ms since the call began. */

import type { Plan } from "@realtime-voice/client";

type Said = Readonly<{ heard: string; unheard: string; withdrawn: boolean }>;
type Between = Readonly<{ who: string; from_ms: number; to_ms: number }>;

export type Caption = Between & Said & { readonly kind: string };
export type Span = Between & { readonly text: string };
export type Moment = Readonly<{ ts_ms: number; who: string; what: string; text: string }>;
export type Step = Readonly<{ name: string; at_ms: number }>;

/** `to_ms` is null for a call without a result. */
export type Tool = Readonly<{
  id: string;
  name: string;
  who: string;
  from_ms: number;
  to_ms: number | null;
  input: string;
  output: string;
  state: string;
}>;

/** `said`, `answers` and `tools` are places in the captions and tools; `said` is null where the agent speaks first. */
export type Turn = Readonly<{
  who: string;
  at_ms: number;
  said: number | null;
  answers: readonly number[];
  tools: readonly number[];
  steps: readonly Step[];
  interrupts: boolean;
  latency_ms: number | null;
  estimated: boolean;
}>;

/** `peaks` is base64: a byte per step, the root of its loudest amplitude. */
export type Lane = Readonly<{ speaker: string; kind: string; peaks: string }>;

export type ScriptLine = readonly [who: string, from_ms: number, to_ms: number, text: string, barge_in: boolean];

type About = [at_ms: number, leg: string, direction: string, who: string, kind: string, text: string];
/** `more` frames until `until_ms` differ from it in numbers and ids only. */
export type Frame = readonly [...About, more: number, until_ms: number];

/** A piece of text that stayed (`=`), is gone (`-`) or is new (`+`). */
export type Piece = readonly [op: string, text: string];

export type TurnChange = Readonly<{ kind: string; number: number; who: string }> &
  Readonly<Record<"said" | "answer" | "unheard" | "tools", readonly Piece[]>> &
  Readonly<{ latency_ms: readonly [before: number | null, after: number | null] | null }>;

/** What differs from the accepted run; `known` is false where that has no run of this name. */
export type Change = Readonly<{
  known: boolean;
  facts: readonly (readonly [name: string, before: string, after: string])[];
  turns: readonly TurnChange[];
}>;

/** `audio` is FLAC in base64; null where there is none. `listening` is the scoreboard of a call with labels. */
export type Run = Readonly<{
  name: string;
  judged: boolean;
  failure: string | null;
  duration_ms: number;
  wall_s: number;
  latency_p50_ms: number | null;
  latency_p95_ms: number | null;
  barge_ins: number;
  late_samples: number;
  step_ms: number;
  lanes: readonly Lane[];
  captions: readonly Caption[];
  turns: readonly Turn[];
  tools: readonly Tool[];
  voice: readonly Span[];
  script: readonly ScriptLine[];
  floor: readonly Span[];
  moments: readonly Moment[];
  plans: readonly Plan[];
  frames: readonly Frame[];
  frames_left_out: number;
  audio: string | null;
  listening: string | null;
  silent: boolean;
  change: Change | null;
}>;

export type Report = Readonly<{ title: string; compared: boolean; missing: readonly string[]; runs: readonly Run[] }>;
