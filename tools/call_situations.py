"""The situations of fixtures/calls as a caller knows them: speech, pauses, noise, tools, lines that are lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from realtime.client.outbox import Client
from realtime.testing.cases.case import Case, Person, Returned
from realtime.testing.cases.expected import Expected, ToolUse
from realtime.testing.cases.stand_in import Answer, Call, HangUp, Hear, Say, StandIn, WriteText
from realtime.testing.client.steps import (
    BargeIn,
    Drop,
    Leave,
    Network,
    Send,
    Silence,
    Speak,
    Step,
    Type,
    WaitFor,
    WaitUntilHeard,
)
from realtime.testing.score.labels import LabelClass
from tests.calls.distant import Line

SHARED = "../../audio/"
OWN = "../audio/"

CLIPS: dict[str, list[tuple[str, str, int]]] = {
    "mm_hm.flac": [("heart", "Mm-hm.", 0)],
    "wait_a_moment.flac": [("espeak", "No, wait a moment.", 0)],
    "monologue.flac": [
        ("heart-low", "I have been thinking about the garden all week,", 250),
        ("heart-low", "and I believe the old apple tree has to go,", 300),
        ("heart-low", "because its roots have reached the wall of the house,", 350),
        ("heart-low", "and the gardener says that it will only get worse.", 0),
    ],
}
"""(voice, text, silence behind it in ms) of each clip in fixtures/calls/audio."""

TIME = Speak(SHARED + "what_time.wav", text="What time is it?")
ANNA = Speak(SHARED + "hello_anna.wav", text="Hello there, my name is Anna.")
TWELVE = Speak(SHARED + "twelve_times_seven.wav", text="What is twelve times seven?")
TIMER = Speak(SHARED + "set_timer.wav", text="Please set a timer for five seconds.")
DATE = Speak(SHARED + "what_date.wav", text="Tell me the date of today.")
STOP = Speak(SHARED + "barge_in.wav", text="Stop, please. That is enough.")
MUMBLE = Speak(SHARED + "barge_in.wav", text="")
TRIP = Speak(
    SHARED + "trip_pauses.flac",
    text="I would like to plan a trip, perhaps to the mountains, and I need to know how cold it gets at night in the "
    "first week of October.",
)
MM_HM = Speak(OWN + "mm_hm.flac", text="Mm-hm.")
WAIT = Speak(OWN + "wait_a_moment.flac", text="No, wait a moment.")
MONOLOGUE = Speak(OWN + "monologue.flac", text=" ".join(text for _, text, _ in CLIPS["monologue.flac"]))

HEARD = WaitUntilHeard()
NOON = Say("It is twelve o'clock.")
LONG = Say("Let me tell you about the mountains in October, where the nights are cold and the days are still warm.")
SHORT = Say("All right.")
ASK: dict[str, Any] = {"type": "client_response_create"}
CANCEL: dict[str, Any] = {"type": "client_response_cancel"}
COMMIT: dict[str, Any] = {"type": "client_audio_commit"}
CLEAR: dict[str, Any] = {"type": "client_audio_clear"}
BY_SERVER: dict[str, Any] = {"turn_detection": {"authority": "server"}}
BY_CLIENT: dict[str, Any] = {"turn_detection": "none"}


@dataclass(frozen=True)
class Situation:
    """A case, and the line to its model where that is not in the process."""

    case: Case
    line: Line | None = None
    labels: tuple[LabelClass, ...] | None = None
    """What each spoken sound is, in order; None writes no `labels.json`."""


def situation(
    name: str,
    about: str,
    steps: Sequence[Step],
    answers: Sequence[Answer] = (),
    *,
    hears: Sequence[str | Hear] | None = None,
    config: dict[str, Any] | None = None,
    line: Line | None = None,
    tools: dict[str, tuple[Returned, ...]] | None = None,
    client: Client = "realtime.v1",
    positions: bool = False,
    calls: tuple[ToolUse, ...] = (),
    labels: tuple[LabelClass, ...] | None = None,
    **expected: Any,
) -> Situation:
    """A situation. Without `hears` the model understands what was spoken, in order."""
    detection = (config or {}).get("turn_detection")
    elsewhere = detection == "none" or (isinstance(detection, dict) and detection.get("authority") == "server")
    if hears is None:
        speeches = [step.speech if isinstance(step, BargeIn) else step for step in steps]
        hears = [one.text for one in speeches if isinstance(one, Speak) and one.text]
    heard = tuple(Hear(one) if isinstance(one, str) else one for one in hears)
    turns: Any = "positions" if positions else "none" if elsewhere else "detector"
    case = Case(
        name=name,
        about=about,
        config=config or {},
        users=(Person(tuple(steps), client=client),),
        models={"*": StandIn(turns, heard, tuple(answers))},
        tools=tools or {},
        seed=7,
        expect=Expected(**expected, tools=calls, log=True),
    )
    return Situation(case, line, labels)


def situations() -> list[Situation]:
    """All of them."""
    return [*speech(), *interruptions(), *tools(), *networks()]


def speech() -> list[Situation]:
    """Turns, and what is none."""
    monologue = str(MONOLOGUE.text)
    return [
        situation(
            "question",
            "One question, one answer, heard to its end.",
            [TIME, HEARD],
            [NOON],
            user_said=("What time is it?",),
            agent_said=("twelve o'clock",),
            turns=1,
            barge_ins=0,
            no_dead_air_ms=1_500,
            response_p95_below_ms=1_200,
        ),
        situation(
            "question_by_server",
            "The same with a model that has no detector: the server finds the turn.",
            [TIME, HEARD],
            [NOON],
            config=BY_SERVER,
            user_said=("What time is it?",),
            turns=1,
            barge_ins=0,
        ),
        situation(
            "three_voices",
            "A low voice, a high one and one of formant synthesis take turns; each is answered.",
            [TIME, HEARD, ANNA, HEARD, DATE, HEARD],
            [NOON, SHORT, SHORT],
            turns=3,
            barge_ins=0,
        ),
        situation(
            "pauses_in_a_turn",
            "Pauses of up to a second in one turn. Each answer that begins in one is withdrawn: nobody hears it, and "
            "the pieces are one turn.",
            [TRIP, HEARD],
            [LONG] * 6,
            hears=[
                "I would like to plan a trip,",
                "perhaps to the mountains, and I need to know",
                "how cold it gets at night",
                "in the first week of October.",
            ],
            turns=1,
            barge_ins=0,
        ),
        situation(
            "pauses_in_a_turn_immediate",
            "The same where a voice stops an answer at its onset.",
            [TRIP, HEARD],
            [LONG] * 6,
            hears=[
                "I would like to plan a trip,",
                "perhaps to the mountains, and I need to know",
                "how cold it gets at night",
                "in the first week of October.",
            ],
            config={"turn_detection": {"interruption": "immediate"}},
            turns=1,
            barge_ins=0,
        ),
        situation(
            "pauses_in_a_turn_by_server",
            "The same where the server finds the turns.",
            [TRIP, HEARD],
            [LONG] * 6,
            hears=[
                "I would like to plan a trip,",
                "perhaps to the mountains, and I need to know",
                "how cold it gets at night",
                "in the first week of October.",
            ],
            config=BY_SERVER,
            turns=1,
            barge_ins=0,
        ),
        situation(
            "hasty_answer_heard_whole",
            "A very short answer is heard to its end before the user goes on: that is a new turn, nothing is undone.",
            [TIME, WaitFor("agent_response_done"), Silence(150), Speak(MM_HM.audio, text="Mm-hm.", from_ms=380), HEARD],
            [Say("Noon.", ms=180, after_ms=20), SHORT],
            turns=2,
            barge_ins=0,
        ),
        situation(
            "monologue",
            "A user speaks for a quarter of a minute with breaths between: one turn.",
            [MONOLOGUE, HEARD],
            [SHORT],
            hears=[monologue],
            user_said=(monologue,),
            turns=1,
            barge_ins=0,
        ),
        situation(
            "silence",
            "Nobody says anything: nothing is answered.",
            [Silence(4_000), Leave()],
            [NOON],
            labels=(),
            score={"dead air": 0.0},
            turns=0,
        ),
        situation(
            "noise",
            "A noisy room, clicks and breaths: no turn.",
            [Speak(SHARED + "noise_room.flac"), Speak(SHARED + "clicks_breaths.flac"), Silence(1_000)],
            [NOON],
            turns=0,
        ),
        situation(
            "music",
            "Music plays: no turn.",
            [Speak(SHARED + "music_synthetic.flac"), Silence(1_000)],
            [NOON],
            turns=0,
        ),
        situation(
            "noise_under_a_reply",
            "A noisy room while the agent speaks: it speaks on.",
            [TIME, WaitFor("agent_response_audio_delta"), Speak(SHARED + "noise_room.flac"), Silence(4_000)],
            [LONG],
            turns=1,
            barge_ins=0,
            agent_said=("the days are still warm",),
        ),
        situation(
            "question_over_noise",
            "A question over pink noise, and one with white noise 15 dB below it.",
            [
                Speak(SHARED + "mix_anna_pink_10dB.wav", text=ANNA.text),
                HEARD,
                Speak(SHARED + "twelve_times_seven.wav", text=TWELVE.text, noise="white", snr_db=15),
                HEARD,
            ],
            [SHORT, Say("Eighty-four.")],
            turns=2,
            barge_ins=0,
        ),
        situation(
            "quiet_voice",
            "A question 20 dB more quietly than usual.",
            [Speak(SHARED + "what_time.wav", text=TIME.text, gain_db=-20), HEARD],
            [NOON],
            turns=1,
        ),
        situation(
            "two_speakers",
            "Two people talk to each other, about a second apart: each answer that begins between them is withdrawn, "
            "and what they say is one turn.",
            [Speak(SHARED + "dialog.flac"), HEARD],
            [LONG] * 4,
            hears=[
                "Did you hear the rain last night?",
                "Yes, it kept me awake for hours.",
                "Then let us take a long break today.",
            ],
            turns=1,
            barge_ins=0,
        ),
        situation(
            "backchannel",
            "A short sound of assent: the agent speaks lower for a moment and goes on to its end.",
            [TIME, BargeIn(MM_HM, after_ms=1_200), HEARD, Silence(2_000)],
            [LONG, SHORT],
            turns=1,
            barge_ins=0,
            agent_said=("the days are still warm",),
        ),
        situation(
            "backchannel_immediate",
            "The same where each voice stops the agent.",
            [TIME, BargeIn(MM_HM, after_ms=1_200), HEARD],
            [LONG, SHORT],
            config={"turn_detection": {"interruption": "immediate"}},
            turns=2,
            barge_ins=1,
        ),
        situation(
            "wordless_voice",
            "A voice without recognisable words interrupts: the agent goes on where it stopped, and no word is lost.",
            [TIME, BargeIn(MUMBLE, after_ms=1_200), HEARD],
            [LONG, SHORT],
            hears=["What time is it?", ""],
            config={"turn_detection": {"interruption": "selective"}},
            turns=2,
            no_dead_air_ms=2_000,
        ),
        situation(
            "wordless_voice_by_server",
            "The same where the server finds the turns.",
            [TIME, BargeIn(MUMBLE, after_ms=1_200), HEARD],
            [LONG, SHORT],
            hears=["What time is it?", ""],
            config={"turn_detection": {"authority": "server", "interruption": "selective"}},
            turns=2,
            no_dead_air_ms=2_000,
        ),
        situation(
            "backchannel_let_on",
            "The same where speech does not stop the agent: it is heard to its end.",
            [TIME, BargeIn(MM_HM, after_ms=1_200), HEARD, Silence(3_000)],
            [LONG, SHORT],
            config={"turn_detection": {"authority": "server", "interrupt_response": False}},
            turns=2,
            barge_ins=0,
            agent_said=("the days are still warm",),
        ),
        situation(
            "on_request",
            "The end of a turn asks for nothing: the client asks when it wants an answer.",
            [TIME, Silence(2_000), Send(ASK), HEARD],
            [NOON],
            config={"turn_detection": {"create_response": False}},
            turns=1,
            agent_said=("twelve o'clock",),
        ),
        situation(
            "text_frames",
            "A page that knows no binary frames.",
            [TIME, HEARD, ANNA, BargeIn(STOP, after_ms=700), HEARD],
            [NOON, LONG, SHORT],
            client="json",
            turns=3,
            barge_ins=1,
        ),
        situation(
            "old_page",
            "A page of AgentScope 1.x, which does not tell what it played.",
            [TIME, HEARD, ANNA, BargeIn(STOP, after_ms=700), HEARD],
            [NOON, LONG, SHORT],
            client="agentscope1",
            labels=("turn", "turn", "interruption"),
            score={"R_R": 1.0, "R_Y": 1.0, "L_Y": 560.0, "EVA": 0.908},
            turns=3,
        ),
    ]


def interruptions() -> list[Situation]:
    """A voice or a text in the middle of an answer."""
    return [
        situation(
            "interruption",
            "The user interrupts an answer after 1.5 s of it.",
            [TIME, BargeIn(STOP, after_ms=1_500), HEARD],
            [LONG, SHORT],
            turns=2,
            barge_ins=1,
        ),
        situation(
            "interruption_immediate",
            "The same where the answer stops at the onset of the voice.",
            [TIME, BargeIn(STOP, after_ms=1_500), HEARD],
            [LONG, SHORT],
            config={"turn_detection": {"interruption": "immediate"}},
            turns=2,
            barge_ins=1,
        ),
        situation(
            "interruption_by_server",
            "The same where the server finds the turns, and the model still speaks and is some way off.",
            [TIME, BargeIn(WAIT, after_ms=1_500), HEARD],
            [Say(LONG.text, pace=1.0), SHORT],
            config=BY_SERVER,
            line=Line(delay_ms=60),
            turns=2,
            barge_ins=1,
        ),
        situation(
            "interruption_at_a_word",
            "The user interrupts when a certain word was heard.",
            [TIME, BargeIn(WAIT, at_word="October"), HEARD],
            [LONG, SHORT],
            turns=2,
            barge_ins=1,
            agent_said=("the mountains",),
        ),
        situation(
            "interruption_while_it_thinks",
            "The user goes on to ask something else, long before the first sound of a slow answer.",
            [TIME, Silence(1_200), TWELVE, HEARD],
            [Say(LONG.text, after_ms=4_000), SHORT],
            turns=2,
        ),
        situation(
            "interruption_while_it_thinks_by_server",
            "The same where the server finds the turns.",
            [TIME, Silence(1_200), TWELVE, HEARD],
            [Say(LONG.text, after_ms=4_000), SHORT],
            config=BY_SERVER,
            line=Line(delay_ms=60),
            turns=2,
        ),
        situation(
            "twice_interrupted",
            "The answer to an interruption is interrupted, too.",
            [TIME, BargeIn(STOP, after_ms=900), BargeIn(WAIT, after_ms=600), HEARD],
            [LONG, LONG, SHORT],
            turns=3,
            barge_ins=2,
        ),
        situation(
            "typed",
            "A typed question is answered by voice, another in writing.",
            [Type("What time is it?"), HEARD, Type("And in writing?"), Silence(1_500)],
            [NOON, WriteText("Twelve o'clock.")],
            turns=2,
            user_said=("What time is it?", "And in writing?"),
            agent_said=("twelve o'clock",),
        ),
    ]


def tools() -> list[Situation]:
    """Answers that need tools."""
    order = ToolUse("lookup_order", {"id": "A-17"})
    mail = ToolUse("send_mail", {"to": "anna"})
    sent = {"send_mail": (Returned("sent", after_ms=900),)}
    return [
        situation(
            "tool",
            "A tool is called and its result is spoken.",
            [TIME, HEARD],
            [Call((order,)), NOON],
            tools={"lookup_order": (Returned({"state": "sent"}, after_ms=400),)},
            calls=(order,),
            turns=1,
        ),
        situation(
            "tools_in_parallel",
            "Two tools at once; the answer waits for both.",
            [TIME, HEARD],
            [Call((order, mail)), NOON],
            tools={"lookup_order": (Returned("found", after_ms=200),), **sent},
            calls=(order, mail),
            turns=1,
        ),
        situation(
            "tool_error",
            "A tool fails, and the model speaks about it.",
            [TIME, HEARD],
            [Call((order,)), Say("I cannot find it.")],
            tools={"lookup_order": (Returned("there is no such order", state="error"),)},
            calls=(order,),
            agent_said=("cannot find",),
            turns=1,
        ),
        situation(
            "interruption_of_a_tool",
            "The user speaks while a tool takes long: its result comes, and nobody speaks about it.",
            [TIME, BargeIn(WAIT, on_tool="lookup_order"), HEARD, Silence(3_000)],
            [Call((order,)), SHORT, NOON],
            config=BY_SERVER,
            tools={"lookup_order": (Returned("found", after_ms=5_000),)},
            calls=(order,),
            turns=2,
        ),
        situation(
            "typed_while_a_tool_runs",
            "The same with a typed text.",
            [TIME, WaitFor("agent_response_tool_use_done"), Silence(500), Type("Never mind."), HEARD, Silence(4_000)],
            [Call((order,)), SHORT, NOON],
            tools={"lookup_order": (Returned("found", after_ms=4_000),)},
            calls=(order,),
            turns=2,
        ),
        situation(
            "tool_cancelled",
            "The client cancels while a tool runs: the tool is stopped, and nobody speaks about it.",
            [TIME, WaitFor("agent_response_tool_use_done"), Silence(500), Send(CANCEL), Silence(3_000)],
            [Call((order,)), NOON],
            tools={"lookup_order": (Returned("found", after_ms=2_000),)},
            calls=(order,),
            turns=1,
        ),
    ]


def networks() -> list[Situation]:
    """Sockets, lines and providers that do not hold."""
    return [
        situation(
            "lost_while_silent",
            "The socket is lost while nobody speaks.",
            [TIME, HEARD, Drop(away_ms=1_500), ANNA, HEARD],
            [NOON, SHORT],
            turns=2,
            barge_ins=0,
        ),
        situation(
            "lost_while_the_user_speaks",
            "The socket is lost in the middle of a question: what was said meanwhile is said again.",
            [
                Speak(TIMER.audio, text=TIMER.text, wait=False),
                Silence(1_000),
                Drop(away_ms=1_000),
                HEARD,
            ],
            [SHORT],
            turns=1,
            barge_ins=0,
        ),
        situation(
            "lost_while_it_thinks",
            "The socket is lost before the answer comes.",
            [TIME, Silence(600), Drop(away_ms=2_000), HEARD],
            [Say(NOON.text, after_ms=1_500)],
            turns=1,
            barge_ins=0,
            agent_said=("twelve o'clock",),
        ),
        situation(
            "lost_while_it_speaks",
            "The socket is lost in the middle of an answer, which goes on where it was heard.",
            [TIME, WaitFor("agent_response_audio_delta"), Silence(1_500), Drop(away_ms=1_200), HEARD],
            [LONG],
            turns=1,
            barge_ins=0,
            agent_said=("the days are still warm",),
        ),
        situation(
            "lost_unnoticed",
            "The server believes in the old socket when the page comes back with a new one.",
            [TIME, WaitFor("agent_response_audio_delta"), Silence(1_500), Drop(away_ms=1_200, noticed=False), HEARD],
            [LONG],
            turns=1,
            barge_ins=0,
            agent_said=("the days are still warm",),
        ),
        situation(
            "lossy_network",
            "Five frames of a hundred never arrive, others are up to 80 ms late.",
            [Network(loss=0.05, jitter_ms=80, delay_ms=40), TIME, HEARD, ANNA, BargeIn(STOP, after_ms=900), HEARD],
            [NOON, LONG, SHORT],
            labels=("turn", "turn", "interruption"),
            score={"R_R": 1.0, "R_Y": 1.0, "L_Y": 890.0, "EVA": 0.853},
            turns=3,
            barge_ins=1,
        ),
        situation(
            "provider_hangs_up",
            "The provider ends its session instead of an answer.",
            [TIME, WaitFor("agent_ended")],
            [HangUp("provider_closed")],
            turns=1,
        ),
    ]
