"""What holds for the events of every model, checked on a list of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from realtime.event import ModelEvent, ModelEvents


def check_grammar(events: Sequence[ModelEvent], *, output_rate_hz: int) -> None:
    """Asserts the order that MEV-03 to MEV-12 promise for whatever responses and turns the events hold."""
    begun: set[str] = set()
    done: set[str] = set()
    spoken: dict[str, str] = {}
    written: dict[str, str] = {}
    arguments: dict[str, str] = {}
    heard: dict[str, str] = {}
    closed: set[tuple[str, str]] = set()
    for event in events:
        response_id = getattr(event, "response_id", None)
        match event:
            case ModelEvents.ModelResponseCreatedEvent():
                assert response_id not in begun, "a response begins once"
                begun.add(event.response_id)
                continue
            case ModelEvents.ModelResponseDoneEvent():
                assert response_id in begun - done, "a response ends once, and after it began"
                done.add(event.response_id)
                continue
            case ModelEvents.ModelInputTranscriptionDeltaEvent(item_id=item_id, delta=delta):
                heard[item_id] = heard.get(item_id, "") + delta
            case ModelEvents.ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=transcript):
                assert heard.get(item_id, transcript).split() == transcript.split()
            case ModelEvents.ModelResponseAudioDeltaEvent(item_id=item_id, delta=pcm, format=pcm_format):
                assert ("audio", item_id) not in closed, "no audio after its end"
                assert len(pcm) % 2 == 0
                assert pcm_format.rate_hz(0) == output_rate_hz
            case ModelEvents.ModelResponseAudioDoneEvent(item_id=item_id):
                closed.add(("audio", item_id))
            case ModelEvents.ModelResponseAudioTranscriptDeltaEvent(item_id=item_id, delta=delta):
                assert ("transcript", item_id) not in closed, "no words after their end"
                spoken[item_id] = spoken.get(item_id, "") + delta
            case ModelEvents.ModelResponseAudioTranscriptDoneEvent(item_id=item_id, transcript=transcript):
                closed.add(("transcript", item_id))
                assert spoken.get(item_id, "").split() == transcript.split()
            case ModelEvents.ModelResponseTextDeltaEvent(item_id=item_id, delta=delta):
                written[item_id] = written.get(item_id, "") + delta
            case ModelEvents.ModelResponseTextDoneEvent(item_id=item_id, text=text):
                assert written.get(item_id, "") == text
            case ModelEvents.ModelResponseToolUseDeltaEvent(item_id=item_id, delta=delta, tool_use=call):
                arguments[item_id] = arguments.get(item_id, "") + delta
                assert call.input == arguments[item_id], "the arguments grow"
            case ModelEvents.ModelResponseToolUseDoneEvent(item_id=item_id, tool_use=call):
                assert isinstance(json.loads(call.input), dict)
                assert arguments.get(item_id, call.input) in (call.input, "")
            case _:
                continue
        if response_id is not None:
            assert response_id in begun - done, f"{event.type} outside its response"
    assert begun == done, "every response ends"
