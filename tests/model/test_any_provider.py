"""What holds for every provider alike, over real sockets with a service each."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart
from realtime.event.config import ToolDeclaration
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.runtime import Runtime
from tests.model.grammar import check_grammar
from tests.model.providers import FAKES, KEY, WITH_TOOLS, Fake, Talk, talk

PCM = b"\x01\x02" * 12_000
TOOL = ToolDeclaration(name="get_time", description="The time.", parameters={"type": "object", "properties": {}})
HEARING = [fake for fake in FAKES if fake.codec().profile.emits_speech_events]
each = pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)


FIXTURES = Path(__file__).parents[2] / "fixtures" / "models"
FIXTURE_FILES = [
    pytest.param(fake, path, id=f"{fake.name}-{path.stem}")
    for fake in FAKES
    for path in sorted((FIXTURES / fake.name).glob("*.jsonl"))
]


def text(item_id: str, words: str) -> Item:
    return Item(id=item_id, role="user", content=(ContentPart(type="text", text=words),))


async def asked(made: Talk, count: int) -> Any:
    """The service, once it was asked for an answer so many times."""
    session = await made.session()
    await session.until(made.fake.asks, count)
    return session


def told(events: Sequence[ModelEvent]) -> list[tuple[str, object]]:
    """What the events say, without ids and without where they were cut: (type, what)."""
    lines: list[tuple[str, object]] = []
    for event in events:
        match event:
            case ModelEvents.ModelResponseAudioDeltaEvent(delta=pcm, format=pcm_format):
                _grow(lines, ("audio", pcm_format.rate), pcm)
            case ModelEvents.ModelResponseAudioTranscriptDeltaEvent(delta=delta):
                _grow(lines, ("words",), delta)
            case ModelEvents.ModelResponseAudioTranscriptDoneEvent(transcript=transcript):
                lines.append((event.type, transcript.strip()))
            case ModelEvents.ModelResponseToolUseDoneEvent(tool_use=call):
                lines.append((event.type, (call.id, call.name, call.input.replace(" ", ""))))
            case ModelEvents.ModelResponseDoneEvent():
                lines.append((event.type, event.status))
            case ModelEvents.ModelSessionEndedEvent(reason=reason):
                lines.append((event.type, reason))
            case (
                ModelEvents.ModelItemAddedEvent()
                | ModelEvents.ModelItemDoneEvent()
                | ModelEvents.ModelSessionUpdatedEvent()
                | ModelEvents.ModelResponseToolUseDeltaEvent()
            ):
                pass  # told where the provider has them; nobody may need them
            case _:
                lines.append((event.type, None))
    return [(kind, what.strip() if isinstance(what, str) else what) for kind, what in lines]


def _grow(lines: list[tuple[str, Any]], key: tuple[object, ...], more: Any) -> None:
    name = " ".join(map(str, key))
    for place in range(len(lines) - 1, -1, -1):
        kind, so_far = lines[place]
        if kind == name:
            lines[place] = (name, so_far + more)
            return
        if kind == "model_response_created":
            break
    lines.append((name, more))


async def script(fake: Fake) -> list[ModelEvent]:
    """A typed question, a spoken answer, a tool round trip, and the end."""
    async with talk(fake, Settings(tools=(TOOL,))) as made:
        made.connection.send(ItemCreate(text("item_q", "What time is it?")))
        made.connection.send(ResponseCreate())
        session = await asked(made, 1)
        await fake.speak(session, "One moment please", PCM)
        await made.until(ModelEvents.ModelResponseDoneEvent)
        await fake.call_tool(session, "call_1")
        await made.until(ModelEvents.ModelResponseDoneEvent, 2)
        made.connection.send(ToolResult(ToolResultBlock(id="call_1", name="get_time", output="nine")))
        made.connection.send(ResponseCreate())
        await session.until(fake.asks_after_result, 1)
        await fake.speak(session, "It is nine", PCM)
        await made.until(ModelEvents.ModelResponseDoneEvent, 3)
    check_grammar(made.events, output_rate_hz=24_000)
    return made.events


async def test_one_script_gives_the_same_events_whoever_the_provider_is() -> None:
    """RTM-01: the same script against three fakes gives the same ModelEvents."""
    first, *others = [told(await script(fake)) for fake in WITH_TOOLS]
    for other in others:
        assert sorted(other, key=str) == sorted(first, key=str)
        assert _order(other) == _order(first)
    assert [what for kind, what in first if kind == "model_response_audio_transcript_done"] == [
        "One moment please",
        "It is nine",
    ]
    assert ("model_response_tool_use_done", ("call_1", "get_time", '{"city":"Oslo"}')) in first


def _order(lines: list[tuple[str, object]]) -> list[str]:
    """The order that is promised: how the ends of words and sound interleave is each provider's own."""
    free = ("words", "model_response_audio_done", "model_response_audio_transcript_done")
    return [kind for kind, _ in lines if kind not in free]


@each
async def test_every_message_can_be_sent_and_the_session_stands(fake: Fake) -> None:
    """RTM-20: connect, send, disconnect, parse: the contract of a model, in the words of this package (`connect`,
    `send`, `close`, `Codec.decode`), on each fake provider."""
    async with talk(fake) as made:
        (created,) = made.all(ModelEvents.ModelSessionCreatedEvent)
        assert made.events[0] is created, "connect returns once the session stands"
        made.connection.send(SessionUpdate(Settings(instructions="be kind")))
        if fake.redials_for_settings:
            await made.until(ModelEvents.ModelReconnectedEvent)
        for message in (
            AudioAppend(b"\0\0" * 1_600),
            AudioCommit(),
            AudioAppend(b"\0\0" * 1_600),
            AudioClear(),
            ItemCreate(text("item_1", "hello")),
            ItemRetrieve("item_1"),
            ItemDelete("item_1"),
            ItemTruncate("item_2", 100),
            ToolResult(ToolResultBlock(id="call_9", name="f", output="x")),
            ResponseCancel(),
            ResponseCreate(),
        ):
            made.connection.send(message)
        session = await made.session(len(made.service.sessions))
        await session.until(fake.asks)
        await fake.speak(session, "Here I am", PCM)
        await made.until(ModelEvents.ModelResponseDoneEvent)
        assert made.all(ModelEvents.ModelSessionEndedEvent) == []
        await made.connection.close()
        await made.connection.close()
        made.connection.send(ResponseCreate())
        (ended,) = made.all(ModelEvents.ModelSessionEndedEvent)
        assert made.events[-1] is ended
    check_grammar(made.events, output_rate_hz=24_000)


@pytest.mark.parametrize("fake", HEARING, ids=lambda fake: fake.name)
async def test_a_turn_that_the_provider_hears_begins_ends_and_is_one_item(fake: Fake) -> None:
    async with talk(fake) as made:
        await fake.hear(await made.session(), 500, 900)
        committed = await made.until(ModelEvents.ModelInputCommittedEvent)
        (started,) = made.all(ModelEvents.ModelInputStartedEvent)
        (done,) = made.all(ModelEvents.ModelInputDoneEvent)
    assert (started.audio_start_ms, done.audio_end_ms) == (500, 900)
    assert started.item_id == done.item_id == committed.item_id
    assert made.events.index(started) < made.events.index(done) < made.events.index(committed)


@pytest.mark.parametrize(("fake", "path"), FIXTURE_FILES)
def test_every_frame_of_its_fixtures_is_known_and_every_answer_well_formed(
    fake: Fake, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """MEV-03, MEV-04, MEV-05, MEV-06, MEV-07, MEV-08, MEV-09, MEV-10, MEV-11, MEV-12, RTM-23: order and form."""
    caplog.set_level(logging.DEBUG, "realtime")
    codec = fake.codec()
    codec.opening(Settings(), ())
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    frames = [json.dumps(row["data"]) for row in rows if row["direction"] == "received"]
    check_grammar([event for frame in frames for event in codec.decode(frame)], output_rate_hz=24_000)
    assert [line for line in caplog.messages if "ignored" in line] == []


@each
async def test_a_frame_is_parsed_to_one_several_or_no_events(fake: Fake) -> None:
    """RTM-20: `parse_api_message(raw)` gives one, several or no ModelEvents; here `Codec.decode` gives a list."""
    seen: list[str | bytes] = []
    async with talk(fake, tap=lambda way, frame, ts_ms: seen.append(frame) if way == "received" else None) as made:
        await fake.speak(await made.session(), "Here I am", PCM)
        await made.until(ModelEvents.ModelResponseDoneEvent)
    codec = fake.codec()
    codec.opening(Settings(), ())
    numbers = {len(codec.decode(frame)) for frame in (*seen, "{", '{"type":"never heard of"}')}
    assert {0, 1} <= numbers
    assert max(numbers) > 1 or fake.name == "openai"


@each
async def test_a_model_says_of_itself_what_it_takes_and_where_it_dials(fake: Fake) -> None:
    """RTM-21: the attributes of each model; the address may be changed, for a fake."""
    async with fake.service() as service:
        model = fake.model(service)
        assert set(model.support_input_modalities) >= {"text", "audio"}
        assert model.support_tools is model.profile.supports_tools
        assert (model.input_sample_rate, model.output_sample_rate) == (
            model.profile.input_rate_hz,
            model.profile.output_rate_hz,
        )
        assert model.input_sample_rate == fake.input_hz
        headers = model.websocket_headers
        assert KEY in " ".join(headers.values())
        assert KEY not in repr(model)
        assert model.websocket_url is not None
        assert model.websocket_url.startswith("ws://127.0.0.1:")
    async with fake.service() as other:
        host = urlsplit(other.base_url).netloc
        model.websocket_url = urlsplit(model.websocket_url)._replace(netloc=host).geturl()
        connection = await model.connect(
            settings=Settings(), on_event=lambda event: None, history=tuple, runtime=Runtime()
        )
        session = await other.session()
        assert session.socket.request.headers.get(next(iter(headers))) == next(iter(headers.values()))
        await connection.close()
