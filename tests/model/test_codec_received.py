"""The codecs on what the services say: a row of frames and of the events that they are, for each provider.

`told/PROVIDER/NAME.jsonl` holds, line by line, what each received frame of `fixtures/models` tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec
import pybase64
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart
from realtime.message import ToolCallBlock, ToolCallState, ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    Codec,
    ItemCreate,
    ItemTruncate,
    ModelInput,
    ResponseCreate,
    ToolResult,
)
from realtime.model.openai_family import dashscope_frames, openai_frames
from realtime.model.openai_family.codec import FamilyCodec
from tests.model.frames import (
    KEY,
    PCM,
    PLACE,
    RECORDINGS,
    Json,
    content,
    dashscope,
    decode_all,
    dump,
    fixture_rows,
    gemini,
    hear,
    one,
    only,
    openai,
    opened_gemini,
    received,
    recorded,
    responding,
    say,
    types,
)
from tests.model.grammar import check_grammar

CODECS: dict[str, Callable[[], Codec]] = {"openai": openai, "dashscope": dashscope, "gemini": opened_gemini}
OURS = {
    "openai": ("spoken_turn", "text_turn", "tool_calls", "cancelled", "errors", "rest"),
    "dashscope": ("spoken_turn", "text_turn", "tool_calls", "cancelled", "errors", "rest"),
    "gemini": ("spoken_turn", "text_turn", "tool_calls", "interrupted", "rest"),
}
SAID_BEFORE: dict[tuple[str, str], ModelInput] = {
    ("openai", "tool_calls"): ToolResult(ToolResultBlock(id="call_aaaaaaaaaaaaaaa1", name="get_time")),
    ("openai", "cancelled"): ItemTruncate("item_a1", 250, "Once upon"),
    ("gemini", "spoken_turn"): AudioAppend(PCM * 10),
}
AUDIO = {"openai": "response.output_audio.delta", "dashscope": "response.audio.delta"}
SPEAKING: dict[str, Callable[[], FamilyCodec[Any]]] = {"openai": openai, "dashscope": responding}
FLAVOURS = {"openai": openai_frames.FLAVOUR, "dashscope": dashscope_frames.FLAVOUR}
each = pytest.mark.parametrize("provider", CODECS)
of_the_family = pytest.mark.parametrize("provider", SPEAKING)


def rows_told(provider: str, name: str) -> list[Json]:
    """What our codec makes of each frame: the frame's name, and the events, of sound only how much."""
    codec = CODECS[provider]()
    if before := SAID_BEFORE.get((provider, name)):
        codec.encode(before)
    return [
        {"frame": frame.get("type") or " ".join(named(frame)), "told": [*map(short, decode_all(codec, [frame]))]}
        for frame in received(fixture_rows(provider, name))
    ]


def named(frame: Json) -> list[str]:
    """The messages of a frame of Gemini."""
    return [*(key for key in frame if key != "serverContent"), *frame.get("serverContent", ())]


def short(event: ModelEvent) -> Json:
    """The event without what is as it is by default."""
    fields = {"type": event.type.removeprefix("model_")} | without_defaults(event)
    if isinstance(event, ModelEvents.ModelResponseAudioDeltaEvent):
        fields |= {"delta": f"{len(event.delta)} bytes", "format": event.format.rate_hz(0)}
    json_fields: Json = json.loads(msgspec.json.encode(fields))
    return json_fields


def without_defaults(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [without_defaults(part) for part in value]
    if not isinstance(value, msgspec.Struct):
        return value
    named = {field.name: (getattr(value, field.name), field.default) for field in msgspec.structs.fields(value)}
    return {name: without_defaults(given) for name, (given, default) in named.items() if given != default}


@pytest.mark.parametrize(("provider", "name"), [(provider, name) for provider in OURS for name in OURS[provider]])
def test_each_frame_tells_these_events(provider: str, name: str) -> None:
    """MEV-01: the session's id. MEV-03, MEV-04: a response begins before its deltas, and is done once.
    MEV-05, MEV-06, MEV-08: pcm16 of 24 kHz, done after the last delta. MEV-07, MEV-11, MEV-12: the words.
    MEV-09, MEV-10: the input of a call grows and parses. MEV-13, MEV-14: where speech begins and ends, without padding.
    MEV-15: errors say whose fault it is, and whether to try again."""
    lines = (Path(__file__).parent / "told" / provider / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    assert rows_told(provider, name) == [json.loads(line) for line in lines]


@each
def test_sound_of_odd_chunks_arrives_whole(provider: str) -> None:
    """MEV-05."""
    frames = received(fixture_rows(provider, "spoken_turn"))
    if provider == "gemini":
        parts = [
            part for frame in frames for part in frame.get("serverContent", {}).get("modelTurn", {}).get("parts", ())
        ]
        sent = [part["inlineData"]["data"] for part in parts if "inlineData" in part]
    else:
        sent = [frame["delta"] for frame in frames if frame["type"] == AUDIO[provider]]
    told = only(decode_all(CODECS[provider](), frames), ModelEvents.ModelResponseAudioDeltaEvent)
    assert b"".join(event.delta for event in told) == b"".join(map(pybase64.b64decode, sent))


@pytest.mark.parametrize(
    ("provider", "name"), [(provider, name) for provider in ("openai", "gemini") for name in RECORDINGS]
)
def test_every_recorded_frame_is_known_and_every_answer_well_formed(
    recordings_dir: Path, provider: str, name: str
) -> None:
    codec = cast(Any, CODECS[provider]())
    frames = [uncut(frame) for frame in received(recorded(recordings_dir, provider, name))]
    events = decode_all(codec, frames)
    check_grammar(events, output_rate_hz=24_000)
    assert (codec.reader.unknown_frames, codec.reader.broken_frames) == (0, 0)
    assert only(events, ModelEvents.ModelSessionCreatedEvent)
    done = only(events, ModelEvents.ModelResponseDoneEvent)[-1]
    if provider == "gemini":
        assert only(events, ModelEvents.ModelResponseAudioDeltaEvent)
        assert (done.status, done.input_tokens > 1000, done.output_tokens > 20) == ("completed", True, True)


def uncut(frame: Json) -> Json:
    """The recordings of Gemini cut payloads anywhere, also inside four characters of base64."""
    frame = json.loads(json.dumps(frame))
    for part in frame.get("serverContent", {}).get("modelTurn", {}).get("parts", ()):
        if data := part.get("inlineData", {}).get("data"):
            part["inlineData"]["data"] = data[: len(data) // 4 * 4]
    return frame


@pytest.mark.parametrize("name", RECORDINGS)
def test_what_was_recorded_as_sent_to_openai_is_what_we_send(recordings_dir: Path, name: str) -> None:
    codec = openai()
    for direction, frame in recorded(recordings_dir, "openai", name):
        if direction == "sent" and frame["type"] != "session.update":
            (said,) = say(codec, as_input(frame))
            said.get("item", {}).pop("id", None)
            assert said == frame


def as_input(frame: Json) -> ModelInput:
    """What we would have been asked to do to send this frame."""
    if frame["type"] == "response.create":
        return ResponseCreate()
    assert frame["type"] == "conversation.item.create"
    item = frame["item"]
    if item["type"] == "function_call_output":
        return ToolResult(ToolResultBlock(id=item["call_id"], name="", output=item["output"]))
    if item["type"] == "function_call":
        call = ToolCallBlock(id=item["call_id"], name=item["name"], input=item["arguments"])
        return ItemCreate(Item(id="", type="tool_call", tool_call=call))
    (part,) = item["content"]
    return ItemCreate(Item(id="", role=item["role"], content=(ContentPart(type="text", text=part["text"]),)))


# Rules that hold for every frame.


@of_the_family
@given(pcm=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_audio_cut_at_any_byte_is_the_same_audio(provider: str, pcm: bytes, cuts: list[int]) -> None:
    codec = SPEAKING[provider]()
    edges = [0, *sorted(min(cut, len(pcm)) for cut in cuts), len(pcm)]
    events: list[ModelEvent] = []
    for start, end in pairwise(edges):
        events += one(codec, AUDIO[provider], **PLACE, delta=pybase64.b64encode_as_string(pcm[start:end]))
    deltas = [event.delta for event in only(events, ModelEvents.ModelResponseAudioDeltaEvent)]
    assert all(len(delta) % 2 == 0 for delta in deltas)
    assert b"".join(deltas) == pcm[: len(pcm) // 2 * 2]


SPELLINGS = (
    '{"type":"KIND","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB"}',
    '{"event_id":"e","type":"KIND","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB"}',
    '{"type":"KIND","response_id":"r","delta":"AAAB","item_id":"i","output_index":1}',
    '{"type": "KIND", "response_id": "r","item_id": "i","output_index": 1, "delta": "AAAB"}',
    '{"delta":"AAAB","response_id":"r","item_id":"i","output_index":1,"type":"KIND"}',
    '{"type":"KIND","response_id":"r","item_id":"i","output_index":1,"delta":"AA\\u0041B"}',
    '{"type":"KIND","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB","x":"y"}',
    '{"x":{"delta":"BBBB"},"type":"KIND","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB"}',
    '{"x":"\\"delta\\":\\"BBBB","type":"KIND","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB"}',
)


@of_the_family
def test_an_audio_delta_is_read_in_any_order_and_spelling_as_text_or_bytes(provider: str) -> None:
    read = {}
    for spelling in SPELLINGS:
        text = spelling.replace("KIND", AUDIO[provider])
        for frame in (text, text.encode(), cast(bytes, bytearray(text.encode()))):
            (event,) = SPEAKING[provider]().decode(frame)
            assert isinstance(event, ModelEvents.ModelResponseAudioDeltaEvent)
            read[str(frame)] = (event.response_id, event.item_id, event.output_index, event.delta)
    assert {frame: told for frame, told in read.items() if told != ("r", "i", 1, b"\0\0")} == {}


ids = st.sampled_from(["event_1", "event_2", "", 'a"b', "\\", '","response_id":"r2"', '"event_id":"', "\n", "\u00fc"])
names = st.sampled_from(["r", "r2", 'i"', "event_id"])
orders = st.sampled_from(
    [
        ("type", "event_id", "response_id", "item_id", "output_index", "delta"),
        ("type", "response_id", "item_id", "output_index", "event_id", "delta"),
        ("event_id", "type", "response_id", "item_id", "output_index", "delta"),
        ("type", "response_id", "item_id", "delta", "output_index", "event_id"),
        ("type", "response_id", "item_id", "output_index", "delta"),
    ]
)
deltas = st.fixed_dictionaries(
    {
        "type": st.just(AUDIO["openai"]),
        "event_id": ids,
        "response_id": names,
        "item_id": names,
        "output_index": st.integers(0, 1),
        "delta": st.sampled_from([b"", b"\1\2", b"\3\4\5\6"]).map(pybase64.b64encode_as_string),
    }
)


@given(st.lists(st.tuples(orders, deltas), max_size=8))
def test_an_audio_delta_says_the_same_whatever_came_before_it(frames: list[tuple[tuple[str, ...], Json]]) -> None:
    codec = openai()
    for order, fields in frames:
        frame = dump({name: fields[name] for name in order})
        assert codec.decode(frame) == openai().decode(frame)


def test_a_delta_whose_payload_is_no_base64_is_refused_also_behind_good_ones() -> None:
    codec = openai()
    good = dump({"type": AUDIO["openai"], "event_id": "e"} | PLACE | {"delta": "AAAA"})
    assert len(codec.decode(good)) == len(codec.decode(good)) == 1
    assert codec.decode(good.replace("AAAA", "A?AA")) == []
    assert codec.reader.broken_frames == 1


@of_the_family
def test_words_that_quote_a_frame_type_are_words(provider: str) -> None:
    words = f'"{AUDIO[provider]}","delta":"AAAA"}}'
    (event,) = one(SPEAKING[provider](), AUDIO[provider].replace("audio", "text"), **PLACE, delta=words)
    assert isinstance(event, ModelEvents.ModelResponseTextDeltaEvent)
    assert event.delta == words


GRIN = "\U0001f600"
FIRST, SECOND = rb"\ud83d", rb"\ude00"
HALVES: dict[str, tuple[list[bytes], str]] = {
    "two deltas": ([b"Hi " + FIRST, SECOND + b"!"], f"Hi {GRIN}!"),
    "three deltas": ([b"Hi ", FIRST, SECOND + b"!"], f"Hi {GRIN}!"),
    "upper case": ([rb"Hi \uD83D", rb"\uDE00!"], f"Hi {GRIN}!"),
    "as bytes": ([b"Hi \xed\xa0\xbd", b"\xed\xb8\x80!"], f"Hi {GRIN}!"),
    "no other half": ([b"Hi " + FIRST, b"all!"], "Hi \ufffdall!"),
    "the second alone": ([b"Hi ", SECOND + b"!"], "Hi \ufffd!"),
    "two first halves": ([b"Hi " + FIRST + FIRST, SECOND + b"!"], f"Hi \ufffd{GRIN}!"),
    "inside a delta": ([b"Hi " + FIRST + b"all" + SECOND, b"!"], "Hi \ufffdall\ufffd!"),
    "half of its UTF-8": ([b"Hi \xf0\x9f", b"all!"], "Hi \ufffdall!"),
    "Latin-1": ([b"caf\xe9 ", b"au lait!"], "caf\ufffd au lait!"),
    "beside a whole one": ([b"Hi " + FIRST + SECOND + FIRST, b"!"], f"Hi {GRIN}\ufffd!"),
    "control characters as they are": ([b"a\tb\n", b"c\x07!"], "a\tb\nc\x07!"),
    "escapes that JSON has not": ([rb"\x41 ", rb"\u12!"], r"\x41 \u12!"),
    "escaped backslashes": ([rb"C:\\ud83d " + FIRST, b"!"], r"C:\ud83d" + " \ufffd!"),
}


def family_deltas(codec: FamilyCodec[Any], kind: str, pieces: list[bytes]) -> list[ModelEvent]:
    frames = [dump({"type": kind} | PLACE | {"delta": "@"}).encode().replace(b"@", piece) for piece in pieces]
    return [event for frame in frames for event in codec.decode(frame)]


@of_the_family
@pytest.mark.parametrize(("pieces", "words"), HALVES.values(), ids=HALVES)
@pytest.mark.parametrize("kind", ["audio_transcript", "text"])
def test_half_a_character_loses_nothing_but_itself(provider: str, kind: str, pieces: list[bytes], words: str) -> None:
    codec = SPEAKING[provider]()
    type_name = AUDIO[provider].replace("audio", kind)
    said = family_deltas(codec, type_name, pieces)
    assert "".join(cast(Any, event).delta for event in said) == words
    whole = dump({"type": type_name.replace("delta", "done")} | PLACE | {"text": "@", "transcript": "@"}).encode()
    (done,) = codec.decode(whole.replace(b"@", b"".join(pieces)))
    assert (cast(Any, done).text if kind == "text" else cast(Any, done).transcript) == words
    assert codec.reader.broken_frames == 0


@pytest.mark.parametrize(("pieces", "words"), HALVES.values(), ids=HALVES)
def test_half_a_character_of_gemini_loses_nothing_but_itself(pieces: list[bytes], words: str) -> None:
    """What it said of the user, aloud, in writing and in thought."""
    for frame in ({"outputTranscription": {"text": "@"}}, {"modelTurn": {"parts": [{"text": "@", "thought": True}]}}):
        codec = opened_gemini()
        frames = [dump({"serverContent": frame}).encode().replace(b"@", piece) for piece in pieces]
        events = [event for one in frames for event in codec.decode(one)]
        events += content(codec, generationComplete=True, turnComplete=True)
        assert "".join(event.delta for event in events if isinstance(getattr(event, "delta", None), str)) == words
        done = [event for event in events if event.type.endswith(("transcript_done", "thinking_done"))]
        assert [getattr(event, "transcript", "") or getattr(event, "thinking", "") for event in done][-1:] == [words]
        assert (codec.reader.unknown_frames, codec.reader.broken_frames) == (0, 0)


def test_half_a_character_in_what_the_user_said_and_in_a_call_is_mended() -> None:
    codec = openai()
    item_id = {"item_id": "u", "content_index": 0}
    kind = "conversation.item.input_audio_transcription"
    for part, expected in (("delta", "\ufffd"), ("completed", "\ufffd")):
        field = "delta" if part == "delta" else "transcript"
        (event,) = codec.decode(dump({"type": f"{kind}.{part}"} | item_id | {field: "a@"}).replace("@", r"\ud83db"))
        assert getattr(event, field) == f"a{expected}b"
    call = {
        "type": "function_call",
        "id": "i",
        "call_id": "c",
        "name": "f",
        "arguments": '{"a":"@"}',
        "status": "completed",
    }
    frame = dump({"type": "response.output_item.done", "response_id": "r", "output_index": 0, "item": call})
    (used,) = only(codec.decode(frame.replace("@", r"\ud83d")), ModelEvents.ModelResponseToolUseDoneEvent)
    assert used.tool_use.input == '{"a":"\ufffd"}'
    assert used.tool_use.state is ToolCallState.PENDING  # else it runs at the model
    (used,) = only(codec.decode(frame.replace("@", "b")), ModelEvents.ModelResponseToolUseDoneEvent)
    assert used.tool_use.state is ToolCallState.PENDING
    gem = opened_gemini()
    heard = [
        event
        for piece in (FIRST, SECOND)
        for event in gem.decode(
            dump({"serverContent": {"inputTranscription": {"text": "@"}}}).encode().replace(b"@", piece)
        )
    ]
    heard += content(gem, modelTurn={"parts": [{"text": "Yes."}]}, turnComplete=True)
    (done,) = only(heard, ModelEvents.ModelInputTranscriptionDoneEvent)
    assert done.transcript == GRIN


def test_what_xai_says_beyond_openai_is_known() -> None:
    """Its words so far may correct those before: a guess until they are complete."""
    codec = openai()
    kind = "conversation.item.input_audio_transcription"
    assert one(codec, "ping", timestamp=1_780_000_000) == []
    guesses = [one(codec, f"{kind}.updated", item_id="u", transcript=words) for words in ("Tell", "Tell me", "")]
    assert guesses == [
        [ModelEvents.ModelInputTranscriptionDeltaEvent(item_id="u", delta="", interim="Tell")],
        [ModelEvents.ModelInputTranscriptionDeltaEvent(item_id="u", delta="", interim="Tell me")],
        [],
    ]
    (done,) = one(codec, f"{kind}.completed", item_id="u", transcript="Tell me more")
    assert isinstance(done, ModelEvents.ModelInputTranscriptionDoneEvent)
    assert (codec.reader.unknown_frames, codec.reader.broken_frames) == (0, 0)


def test_a_field_that_is_dropped_breaks_no_frame() -> None:
    codec = openai()
    assert one(codec, "response.output_text.delta", **PLACE | {"output_index": "one"}, delta="Hi") != []
    assert one(codec, "error", error={"code": 5}) != []
    assert codec.reader.broken_frames == 0
    gem = opened_gemini()
    assert content(gem, outputTranscription={"text": "Hi"}, turnComplete="yes", modelTurn=7) != []
    assert gem.reader.broken_frames == 0
    assert content(gem, outputTranscription=7) == []
    assert hear(gem, serverContent=7) == []
    assert gem.reader.broken_frames == 1


def test_a_cumulative_transcript_that_ends_in_half_a_character_is_told_without_it() -> None:
    codec = dashscope()
    kind = "conversation.item.input_audio_transcription"
    texts = [rb"Hi", rb"Hi \ud83d", rb"Hi \ud83d\ude00 you"]
    frames = [
        dump({"type": f"{kind}.delta", "item_id": "u", "text": "@"}).encode().replace(b"@", text) for text in texts
    ]
    said = only([e for frame in frames for e in codec.decode(frame)], ModelEvents.ModelInputTranscriptionDeltaEvent)
    assert "".join(event.delta for event in said) == f"Hi {GRIN} you"


UNREADABLE = {
    b"": (0, 1),
    b"not json": (0, 1),
    b"[1]": (0, 1),
    b"\xff\xfe": (0, 1),
    b"[" * 100_000: (0, 1),
    b'{"type":7}': (0, 1),
    b'{"type":"response.of.the.future"}': (1, 0),
    b'{"type":"input_audio_buffer.speech_started","item_id":"i"}': (0, 1),
    b'{"type":"KIND","response_id":"r","item_id":"i","delta":"%%%"}': (0, 1),
    b'{"type":"KIND","response_id":"r","item_id":"i","delta":"AAAA': (0, 1),
    b'{"type":"rate_limits.updated"}': (0, 0),
}
"""Frames of the OpenAI family, and how many of them are then unknown and broken."""


@of_the_family
def test_frames_that_cannot_be_read_are_counted_and_ignored(provider: str) -> None:
    """RTM-24: unknown messages and broken JSON cost nothing but a debug line."""
    counted = {}
    for frame in UNREADABLE:
        codec = SPEAKING[provider]()
        assert codec.decode(frame.replace(b"KIND", AUDIO[provider].encode())) == []
        counted[frame] = (codec.reader.unknown_frames, codec.reader.broken_frames)
    assert counted == UNREADABLE


def test_unknown_and_broken_frames_of_gemini_are_counted_and_cost_nothing() -> None:
    """RTM-24: ignored, not fatal."""
    codec = gemini()
    for frame in (b"", b"[1]", b"{", b'{"serverContent": 5}', b"\xff\xfe", b"[" * 5000):
        assert codec.decode(frame) == []
    assert codec.reader.broken_frames == 6
    assert hear(codec, weather={"tomorrow": "rain"}) == []
    assert codec.reader.unknown_frames == 1
    bad = {"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "%%%"}}]}
    assert types(content(codec, modelTurn=bad)) == ["response_created"]
    assert codec.reader.broken_frames == 7
    assert types(content(codec, turnComplete=True)) == ["response_done"]


FIELDS: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, -1, 2**70, 1.5, "", "x", "r", "%%%", "AAA=", [], {}, [1], {"id": "x"}, {"id": 1}, {"type": "x"}),
        {"id": "r", "status": "failed", "status_details": {"error": [1]}, "usage": {"input_tokens": None}},
        {"type": "message", "content": [{"type": "input_text"}, {"type": "odd"}]},
        {"type": "function_call", "status": "in_progress"},
        {"type": "function_call_output", "output": None},
        {"turn_detection": None, "tools": [{}, {"function": {}}], "audio": {"output": None}},
        {"audio": {"input": {"turn_detection": {"prefix_padding_ms": None}}, "output": {"voice": {}}}, "tools": [{}]},
        {"code": None, "type": None, "message": None},
        {"type": "invalid_request_error", "code": "Throttling.X"},
    ]
)
NAMES = st.sampled_from(
    [
        *("session", "item", "item_id", "response", "response_id", "delta", "error", "audio_start_ms", "audio_end_ms"),
        *("call_id", "output_index", "text", "transcript", "arguments", "name"),
    ]
)


@of_the_family
@given(data=st.data(), fields=st.dictionaries(NAMES, FIELDS, max_size=6))
def test_no_field_of_any_frame_can_make_it_raise(provider: str, data: st.DataObject, fields: Json) -> None:
    """RTM-24: frames of every known type with any fields."""
    kind = data.draw(st.sampled_from(sorted(FLAVOURS[provider].all_types)))
    for codec in (CODECS[provider](), SPEAKING[provider]()):
        for event in one(codec, kind, **fields):
            assert event.model_dump()["type"].startswith("model_")


@each
@given(frame=st.one_of(st.binary(max_size=200), st.text(max_size=100)))
def test_no_bytes_can_make_it_raise(provider: str, frame: bytes | str) -> None:
    """RTM-24: anything at all."""
    assert CODECS[provider]().decode(frame) == []


@given(st.binary(max_size=300))
def test_no_bytes_inside_the_sound_of_gemini_raise(data: bytes) -> None:
    """RTM-24, fuzzed."""
    codec = gemini()
    codec.decode(b'{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"data":"' + data * 10)
    assert codec.decode(b'{"serverContent":{}}') == []


# How it ends.


@each
def test_what_a_close_means(provider: str) -> None:
    """Each line of `closes.tsv`; a message of ours says it, without the reason of Gemini."""
    lines = (Path(__file__).parent / "closes.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t")[1:] for line in lines if line.startswith(provider)]
    meant = []
    for code, reason, _, _ in rows:
        said = (gemini() if provider == "gemini" else CODECS[provider]()).closed(int(code) if code else None, reason)
        meant.append([code, reason, said.code, "dialled again" if said.reconnect else "over"])
        assert said.message
        assert provider != "gemini" or not reason or reason not in said.message
    assert meant == rows != []


@of_the_family
@given(before=st.text(max_size=30), after=st.text(max_size=30))
def test_errors_never_repeat_the_key(provider: str, before: str, after: str) -> None:
    """Not even where the service quotes it."""
    events = one(CODECS[provider](), "error", error={"code": "odd", "message": f"{before}{KEY}{after}"})
    (error,) = only(events, ModelEvents.ModelErrorEvent)
    assert KEY not in error.message


# OpenAI alone.


def test_memory_does_not_grow_with_a_session_of_openai() -> None:
    codec = openai()
    for number in range(1000):
        place = PLACE | {"item_id": f"item_{number}"}
        one(codec, "response.output_audio.delta", **place, delta="AAA=")
        one(codec, "response.output_audio.done", **place)
    assert len(codec._sounds) == 64
    assert not any(sound.odd for sound in codec._sounds.values())


# DashScope alone.

TRANSCRIPTION = "conversation.item.input_audio_transcription"


def test_every_kind_of_dashscope_s_frames_is_in_our_fixtures() -> None:
    frames = [frame for name in OURS["dashscope"] for frame in received(fixture_rows("dashscope", name))]
    assert {frame["type"] for frame in frames} == dashscope_frames.FLAVOUR.all_types


def test_what_a_cancelled_response_still_says_is_counted_as_late() -> None:
    codec = dashscope()
    decode_all(codec, received(fixture_rows("dashscope", "cancelled")))
    assert codec.late_frames == 3


KINDS = st.sampled_from(sorted(dashscope_frames.FLAVOUR.all_types))


@given(st.lists(st.tuples(KINDS, st.dictionaries(NAMES, FIELDS, max_size=6))))
def test_no_series_of_frames_breaks_the_order_of_responses(frames: list[tuple[str, Json]]) -> None:
    codec = dashscope()
    running: list[str] = []
    for event in [event for kind, fields in frames for event in one(codec, kind, **fields)]:
        if isinstance(event, ModelEvents.ModelResponseCreatedEvent):
            running.append(event.response_id)
        elif (response_id := getattr(event, "response_id", None)) is not None:
            assert running == [response_id]
            if isinstance(event, ModelEvents.ModelResponseDoneEvent):
                running.clear()


def test_memory_does_not_grow_with_a_session_of_dashscope() -> None:
    codec = dashscope()
    for number in range(200):
        one(codec, "response.created", response={"id": "r"})
        place = PLACE | {"item_id": f"item_{number}"}
        item = {"id": f"item_{number}", "type": "function_call", "call_id": f"c{number}", "name": "f"}
        one(codec, f"{TRANSCRIPTION}.delta", item_id=f"u{number}", text="Good")
        one(codec, f"{TRANSCRIPTION}.completed", item_id=f"u{number}", transcript="Good")
        one(codec, "response.output_item.added", response_id="r", item=item)
        one(codec, "response.function_call_arguments.delta", **place, call_id=f"c{number}", delta="{}")
        one(codec, "response.audio.delta", **place, delta="AAAAAA==")
        one(codec, "response.audio.delta", **place, delta="AA==")
        one(codec, "response.output_item.done", response_id="r", item=item)
        one(codec, "response.done", response={"id": "r"})
        output = {"id": f"o{number}", "type": "function_call_output", "status": "completed", "call_id": f"c{number}"}
        one(codec, "conversation.item.created", item=output)
    held = (codec._sounds, codec._outputs, codec._growing, codec._complete, codec._calls, codec._certain)
    assert [len(kept) for kept in held] == [0] * 6
