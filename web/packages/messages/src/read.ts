/**
 * Readers turn outside input into values of known types, or throw a TypeError that names the faulty place.
 *
 * What is read is a copy: fields that are not known are dropped, missing ones have their default. The generated module
 * puts these together into a reader per type.
 */

import { decodeBase64, encodeBase64 } from "./base64.ts";
import { isWellFormed } from "./canonical.ts";

/** Reads a value; `path` says where it stands. Throws a TypeError. */
export type Reader<T> = (value: unknown, path: string) => T;

type Known<T> = { [Key in keyof T as string extends Key ? never : number extends Key ? never : Key]: T[Key] };
type Fields<T> = { [Key in keyof Known<T>]-?: Reader<Known<T>[Key] | undefined> };
type Json = Record<string, unknown>;

const ID_BYTES = 16;

/** A new id, unique everywhere. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(ID_BYTES)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The time of day as ISO 8601 in UTC with milliseconds. */
export function now(): string {
  return new Date().toISOString();
}

/** Whether `value` is a JSON object. */
export function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(path: string, expected: string, value: unknown): TypeError {
  return new TypeError(value === undefined ? `${path} is missing` : `${path} is not ${expected}`);
}

export const string: Reader<string> = (value, path) => {
  if (typeof value !== "string") throw wrong(path, "text", value);
  if (!isWellFormed(value)) throw wrong(path, "valid Unicode", value);
  return value;
};

export const integer: Reader<number> = (value, path) => {
  if (!Number.isInteger(value)) throw wrong(path, "an integer", value);
  return value as number;
};

export const boolean: Reader<boolean> = (value, path) => {
  if (typeof value !== "boolean") throw wrong(path, "true or false", value);
  return value;
};

/** Any JSON value. */
export const json: Reader<unknown> = (value, path) => {
  if (value === undefined) throw wrong(path, "JSON", value);
  return value;
};

/** Base64 text; unused bits of its last sign are cleared, so that equal bytes are equal text. */
export const base64: Reader<string> = (value, path) => {
  const text = string(value, path);
  try {
    return encodeBase64(decodeBase64(text));
  } catch {
    throw wrong(path, "base64", value);
  }
};

const URI = /^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/;

/** An RFC 3986 URI with a scheme; one of http(s) has a host. */
export const uri: Reader<string> = (value, path) => {
  const text = string(value, path);
  if (!URI.test(text) || (/^https?:/i.test(text) && !/^https?:\/\/[^/?#]/i.test(text))) throw wrong(path, "a URI", value);
  return text;
};

export function word<Word extends string>(...words: readonly Word[]): Reader<Word> {
  return (value, path) => {
    const found = words.find((one) => one === value);
    if (found === undefined) throw wrong(path, `one of ${words.join(", ")}`, value);
    return found;
  };
}

/** One of the words, in either case. */
export function caseless<Word extends string>(...words: readonly Word[]): Reader<Word> {
  const read = word(...words);
  return (value, path) => read(typeof value === "string" ? value.toLowerCase() : value, path);
}

export function nullable<T>(read: Reader<T>): Reader<T | null> {
  return (value, path) => (value === null ? null : read(value, path));
}

/** Makes a missing value. */
export function made<T>(read: Reader<T>, make: () => T): Reader<T> {
  return (value, path) => (value === undefined ? make() : read(value, path));
}

/** Leaves out a missing value, null and an empty list, which mean the same. */
export function omitted<T>(read: Reader<T>): Reader<T | undefined> {
  return (value, path) => {
    if (value === undefined) return undefined;
    const found = read(value, path);
    return found === null || (Array.isArray(found) && found.length === 0) ? undefined : found;
  };
}

export function listOf<T>(read: Reader<T>): Reader<T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw wrong(path, "a list", value);
    return value.map((entry, place) => read(entry, `${path}[${place}]`));
  };
}

export function recordOf<T>(read: Reader<T>): Reader<Record<string, T>> {
  return (value, path) => {
    if (!isRecord(value)) throw wrong(path, "an object", value);
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, read(entry, `${path}.${name}`)]));
  };
}

export function textOr<T>(read: Reader<T>): Reader<string | T> {
  return (value, path) => (typeof value === "string" ? string(value, path) : read(value, path));
}

type ReadBy<Readers> = { [Type in keyof Readers]: Readers[Type] extends Reader<infer T> ? T : never }[keyof Readers];

/** One of several objects, told apart by their `type`. */
export function byType<Readers extends Record<string, Reader<unknown>>>(readers: Readers): Reader<ReadBy<Readers>> {
  return (value, path) => {
    if (!isRecord(value)) throw wrong(path, "an object", value);
    const type = value["type"];
    if (typeof type !== "string" || !Object.hasOwn(readers, type)) {
      throw wrong(`${path}.type`, `one of ${Object.keys(readers).join(", ")}`, type);
    }
    return readers[type]!(value, path) as ReadBy<Readers>;
  };
}

function readFields<T>(name: string, fields: Fields<T>, value: unknown, path: string, known: Json): T {
  if (!isRecord(value)) throw wrong(path || name, "an object", value);
  for (const field of Object.keys(fields) as (keyof Fields<T> & string)[]) {
    const given = Object.hasOwn(value, field) ? value[field] : undefined;
    const found = fields[field](given, `${path || name}.${field}`);
    if (found === undefined) delete known[field];
    else known[field] = found;
  }
  return known as T;
}

/** An object of these fields. */
export function struct<T>(name: string, fields: Fields<T>): Reader<T> {
  return (value, path) => readFields(name, fields, value, path, {});
}

/** An object of these fields and any others, which are kept as they are. */
export function open<T>(name: string, fields: Fields<T>): Reader<T> {
  return (value, path) => {
    const others = isRecord(value) ? { ...value } : {};
    // The name that Python gives to all the others together.
    delete others["extra"];
    return readFields(name, fields, value, path, others);
  };
}
