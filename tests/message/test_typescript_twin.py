"""The fold in `web/packages/messages` against the one in Python: the same streams become the same bytes."""

import json
from pathlib import Path
from typing import Any

from realtime.event.reply import CustomEvent, read_reply_event
from realtime.message import Msg, canonical_json, fold_messages
from realtime.server.settings import ServerSettings
from realtime.state.replies import messages
from tests.message.streams import Streams
from tests.npm import run_node
from tests.server.harness import echo_agent, serving
from tests.volumes import SEED, volume

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = sorted((ROOT / "fixtures/messages").glob("*.json"))
STREAMS = volume(40, 400)

FOLD = Path(__file__).with_name("fold.mjs")


def in_node(**asked: Any) -> Any:
    """What the TypeScript module makes of `streams` of frames, `messages`, `values` and an event stream's `text`."""
    module = (ROOT / "web/packages/messages/src/index.ts").as_uri()
    whole = {"streams": [], "messages": [], "values": [], "text": "", **asked}
    return json.loads(run_node([str(FOLD), module], ROOT, json.dumps(whole)))


def fold_in_python(frames: list[Any]) -> dict[str, Any]:
    events, refused = [], []
    for place, frame in enumerate(frames):
        try:
            events.append(read_reply_event(frame))
        except ValueError:
            refused.append(place)
    # A correction counts once and needs its words; the server's are whole and told once.
    signals = {event.id: event for event in events if isinstance(event, CustomEvent) and event.value.get("block_id")}
    once = [event for event in events if not isinstance(event, CustomEvent)] + [*signals.values()]
    return {
        "refused": refused,
        "messages": [message.to_json().decode() for message in fold_messages(events)],
        "told": [message.to_json().decode() for message in messages(once)],
    }


def test_both_languages_fold_the_fixtures_to_the_same_bytes() -> None:
    """TS-02, REC-28."""
    fixtures = [json.loads(path.read_text(encoding="utf-8")) for path in FIXTURES]
    assert fixtures
    folded = in_node(streams=[fixture["events"] for fixture in fixtures])["streams"]
    for fixture, twin in zip(fixtures, folded, strict=True):
        assert (twin["refused"], twin["messages"]) == ([], fixture["canonical"])
        assert fold_in_python(fixture["events"]) == twin


def test_both_languages_read_and_fold_random_streams_to_the_same_bytes() -> None:
    streams = Streams(SEED)
    frames = [streams.stream() for _ in range(STREAMS)]
    folded = in_node(streams=frames)["streams"]
    expected = [fold_in_python(stream) for stream in frames]
    for stream, here, there in zip(frames, expected, folded, strict=True):
        assert here == there, json.dumps(stream, ensure_ascii=False)
    folds = [json.loads(message) for result in expected for message in result["messages"]]
    types = {block["type"] for message in folds for block in message["content"]}
    assert types == {"text", "thinking", "data", "hint", "tool_call", "tool_result"}
    assert sum(len(result["refused"]) for result in expected) > STREAMS


def test_both_languages_read_stored_messages_and_write_them_as_the_same_bytes() -> None:
    streams = Streams(SEED + 1)
    stored = [streams.message() for _ in range(STREAMS)]
    read = in_node(messages=stored)["messages"]
    assert read == [Msg.model_validate(message).to_json().decode() for message in stored]


def test_both_languages_write_any_json_as_the_same_canonical_bytes() -> None:
    values = Streams(SEED + 2).values(5 * STREAMS)
    assert in_node(values=values)["values"] == [canonical_json(value).decode() for value in values]


async def test_a_page_folds_the_event_stream_of_a_call_to_the_messages_that_the_server_tells(tmp_path: Path) -> None:
    """TS-05, REC-28."""
    settings = ServerSettings(drain_s=0, store=f"sqlite:{tmp_path / 'calls.sqlite'}")
    async with serving(echo_agent, settings) as place:
        async with place.client("/ws/user1/session1") as client:
            call_id = (await client.make_call())["call_id"]
            for text in ("Hello", "Good night 🌙"):
                await client.send({"type": "client_text_append", "text": text})
                await client.until("agent_response_done")
            await client.send({"type": "client_session_end"})
            await client.until("server_session_ended")
        told = json.loads((await place.get(f"/api/calls/{call_id}/messages?user=user1")).body)["messages"]
        stream = (await place.get(f"/api/calls/{call_id}/events?user=user1&vocabulary=reply")).body.decode()
    folded = in_node(text=stream)["streamed"]
    assert {message["role"] for message in told} == {"user", "assistant"}
    assert folded["messages"] == [canonical_json(message).decode() for message in told]
    assert folded["ids"] == sorted(folded["ids"], key=lambda seq: int(seq or 0))
