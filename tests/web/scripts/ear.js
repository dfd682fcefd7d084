// Listens at the loudspeaker: whatever is connected to it goes into an analyser as well.
() => {
  const connect = AudioNode.prototype.connect;
  AudioNode.prototype.connect = function (to, ...more) {
    if (to instanceof AudioDestinationNode) {
      window.ear = new AnalyserNode(this.context, { fftSize: 2048 });
      connect.call(this, window.ear);
    }
    return connect.call(this, to, ...more);
  };
  window.loudness = () => {
    const samples = new Float32Array(ear.fftSize);
    ear.getFloatTimeDomainData(samples);
    return Math.max(...samples.map(Math.abs));
  };
}
