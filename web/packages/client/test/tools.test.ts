import { expect, test } from "vitest";
import type { ToolCallBlock } from "../src/protocol.generated.ts";
import { Tools } from "../src/tools.ts";

const call = (name: string, input: string): ToolCallBlock => ({
  type: "tool_call",
  id: "t1",
  name,
  input,
  state: "submitted",
  suggested_rules: [],
});

function tools(run: (input: never) => unknown): Tools {
  const made = new Tools();
  made.add("area", { description: "Work out an area.", run });
  return made;
}

test("a tool is declared to the model with its schema", () => {
  expect(tools(() => 1).declarations).toEqual([
    { name: "area", description: "Work out an area.", parameters: { type: "object", properties: {} } },
  ]);
});

test.each([
  ["a text as it is", () => "12 m²", "12 m²"],
  ["anything else as JSON", () => ({ area: 12 }), '{"area":12}'],
  ["nothing as done", () => undefined, "done"],
  ["what it awaits", async () => 12, "12"],
  ["what has no JSON form as text", () => 12n, "12"],
  ["a function as its text", () => String, String(String)],
])("the model gets %s", async (_, run, output) => {
  const result = await tools(run).run(call("area", '{"width": 3}'));
  expect(result).toEqual({ type: "client_tool_result", id: "t1", name: "area", output, state: "success" });
});

test("the input is what the model wrote", async () => {
  const result = await tools(({ width, height }: { width: number; height: number }) => width * height).run(call("area", '{"width": 3, "height": 4}'));
  expect(result).toMatchObject({ output: "12" });
});

test.each(["", " ", "null", "[]", '""', "{}", '"{}"', "[{}]"])("the input %j means none", async (input) => {
  const result = await tools((given: object) => Object.keys(given).length).run(call("area", input));
  expect(result).toMatchObject({ output: "0", state: "success" });
});

test.each(['"{\\"width\\": 3}"', '[{"width": 3}]'])("the object in %s is the input", async (input) => {
  const result = await tools(({ width }: { width: number }) => width).run(call("area", input));
  expect(result).toMatchObject({ output: "3" });
});

test.each([
  ["throws", () => { throw new Error("no such room"); }, "{}", "no such room"],
  ["rejects", () => Promise.reject(new Error("no such room")), "{}", "no such room"],
  ["gets no JSON", () => 1, "{", "JSON"],
])("a tool that %s tells the model why", async (_, run, input, why) => {
  const result = await tools(run).run(call("area", input));
  expect(result).toMatchObject({ state: "error", output: expect.stringContaining(why) });
});

test.each(["not a name!", "", "3d", "a".repeat(65), "größe"])("%j is no name of a tool", (name) => {
  expect(() => new Tools().add(name, { description: "", run: () => 1 })).toThrow(TypeError);
});

test("a tool may be a name and a function, or one object as Agentflow's client takes it", async () => {
  const made = new Tools();
  const properties = { width: { type: "number" } };
  made.add("now", () => "noon");
  made.add({
    node: "TOOL",
    name: "area",
    description: "Work out an area.",
    parameters: { type: "object", properties, required: ["width"] },
    handler: async ({ width }: { width: number }) => ({ area: width ** 2 }),
  });
  expect(made.declarations).toEqual([
    { name: "now", parameters: { type: "object", properties: {} } },
    { name: "area", description: "Work out an area.", parameters: { type: "object", properties, required: ["width"] } },
  ]);
  expect(await made.run(call("now", "{}"))).toMatchObject({ output: "noon", state: "success" });
  expect(await made.run(call("area", '{"width": 3}'))).toMatchObject({ output: '{"area":9}', state: "success" });
});

test("a handler may be a method that needs its object", async () => {
  const made = new Tools();
  class Shop {
    readonly name = "count";
    readonly stock = 3;
    handler(): number {
      return this.stock;
    }
  }
  made.add(new Shop());
  expect(await made.run(call("count", ""))).toMatchObject({ output: "3" });
});

test.each([
  ["nothing", "area", undefined],
  ["no function", "area", { description: "Work out an area." }],
  ["something else to run", "area", { description: "", run: "area()" }],
  ["an object without a handler", { name: "area" }, undefined],
  ["an object with the function as run", { name: "area", run: () => 1 }, undefined],
])("a tool with %s is refused", (_, name, how) => {
  expect(() => new Tools().add(name as never, how as never)).toThrow("The tool area has no function to run.");
});

const NAMELESS: unknown[] = [null, undefined, {}, { handler: String }, { name: 3, handler: String }];

test.each(NAMELESS)("%j names no tool", (given) => {
  expect(() => new Tools().add(given as never)).toThrow("is no name of a tool");
});

test("two tools of one name are refused", () => {
  const made = tools(() => 1);
  expect(() => made.add("area", { description: "", run: () => 2 })).toThrow("give this one another name");
});
