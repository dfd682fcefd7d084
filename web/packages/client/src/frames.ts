/**
 * Binary audio frames of the subprotocol `realtime.v1`: a 16-byte little-endian header, then pcm16 mono.
 *
 *     0 kind u8 | 1 flags u8 | 2 stream u16 | 4 item index u32 | 8 sample offset u64
 *
 * In a client's frame with `FLAG_PLAYED`, the played part of the item stands between the two: 16 played ms u32.
 */

export const HEADER_BYTES = 16;
export const KIND_CLIENT_AUDIO = 1;
export const KIND_AGENT_AUDIO = 2;
/** Of agent audio. */
export const FLAG_LAST = 1;
/** Of client audio. */
export const FLAG_PLAYED = 1;
const PLAYED_BYTES = 4;

export interface AudioFrame {
  kind: number;
  flags: number;
  /** 0 for the client; the agent's number for agent audio. */
  stream: number;
  /** From `server_audio_item`: of agent audio, or of the item that plays. 0 for other client audio. */
  itemIndex: number;
  /** Samples before this frame: since the call began (client) or since the item began (agent). */
  sampleOffset: number;
  /** How much of the item was played; in client audio with `FLAG_PLAYED` only. */
  playedMs?: number;
  pcm: Int16Array<ArrayBuffer>;
}

/** The bytes of one frame. Throws RangeError for an offset that is not a whole number from 0 to 2^53 - 1. */
export function encodeAudioFrame(frame: AudioFrame): ArrayBuffer {
  if (!Number.isSafeInteger(frame.sampleOffset) || frame.sampleOffset < 0) {
    throw new RangeError(`sample offset ${frame.sampleOffset} is not a whole number from 0`);
  }
  const pcmStart = startOfPcm(frame.kind, frame.flags);
  const bytes = new ArrayBuffer(pcmStart + frame.pcm.length * 2);
  const view = new DataView(bytes);
  view.setUint8(0, frame.kind);
  view.setUint8(1, frame.flags);
  view.setUint16(2, frame.stream, true);
  view.setUint32(4, frame.itemIndex, true);
  view.setBigUint64(8, BigInt(frame.sampleOffset), true);
  if (pcmStart > HEADER_BYTES) view.setUint32(HEADER_BYTES, frame.playedMs ?? 0, true);
  // Every platform with a browser is little-endian, so the samples are copied as they are in memory.
  new Int16Array(bytes, pcmStart).set(frame.pcm);
  return bytes;
}

/** The frame in `bytes`, its pcm a view; null for a short frame, an unknown kind or half a sample. */
export function decodeAudioFrame(bytes: ArrayBuffer): AudioFrame | null {
  if (bytes.byteLength < HEADER_BYTES || bytes.byteLength % 2 !== 0) return null;
  const view = new DataView(bytes);
  const kind = view.getUint8(0);
  if (kind !== KIND_CLIENT_AUDIO && kind !== KIND_AGENT_AUDIO) return null;
  const flags = view.getUint8(1);
  const pcmStart = startOfPcm(kind, flags);
  const offset = view.getBigUint64(8, true);
  if (offset > BigInt(Number.MAX_SAFE_INTEGER) || bytes.byteLength < pcmStart) return null;
  return {
    kind,
    flags,
    stream: view.getUint16(2, true),
    itemIndex: view.getUint32(4, true),
    sampleOffset: Number(offset),
    ...(pcmStart > HEADER_BYTES && { playedMs: view.getUint32(HEADER_BYTES, true) }),
    pcm: new Int16Array(bytes, pcmStart),
  };
}

function startOfPcm(kind: number, flags: number): number {
  return kind === KIND_CLIENT_AUDIO && flags & FLAG_PLAYED ? HEADER_BYTES + PLAYED_BYTES : HEADER_BYTES;
}
