/** The camera: one picture a second for the model. */

import { jpegOf } from "@realtime-voice/client";

const WIDTH_PX = 640;
const EVERY_MS = 1_000;

export class Camera {
  readonly #stream: MediaStream;
  readonly #view: HTMLVideoElement;
  readonly #timer: ReturnType<typeof setInterval>;

  /**
   * Asks for the camera, shows it in `view`, and gives a picture (JPEG in base64) every second. `lost` is called when it
   * is taken away. Throws DOMException where there is none or the user refuses.
   */
  static async open(view: HTMLVideoElement, take: (picture: string) => void, lost: () => void): Promise<Camera> {
    const stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: WIDTH_PX } } });
    view.srcObject = stream;
    await view.play();
    return new Camera(stream, view, take, lost);
  }

  private constructor(stream: MediaStream, view: HTMLVideoElement, take: (picture: string) => void, lost: () => void) {
    this.#stream = stream;
    this.#view = view;
    for (const track of stream.getTracks()) track.onended = lost;
    const shoot = async (): Promise<void> => {
      // A hidden page shows nothing on purpose.
      if (!document.hidden && view.videoWidth > 0) take(await jpegOf(view));
    };
    void shoot();
    this.#timer = setInterval(() => void shoot(), EVERY_MS);
  }

  close(): void {
    clearInterval(this.#timer);
    for (const track of this.#stream.getTracks()) {
      track.onended = null;
      track.stop();
    }
    this.#view.srcObject = null;
  }
}
