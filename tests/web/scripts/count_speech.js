// Counts the frames of speech that leave, and those of them that hold any sound.
(() => {
  window.frames = {sent: 0, loud: 0};
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    if (data instanceof ArrayBuffer) {
      window.frames.sent += 1;
      const flagged = new DataView(data).getUint8(1) & 1;
      if (new Int16Array(data, flagged ? 20 : 16).some((sample) => sample !== 0)) window.frames.loud += 1;
    }
    return send.call(this, data);
  };
})()
