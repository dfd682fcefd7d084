"""Saved sessions: one JSON file each, by name, safe against ids from a URL and against a crash while saving."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.errors import ClientError, StoreError
from realtime.state.json_sessions import JSONSession
from realtime.state.sessions import HasState, SessionBase


class Module:
    """Something with a state."""

    def __init__(self, **state: Any) -> None:
        self.state: dict[str, Any] = state

    def state_dict(self) -> dict[str, Any]:
        return self.state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.state = state_dict


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_a_session_is_one_json_file_named_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SES-11"""
    await JSONSession(save_dir=str(tmp_path / "here")).save_session_state(
        session_id="user_1", agent=Module(name="Friday")
    )
    assert files(tmp_path) == ["here/user_1.json"]
    assert json.loads((tmp_path / "here/user_1.json").read_text("utf-8")) == {"agent": {"name": "Friday"}}
    monkeypatch.chdir(tmp_path)
    await JSONSession().save_session_state(session_id="user_2", agent=Module())
    assert files(tmp_path) == ["here/user_1.json", "sessions/user_2.json"]


async def test_what_was_saved_is_loaded_by_its_keywords(tmp_path: Path) -> None:
    session = JSONSession(save_dir=str(tmp_path))
    agent = Module(memory=[{"role": "user", "content": "Grüße, 今日は"}], turns=3, mood=None)
    await session.save_session_state(session_id="session_1", agent=agent, other=Module(n=2))
    saved = agent.state
    agent.state = {"memory": [], "turns": 0, "mood": "new"}
    await session.load_session_state(session_id="session_1", agent=agent)
    assert agent.state == saved
    again, other = Module(), Module()
    await JSONSession(tmp_path).load_session_state(session_id="session_1", other=other, agent=again)
    assert (again.state, other.state) == (saved, {"n": 2})


async def test_a_keyword_that_was_not_saved_is_not_restored_and_strictly_an_error(tmp_path: Path) -> None:
    """SES-15"""
    session = JSONSession(tmp_path)
    await session.save_session_state(session_id="s", agent=Module(n=1))
    agent, assistant = Module(old=True), Module(old=True)
    await session.load_session_state(session_id="s", assistant=assistant)
    assert assistant.state == {"old": True}
    with pytest.raises(StoreError, match="has no state of assistant") as missing:
        await session.load_session_state(session_id="s", strict=True, agent=agent, assistant=assistant)
    assert missing.value.code == "unknown_module"
    assert agent.state == {"old": True}


class DictSession(SessionBase):
    """Another place to keep sessions in."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], dict[str, Any]] = {}

    async def save_session_state(self, session_id: str, user_id: str = "", **modules: HasState) -> None:
        self.kept[user_id, session_id] = {name: module.state_dict() for name, module in modules.items()}

    async def load_session_state(
        self,
        session_id: str,
        user_id: str = "",
        allow_not_exist: bool = True,
        strict: bool = False,
        **modules: HasState,
    ) -> None:
        for name, state in self.kept.get((user_id, session_id), {}).items():
            modules[name].load_state_dict(state)


async def test_sessions_can_be_kept_elsewhere_by_writing_two_methods() -> None:
    """SES-16"""
    session: SessionBase = DictSession()
    await session.save_session_state(session_id="s", agent=Module(n=1))
    agent = Module()
    await session.load_session_state(session_id="s", agent=agent)
    assert agent.state == {"n": 1}
    with pytest.raises(TypeError, match="abstract"):
        SessionBase()  # type: ignore[abstract]


async def test_users_are_kept_apart_and_a_missing_session_is_allowed_unless_said_otherwise(tmp_path: Path) -> None:
    """SES-17"""
    session = JSONSession(tmp_path)
    people = {("", "s"): 0, ("anna", "s"): 1, ("bert", "s"): 2, ("a_b", "c"): 3, ("a", "b_c"): 4, ("users", "s"): 5}
    for (user_id, session_id), n in people.items():
        await session.save_session_state(session_id=session_id, user_id=user_id, agent=Module(n=n))
    for (user_id, session_id), n in people.items():
        agent = Module()
        await session.load_session_state(session_id=session_id, user_id=user_id, agent=agent)
        assert agent.state == {"n": n}
    agent = Module(old=True)
    await session.load_session_state(session_id="s", user_id="carl", agent=agent)
    assert agent.state == {"old": True}
    with pytest.raises(StoreError, match="there is no session 's'") as missing:
        await session.load_session_state(session_id="s", user_id="carl", allow_not_exist=False, agent=agent)
    assert missing.value.code == "unknown_session"


ESCAPES = ["../../x", "..", ".", "", "/etc/passwd", "a/b", "a\\b", "C:x", "x\x00", "x\n", ".hidden", "x."]
TOO_LONG = ["y" * 201, "é" * 101]


async def test_an_id_that_would_leave_the_folder_is_refused(tmp_path: Path) -> None:
    """SES-18"""
    session = JSONSession(tmp_path / "deep" / "sessions")
    for name in ESCAPES + TOO_LONG:
        for session_id, user_id in ((name, ""), ("s", name or "/")):
            for use in (session.save_session_state, session.load_session_state):
                with pytest.raises(ClientError) as refused:
                    await use(session_id, user_id, agent=Module())
                assert refused.value.code == "invalid_id"
    assert files(tmp_path) == []


@given(st.text(), st.text())
def test_whatever_the_ids_are_the_file_is_in_the_folder(session_id: str, user_id: str) -> None:
    """SES-18"""
    folder = Path("/srv/sessions")
    try:
        path = JSONSession(folder).path_of(session_id, user_id)
    except ClientError:
        return
    assert path.is_relative_to(folder)
    assert ".." not in path.parts
    assert path.name == f"{session_id}.json"
    assert path.parent == (folder / "users" / user_id if user_id else folder)


SAVE_AND_DIE = """
import asyncio, os, signal, sys
from realtime.state.json_sessions import JSONSession

class Module:
    def state_dict(self):
        return {"n": "new " * 100_000}
    def load_state_dict(self, state_dict):
        pass

real = getattr(os, sys.argv[2])

def die(*args, **options):
    if sys.argv[3] == "after":
        real(*args, **options)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(os, sys.argv[2], die)
asyncio.run(JSONSession(sys.argv[1]).save_session_state(session_id="s", agent=Module()))
"""


@pytest.mark.parametrize(
    ("call", "when", "survives"),
    [
        ("replace", "before", "old"),
        pytest.param("write", "before", "old", marks=pytest.mark.night),
        pytest.param("write", "after", "old", marks=pytest.mark.night),
        pytest.param("fsync", "after", "old", marks=pytest.mark.night),
        pytest.param("replace", "after", "new " * 100_000, marks=pytest.mark.night),
    ],
)
def test_a_process_that_dies_while_it_saves_leaves_the_old_file_or_the_new_one(
    call: str, when: str, survives: str, tmp_path: Path
) -> None:
    """SES-19"""
    session, agent = JSONSession(tmp_path), Module()
    asyncio.run(session.save_session_state(session_id="s", agent=Module(n="old")))
    died = subprocess.run([sys.executable, "-c", SAVE_AND_DIE, str(tmp_path), call, when], check=False)
    assert died.returncode == -signal.SIGKILL
    asyncio.run(session.load_session_state(session_id="s", agent=agent))
    assert agent.state == {"n": survives}
    asyncio.run(session.save_session_state(session_id="s", agent=Module(n="later")))
    assert files(tmp_path) == ["s.json"]


async def test_a_damaged_file_is_an_error_and_changes_no_module(tmp_path: Path) -> None:
    agent = Module(old=True)
    for damaged in (b"", b'{"agent": {', b"[]", b"\xff\xfe", b"[" * 100_000):
        (tmp_path / "s.json").write_bytes(damaged)
        with pytest.raises(StoreError, match="damaged") as refused:
            await JSONSession(tmp_path).load_session_state(session_id="s", agent=agent)
        assert refused.value.code == "store_corrupt"
    assert agent.state == {"old": True}


async def test_a_state_that_cannot_be_written_is_an_error_and_keeps_the_old_file(tmp_path: Path) -> None:
    session = JSONSession(tmp_path)
    await session.save_session_state(session_id="s", agent=Module(n=1))
    with pytest.raises(TypeError):
        await session.save_session_state(session_id="s", agent=Module(n=object()))
    agent = Module()
    await session.load_session_state(session_id="s", agent=agent)
    assert agent.state == {"n": 1}
    with pytest.raises(StoreError) as refused:
        await JSONSession(tmp_path / "s.json").save_session_state(session_id="s", agent=Module())
    assert refused.value.code == "store_failed"
