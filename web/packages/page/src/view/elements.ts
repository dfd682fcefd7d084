/** Finding and making elements. Text goes in as text, never as markup. */

/** The element with this id. Throws where it is missing or of another kind. */
export function byId<Kind extends Element>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return element;
}

/** A new element around text and other elements. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className = "",
  ...inside: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...inside);
  return element;
}

/** A remark beside other words, which a screen reader does not announce. */
export function makeAside(): HTMLParagraphElement {
  const aside = make("p", "mark");
  aside.ariaLive = "off";
  return aside;
}

/** Writes only what changed, so that screen readers and selections are left alone. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** The same for an element that is hidden without text. */
export function setTextOrHide(element: HTMLElement, text: string): void {
  setText(element, text);
  element.hidden = text === "";
}

/** A function that calls `draw` with the next frame, once for all its own calls until then. */
export function drawnOncePerFrame(draw: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      draw();
    });
  };
}

/**
 * Keeps the end of a scrolling box in view while things are added to it or its size changes, unless its reader
 * scrolled up. Returns the function to call after a change.
 */
export function keepAtEnd(box: Element): () => void {
  let pinned = true;
  let lastTop = 0;
  const toEnd = (): void => {
    if (pinned) box.scrollTop = box.scrollHeight;
  };
  box.addEventListener("scroll", () => {
    const { scrollTop: top } = box;
    if (box.scrollHeight - top - box.clientHeight < 40) pinned = true;
    // What grows above or below is no reader who scrolls.
    else if (top < lastTop) pinned = false;
    lastTop = top;
  });
  new ResizeObserver(toEnd).observe(box);
  return toEnd;
}
