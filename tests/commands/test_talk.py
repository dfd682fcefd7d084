"""`realtime talk` as its users run it: a recording spoken into a call, devices that are stand-ins, a screen of text."""

import asyncio
import io
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
from rich.console import Console

from realtime.agent import RealtimeAgent
from realtime.audio.files import write_wav
from realtime.client import Caption, sound_device
from realtime.client.sound_device import AHEAD_BYTES, BLOCK_BYTES, Loudspeaker, open_sound_device, require_sound_device
from realtime.commands.talk_screen import Meter, TalkScreen, line_of
from realtime.errors import UsageError
from realtime.model.base import ResponseCreate
from realtime.model.scripted import PROFILE, ScriptedModel
from tests.real_loop import settled
from tests.server.harness import serving
from tests.testing.served import ANSWER, Hearer, answer, voice
from tests.volumes import HANG_S

SPEECH = Path(__file__).resolve().parents[2] / "fixtures" / "audio" / "hello_anna.wav"
FAKE = Path(__file__).with_name("sounddevice.txt")
"""A stand-in for the package: a microphone that hears a loud tone, a loudspeaker that nobody hears."""


@asynccontextmanager
async def talking(*words: str, path: Path | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
    """`realtime talk` with these words, killed at the end; modules in the folder `path` come first."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*([path] if path else []), *sys.path]))}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "realtime", "talk", *words, env=environment,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def talk(*words: str) -> tuple[int, str, str]:
    """The exit code of `realtime talk` and what it printed."""
    async with talking(*words) as process:
        return await told(process)


async def told(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    """Its exit code and what it printed."""
    async with asyncio.timeout(HANG_S):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_recording_is_spoken_into_a_call_and_the_answer_written(tmp_path: Path) -> None:
    hearer = Hearer((answer(1.0, pace=20.0),))
    pcm = voice(500)
    write_wav(tmp_path / "question.wav", pcm, 16_000)
    async with serving(lambda: RealtimeAgent("Friday", "", ScriptedModel(hearer, profile=PROFILE))) as place:
        saved = tmp_path / "answer.wav"
        code, out, err = await talk(place.url, "--file", str(tmp_path / "question.wav"), "--save", str(saved))
    assert (code, err) == (0, "")
    assert "You are talking with Friday, model: scripted.\n" in out
    assert f"you: what time is it\nFriday: {ANSWER}\nThe call is over.\n" in out
    assert pcm in bytes(hearer.heard)
    sound, rate_hz = soundfile.read(saved)
    assert rate_hz == 24_000
    assert len(sound) / rate_hz > 0.95


async def test_in_a_pipe_what_the_speaker_cut_is_marked(tmp_path: Path) -> None:
    def greet(message: Any) -> Any:
        greets = isinstance(message, ResponseCreate) and message.overrides is not None
        return [answer(9.0, "One two three four five six seven eight nine.")] if greets else hearer(message)

    hearer = Hearer((answer(0.5, pace=20.0),))
    write_wav(tmp_path / "question.wav", bytes(2 * 16_000 * 2) + voice(1_500), 16_000)
    agent = RealtimeAgent("Friday", "", ScriptedModel(greet, profile=PROFILE), greeting="Greet.")
    async with serving(lambda: agent) as place:
        code, out, err = await talk(place.url, "--file", str(tmp_path / "question.wav"))
    assert (code, err) == (0, "")
    greeting, _, answered, _ = out.splitlines()[1:]
    assert re.fullmatch(r"Friday: One.* \(not heard: .*nine\.\)", greeting)
    assert answered == f"Friday: {ANSWER}"


async def test_where_the_answer_cannot_be_written_no_call_is_made(tmp_path: Path) -> None:
    write_wav(tmp_path / "question.wav", voice(100), 16_000)
    async with serving(lambda: RealtimeAgent("Friday", "", ScriptedModel(Hearer(), profile=PROFILE))) as place:
        for wrong in (tmp_path / "nowhere" / "answer.wav", tmp_path):
            code, out, err = await talk(place.url, "--file", str(tmp_path / "question.wav"), "--save", str(wrong))
            assert (code, out, err.count("\n")) == (1, "", 1)
            assert f"--save cannot write {wrong}" in err
        unreachable = ("127.0.0.1:9", "--file", str(tmp_path / "question.wav"), "--save", str(tmp_path / "answer.wav"))
        assert (await talk(*unreachable))[0] == 1
    assert not (tmp_path / "nowhere").exists()


async def test_without_an_address_it_serves_a_model_of_its_own() -> None:
    code, out, err = await talk("--model", "scripted", "--file", str(SPEECH))
    assert (code, err) == (0, "")
    assert "Heart: I heard you." in out


async def test_ctrl_c_hangs_up_and_leaves_a_clean_terminal(tmp_path: Path) -> None:
    (tmp_path / "sounddevice.py").write_text(FAKE.read_text())
    hearer = Hearer()
    async with serving(lambda: RealtimeAgent("Friday", "", ScriptedModel(hearer, profile=PROFILE))) as place:
        async with talking(place.url, path=tmp_path) as process:
            await settled(lambda: len(hearer.heard) >= 16_000)
            assert len(place.calls.sessions) == 1
            process.send_signal(signal.SIGINT)
            code, out, err = await told(process)
        assert [*place.calls.sessions] == [], "it hung up"
    assert (code, err) == (0, "")
    assert out.endswith("The call is over.\n")
    assert "Headphones are best" in out


async def test_a_server_that_is_not_there_and_a_file_that_is_none_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes.wav").write_text("no sound")
    write_wav(tmp_path / "question.wav", voice(100), 16_000)
    code, _, err = await talk("127.0.0.1:9", "--file", str(tmp_path / "question.wav"))
    assert (code, err.count("\n")) == (1, 1)
    assert "realtime serve" in err
    code, _, err = await talk("127.0.0.1:9", "--file", str(tmp_path / "notes.wav"))
    assert (code, err.count("\n")) == (1, 1)
    assert "--file takes a recording" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "holds one side of a call: choose one. Choose with --channel"),
        (("--channel", "2"), "it has no channel 2, but the channels 0 to 1. Choose with --channel"),
        (("--channel", "0"), "realtime serve"),
    ],
)
async def test_a_side_of_a_recorded_call_is_chosen(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    tone = np.sin(np.arange(8_000) / 8).astype(np.float32) / 2
    silence = np.zeros_like(tone)
    sides = np.stack([np.concatenate([tone, silence]), np.concatenate([silence, tone])], axis=1)
    soundfile.write(tmp_path / "call.wav", sides, 16_000)
    code, _, err = await talk("127.0.0.1:9", "--file", str(tmp_path / "call.wav"), *words)
    assert (code, err.count("\n")) == (1, 1)
    assert sentence in err


async def test_a_recording_without_sound_is_named(tmp_path: Path) -> None:
    write_wav(tmp_path / "empty.wav", b"", 16_000)
    _, _, err = await talk("127.0.0.1:9", "--file", str(tmp_path / "empty.wav"))
    assert "empty.wav holds no sound" in err


def test_a_missing_package_library_or_device_is_one_sentence_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(UsageError, match=r"pip install -e '\.\[talk\]'"):
        require_sound_device()

    class Refused(Exception):
        pass

    def no_device(kind: str) -> None:
        raise Refused(f"Error querying device -1: no {kind}")

    monkeypatch.setitem(sys.modules, "sounddevice", SimpleNamespace(query_devices=no_device, PortAudioError=Refused))
    with pytest.raises(UsageError, match="microphone cannot be opened") as failure:
        require_sound_device()
    assert "--file" in failure.value.message
    assert "libportaudio2" in sound_device.NO_PORTAUDIO


async def test_what_devices_hear_comes_on_the_loop_and_a_device_that_goes_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    streams: list[Any] = []

    class Stream:
        latency = 0.03

        def __init__(self, **options: Any) -> None:
            self.options = options
            streams.append(self)

        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    fake = SimpleNamespace(RawInputStream=Stream, RawOutputStream=Stream, PortAudioError=OSError)
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    heard: list[bytes] = []
    with open_sound_device(heard.append) as device:
        microphone, output = (stream.options for stream in streams)
        assert (microphone["samplerate"], output["samplerate"]) == (16_000, 24_000)
        await asyncio.to_thread(microphone["callback"], b"\1\0" * 320, 320, None, None)
        await asyncio.sleep(0)
        assert heard == [b"\1\0" * 320]
        device.play(b"\2\0" * 480)
        rendered = bytearray(AHEAD_BYTES + BLOCK_BYTES)
        output["callback"](memoryview(rendered), len(rendered) // 2, None, None)
        assert bytes(rendered) == bytes(AHEAD_BYTES) + b"\2\0" * 480
        assert device.output_latency_s == pytest.approx(0.03 + 0.06 + 0.02)
        output["finished_callback"]()
        await asyncio.wait_for(device.lost.wait(), HANG_S)


def test_a_loudspeaker_of_another_clock_loses_no_speech() -> None:
    """A device that is 1 % faster or slower: what adds up is taken from silence, and added there."""
    speech = np.full(BLOCK_BYTES // 2, 1_000, "<i2").tobytes()
    for every, n_read in ((100, 2), (100, 0)):
        loudspeaker, played = Loudspeaker(), bytearray()
        for number in range(3_000):
            loudspeaker.write(speech if number // 50 % 2 else bytes(BLOCK_BYTES))
            for _ in range(n_read if number % every == 0 else 1):
                played += loudspeaker.read(BLOCK_BYTES)
        still_waiting = 6 * BLOCK_BYTES // 2
        assert np.count_nonzero(np.frombuffer(bytes(played), "<i2")) >= 1_500 * BLOCK_BYTES // 2 - still_waiting


def caption(text: str, heard: str, **more: Any) -> Caption:
    return Caption("a1", "assistant", "Friday", text, heard, **more)


def test_words_are_dim_until_they_are_heard_and_struck_where_they_never_will_be() -> None:
    growing = line_of(caption("One two three.", "One two"))
    assert growing.plain == "Friday: One two three."
    assert [(growing.plain[span.start : span.end], span.style) for span in growing.spans][1:] == [(" three.", "dim")]
    cut = line_of(caption("One two three.", "One two", cut=True, done=True))
    assert (cut.plain[cut.spans[-1].start :], cut.spans[-1].style) == (" three.", "strike dim")


def test_a_finished_turn_is_printed_once_and_a_running_one_at_the_end() -> None:
    out = io.StringIO()
    screen = TalkScreen(Console(file=out, width=80))
    mine = Caption("u1", "user", "", "Count.", "Count.", done=True)
    with screen:
        screen.show([mine, caption("One two.", "One")], "open")
        screen.show([mine, caption("One two.", "One two.", done=True)], "open")
        screen.show([mine, caption("One two.", "One two.", done=True)], "open")
        screen.finish([mine, Caption("a2", "assistant", "Friday", "Three.", "")])
    assert out.getvalue() == "you: Count.\nFriday: One two.\nFriday: (not heard: Three.)\n"


def test_without_colours_words_say_what_was_not_heard() -> None:
    out = io.StringIO()
    with TalkScreen(Console(file=out, width=80)) as screen:
        screen.show([caption("One two three.", "One two", cut=True, done=True)], "open")
        screen.finish([Caption("a2", "assistant", "Friday", "Four five.", "Four ")])
    assert out.getvalue() == "Friday: One two (not heard: three.)\nFriday: Four (not heard: five.)\n"


def test_levels_rise_at_once_and_fall_slowly_and_a_lost_network_is_said() -> None:
    out = io.StringIO()
    screen = TalkScreen(Console(file=out, width=100, force_terminal=True))
    with screen:
        screen.you.hear(np.full(320, 20_000, "<i2").tobytes())
        screen.show([], "reconnecting")
    assert "the network is away: trying again" in out.getvalue()
    meter = Meter()
    meter.hear(np.full(320, 32_000, "<i2").tobytes())
    loud = meter.bar()
    meter.hear(bytes(640))
    assert loud.count("█") >= meter.bar().count("█") >= loud.count("█") - 1
    for _ in range(100):
        meter.hear(bytes(640))
    assert meter.bar().count("█") == 0
