/** Typed events; `on()` returns the function that removes the listener. */
/** Something with events. */
export declare class Emitter<Events extends object> {
    #private;
    /** Calls `listener` at each event of this name. Returns the function that ends it. */
    on<Name extends keyof Events>(name: Name, listener: (payload: Events[Name]) => void): () => void;
}
