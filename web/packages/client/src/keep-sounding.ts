/**
 * A phone call, the lock screen or another app may take the sound from a page, and nothing gives it back by itself. It
 * is asked for again whenever the state changes, the page is seen again, or somebody touches it.
 */

const CHANCES = ["pointerdown", "keydown", "visibilitychange"] as const;

/** Keeps the context running until the function that is returned is called. */
export function keepSounding(context: AudioContext, page: Document = document): () => void {
  const over = new AbortController();
  const { signal } = over;
  const ask = (): void => {
    if (context.state === "running" || context.state === "closed") return;
    // Refused without a touch: the next one is another chance.
    context.resume().catch(() => undefined);
  };
  context.addEventListener("statechange", ask, { signal });
  for (const chance of CHANCES) page.addEventListener(chance, ask, { signal, capture: true });
  ask();
  return () => over.abort();
}
