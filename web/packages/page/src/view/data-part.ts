/**
 * Sounds, pictures, links and files inside a bubble. A strict Content-Security-Policy lets no page load `blob:` or
 * `data:` addresses, so pictures are painted on a canvas and sounds go straight to the sound output.
 */

import { dataBytes } from "@realtime-voice/messages";
import { type DataPart, linkTo, rawRateHz, sizeWords } from "../message-bubbles.ts";
import { say } from "../texts.ts";
import { make, setText } from "./elements.ts";
import type { Row } from "./keyed-list.ts";

let output: AudioContext | null = null;
let stopPlaying = (): void => undefined;

export function makeDataPart(): Row<DataPart> {
  const root = make("div", "data");
  const title = make("span", "title");
  const detail = make("span", "detail");
  root.append(title, detail);
  let isShown = false;
  return {
    root,
    update(part) {
      if (isShown) return;
      setText(title, part.title);
      setText(detail, part.isGrowing ? say("message.arriving") : part.type);
      if (part.isGrowing) return;
      isShown = true;
      if (part.block.source.type === "url") {
        title.replaceWith(link(part.title, part.block.source.url));
        return;
      }
      const bytes = dataBytes(part.block) ?? new Uint8Array();
      setText(detail, `${part.type}, ${sizeWords(bytes.length)}`);
      if (part.shape === "audio") root.prepend(player(part, bytes, detail));
      if (part.shape === "image") void paint(part, bytes).then((picture) => picture && root.prepend(picture));
    },
  };
}

function link(title: string, address: string): HTMLElement {
  const target = linkTo(address);
  if (target === null) return make("span", "title", address);
  const element = make("a", "title", title === say("message.link") ? address : title);
  element.href = target;
  element.target = "_blank";
  element.rel = "noopener noreferrer";
  return element;
}

/** The picture; null where the browser cannot read it. */
async function paint(part: DataPart, bytes: Uint8Array): Promise<HTMLCanvasElement | null> {
  try {
    const bitmap = await createImageBitmap(new Blob([copied(bytes)], { type: part.type }));
    const canvas = make("canvas", "picture");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", part.title);
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
    bitmap.close();
    return canvas;
  } catch {
    return null;
  }
}

function player(part: DataPart, bytes: Uint8Array, detail: HTMLElement): HTMLElement {
  const button = make("button", "play", say("message.play"));
  button.type = "button";
  button.setAttribute("aria-label", say("message.playNamed", { name: part.title }));
  const rateHz = rawRateHz(part.block.source.media_type);
  if (rateHz !== null) setText(detail, `${(bytes.length / 2 / rateHz).toFixed(1)} s, ${sizeWords(bytes.length)}`);
  let stop: (() => void) | null = null;
  const show = (isPlaying: boolean): void => {
    setText(button, say(isPlaying ? "message.stop" : "message.play"));
    button.setAttribute("aria-label", say(isPlaying ? "message.stopNamed" : "message.playNamed", { name: part.title }));
  };
  button.addEventListener("click", () => {
    const wasPlaying = stop !== null;
    stopPlaying();
    if (wasPlaying) return;
    show(true);
    let source: AudioBufferSourceNode | null = null;
    const finish = (): void => {
      if (stop !== finish) return;
      stop = null;
      if (source) source.onended = null;
      source?.stop();
      show(false);
    };
    stop = stopPlaying = finish;
    void play(bytes, rateHz).then(
      (started) => {
        source = started;
        started.onended = finish;
        if (stop !== finish) started.stop();
      },
      () => {
        finish();
        setText(detail, say("message.unplayable", { type: part.type, size: sizeWords(bytes.length) }));
      },
    );
  });
  return button;
}

async function play(bytes: Uint8Array, rateHz: number | null): Promise<AudioBufferSourceNode> {
  output ??= new AudioContext();
  await output.resume();
  const source = output.createBufferSource();
  source.buffer = rateHz === null ? await output.decodeAudioData(copied(bytes).buffer) : raw(output, bytes, rateHz);
  source.connect(output.destination);
  source.start();
  return source;
}

function raw(context: AudioContext, bytes: Uint8Array, rateHz: number): AudioBuffer {
  const pcm = new DataView(bytes.buffer, bytes.byteOffset);
  const buffer = context.createBuffer(1, bytes.length >> 1, rateHz);
  buffer.getChannelData(0).forEach((_, place, samples) => (samples[place] = pcm.getInt16(2 * place, true) / 32768));
  return buffer;
}

/** The bytes in their own buffer: decoding them transfers it. */
function copied(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
