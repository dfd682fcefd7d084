"""What is downloaded of a call: its transcript, its sound, its report; and how a list is searched."""

import asyncio
import io
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from realtime.agent import RealtimeAgent
from realtime.model.scripted import ScriptedModel, echo_bot
from realtime.server.app import create_app
from realtime.server.calls_api import SOUND_BYTES_AT_ONCE
from realtime.server.settings import ServerSettings
from realtime.state.open import open_store
from realtime.state.store import CallInfo, Change
from realtime.testing.cases.desk import CaseDesk
from tests.server.harness import Place, serving_app
from tests.server.test_calls_api import one_call

OWNER = "user=user1"


def friday() -> RealtimeAgent:
    return RealtimeAgent("Friday", "You are Friday.", ScriptedModel(echo_bot()))


@asynccontextmanager
async def keeping(folder: Path, **settings: Any) -> AsyncIterator[Place]:
    """A server that stores calls and keeps sound."""
    sound = str(folder / "sound")
    kept = ServerSettings(drain_s=0, store=f"sqlite:{folder / 'calls.sqlite'}", recordings=sound, **settings)
    async with serving_app(create_app(friday, kept, cases=CaseDesk(recordings=sound))) as place:
        yield place


def record(folder: Path, *, input_s: float, output_s: float, output_hz: int = 24_000) -> None:
    """A recording: a voice of the value 1,000 at 16 kHz, and an agent of 2,000."""
    folder.mkdir(parents=True)
    soundfile.write(folder / "input.flac", np.full(int(input_s * 16_000), 1_000, np.int16), 16_000)
    soundfile.write(folder / "output.flac", np.full(int(output_s * output_hz), 2_000, np.int16), output_hz)
    (folder / "recording.json").write_text(json.dumps({"input_from_ms": 0, "items": []}))


def all_bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


# -- words -------------------------------------------------------------------------------------------------------------


async def test_a_transcript_is_had_as_text_as_subtitles_and_as_data_and_a_report_as_a_sandboxed_page(
    tmp_path: Path,
) -> None:
    async with keeping(tmp_path) as place:
        call_id = await one_call(place)
        path = f"/api/calls/{call_id}/transcript?{OWNER}"
        text = await place.get(f"{path}&form=text")
        assert text.headers["content-type"] == "text/plain; charset=utf-8"
        assert text.headers["content-disposition"] == f'attachment; filename="{call_id}.txt"'
        assert text.headers["cache-control"] == "no-store"
        assert text.body.decode().splitlines() == ["[0:00] user: Hello", "[0:00] Friday: I heard you."]
        subtitles = await place.get(f"{path}&form=srt")
        assert subtitles.headers["content-disposition"] == f'attachment; filename="{call_id}.srt"'
        assert subtitles.body.startswith(b"1\n00:00:00,")
        told = (await place.get(path)).json()
        assert told["call_id"] == call_id
        assert [(line["who"], line["kind"], line["text"]) for line in told["lines"]] == [
            ("user", "text", "Hello"),
            ("Friday", "speech", "I heard you."),
        ]
        assert (await place.get(f"{path}&form=pdf")).status == 422
        answer = await place.get(f"/api/calls/{call_id}/report?{OWNER}")
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts")
        assert b"I heard you." in answer.body
        page = await place.get("/api/info")
        assert page.headers["content-security-policy"].startswith("default-src 'self'")


async def test_a_call_that_goes_on_has_the_transcript_so_far_and_no_sound_or_report_yet(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place, place.client() as client:
        call_id = (await client.make_call())["call_id"]
        empty = await place.get(f"/api/calls/{call_id}/transcript?{OWNER}&form=text")
        assert empty.body == b"Nothing was said.\n"
        await client.send({"type": "client_text_append", "text": "Hello"})
        await client.until("agent_response_done")
        lines = (await place.get(f"/api/calls/{call_id}/transcript?{OWNER}")).json()["lines"]
        assert [line["text"] for line in lines] == ["Hello", "I heard you."]
        for what in ("sound", "report"):
            answer = await place.get(f"/api/calls/{call_id}/{what}?{OWNER}")
            assert (answer.status, answer.json()["code"]) == (409, "call_goes_on")


async def test_a_call_of_somebody_else_is_like_none(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        call_id = await one_call(place)
        for what in ("transcript", "sound", "report"):
            for path in (f"{call_id}/{what}?user=user2", f"call_x/{what}?{OWNER}", f"%00/{what}?{OWNER}"):
                answer = await place.get(f"/api/calls/{path}")
                assert (answer.status, answer.json()["code"]) == (404, "unknown_call")


# -- sound -------------------------------------------------------------------------------------------------------------


async def test_any_part_of_the_sound_is_that_part_of_the_whole(tmp_path: Path) -> None:
    """A player that wants the rest gets a bounded part of it."""
    async with keeping(tmp_path) as place:
        call_id = await one_call(place)
        record(tmp_path / "sound" / call_id, input_s=60, output_s=2.0, output_hz=16_000)
        path = f"/api/calls/{call_id}/sound?{OWNER}"
        whole = (await place.get(path)).body
        for first, last in ((0, 9), (10, 99), (44, 50_001), (70_001, 110_000), (len(whole) - 7, len(whole) - 1)):
            part = await place.get(path, range=f"bytes={first}-{last}")
            assert (part.status, part.headers["content-range"]) == (206, f"bytes {first}-{last}/{len(whole)}")
            assert part.body == whole[first : last + 1]
        behind = await place.get(path, range=f"bytes={len(whole)}-")
        assert (behind.status, behind.headers["content-range"]) == (416, f"bytes */{len(whole)}")
        rest = await place.get(path, range="bytes=0-")
        assert (rest.status, len(rest.body)) == (206, SOUND_BYTES_AT_ONCE)


async def test_the_sound_is_one_file_of_all_who_spoke_and_where_there_is_none_it_is_told_in_words(
    tmp_path: Path,
) -> None:
    """None was recorded, or it is damaged, or deleted."""
    async with keeping(tmp_path) as place:
        call_id = await one_call(place)
        folder = tmp_path / "sound" / call_id
        path = f"/api/calls/{call_id}/sound?{OWNER}"
        assert (await place.get(f"/api/calls/{call_id}?{OWNER}")).json()["recorded"] is False
        assert (await place.get(path)).json()["code"] == "not_recorded"
        record(folder, input_s=1, output_s=1)
        (folder / "input.flac").write_bytes(b"no sound")
        assert (await place.get(path)).status == 404
        shutil.rmtree(folder)
        record(folder, input_s=3.5, output_s=2.0)
        assert (await place.get(f"/api/calls/{call_id}?{OWNER}")).json()["recorded"] is True
        answer = await place.get(path)
        assert (answer.status, answer.headers["content-type"]) == (200, "audio/wav")
        assert (answer.headers["accept-ranges"], answer.headers["cache-control"]) == ("bytes", "no-store")
        samples, rate_hz = soundfile.read(io.BytesIO(answer.body), dtype="int16")
        assert (rate_hz, len(samples)) == (24_000, 3.5 * 24_000)
        assert np.abs(samples[1_000:47_000].astype(int) - 3_000).max() < 10
        assert np.abs(samples[49_000:83_000].astype(int) - 1_000).max() < 10
        assert await place.delete(f"/api/calls/{call_id}?{OWNER}") == 204
        assert (await place.get(path)).json()["code"] == "unknown_call"
        assert not folder.exists()
        assert b"I heard you." not in all_bytes_in(tmp_path), "nor are the words in the store's files"


# -- lists -------------------------------------------------------------------------------------------------------------


async def test_a_list_says_how_a_call_began_how_long_it_was_and_whether_it_had_errors(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        call_id = await one_call(place)
        async with place.client() as client:
            await client.make_call()
            await client.send({"type": "client_item_delete", "item_id": "nothing"})
            await client.until("agent_error")
            failed, ended = (await place.get(f"/api/calls?{OWNER}")).json()["calls"]
        assert (ended["call_id"], ended["first_words"], ended["turns"], ended["errors"]) == (call_id, "Hello", 1, 0)
        assert (failed["first_words"], failed["turns"], failed["errors"]) == ("", 0, 1)


async def test_a_list_is_searched_by_words_and_for_errors(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'calls.sqlite'}")
    store.write(
        [
            Change(
                name := f"call_{number:04}",
                CallInfo(
                    call_id=name,
                    owner="user1",
                    agent_name="Friday",
                    created_at="2026-01-01T00:00:00.000Z",
                    ended_at="2026-01-01T00:00:09.000Z",
                    first_words="Where is my ORDER?" if number % 100 == 0 else "Hello",
                    errors=1 if number % 200 == 0 else 0,
                ),
            )
            for number in range(450)
        ]
    )
    store.close()

    async def found(place: Place, query: str) -> list[str]:
        ids: list[str] = []
        after = ""
        while True:
            told = (await place.get(f"/api/calls?{OWNER}&limit=2&{query}{after}")).json()
            ids += [one["call_id"] for one in told["calls"]]
            if told["next"] is None:
                return ids
            after = f"&after={told['next']}"

    async with keeping(tmp_path) as place:
        assert await found(place, "q=order+friday") == [f"call_0{n}00" for n in (4, 3, 2, 1, 0)]
        assert await found(place, "errors=true") == ["call_0400", "call_0200", "call_0000"]
        assert await found(place, "q=nobody+said+this") == []
        assert (await place.get(f"/api/calls?{OWNER}&q={'x' * 201}")).status == 422
        assert await asyncio.gather(found(place, "q=hello+call_0001")) == [["call_0001"]]
