/** A colour for each name, the same everywhere; different names differ while colours last. Pure. */

/** As many as the stylesheet has. */
const COUNT = 6;

export class Hues {
  readonly #hues = new Map<string, string>();

  /** The number of a name's colour; the first name gets the first colour. */
  of(name: string): string {
    let hue = this.#hues.get(name);
    if (hue === undefined) this.#hues.set(name, (hue = String(this.#hues.size % COUNT)));
    return hue;
  }
}
