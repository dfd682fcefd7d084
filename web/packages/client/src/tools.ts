/** Tools that run in the page: the agent calls them, and gets what they return. */

import type { ClientEvent, ToolCallBlock, ToolDeclaration } from "./protocol.generated.ts";

/** A tool that runs in the page. */
export interface Tool<Input = Record<string, unknown>> {
  /** What the tool does and when to use it, for the model. */
  readonly description: string;
  /** JSON Schema of the input; default: an object without properties. */
  readonly parameters?: Record<string, unknown>;
  /** Does it. A text goes to the model as it is, anything else as JSON; the model also gets what it throws. */
  run(input: Input): unknown;
}

/** A tool as Agentflow's client takes it, all in one object. */
export interface ToolRegistration<Input = Record<string, unknown>> {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: Record<string, unknown>;
  /** The node of a graph, for which Agentflow registers. A call has one agent: it gets every tool. */
  readonly node?: string;
  /** As `Tool.run`. */
  handler(input: Input): unknown;
}

/** The function that a tool is, without a description and parameters. */
export type ToolFunction<Input = Record<string, unknown>> = (input: Input) => unknown;

const NAME = /^[a-z_][a-z0-9_-]{0,63}$/i;

/** The tools of a client, by name. */
export class Tools {
  readonly #tools = new Map<string, Tool<never>>();

  get declarations(): ToolDeclaration[] {
    return [...this.#tools].map(([name, { description, parameters }]) => ({
      name,
      ...(description && { description }),
      parameters: parameters ?? { type: "object", properties: {} },
    }));
  }

  /**
   * Adds a tool. Throws TypeError for what is no name and for a tool without a function, Error where there is a tool of
   * its name.
   */
  add<Input>(given: string | ToolRegistration<Input>, how?: Tool<Input> | ToolFunction<Input>): void {
    const [name, tool] = typeof given === "string" ? [given, toolOf(how)] : [given?.name, registered(given)];
    if (typeof name !== "string" || !NAME.test(name)) {
      const wrong = JSON.stringify(name);
      throw new TypeError(`${wrong} is no name of a tool: use 1 to 64 letters, digits, _ and -, a letter or _ first.`);
    }
    if (tool === null) throw new TypeError(`The tool ${name} has no function to run.`);
    if (this.#tools.has(name)) throw new Error(`There is a tool named ${name} already: give this one another name.`);
    this.#tools.set(name, tool);
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** Runs a call of one of these tools. Never rejects. */
  async run({ id, name, input }: ToolCallBlock): Promise<ClientEvent> {
    try {
      const tool = this.#tools.get(name);
      const output: unknown = await tool?.run(inputOf(input) as never);
      return { type: "client_tool_result", id, name, output: asText(output), state: "success" };
    } catch (error) {
      const output = error instanceof Error ? error.message : String(error);
      return { type: "client_tool_result", id, name, output, state: "error" };
    }
  }
}

function toolOf<Input>(how: Tool<Input> | ToolFunction<Input> | undefined): Tool<Input> | null {
  if (typeof how === "function") return { description: "", run: how };
  return typeof how?.run === "function" ? how : null;
}

function registered<Input>(given: ToolRegistration<Input>): Tool<Input> | null {
  if (typeof given?.handler !== "function") return null;
  const { description = "", parameters } = given;
  return { description, ...(parameters && { parameters }), run: (input) => given.handler(input) };
}

/** What the input of a call holds: models also write `null`, `""` or `[]` for none, and put the object into text. */
export function inputOf(input: string): unknown {
  const value: unknown = input.trim() === "" ? {} : JSON.parse(input);
  const one: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (typeof one === "string") return inputOf(one);
  if (typeof one === "object" && one !== null && !Array.isArray(one)) return one;
  return value === null || (Array.isArray(value) && value.length === 0) ? {} : value;
}

function asText(output: unknown): string {
  if (typeof output === "string") return output;
  if (output === undefined) return "done";
  try {
    return (JSON.stringify(output) as string | undefined) ?? String(output);
  } catch {
    return String(output); // a bigint, or what contains itself
  }
}
