// Feeds a tone through the capture worklet at the rate of the context.
async ({contextRate, seconds}) => {
  const context = new OfflineAudioContext(1, contextRate * seconds, contextRate);
  await context.audioWorklet.addModule('./worklets/capture.js');
  const capture = new AudioWorkletNode(context, 'realtime-capture', {
    numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit', processorOptions: {rateHz: 16000, frameMs: 20},
  });
  const frames = [];
  capture.port.onmessage = ({data}) => frames.push({pcm: [...data.pcm], rms: data.rms});
  const tone = new OscillatorNode(context, {frequency: 400});
  const loud = new GainNode(context, {gain: 1.5});
  tone.connect(loud).connect(capture);
  tone.start();
  await context.startRendering();
  while (frames.length < seconds * 50 - 1) await new Promise((go) => setTimeout(go, 10));
  return frames;
}
