"""The situations of fixtures/calls that the rows of the turn table need: every signal in every state.

Where a model has to be asked to be silent, it is 60 ms off: what it says until it knows must not be heard.
"""

from __future__ import annotations

from typing import Any

from call_situations import (
    ASK,
    BY_CLIENT,
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
    TWELVE,
    WAIT,
    Situation,
    situation,
)

from realtime.testing.cases.case import Returned
from realtime.testing.cases.expected import ToolUse
from realtime.testing.cases.stand_in import Call, Nothing, Say, WriteText
from realtime.testing.client.steps import Send, Silence, Speak, Type, WaitFor
from tests.calls.distant import Line

FAR = Line(delay_ms=60)
SLOW = Say(LONG.text, after_ms=4_000)
LIVE = Say(LONG.text, pace=1.0)
"""The model is still speaking for as long as it is heard."""
ORDER = ToolUse("lookup_order", {"id": "A-17"})
FOUND = {"lookup_order": (Returned("found", after_ms=4_000),)}
CALLED = WaitFor("agent_response_tool_use_done")
SOUND = WaitFor("agent_response_audio_delta")
CREATED = WaitFor("agent_response_created")
STARTED = WaitFor("agent_input_started")
SAID = Silence(1_300)
INTO = Speak(MONOLOGUE.audio, text=MONOLOGUE.text, to_ms=5_600, wait=False)
PUSHES: dict[str, Any] = {"type": "client_session_update", "config": {"turn_detection": "none"}}
FREES: dict[str, Any] = {"type": "client_session_update", "config": {"turn_detection": {"authority": "provider"}}}


def turn_situations() -> list[Situation]:
    """All of them."""
    return [*push_to_talk(), *buttons(), *lost_links()]


def push_to_talk() -> list[Situation]:
    """The client says when a turn is over."""

    def talk(name: str, about: str, *steps: Any, answers: Any = (NOON, SHORT), **more: Any) -> Situation:
        return situation(f"push_{name}", about, steps, answers, config=BY_CLIENT, line=FAR, **more)

    def free(name: str, about: str, *steps: Any, **more: Any) -> Situation:
        both = (Send(PUSHES), Silence(400), *steps, SOUND, Send(FREES), SAID, WAIT, HEARD)
        return situation(f"hands_free_again{name}", about, both, line=FAR, **more)

    return [
        talk("to_talk", "A turn is committed when the user lets go.", TIME, Send(COMMIT), HEARD, turns=1, barge_ins=0),
        talk(
            "into_a_reply",
            "A turn that is committed while the agent speaks interrupts it.",
            TIME,
            Send(COMMIT),
            SOUND,
            SAID,
            MM_HM,
            Send(COMMIT),
            HEARD,
            answers=(LIVE, SHORT),
            turns=2,
            barge_ins=1,
        ),
        talk(
            "while_it_thinks",
            "A turn that is committed while the model thinks takes the place of the one before.",
            TIME,
            Send(COMMIT),
            Silence(700),
            MM_HM,
            Send(COMMIT),
            HEARD,
            answers=(SLOW, SHORT),
            turns=2,
        ),
        talk(
            "while_a_tool_runs",
            "A turn that is committed while a tool runs: nobody speaks about what the tool returns.",
            TIME,
            Send(COMMIT),
            CALLED,
            Silence(300),
            MM_HM,
            Send(COMMIT),
            HEARD,
            Silence(3_500),
            answers=(Call((ORDER,)), SHORT, NOON),
            tools=FOUND,
            turns=2,
        ),
        talk(
            "before_it_begins",
            "Two turns are committed in a row, before the model has begun to answer the first.",
            TIME,
            Send(COMMIT),
            Silence(110),
            Send(COMMIT),
            HEARD,
            Silence(1_000),
            answers=(NOON, SHORT),
            hears=("What time is it?", "Or is it?"),
        ),
        talk(
            "into_silence",
            "A voice that nobody commits is no turn; text and buttons work all the same.",
            TIME,
            Silence(2_000),
            Type("Hello."),
            HEARD,
            Send(ASK),
            HEARD,
            Send(CANCEL),
            Silence(500),
            answers=(SHORT, NOON),
        ),
        free(
            "",
            "A commit is answered, then the provider finds the turns: a voice interrupts.",
            Send(COMMIT),
            answers=(LIVE, SHORT),
            hears=("", "Mm-hm."),
        ),
        free(
            "_after_two",
            "The same after a commit that interrupts.",
            Send(COMMIT),
            SOUND,
            SAID,
            Send(COMMIT),
            answers=(LIVE, LIVE, SHORT),
            hears=("", "", "Mm-hm."),
        ),
        free(
            "_after_two_in_a_row",
            "The same after a commit while the model thinks.",
            Send(COMMIT),
            Silence(700),
            Send(COMMIT),
            answers=(SLOW, LIVE, SHORT),
            hears=("", "", "Mm-hm."),
        ),
        situation(
            "commit_into_silence",
            "A commit where the provider finds the turns: no speech came before it, so it closes nothing.",
            [
                TIME,
                SOUND,
                SAID,
                Send(COMMIT),
                HEARD,
                Send(COMMIT),
                Silence(1_000),
                TWELVE,
                Silence(700),
                Send(COMMIT),
                HEARD,
            ],
            [LONG, SLOW],
            turns=2,
            barge_ins=0,
        ),
    ]


def buttons() -> list[Situation]:
    """`client_response_create`, `client_response_cancel` and typed texts; a voice interrupts what comes of them."""

    def press(name: str, about: str, *steps: Any, answers: Any, **more: Any) -> Situation:
        settings: dict[str, Any] = {"line": FAR, "config": BY_SERVER}
        return situation(name, about, steps, answers, **(settings | more))

    interrupted = (SOUND, SAID, WAIT, HEARD)
    asked = {"turn_detection": {"authority": "server", "create_response": False}}
    return [
        press(
            "ask_in_silence",
            "An answer is asked for though nobody spoke.",
            Send(ASK),
            *interrupted,
            answers=(LIVE, SHORT),
            turns=1,
            barge_ins=1,
        ),
        press(
            "ask_for_each",
            "The end of a turn asks for nothing: the client asks.",
            TIME,
            Silence(500),
            Send(ASK),
            SOUND,
            SAID,
            WAIT,
            Silence(1_500),
            answers=(LIVE, SHORT),
            config=asked,
        ),
        press(
            "ask_into_a_reply",
            "An answer is asked for while the agent speaks: it begins anew.",
            TIME,
            SOUND,
            SAID,
            Send(ASK),
            *interrupted,
            answers=(LIVE, LIVE, SHORT),
            turns=2,
            barge_ins=2,
        ),
        press(
            "ask_while_it_thinks",
            "An answer is asked for while one is on its way: that one is it.",
            TIME,
            CREATED,
            Silence(500),
            Send(ASK),
            Silence(4_000),
            answers=(Say(NOON.text, after_ms=2_000), SHORT),
            config={},
            turns=1,
        ),
        press(
            "cancel_in_silence",
            "There is nothing to cancel.",
            Send(CANCEL),
            Silence(500),
            Type("Hello."),
            *interrupted,
            answers=(LIVE, SHORT),
            turns=2,
            barge_ins=1,
        ),
        press(
            "cancel_a_reply",
            "An answer is cancelled while it is spoken; the next one is heard.",
            TIME,
            SOUND,
            SAID,
            Send(CANCEL),
            Silence(500),
            Type("Hello."),
            *interrupted,
            answers=(LIVE, LIVE, SHORT),
            turns=3,
            barge_ins=2,
        ),
        press(
            "cancel_while_it_thinks",
            "An answer is cancelled before its first sound.",
            TIME,
            CREATED,
            Silence(500),
            Send(CANCEL),
            Silence(4_500),
            Type("Hello."),
            *interrupted,
            answers=(SLOW, LIVE, SHORT),
            turns=3,
        ),
        press(
            "cancel_before_it_begins",
            "An answer is asked for and cancelled at once: it never comes.",
            Send(ASK),
            Send(CANCEL),
            Silence(1_500),
            Send(ASK),
            HEARD,
            answers=(NOON, SHORT),
        ),
        press(
            "typed_then_spoken",
            "The answer to a typed text is interrupted by voice.",
            Type("Hello."),
            *interrupted,
            answers=(LIVE, SHORT),
            turns=2,
            barge_ins=1,
        ),
        press(
            "typed_into_a_reply",
            "A typed text interrupts an answer that the model still speaks; a voice interrupts the next.",
            TIME,
            SOUND,
            SAID,
            Type("Stop."),
            *interrupted,
            answers=(LIVE, LIVE, SHORT),
            turns=3,
            barge_ins=2,
        ),
        press(
            "typed_while_it_thinks",
            "A typed text comes before the first sound of a slow answer; a voice interrupts the next.",
            TIME,
            CREATED,
            Silence(500),
            Type("Never mind."),
            *interrupted,
            answers=(SLOW, LIVE, SHORT),
            turns=3,
        ),
        press(
            "typed_twice",
            "Two texts are typed in a row: the second is answered.",
            Type("What time is it?"),
            Type("And the date?"),
            HEARD,
            Silence(1_000),
            answers=(NOON, SHORT),
            turns=2,
        ),
        press(
            "written_then_spoken",
            "A written answer, then speech.",
            Type("In writing, please."),
            Silence(1_500),
            TIME,
            HEARD,
            answers=(WriteText("Gladly."), NOON),
            turns=2,
        ),
    ]


def lost_links() -> list[Situation]:
    """The line to the provider is lost: what is owed comes when it is back, and nothing else does."""

    def lost(name: str, about: str, at: tuple[int, int], *steps: Any, answers: Any, **more: Any) -> Situation:
        # The provider responds by itself. Links are lost in both modes in tests/agent/test_dropped_socket.py.
        config = more.pop("config", {"turn_detection": {"interruption": "immediate"}})
        return situation(f"link_lost_{name}", about, steps, answers, line=Line(40, (at,)), config=config, **more)

    return [
        lost(
            "in_silence",
            "Nobody speaks and nothing is owed.",
            (5_000, 5_600),
            TIME,
            HEARD,
            Silence(4_000),
            answers=(NOON, SHORT),
            turns=1,
        ),
        lost(
            "while_it_speaks",
            "The answer goes on when the line is back.",
            (4_000, 4_600),
            TIME,
            HEARD,
            Silence(3_000),
            answers=(LIVE, SHORT),
        ),
        lost(
            "while_it_thinks",
            "The provider has not begun to answer: it is asked when the line is back.",
            (4_000, 4_600),
            TIME,
            Silence(5_000),
            answers=(Nothing(), SHORT),
        ),
        lost(
            "after_writing",
            "The turn was answered in writing: nothing is owed.",
            (4_500, 5_000),
            TIME,
            Silence(5_000),
            answers=(WriteText("Noon."), SHORT),
        ),
        lost(
            "after_a_cancel",
            "The answer was cancelled while it was spoken: nothing is owed.",
            (5_500, 6_000),
            TIME,
            SOUND,
            SAID,
            Send(CANCEL),
            Silence(4_000),
            answers=(LIVE, SHORT),
        ),
        lost(
            "after_a_clear",
            "The user takes back what was said so far; the provider answers the rest once.",
            (5_500, 6_000),
            INTO,
            STARTED,
            Silence(900),
            Send(CLEAR),
            Silence(7_000),
            answers=(SHORT,),
        ),
        lost(
            "after_an_early_cancel",
            "The answer was cancelled before its first sound: nothing is owed.",
            (5_500, 6_000),
            TIME,
            CREATED,
            Silence(500),
            Send(CANCEL),
            Silence(5_000),
            answers=(SLOW, SHORT),
        ),
        lost(
            "after_a_late_cancel",
            "There was nothing to cancel, and nothing is owed.",
            (6_500, 7_000),
            TIME,
            HEARD,
            Silence(300),
            Send(CANCEL),
            Silence(5_000),
            answers=(NOON, SHORT),
        ),
        lost(
            "after_speech_began",
            "The user speaks when the line is lost: what was said is said again.",
            (4_700, 5_100),
            TIME,
            HEARD,
            TWELVE,
            HEARD,
            answers=(NOON, SHORT),
            hears=("What time is it?", "", ""),
        ),
        lost(
            "after_a_commit",
            "The page commits when its microphone is switched off: nothing was said, nothing is owed.",
            (5_500, 6_000),
            TIME,
            HEARD,
            Silence(600),
            Send(COMMIT),
            Silence(4_000),
            answers=(NOON, SHORT),
        ),
    ]
