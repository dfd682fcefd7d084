/** Follows the tools that work in the background of a call, while any does. */

import type { ServerEvent } from "@realtime-voice/client";
import type { BackgroundTool, CallLinkFinder } from "./call-links.ts";

const LOOK_EVERY_MS = 2_000;

export class BackgroundTools {
  readonly #finder: CallLinkFinder;
  readonly #changed: (tools: readonly BackgroundTool[]) => void;
  #callId: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `changed` gets the tools that run, after each look. */
  constructor(finder: CallLinkFinder, changed: (tools: readonly BackgroundTool[]) => void) {
    this.#finder = finder;
    this.#changed = changed;
  }

  /** Whether one begins or ends is in the call's events; what it reports is asked for while one runs. */
  receive(event: ServerEvent, callId: string | null): void {
    this.#callId = callId;
    const begins = event.type === "agent_response_tool_result" && event.tool_result.state === "running";
    // The model is told of an end by an item of the tool.
    const ends = event.type === "agent_item_added" && event.item.role === "system";
    if (begins || ends) void this.#look();
  }

  /** Stops a tool, and looks again. */
  async stop(tool: BackgroundTool): Promise<void> {
    if (this.#callId !== null) await this.#finder.stopTool(this.#callId, tool.id);
    await this.#look();
  }

  /** The call is over, and with it whatever ran. */
  end(): void {
    clearTimeout(this.#timer);
    this.#callId = null;
    this.#changed([]);
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    const callId = this.#callId;
    if (callId === null) return;
    const tools = await this.#finder.tools(callId);
    if (callId !== this.#callId) return;
    this.#changed(tools);
    clearTimeout(this.#timer);
    if (tools.length > 0) this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS);
  }
}
