// Writes down, on the page's clock (performance.now()), what goes up, what comes down, and when the voice falls silent.
(() => {
  const seen = { frames: [], started: [], flushes: [], silences: [], spoken: 0 };
  globalThis.bargeIn = seen;
  const CLIENT_AUDIO = 1;
  const HEADER_BYTES = 16;

  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    if (data instanceof ArrayBuffer && new DataView(data).getUint8(0) === CLIENT_AUDIO) {
      const offset = Number(new DataView(data).getBigUint64(8, true));
      seen.frames.push({ end: offset + (data.byteLength - HEADER_BYTES) / 2, at: performance.now() });
    }
    return send.call(this, data);
  };

  globalThis.WebSocket = class extends WebSocket {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data }) => {
        const at = performance.now();
        if (typeof data !== "string") {
          seen.spoken += 1;
        } else if (data.includes('"agent_input_started"')) {
          seen.started.push({ startMs: JSON.parse(data).audio_start_ms, at });
        } else if (data.includes('"server_audio_flush"')) {
          seen.flushes.push({ at });
        }
      });
    }
  };

  // The playback worklet answers a flush once it has dropped what waited.
  const { set, get } = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
  Object.defineProperty(MessagePort.prototype, "onmessage", {
    get,
    set(handler) {
      set.call(this, (message) => {
        if (message.data?.type === "flushed") seen.silences.push({ at: performance.now(), slots: message.data.slots.length });
        return handler?.(message);
      });
    },
  });
})();
