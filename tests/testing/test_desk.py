"""Test cases of a server's calls over HTTP: who gets them, under which names, and what a refusal says."""

import asyncio
import io
import os
import stat
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from realtime.server.app import create_app
from realtime.server.calls_api import Cases
from realtime.server.settings import ServerSettings
from realtime.testing.cases.case import read_case
from realtime.testing.cases.desk import CaseDesk
from tests.server.harness import Answer, Place, _get, echo_agent, serving_app

NAMES = ["../up", "..", "a/b", "a\\b", ".hidden", "a b", "a.b", "", "x" * 101]


@asynccontextmanager
async def serving(cases: Cases | None, token: str | None = None) -> AsyncIterator[Place]:
    settings = ServerSettings(drain_s=0, store="memory:", token=token)
    async with serving_app(create_app(echo_agent, settings, cases=cases)) as place:
        yield place


async def one_call(place: Place, query: str = "", *, text: str | None = "Hello") -> str:
    async with place.client(f"/ws/ann/session1{query}") as client:
        created = await client.make_call()
        if text is not None:
            await client.send({"type": "client_text_append", "text": text})
            await client.until("agent_response_done")
        await client.send({"type": "client_session_end"})
        await client.until("server_session_ended")
    call_id: str = created["call_id"]
    return call_id


async def post(place: Place, path: str, **headers: str) -> Answer:
    return await asyncio.to_thread(_get, place.url + path, headers, None, "POST")


async def test_an_ended_call_is_given_as_a_zip_file_of_one_folder(tmp_path: Path) -> None:
    async with serving(CaseDesk()) as place:
        call_id = await one_call(place)
        answer = await place.get(f"/api/calls/{call_id}/case?user=ann&name=refund")
        assert (answer.status, answer.headers["content-type"]) == (200, "application/zip")
        assert answer.headers["content-disposition"] == 'attachment; filename="refund.zip"'
        zipfile.ZipFile(io.BytesIO(answer.body)).extractall(tmp_path)
        assert read_case(tmp_path / "refund").expect.user_said == ("Hello",)
        unnamed = await place.get(f"/api/calls/{call_id}/case?user=ann")
        assert zipfile.ZipFile(io.BytesIO(unnamed.body)).namelist() == [f"{call_id}/case.json"]
        assert (await place.get(f"/api/calls/{call_id}?user=ann")).json()["case"] == "download"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
async def test_a_case_is_its_owner_s_alone_to_read(tmp_path: Path) -> None:
    async with serving(CaseDesk(folder=tmp_path)) as place:
        call_id = await one_call(place)
        assert (await post(place, f"/api/calls/{call_id}/case?user=ann&name=refund")).status == 201
        assert [stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "refund").iterdir()] == [0o600]


async def test_cases_are_made_one_after_the_other() -> None:
    """One of an hour takes hundreds of MB while it is made."""

    class Slow(CaseDesk):
        at_work = most = 0

        def zipped(self, *about: Any) -> bytes:
            Slow.at_work += 1
            Slow.most = max(Slow.most, Slow.at_work)
            packed = super().zipped(*about)
            Slow.at_work -= 1
            return packed

    async with serving(Slow()) as place:
        call_id = await one_call(place)
        asked = [place.get(f"/api/calls/{call_id}/case?user=ann") for _ in range(3)]
        assert {answer.status for answer in await asyncio.gather(*asked)} == {200}
        assert Slow.most == 1


async def test_a_case_is_written_on_the_server_s_machine_where_it_has_a_folder(tmp_path: Path) -> None:
    async with serving(CaseDesk(folder=tmp_path / "calls")) as place:
        call_id = await one_call(place)
        assert (await place.get(f"/api/calls/{call_id}?user=ann")).json()["case"] == "save"
        made = await post(place, f"/api/calls/{call_id}/case?user=ann&name=refund")
        folder = (tmp_path / "calls" / "refund").as_posix()
        assert (made.status, made.json()) == (201, {"folder": folder, "command": f"realtime report {folder}"})
        assert read_case(tmp_path / "calls" / "refund").name == "refund"
        again = await post(place, f"/api/calls/{call_id}/case?user=ann&name=refund")
        assert (again.status, again.json()["error"]) == (409, "the folder is not empty. Name a new one.")


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    async with serving(CaseDesk(folder=tmp_path / "calls")) as place:
        call_id = await one_call(place)
        path = f"/api/calls/{call_id}/case?user=ann&name={quote(name, safe='')}"
        assert (await post(place, path)).json()["code"] == "invalid_name"
        assert name == "" or (await place.get(path)).status == 422
    assert os.listdir(tmp_path) == []


async def test_a_call_of_somebody_else_is_like_none(tmp_path: Path) -> None:
    async with serving(CaseDesk(folder=tmp_path)) as place:
        call_id = await one_call(place)
        for send in (place.get, lambda path: post(place, path)):
            foreign = await send(f"/api/calls/{call_id}/case?user=bob&name=x")
            unknown = await send("/api/calls/call_0/case?user=ann&name=x")
            assert foreign.status == unknown.status == 404
            assert foreign.body == unknown.body
    assert os.listdir(tmp_path) == []


async def test_nobody_gets_a_case_without_the_token_or_from_a_page_elsewhere(tmp_path: Path) -> None:
    async with serving(CaseDesk(folder=tmp_path), token="letmein") as place:
        call_id = await one_call(place, "?token=letmein")
        path = f"/api/calls/{call_id}/case?user=ann&name=x"
        assert (await place.get(path)).status == (await post(place, path)).status == 401
        assert (await post(place, f"{path}&token=letmein", origin="https://evil.example")).status == 401
        assert os.listdir(tmp_path) == []
        assert (await post(place, f"{path}&token=letmein")).status == 201


async def test_without_the_hook_there_are_no_cases() -> None:
    async with serving(None) as place:
        call_id = await one_call(place)
        for answer in (
            await place.get(f"/api/calls/{call_id}/case?user=ann"),
            await post(place, f"/api/calls/{call_id}/case?user=ann&name=x"),
        ):
            assert (answer.status, answer.json()["code"]) == (404, "no_cases")
        assert (await place.get(f"/api/calls/{call_id}?user=ann")).json()["case"] is None


async def test_without_a_folder_nothing_is_written() -> None:
    async with serving(CaseDesk()) as place:
        call_id = await one_call(place)
        refused = await post(place, f"/api/calls/{call_id}/case?user=ann&name=x")
        assert (refused.status, refused.json()["code"]) == (404, "no_cases")


async def test_a_call_that_goes_on_and_one_in_which_nobody_spoke_give_none() -> None:
    async with serving(CaseDesk()) as place:
        silent = await place.get(f"/api/calls/{await one_call(place, text=None)}/case?user=ann")
        assert (silent.status, silent.json()["code"]) == (409, "no_case")
        assert silent.json()["error"] == "this call contains no speech or text. Export another one."
        async with place.client("/ws/ann/session1") as client:
            created = await client.make_call()
            live = await place.get(f"/api/calls/{created['call_id']}/case?user=ann")
            assert (live.status, live.json()["code"]) == (409, "call_goes_on")
