/** Pictures for the model, as small as the protocol takes them. */

import { CallError } from "./call-error.ts";

/** The longest side of a picture, in pixels: models look at no more. */
const LONGEST_PX = 1024;
const QUALITY = 0.85;

/** What `sendPicture` takes: a file, or what a page shows. */
export type Picture = Blob | HTMLVideoElement | HTMLCanvasElement | HTMLImageElement | ImageBitmap;

/** The picture as a JPEG of at most 1024 pixels a side, in base64. Throws CallError for what is no picture. */
export async function jpegOf(picture: Picture): Promise<string> {
  const bitmap = await createImageBitmap(picture).catch((cause: unknown) => {
    throw new CallError("picture_unreadable", "This browser cannot read the picture. Choose another, such as a JPEG or PNG file.", { cause });
  });
  const scale = Math.min(1, LONGEST_PX / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d");
  // JPEG has no transparency: what shows through is white, as on most pages.
  if (context) context.fillStyle = "white";
  context?.fillRect(0, 0, canvas.width, canvas.height);
  context?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL("image/jpeg", QUALITY).replace(/^[^,]*,/, "");
}
