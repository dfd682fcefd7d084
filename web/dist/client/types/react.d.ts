/** The client as a React hook. React is the application's own: 18 or newer. */
import { type CallError, type Message, RealtimeClient, type RealtimeOptions, type RealtimeState } from "./realtime.js";
/** What a component shows of its call, and what it does with it. */
export interface Realtime {
    /** For everything else: devices, tools, pictures, push-to-talk. */
    readonly client: RealtimeClient;
    /** What the call is doing. */
    readonly state: RealtimeState;
    /** What was said. */
    readonly messages: readonly Message[];
    /** What went wrong last, until the next call; null: nothing. */
    readonly error: CallError | null;
    /** Calls the agent, or ends the call. Use it in a click or key handler. */
    readonly toggle: () => void;
}
/**
 * A client that lives as long as its component, which is drawn again whenever something changes. The options of the first
 * time count.
 */
export declare function useRealtime(options?: RealtimeOptions): Realtime;
