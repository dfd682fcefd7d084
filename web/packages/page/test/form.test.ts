import { describe, expect, test } from "vitest";
import { type Entered, type Field, answered, elicitationOf, faultOf, fieldsOf, fieldsOfValues, givenTo, valueOf } from "../src/form.ts";

const field = (property: unknown, required = true, given: Record<string, unknown> = {}): Field => {
  const fields = fieldsOf({ type: "object", properties: { it: property }, required: required ? ["it"] : [] }, given);
  if (!fields?.[0]) throw new Error("no field");
  return fields[0];
};
const fault = (property: unknown, entered: Entered, required = true) => {
  const found = faultOf(field(property, required), entered);
  return found && [found.key, found.limit];
};

describe("the fields of a schema", () => {
  test.each([
    [{ type: "string", title: "Name", description: "As in the passport" }, { kind: "text", format: "text", label: "Name", hint: "As in the passport" }],
    [{ type: "string", format: "email" }, { kind: "text", format: "email", label: "it" }],
    [{ type: "string", format: "password" }, { kind: "text", format: "password" }],
    [{ type: "string", writeOnly: true }, { kind: "text", format: "password" }],
    [{ type: "string", title: "API key" }, { kind: "text", format: "password" }],
    [{ type: "string", title: "pass_phrase" }, { kind: "text", format: "password" }],
    [{ type: "string", title: "One-time code" }, { kind: "text", format: "password" }],
    [{ type: "string", title: "Security code" }, { kind: "text", format: "password" }],
    [{ type: "string", title: "userPIN" }, { kind: "text", format: "password" }],
    [{ type: "string", title: "Passport" }, { kind: "text", format: "text" }],
    [{ type: "string", format: "uri" }, { kind: "text", format: "url" }],
    [{ type: "string", format: "date" }, { kind: "text", format: "date" }],
    [{ type: "string", format: "date-time" }, { kind: "text", format: "datetime-local" }],
    [{ type: "string", format: "hostname" }, { kind: "text", format: "text" }],
    [{ type: "number" }, { kind: "number", isWhole: false }],
    [{ type: "integer", default: 3 }, { kind: "number", isWhole: true, given: "3" }],
    [{ type: "boolean", default: true }, { kind: "truth", given: true }],
    [{ type: "string", enum: ["a", "b"], enumNames: ["A"], default: "b" }, { kind: "choice", isMany: false, choices: [{ label: "A" }, { label: "b" }], given: [1] }],
    [{ type: "string", oneOf: [{ const: "a", title: "A" }] }, { kind: "choice", choices: [{ value: "a", label: "A" }], given: [] }],
    [{ type: "array", items: { anyOf: [{ const: 1 }, { const: 2 }] }, default: [2] }, { kind: "choice", isMany: true, given: [1] }],
  ])("%j", (property, expected) => {
    expect(field(property)).toMatchObject(expected);
  });

  test("what was answered before comes before the default, of another type neither", () => {
    expect(givenTo(field({ type: "string", default: "Ann" }, true, { it: "Bob" }))).toBe("Bob");
    expect(givenTo(field({ type: "string", default: 7 }))).toBe("");
    expect(givenTo(field({ type: "integer", default: "7" }))).toBe("");
  });

  test.each([
    ["a part with parts of its own", { properties: { a: { type: "object" } } }],
    ["a list of anything", { properties: { a: { type: "array", items: { type: "string" } } } }],
    ["a field without a type", { properties: { a: {} } }],
    ["properties that are none", { properties: "all" }],
    ["more fields than a person fills in", { properties: Object.fromEntries([...Array(41).keys()].map((n) => [`f${n}`, { type: "string" }])) }],
    ["more choices than a person reads", { properties: { a: { enum: [...Array(201).keys()] } } }],
  ])("there are none for %s", (_, schema) => {
    expect(fieldsOf(schema, {})).toBeNull();
  });

  test("a schema without fields asks for a plain yes", () => {
    for (const schema of [{}, { properties: {} }, null, []]) expect(fieldsOf(schema, {})).toEqual([]);
  });

  test("names are text, whatever they are", () => {
    const fields = fieldsOf(JSON.parse('{"properties": {"__proto__": {"type": "string"}}}'), {}) ?? [];
    expect(fields.map(({ name, label }) => [name, label])).toEqual([["__proto__", "__proto__"]]);
    expect(field({ type: "string", title: "x".repeat(900) }).label.length).toBeLessThan(300);
  });
});

describe("what is wrong with what was entered", () => {
  test.each<[unknown, Entered, string, number]>([
    [{ type: "string" }, "", "form.missing", 0],
    [{ type: "string", minLength: 3 }, "ab", "form.short", 3],
    [{ type: "string", maxLength: 1 }, "ab", "form.long", 1],
    [{ type: "string", format: "email" }, "nobody", "form.notEmail", 0],
    [{ type: "string", format: "uri" }, "example.org", "form.notAddress", 0],
    [{ type: "string", format: "date" }, "?", "form.notDate", 0],
    [{ type: "integer" }, "", "form.missing", 0],
    [{ type: "number" }, "four", "form.notNumber", 0],
    [{ type: "integer" }, "4.5", "form.notWhole", 0],
    [{ type: "integer", minimum: 1 }, "0", "form.least", 1],
    [{ type: "number", maximum: 9.5 }, "9.6", "form.most", 9.5],
    [{ enum: ["a"] }, [], "form.missing", 0],
    [{ type: "array", items: { enum: ["a", "b"] }, minItems: 2 }, [0], "form.fewer", 2],
    [{ type: "array", items: { enum: ["a", "b"] }, maxItems: 1 }, [0, 1], "form.more", 1],
  ])("%j: %j", (property, entered, key, limit) => {
    expect(fault(property, entered)).toEqual([key, limit]);
  });

  test.each<[unknown, Entered]>([
    [{ type: "string", maxLength: 1 }, "😀"],
    [{ type: "string", format: "email" }, "ann@example.org"],
    [{ type: "string", format: "uri" }, "https://example.org/"],
    [{ type: "string", format: "date" }, "2026-02-28"],
    [{ type: "number" }, "4,5"],
    [{ type: "integer" }, " 4 "],
    [{ type: "boolean" }, false],
    [{ enum: ["a"] }, [0]],
  ])("nothing: %j: %j", (property, entered) => {
    expect(fault(property, entered)).toBeNull();
  });

  test("nothing has to be entered where nothing is required", () => {
    for (const type of ["string", "integer"]) expect(fault({ type, minLength: 3, minimum: 1 }, "", false)).toBeNull();
    expect(fault({ enum: ["a"] }, [], false)).toBeNull();
  });
});

describe("the value of what was entered", () => {
  test.each<[unknown, Entered, unknown]>([
    [{ type: "string" }, "Ann", "Ann"],
    [{ type: "string" }, "", undefined],
    [{ type: "number" }, "4,5", 4.5],
    [{ type: "integer" }, "", undefined],
    [{ type: "boolean" }, true, true],
    [{ enum: ["a", "b"] }, [1], "b"],
    [{ enum: [1, 2] }, [1], 2],
    [{ enum: ["a"] }, [], undefined],
    [{ type: "array", items: { enum: ["a", "b"] } }, [0, 1], ["a", "b"]],
  ])("%j: %j", (property, entered, value) => {
    expect(valueOf(field(property), entered)).toEqual(value);
  });

  test("a local time becomes one in UTC, and comes back", () => {
    const time = field({ type: "string", format: "date-time" }, true, { it: "2026-03-01T12:30:00Z" });
    expect(valueOf(time, givenTo(time))).toBe("2026-03-01T12:30:00.000Z");
  });
});

test("the arguments of a tool have fields by their values, but for those with parts", () => {
  const fields = fieldsOfValues({ to: "Ann", amount: 5, sure: true, at: ["noon"], note: null, more: "" }, (name) => name.toUpperCase());
  expect(fields.map(({ kind, label, isRequired }) => [kind, label, isRequired])).toEqual([
    ["text", "TO", true],
    ["number", "AMOUNT", true],
    ["truth", "SURE", true],
    ["text", "MORE", false],
  ]);
});

test("a server's question is read from the call and answered in it", () => {
  const input = JSON.stringify({ server: "parcels", message: "Where?", requested_schema: { properties: { at: { type: "string" } } }, content: { at: "home" } });
  expect(elicitationOf(input)).toMatchObject({ server: "parcels", message: "Where?", fields: [{ name: "at", given: "home" }] });
  expect(JSON.parse(answered(input, { at: "work" }))).toMatchObject({ server: "parcels", content: { at: "work" } });
  expect(elicitationOf("no JSON")).toEqual({ server: "", message: "", fields: [] });
});
