"""The order of what DashScope clients are told, per response and item, beside what is documented and recorded.

No recording of the service is known. Our frames after its documentation are in `fixtures/models/dashscope`; recorded
are sessions of the protocol that it was derived from, whose events have other names.
"""

from pathlib import Path

from realtime.model import base
from realtime.model.scripted import CallTools, Expect, ExpectAudio, Speak, SpeechEnd, SpeechStart, Step, Write
from tests.server.cases import lines_of, recorded
from tests.server.dashscope_sdk import TOOL, Ear, talking
from tests.server.ears import asked
from tests.server.harness import Json

RENAMED = {
    "conversation.item.added": "conversation.item.created",
    "response.output_audio.delta": "response.audio.delta",
    "response.output_audio.done": "response.audio.done",
    "response.output_audio_transcript.delta": "response.audio_transcript.delta",
    "response.output_audio_transcript.done": "response.audio_transcript.done",
    "response.output_text.delta": "response.text.delta",
    "response.output_text.done": "response.text.done",
}
NOT_HERE = {"conversation.item.done", "rate_limits.updated"}
HEARD = (ExpectAudio(200), SpeechStart(20), ExpectAudio(400), SpeechEnd(330, "good morning"))


def item_of(frame: Json) -> str | None:
    if "item_id" in frame:
        return str(frame["item_id"])
    return str(frame["item"]["id"]) if "item" in frame else None


def orders(frames: list[Json]) -> list[tuple[str, ...]]:
    """What happens to each item and each response, in order; of deltas and of other repetitions the first."""
    named: dict[str, list[str]] = {}
    for frame in frames:
        response_id = frame.get("response_id") or frame.get("response", {}).get("id")
        for name in {item_of(frame), response_id} - {None}:
            order = named.setdefault(str(name), [])
            if frame["type"] not in order:
                order.append(frame["type"])
    return [tuple(order) for order in named.values()]


def documented(fixtures_dir: Path, name: str) -> list[Json]:
    return [line["data"] for line in lines_of(fixtures_dir / "models" / "dashscope" / f"{name}.jsonl")]


def of_the_ancestor(recordings_dir: Path, name: str) -> list[Json]:
    """A recorded session under the names of this protocol, in which the words are complete before the sound is."""
    frames = [one["data"] for one in recorded(recordings_dir, f"openai-{name}") if one["direction"] == "received"]
    frames = [one | {"type": RENAMED.get(one["type"], one["type"])} for one in frames if one["type"] not in NOT_HERE]
    sound = next((place for place, one in enumerate(frames) if one["type"] == "response.audio.done"), None)
    if sound is not None:
        frames[sound : sound + 2] = frames[sound + 1], frames[sound]
    return frames


async def told(*script: Step, spoken: bool = False, tools: bool = False, words: bool = False) -> Ear:
    """A client that has had one turn, and one more where it has a tool to answer for."""
    async with talking("callbacks", *script) as (ear, _):
        settings: Json = {"modalities": ("text",)} if words else {}
        await ear.do("update", **settings, **({"tools": [TOOL]} if tools else {}))
        if spoken:
            await ear.hush(5)
            await ear.until("response.done")
            return ear
        await ear.say("Well?")
        done = await ear.answered()
        for call in done["output"] if tools else ():
            await ear.do("item", {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"})
            await ear.until("conversation.item.created")
        if tools:
            await ear.answered()
        return ear


async def test_a_spoken_turn_has_the_documented_order(fixtures_dir: Path) -> None:
    ear = await told(*HEARD, Speak("Good morning to you.", 0.4), spoken=True)
    transcription = "conversation.item.input_audio_transcription"
    user, response, answer = orders(documented(fixtures_dir, "spoken_turn"))
    ours_user, *ours = orders(ear.frames)
    assert ours == [response, answer] or ours == [answer, response]
    # The words of the user come when they are known: only the end of them is bound to the commit.
    late = {f"{transcription}.delta", f"{transcription}.completed"}
    assert [kind for kind in ours_user if kind not in late] == [kind for kind in user if kind not in late]
    assert late <= {*ours_user}


async def test_a_written_turn_has_the_documented_order(fixtures_dir: Path) -> None:
    ear = await told(asked(), Write("Hello."), words=True)
    assert sorted(orders(ear.frames)) == sorted(orders(documented(fixtures_dir, "text_turn")))


ROUND = (asked(), CallTools((("get_weather", {}),)), Expect(base.ToolResult), asked(), Write("Rain."))


async def test_a_tool_round_has_the_documented_order_and_that_of_the_recorded_ancestor(
    fixtures_dir: Path, recordings_dir: Path
) -> None:
    ear = await told(*ROUND, tools=True, words=True)
    ours, wanted = orders(ear.frames), orders(documented(fixtures_dir, "tool_calls"))
    # Two calls in one response share its order; the second one has no streamed arguments.
    assert {wanted[0], wanted[1], wanted[-1]} <= {*ours}
    assert sorted(ours) == sorted(orders(of_the_ancestor(recordings_dir, "tool_call_round")))


async def test_a_text_turn_has_the_order_of_the_recorded_ancestor(recordings_dir: Path) -> None:
    ear = await told(asked(), Speak("Good morning to you.", 0.4))
    assert sorted(orders(ear.frames)) == sorted(orders(of_the_ancestor(recordings_dir, "text_in_audio_out_turn")))
