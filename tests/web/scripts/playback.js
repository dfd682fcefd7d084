// Plays items of a constant value through the playback worklet, with the capture worklet listening at its output, so
// that what was played is counted by other code than the one under test.
async ({rate, plan}) => {
  const context = new AudioContext({sampleRate: rate});
  await context.audioWorklet.addModule('./worklets/playback.js');
  await context.audioWorklet.addModule('./worklets/capture.js');
  const playback = new AudioWorkletNode(context, 'realtime-playback', {
    numberOfInputs: 0, outputChannelCount: [1],
    processorOptions: {capacitySamples: 2 ** 20, fadeMs: 5, reportMs: 50},
  });
  const ear = new AudioWorkletNode(context, 'realtime-capture', {
    numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit', processorOptions: {rateHz: rate, frameMs: 20},
  });
  const heard = {}, messages = [], waiting = [];
  let lastSound = 0, frames = 0;
  ear.port.onmessage = ({data: {pcm}}) => {
    frames += 1;
    for (const sample of pcm) if (sample !== 0) { heard[sample] = (heard[sample] ?? 0) + 1; lastSound = frames; }
  };
  playback.port.onmessage = ({data}) => {
    messages.push(structuredClone(data));
    for (const entry of [...waiting]) if (entry.test(data)) { waiting.splice(waiting.indexOf(entry), 1); entry.go(); }
  };
  const until = (test) => messages.some(test) ? null : new Promise((go) => waiting.push({test, go}));
  playback.connect(ear);
  playback.connect(context.destination);
  await context.resume();
  const post = (message) => playback.port.postMessage(message);
  const push = (slot, count, value) => post({type: 'push', slot, pcm: new Int16Array(count).fill(value)});
  const end = (slot) => post({type: 'end', slot});
  const flush = (slot, id) => post({type: 'flush', slot, id, postedAtS: context.currentTime});
  if (plan === 'flush') {
    push(0, rate, 8000);
    push(1, rate, 4000);
    await until((m) => m.type === 'position' && m.playedSamples > rate / 4);
    flush(0, 7);
    await until((m) => m.type === 'flushed');
    push(0, rate, 8000);
    end(0);
    await until((m) => m.type === 'position' && m.slot === 1 && m.playedSamples > rate / 4);
    flush(null, 8);
    await until((m) => m.type === 'flushed' && m.id === 8);
    push(1, rate, 4000);
  } else {
    push(0, rate / 4, 8000);
    push(1, rate / 8, 4000);
    end(0);
    end(1);
    await until((m) => m.type === 'finished' && m.slot === 1);
  }
  const quiet = frames;
  while (frames < quiet + 10) await new Promise((go) => setTimeout(go, 20));
  // One more, to be told the counters after all that.
  flush(null, 9);
  await until((m) => m.type === 'flushed' && m.id === 9);
  await context.close();
  return {heard, messages, quietFrames: frames - lastSound};
}
