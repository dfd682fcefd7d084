/** What was shown after each of the latest events. A server that was killed takes back those that it had not kept. Pure. */

/** More than a server tells before it has kept it, even where its store is slow. */
const KEPT_STATES = 1_000;

export class Rewind<State> {
  #kept: { readonly seq: number; readonly state: State }[];

  /** `first` is shown before anything is told. */
  constructor(first: State) {
    this.#kept = [{ seq: 0, state: first }];
  }

  /** This is shown after the event `seq`. */
  note(seq: number, state: State): void {
    this.#kept.push({ seq, state });
    if (this.#kept.length > KEPT_STATES) this.#kept.shift();
  }

  /** Forgets what came after the event `seq`. Returns what was shown then. */
  to(seq: number): State {
    const [oldest] = this.#kept as [{ seq: number; state: State }];
    this.#kept = this.#kept.filter((one) => one.seq <= seq);
    if (this.#kept.length === 0) this.#kept.push(oldest);
    return (this.#kept.at(-1) ?? oldest).state;
  }
}
