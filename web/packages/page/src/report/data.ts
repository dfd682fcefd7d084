/** The data that a report holds, as `realtime/testing/report` writes it. Times are in ms since the call began. */

export interface Caption {
  readonly who: string;
  readonly kind: string;
  readonly from_ms: number;
  readonly to_ms: number;
  readonly heard: string;
  readonly unheard: string;
  readonly withdrawn: boolean;
}

export interface Tool {
  readonly id: string;
  readonly name: string;
  readonly who: string;
  readonly from_ms: number;
  readonly to_ms: number | null;
  readonly input: string;
  readonly output: string;
  readonly state: string;
}

export interface Step {
  readonly name: string;
  readonly at_ms: number;
}

export interface Turn {
  readonly who: string;
  readonly at_ms: number;
  /** Places in the captions: of what the human said (null: the agent speaks first), and of the responses. */
  readonly said: number | null;
  readonly answers: readonly number[];
  /** Places in the tools. */
  readonly tools: readonly number[];
  readonly steps: readonly Step[];
  readonly interrupts: boolean;
  readonly latency_ms: number | null;
}

export interface Span {
  readonly who: string;
  readonly from_ms: number;
  readonly to_ms: number;
  readonly text: string;
}

export interface Moment {
  readonly ts_ms: number;
  readonly who: string;
  readonly what: string;
  readonly text: string;
}

export interface Lane {
  readonly speaker: string;
  readonly kind: string;
  /** Base64: a byte per step, the root of its loudest amplitude. */
  readonly peaks: string;
}

export type ScriptLine = readonly [who: string, from_ms: number, to_ms: number, text: string, barge_in: boolean];

/** `more` frames until `until_ms` differ from it in numbers and ids only. */
export type Frame = readonly [
  at_ms: number,
  leg: string,
  direction: string,
  who: string,
  kind: string,
  text: string,
  more: number,
  until_ms: number,
];

/** A piece of text that stayed (`=`), is gone (`-`) or is new (`+`). */
export type Piece = readonly [op: string, text: string];

export interface TurnChange {
  readonly kind: string;
  readonly number: number;
  readonly who: string;
  readonly said: readonly Piece[];
  readonly answer: readonly Piece[];
  readonly unheard: readonly Piece[];
  readonly tools: readonly Piece[];
  readonly latency_ms: readonly [number | null, number | null] | null;
}

/** What differs from the accepted run; `known` is false where that has no run of this name. */
export interface Change {
  readonly known: boolean;
  readonly facts: readonly (readonly [name: string, before: string, after: string])[];
  readonly turns: readonly TurnChange[];
}

export interface Run {
  readonly name: string;
  readonly judged: boolean;
  readonly failure: string | null;
  readonly duration_ms: number;
  readonly wall_s: number;
  readonly latency_p50_ms: number | null;
  readonly latency_p95_ms: number | null;
  readonly barge_ins: number;
  readonly late_samples: number;
  readonly step_ms: number;
  readonly lanes: readonly Lane[];
  readonly captions: readonly Caption[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly voice: readonly Span[];
  readonly script: readonly ScriptLine[];
  readonly floor: readonly Span[];
  readonly moments: readonly Moment[];
  readonly frames: readonly Frame[];
  readonly frames_left_out: number;
  /** FLAC in base64; null where there is none. */
  readonly audio: string | null;
  readonly silent: boolean;
  readonly change: Change | null;
}

export interface Report {
  readonly title: string;
  readonly compared: boolean;
  readonly missing: readonly string[];
  readonly runs: readonly Run[];
}
