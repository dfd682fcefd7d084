/** Typed events; `on()` returns the function that removes the listener. */

export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(payload: never) => void>>();

  on<Name extends keyof Events>(name: Name, listener: (payload: Events[Name]) => void): () => void {
    let listeners = this.#listeners.get(name);
    if (!listeners) this.#listeners.set(name, (listeners = new Set()));
    // A wrapper per registration: a function that is added twice is called twice and removed one by one.
    const entry = (payload: Events[Name]): void => listener(payload);
    listeners.add(entry);
    return () => listeners.delete(entry);
  }

  /** Calls the listeners of `name`. Returns whether there was one. */
  emit<Name extends keyof Events>(name: Name, payload: Events[Name]): boolean {
    const listeners = [...(this.#listeners.get(name) ?? [])];
    for (const listener of listeners) (listener as (payload: Events[Name]) => void)(payload);
    return listeners.length > 0;
  }
}
