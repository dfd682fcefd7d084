/** A colour for each name: the same wherever the name stands, different ones while there are any. Pure. */

/** The stylesheet knows as many. */
const COUNT = 6;

export class Hues {
  readonly #hues = new Map<string, string>();

  /** The number of a name's colour. The first name that is asked for has the first one. */
  of(name: string): string {
    let hue = this.#hues.get(name);
    if (hue === undefined) this.#hues.set(name, (hue = String(this.#hues.size % COUNT)));
    return hue;
  }
}
