"""`realtime certify` as its users run it: what it says before it costs anything, and when it does not begin."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from realtime.cli import command_line
from realtime.errors import UsageError
from realtime.model.services import SERVICES

KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DASHSCOPE_API_KEY")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command is run, without any key."""
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def says(*words: str, answer: str = "") -> Result:
    return CliRunner().invoke(command_line(["certify"]), ["certify", *words], input=answer)


def message_of(result: Result) -> str:
    """The sentence with which a command was refused."""
    assert isinstance(result.exception, UsageError)
    return result.exception.message


def test_without_a_key_it_stops_with_one_sentence(folder: Path) -> None:
    for provider in ("openai", "gemini", "dashscope"):
        stopped = says(provider)
        assert message_of(stopped).startswith("there is no key for ")
        assert f"set {provider.upper()}_API_KEY" in message_of(stopped)
        assert stopped.output == ""


def test_an_unknown_provider_is_refused_with_the_known_ones(folder: Path) -> None:
    refused = says("no-such-provider")
    assert refused.exit_code == 2
    assert all(name in refused.output for name in SERVICES)


def test_the_cost_is_told_and_nothing_begins_without_consent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-of-a-user")
    refused = says("gemini", "--url", "http://127.0.0.1:1", answer="n\n")
    assert refused.exit_code == 1
    for told in ("minutes of audio go to the provider", "Cost: unknown", "Begin?"):
        assert told in refused.output
    assert "AIza" not in refused.output
    assert [*folder.iterdir()] == []


def test_an_endpoint_that_nobody_answers_at_or_a_full_folder_is_one_sentence(folder: Path) -> None:
    failed = says("openai", "--url", "http://127.0.0.1:1/v1", "--yes")
    assert message_of(failed) == "not all turns were reached: 127.0.0.1 refused the connection"
    assert "cassette" not in failed.output
    assert [*folder.iterdir()] == []  # the next attempt may use the same folder
    (folder / "kept").mkdir()
    (folder / "kept" / "file").write_text("")
    assert message_of(says("openai", "--out", "kept")) == "kept is not empty: name a new folder by --out"
