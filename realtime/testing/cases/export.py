"""Exports a stored call as a test case.

The user's speech becomes the input; the responses of the model and the tools become a stand-in's. The case is exact
where the call was recorded (`realtime serve --recordings`, and the client's consent). Without a recording only the log
is known: a hum stands for the user's voice, and turns keep their positions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from realtime.audio.files import write_flac
from realtime.audio.pcm import SAMPLE_BYTES, bytes_of, from_float32
from realtime.call.recording.sound import RECORDING_FILE
from realtime.event import server as s
from realtime.state.store import Store
from realtime.testing.cases.case import Case, Person, write_case
from realtime.testing.cases.expected import Expected
from realtime.testing.cases.stand_in import Answer, Hear, Nothing, Say, StandIn
from realtime.testing.cases.stored import record_of
from realtime.testing.cases.tape import OPEN_MS, OUTPUT_FILE, WITHDRAWN_MS, Tape, for_a_case, settings_of
from realtime.testing.cassettes.format import Scrubber
from realtime.testing.cassettes.record import keys_of_environment
from realtime.testing.check.reading import Reading
from realtime.testing.check.words import words_of
from realtime.testing.client.steps import INPUT_HZ, Leave, Silence, Speak, Step
from realtime.testing.errors import CaseError
from realtime.testing.record import CallRecord, Lane

INPUT_FILE = "input.flac"
TAIL_MS = 1_500
"""How long the case's user stays after the last event."""
PINNED = (
    'Its turns are pinned ("turns": "positions" in models): they begin and end where they did in the call. Where the '
    'agent has turns by the server (authority "server"), they are found anew in any case.'
)
UNPIN = 'To let the voice detector find them in the sound, set "turns" to "detector".'
UNPIN_HUM = (
    "A hum stands for the voice, in which no detector finds turns: to unpin them, put the sound in its place first."
)


def export_call(store: Store, call_id: str, folder: str | Path, *, recordings: str | Path | None = None) -> Path:
    """Write a stored call as a case; return the case's folder.

    The sound comes from the server's folder of recordings. Raises CaseError where that is impossible.
    """
    record = record_of(store, call_id, recordings=recordings)
    info = store.call(call_id)
    return export_case(
        record,
        folder,
        config=info.config if info is not None else None,
        input_from_ms=_input_from_ms(record.folder),
    )


def _input_from_ms(recording: Path | None) -> int:
    file = recording / RECORDING_FILE if recording is not None else None
    if file is None or not file.is_file():
        return 0
    from_ms = json.loads(file.read_text("utf-8")).get("input_from_ms")
    return from_ms if isinstance(from_ms, int) else 0


def export_case(
    record: CallRecord,
    folder: str | Path,
    *,
    config: dict[str, Any] | None = None,
    input_from_ms: int = 0,
) -> Path:
    """Write a call as a case and return its folder.

    `config` are the settings of the call. `input_from_ms` is the position of the client's first audio in the recording
    (see `recording.json`), from which the log counts.

    Raises CaseError where the folder is not empty, or nothing happened in the call.
    """
    heard = {one.item_id: (round(one.from_ms), round(one.ms)) for one in record.played}
    folder = Path(folder)
    if any(isinstance(entry, s.ServerRoomJoinedEvent) for entry in record.entries):
        raise CaseError(
            record.name, "this was a participant's call in a room", "Only a call between two becomes a case."
        )
    if folder.exists() and any(folder.iterdir()):
        raise CaseError(folder, "the folder is not empty", "Name a new one.")
    tape = Tape(settings=settings_of(config or {}))
    for entry in record.entries:
        tape.read(entry)
    tape.end(record.duration_ms)
    if not (tape.hears or tape.done):
        raise CaseError(record.name, "this call contains no speech or text", "Export another one.")
    folder.mkdir(parents=True, exist_ok=True)
    human = next((lane for lane in record.lanes if lane.kind == "human"), None)
    agent = next((lane for lane in record.lanes if lane.kind == "agent"), None)
    steps: list[Step] = []
    hears = [_hear(turn, input_from_ms, record.duration_ms) for turn in tape.hears]
    if hears:
        pcm, rate_hz = _voice(human, hears, record.duration_ms)
        write_flac(folder / INPUT_FILE, pcm, rate_hz)
        # Without `text`: recognised words are no reference for recognition.
        steps.append(Speak(INPUT_FILE, wait=False))
    steps += _doing(tape.done, record.duration_ms + (0 if tape.in_speech else TAIL_MS))
    if agent is not None and agent.pcm:
        write_flac(folder / OUTPUT_FILE, agent.pcm, agent.rate_hz)
    server_decides = any(hear.ended_ms is None for hear in hears)
    is_recorded = human is not None and bool(human.pcm)
    pinned = [] if server_decides or not hears else [PINNED, UNPIN if is_recorded else f"{UNPIN_HUM} {UNPIN}"]
    stand_in = StandIn(
        turns="none" if server_decides else "positions",
        hears=tuple(Hear(hear.text) for hear in hears) if server_decides else tuple(hears),
        answers=_answers(tape, agent, heard),
    )
    case = Case(
        users=(Person((*steps, Leave())),),
        name=folder.name,
        about=" ".join((f"Exported from the call {record.name}.", *pinned)),
        config=for_a_case(config),
        models={"*": stand_in},
        tools={name: tuple(results) for name, results in tape.returned.items()},
        expect=_expected(record, tape),
    )
    write_case(folder, _without_secrets(case))
    return folder


def _without_secrets(case: Case) -> Case:
    """Return the case without secrets in settings, texts, arguments and results.

    A secret is replaced alike everywhere, so that calls still find their results.
    """
    scrubber = Scrubber(keys_of_environment())
    return msgspec.convert(scrubber.clean(msgspec.json.decode(msgspec.json.encode(case))), Case)


def _answers(tape: Tape, agent: Lane | None, heard: dict[str, tuple[int, int]]) -> tuple[Answer, ...]:
    """Return one answer for each request to the model.

    The words of a response that was withdrawn before its first sound are unknown. It gets those of the next one, so
    late that it is withdrawn again; if the tested code finds other turns, it becomes the response.
    """
    answers: list[Answer] = []
    for one in reversed(tape.responses.values()):
        if one.is_rest:
            continue
        answer = one.answer(agent, heard)
        if isinstance(answer, Nothing) and one.cancelled and answers and isinstance(answers[-1], Say):
            late_ms = one.done_ms - one.asked_ms + WITHDRAWN_MS
            answer = msgspec.structs.replace(answers[-1], after_ms=max(answers[-1].after_ms, late_ms))
        answers.append(answer)
    return tuple(reversed(answers))


def _expected(record: CallRecord, tape: Tape) -> Expected:
    """Return what happened as expectations, to be corrected where it was wrong."""
    said = [item for item in record.items if item.type == "message" and item.text]
    return Expected(
        user_said=tuple(item.text for item in said if item.role == "user"),
        agent_said=tuple(item.text for item in said if item.role == "assistant" and words_of(item.text)),
        tools=tuple(use for response in tape.responses.values() for use in response.tools),
        barge_ins=len(Reading(record).barge_ins),
    )


def _hear(turn: dict[str, Any], input_from_ms: int, until_ms: int) -> Hear:
    """Return a turn with its positions in the recording.

    The recording begins with the call. A turn in which the call ended continues after its end.
    """
    if "from_ms" not in turn:
        return Hear(turn.get("text", ""))
    from_ms, noticed_ms = turn["from_ms"] + input_from_ms, turn["noticed_ms"]
    if "to_ms" not in turn:
        return Hear(turn.get("text", ""), from_ms, until_ms, max(from_ms, noticed_ms), until_ms + OPEN_MS)
    to_ms, ended_ms = turn["to_ms"] + input_from_ms, turn["ended_ms"]
    return Hear(turn.get("text", ""), from_ms, to_ms, max(from_ms, noticed_ms), max(to_ms, ended_ms))


def _voice(lane: Lane | None, hears: list[Hear], until_ms: int) -> tuple[bytes, int]:
    """Return the user's speech as recorded, or a hum in its place."""
    if lane is not None and lane.pcm:
        return lane.pcm, lane.rate_hz
    samples = np.zeros(bytes_of(until_ms, INPUT_HZ) // SAMPLE_BYTES, np.float32)
    for hear in hears:
        if hear.from_ms is not None and hear.to_ms is not None:
            place = slice(*(bytes_of(ms, INPUT_HZ) // SAMPLE_BYTES for ms in (hear.from_ms, hear.to_ms)))
            samples[place] = 0.1 * np.sin(2 * np.pi * 150 / INPUT_HZ * np.arange(len(samples[place])))
    return from_float32(samples), INPUT_HZ


def _doing(done: list[tuple[int, Step]], until_ms: int) -> Iterator[Step]:
    """Yield the steps at their times, then a wait until `until_ms`."""
    now_ms = 0
    for ts_ms, step in done:
        if ts_ms > now_ms:
            yield Silence(ts_ms - now_ms)
        yield step
        now_ms = max(now_ms, ts_ms)
    yield Silence(max(0, until_ms - now_ms))
