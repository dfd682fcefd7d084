/** The models that the server offers: reading its list, choosing one, remembering the choice, and words for each. */

import { asRecord, asText } from "./json.ts";
import { besidePage } from "./server-info.ts";
import { keep, readKept } from "./storage.ts";
import { say } from "./texts.ts";
import { type ModelInfo, readModelInfo } from "./words.ts";

const REMEMBERED_AS = "realtime.model";

/** Who receives what the user says. */
export interface Hearing {
  readonly heardBy: string;
  /** Who else receives the words; null: no one. */
  readonly readBy: string | null;
  readonly mayCost: boolean;
}

/** One entry of `GET api/models`. */
export interface OfferedModel extends Hearing {
  /** Its name: `model_provider` of a new call. */
  readonly name: string;
  readonly title: string;
  /** The environment variable that it lacks; null: it can be called. */
  readonly missing: string | null;
  readonly info: ModelInfo;
}

export interface Offer {
  /** The default. */
  readonly unasked: string | null;
  /** Empty where the server chooses. */
  readonly models: readonly OfferedModel[];
}

export const NO_OFFER: Offer = { unasked: null, models: [] };

/** Reads the server's answer; leaves out entries without a name or of unknown form. */
export function readOffer(value: unknown): Offer {
  const fields = asRecord(value);
  const listed = Array.isArray(fields["models"]) ? fields["models"] : [];
  const models = listed.map(readModel).filter((model) => model !== null);
  return { unasked: asText(fields["default"]) || null, models };
}

function readModel(value: unknown): OfferedModel | null {
  const fields = asRecord(value);
  const name = asText(fields["name"]);
  const info = readModelInfo(value);
  if (name === "" || info === null) return null;
  return {
    name,
    title: asText(fields["title"]) || name,
    missing: asText(fields["missing"]) || null,
    heardBy: asText(fields["heard_by"]),
    readBy: asText(fields["read_by"]) || null,
    mayCost: fields["may_cost"] === true,
    info,
  };
}

/** The server's models; none where it does not answer. */
export async function fetchOffer(page: string): Promise<Offer> {
  try {
    const response = await fetch(besidePage(page, "api/models"), { cache: "no-store" });
    return response.ok ? readOffer(await response.json()) : NO_OFFER;
  } catch {
    return NO_OFFER;
  }
}

/** The model to begin with: the remembered one, else the server's, else the first that can be called. */
export function modelToBeginWith({ unasked, models }: Offer, remembered: string | null): OfferedModel | null {
  const ready = models.filter(({ missing }) => missing === null);
  const named = (name: string | null): OfferedModel | undefined => ready.find((model) => model.name === name);
  return named(remembered) ?? named(unasked) ?? ready[0] ?? null;
}

const SERVICES: Record<string, string> = { openai: "OpenAI", gemini: "Google", dashscope: "Alibaba Cloud" };

/**
 * Who hears the user of a server that offers no choice, from its description of the model; null where that does not say
 * it: the words of an embedded model may go on to any language model.
 */
export function hearingOf({ provider }: ModelInfo): Hearing | null {
  const service = SERVICES[provider];
  return service === undefined ? null : { heardBy: service, readBy: null, mayCost: true };
}

/** A line of the list: "OpenAI gpt-realtime-2.1", or what is missing: "Gemini: set GEMINI_API_KEY". */
export function choiceWords({ title, missing, info }: OfferedModel): string {
  if (missing !== null) return say("model.missing", { title, variable: missing });
  return info.model === "" || info.model === info.provider ? title : `${title} ${info.model}`;
}

/** Who hears the user, and what it may cost. `here`: the server runs on the user's computer. */
export function hearingWords({ heardBy, readBy, mayCost }: Hearing, here: boolean): string {
  if (readBy !== null) {
    const name = here ? (mayCost ? "hears.readCosts" : "hears.read") : mayCost ? "hears.readFarCosts" : "hears.readFar";
    return say(name, { who: readBy });
  }
  if (mayCost) return say("hears.otherCosts", { who: `${heardBy.charAt(0).toUpperCase()}${heardBy.slice(1)}` });
  return say(here ? "hears.stays" : "hears.goes");
}

/** The choice of an earlier visit; null where there is none. */
export function rememberedModel(): string | null {
  return readKept(() => localStorage, REMEMBERED_AS);
}

export function rememberModel(name: string): void {
  keep(() => localStorage, REMEMBERED_AS, name);
}
