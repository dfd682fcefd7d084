/** The state after each of the latest events: a killed server takes back those that it had not stored. Pure. */

/** More events than a server sends before it has stored them, even with a slow store. */
const KEPT_STATES = 1_000;

export class Rewind<State> {
  #kept: { readonly seq: number; readonly state: State }[];

  /** `first` is the state before any event. */
  constructor(first: State) {
    this.#kept = [{ seq: 0, state: first }];
  }

  /** Notes the state after the event `seq`. */
  note(seq: number, state: State): void {
    this.#kept.push({ seq, state });
    if (this.#kept.length > KEPT_STATES) this.#kept.shift();
  }

  /** Forgets the states after the event `seq`. Returns the one after it. */
  to(seq: number): State {
    const [oldest] = this.#kept as [{ seq: number; state: State }];
    this.#kept = this.#kept.filter((one) => one.seq <= seq);
    if (this.#kept.length === 0) this.#kept.push(oldest);
    return (this.#kept.at(-1) ?? oldest).state;
  }
}
