"""Recordings of other programs: they become cassettes, which the kit replays."""

import json
import os
from pathlib import Path

import pytest

from realtime.agent import RealtimeAgent
from realtime.testing import CaseError, Run, Type, WaitUntilHeard, clock, recorded_model, voice_call
from realtime.testing.cassettes.format import FrameLine, read_cassette
from realtime.testing.cassettes.imported import import_cassette
from realtime.tool import Toolkit

NAMED = os.environ.get("REALTIME_RECORDINGS")
THERE = sorted((Path(NAMED) / "recordings").glob("*.yaml")) if NAMED else []
ANSWERS = {
    "gemini-message_history_seeding": "Your name is Alice, and your favorite color is teal.",
    "gemini-text_in_audio_out_turn": "Hello there.",
    "gemini-tool_call_round": 'I have recorded a reading of 5 with the note "steady."',
    "openai-message_history_seeding": "Your name is Alice, and your favorite color is teal!",
    "openai-text_in_audio_out_turn": "Hi there!",
    "openai-tool_call_round": "It is foggy and 12 degrees in London.",
}
UPDATE = {"type": "session.update", "session": {"type": "realtime", "model": "gpt-realtime"}}
SESSIONS = {
    provider: [*map(json.loads, Path(__file__).with_name(f"session_{provider}.jsonl").read_text().splitlines())]
    for provider in ("openai", "gemini")
}


def replayed(cassette: Path, *typed: str) -> Run:
    def get_weather(city: str) -> str:
        """Tell the weather."""
        raise AssertionError("the recorded result answers")

    def record_reading(zqx_measurement: int, qbf_note: str = "") -> str:
        """Keep a reading."""
        raise AssertionError("the recorded result answers")

    steps = [step for text in typed for step in (Type(text), WaitUntilHeard())]
    model = recorded_model(cassette, strict=False)
    tools = Toolkit([get_weather, record_reading])
    return clock.run(voice_call(steps, agent=lambda: RealtimeAgent("Robin", "", model, toolkit=tools)))


def lines(path: Path, *entries: object) -> Path:
    path.write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    return path


@pytest.mark.parametrize("source", THERE or [None], ids=lambda path: path.stem if path else "none")
def test_a_recording_of_a_real_provider_is_imported_and_replayed(
    source: Path | None, recordings_dir: Path, tmp_path: Path
) -> None:
    assert source is not None
    made = import_cassette(source, tmp_path / "cassette")
    assert len(made.typed) == 1
    replayed(made.folder, *made.typed).agent_said(ANSWERS[source.stem]).tools_answered()


@pytest.mark.parametrize("provider", SESSIONS)
@pytest.mark.parametrize("form", ["bare", "told", "text"])
def test_frames_as_json_lines_are_imported_and_replayed(provider: str, form: str, tmp_path: Path) -> None:
    frames = SESSIONS[provider]
    sent = ({"session.update", "conversation.item.create", "response.create"}, {"setup", "client_content"})
    entries: list[object] = []
    for number, frame in enumerate(frames):
        direction = "sent" if frame.get("type", next(iter(frame))) in sent[0] | sent[1] else "received"
        data = json.dumps(frame) if form == "text" else frame
        entries.append(frame if form == "bare" else {"direction": direction, "data": data, "at_ms": 500 + 40 * number})
    made = import_cassette(lines(tmp_path / "session.jsonl", *entries), tmp_path / "cassette")
    assert (made.frames, made.typed) == (len(frames), ("Hi!",))
    replayed(made.folder, *made.typed).agent_said("Good day.")
    last = [line.at_ms for line in read_cassette(made.folder).lines if isinstance(line, FrameLine)][-1]
    assert last == (20 if form == "bare" else 40) * (len(frames) - 1)


def test_times_that_yaml_reads_as_dates_are_kept(tmp_path: Path) -> None:
    source = tmp_path / "session.yaml"
    rows = [
        f"- {{direction: sent, timestamp: 2026-01-01T10:00:0{second}, data: {json.dumps(UPDATE)}}}" for second in (0, 2)
    ]
    source.write_text("\n".join(["interactions:", *rows]))
    made = import_cassette(source, tmp_path / "cassette")
    times = [line.at_ms for line in read_cassette(made.folder).lines if isinstance(line, FrameLine)]
    assert times == [0, 2_000]


def test_an_imported_cassette_holds_no_key(tmp_path: Path) -> None:
    secret = {
        "type": "session.update",
        "session": {"model": "gpt-realtime", "client_secret": {"value": "ek_0123456789abc"}},
    }
    made = import_cassette(lines(tmp_path / "session.jsonl", secret), tmp_path / "cassette")
    assert "ek_0123456789abc" not in (made.folder / "cassette.jsonl").read_text()


def test_what_is_no_recording_is_named_with_its_place_and_remedy(tmp_path: Path) -> None:
    """Each line of the file: a file's name, its text (null: it is not there), and what is said of it."""
    lines = Path(__file__).with_name("broken_recordings.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [*map(json.loads, lines), ["deep.yaml", "interactions: " + "[" * 5_000, "this is nested too deeply"]]
    for name, text, told in rows:
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(CaseError) as refused:
            import_cassette(tmp_path / name, tmp_path / "cassette")
        assert told in str(refused.value)


def test_a_cassette_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    source = lines(tmp_path / "session.jsonl", *SESSIONS["openai"])
    import_cassette(source, tmp_path / "cassette")
    with pytest.raises(CaseError, match="there is a cassette already"):
        import_cassette(source, tmp_path / "cassette")
