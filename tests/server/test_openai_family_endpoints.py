"""What the endpoints for OpenAI and DashScope clients have in common, judged by the official SDKs over real sockets.

DashScope's protocol was derived from OpenAI's: both say the same in other words, which `Family` lists. DashScope's SDK
has two styles, and other settings for the newest models.
"""

from __future__ import annotations

import base64
import json
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import pytest

from realtime.model import base
from realtime.model.scripted import (
    CallTools,
    Expect,
    ExpectAudio,
    ScriptedModel,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
    Write,
)
from realtime.tool import Toolkit
from tests.server import dashscope_sdk, openai_sdk
from tests.server.ears import Ear, asked, received
from tests.server.harness import Json

ARGUMENTS = "response.function_call_arguments"
TRANSCRIPTION = "conversation.item.input_audio_transcription"


@dataclass(frozen=True)
class Family:
    """How one of the protocols says what both say."""

    item: list[str]
    """What tells of a new item."""
    begins: list[str]
    ends: list[str]
    """How a response in sound begins and ends."""
    text_ends: list[str]
    sound: str
    words: str
    """What its deltas are called."""
    part: tuple[str, str]
    """The types of its parts in sound and in text."""
    text_only: Json
    push_to_talk: Json
    transcribed: Json
    """Settings of a session."""
    tool: Json
    none_active: str
    """What a cancel is answered when no response runs."""


_BEGINS = ["response.created", "response.output_item.added"]
OPENAI = Family(
    item=["conversation.item.added", "conversation.item.done"],
    begins=[*_BEGINS, "conversation.item.added", "response.content_part.added"],
    ends=[
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ],
    text_ends=[
        "response.output_text.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ],
    sound="response.output_audio.delta",
    words="response.output_audio_transcript.delta",
    part=("output_audio", "output_text"),
    text_only={"output_modalities": ["text"]},
    push_to_talk={"audio": {"input": {"turn_detection": None}}},
    transcribed={"audio": {"input": {"transcription": {"model": "whisper-1"}}}},
    tool=openai_sdk.TOOL,
    none_active="response_cancel_not_active",
)
DASHSCOPE = Family(
    item=["conversation.item.created"],
    begins=[*_BEGINS, "conversation.item.created", "response.content_part.added"],
    ends=[
        "response.audio_transcript.done",
        "response.audio.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ],
    text_ends=[
        "response.text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ],
    sound="response.audio.delta",
    words="response.audio_transcript.delta",
    part=("audio", "text"),
    text_only={"modalities": ("text",)},
    push_to_talk={"enable_turn_detection": False},
    transcribed={},
    tool=dashscope_sdk.TOOL,
    none_active="",
)
CLIENTS = {"openai": OPENAI} | dict.fromkeys(dashscope_sdk.STYLES, DASHSCOPE)
every_client = pytest.mark.parametrize("client", CLIENTS)
one_of_each = pytest.mark.parametrize("client", ["openai", "callbacks"])


def talking(client: str, *script: Step, **more: Any) -> AbstractAsyncContextManager[tuple[Any, ScriptedModel]]:
    """A client of this SDK that has been told of its session, with a scripted model behind."""
    if client == "openai":
        return openai_sdk.talking(*script, **more)
    return dashscope_sdk.talking(client, *script, **more)


def spoken_bytes(ear: Ear, kind: str) -> int:
    return sum(len(base64.b64decode(frame["delta"])) for frame in ear.only(kind))


# -- turns -------------------------------------------------------------------------------------------------------------


@every_client
async def test_a_text_turn_is_answered_in_the_order_of_the_protocol(client: str) -> None:
    """A second one right after it cuts nothing: asking for a response interrupts nothing in these protocols, however
    fast the client is. One response may have instructions of its own."""
    family = CLIENTS[client]
    script = (asked(), Speak("Good morning to you.", 1.2), asked(), Speak("La.", 0.4))
    async with talking(client, *script) as (ear, model):
        assert ear.types == ["session.created"]
        assert ear.frames[0]["session"]["id"].startswith("sess_")
        assert ear.frames[0]["session"]["model"] == ear.model
        await ear.say("Good morning.")
        done = await ear.answered()
        expected = ["session.created", *family.item, *family.begins]
        assert ear.types[: len(expected)] == expected
        assert ear.types[-len(family.ends) :] == family.ends
        assert {*ear.types[len(expected) : -len(family.ends)]} == {family.words, family.sound}
        assert ear.frames[1]["item"]["content"] == [{"type": "input_text", "text": "Good morning."}]
        assert spoken_bytes(ear, family.sound) == round(1.2 * 48_000)
        assert "".join(one["delta"] for one in ear.only(family.words)) == "Good morning to you."
        assert done["status"] == "completed"
        assert done["output"][0]["content"] == [{"type": family.part[0], "transcript": "Good morning to you."}]
        assert done["usage"]["total_tokens"] == done["usage"]["input_tokens"] + done["usage"]["output_tokens"]
        await ear.say("Another one.")
        await ear.do("respond", instructions="Sing.")
        await ear.until("response.done")
        assert {type(message) for message in model.connections[0].received} == {base.ItemCreate, base.ResponseCreate}
        assert received(model, base.ResponseCreate)[1].overrides.instructions == "Sing."


@every_client
async def test_a_text_only_answer_is_text(client: str) -> None:
    family = CLIENTS[client]
    async with talking(client, asked(), Write("Just words.")) as (ear, model):
        await ear.do("update", **family.text_only)
        await ear.say("Write.")
        done = await ear.answered()
        assert ear.types[-len(family.text_ends) :] == family.text_ends
        assert done.get("output_modalities", done.get("modalities")) == ["text"]
        assert done["output"][0]["content"] == [{"type": family.part[1], "text": "Just words."}]
        assert model.connections[0].settings.output_modalities == ("text",)


@every_client
async def test_a_spoken_turn_with_server_vad(client: str) -> None:
    family = CLIENTS[client]
    script = (ExpectAudio(200), SpeechStart(20), ExpectAudio(400), SpeechEnd(330, "what time"), Speak("Noon.", 0.4))
    async with talking(client, *script) as (ear, _):
        await ear.do("update", **family.transcribed)
        await ear.hush(5)
        await ear.until("response.done")
        kinds = [f"input_audio_buffer.{one}" for one in ("speech_started", "speech_stopped", "committed")]
        assert ear.types[2 : 5 + len(family.item)] == [*kinds, *family.item]
        started, stopped, committed, told = ear.frames[2:6]
        assert (started["audio_start_ms"], stopped["audio_end_ms"]) == (20, 330)
        assert started["item_id"] == stopped["item_id"] == committed["item_id"] == told["item"]["id"]
        (part,) = told["item"]["content"]
        assert (told["item"]["role"], part["type"], part.get("transcript")) == ("user", "input_audio", None)
        (completed,) = ear.only(f"{TRANSCRIPTION}.completed")
        assert completed["transcript"] == "what time"
        assert ear.types.index(f"{TRANSCRIPTION}.completed") > ear.types.index("input_audio_buffer.committed")
        assert ear.types[-len(family.ends) :] == family.ends
        if client == "openai":
            assert completed["usage"] == {"type": "duration", "seconds": 0.31}
        else:
            # Cumulative: each delta holds everything so far.
            assert [one["text"] for one in ear.only(f"{TRANSCRIPTION}.delta")] == ["what", "what time"]


@every_client
async def test_push_to_talk_answers_only_when_it_is_asked_to(client: str) -> None:
    family = CLIENTS[client]
    async with talking(client, Expect(base.AudioCommit), asked(), Speak("Pressed.", 0.4)) as (ear, model):
        await ear.do("update", **family.push_to_talk)
        session = (await ear.until("session.updated"))["session"]
        assert session.get("turn_detection", session.get("audio", {}).get("input", {}).get("turn_detection")) is None
        await ear.do("clear")
        await ear.until("input_audio_buffer.cleared")
        await ear.hush(1)
        if family is DASHSCOPE:
            await ear.do("image", b"\xff\xd8\xff\xd9")
        await ear.do("commit")
        await ear.until(family.item[-1])
        assert ear.since("input_audio_buffer.committed") == ["input_audio_buffer.committed", *family.item]
        assert received(model, base.ResponseCreate) == []
        seen = [part.image for one in received(model, base.ItemCreate) for part in one.item.content]
        assert seen == ([b"\xff\xd8\xff\xd9"] if family is DASHSCOPE else [])
        assert (await ear.answered())["status"] == "completed"
        assert "error" not in ear.types


# -- interruptions -----------------------------------------------------------------------------------------------------


@every_client
async def test_a_cancel_ends_the_response(client: str) -> None:
    family = CLIENTS[client]
    async with talking(client, asked(), Speak("A long story about a fox.", 20.0, pace=1.0)) as (ear, _):
        await ear.do("respond")
        await ear.until(family.sound)
        await ear.do("cancel")
        done = (await ear.until("response.done"))["response"]
        assert done["status"] == "cancelled"
        assert done["status_details"] == {"type": "cancelled", "reason": "client_cancelled"}
        assert ear.types[-len(family.ends) :] == family.ends
        assert ear.only("response.output_item.done")[0]["item"]["status"] == "incomplete"
        await ear.do("cancel")
        assert (await ear.until("error"))["error"]["code"] == family.none_active


@every_client
async def test_speech_interrupts_and_the_answer_may_be_read_and_deleted(client: str) -> None:
    family = CLIENTS[client]
    script = (asked(), Speak("A long story.", 8.0, pace=1.0, wait=False), ExpectAudio(200), SpeechStart(20))
    async with talking(client, *script) as (ear, _):
        await ear.do("respond")
        item_id = (await ear.until(family.sound))["item_id"]
        await ear.hush(3)
        await ear.until("input_audio_buffer.speech_started")
        if client == "openai":
            await ear.sdk.conversation.item.truncate(item_id=item_id, content_index=0, audio_end_ms=10)
            truncated = await ear.until("conversation.item.truncated")
            assert (truncated["item_id"], truncated["content_index"]) == (item_id, 0)
        if not ear.only("response.done"):
            await ear.until("response.done")
        (done,) = ear.only("response.done")
        assert done["response"]["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        await ear.do("raw", json.dumps({"type": "conversation.item.retrieve", "item_id": item_id}))
        retrieved = (await ear.until("conversation.item.retrieved"))["item"]
        assert (retrieved["id"], retrieved["role"]) == (item_id, "assistant")
        await ear.do("raw", json.dumps({"type": "conversation.item.delete", "item_id": item_id}))
        assert (await ear.until("conversation.item.deleted"))["item_id"] == item_id
        assert "error" not in ear.types


# -- tools -------------------------------------------------------------------------------------------------------------


@every_client
async def test_a_tool_round_gives_one_response_after_the_clients_request(client: str) -> None:
    family = CLIENTS[client]
    calls = CallTools((("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})))
    async with talking(client, asked(), calls, Expect(base.ToolResult), asked(), Speak("Both.", 0.4)) as (ear, model):
        await ear.do("update", tools=[family.tool])
        await ear.say("The weather?")
        await ear.answered()
        called = ear.only(f"{ARGUMENTS}.done")
        assert [json.loads(one["arguments"])["city"] for one in called] == ["Oslo", "Rome"]
        assert {one["name"] for one in called} == {"get_weather"}
        finished = [one["item"] for one in ear.only("response.output_item.done")]
        assert [(one["status"], one["call_id"]) for one in finished] == [
            ("completed", one["call_id"]) for one in called
        ]
        order = [one for one in ear.since("response.created") if one != f"{ARGUMENTS}.delta"]
        added, *is_done = family.item
        a_call = ["response.output_item.added", added, f"{ARGUMENTS}.done", *is_done, "response.output_item.done"]
        assert order == ["response.created", *a_call, *a_call, "response.done"]
        for place, one in enumerate(called):
            output = {"type": "function_call_output", "call_id": one["call_id"], "output": '{"sky": "grey"}'}
            await ear.do("item", output | {"id": f"item_mine_{place}"})
            item = (await ear.until(family.item[-1]))["item"]
            assert (item["id"], item["output"]) == (f"item_mine_{place}", output["output"])
            assert family is OPENAI or item["status"] == "completed"
        for name, told in (("retrieve", "retrieved"), ("delete", "deleted")):
            await ear.do("raw", json.dumps({"type": f"conversation.item.{name}", "item_id": "item_mine_1"}))
            frame = await ear.until(f"conversation.item.{told}")
            assert (frame["item_id"] if name == "delete" else frame["item"]["id"]) == "item_mine_1"
        assert [one.item_id for one in received(model, base.ItemDelete)] == ["item_mine_1"]
        assert len(received(model, base.ResponseCreate)) == 1, "without a request the model does not go on"
        done = await ear.answered()
        assert done["output"][0]["content"][0]["transcript"] == "Both."
        assert (len(received(model, base.ToolResult)), len(received(model, base.ResponseCreate))) == (2, 2)


@one_of_each
async def test_a_call_that_the_client_ignores_does_not_silence_the_model(client: str) -> None:
    script = (asked(), CallTools((("get_weather", {}),)), asked(), Speak("Never mind.", 0.4))
    family = CLIENTS[client]
    async with talking(client, *script) as (ear, _):
        await ear.do("update", tools=[family.tool])
        call_id = (await ear.answered())["output"][0]["call_id"]
        # Longer ids are refused by OpenAI, so clients shorten them before they send a result.
        assert len(call_id) <= 32
        await ear.say("Forget it.")
        await ear.answered()
        await ear.do("item", {"type": "function_call_output", "call_id": call_id, "output": "rain"})
        assert (await ear.until(family.item[-1]))["item"]["output"] == "rain"
        assert "error" not in ear.types


@one_of_each
async def test_a_tool_of_the_server_stays_inside_one_response(client: str) -> None:
    def tell_time() -> str:
        """The time."""
        return "noon"

    script = (asked(), CallTools((("tell_time", {}),)), Expect(base.ToolResult), asked(), Speak("It is noon.", 0.4))
    async with talking(client, *script, tools=Toolkit([tell_time])) as (ear, _):
        await ear.say("The time?")
        done = await ear.answered()
        assert not [kind for kind in ear.types if "function_call" in kind]
        assert [item["type"] for item in done["output"]] == ["message"]
        assert [one["response"]["id"] for one in ear.only("response.created")] == [done["id"]]
        known: list[str | None] = [None]
        for frame in ear.only("conversation.item.added"):
            assert frame["previous_item_id"] in known, "no item is placed after one that the client was not told of"
            known.append(frame["item"]["id"])
        assert len(known) == (3 if client == "openai" else 1)
