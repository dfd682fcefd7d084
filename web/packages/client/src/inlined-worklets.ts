/** The worklets as text: the build puts them here (`web/build-client.js`). */

export const CAPTURE: string = "";
export const PLAYBACK: string = "";
