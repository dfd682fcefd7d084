// Puts a voice into the frames of the page's microphone, sample by sample, and silence around it: whatever the load of
// the machine, what is sent is what was said.
(() => {
  const Native = AudioWorkletNode;
  let waiting = new Int16Array(0);
  window.microphone = {
    /** A node whose port is left alone. */
    Native,
    say(base64) {
      const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
      waiting = new Int16Array(bytes.buffer);
    },
    speak(pcm) {
      pcm.fill(0);
      pcm.set(waiting.subarray(0, pcm.length));
      waiting = waiting.subarray(pcm.length);
    },
  };
  window.AudioWorkletNode = class extends Native {
    constructor(context, name, options) {
      super(context, name, options);
      if (name !== 'realtime-capture') return;
      const native = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage');
      Object.defineProperty(this.port, 'onmessage', {
        set(handler) {
          native.set.call(this, handler && ((message) => { microphone.speak(message.data.pcm); handler(message); }));
        },
      });
    }
  };
})();
