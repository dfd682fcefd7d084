/** Calls in other tabs of this browser: two calls at once would hear each other. */

type Message = { readonly type: "asks" | "talks" | "ended"; readonly tab: string };

export class Tabs {
  readonly #channel: BroadcastChannel | null;
  readonly #tab = crypto.getRandomValues(new Uint32Array(2)).join("-");
  readonly #others = new Set<string>();
  #talks = false;

  /** `changed` is called when the first call elsewhere begins, and when the last one ends. */
  constructor(page: string, changed: (talksElsewhere: boolean) => void) {
    this.#channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(`realtime.calls ${new URL(page).pathname}`);
    if (!this.#channel) return;
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => {
      const before = this.#others.size;
      if (data.type === "asks") this.#tell();
      else if (data.type === "talks") this.#others.add(data.tab);
      else this.#others.delete(data.tab);
      if ((before > 0) !== this.#others.size > 0) changed(this.#others.size > 0);
    };
    window.addEventListener("pagehide", () => {
      this.talks = false;
    });
    this.#post("asks");
  }

  /** Whether this tab has a call. */
  set talks(talks: boolean) {
    if (this.#talks === talks) return;
    this.#talks = talks;
    this.#post(talks ? "talks" : "ended");
  }

  #tell(): void {
    if (this.#talks) this.#post("talks");
  }

  #post(type: Message["type"]): void {
    this.#channel?.postMessage({ type, tab: this.#tab } satisfies Message);
  }
}
