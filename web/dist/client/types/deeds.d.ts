/** What a call tells about deeds: questions for consent, receipts, permissions, claims, the plan. Typed `server_custom` events. */
import type { ClientPlanEditEvent, PermissionRule, ServerCustomEvent } from "./protocol.generated.js";
/** How a question for consent may be answered. */
export type ConsentBy = "voice" | "card" | "either";
/** The question whether a tool may run, as far as it is. */
export interface ConsentQuestion {
    readonly tool_call_id: string;
    readonly tool: string;
    /** The words in which it is asked. */
    readonly question: string;
    readonly by: ConsentBy;
    /** waiting: until no one speaks; asking: it is being spoken; heard: to its end; repeated: it is spoken again; changed: with other arguments; answered: over. */
    readonly state: "waiting" | "asking" | "heard" | "repeated" | "changed" | "answered";
    /** How often it was asked; 0 while it waits to be. */
    readonly n: number;
    /** Why only a card asks, where a voice was wanted. */
    readonly why?: string;
    /** In a room: the name of the human who alone may answer. */
    readonly participant?: string;
    /** The arguments as JSON, once the asked person has changed them. */
    readonly input?: string;
}
/** What the asked person said, and why it is no answer. */
export interface ConsentIgnored {
    readonly tool_call_id: string;
    readonly tool: string;
    /** before_end: a yes before the question was heard to its end; card_only: one where only the card consents; too_soon: one typed within a second of the card; echo, far_voice, no_words, or other_person: the voice of a human who is not asked. */
    readonly reason: string;
    readonly words: string;
}
/** What became of a question for consent: asked, answered, done. Times are ms in the sound of the user. */
export interface ConsentReceipt {
    readonly tool_call_id: string;
    readonly tool: string;
    readonly question: string;
    readonly question_item_id: string | null;
    readonly question_played_ms: number;
    readonly heard_whole: boolean;
    readonly answered_by: "voice" | "text" | "card" | "rule" | "timeout" | "interrupted";
    readonly answer: "yes" | "no" | "change" | "silence";
    readonly words: string;
    readonly answer_start_ms: number | null;
    readonly answer_end_ms: number | null;
    readonly participant: string | null;
    readonly recording: string | null;
    /** running: it has begun in the background. */
    readonly done: "success" | "error" | "denied" | "interrupted" | "running";
}
/** What may be done without asking, from now on. */
export interface PermissionUpdate {
    readonly mode: string;
    /** All that the user has accepted; the program's own are not told. */
    readonly rules: readonly PermissionRule[];
    readonly added: readonly PermissionRule[];
    readonly removed: readonly PermissionRule[];
    readonly by: "user" | "program" | "session";
}
/** What opens the accepted rules in later calls of this user, as `settings.permissions.key`: a secret of this browser. */
export interface PermissionsKey {
    readonly key: string;
}
/** A sentence that claimed a deed that was not done; the agent says `correction` instead. */
export interface ClaimWithheld {
    readonly item_id: string;
    readonly response_id: string;
    readonly sentence: string;
    readonly tools: readonly string[];
    readonly correction: string;
    /** It could not be stopped in time. */
    readonly heard: boolean;
}
/** A step of a plan. */
export interface SubTask {
    /** The same wherever it stands, and whatever it is called. */
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly expected_outcome: string;
    /** What came of it; null while it is not done. */
    readonly outcome: string | null;
    readonly state: "todo" | "in_progress" | "done" | "abandoned";
}
/** What an agent is to do, in steps that follow each other. */
export interface Plan {
    /** The same for as long as the plan changes. */
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly expected_outcome: string;
    readonly subtasks: readonly SubTask[];
    /** suspended: the user has interrupted it, and it goes on later. */
    readonly state: "todo" | "in_progress" | "suspended" | "done" | "abandoned";
}
/**
 * What a user changes in a plan: `mark_subtask` (its state), `rename_subtask`, `add_subtask` (before another one, or at the
 * end), `remove_subtask`, `end_plan` (done, or dropped). Subtasks are named by their `id`.
 */
export type PlanEdit = ClientPlanEditEvent["edit"];
/** How far an agent's plan is: it has begun, or changed. */
export interface PlanUpdate {
    /** Null after its end. */
    readonly plan: Plan | null;
    /** Whose plan it is: a room has several agents. */
    readonly agent_id?: string;
    readonly agent_name?: string;
    /** Whether users may change it by hand. */
    readonly editable?: boolean;
    /** A user's change of it that has brought it there; `by` is their name in a room, and empty in a call. */
    readonly edited?: {
        readonly by: string;
        readonly edit: PlanEdit;
    };
}
/** The events about deeds, by name. */
export interface DeedEvents {
    consent_question: ConsentQuestion;
    consent_ignored: ConsentIgnored;
    consent_receipt: ConsentReceipt;
    permission_updated: PermissionUpdate;
    permissions_key: PermissionsKey;
    claim_withheld: ClaimWithheld;
    plan_updated: PlanUpdate;
}
/** One of them, with its name. */
export type Deed = {
    [Name in keyof DeedEvents]: {
        readonly name: Name;
        readonly value: DeedEvents[Name];
    };
}[keyof DeedEvents];
/** What a `server_custom` event tells about deeds; null for others, and for what a program of that name has told otherwise. */
export declare function readDeed({ name, value }: Pick<ServerCustomEvent, "name" | "value">): Deed | null;
