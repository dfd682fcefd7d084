"""The situations of fixtures/calls in which the user talks over the reply, which stops or goes on."""

from __future__ import annotations

from typing import Any

from call_situations import (
    ANNA,
    ASK,
    BY_SERVER,
    CANCEL,
    CLEAR,
    COMMIT,
    HEARD,
    LONG,
    MM_HM,
    MONOLOGUE,
    NOON,
    SHORT,
    TIME,
    WAIT,
    Situation,
    situation,
)
from call_situations_turn import (
    CALLED,
    CREATED,
    FAR,
    INTO,
    LIVE,
    ORDER,
    PUSHES,
    SAID,
    SLOW,
    SOUND,
    STARTED,
)

from realtime.testing.cases.case import Returned
from realtime.testing.cases.stand_in import Call, Say, WriteText
from realtime.testing.client.steps import Send, Silence, Speak, Type, WaitFor

AT_ONCE: dict[str, Any] = {"turn_detection": {"interruption": "immediate"}}
"""A voice stops the agent at its onset, and a provider that finds the turns responds by itself."""
AT_ONCE_BY_SERVER: dict[str, Any] = {"turn_detection": {"authority": "server", "interruption": "immediate"}}
LET_ON: dict[str, Any] = {"turn_detection": {"authority": "server", "interrupt_response": False}}


def talk_over_situations() -> list[Situation]:
    """All of them."""
    return [*into_speech(), *let_on()]


def into_speech() -> list[Situation]:
    """The user types, commits and presses buttons while speaking."""

    def speak(name: str, about: str, *steps: Any, answers: Any, config: Any = BY_SERVER, **more: Any) -> Situation:
        return situation(name, about, (INTO, STARTED, *steps), answers, config=config, line=FAR, **more)

    later = Silence(900)
    return [
        speak(
            "typed_into_speech",
            "The user types while speaking, twice: each text is answered, and so is what was said when it is over.",
            later,
            Type("Hello."),
            SOUND,
            later,
            Type("Again."),
            SOUND,
            Silence(4_000),
            HEARD,
            answers=(LIVE, LIVE, SHORT),
            turns=3,
        ),
        speak(
            "typed_into_speech_by_provider",
            "The same where the provider finds the turns: a provider that answers has ended the turn, "
            "and a commit before its last answer is heard closes nothing.",
            later,
            Type("Hello."),
            SOUND,
            later,
            Type("Again."),
            CREATED,
            CREATED,
            Silence(500),
            Send(COMMIT),
            Silence(6_000),
            answers=(LIVE, SHORT, SLOW),
            hears=(str(MONOLOGUE.text), ""),
            config=AT_ONCE,
        ),
        speak(
            "ask_into_speech",
            "An answer is asked for while the user speaks, and once more when it is heard.",
            later,
            Send(ASK),
            SOUND,
            later,
            Send(ASK),
            Silence(7_500),
            answers=(LIVE, LIVE, SHORT),
        ),
        speak(
            "clear_into_speech",
            "What the user says is taken back and not answered. A typed turn is, and a voice interrupts its answer.",
            later,
            Send(CLEAR),
            Silence(5_000),
            Type("Hello."),
            SOUND,
            SAID,
            WAIT,
            HEARD,
            answers=(LIVE, SHORT),
            hears=(str(WAIT.text),),
            turns=3,
            barge_ins=1,
        ),
        speak(
            "cancel_into_speech",
            "An answer is asked for while the user speaks, and cancelled when it is heard.",
            later,
            Send(ASK),
            SOUND,
            later,
            Send(CANCEL),
            Silence(7_500),
            answers=(LIVE, SHORT),
        ),
        speak(
            "commit_into_speech",
            "The client ends the turn while the user speaks and an answer to a text is heard.",
            later,
            Type("Hello."),
            SOUND,
            later,
            Send(COMMIT),
            Silence(7_500),
            answers=(LIVE, LIVE, SHORT),
            hears=("I have been thinking", "about the garden"),
        ),
        speak(
            "commit_into_speech_by_provider",
            "The client ends the turn while the user speaks and the provider listens.",
            Silence(2_000),
            Send(COMMIT),
            Silence(7_500),
            answers=(LIVE, SHORT),
            hears=("I have been thinking", "about the garden"),
            config={},
        ),
        speak(
            "clear_into_speech_and_an_answer",
            "The client takes back what the user says while an answer to a text is heard; what follows is a turn.",
            later,
            Type("Hello."),
            SOUND,
            later,
            Send(CLEAR),
            Silence(4_500),
            TIME,
            HEARD,
            answers=(LIVE, SHORT, SHORT),
            config=AT_ONCE_BY_SERVER,
        ),
        speak(
            "tool_into_speech",
            "A text typed into speech needs a tool; what is said is over before the tool is.",
            later,
            Type("My order?"),
            CALLED,
            Silence(7_500),
            answers=(Call((ORDER,)), SHORT, NOON),
            tools={"lookup_order": (Returned("found", after_ms=7_000),)},
        ),
        speak(
            "speech_over_a_reply",
            "The user types while speaking; the speech ends while the answer is heard, which it interrupts.",
            Silence(2_000),
            Type("Hello."),
            Silence(7_000),
            answers=(LIVE, SHORT),
        ),
        speak(
            "commit_into_a_late_reply",
            "The client commits when the provider has ended the turn by answering a text: that closes nothing.",
            later,
            Type("Hello."),
            CREATED,
            Silence(500),
            Send(COMMIT),
            CREATED,
            Silence(500),
            Send(COMMIT),
            Silence(5_000),
            answers=(SLOW, SLOW, SHORT),
            hears=("I have been thinking", "about the garden"),
            config=AT_ONCE,
        ),
        speak(
            "hands_free_again_in_speech",
            "The client takes over while the user speaks, and gives the turns back to the provider before an answer to "
            "a text is heard: that ends the turn.",
            Silence(300),
            Send(PUSHES),
            Type("Hello."),
            CREATED,
            Send({"type": "client_session_update", "config": AT_ONCE}),
            SOUND,
            Silence(300),
            Send(COMMIT),
            Silence(6_000),
            answers=(Say(NOON.text, after_ms=1_200), SHORT),
            hears=("I have been thinking", "about the garden"),
            config=AT_ONCE,
        ),
    ]


def let_on() -> list[Situation]:
    """Speech does not stop the agent."""
    silent_end = {"turn_detection": {"authority": "server", "interrupt_response": False, "create_response": False}}
    stops: dict[str, Any] = {
        "type": "client_session_update",
        "config": {"turn_detection": {"authority": "server", "interrupt_response": True, "interruption": "immediate"}},
    }
    over = WaitFor("agent_input_done")
    by_provider = {"turn_detection": {"interrupt_response": False}}

    def beside(name: str, about: str, *steps: Any, answers: Any, config: Any = LET_ON, **more: Any) -> Situation:
        """The agent speaks, the user says something into it, and then `steps`."""
        asks = (Silence(800), Send(ASK)) if config == silent_end else ()
        begin = (TIME, *asks, SOUND, Silence(700), Speak(MM_HM.audio, text=MM_HM.text, wait=False), over)
        return situation(f"beside_{name}", about, (*begin, *steps), answers, config=config, line=FAR, **more)

    written = WriteText("Noted.")
    long = Say(LONG.text, pace=None, ms=9_000)
    live = Say(LONG.text, pace=1.0, ms=9_000)
    return [
        beside(
            "asked",
            "Beside what is still said, an answer is asked for.",
            Silence(300),
            Send(ASK),
            HEARD,
            answers=(live, SHORT),
            config=silent_end,
        ),
        beside(
            "cancelled",
            "What is still said is cancelled.",
            Silence(300),
            Send(CANCEL),
            Silence(1_500),
            ANNA,
            HEARD,
            answers=(live, SHORT),
        ),
        beside(
            "typed",
            "A text is typed into what is still said.",
            Silence(300),
            Type("Stop."),
            HEARD,
            answers=(live, SHORT),
        ),
        beside(
            "written",
            "What was said is answered in writing, while the first answer is still heard.",
            Silence(9_000),
            answers=(long, written),
        ),
        beside(
            "written_asked",
            "An answer is asked for after one in writing, while the first is still heard.",
            Silence(700),
            Send(ASK),
            HEARD,
            answers=(long, written, SHORT),
        ),
        beside(
            "written_typed",
            "A text is typed after one in writing, while the first is still heard.",
            Silence(700),
            Type("Stop."),
            HEARD,
            answers=(long, written, SHORT),
        ),
        beside(
            "written_cancelled",
            "The first answer is cancelled after one in writing.",
            Silence(700),
            Send(CANCEL),
            Silence(1_000),
            Send(ASK),
            HEARD,
            answers=(long, written, SHORT),
        ),
        beside(
            "written_spoken",
            "From now on speech stops the agent again, whose first answer is still heard.",
            Silence(700),
            Send(stops),
            Silence(100),
            MM_HM,
            HEARD,
            answers=(long, written, SHORT),
        ),
        beside(
            "written_committed",
            "From now on the client ends the turns, and does so while the agent is heard.",
            Silence(700),
            Send(PUSHES),
            Silence(400),
            Send(COMMIT),
            HEARD,
            answers=(long, written, SHORT),
            config=by_provider,
            hears=("What time is it?", "Mm-hm.", "Stop."),
        ),
        beside(
            "awaited_committed",
            "The client takes over the turns, and ends one while the next answer is awaited and the first is heard.",
            Silence(300),
            Send(PUSHES),
            Silence(400),
            Send(COMMIT),
            HEARD,
            answers=(long, Say(LONG.text, after_ms=4_000), SHORT),
            config=by_provider,
            hears=("What time is it?", "Mm-hm.", "Stop."),
        ),
        beside(
            "written_committed_late",
            "The same, when the agent has been heard to its end.",
            Silence(10_000),
            Send(PUSHES),
            Silence(400),
            Send(COMMIT),
            HEARD,
            answers=(long, written, SHORT),
            config=by_provider,
            hears=("What time is it?", "Mm-hm.", "Stop."),
        ),
    ]
