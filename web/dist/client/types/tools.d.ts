/** Tools that run in the page: the agent calls them, and gets what they return. */
import type { ClientEvent, ToolCallBlock, ToolDeclaration } from "./protocol.generated.js";
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
/** The tools of a client, by name. */
export declare class Tools {
    #private;
    get declarations(): ToolDeclaration[];
    /**
     * Adds a tool. Throws TypeError for what is no name and for a tool without a function, Error where there is a tool of
     * its name.
     */
    add<Input>(given: string | ToolRegistration<Input>, how?: Tool<Input> | ToolFunction<Input>): void;
    has(name: string): boolean;
    /** Runs a call of one of these tools. Never rejects. */
    run({ id, name, input }: ToolCallBlock): Promise<ClientEvent>;
}
/** What the input of a call holds: models also write `null`, `""` or `[]` for none, and put the object into text. */
export declare function inputOf(input: string): unknown;
