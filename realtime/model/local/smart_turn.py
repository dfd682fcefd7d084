"""How complete a turn sounds: the probability that its voice has come to an end, from melody and pace.

Smart Turn 3.2 (BSD-2-Clause) on onnxruntime; `weights.smart_turn_file` finds its file. Evidence only: it calls half of
the pauses inside turns complete (docs/listening.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from realtime.model.local.recognizer import mel_filters

if TYPE_CHECKING:
    import onnxruntime

RATE_HZ = 16_000
_SAMPLES = 8 * RATE_HZ
_FFT = 400
_HOP = 160
_WINDOW = np.hanning(_FFT + 1)[:-1].astype(np.float32)
_FILTERS = mel_filters().astype(np.float32)


class SmartTurn:
    """The loaded network, for any thread and any number of calls."""

    def __init__(self, path: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session: onnxruntime.InferenceSession = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )

    def completeness(self, pcm: bytes) -> float:
        """Return the probability that a turn ends with this voice: pcm16 of 16 kHz and the silence at its end.

        The last 8 s count. Costs about 40 ms of one core, up to 90 ms of a slow one.
        """
        # The output is called "logits" and is a probability.
        (probability,) = self._session.run(None, {"input_features": features(pcm)[np.newaxis]})
        return float(probability[0, 0])


def features(pcm: bytes) -> NDArray[np.float32]:
    """Return the input of the network, 80 x 800: Whisper's logarithmic mel spectrogram of the last 8 s.

    Silence is put in front before the level is normalised: the level of a short turn depends on it.
    """
    newest = np.frombuffer(pcm, "<i2")[-_SAMPLES:].astype(np.float32) / 32768
    padded = np.pad(newest, (_SAMPLES - len(newest), 0))
    samples = (padded - padded.mean()) / np.sqrt(padded.var() + np.float32(1e-7))
    # The last frame of a centred spectrogram is not used.
    frames = sliding_window_view(np.pad(samples, _FFT // 2, mode="reflect"), _FFT)[:_SAMPLES:_HOP]
    spectrum = np.fft.rfft(frames * _WINDOW)
    power = spectrum.real**2 + spectrum.imag**2
    mel = np.log10(np.maximum(_FILTERS @ power.T, 1e-10))
    return np.asarray((np.maximum(mel, mel.max() - 8) + 4) / 4, np.float32)
