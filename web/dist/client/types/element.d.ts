/** `<realtime-voice>`: one button that talks, for pages that want no script of their own. */
import { RealtimeClient, type RealtimeState } from "./realtime-client.js";
/** The words of the element; set `words` to change some of them. */
export interface VoiceWords extends Record<RealtimeState, string> {
    /** On the button, without a call. */
    start: string;
    /** On the button, during a call. */
    stop: string;
    /** On the button, during a call in push-to-talk. */
    hold: string;
    /** Before what the user said. */
    you: string;
}
/** On a server there is no HTML: the class exists and does nothing. */
declare const Base: typeof HTMLElement;
/**
 * A button that talks. Attributes: `server` (address), `token` or `token-url` (an address of your own backend that
 * answers `{"token": "..."}` to a POST), `agent` (its name in the captions), `instructions`, `voice`, `push-to-talk`,
 * `captions`, `worklets` (folder). They are read once: at the first click, or at the first use of `client`. Parts for styling:
 * `button`, `dot`, `end` (only in push-to-talk), `state`, `error`, `captions`, `caption`.
 *
 * Events, which bubble: `voice-state` (detail: the state), `voice-messages` (detail: the messages), `voice-error` (detail:
 * a CallError), `voice-event` (detail: an event of the protocol).
 */
export declare class RealtimeVoice extends Base {
    #private;
    constructor();
    /** See custom elements. */
    connectedCallback(): void;
    /** See custom elements. A call does not outlive its button, which may move, however. */
    disconnectedCallback(): void;
    /** The client of the present or the next call: add tools to it, or listen to its events. */
    get client(): RealtimeClient;
    /** The words that the element shows. */
    get words(): VoiceWords;
    set words(words: Partial<VoiceWords>);
}
/** Defines `<realtime-voice>` where there are elements and nobody has defined it. */
export declare function defineRealtimeVoice(): void;
export {};
