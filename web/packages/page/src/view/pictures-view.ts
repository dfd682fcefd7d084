/** The buttons that show the model a picture, or what the camera sees; there only where the model takes pictures. */

import { jpegOf } from "@realtime-voice/client";
import { Camera } from "../camera.ts";
import { say } from "../texts.ts";
import { NO_CAMERA, NO_PICTURE } from "../words.ts";
import { byId } from "./elements.ts";
import type { NoticesView } from "./notices-view.ts";

export class PicturesView {
  readonly #notices: NoticesView;
  readonly #send: (jpeg: string) => void;
  readonly #picture = byId("picture", HTMLButtonElement);
  readonly #file = byId("picture-file", HTMLInputElement);
  readonly #button = byId("camera", HTMLButtonElement);
  readonly #view = byId("camera-view", HTMLVideoElement);
  #camera: Camera | null = null;
  #takesPictures = false;
  #inCall = false;

  /** `send` gets each picture as JPEG in base64. */
  constructor(notices: NoticesView, send: (jpeg: string) => void) {
    this.#notices = notices;
    this.#send = send;
    this.#picture.addEventListener("click", () => this.#file.click());
    this.#file.addEventListener("change", () => void this.#sendFile());
    this.#button.addEventListener("click", () => (this.#camera ? this.closeCamera() : void this.#openCamera()));
  }

  set takesPictures(takes: boolean) {
    this.#takesPictures = takes;
    this.#show();
  }

  /** Pictures are shown in a call only. */
  set inCall(inCall: boolean) {
    if (inCall === this.#inCall) return;
    this.#inCall = inCall;
    this.#show();
  }

  closeCamera(): void {
    this.#camera?.close();
    this.#camera = null;
    this.#show();
  }

  writeTexts(): void {
    this.#button.setAttribute("aria-label", say(this.#camera ? "talk.cameraOff" : "talk.camera"));
    this.#button.title = say(this.#camera ? "talk.cameraOff" : "talk.camera");
    this.#picture.title = say("talk.picture");
  }

  #show(): void {
    const can = this.#takesPictures && this.#inCall;
    this.#picture.hidden = !can;
    this.#button.hidden = !can || !navigator.mediaDevices;
    this.#view.hidden = this.#camera === null;
    this.#button.setAttribute("aria-pressed", String(this.#camera !== null));
    this.writeTexts();
  }

  async #sendFile(): Promise<void> {
    const [file] = this.#file.files ?? [];
    this.#file.value = "";
    if (!file) return;
    this.#notices.remove("picture");
    try {
      this.#send(await jpegOf(file));
    } catch {
      this.#notices.show("picture", NO_PICTURE);
    }
  }

  async #openCamera(): Promise<void> {
    this.#notices.remove("camera");
    const gone = (): void => {
      this.closeCamera();
      this.#notices.show("camera", NO_CAMERA);
    };
    try {
      this.#view.hidden = false;
      this.#camera = await Camera.open(this.#view, this.#send, gone);
      this.#show();
      if (!this.#inCall) this.closeCamera();
    } catch {
      gone();
    }
  }
}
