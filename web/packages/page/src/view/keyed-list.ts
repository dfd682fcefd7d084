/** A list of elements that live as long as their items. */

export interface Row<Item> {
  readonly root: HTMLElement;
  /** Writes what changed. */
  update(item: Item): void;
}

/** Keeps an element in `box` for each item, in the items' order and before anything else in there. */
export class KeyedList<Item> {
  readonly #box: Element;
  readonly #keyOf: (item: Item, place: number) => string;
  readonly #make: (item: Item) => Row<Item>;
  #rows = new Map<string, Row<Item>>();

  /** `make` is called once per key, and then `update` of its result. */
  constructor(box: Element, keyOf: (item: Item, place: number) => string, make: (item: Item) => Row<Item>) {
    this.#box = box;
    this.#keyOf = keyOf;
    this.#make = make;
  }

  update(items: readonly Item[]): void {
    const rows = new Map<string, Row<Item>>();
    for (const [place, item] of items.entries()) {
      const key = this.#keyOf(item, place);
      const row = this.#rows.get(key) ?? this.#make(item);
      this.#rows.delete(key);
      rows.set(key, row);
      row.update(item);
    }
    for (const gone of this.#rows.values()) gone.root.remove();
    this.#rows = rows;
    let next = this.#box.firstElementChild;
    for (const { root } of rows.values()) {
      if (root === next) next = next.nextElementSibling;
      else this.#box.insertBefore(root, next);
    }
  }
}
