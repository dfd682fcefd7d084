"""The Gemini Live dialect by itself: what it tells of a call, turn by turn."""

import base64
import json

from hypothesis import given
from hypothesis import strategies as st

from realtime.event import server as s
from tests.dialects.gemini_call import LOOK, PCM, TOLD, Call


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
                target = sorted(running)[-1]
                running.remove(target)
                call.end(target, status=what)
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
