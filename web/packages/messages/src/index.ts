/** Messages, blocks and reply events of `realtime`, and the fold of events into messages. */

export { decodeBase64, encodeBase64 } from "./base64.ts";
export { canonicalJson } from "./canonical.ts";
export { type DataPiece, type DataSink, appendEvent } from "./fold.ts";
export { dataBytes } from "./growing.ts";
export {
  AssistantMsg,
  type BlockOf,
  type ContentLike,
  Msg,
  type MsgFields,
  type MsgOptions,
  SystemMsg,
  UserMsg,
  getContentBlocks,
  getFirstContentBlock,
  getTextContent,
  hasContentBlocks,
  readContentBlock,
} from "./msg.ts";
export { type FoldStep, type SseEvent, SseParser, type TextSource, foldStream, parseSse } from "./stream.ts";
export { Transcript, foldMessages, isReplyEventType, readReplyEvent } from "./transcript.ts";
export { AGENT_EVENT_TYPES, ALLOWED_BLOCKS, TOOL_CALL_ARROWS } from "./types.generated.ts";
export type * from "./types.generated.ts";
