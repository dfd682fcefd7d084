import { type AudioFrame, decodeAudioFrame } from "../src/frames.ts";
import type { ServerEvent } from "../src/protocol.generated.ts";

/** A socket whose other side is the test. */
export class FakeSocket {
  static last: FakeSocket;
  /** Of all sockets so far. */
  static count = 0;
  binaryType = "blob";
  bufferedAmount = 0;
  readonly sent: (string | ArrayBuffer)[] = [];
  closedWith: [number, string] | null = null;
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  onclose: ((closing: { code: number; reason: string }) => void) | null = null;
  readonly url: string;
  readonly protocol: string;

  constructor(url: string, protocol: string) {
    this.url = url;
    this.protocol = protocol;
    FakeSocket.last = this;
    FakeSocket.count += 1;
  }

  send(data: string | ArrayBuffer): void {
    this.sent.push(data);
  }

  close(code: number, reason: string): void {
    this.closedWith = [code, reason];
  }

  open(): void {
    this.onopen?.();
  }

  /** The server says something. */
  say(said: ServerEvent | ArrayBuffer): void {
    this.onmessage?.({ data: said instanceof ArrayBuffer ? said : JSON.stringify(said) });
  }

  lose(code = 1006, reason = ""): void {
    this.onclose?.({ code, reason });
  }

  get events(): Record<string, unknown>[] {
    return this.sent.filter((data) => typeof data === "string").map((data) => JSON.parse(data));
  }

  get speech(): (AudioFrame | null)[] {
    return this.sent.filter((data) => data instanceof ArrayBuffer).map(decodeAudioFrame);
  }

  get offsets(): (number | undefined)[] {
    return this.speech.map((frame) => frame?.sampleOffset);
  }
}
