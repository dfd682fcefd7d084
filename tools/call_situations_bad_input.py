"""The situations of fixtures/calls with bad input, each with its labels and its score."""

from __future__ import annotations

from call_situations import (
    ANNA,
    HEARD,
    LONG,
    MM_HM,
    NOON,
    OWN,
    SHARED,
    SHORT,
    STOP,
    TIME,
    TRIP,
    Situation,
    situation,
)

from realtime.testing.cases.stand_in import Say
from realtime.testing.client.steps import BargeIn, Silence, Speak, WaitFor
from realtime.testing.score.labels import LabelClass

TELEPHONE = "what_time_8khz.pcm"
TELEPHONE_HZ = 8_000
MINUTE = Say(" ".join(["There is a lot to tell about the mountains."] * 23), ms=60_000)
MM_HMS = 15
"""One every 3.8 s of the minute."""
BACKCHANNEL: LabelClass = "backchannel"


def bad_input_situations() -> list[Situation]:
    """All of them, but for silence, lost frames and a page that does not report playback: call_situations.py."""
    sounds = WaitFor("agent_response_audio_delta")
    return [
        situation(
            "clipped",
            "A question 40 dB too loud: nearly every sample is at full scale. It is answered.",
            [Speak(TIME.audio, text=TIME.text, gain_db=40), HEARD],
            [NOON],
            labels=("turn",),
            score={"R_R": 1.0, "EVA": 0.87},
            turns=1,
            barge_ins=0,
        ),
        situation(
            "telephone",
            "A question recorded at 8 kHz. It is answered.",
            [Speak(OWN + TELEPHONE, text=TIME.text, rate_hz=TELEPHONE_HZ), HEARD],
            [NOON],
            labels=("turn",),
            score={"R_R": 1.0, "EVA": 1.0},
            turns=1,
            barge_ins=0,
        ),
        situation(
            "wrong_rate",
            "The same where the client takes the samples for 16 kHz: the voice is twice as fast and an octave higher.",
            [Speak(OWN + TELEPHONE, text=TIME.text), HEARD],
            [NOON],
            labels=("turn",),
            score={"R_R": 1.0, "EVA": 1.0},
            turns=1,
            barge_ins=0,
        ),
        situation(
            "two_at_once",
            "Two people speak at the same time, 3 dB apart: first to the silent agent, then over its answer.",
            [
                Speak(TIME.audio, text=TIME.text, noise=ANNA.audio, snr_db=3),
                BargeIn(Speak(STOP.audio, text=STOP.text, noise=ANNA.audio, snr_db=3), after_ms=1_500),
                HEARD,
            ],
            [LONG, SHORT],
            labels=("turn", "interruption"),
            score={"R_R": 1.0, "R_Y": 1.0, "L_Y": 680.0, "EVA": 0.832},
            turns=2,
            barge_ins=1,
        ),
        situation(
            "mm_hm_for_a_minute",
            "The user says nothing but mm-hm during an answer of a minute, which is heard to its end.",
            [TIME, sounds, *[step for _ in range(MM_HMS) for step in (Silence(2_500), MM_HM)], HEARD],
            [MINUTE, SHORT],
            labels=("turn", *[BACKCHANNEL] * MM_HMS),
            score={"S_BC": 1.0, "EVA": 1.0, "dead air": 0.0},
            turns=1,
            barge_ins=0,
        ),
        situation(
            "radio",
            "A radio plays in the room, 20 dB below the user's voice: people who talk over music. The answer goes on, "
            "and the radio is not answered.",
            [
                TIME,
                sounds,
                Silence(500),
                Speak(SHARED + "dialog.flac", gain_db=-20, noise=SHARED + "music_synthetic.flac", snr_db=10),
                Silence(2_500),
            ],
            [Say(LONG.text, ms=6_000), SHORT, SHORT],
            labels=("turn", "side"),
            score={"S_ND": 1.0, "EVA": 1.0},
            barge_ins=0,
        ),
        situation(
            "answer_before_the_decision",
            "A model whose whole answer is there at once, in each pause of the user's turn: two answers are heard to "
            "begin before they are withdrawn, and the pieces are one turn.",
            [TRIP, HEARD],
            [Say(LONG.text, after_ms=0, pace=None)] * 6,
            hears=[
                "I would like to plan a trip,",
                "perhaps to the mountains, and I need to know",
                "how cold it gets at night",
                "in the first week of October.",
            ],
            labels=("turn",),
            score={"R_R": 1.0, "I_A": 2.0, "EVA": 0.08},
            turns=1,
            barge_ins=0,
        ),
    ]
