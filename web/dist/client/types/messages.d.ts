/** The conversation as a list of messages, folded from the events of a call. */
import type { LocalSignal } from "./call-controller.js";
import { Emitter } from "./emitter.js";
import type { PermissionRule, ServerEvent } from "./protocol.generated.js";
/** Something that was said, typed, or done by a tool. */
export interface Message {
    /** The same for as long as the message grows and changes. */
    readonly id: string;
    /** Who said it, or did it. */
    readonly from: "user" | "agent" | "tool";
    /** The agent's or the tool's name; "" for the user. */
    readonly name: string;
    /** The words, at least one; of a tool its result. After an interruption, only the words that were heard. */
    readonly text: string;
    /** The arguments of a tool, as JSON; "" otherwise. */
    readonly input: string;
    /** The words of the question for consent, of a tool that asked; "" otherwise. */
    readonly question: string;
    /** What a tool that asks may be allowed from now on, see `RealtimeClient.allowTool`. */
    readonly suggestedRules: readonly PermissionRule[];
    /**
     * growing: more may come; done; cut: interrupted; failed: speech that could not be written down whole, or a tool that
     * did not work; asking: a tool that waits for `RealtimeClient.allowTool`.
     */
    readonly status: "growing" | "done" | "cut" | "failed" | "asking";
}
/** The events of `Messages`. */
export interface MessagesEvents {
    /** The whole list, after each change. */
    change: readonly Message[];
}
/** The messages of the present call, or of the last one: tools, and what has words. */
export declare class Messages extends Emitter<MessagesEvents> {
    #private;
    /** In the order of the conversation; a new list after each change. */
    get list(): readonly Message[];
}
/** What a fold of messages remembers. */
export interface Conversation {
    readonly list: readonly Message[];
    /** Messages that no late event brings back. */
    readonly deleted: ReadonlySet<string>;
}
export declare const EMPTY: Conversation;
/** The conversation after an event. Pure. */
export declare function foldConversation(before: Conversation, event: ServerEvent | LocalSignal): Conversation;
