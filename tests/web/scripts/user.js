// Takes the place of the user. What is said is put into the frames of the microphone by their position; when, follows
// from what was played, which is counted by other code than the page's: a capture worklet at the speaker's output.
// `hold`: from so many samples of a response on the loudspeaker stands still, until the server flushes it or the test
// lets it go on. So nothing depends on how fast the server and the test are.
(({turns, size, cuts, hold}) => {
  const user = window.user = {samples: 0, next: 0, cuts: 0, back: 0, heard: [], counts: {}, full: false, hold, isHeld: false};
  let value = 0, left = 0, restSamples = 0, cutAt = cuts[0];
  let held = null;
  user.release = () => {
    if (!held) return;
    delete held.resume;
    void held.resume();
    held = null;
    user.isHeld = false;
  };
  const holdIfDue = (context) => {
    if (!user.hold || (user.counts[user.hold.of] ?? 0) < user.hold.at) return;
    user.hold = null;
    held = context;
    // The page would let it go on.
    context.resume = () => Promise.resolve();
    void context.suspend().then(() => { user.isHeld = true; });
  };
  const listen = (pcm) => {
    const sound = pcm.filter((sample) => sample !== 0);
    if (sound.length === 0) return;
    user.heard.push(sound);
    for (const sample of sound) {
      const of = Math.floor((sample - 1) / 1500);
      user.counts[of] = (user.counts[of] ?? 0) + 1;
    }
  };
  const type = (text) => {
    document.getElementById('text').value = text;
    document.getElementById('typed').requestSubmit();
  };
  const speak = (pcm) => {
    if (user.back < user.cuts) cutAt = user.samples + cuts[user.cuts];
    else if (user.samples >= cutAt) window.cut(user.cuts++);
    const turn = turns[user.next];
    const heard = user.counts[user.next] ?? 0;
    user.full = user.next > 0 && heard >= size;
    restSamples = user.next === 0 || user.full ? restSamples + pcm.length : 0;
    if (value === 0 && turn && (turn.into ? heard >= turn.into : restSamples >= 8000)) {
      user.next += 1;
      user.full = false;
      restSamples = 0;
      if (turn.typed) type(turn.text);
      else { value = user.next; left = 9600; }
    }
    pcm.fill(value);
    left -= pcm.length;
    if (left <= 0) value = 0;
    user.samples += pcm.length;
  };
  window.WebSocket = class extends WebSocket {
    constructor(url, protocol) {
      super(url, protocol);
      this.addEventListener('message', ({data}) => {
        const {type} = typeof data === 'string' ? JSON.parse(data) : {};
        if (type === 'server_session_resumed') user.back += 1;
        if (type === 'server_audio_flush') user.release();
      });
    }
  };
  window.AudioWorkletNode = class extends AudioWorkletNode {
    constructor(context, name, options) {
      super(context, name, options);
      if (name === 'realtime-playback') {
        context.audioWorklet.addModule('./worklets/capture.js').then(() => {
          const ear = new microphone.Native(context, 'realtime-capture', {
            numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit',
            processorOptions: {rateHz: context.sampleRate, frameMs: 20},
          });
          ear.port.onmessage = ({data}) => { listen(data.pcm); holdIfDue(context); };
          this.connect(ear);
        });
      }
    }
  };
  // The microphone is that of microphone.js.
  microphone.speak = speak;
  user.pcm = () => {
    const all = new Int16Array(user.heard.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of user.heard) { all.set(part, at); at += part.length; }
    const bytes = new Uint8Array(all.buffer);
    let text = '';
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return btoa(text);
  };
})(PLAN)
