/** What a user has chosen for calls and for this page; kept in the browser, but for the consent to recordings. */

import type { TurnDetection } from "@realtime-voice/client";
import { asRecord, asText } from "./json.ts";
import { type MakeStorage, keep, readKept } from "./storage.ts";

export const INTERRUPTIONS = ["selective", "immediate", "off"] as const;
export type Interruption = (typeof INTERRUPTIONS)[number];

/** Silence that ends a turn, in ms; null: as the agent has it. */
export const PAUSES_MS = { default: null, short: 300, medium: 700, long: 1500 } as const;
export type Pause = keyof typeof PAUSES_MS;

export interface Preferences {
  /** Device ids; "" is the system's choice. */
  readonly microphone: string;
  readonly speaker: string;
  /** 0..1 */
  readonly volume: number;
  readonly pushToTalk: boolean;
  readonly interruption: Interruption;
  readonly pause: Pause;
  /** Empty: the agent's own. */
  readonly instructions: string;
  readonly singleKeys: boolean;
}

export const DEFAULTS: Preferences = {
  microphone: "",
  speaker: "",
  volume: 1,
  pushToTalk: false,
  interruption: "selective",
  pause: "default",
  instructions: "",
  singleKeys: true,
};

const KEPT_AS = "realtime.preferences";
const CONSENT_KEPT_AS = "realtime.recording";

/** What was chosen on earlier visits; the default for what is missing or odd. */
export function loadPreferences(storage: MakeStorage): Preferences {
  let fields: Record<string, unknown>;
  try {
    fields = asRecord(JSON.parse(readKept(storage, KEPT_AS) ?? "{}"));
  } catch {
    fields = {};
  }
  const { volume, pushToTalk, singleKeys } = fields;
  return {
    microphone: asText(fields["microphone"]),
    speaker: asText(fields["speaker"]),
    volume: typeof volume === "number" && volume >= 0 && volume <= 1 ? volume : DEFAULTS.volume,
    pushToTalk: pushToTalk === true,
    interruption: INTERRUPTIONS.find((one) => one === fields["interruption"]) ?? DEFAULTS.interruption,
    pause: (Object.keys(PAUSES_MS) as Pause[]).find((one) => one === fields["pause"]) ?? DEFAULTS.pause,
    instructions: asText(fields["instructions"]),
    singleKeys: singleKeys !== false,
  };
}

export function savePreferences(storage: MakeStorage, preferences: Preferences): void {
  keep(storage, KEPT_AS, JSON.stringify(preferences));
}

/** Whether the user agreed to recordings in this tab. Only a tap or a key does: no link, and no earlier visit. */
export function hasConsent(storage: MakeStorage): boolean {
  return readKept(storage, CONSENT_KEPT_AS) === "agreed";
}

/** Keeps the answer of this tab; null: the user was not asked. */
export function keepConsent(storage: MakeStorage, agreed: boolean): void {
  keep(storage, CONSENT_KEPT_AS, agreed ? "agreed" : "refused");
}

/** Whether this tab's user has answered. */
export function wasAsked(storage: MakeStorage): boolean {
  return readKept(storage, CONSENT_KEPT_AS) !== null;
}

/** What a call is asked for. */
export interface Wanted {
  instructions?: string;
  turn_detection?: TurnDetection;
}

/** The settings of a new call. Nothing is asked for that was not chosen. */
export function settingsOf(preferences: Preferences): Wanted {
  const { instructions, pushToTalk } = preferences;
  return {
    ...(instructions.trim() === "" ? {} : { instructions: instructions.trim() }),
    ...(pushToTalk ? {} : turnsOf(preferences)),
  };
}

/** How turns are taken, where it differs from the agent's own way. */
function turnsOf({ interruption, pause }: Preferences): Wanted {
  const silenceMs = PAUSES_MS[pause];
  const turns = {
    ...(interruption === DEFAULTS.interruption ? {} : { interruption }),
    ...(silenceMs === null ? {} : { silence_duration_ms: silenceMs }),
  };
  return Object.keys(turns).length === 0 ? {} : { turn_detection: turns };
}

/** What to ask a running call for after a change; null: it holds from the next call on, or concerns this page alone. */
export function changeOf(before: Preferences, after: Preferences): Wanted | null {
  const change: Wanted = {};
  const instructions = after.instructions.trim();
  if (instructions !== before.instructions.trim() && instructions !== "") change.instructions = instructions;
  const silenceMs = PAUSES_MS[after.pause];
  const turned = after.interruption !== before.interruption || (after.pause !== before.pause && silenceMs !== null);
  if (turned && !after.pushToTalk) {
    change.turn_detection = { interruption: after.interruption, ...(silenceMs === null ? {} : { silence_duration_ms: silenceMs }) };
  }
  return Object.keys(change).length === 0 ? null : change;
}
