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
/** The tools of a client, by name. */
export declare class Tools {
    #private;
    get declarations(): ToolDeclaration[];
    /** Adds a tool. Throws TypeError for what is no name, Error where there is a tool of its name. */
    add<Input>(name: string, tool: Tool<Input>): void;
    has(name: string): boolean;
    /** Runs a call of one of these tools. Never rejects. */
    run({ id, name, input }: ToolCallBlock): Promise<ClientEvent>;
}
/** What the input of a call holds: models also write `null`, `""` or `[]` for none, and put the object into text. */
export declare function inputOf(input: string): unknown;
