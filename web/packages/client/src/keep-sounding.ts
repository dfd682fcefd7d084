/**
 * A phone call, the lock screen or another app may suspend the sound of a page, and the browser does not resume it by
 * itself. It is resumed when the state changes, the page is shown again, or the user touches it.
 */

const CHANCES = ["pointerdown", "keydown", "visibilitychange"] as const;

/** Keeps the context running until the returned function is called. */
export function keepSounding(context: AudioContext, page: Document = document): () => void {
  const over = new AbortController();
  const { signal } = over;
  const ask = (): void => {
    if (context.state === "running" || context.state === "closed") return;
    // Browsers refuse it without a touch: the next touch tries again.
    context.resume().catch(() => undefined);
  };
  context.addEventListener("statechange", ask, { signal });
  for (const chance of CHANCES) page.addEventListener(chance, ask, { signal, capture: true });
  ask();
  return () => over.abort();
}
