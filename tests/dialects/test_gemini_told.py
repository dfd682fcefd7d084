"""The Gemini Live dialect by itself: what it tells of a call, turn by turn."""

import base64
import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.dialects.gemini.dialect import NOTHING
from realtime.event import server as s
from realtime.event.base import Item, UsageDetail
from tests.dialects.gemini_call import LOOK, PCM, TOLD, Call, Json

COMPLETE: Json = {"serverContent": {"turnComplete": True}}
GENERATED: Json = {"serverContent": {"generationComplete": True}}
INTERRUPTED: Json = {"serverContent": {"interrupted": True}}


# -- what is told ------------------------------------------------------------------------------------------------------


def test_an_answer_is_told_in_the_recorded_order() -> None:
    call = Call(**TOLD)
    call.begin()
    call.say("Hello")
    call.end(input_tokens=11, output_tokens=5)
    assert [*call.frames[1]["serverContent"]] == ["outputTranscription"]
    assert [*call.frames[2]["serverContent"]] == ["modelTurn"]
    assert call.frames[3:] == [
        GENERATED,
        COMPLETE | {"usageMetadata": {"promptTokenCount": 11, "responseTokenCount": 5, "totalTokenCount": 16}},
    ]


def test_a_turn_is_complete_only_when_it_was_heard() -> None:
    call = Call()
    call.begin()
    call.say("Hello")
    assert call.end(heard=False) == [GENERATED]


def test_frames_are_written_as_the_service_writes_them() -> None:
    call = Call()
    call.begin()
    event = s.AgentResponseAudioDeltaEvent(response_id="r1", item_id="i", delta=b"\xfb\xff", format=PCM)
    (frame,) = call.dialect.encode(event)
    expected = {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000"}}]}}}
    expected["serverContent"]["modelTurn"]["parts"][0]["inlineData"]["data"] = "+/8="
    assert frame == (json.dumps(expected, indent=2) + "\n").encode()


def test_a_burst_of_speech_is_cut_into_frames_that_the_sdk_takes() -> None:
    call = Call()
    call.begin()
    pcm = bytes(range(256)) * 4_000
    event = s.AgentResponseAudioDeltaEvent(response_id="r1", item_id="i", delta=pcm, format=PCM)
    frames = call.dialect.encode(event)
    assert max(map(len, frames)) < 200_000
    blobs = [json.loads(frame)["serverContent"]["modelTurn"]["parts"][0]["inlineData"] for frame in frames]
    assert b"".join(base64.b64decode(blob["data"]) for blob in blobs) == pcm


def test_words_that_come_only_at_the_end_are_told_then() -> None:
    call = Call(**TOLD)
    where: Json = {"response_id": "r1", "item_id": "i"}
    call.begin()
    told = call.tell(
        s.AgentResponseAudioTranscriptDeltaEvent(**where, delta="Good"),
        s.AgentResponseAudioTranscriptDoneEvent(**where, transcript="Good day."),
        s.AgentResponseAudioTranscriptDoneEvent(response_id="r1", item_id="j", transcript="Bye."),
        s.AgentInputTranscriptionDeltaEvent(item_id="u", delta=" so"),
        s.AgentInputTranscriptionDoneEvent(item_id="u", transcript="so long"),
        s.AgentInputTranscriptionDoneEvent(item_id="u", transcript="so long then"),
        s.AgentInputTranscriptionDoneEvent(item_id="u", transcript="other words"),
    )
    said = [one["serverContent"] for one in told]
    assert [one["outputTranscription"]["text"] for one in said[:3]] == ["Good", " day.", "Bye."]
    assert [one["inputTranscription"]["text"] for one in said[3:]] == [" so", " long", " then"]


def test_guesses_at_the_users_words_and_the_sources_of_an_answer_are_told() -> None:
    call = Call(**TOLD)
    (guess,) = call.tell(s.AgentInputTranscriptionDeltaEvent(item_id="u", delta="", interim="what ti"))
    assert guess["serverContent"] == {"interimInputTranscription": {"text": "what ti"}}
    call.begin()
    sources = {"webSearchQueries": ["time in Oslo"]}
    assert call.end(grounding=sources)[-1]["serverContent"]["groundingMetadata"] == sources
    assert Call().tell(s.AgentInputTranscriptionDeltaEvent(item_id="u", delta="", interim="what ti")) == []


def test_usage_is_summed_over_the_turn_and_told_by_kind() -> None:
    call = Call(**LOOK)
    call.begin()
    call.ask("a")
    detail = UsageDetail(input_text_tokens=3, input_audio_tokens=7, input_cached_tokens=2, output_audio_tokens=20)
    call.end(input_tokens=10, output_tokens=20, usage_detail=detail)
    call.return_("a")
    call.begin("r2")
    spent = UsageDetail(input_text_tokens=5, output_reasoning_tokens=4)
    assert call.end("r2", input_tokens=5, output_tokens=1, usage_detail=spent)[-1]["usageMetadata"] == {
        "promptTokenCount": 15,
        "cachedContentTokenCount": 2,
        "responseTokenCount": 21,
        "totalTokenCount": 36,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 8}, {"modality": "AUDIO", "tokenCount": 7}],
        "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": 20}],
        "thoughtsTokenCount": 4,
    }


def test_calls_are_told_together_and_arguments_that_are_no_object_are_left_out() -> None:
    call = Call(**LOOK)
    call.begin()
    assert call.ask("a", arguments='{"at": 1}') == call.ask("b", arguments="[]") == call.ask("c", arguments="{") == []
    assert call.end(heard=True) == [
        {
            "toolCall": {
                "functionCalls": [
                    {"name": "look", "args": {"at": 1}, "id": "a"},
                    {"name": "look", "args": {}, "id": "b"},
                    {"name": "look", "args": {}, "id": "c"},
                ]
            }
        }
    ]


@pytest.mark.parametrize("status", ["failed", "incomplete"])
def test_calls_of_an_answer_that_broke_off_behind_them_are_told_too(status: str) -> None:
    """They run: without the client's results the call would wait for them until their time is up."""
    call = Call(**LOOK)
    call.begin()
    call.ask("a")
    assert [frame["toolCall"]["functionCalls"][0]["id"] for frame in call.end(status=status)] == ["a"]


def test_a_call_that_lapses_is_withdrawn() -> None:
    call = Call(**LOOK)
    call.begin()
    call.ask("a")
    call.end()
    assert call.return_("a", "error") == [{"toolCallCancellation": {"ids": ["a"]}}]
    assert call.hear({"toolResponse": {"functionResponses": [{"id": "a", "response": {}}]}}) == []


def test_an_interruption_ends_the_turn_once_the_model_has_stopped() -> None:
    call = Call()
    call.begin()
    call.say("A long")
    assert call.tell(s.ServerAudioFlushEvent(reason="speech_started")) == [INTERRUPTED]
    assert call.say(" story") == []
    assert call.tell(s.ServerAudioFlushEvent(reason="text")) == []
    assert call.end(status="cancelled") == [COMPLETE]


def test_an_interruption_while_a_tool_runs_withdraws_it_and_ends_the_turn() -> None:
    call = Call(**LOOK)
    call.begin()
    call.say("Let me see.")
    call.ask("a")
    call.end()
    told = call.tell(s.ServerAudioFlushEvent(reason="speech_started"))
    assert told == [{"toolCallCancellation": {"ids": ["a"]}}, INTERRUPTED, COMPLETE]
    assert call.return_("a", "interrupted") == []


def test_an_answer_that_goes_on_after_a_turn_was_cut_begins_a_new_one() -> None:
    call = Call()
    call.begin()
    call.say("A long")
    call.tell(s.ServerAudioFlushEvent(reason="speech_started"))
    assert call.tell(s.AgentResponseCreatedEvent(response_id="r2")) == [COMPLETE]
    call.say("Yes?", "r2")
    assert call.end("r1", status="cancelled") == []
    assert call.end("r2") == [GENERATED, COMPLETE]


def test_an_answer_withdrawn_before_its_first_sound_is_not_told() -> None:
    call = Call()
    call.begin()
    assert call.tell(s.ServerAudioFlushEvent(reason="hasty_turn")) == []
    assert call.end(status="cancelled") == []
    call.begin("r2")
    assert call.end("r2", status="cancelled") == []


def test_a_client_that_only_interrupts_is_always_told() -> None:
    call = Call()
    call.hear({"clientContent": {"turns": [{"parts": [{"text": "Hi"}]}], "turnComplete": True}})
    call.hear({"clientContent": {"turnComplete": True}})
    assert call.tell(s.ServerAudioFlushEvent(reason="cancel")) == [INTERRUPTED, COMPLETE]
    assert call.tell(s.ServerAudioFlushEvent(reason="cancel")) == []


def test_an_answer_that_fails_says_so_and_was_not_generated() -> None:
    call = Call()
    call.begin()
    call.say("Half")
    assert call.end(status="failed") == [
        {"serverContent": {"turnComplete": True, "turnCompleteReason": "RESPONSE_REJECTED"}}
    ]
    call.begin("r2")
    assert call.end("r2", status="incomplete") == [GENERATED, COMPLETE]


def test_a_turn_that_the_model_never_begins_is_completed_all_the_same() -> None:
    call = Call()
    rejected = {"serverContent": {"turnComplete": True, "turnCompleteReason": "RESPONSE_REJECTED"}}
    call.hear({"realtimeInput": {"text": "Hello?"}})
    lost = s.AgentReconnectingEvent(attempt=1, retry_after_ms=1, reason="x")
    assert call.tell(lost, lost) == [rejected]
    refusal = s.AgentErrorEvent(error_type="client_error", code="bad_response_create", message="No.")
    assert call.tell(refusal) == []
    call.hear({"realtimeInput": {"text": "Hello?"}})
    assert call.tell(refusal, refusal) == [rejected]


def test_responses_beside_the_conversation_are_not_told() -> None:
    call = Call()
    call.tell(s.AgentResponseCreatedEvent(response_id="x", conversation="none"))
    assert call.say("Psst.", "x") == []
    assert call.end("x", conversation="none") == []


def test_events_without_words_here_are_not_told() -> None:
    call = Call()
    quiet: list[s.ServerEvent] = [
        s.ServerSessionCreatedEvent(session_id="s"),
        s.ServerSessionUpdatedEvent(session_id="s"),
        s.AgentInputStartedEvent(item_id="u", audio_start_ms=1),
        s.AgentItemAddedEvent(item=Item(id="i", role="user")),
        s.AgentReconnectingEvent(attempt=1, retry_after_ms=1, reason="x"),
        s.AgentErrorEvent(error_type="server_error", code="unsupported_tools", message="It goes on without them."),
        s.AgentInputTranscriptionDoneEvent(item_id="u", transcript="not asked for"),
        NOTHING,
    ]
    assert call.tell(*quiet) == []
    assert not call.dialect.is_over
    assert {type(event) for event in quiet} < {*get_args(s.ServerEvent)}


@pytest.mark.parametrize(
    ("reason", "farewell", "time_left"),
    [
        ("shutdown", (1011, "Deadline expired before operation could complete."), "12s"),
        ("call_limit", (1011, "Deadline expired before operation could complete."), "0s"),
        ("idle", (1000, "Nobody spoke for too long."), "0s"),
        ("agent_ended", (1011, "The service is currently unavailable."), "0s"),
    ],
)
def test_the_end_is_told_as_the_service_tells_it(reason: str, farewell: tuple[int, str], time_left: str) -> None:
    call = Call()
    assert call.tell(s.ServerGoodbyeEvent(reason=reason)) == [{"goAway": {"timeLeft": time_left}}]
    call.tell(s.ServerSessionEndedEvent(session_id="s", reason=reason))
    assert call.dialect.farewell() == farewell


def test_an_error_of_the_client_ends_the_session_with_a_reason_that_fits_a_close_frame() -> None:
    call = Call()
    call.tell(s.AgentErrorEvent(error_type="client_error", code="unsupported_modality", message="ü" * 200))
    assert call.dialect.is_over
    code, reason = call.dialect.farewell()
    assert code == 1008
    assert reason.startswith("Operation is not implemented, or supported, or enabled. ü")
    assert len(reason.encode()) <= 123


RESPONSES = st.sampled_from(["r1", "r2", "r3"])
HAPPENINGS = st.one_of(
    st.tuples(st.just("begin"), RESPONSES),
    st.tuples(st.just("say"), RESPONSES),
    st.tuples(st.just("call"), RESPONSES),
    st.tuples(st.just("return"), st.just("")),
    st.tuples(st.just("flush"), st.sampled_from(["cancel", "speech_started", "hasty_turn"])),
    st.tuples(st.sampled_from(["completed", "cancelled", "failed"]), RESPONSES),
)


@given(st.lists(HAPPENINGS, max_size=30))
def test_whatever_happens_every_turn_that_was_begun_is_completed_once(happenings: list[tuple[str, str]]) -> None:
    call = Call(**LOOK, **TOLD)
    running: set[str] = set()
    for count, (what, about) in enumerate(happenings):
        match what:
            case "begin":
                call.begin(f"{about}_{count}")
                running.add(f"{about}_{count}")
            case "say" | "call" if running:
                target = sorted(running)[0]
                if what == "say":
                    call.say("word", target)
                else:
                    call.ask(f"call_{count}", response_id=target)
            case "return":
                call.return_(f"call_{count - 1}")
            case "flush":
                call.tell(s.ServerAudioFlushEvent(reason=about))
            case "completed" | "cancelled" | "failed" if running:
                call.end(running.pop(), status=what)
            case _:
                pass
    for response_id in sorted(running):
        call.end(response_id)
    call.tell(s.ServerAudioFlushEvent(reason="speech_started"))
    open_turn = False
    for frame in call.frames:
        kinds = frame.get("serverContent", frame).keys()
        if kinds & {"modelTurn", "outputTranscription", "toolCall"}:
            open_turn = True
        if "turnComplete" in kinds:
            open_turn = False
    assert not open_turn
