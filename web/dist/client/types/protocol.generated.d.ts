/** Bytes as base64 text. */
export type Base64 = string;
/**
 * Audio is pcm16, little endian, mono; only the rate varies.
 *
 * Readers accept both documented spellings (`{type, rate}` and `{encoding, sample_rate}`, also mixed); the server
 * sends all four keys. Rates are in Hz. A client may say `channels`, which are 1.
 */
export interface AudioFormat {
    type: string | null;
    rate: number | null;
    encoding: string | null;
    sample_rate: number | null;
    channels?: number | null;
}
/** A piece of text. */
export interface TextBlock {
    type: "text";
    created_at?: string | null;
    finished_at?: string | null;
    text: string;
    id: string;
}
/** Binary content inside the message. `data` is base64 in JSON, bytes in Python; construction accepts both. */
export interface Base64Source {
    type: "base64";
    data: Base64;
    media_type: string;
}
/** Binary content elsewhere: `url` is an RFC 3986 URI with a scheme (ValueError otherwise). */
export interface URLSource {
    type: "url";
    url: string;
    media_type: string;
}
/** Image, audio, video or other binary content. */
export interface DataBlock {
    type: "data";
    created_at?: string | null;
    finished_at?: string | null;
    source: Base64Source | URLSource;
    id: string;
    name: string | null;
}
/** The outcome of the tool call with the same `id`. */
export interface ToolResultBlock {
    type: "tool_result";
    created_at?: string | null;
    finished_at?: string | null;
    id: string;
    name: string;
    output: string | (TextBlock | DataBlock)[];
    state: "running" | "success" | "error" | "interrupted" | "denied";
}
/** Tokens by kind; no count where the provider reports none. */
export interface UsageDetail {
    input_text_tokens: number | null;
    input_audio_tokens: number | null;
    input_image_tokens: number | null;
    input_cached_tokens: number | null;
    output_text_tokens: number | null;
    output_audio_tokens: number | null;
    output_reasoning_tokens: number | null;
}
/** A whole hint block enters the agent's context. */
export interface HintBlockEvent {
    type: "HINT_BLOCK";
    id: string;
    created_at: string;
    reply_id: string;
    metadata: Record<string, unknown>;
    block_id: string;
    hint: string | (TextBlock | DataBlock)[];
    source: string | null;
}
/**
 * A signal of the layer around the agent (`tasks_context`, `team_updated`). Readers skip an unknown `name`.
 *
 * `reply_id` is empty for signals outside a reply. Raises ValueError where `value` is not JSON.
 */
export interface CustomEvent {
    type: "CUSTOM";
    id: string;
    created_at: string;
    reply_id: string;
    metadata: Record<string, unknown>;
    name: string;
    value: Record<string, unknown>;
}
/** The agent `name` has reached its limit of reasoning and acting steps. */
export interface ExceedMaxItersEvent {
    type: "EXCEED_MAX_ITERS";
    id: string;
    created_at: string;
    reply_id: string;
    metadata: Record<string, unknown>;
    name: string;
}
/** A hook or a tool (`source`) asks to stop early, for `reason`. */
export interface RequestStopEvent {
    type: "REQUEST_STOP";
    id: string;
    created_at: string;
    reply_id: string;
    metadata: Record<string, unknown>;
    source: string;
    reason: string;
}
/**
 * The reply is complete; nothing of it follows. `error`: what went wrong, where that ended it.
 *
 * `message`: fields of the message, as in its JSON, that the other events do not tell, such as its `metadata` and
 * `structured_output`; all of its `content` where a hook or an interruption has put other blocks in its place.
 */
export interface ReplyEndEvent {
    type: "REPLY_END";
    id: string;
    created_at: string;
    reply_id: string;
    metadata: Record<string, unknown>;
    session_id: string;
    finished_reason: "completed" | "error" | "exceed_max_iters" | "interrupted";
    error: string | null;
    message: Record<string, unknown>;
}
/**
 * Whether a tool may run without a question. `rule_content`: a pattern for its arguments; None: all arguments.
 *
 * `source`: where the rule comes from, such as `user`. What patterns mean is in `realtime.permission`.
 */
export interface PermissionRule {
    tool_name: string;
    rule_content: string | null;
    behavior: "allow" | "deny" | "ask";
    source: string;
}
/**
 * A model's request to run a tool. `input` is the arguments as a JSON string, as far as received.
 *
 * `suggested_rules`: rules that the user may accept together with the call, to avoid further questions.
 */
export interface ToolCallBlock {
    type: "tool_call";
    created_at?: string | null;
    finished_at?: string | null;
    id: string;
    name: string;
    input: string;
    state: "pending" | "asking" | "allowed" | "submitted" | "finished";
    suggested_rules?: PermissionRule[];
}
/**
 * One part of a message item.
 *
 * `text` for typed text, `transcript` for what was spoken in an audio part (after a barge-in: what was heard),
 * `image` as bytes (base64 in JSON) with its `media_type`. `audio` is the sound of a user's item that brings its own:
 * pcm16 bytes in this `format`; it goes to the model only and is not sent back.
 */
export interface ContentPart {
    type: "audio" | "image" | "text";
    text?: string | null;
    transcript?: string | null;
    image?: Base64 | null;
    media_type?: string | null;
    audio?: Base64 | null;
    format?: AudioFormat | null;
}
/** One entry of the conversation: a message, a tool call or its result. `name` is the author, where known. */
export interface Item {
    id: string;
    type: "message" | "tool_call" | "tool_result";
    role: "assistant" | "system" | "user" | null;
    name: string | null;
    status: "completed" | "in_progress" | "incomplete";
    content: ContentPart[];
    tool_call: ToolCallBlock | null;
    tool_result: ToolResultBlock | null;
}
/**
 * How the end of a turn is detected.
 *
 * `authority` decides: the provider's own detector, the server's (`realtime.audio.endpoint`), or the client by commits
 * (push-to-talk). Default: the provider where its profile has a detector, else the server.
 * `type`: the provider's detector, e.g. `server_vad` or `semantic_vad`. `threshold` 0..1; the two times in ms.
 * `create_response` false: the end of speech requests no response (`client_response_create` does).
 * `interrupt_response` false: speech does not stop a response. Default: true.
 *
 * `expect` is the kind of answer that the agent has asked for: the server's and the embedded model's detector wait
 * longer in dictated `digits` and `spelling`, and less after a short answer to a `yes_no` question.
 *
 * `interruption` says what a voice over a reply does: `selective` (default) stops the reply once the voice shows that
 * it takes the floor: backchannels, coughs and distant voices pass; `immediate` stops it at the onset; `off` never, as
 * `interrupt_response` false. With `selective`: `min_speech_ms` is the length from which a voice whose words are
 * unknown takes the floor (default 500), `min_words` how many words it needs beyond backchannels (default 1),
 * `backchannels` further phrases that do not take it, and `protect_ms` the beginning of a reply that no voice
 * interrupts (default 0).
 */
export interface TurnDetection {
    authority?: "client" | "provider" | "server" | null;
    type?: string | null;
    threshold?: number | null;
    silence_duration_ms?: number | null;
    prefix_padding_ms?: number | null;
    eagerness?: "auto" | "high" | "low" | "medium" | null;
    create_response?: boolean | null;
    interrupt_response?: boolean | null;
    expect?: "digits" | "spelling" | "yes_no" | null;
    interruption?: "immediate" | "off" | "selective" | null;
    min_speech_ms?: number | null;
    min_words?: number | null;
    backchannels?: string[] | null;
    protect_ms?: number | null;
}
/** A tool as a model sees it. `parameters` is a JSON Schema object. */
export interface ToolDeclaration {
    name: string;
    description?: string;
    parameters?: Record<string, unknown>;
}
/**
 * A tool that runs at the provider, such as a web search.
 *
 * `kind` is `web_search`, or the client's own word for another; `name` is what the client calls it.
 */
export interface HostedTool {
    kind: string;
    name?: string;
}
/**
 * Audio is pcm16, little endian, mono; only the rate varies.
 *
 * Readers accept both documented spellings (`{type, rate}` and `{encoding, sample_rate}`, also mixed); the server
 * sends all four keys. Rates are in Hz. A client may say `channels`, which are 1.
 */
export interface AudioFormatInput {
    type?: string | null;
    rate?: number | null;
    encoding?: string | null;
    sample_rate?: number | null;
    channels?: number | null;
}
/**
 * The client's microphone.
 *
 * `echo_cancellation` says where the agent's voice is removed from it: in the `client` (default; a page asks its
 * browser for it), in the `server`, for clients that send a raw microphone, or nowhere (`off`). `cancels_echo` is the
 * client's report of what its microphone really does, such as `echoCancellation` of `getSettings()` in a browser.
 */
export interface AudioSettings {
    echo_cancellation?: "client" | "off" | "server" | null;
    cancels_echo?: boolean | null;
}
/**
 * What becomes of the permission rules that the user accepts.
 *
 * They hold for the call; with `keep` also in later calls, until one is made with `keep=false`: in those of the user
 * and session id, where the client's token names the user, else in those with the same `key`. The server issues it
 * (`server_custom` `permissions_key`) to a call that sends an empty one, or one that is no longer valid. Names are no
 * key: without it or a token, rules end with the call. It is a secret, and counts only when a call is made.
 */
export interface PermissionSettings {
    keep?: boolean | null;
    key?: string | null;
}
/**
 * Settings of a call. For a missing one the agent's own value holds.
 *
 * `turn_detection="none"` is push-to-talk. `tools` are the ones that run in the client (answered by
 * `client_tool_result`); the model continues after the last result, with `tool_auto_response` off only when the client
 * requests it (`client_response_create`). `hosted_tools` are the provider's; one that the model does not have is left
 * out, with an error that names it. `model_provider` and `model` choose the model, where the server offers a
 * choice. `audio_frames="binary"` (subprotocol `realtime.v1` only) sends speech as binary frames. The two formats give
 * the rate of the client's audio (default 16000 Hz), where that does not say its own, and of the speech it wants
 * (default 24000 Hz); the latter and the kind of frames are settled when the call is made.
 * `names` are names that may be said, a hint to the recogniser of the embedded model; in a room the agents'.
 * `recording=true` is the speakers' consent to keep the sound of the call, where the server keeps any; it is given at
 * the beginning and cannot be added later. `temperature`, `max_output_tokens` (`inf` lifts an earlier limit) and
 * `extra` go to the provider unchanged. Unknown keys are ignored.
 */
export interface SessionConfig {
    instructions?: string | null;
    user_name?: string | null;
    agent_name?: string | null;
    names?: string[] | null;
    model_provider?: string | null;
    model?: string | null;
    voice?: string | null;
    output_modalities?: ("audio" | "image" | "text")[] | null;
    turn_detection?: TurnDetection | "none" | null;
    text_auto_response?: boolean | null;
    tool_auto_response?: boolean | null;
    auto_response?: boolean | null;
    input_audio_transcription?: boolean | null;
    tools?: ToolDeclaration[] | null;
    hosted_tools?: HostedTool[] | null;
    audio_frames?: "binary" | "json" | null;
    input_audio_format?: AudioFormatInput | null;
    output_audio_format?: AudioFormatInput | null;
    audio?: AudioSettings | null;
    temperature?: number | null;
    max_output_tokens?: number | "inf" | null;
    extra?: Record<string, unknown> | null;
    recording?: boolean | null;
    permissions?: PermissionSettings | null;
}
/**
 * One part of a message item.
 *
 * `text` for typed text, `transcript` for what was spoken in an audio part (after a barge-in: what was heard),
 * `image` as bytes (base64 in JSON) with its `media_type`. `audio` is the sound of a user's item that brings its own:
 * pcm16 bytes in this `format`; it goes to the model only and is not sent back.
 */
export interface ContentPartInput {
    type: "audio" | "image" | "text";
    text?: string | null;
    transcript?: string | null;
    image?: Base64 | null;
    media_type?: string | null;
    audio?: Base64 | null;
    format?: AudioFormatInput | null;
}
/**
 * Whether a tool may run without a question. `rule_content`: a pattern for its arguments; None: all arguments.
 *
 * `source`: where the rule comes from, such as `user`. What patterns mean is in `realtime.permission`.
 */
export interface PermissionRuleInput {
    tool_name: string;
    rule_content?: string | null;
    behavior?: "allow" | "deny" | "ask";
    source?: string;
}
/**
 * A model's request to run a tool. `input` is the arguments as a JSON string, as far as received.
 *
 * `suggested_rules`: rules that the user may accept together with the call, to avoid further questions.
 */
export interface ToolCallBlockInput {
    type: "tool_call";
    created_at?: string | null;
    finished_at?: string | null;
    id: string;
    name: string;
    input?: string;
    state?: "pending" | "asking" | "allowed" | "submitted" | "finished";
    suggested_rules?: PermissionRuleInput[];
}
/** A piece of text. */
export interface TextBlockInput {
    type: "text";
    created_at?: string | null;
    finished_at?: string | null;
    text: string;
    id?: string;
}
/** Image, audio, video or other binary content. */
export interface DataBlockInput {
    type: "data";
    created_at?: string | null;
    finished_at?: string | null;
    source: Base64Source | URLSource;
    id?: string;
    name?: string | null;
}
/** The outcome of the tool call with the same `id`. */
export interface ToolResultBlockInput {
    type: "tool_result";
    created_at?: string | null;
    finished_at?: string | null;
    id: string;
    name: string;
    output?: string | (TextBlockInput | DataBlockInput)[];
    state?: "running" | "success" | "error" | "interrupted" | "denied";
}
/** One entry of the conversation: a message, a tool call or its result. `name` is the author, where known. */
export interface ItemInput {
    id: string;
    type?: "message" | "tool_call" | "tool_result";
    role?: "assistant" | "system" | "user" | null;
    name?: string | null;
    status?: "completed" | "in_progress" | "incomplete";
    content?: ContentPartInput[];
    tool_call?: ToolCallBlockInput | null;
    tool_result?: ToolResultBlockInput | null;
}
/**
 * Settings of one response. A missing field keeps the session's value.
 *
 * `conversation="none"` makes an out-of-band response that is not written to the history. `input`, where given,
 * replaces the context of this response. `max_output_tokens="inf"` lifts the call's limit. `hosted_tools` are those of
 * the session: others are left out, with an error that names them.
 */
export interface ResponseOverrides {
    instructions?: string | null;
    output_modalities?: ("audio" | "image" | "text")[] | null;
    voice?: string | null;
    tools?: Record<string, unknown>[] | null;
    hosted_tools?: HostedTool[];
    tool_choice?: string | Record<string, unknown> | null;
    temperature?: number | null;
    max_output_tokens?: number | "inf" | null;
    conversation?: "auto" | "none";
    input?: ItemInput[] | null;
    metadata?: Record<string, string> | null;
}
/** The encoding of an image, such as `image/jpeg`. Existing pages send either key or both. */
export interface ImageFormat {
    type?: string | null;
    mime_type?: string | null;
}
/** Set the state of a subtask; `outcome` says what came of one that is done, in one line. */
export interface MarkSubtask {
    type: "mark_subtask";
    subtask_id: string;
    state: "abandoned" | "done" | "in_progress" | "todo";
    outcome?: string | null;
}
/** Give a subtask another name, of one line. */
export interface RenameSubtask {
    type: "rename_subtask";
    subtask_id: string;
    name: string;
}
/** Add a subtask before another one, or at the end. */
export interface AddSubtask {
    type: "add_subtask";
    name: string;
    before?: string | null;
}
/** Remove a subtask. */
export interface RemoveSubtask {
    type: "remove_subtask";
    subtask_id: string;
}
/** End the plan: it is done, or dropped (`abandoned`); `outcome` says what came of it, or why, in one line. */
export interface EndPlan {
    type: "end_plan";
    state: "abandoned" | "done";
    outcome?: string | null;
}
/** Create the call. `realtime.event.config.SessionConfig` lists the keys of `config`. */
export interface ClientSessionCreateEvent {
    type: "client_session_create";
    session_id?: string | null;
    event_id?: string | null;
    config?: SessionConfig;
}
/** Change settings of the running call; missing keys keep their value. */
export interface ClientSessionUpdateEvent {
    type: "client_session_update";
    session_id?: string | null;
    event_id?: string | null;
    config?: SessionConfig;
}
/**
 * Return to a call: `token` from the server, `last_seq` of the last event received.
 *
 * The played position of the last played item is needed where the server has restarted meanwhile.
 */
export interface ClientSessionResumeEvent {
    type: "client_session_resume";
    session_id?: string | null;
    event_id?: string | null;
    token: string;
    last_seq: number;
    played_item_id?: string | null;
    played_ms?: number | null;
}
/** End the call. */
export interface ClientSessionEndEvent {
    type: "client_session_end";
    session_id?: string | null;
    event_id?: string | null;
}
/** Request a response now, with settings for this one. */
export interface ClientResponseCreateEvent {
    type: "client_response_create";
    session_id?: string | null;
    event_id?: string | null;
    response?: ResponseOverrides | null;
}
/** Cancel the current response, or the named one. */
export interface ClientResponseCancelEvent {
    type: "client_response_cancel";
    session_id?: string | null;
    event_id?: string | null;
    response_id?: string | null;
}
/** A typed turn of the user; the agent responds unless `text_auto_response` is off. */
export interface ClientTextAppendEvent {
    type: "client_text_append";
    session_id?: string | null;
    event_id?: string | null;
    text: string;
}
/**
 * Speech of the user: pcm16 mono bytes (base64 in JSON; Python also accepts base64 text).
 *
 * `offset` counts samples since the call began, for re-sending after a lost connection; without it the audio is
 * appended. `played_item_id` and `played_ms` together act as a `client_playback_ack`, before the audio is processed.
 */
export interface ClientAudioAppendEvent {
    type: "client_audio_append";
    session_id?: string | null;
    event_id?: string | null;
    audio: Base64;
    format?: AudioFormatInput;
    offset?: number | null;
    played_item_id?: string | null;
    played_ms?: number | null;
}
/** End the user's turn (push-to-talk), or close the current input early. */
export interface ClientAudioCommitEvent {
    type: "client_audio_commit";
    session_id?: string | null;
    event_id?: string | null;
}
/** Discard the input audio that is not committed yet. */
export interface ClientAudioClearEvent {
    type: "client_audio_clear";
    session_id?: string | null;
    event_id?: string | null;
}
/** An image for the model: bytes (base64 in JSON). */
export interface ClientImageAppendEvent {
    type: "client_image_append";
    session_id?: string | null;
    event_id?: string | null;
    image: Base64;
    format?: ImageFormat;
}
/**
 * A client tool's result, or the user's decision about a server tool.
 *
 * With `confirmed` it answers a tool call of the server that is `asking`. The model gets the `output` of a refusal as
 * its reason; the `output` of a consent is ignored.
 *
 * `state` says how a client tool ended. With a consent, `tool_call` is the call as it shall run: its name and input
 * may be changed; `rules` are those of its `suggested_rules` that the user accepts with it.
 *
 * `item_id` names the item that the result becomes; without it the server chooses an id.
 */
export interface ClientToolResultEvent {
    type: "client_tool_result";
    session_id?: string | null;
    event_id?: string | null;
    id: string;
    name: string;
    output: string | (TextBlockInput | DataBlockInput)[];
    confirmed?: boolean | null;
    state?: "running" | "success" | "error" | "interrupted" | "denied";
    tool_call?: ToolCallBlockInput | null;
    rules?: PermissionRuleInput[] | null;
    item_id?: string | null;
}
/**
 * Report playback: `played_ms` of the item's audio since its beginning, never falling.
 *
 * `flushed` is true in the acknowledgement that answers a flush: nothing more of the item will be played.
 */
export interface ClientPlaybackAckEvent {
    type: "client_playback_ack";
    session_id?: string | null;
    event_id?: string | null;
    item_id: string;
    played_ms: number;
    flushed?: boolean;
}
/** Insert an item after `previous_item_id` (`root`: first), or at the end without one. */
export interface ClientItemCreateEvent {
    type: "client_item_create";
    session_id?: string | null;
    event_id?: string | null;
    item: ItemInput;
    previous_item_id?: string | null;
}
/** Delete an item. */
export interface ClientItemDeleteEvent {
    type: "client_item_delete";
    session_id?: string | null;
    event_id?: string | null;
    item_id: string;
}
/** Request an item; the answer is `agent_item_retrieved`. */
export interface ClientItemRetrieveEvent {
    type: "client_item_retrieve";
    session_id?: string | null;
    event_id?: string | null;
    item_id: string;
}
/** Cut an assistant item after `audio_end_ms` of its audio. */
export interface ClientItemTruncateEvent {
    type: "client_item_truncate";
    session_id?: string | null;
    event_id?: string | null;
    item_id: string;
    audio_end_ms: number;
    content_index?: number;
}
/**
 * Change the agent's plan by hand; `plan_updated` follows, or an error, and then nothing has changed.
 *
 * `plan_id` and the ids of subtasks are those of the latest `plan_updated`: what was replaced meanwhile is not hit.
 */
export interface ClientPlanEditEvent {
    type: "client_plan_edit";
    session_id?: string | null;
    event_id?: string | null;
    plan_id: string;
    edit: MarkSubtask | RenameSubtask | AddSubtask | RemoveSubtask | EndPlan;
}
/**
 * The call exists. `session_id` is the client's own label, `call_id` the server's unguessable name of the call.
 *
 * A client that may return after losing its socket gets a `resume_token`, valid for one `client_session_resume`; the
 * call waits for it for `resume_within_ms`. The log contains neither.
 */
export interface ServerSessionCreatedEvent {
    type: "server_session_created";
    session_id: string;
    call_id: string;
    resume_token: string | null;
    resume_within_ms: number | null;
    seq?: number;
    ts_ms: number;
}
/** The new settings are in force. */
export interface ServerSessionUpdatedEvent {
    type: "server_session_updated";
    session_id: string;
    config: Record<string, unknown> | null;
    seq?: number;
    ts_ms: number;
}
/** The call has ended; nothing follows. `reason` is a stable word. */
export interface ServerSessionEndedEvent {
    type: "server_session_ended";
    session_id: string;
    reason: string;
    seq?: number;
    ts_ms: number;
}
/**
 * This client is back in its call. The events after `last_seq` follow, then the speech that it has not played.
 *
 * Only this client gets the event. `token` is valid for the next resume; the one used now expires as soon as the
 * client sends anything on this socket. `from_store`: the call had ended, or its server had; it continues with the
 * words that were heard, in a new session of the model. `gap`: some of the missed events are lost. `rewound_to_seq`:
 * the server stopped before it had stored all that it sent; events that the client received beyond this `seq` are not
 * part of the call, and their numbers are used again. `last_seq` is then the same number.
 */
export interface ServerSessionResumedEvent {
    type: "server_session_resumed";
    session_id: string;
    call_id: string;
    last_seq: number;
    token: string | null;
    from_store: boolean;
    gap: boolean;
    rewound_to_seq: number | null;
    seq?: number;
    ts_ms: number;
}
/** Silence the voice at once: drop all unplayed audio of `item_id`, or of every item without one. */
export interface ServerAudioFlushEvent {
    type: "server_audio_flush";
    item_id: string | null;
    reason: string;
    seq?: number;
    ts_ms: number;
}
/**
 * Play the voice at `gain_db` from now on, reached over `ramp_ms`: of `item_id`, or of every item without one.
 *
 * -15 while it is undecided what a voice over the reply means, 0 when the reply goes on. A flush ends it.
 */
export interface ServerAudioGainEvent {
    type: "server_audio_gain";
    gain_db: number;
    ramp_ms: number;
    item_id: string | null;
    seq?: number;
    ts_ms: number;
}
/**
 * Binary frames with `item_index` are audio of this part of a response.
 *
 * `offset_samples` is where in the part the following audio begins: beyond 0 after a resume, when the event also
 * precedes audio as JSON.
 */
export interface ServerAudioItemEvent {
    type: "server_audio_item";
    item_index: number;
    response_id: string;
    item_id: string;
    format: AudioFormat;
    output_index: number;
    content_index: number;
    offset_samples: number;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** Client audio up to sample `offset` of its stream has arrived; the client may discard earlier samples. */
export interface ServerAudioReceivedEvent {
    type: "server_audio_received";
    offset: number;
    seq?: number;
    ts_ms: number;
}
/** This socket is about to close. With a token the call can be resumed elsewhere after `retry_after_ms`. */
export interface ServerGoodbyeEvent {
    type: "server_goodbye";
    reason: string;
    resume_token: string | null;
    retry_after_ms: number | null;
    seq?: number;
    ts_ms: number;
}
/**
 * What the user waited after turn `item_id`: from the end of the voice to the first sound that was played.
 *
 * `stages_ms` are its parts in order; one of them, `consent`, is no latency. `estimated`: the client reported no
 * playback, or had stopped sending audio.
 */
export interface ServerLatencyEvent {
    type: "server_latency";
    response_id: string;
    turn_end_to_audio_ms: number;
    stages_ms: Record<string, number>;
    latency_ms: number | null;
    item_id: string | null;
    estimated: boolean;
    seq?: number;
    ts_ms: number;
}
/**
 * A client's playback position in an item: at its first sound, every second, at a flush and at its end.
 *
 * Its own audio was at sample `input_offset` then, at `input_ms`; 0 without any. `estimated`: it did not report this.
 */
export interface ServerPlaybackEvent {
    type: "server_playback";
    item_id: string;
    played_ms: number;
    input_offset: number;
    input_ms: number | null;
    estimated: boolean;
    seq?: number;
    ts_ms: number;
}
/**
 * Something of the program's own (`RealtimeAgent.emit_custom_event`). Clients skip a `name` that they do not know.
 *
 * Raises ValueError where `value` is not JSON.
 */
export interface ServerCustomEvent {
    type: "server_custom";
    name: string;
    value: Record<string, unknown>;
    seq?: number;
    ts_ms: number;
}
/** A participant entered the room, or was there when a client joined. */
export interface ServerRoomJoinedEvent {
    type: "server_room_joined";
    participant_id: string;
    name: string;
    kind: string;
    muted: boolean;
    away: boolean;
    seq?: number;
    ts_ms: number;
}
/**
 * A participant was muted or unmuted, went away or came back.
 *
 * Away means that an agent's model or a human's socket is lost. The event carries both current values.
 */
export interface ServerRoomChangedEvent {
    type: "server_room_changed";
    participant_id: string;
    name: string;
    kind: string;
    muted: boolean;
    away: boolean;
    seq?: number;
    ts_ms: number;
}
/** A participant left the room. */
export interface ServerRoomLeftEvent {
    type: "server_room_left";
    participant_id: string;
    name: string;
    reason: string;
    seq?: number;
    ts_ms: number;
}
/** The participant who may speak now, by which rule. Without one the floor is open. */
export interface ServerRoomFloorEvent {
    type: "server_room_floor";
    participant_id: string | null;
    reason: string;
    seq?: number;
    ts_ms: number;
}
/** The agent is ready to receive input. `model` describes the provider, the model and its abilities. */
export interface AgentReadyEvent {
    type: "agent_ready";
    model: Record<string, unknown> | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The agent has left. */
export interface AgentEndedEvent {
    type: "agent_ended";
    reason: string;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/**
 * A running tool reports: `delta` continues its result, or is a note about its work (`kind`).
 *
 * Neither is spoken. The whole result follows with the tool's end.
 */
export interface AgentToolProgressEvent {
    type: "agent_tool_progress";
    tool_call_id: string;
    delta: string;
    kind: "note" | "result";
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The output of a tool; its `id` is that of the call. */
export interface AgentResponseToolResultEvent {
    type: "agent_response_tool_result";
    tool_result: ToolResultBlock;
    response_id: string | null;
    item_id: string | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** A response begins. `status` is `in_progress`. */
export interface AgentResponseCreatedEvent {
    type: "agent_response_created";
    response_id: string;
    status: "cancelled" | "completed" | "failed" | "in_progress" | "incomplete";
    status_details: Record<string, unknown> | null;
    output_modalities: ("audio" | "image" | "text")[] | null;
    conversation: "auto" | "none";
    metadata: Record<string, unknown> | null;
    usage_detail: UsageDetail | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/**
 * A response has ended. Sent exactly once, also when cancelled or failed (see `status`).
 *
 * `grounding` holds the searches behind the response, in the provider's own format.
 */
export interface AgentResponseDoneEvent {
    type: "agent_response_done";
    response_id: string;
    input_tokens: number;
    output_tokens: number;
    metadata: Record<string, unknown> | null;
    status: "cancelled" | "completed" | "failed" | "in_progress" | "incomplete";
    status_details: Record<string, unknown> | null;
    output_modalities: ("audio" | "image" | "text")[] | null;
    conversation: "auto" | "none";
    usage_detail: UsageDetail | null;
    grounding: Record<string, unknown> | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** A chunk of speech: `delta` is pcm16 bytes (base64 in JSON) of any even length, at the rate of `format`. */
export interface AgentResponseAudioDeltaEvent {
    type: "agent_response_audio_delta";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    delta: Base64;
    format: AudioFormat;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The speech of this part is complete. */
export interface AgentResponseAudioDoneEvent {
    type: "agent_response_audio_done";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/**
 * The next piece of the spoken words.
 *
 * At the first words of a response, `ready_ms` says how long before this its `first_token` and its `first_sentence`
 * were there, where they waited for their sound.
 */
export interface AgentResponseAudioTranscriptDeltaEvent {
    type: "agent_response_audio_transcript_delta";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    delta: string;
    ready_ms: Record<string, number> | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/**
 * The transcript is complete: `transcript` is the full text (after a barge-in: what was heard).
 *
 * `language` is its BCP-47 code, where the provider reports it.
 */
export interface AgentResponseAudioTranscriptDoneEvent {
    type: "agent_response_audio_transcript_done";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    transcript: string;
    language: string | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The next piece of a text-only response. */
export interface AgentResponseTextDeltaEvent {
    type: "agent_response_text_delta";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    delta: string;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The text-only response is complete. */
export interface AgentResponseTextDoneEvent {
    type: "agent_response_text_done";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    text: string;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The next piece of the model's thinking: never spoken, and in no transcript. Has an `item_id` of its own. */
export interface AgentResponseThinkingDeltaEvent {
    type: "agent_response_thinking_delta";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    delta: string;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The thinking of this item is complete: `thinking` is all of it. */
export interface AgentResponseThinkingDoneEvent {
    type: "agent_response_thinking_done";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    thinking: string;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/**
 * A thinking agent behind the voice tells more than words: `report` is its reply event.
 *
 * That is a hint that it has read, a signal of its program, its limit of rounds, a request to stop, or its end where
 * that is not `completed`. It may come after the response, while a tool runs.
 */
export interface AgentResponseReportEvent {
    type: "agent_response_report";
    response_id: string;
    report: HintBlockEvent | CustomEvent | ExceedMaxItersEvent | RequestStopEvent | ReplyEndEvent;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** A fragment of a tool call's arguments: `delta` is new, `tool_use.input` all of it so far. */
export interface AgentResponseToolUseDeltaEvent {
    type: "agent_response_tool_use_delta";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    tool_use: ToolCallBlock;
    delta: string;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The tool call is complete; `tool_use.input` is the whole JSON text. */
export interface AgentResponseToolUseDoneEvent {
    type: "agent_response_tool_use_done";
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
    tool_use: ToolCallBlock;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/**
 * The next piece of the user's words.
 *
 * `interim` is a guess at the words after all deltas so far: each event replaces the guess of the one before, and an
 * event without it withdraws the guess. An event that only guesses has an empty `delta`.
 */
export interface AgentInputTranscriptionDeltaEvent {
    type: "agent_input_transcription_delta";
    item_id: string;
    delta: string;
    content_index: number;
    interim: string | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The complete words of the user in this item. `language` is their BCP-47 code, where the provider reports it. */
export interface AgentInputTranscriptionDoneEvent {
    type: "agent_input_transcription_done";
    item_id: string;
    transcript: string;
    input_tokens: number | null;
    output_tokens: number | null;
    content_index: number;
    language: string | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The user's speech could not be transcribed; the model may still have understood it. */
export interface AgentInputTranscriptionFailedEvent {
    type: "agent_input_transcription_failed";
    item_id: string;
    code: string;
    message: string;
    content_index: number;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The user began to speak: `audio_start_ms` of the client's audio stream (start of voice, no padding). */
export interface AgentInputStartedEvent {
    type: "agent_input_started";
    item_id: string;
    audio_start_ms: number;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The user stopped speaking: `audio_end_ms` of the client's audio stream (end of voice, without the silence). */
export interface AgentInputDoneEvent {
    type: "agent_input_done";
    item_id: string;
    audio_end_ms: number;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/**
 * The input audio so far became the user item `item_id`.
 *
 * In push-to-talk `audio_end_ms` is its end in the client's audio; otherwise `agent_input_done` has reported that.
 */
export interface AgentInputCommittedEvent {
    type: "agent_input_committed";
    item_id: string;
    previous_item_id: string | null;
    audio_end_ms: number | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The uncommitted input audio was dropped. In a room `item_id` names a turn discarded as a false start. */
export interface AgentInputClearedEvent {
    type: "agent_input_cleared";
    item_id: string | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** An item entered the conversation after `previous_item_id` (empty: first, or unknown). */
export interface AgentItemAddedEvent {
    type: "agent_item_added";
    item: Item;
    previous_item_id: string | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The item is final. */
export interface AgentItemDoneEvent {
    type: "agent_item_done";
    item: Item;
    previous_item_id: string | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The item was deleted from the conversation. */
export interface AgentItemDeletedEvent {
    type: "agent_item_deleted";
    item_id: string;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The item was cut after `audio_end_ms` of its audio; `transcript` is what was heard, where known. */
export interface AgentItemTruncatedEvent {
    type: "agent_item_truncated";
    item_id: string;
    content_index: number;
    audio_end_ms: number;
    transcript: string | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The answer to a request for one item. */
export interface AgentItemRetrievedEvent {
    type: "agent_item_retrieved";
    item: Item;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The effective settings of the model's session after a change. Holds no secrets. */
export interface AgentSessionUpdatedEvent {
    type: "agent_session_updated";
    settings: Record<string, unknown>;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/**
 * What a voice over a reply means: `possible` when it begins, then `confirmed` or `dismissed`.
 *
 * `reason` is a stable word, such as `stop_words` or `backchannel` (docs/listening.md); `item_id` is the reply's item
 * that was played; `voiced_ms` is how much of the voice was known at the decision.
 */
export interface AgentInterruptionEvent {
    type: "agent_interruption";
    state: "confirmed" | "dismissed" | "possible";
    reason: string;
    item_id: string | null;
    voiced_ms: number;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The link to the model was lost; try number `attempt` starts in `retry_after_ms`. */
export interface AgentReconnectingEvent {
    type: "agent_reconnecting";
    attempt: number;
    retry_after_ms: number;
    reason: string;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** The link to the model and its context are restored, after `gap_ms`. */
export interface AgentReconnectedEvent {
    type: "agent_reconnected";
    gap_ms: number;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/**
 * Something went wrong; the call continues unless an ended event follows.
 *
 * `error_type` says whose fault it is (`client_error`, `provider_error`, `server_error`, `tool_error`), `code` is a
 * stable word for programs, `message` a sentence for people. `client_event_id` is the `event_id` of the client event
 * it answers. `retry_after_ms`: when the same request may work, where that is known.
 */
export interface AgentErrorEvent {
    type: "agent_error";
    error_type: string;
    code: string;
    message: string;
    retryable: boolean;
    client_event_id: string | null;
    retry_after_ms: number | null;
    agent_id: string;
    agent_name: string;
    seq?: number;
    ts_ms: number;
}
/** What a client sends. */
export type ClientEvent = ClientSessionCreateEvent | ClientSessionUpdateEvent | ClientSessionResumeEvent | ClientSessionEndEvent | ClientResponseCreateEvent | ClientResponseCancelEvent | ClientTextAppendEvent | ClientAudioAppendEvent | ClientAudioCommitEvent | ClientAudioClearEvent | ClientImageAppendEvent | ClientToolResultEvent | ClientPlaybackAckEvent | ClientItemCreateEvent | ClientItemDeleteEvent | ClientItemRetrieveEvent | ClientItemTruncateEvent | ClientPlanEditEvent;
/** What a client gets. */
export type ServerEvent = ServerSessionCreatedEvent | ServerSessionUpdatedEvent | ServerSessionEndedEvent | ServerSessionResumedEvent | ServerAudioFlushEvent | ServerAudioGainEvent | ServerAudioItemEvent | ServerAudioReceivedEvent | ServerGoodbyeEvent | ServerLatencyEvent | ServerPlaybackEvent | ServerCustomEvent | ServerRoomJoinedEvent | ServerRoomChangedEvent | ServerRoomLeftEvent | ServerRoomFloorEvent | AgentReadyEvent | AgentEndedEvent | AgentToolProgressEvent | AgentResponseToolResultEvent | AgentResponseCreatedEvent | AgentResponseDoneEvent | AgentResponseAudioDeltaEvent | AgentResponseAudioDoneEvent | AgentResponseAudioTranscriptDeltaEvent | AgentResponseAudioTranscriptDoneEvent | AgentResponseTextDeltaEvent | AgentResponseTextDoneEvent | AgentResponseThinkingDeltaEvent | AgentResponseThinkingDoneEvent | AgentResponseReportEvent | AgentResponseToolUseDeltaEvent | AgentResponseToolUseDoneEvent | AgentInputTranscriptionDeltaEvent | AgentInputTranscriptionDoneEvent | AgentInputTranscriptionFailedEvent | AgentInputStartedEvent | AgentInputDoneEvent | AgentInputCommittedEvent | AgentInputClearedEvent | AgentItemAddedEvent | AgentItemDoneEvent | AgentItemDeletedEvent | AgentItemTruncatedEvent | AgentItemRetrievedEvent | AgentSessionUpdatedEvent | AgentInterruptionEvent | AgentReconnectingEvent | AgentReconnectedEvent | AgentErrorEvent;
/** The server event with this `type`. */
export type ServerEventOf<Type extends ServerEvent["type"]> = Extract<ServerEvent, {
    type: Type;
}>;
export declare const CLIENT_EVENT_TYPES: readonly ["client_session_create", "client_session_update", "client_session_resume", "client_session_end", "client_response_create", "client_response_cancel", "client_text_append", "client_audio_append", "client_audio_commit", "client_audio_clear", "client_image_append", "client_tool_result", "client_playback_ack", "client_item_create", "client_item_delete", "client_item_retrieve", "client_item_truncate", "client_plan_edit"];
export declare const SERVER_EVENT_TYPES: readonly ["server_session_created", "server_session_updated", "server_session_ended", "server_session_resumed", "server_audio_flush", "server_audio_gain", "server_audio_item", "server_audio_received", "server_goodbye", "server_latency", "server_playback", "server_custom", "server_room_joined", "server_room_changed", "server_room_left", "server_room_floor", "agent_ready", "agent_ended", "agent_tool_progress", "agent_response_tool_result", "agent_response_created", "agent_response_done", "agent_response_audio_delta", "agent_response_audio_done", "agent_response_audio_transcript_delta", "agent_response_audio_transcript_done", "agent_response_text_delta", "agent_response_text_done", "agent_response_thinking_delta", "agent_response_thinking_done", "agent_response_report", "agent_response_tool_use_delta", "agent_response_tool_use_done", "agent_input_transcription_delta", "agent_input_transcription_done", "agent_input_transcription_failed", "agent_input_started", "agent_input_done", "agent_input_committed", "agent_input_cleared", "agent_item_added", "agent_item_done", "agent_item_deleted", "agent_item_truncated", "agent_item_retrieved", "agent_session_updated", "agent_interruption", "agent_reconnecting", "agent_reconnected", "agent_error"];
/**
 * Whether `value` (as parsed from JSON) is a server event with all its fields. Fields that are not known here are
 * ignored, so a newer server may send more.
 */
export declare function isServerEvent(value: unknown): value is ServerEvent;
