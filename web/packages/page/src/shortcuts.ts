/** The keys of the page. */

export interface Shortcuts {
  /** Whether single keys may act at all. */
  enabled(): boolean;
  mute(): void;
  interrupt(): void;
  type(): void;
  settings(): void;
  help(): void;
  /** Whether the space bar talks now: push-to-talk, in a call. */
  holds(): boolean;
  press(): void;
  release(): void;
}

/** Acts on keys until the page is left. Keys that are typed into a field or pressed in a dialog are left alone. */
export function listenToKeys(acts: Shortcuts): void {
  let isHeld = false;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !inDialog()) acts.interrupt();
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || inDialog()) return;
    if (event.key === " " && acts.holds() && mayHold(event.target)) {
      event.preventDefault();
      if (!event.repeat) {
        isHeld = true;
        acts.press();
      }
      return;
    }
    if (!acts.enabled() || event.repeat) return;
    const act = { m: acts.mute, t: acts.type, "/": acts.type, s: acts.settings, "?": acts.help }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });
  const release = (): void => {
    if (!isHeld) return;
    isHeld = false;
    acts.release();
  };
  document.addEventListener("keyup", (event) => {
    if (event.key !== " " || !isHeld) return;
    event.preventDefault();
    release();
  });
  // A key that is let go in another window is never reported here.
  window.addEventListener("blur", release);
}

function inDialog(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input:not([type=checkbox]), textarea, select"));
}

/** On other controls the space bar does what it does everywhere. */
function mayHold(target: EventTarget | null): boolean {
  return !(target instanceof HTMLElement) || target.matches("#talk, #hold") || !target.closest("button, a, summary, input, [role=button]");
}
