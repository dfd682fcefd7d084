// What the page gets of its microphone and what it plays, mixed into one recording: one clock for both. The microphone
// is Chromium's own, which plays a file; nothing of its sound is suppressed.
(() => {
  const connect = AudioNode.prototype.connect;
  const recorder = window.recorder = {levels: []};
  let ear;
  AudioNode.prototype.connect = function (target, ...more) {
    if (!ear && this instanceof AudioWorkletNode && target instanceof GainNode) {
      recorder.context = target.context;
      ear = target.context.audioWorklet.addModule('./worklets/capture.js').then(() => {
        const processorOptions = {rateHz: target.context.sampleRate, frameMs: FRAME_MS};
        const options = {numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit', processorOptions};
        const node = new AudioWorkletNode(target.context, 'realtime-capture', options);
        node.port.onmessage = ({data: {rms}}) => recorder.levels.push(rms);
        // Without an input that never ends an ear would count no time.
        const silence = new ConstantSourceNode(target.context, {offset: 0});
        silence.start();
        for (const sound of [target, silence]) connect.call(sound, node);
        return node;
      });
    }
    return connect.call(this, target, ...more);
  };
  const devices = navigator.mediaDevices, open = devices.getUserMedia.bind(devices);
  devices.getUserMedia = async () => {
    const raw = {channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false};
    const stream = await open({audio: raw});
    connect.call(new MediaStreamAudioSourceNode(recorder.context, {mediaStream: stream}), await ear);
    return stream;
  };
})()
