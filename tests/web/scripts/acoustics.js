// The page's speaker plays a worklet through a gain node. Capture worklets measure what goes into that node, what comes
// out of it, and the user's voice. The microphone that the page gets hears the user, and the speaker by the echo path.
((gain, delayS) => {
  const connect = AudioNode.prototype.connect;
  const levels = [[], [], []];
  let context, speaker, voice;
  const listen = async (source, gainNode) => {
    context = gainNode.context;
    speaker = gainNode;
    voice = new GainNode(context);
    await context.audioWorklet.addModule('./worklets/capture.js');
    const processorOptions = {rateHz: context.sampleRate, frameMs: FRAME_MS};
    // Without an input that never ends an ear would count no time.
    const silence = new ConstantSourceNode(context, {offset: 0});
    silence.start();
    const options = {numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit', processorOptions};
    [source, speaker, voice].forEach((heard, place) => {
      const ear = new AudioWorkletNode(context, 'realtime-capture', options);
      ear.port.onmessage = ({data: {rms}}) => levels[place].push(rms);
      for (const sound of [heard, silence]) connect.call(sound, ear);
    });
  };
  AudioNode.prototype.connect = function (target, ...more) {
    // A room's page has more outputs: the first is the agents'.
    if (!context && this instanceof AudioWorkletNode && target instanceof GainNode) void listen(this, target);
    return connect.call(this, target, ...more);
  };
  navigator.mediaDevices.getUserMedia = async () => {
    const microphone = new MediaStreamAudioDestinationNode(context, {channelCount: 1});
    const air = new DelayNode(context, {maxDelayTime: 1, delayTime: delayS});
    const wall = new GainNode(context, {gain});
    connect.call(voice, microphone);
    [speaker, air, wall].forEach((heard, place) => connect.call(heard, [air, wall, microphone][place]));
    return microphone.stream;
  };
  window.acoustics = {
    levels,
    say(pcm, sampleRate) {
      const samples = new Int16Array(Uint8Array.from(atob(pcm), (char) => char.charCodeAt(0)).buffer);
      const buffer = new AudioBuffer({length: samples.length, sampleRate});
      buffer.copyToChannel(Float32Array.from(samples, (sample) => sample / 32768), 0);
      const source = new AudioBufferSourceNode(context, {buffer});
      connect.call(source, voice);
      source.start();
    },
  };
})(GAIN, DELAY_S);
