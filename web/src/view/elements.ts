/** Finding and making elements. Text goes in as text, never as markup. */

/** The element with this id. Throws where the page has none of that kind. */
export function byId<Kind extends Element>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return element;
}

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className: string,
  text = "",
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

/** Writes only what changed, so that screen readers and selections are left alone. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Keeps the end of a scrolling box in view while `change` adds to it, unless its reader scrolled up. */
export function keepAtEnd(box: Element, change: () => void): void {
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  change();
  if (atEnd) box.scrollTop = box.scrollHeight;
}
