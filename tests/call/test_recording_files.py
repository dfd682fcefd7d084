"""A recording's folder and files: whatever the disk, the process and the caller do."""

import asyncio
import logging
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from realtime.call.recording import Recorded
from realtime.call.recording.disk import Disk
from tests.call.recorded import IN_HZ, OUT_HZ, Call, described, noise, read, spoken, until_ms


@pytest.mark.virtual_time
async def test_the_folder_says_whose_recording_it_is_and_is_for_the_server_alone(tmp_path: Path) -> None:
    folder = tmp_path / "recordings" / "call_1"
    call = Call(folder)
    assert described(folder) == {
        "version": 1,
        "call_id": "call_1",
        "owner": "",
        "started_at": "2026-01-01T00:00:00.000Z",
        "input_samples": None,
        "output_samples": None,
        "items": [],
    }
    call.say("a1", spoken(50))
    for ms in (0, 50):
        await until_ms(ms)
        call.hear(noise(400), None, 8_000)
    await call.recorder.close()
    assert described(folder) == {
        "version": 1,
        "call_id": "call_1",
        "owner": "",
        "started_at": "2026-01-01T00:00:00.000Z",
        "input_hz": 8_000,
        "output_hz": OUT_HZ,
        "input_samples": 800,
        "output_samples": 1_200,
        "input_lost_samples": 0,
        "output_lost_samples": 0,
        "input_from_ms": 0,
        "items": [{"item_id": "a1", "start_ms": 0, "heard_ms": 50}],
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name for path in folder.iterdir()} == {"input.flac", "output.flac", "recording.json"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.virtual_time
async def test_a_call_without_a_sound_leaves_two_files_that_open(tmp_path: Path) -> None:
    call = Call(tmp_path)
    await call.recorder.close()
    # Of one sample, since libsndfile opens no FLAC file without any.
    assert read(tmp_path / "input.flac") == (b"\0\0", IN_HZ)
    assert read(tmp_path / "output.flac") == (b"\0\0", OUT_HZ)


@pytest.mark.virtual_time
async def test_a_call_that_was_rebuilt_writes_over_nothing(tmp_path: Path) -> None:
    first = Call(tmp_path)
    first.hear(noise(160))
    await first.recorder.close()
    before = read(tmp_path / "input.flac")
    folders = []
    for _ in range(2):
        again = Call(tmp_path)
        again.hear(noise(320, 1))
        folders.append((await again.recorder.close()).folder)
    assert folders == [tmp_path / "2", tmp_path / "3"]
    assert read(tmp_path / "input.flac") == before


@pytest.mark.virtual_time
async def test_closing_twice_and_hearing_afterwards_change_nothing(tmp_path: Path) -> None:
    call = Call(tmp_path)
    call.hear(noise(160))
    first, second = await asyncio.gather(call.recorder.close(), call.recorder.close())
    call.hear(noise(160))
    call.say("a1", spoken(20))
    call.recorder.truncated("a1", 0)
    call.flush()
    assert first == second == await call.recorder.close()
    assert first.input_s == 0.01
    assert call.troubles == []


@pytest.mark.virtual_time(costs={Disk.end: 5.0})
async def test_a_cancelled_close_ends_the_files_all_the_same(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(1_600)
    call.hear(pcm)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call.recorder.close(), 1.0)
    await until_ms(10_000)
    assert read(tmp_path / "input.flac")[0] == pcm
    assert described(tmp_path)["input_samples"] == 1_600


async def test_a_real_executor_writes_beside_the_loop(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        call = Call(tmp_path, executor=executor)
        pcm = noise(20 * IN_HZ)
        for start in range(0, len(pcm), IN_HZ * 2):
            call.hear(pcm[start : start + IN_HZ * 2])
            await asyncio.get_running_loop().run_in_executor(executor, int)  # its earlier jobs are done
        recorded = await call.recorder.close()
    heard, _ = read(tmp_path / "input.flac")
    assert heard.endswith(pcm)
    assert recorded.input_s == len(heard) / 2 / IN_HZ


KILLED = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from realtime.testing.clock import run
from tests.call.recorded import Call, noise, now_ms, spoken

async def main():
    call = Call(Path(sys.argv[1]))
    call.say("a1", spoken(60_000))
    pcm = noise(60 * 16_000)
    for start in range(0, len(pcm), 640):
        call.hear(pcm[start : start + 640])
        await asyncio.sleep(0.02)
        if now_ms() % 100 == 0:
            print(now_ms(), flush=True)

run(main())
"""


@pytest.mark.parametrize(
    "kill_at_ms", [3_100, *(pytest.param(ms, marks=pytest.mark.night) for ms in (900, 7_700, 20_000))]
)
def test_the_files_of_a_killed_server_can_be_read(tmp_path: Path, kill_at_ms: int) -> None:
    root = Path(__file__).resolve().parent.parent
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if int(line) >= kill_at_ms:
                break
        server.send_signal(signal.SIGKILL)
    assert server.returncode == -signal.SIGKILL
    left_ms = kill_at_ms - 800
    heard, _ = read(tmp_path / "input.flac")
    assert len(heard) >= left_ms * IN_HZ // 1000 * 2
    assert heard == noise(60 * IN_HZ)[: len(heard)]
    # Output comes after the first second; until then the file is absent or holds no whole frame.
    if kill_at_ms >= 1_300:
        output, _ = read(tmp_path / "output.flac")
        assert output == spoken(60_000)[: len(output)]
        assert len(output) >= (kill_at_ms - 1_300) * OUT_HZ // 1000 * 2
    assert described(tmp_path)["input_samples"] is None


class Full:
    """Stands for a file on a disk with room for so many bytes more."""

    def __init__(self, file: Any, room_bytes: int) -> None:
        self._file = file
        self._room_bytes = room_bytes

    def write(self, data: bytes) -> int:
        taken = min(len(data), self._room_bytes)
        if not taken:
            raise OSError(28, "No space left on device")
        self._room_bytes -= taken
        return int(self._file.write(data[:taken]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def fill_up(monkeypatch: pytest.MonkeyPatch, room_bytes: int) -> None:
    """Files opened by the recording from now on take so many bytes each."""

    def opened(*arguments: Any, **options: Any) -> Any:
        file = open(*arguments, **options)  # noqa: SIM115 (closed by the code under test)
        return Full(file, room_bytes) if "b" in arguments[1] else file

    monkeypatch.setattr("realtime.call.recording.disk.open", opened, raising=False)


@pytest.mark.virtual_time
@pytest.mark.parametrize("room_bytes", [0, 100, 30_000])
async def test_a_full_disk_is_told_once_and_the_call_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    room_bytes: int,
) -> None:
    """The server's log tells of no speech."""
    caplog.set_level(logging.DEBUG)
    fill_up(monkeypatch, room_bytes)
    call = Call(tmp_path, call_id="call_77")
    call.say("a1", spoken(8_000))
    pcm = noise(10 * IN_HZ)
    await call.speak(pcm)
    recorded = await call.recorder.close()
    assert [error.code for error in call.troubles] == ["recording_failed"]
    assert recorded.input_s < 10
    assert capfd.readouterr().err == ""
    told = [record.getMessage() for record in caplog.records if record.name.startswith("realtime.call.recording")]
    assert told == ["the recording of call call_77 stopped: [Errno 28] No space left on device"]
    if room_bytes > 100:
        heard, _ = read(tmp_path / "input.flac")
        assert heard
        assert heard == pcm[: len(heard)]


@pytest.mark.parametrize("obstacle", ["full at the end", "file", "proc", "executor shut down"])
async def test_whatever_keeps_a_recording_from_being_written_is_told_once_and_the_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    folder, executor = tmp_path / "call_1", None
    if obstacle == "full at the end":
        fill_up(monkeypatch, 1_000)
    elif obstacle == "file":
        (tmp_path / "call_1").write_text("")
        folder = tmp_path / "call_1" / "recording"
    elif obstacle == "proc":
        folder = Path("/proc/call_1")
    else:
        executor = ThreadPoolExecutor(1)
    call = Call(folder, executor=executor)
    if executor is not None:
        executor.shutdown()
    call.hear(noise(3_200))
    call.say("a1", spoken(200))
    recorded = await call.recorder.close()
    assert [error.code for error in call.troubles] == ["recording_failed"]
    if obstacle in ("file", "proc"):
        assert recorded == Recorded(None, 0.0, 0.0)
