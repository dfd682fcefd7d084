"""The situations of `fixtures/calls` with people who really spoke, where their recordings are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from realtime.testing.cases.case import Case, Person
from realtime.testing.cases.stand_in import Hear, Say, StandIn
from realtime.testing.check.run import Run
from realtime.testing.client.steps import BargeIn, Network, Silence, Speak, Step, Type, WaitUntilHeard

LONG = Say("Let me tell you about the mountains in October, where the nights are cold and the days are still warm.")
SHORT = Say("All right.")
HEARD = WaitUntilHeard()
LAMP = Speak("living_room_lamp.wav")
FORWARD = Speak("go_forward.wav")
BY_SERVER: dict[str, Any] = {"turn_detection": {"authority": "server"}}
LET_ON: dict[str, Any] = {"turn_detection": {"authority": "server", "interrupt_response": False}}

SITUATIONS: dict[str, tuple[Sequence[Step], int, int]] = {
    "question": ([LAMP, HEARD], 1, 0),
    "question over music": ([Speak("mix_lamp_over_music_10dB.wav"), HEARD], 1, 0),
    "question over an office": ([Speak("mix_cards_over_office_5dB.wav"), HEARD], 1, 0),
    "quiet voice": ([Speak("living_room_lamp.wav", gain_db=-15), HEARD], 1, 0),
    "noise of an office": ([Speak("noise_office.wav"), Silence(1_000)], 0, 0),
    "pink noise": ([Speak("noise_pink.wav"), Silence(1_000)], 0, 0),
    "music": ([Speak("music_synthetic.wav"), Silence(1_000)], 0, 0),
    "silence": ([Speak("silence.wav"), Silence(1_000)], 0, 0),
    "interruption": ([LAMP, BargeIn(FORWARD, after_ms=1_200), HEARD], 2, 1),
    "interruption over a bad line": (
        [Network(loss=0.02, jitter_ms=40, delay_ms=30), LAMP, BargeIn(FORWARD, after_ms=1_200), HEARD],
        2,
        1,
    ),
    "typed": ([LAMP, Silence(1_500), Type("Never mind."), HEARD], 2, 1),
}
"""Steps, turns of the user, interruptions."""


async def _play(voice_call: Any, folder: Path, steps: Sequence[Step], config: dict[str, Any]) -> Run:
    model = StandIn("none" if config else "detector", hears=(Hear("words"),) * 12, answers=(LONG,), otherwise=SHORT)
    case = Case(users=(Person(tuple(steps)),), name="recorded", config=config, models={"*": model})
    run: Run = await voice_call(case, folder=folder)
    return run.nothing_after_flush().transcript_equals_heard().tools_answered().no_self_interruption()


@pytest.mark.parametrize("config", [{}, pytest.param(BY_SERVER, marks=pytest.mark.night)], ids=["provider", "server"])
@pytest.mark.parametrize("name", SITUATIONS)
async def test_situation_with_a_real_voice(
    voice_call: Any, recordings_dir: Path, name: str, config: dict[str, Any]
) -> None:
    steps, turns, barge_ins = SITUATIONS[name]
    run = await _play(voice_call, recordings_dir / "audio", steps, config)
    run.turns(turns).barge_ins(barge_ins)
    for number in range(1, barge_ins + 1):
        run.barge_in(number).transcript_cut_at_heard_word()
    again = await _play(voice_call, recordings_dir / "audio", steps, config)
    assert again.record.log_bytes() == run.record.log_bytes()


@pytest.mark.parametrize("name", ["jfk_ask_not.wav", "beckett_try_again.wav", "tornadoes_pause.wav", "two_cities.wav"])
async def test_long_speech_with_pauses_is_answered_when_it_is_over(
    voice_call: Any, recordings_dir: Path, name: str
) -> None:
    run = await _play(voice_call, recordings_dir / "audio", [Speak(name), HEARD], {})
    last = run.user_turns[-1]
    assert [one.turn for one in run.responses if one.status == "completed"][-1:] == [last.number]
    run.response_latency.p95_below(ms=1_500)


async def test_short_sound_beside_an_answer_lets_it_go_on(voice_call: Any, recordings_dir: Path) -> None:
    steps: list[Step] = [LAMP, BargeIn(FORWARD, after_ms=1_200), HEARD, Silence(3_000)]
    run = await _play(voice_call, recordings_dir / "audio", steps, LET_ON)
    run.turns(2).barge_ins(0).agent_said("the days are still warm")


@pytest.mark.parametrize("name", ["katie_steve_dialog.wav", "mix_two_speakers.wav"])
async def test_two_people_at_once_do_not_stop_the_call(voice_call: Any, recordings_dir: Path, name: str) -> None:
    run = await _play(voice_call, recordings_dir / "audio", [Speak(name), HEARD, LAMP, HEARD], {})
    assert len(run.user_turns) >= 2
    assert run.responses[-1].status == "completed"
