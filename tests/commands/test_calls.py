"""`realtime calls` as its users run it: what a store keeps, a line for each call."""

import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from realtime.cli import command_line
from realtime.commands.common import whole_id
from realtime.errors import UsageError
from realtime.event.server import ServerSessionUpdatedEvent
from realtime.state.json_files import JsonFileStore
from realtime.state.open import open_store
from realtime.state.sqlite import SqliteStore
from realtime.state.store import CallInfo, Change
from realtime.testing import Case, Person, StandIn, Type, WaitUntilHeard
from realtime.testing.cases.case import write_case
from realtime.testing.cases.stand_in import Say
from realtime.testing.replay import replay


def says(*words: str) -> Result:
    return CliRunner().invoke(command_line(["calls"]), ["calls", *words])


@pytest.fixture(params=["sqlite", "file"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store with a finished call of Ann and one of Ben that goes on."""
    steps = (Type("Where is my order?"), WaitUntilHeard(), Type("Thank you."), WaitUntilHeard())
    stand_in = StandIn(answers=(Say("On its way."), Say("You are welcome.")))
    write_case(tmp_path / "case", Case(users=(Person(steps),), models={"*": stand_in}))
    entries = replay(tmp_path / "case").entries
    url = f"{request.param}:{tmp_path / 'calls'}"
    store = open_store(url)
    times = {"created_at": "2026-11-20T09:15:00.000Z", "ended_at": "2026-11-20T09:16:05.000Z"}
    store.write(
        [
            Change("call_1", CallInfo(call_id="call_1", owner="ann", **times), entries),
            Change("call_2", CallInfo(call_id="call_2", owner="ben", created_at="2026-11-21T10:00:00.000Z")),
        ]
    )
    store.close()
    return url


def test_each_call_is_a_line_with_its_owner_time_length_turns_and_first_words(kept: str) -> None:
    listed = says("--store", kept)
    assert listed.exit_code == 0
    ben, ann = ([cell.strip() for cell in line.split("│")] for line in listed.output.splitlines()[2:4])
    assert ann == ["call_1", "ann", "2026-11-20 09:15:00", "1:05", "2", "Where is my order?"]
    assert ben[:5] == ["call_2", "ben", "2026-11-21 10:00:00", "not ended", "0"]


def test_the_calls_of_one_user_and_the_newest_can_be_asked_for(kept: str) -> None:
    assert "call_2" not in says("--store", kept, "--owner", "ann").output
    assert "call_1" not in says("--store", kept, "--limit", "1").output
    assert says("--store", kept, "--owner", "eve").output == "There are no stored calls.\n"


def test_calls_that_cannot_be_read_are_listed_and_hide_no_other(tmp_path: Path) -> None:
    log, info = tmp_path / "log.sqlite", tmp_path / "files"
    with_damaged_log = SqliteStore(log, journal_bytes=0)
    with_damaged_info = JsonFileStore(info)
    for store in (with_damaged_log, with_damaged_info):
        for name in ("bad", "good"):
            entries = [ServerSessionUpdatedEvent(session_id="x" * 1_000, seq=1)]
            store.write([Change(name, CallInfo(call_id=name, owner="ann"), entries)])
        store.close()
    with sqlite3.connect(log) as connection:
        connection.execute("UPDATE entries SET body = x'00' WHERE call = 1")
    connection.close()
    (info / "bad" / "call.json").write_text("{")
    for url in (f"sqlite:{log}", f"file:{info}"):
        listed = says("--store", url)
        assert listed.exit_code == 0
        bad, good = sorted(listed.output.splitlines()[2:4])
        assert "cannot be read" in bad
        assert "good" in good
        assert "cannot be read" not in good


def test_a_store_that_is_not_there_or_keeps_nothing_is_one_sentence(tmp_path: Path) -> None:
    sentences = {
        f"sqlite:{tmp_path / 'none.sqlite'}": "there is no store",
        "none": "a server with `--store none` keeps no calls",
    }
    for url, sentence in sentences.items():
        refused = says("--store", url)
        assert isinstance(refused.exception, UsageError)
        assert refused.exception.message.startswith(sentence)
    assert not (tmp_path / "none.sqlite").exists()


IDS = [f"call_{number}8769470b7a54409a6008fcaf20f4b9" for number in range(2)]


@pytest.fixture
def two_calls(tmp_path: Path) -> str:
    url = f"sqlite:{tmp_path / 'two.sqlite'}"
    store = open_store(url)
    store.write([Change(one, CallInfo(call_id=one, owner="guest-0123456789abcdef01234567")) for one in IDS])
    store.close()
    return url


def test_ids_are_whole_at_any_width(two_calls: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    listed = says("--store", two_calls).output
    assert [one in listed for one in IDS] == [True, True]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (IDS[0], IDS[0]),
        ("call_0876", IDS[0]),
        ("18769470", IDS[1]),
        (" call_18769470b7a…", IDS[1]),
        ("call_0876947...", IDS[0]),
        ("call_9", "call_9"),
        ("no id/", "no id/"),
    ],
)
def test_the_beginning_of_an_id_names_its_call(two_calls: str, given: str, meant: str) -> None:
    store = open_store(two_calls)
    assert whole_id(store, given) == meant
    with pytest.raises(UsageError, match="2 calls begin with 'call_': "):
        whole_id(store, "call_")
    store.close()
