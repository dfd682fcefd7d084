/** Draws the rays in a thread of their own, so that a busy page does not make them stumble, nor they the page. */

import { Ring, RingMotion, type ToRing } from "./ring.ts";

let ring: Ring | null = null;
let motion: RingMotion | null = null;

self.onmessage = ({ data }: MessageEvent<ToRing>) => {
  switch (data.type) {
    case "canvas":
      ring = new Ring(data.canvas);
      motion = new RingMotion(ring);
      return;
    case "dress":
      return ring?.dress(data.size, data.colours);
    case "hear":
      return motion?.hear(data.user, data.agent);
    case "clear":
      return ring?.clear();
  }
};
