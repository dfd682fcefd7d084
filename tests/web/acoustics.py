"""A page's loudspeaker, its user and its microphone, joined inside the page: one clock measures all of them."""

import base64
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

from realtime.audio.files import read_pcm16

VOICE_HZ = 16_000
FRAME_MS = 20
# The page's speaker plays a worklet through a gain node. Capture worklets measure what goes into that node, what comes
# out of it, and the user's voice. The microphone that the page gets hears the user, and the speaker by the echo path.
ROOM = """({gain, delayS}) => {
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
}""".replace("FRAME_MS", str(FRAME_MS))


class Levels(NamedTuple):
    """Loudness per frame of 20 ms (RMS, 0..1): the reply before and after the page's gain, and the user."""

    reply: NDArray[np.float64]
    played: NDArray[np.float64]
    user: NDArray[np.float64]


class Acoustics:
    """The sound around a page that is not opened yet.

    `echo_db` is the level of the loudspeaker in the microphone, `delay_ms` its way; None: no echo.
    """

    def __init__(self, page: Page, echo_db: float | None = None, delay_ms: int = 0) -> None:
        self._page = page
        gain = 0.0 if echo_db is None else 10 ** (echo_db / 20)
        page.add_init_script(f"({ROOM})({{gain: {gain}, delayS: {delay_ms / 1000}}})")

    def say(self, recording: Path) -> None:
        """The user says this, from now on."""
        pcm = read_pcm16(recording, VOICE_HZ)
        self._page.evaluate("([pcm, rate]) => acoustics.say(pcm, rate)", [base64.b64encode(pcm).decode(), VOICE_HZ])

    def levels(self) -> Levels:
        """Return what was measured so far."""
        measured = self._page.evaluate("acoustics.levels")
        length = min(map(len, measured))
        return Levels(*(np.array(one[:length]) for one in measured))
