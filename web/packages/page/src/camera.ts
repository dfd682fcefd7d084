/** Pictures for the model: from a file, or one a second from the camera. */

/** The longest side of a picture, in pixels, and how much of its detail is kept. */
const FILE_PX = 1024;
const CAMERA_PX = 640;
const QUALITY = 0.8;
const EVERY_MS = 1_000;
export const MEDIA_TYPE = "image/jpeg";

/** A picture of a file as base64 of JPEG. Throws for what is no picture. */
export async function pictureOf(file: Blob): Promise<string> {
  const bitmap = await createImageBitmap(file);
  try {
    return await encoded(bitmap, bitmap.width, bitmap.height, FILE_PX);
  } finally {
    bitmap.close();
  }
}

export class Camera {
  readonly #stream: MediaStream;
  readonly #view: HTMLVideoElement;
  readonly #timer: ReturnType<typeof setInterval>;

  /**
   * Asks for the camera, shows it in `view`, and gives a picture every second. `lost` is called when it is taken away.
   * Throws DOMException where there is none or the user refuses.
   */
  static async open(view: HTMLVideoElement, take: (picture: string) => void, lost: () => void): Promise<Camera> {
    const stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: CAMERA_PX } } });
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
      if (document.hidden || view.videoWidth === 0) return;
      take(await encoded(view, view.videoWidth, view.videoHeight, CAMERA_PX));
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

async function encoded(source: CanvasImageSource, width: number, height: number, longest: number): Promise<string> {
  const scale = Math.min(1, longest / Math.max(width, height));
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale)));
  const pen = canvas.getContext("2d");
  if (!pen) throw new TypeError("the browser draws no pictures");
  pen.drawImage(source, 0, 0, canvas.width, canvas.height);
  const jpeg = await canvas.convertToBlob({ type: MEDIA_TYPE, quality: QUALITY });
  const bytes = new Uint8Array(await jpeg.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}
