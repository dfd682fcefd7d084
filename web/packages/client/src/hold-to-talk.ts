/** Push-to-talk by hand: a pointer or a key that is held, without what browsers do with it besides. */

/** What a hold begins and ends. */
export interface Hold {
  /** Whether a press begins a hold now; otherwise pointer and keys do what they always do. */
  ready(): boolean;
  /** The hold begins (true) or ends (false). */
  held(held: boolean): void;
}

/** Where keys are typed. */
const FIELDS = "input, textarea, select, [contenteditable]:not([contenteditable=false])";

/**
 * Watches for holds, until the returned function is called. On an element: mouse, finger, Space and Enter. On the
 * document: Space, except where something is typed. A hold clicks nothing and scrolls nothing.
 */
export function holdToTalk(where: HTMLElement | Document, { ready, held }: Hold): () => void {
  const over = new AbortController();
  const isElement = "setPointerCapture" in where;
  let isHeld = false;
  let clicks = false;
  const hold = (wanted: boolean): void => {
    if (wanted === isHeld) return;
    isHeld = wanted;
    held(wanted);
  };
  const isKey = ({ key, target, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean =>
    (isElement ? key === " " || key === "Enter" : key === " " && !isTyped(target)) && !altKey && !ctrlKey && !metaKey;
  const listen = (on: EventTarget, type: string, listener: (event: never) => void, capture = false): void =>
    on.addEventListener(type, listener as EventListener, { signal: over.signal, capture });
  listen(where, "keydown", (event: KeyboardEvent) => {
    if (!isKey(event) || !(isHeld || ready())) return;
    event.preventDefault();
    hold(true);
  });
  listen(where, "keyup", (event: KeyboardEvent) => {
    // A key that was pressed before the call is a click as ever.
    if (!isHeld || (event.key !== " " && event.key !== "Enter")) return;
    event.preventDefault();
    hold(false);
  });
  listen(isElement ? where : window, "blur", () => hold(false));
  if (isElement) {
    listen(where, "pointerdown", (event: PointerEvent) => {
      clicks = false;
      if (event.button !== 0 || !ready()) return;
      where.setPointerCapture(event.pointerId);
      clicks = true;
      hold(true);
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) listen(where, end, () => hold(false));
    const swallow = (event: Event): void => {
      if (!clicks) return;
      clicks = false;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    listen(where, "click", swallow, true);
  }
  return () => {
    over.abort();
    hold(false);
  };
}

function isTyped(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(FIELDS) !== null;
}
