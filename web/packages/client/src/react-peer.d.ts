/** What the hook takes of React, which is not installed here. */
declare module "react" {
  export function useState<State>(first: State | (() => State)): [State, (next: State) => void];
  export function useEffect(effect: () => (() => void) | void, dependencies: readonly unknown[]): void;
  export function useCallback<Call>(call: Call, dependencies: readonly unknown[]): Call;
  export function useSyncExternalStore<State>(
    subscribe: (changed: () => void) => () => void,
    read: () => State,
    readOnServer: () => State,
  ): State;
}
