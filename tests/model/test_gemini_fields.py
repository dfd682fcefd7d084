"""What Gemini says beside words and sound: guesses, languages, sources, calls in pieces, signatures, handles.

The frames hold the official SDK's fields, which reads every one of them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from realtime.event import ModelEvent, ModelEvents
from realtime.event.base import ContentPart, Item
from realtime.model.base import ItemCreate, ResponseCreate, Settings
from realtime.model.gemini.model import GeminiCodec, Resumption
from tests.model.frames import Json, content, fresh_gemini, gemini, hear, only, say, types


@pytest.fixture
def sdk_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every frame that the codec is given here is one that the SDK reads whole."""
    sdk = pytest.importorskip("google.genai.types")
    decode = GeminiCodec.decode

    def checked(self: GeminiCodec, frame: str | bytes) -> list[ModelEvent]:
        message = sdk.LiveServerMessage.model_validate(json.loads(frame))
        assert not message.model_extra
        return decode(self, frame)

    monkeypatch.setattr(GeminiCodec, "decode", checked)


pytestmark = pytest.mark.usefixtures("sdk_reads")


def test_words_that_are_guessed_while_the_user_speaks_are_told_and_replaced() -> None:
    codec = gemini()
    events = content(codec, interimInputTranscription={"text": "Tell"})
    events += content(codec, interimInputTranscription={"text": "Tell me"})
    events += content(codec, inputTranscription={"text": "Tell me."})
    assert types(events) == ["input_started", *["input_transcription_delta"] * 3]
    told = only(events, ModelEvents.ModelInputTranscriptionDeltaEvent)
    assert [(one.delta, one.interim) for one in told] == [("", "Tell"), ("", "Tell me"), ("Tell me.", None)]
    events = content(codec, outputTranscription={"text": "Well."}) + content(codec, turnComplete=True)
    (done,) = only(events, ModelEvents.ModelInputTranscriptionDoneEvent)
    assert done.transcript == "Tell me."


def test_the_language_of_what_was_said_is_told() -> None:
    codec = gemini()
    events = content(codec, inputTranscription={"text": "Guten Tag.", "languageCode": "de-DE"})
    events += content(codec, outputTranscription={"text": "Good day.", "languageCode": "en-US"})
    events += content(codec, turnComplete=True)
    (heard,) = only(events, ModelEvents.ModelInputTranscriptionDoneEvent)
    (said,) = only(events, ModelEvents.ModelResponseAudioTranscriptDoneEvent)
    assert (heard.language, said.language) == ("de-DE", "en-US")


def test_the_sources_of_an_answer_come_with_its_end() -> None:
    codec = gemini()
    content(codec, outputTranscription={"text": "It rains."})
    chunk = {"web": {"uri": "https://weather.example/koeln", "title": "Köln"}}
    content(codec, groundingMetadata={"groundingChunks": [chunk]})
    events = content(codec, turnComplete=True, groundingMetadata={"webSearchQueries": ["weather Köln"]})
    (done,) = only(events, ModelEvents.ModelResponseDoneEvent)
    assert done.grounding == {"groundingChunks": [chunk], "webSearchQueries": ["weather Köln"]}


def piece(**fields: Any) -> Json:
    return {"functionCalls": [fields]}


def test_a_call_whose_arguments_come_in_pieces_runs_once_and_whole() -> None:
    codec = gemini()
    events = hear(codec, toolCall=piece(id="fc_1", name="set_light", willContinue=True))
    for arguments in (
        [{"jsonPath": "$.rooms[0].name", "stringValue": "kit", "willContinue": True}],
        [{"jsonPath": "$.rooms[0].name", "stringValue": "chen"}, {"jsonPath": "$.rooms[0].dim", "boolValue": True}],
        [{"jsonPath": "$.rooms[1].name", "stringValue": "hall"}, {"jsonPath": "$['level']", "numberValue": 40}],
        [{"jsonPath": "$.note", "nullValue": "NULL_VALUE"}, {"jsonPath": "$.warmth", "numberValue": 0.5}],
    ):
        events += hear(codec, toolCall=piece(partialArgs=arguments, willContinue=True))
    assert types(events) == ["response_created"]
    events = hear(codec, toolCall=piece())
    assert types(events) == ["item_added", "response_tool_use_done", "item_done", "response_done"]
    (call,) = only(events, ModelEvents.ModelResponseToolUseDoneEvent)
    assert (call.tool_use.id, call.tool_use.name) == ("fc_1", "set_light")
    assert json.loads(call.tool_use.input) == {
        "rooms": [{"name": "kitchen", "dim": True}, {"name": "hall"}],
        "level": 40,
        "note": None,
        "warmth": 0.5,
    }


@pytest.mark.parametrize("path", ["rooms", "$", "$..name", "$.rooms[7]", "$[0]", "$.a[*]"])
def test_a_place_that_cannot_be_is_left_out_of_the_arguments(path: str) -> None:
    codec = gemini()
    told = [{"jsonPath": "$.name", "stringValue": "Ann"}, {"jsonPath": path, "stringValue": "wrong"}]
    events = hear(codec, toolCall=piece(id="fc_1", name="greet", partialArgs=told))
    (call,) = only(events, ModelEvents.ModelResponseToolUseDoneEvent)
    assert json.loads(call.tool_use.input)["name"] == "Ann"
    assert "wrong" not in call.tool_use.input


def test_a_call_that_breaks_off_in_the_middle_never_runs() -> None:
    codec = gemini()
    events = hear(codec, toolCall=piece(id="fc_1", name="set_light", willContinue=True))
    events += content(codec, interrupted=True)
    events += content(codec, turnComplete=True)
    events += hear(codec, toolCall=piece(id="fc_2", name="get_time", args={"city": "Oslo"}))
    (call,) = only(events, ModelEvents.ModelResponseToolUseDoneEvent)
    assert (call.tool_use.id, call.tool_use.name, call.tool_use.input) == ("fc_2", "get_time", '{"city":"Oslo"}')


def answer(codec: GeminiCodec, words: str, **part: Any) -> str:
    """An answer with a part of this kind in it. Returns its item."""
    events = content(codec, outputTranscription={"text": words}, modelTurn={"parts": [part]} if part else None)
    return only(events + content(codec, turnComplete=True), ModelEvents.ModelItemDoneEvent)[-1].item.id


def spoken(item_id: str, words: str) -> Item:
    return Item(id=item_id, role="assistant", content=(ContentPart(type="audio", transcript=words),))


def test_what_gemini_thinks_is_told_apart_from_what_it_says() -> None:
    """In pieces, before the words and between them, each time complete before something else comes."""
    codec = gemini()
    events = content(codec, modelTurn={"parts": [{"text": "A joke. ", "thought": True}]})
    events += content(codec, modelTurn={"parts": [{"text": "A short one.", "thought": True}]})
    events += content(codec, outputTranscription={"text": "Knock knock."})
    events += content(codec, modelTurn={"parts": [{"text": "Wait.", "thought": True}, SOUND]})
    events += content(codec, turnComplete=True)
    assert types(events) == [
        *("response_created", "response_thinking_delta", "response_thinking_delta", "response_thinking_done"),
        *("item_added", "response_audio_transcript_delta", "response_thinking_delta", "response_thinking_done"),
        *("response_audio_delta", "response_audio_done", "response_audio_transcript_done", "item_done"),
        "response_done",
    ]
    done = only(events, ModelEvents.ModelResponseThinkingDoneEvent)
    assert [one.thinking for one in done] == ["A joke. A short one.", "Wait."]
    (said,) = only(events, ModelEvents.ModelResponseAudioTranscriptDoneEvent)
    assert said.transcript == "Knock knock."
    assert len({said.item_id, *(one.item_id for one in done)}) == 3


def test_thoughts_end_with_the_calls_that_they_led_to_and_with_an_answer_that_is_cut() -> None:
    thought = {"parts": [{"text": "The weather.", "thought": True}]}
    codec = gemini()
    events = content(codec, modelTurn=thought)
    events += hear(codec, toolCall={"functionCalls": [{"id": "fc_1", "name": "get_weather", "args": {}}]})
    assert types(events)[1:4] == ["response_thinking_delta", "response_thinking_done", "item_added"]
    events = content(gemini(), modelTurn=thought, turnComplete=True)
    assert types(events)[1:] == ["response_thinking_delta", "response_thinking_done", "response_done"]


def test_the_signature_of_a_thought_is_given_back_with_the_answer_it_led_to() -> None:
    """On a new session, which knows nothing of it; on a resumed one the service has it."""
    resumption = Resumption()
    codec = gemini(resumption=resumption)
    first = answer(codec, "Four.", text="Two and two.", thought=True, thoughtSignature="c2lnbmVk")
    second = answer(codec, "Five.")
    again = gemini(history=(spoken(first, "Four."), spoken(second, "Five.")), resumption=resumption)
    (frame, _) = say(again, ResponseCreate())
    assert frame["clientContent"]["turns"] == [
        {"parts": [{"text": "Four.", "thoughtSignature": "c2lnbmVk"}], "role": "model"},
        {"parts": [{"text": "Five."}], "role": "model"},
    ]


def test_the_signature_of_an_answer_that_was_cut_is_not_given_back() -> None:
    resumption = Resumption()
    codec = gemini(resumption=resumption)
    thought = {"text": "Long.", "thought": True, "thoughtSignature": "c2lnbmVk"}
    events = content(codec, outputTranscription={"text": "Once upon a"}, modelTurn={"parts": [thought]})
    events += content(codec, interrupted=True) + content(codec, turnComplete=True)
    (item,) = [one.item for one in only(events, ModelEvents.ModelItemDoneEvent)]
    again = gemini(history=(spoken(item.id, "Once"),), resumption=resumption)
    (frame, _) = say(again, ResponseCreate())
    assert frame["clientContent"]["turns"] == [{"parts": [{"text": "Once"}], "role": "model"}]


SOUND = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}}


def typed(item_id: str, words: str) -> ItemCreate:
    return ItemCreate(Item(id=item_id, role="user", content=(ContentPart(type="text", text=words),)))


def test_what_a_handle_covers_is_not_told_again_on_the_resumed_session() -> None:
    """`lastConsumedClientMessageIndex`: the service knows the first question of two that it has not answered."""
    resumption = Resumption()
    codec = gemini(resumption=resumption)
    answered = answer(codec, "Hello.")
    say(codec, typed("item_a", "Who are you?"), ResponseCreate())
    say(codec, typed("item_b", "And where?"), ResponseCreate())
    hear(
        codec,
        sessionResumptionUpdate={"newHandle": "h", "resumable": True, "lastConsumedClientMessageIndex": "1"},
    )
    again = fresh_gemini(resumption=resumption)
    history = (spoken(answered, "Hello."), typed("item_a", "Who are you?").item, typed("item_b", "And where?").item)
    (setup,) = again.opening(Settings(), history)
    assert json.loads(setup)["setup"]["sessionResumption"] == {"handle": "h"}
    hear(again, setupComplete={})
    (frame, _) = say(again, ResponseCreate())
    assert frame["clientContent"]["turns"] == [{"parts": [{"text": "And where?"}], "role": "user"}]


def test_a_turn_that_the_model_does_not_answer_ends_with_its_words() -> None:
    codec = gemini()
    events = content(codec, inputTranscription={"text": "Hm, "})
    events += content(codec, inputTranscription={"text": "let me think."})
    events += content(codec, waitingForInput=True) + content(codec, turnComplete=True)
    assert types(events)[-3:] == ["input_done", "input_committed", "input_transcription_done"]
    (done,) = only(events, ModelEvents.ModelInputTranscriptionDoneEvent)
    assert done.transcript == "Hm, let me think."
