/** Pictures for the model, as small as the protocol takes them. */
/** What `sendPicture` takes: a file, or what a page shows. */
export type Picture = Blob | HTMLVideoElement | HTMLCanvasElement | HTMLImageElement | ImageBitmap;
/** The picture as a JPEG of at most 1024 pixels a side, in base64. Throws CallError for what is no picture. */
export declare function jpegOf(picture: Picture): Promise<string>;
