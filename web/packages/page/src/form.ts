/**
 * Forms: the fields of a flat JSON Schema, what was entered into them, and what is wrong with it. Pure. A schema may come
 * from anywhere: what this page cannot show makes no form.
 */

import { asRecord, asText } from "./json.ts";
import type { Key } from "./texts.ts";

interface Common {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly isRequired: boolean;
}

export interface TextField extends Common {
  readonly kind: "text";
  readonly format: "text" | "password" | "email" | "url" | "date" | "datetime-local";
  readonly given: string;
  readonly limits: Limits;
}

export interface NumberField extends Common {
  readonly kind: "number";
  readonly isWhole: boolean;
  readonly given: string;
  readonly limits: Limits;
}

export interface TruthField extends Common {
  readonly kind: "truth";
  readonly given: boolean;
}

/** One of several values, or some of them. What is given and entered are places in `choices`. */
export interface ChoiceField extends Common {
  readonly kind: "choice";
  readonly isMany: boolean;
  readonly choices: readonly { readonly label: string; readonly value: unknown }[];
  readonly given: readonly number[];
  readonly limits: Limits;
}

export type Field = TextField | NumberField | TruthField | ChoiceField;
/** What stands in a field. */
export type Entered = string | boolean | readonly number[];

interface Limits {
  readonly least: number | null;
  readonly most: number | null;
}

export interface Fault {
  readonly key: Key;
  readonly limit: number;
}

const MAX_FIELDS = 40;
const MAX_CHOICES = 200;
const MAX_LABEL_CHARS = 200;
const MAX_HINT_CHARS = 500;
const FORMATS: Readonly<Record<string, TextField["format"]>> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

/** The fields of a schema, with the values that are given; null for what is no flat form. */
export function fieldsOf(schema: unknown, given: Readonly<Record<string, unknown>>): readonly Field[] | null {
  const { properties, required } = asRecord(schema);
  if (properties !== undefined && (typeof properties !== "object" || properties === null)) return null;
  const wanted = new Set(Array.isArray(required) ? required : []);
  const all = Object.entries(asRecord(properties));
  if (all.length > MAX_FIELDS) return null;
  const fields = all.map(([name, property]) => fieldOf(name, asRecord(property), wanted.has(name), given));
  return fields.every((field) => field !== null) ? fields : null;
}

/** Fields of the arguments of a tool, by the values that they have; none of what has parts of its own. */
export function fieldsOfValues(values: Readonly<Record<string, unknown>>, labelOf: (name: string) => string): readonly Field[] {
  const plain = Object.entries(values).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  const properties = Object.fromEntries(plain.map(([name, value]) => [name, { type: typeof value, title: labelOf(name) }]));
  return fieldsOf({ properties, required: plain.filter(([, value]) => value !== "").map(([name]) => name) }, values) ?? [];
}

/** In names and titles, in lower case and without signs within words; the same as the server's. */
const SECRET =
  /pass(?:word|wd|phrase|code)|pwd|passwort|kennwort|contraseña|contrasena|密码|口令|secret|geheim|token|credential|(?:api|private|access|encryption)key|\b(?:pin|puk|tan|t?otp|mfa|2fa|cvv2?|cvc2?)\b|einmalcode|验证码|(?:security|onetime|verification|confirmation|auth|authentication|authenticator|login|access|recovery|backup)code/;

/** Whether what is entered is not to be seen by bystanders; the server keeps such answers out of its log. */
function isSecret(name: string, { format, writeOnly, title }: Readonly<Record<string, unknown>>): boolean {
  return format === "password" || writeOnly === true || [name, asText(title)].flatMap(spellings).some((words) => SECRET.test(words));
}

/** A name in lower case: by its words, and as one. */
function spellings(text: string): readonly string[] {
  const words = text
    .replace(/([a-z])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3 $2$4")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ");
  return [words, words.replaceAll(" ", "")];
}

function fieldOf(
  name: string,
  property: Readonly<Record<string, unknown>>,
  isRequired: boolean,
  values: Readonly<Record<string, unknown>>,
): Field | null {
  const { type, title, description, format } = property;
  const given = Object.hasOwn(values, name) ? values[name] : property["default"];
  const common = { name, label: cut(asText(title) || name, MAX_LABEL_CHARS), hint: cut(asText(description), MAX_HINT_CHARS), isRequired };
  const choices = choicesOf(type === "array" ? asRecord(property["items"]) : property);
  if (choices && choices.length > MAX_CHOICES) return null;
  if (choices) {
    const isMany = type === "array";
    const chosen = isMany && Array.isArray(given) ? given : [given];
    const places = choices.flatMap(({ value }, place) => (chosen.includes(value) ? [place] : []));
    const limits = isMany ? limitsOf(property, "minItems", "maxItems") : { least: null, most: null };
    return { ...common, kind: "choice", isMany, choices, given: isMany ? places : places.slice(0, 1), limits };
  }
  switch (type) {
    case "string": {
      const shape = isSecret(name, property) ? "password" : (FORMATS[asText(format)] ?? "text");
      return {
        ...common,
        kind: "text",
        format: shape,
        given: shape === "datetime-local" ? localTime(asText(given)) : asText(given),
        limits: limitsOf(property, "minLength", "maxLength"),
      };
    }
    case "number":
    case "integer":
      return {
        ...common,
        kind: "number",
        isWhole: type === "integer",
        given: typeof given === "number" ? String(given) : "",
        limits: limitsOf(property, "minimum", "maximum"),
      };
    case "boolean":
      return { ...common, kind: "truth", given: given === true };
    default:
      return null;
  }
}

/** The values of an enumeration with their labels; null for what is none. */
function choicesOf({ enum: values, enumNames: names, oneOf, anyOf }: Readonly<Record<string, unknown>>): ChoiceField["choices"] | null {
  const labelled = (value: unknown, label: unknown): ChoiceField["choices"][number] => ({
    value,
    label: cut(asText(label) || (typeof value === "string" ? value : JSON.stringify(value) ?? ""), MAX_LABEL_CHARS),
  });
  if (Array.isArray(values)) return values.map((value, place) => labelled(value, Array.isArray(names) ? names[place] : ""));
  const titled = [oneOf, anyOf].find((list) => Array.isArray(list)) as unknown[] | undefined;
  if (!titled?.every((one) => Object.hasOwn(asRecord(one), "const"))) return null;
  return titled.map((one) => labelled(asRecord(one)["const"], asRecord(one)["title"]));
}

function limitsOf(property: Readonly<Record<string, unknown>>, least: string, most: string): Limits {
  const number = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);
  return { least: number(property[least]), most: number(property[most]) };
}

/** A time as a field for local times takes it; empty for what is none. */
function localTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function cut(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}

/** What is wrong with what was entered; null where nothing is. */
export function faultOf(field: Field, entered: Entered): Fault | null {
  switch (field.kind) {
    case "truth":
      return null;
    case "choice": {
      const count = (entered as readonly number[]).length;
      if (count === 0) return field.isRequired ? fault("form.missing") : null;
      return outside(count, field.limits, "form.fewer", "form.more");
    }
    case "number": {
      if ((entered as string).trim() === "") return field.isRequired ? fault("form.missing") : null;
      const number = numberOf(entered as string);
      if (!Number.isFinite(number)) return fault("form.notNumber");
      if (field.isWhole && !Number.isInteger(number)) return fault("form.notWhole");
      return outside(number, field.limits, "form.least", "form.most");
    }
    case "text": {
      const text = entered as string;
      if (text === "") return field.isRequired ? fault("form.missing") : null;
      if (field.format === "email" && !/^[^\s@]+@[^\s@]+$/.test(text)) return fault("form.notEmail");
      if (field.format === "url" && !URL.canParse(text)) return fault("form.notAddress");
      if (["date", "datetime-local"].includes(field.format) && Number.isNaN(Date.parse(text))) return fault("form.notDate");
      return outside([...text].length, field.limits, "form.short", "form.long");
    }
  }
}

/** In most languages a comma stands before decimals; in English one stands before three digits. */
function numberOf(text: string): number {
  return Number(text.trim().replace(/^([+-]?\d+),(\d{1,2})$/, "$1.$2"));
}

function fault(key: Key, limit = 0): Fault {
  return { key, limit };
}

function outside(number: number, { least, most }: Limits, under: Key, over: Key): Fault | null {
  if (least !== null && number < least) return fault(under, least);
  return most !== null && number > most ? fault(over, most) : null;
}

/** The value of what was entered without a fault; undefined where nothing was. */
export function valueOf(field: Field, entered: Entered): unknown {
  switch (field.kind) {
    case "truth":
      return entered;
    case "choice": {
      const values = (entered as readonly number[]).map((place) => field.choices[place]?.value);
      return field.isMany ? values : values[0];
    }
    case "number":
      return (entered as string).trim() === "" ? undefined : numberOf(entered as string);
    case "text":
      if (entered === "") return undefined;
      return field.format === "datetime-local" ? new Date(entered as string).toISOString() : entered;
  }
}

/** What is given to a field before anybody enters something. */
export function givenTo({ given }: Field): Entered {
  return given;
}

/** A question of a server that a tool uses, as it is put to the user. */
export interface Elicitation {
  readonly server: string;
  readonly message: string;
  /** Null where this page cannot show them. */
  readonly fields: readonly Field[] | null;
}

/** Name of the calls by which a server asks the user. */
export const ELICITATION = "elicitation";

/** The question in the input of such a call. */
export function elicitationOf(input: string): Elicitation {
  const { server, message, requested_schema: schema, content } = argumentsOf(input) ?? {};
  return { server: asText(server), message: asText(message), fields: fieldsOf(schema, asRecord(content)) };
}

/** The same input with the answers. */
export function answered(input: string, content: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...argumentsOf(input), content });
}

/** The arguments of a call; null for what is no object in JSON. */
export function argumentsOf(input: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(input === "" ? "{}" : input);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
