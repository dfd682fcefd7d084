"""Lists too long to be built and texts too long to be passed on are refused before they cost anybody anything."""

import json
import random

import pytest

from realtime.dialects import weight
from realtime.dialects.base import decode_json
from realtime.dialects.weight import MAX_PICTURE_CHARS, MAX_TEXT_CHARS, MAX_VALUES, weighed
from realtime.errors import ClientError


def refused(frame: str | bytes) -> bool:
    try:
        for _ in weighed(frame):
            pass
    except ClientError as error:
        return error.code == "too_many_values"
    return False


@pytest.mark.parametrize("cell", ["0", "[]", "{}", '""', '{"a":1}', '"a, b"', "[[]]"])
def test_a_list_too_long_is_refused(cell: str) -> None:
    short = MAX_VALUES // 8
    assert not refused('{"turns":[' + ",".join([cell] * short) + "]}")
    assert refused('{"turns":[' + ",".join([cell] * (MAX_VALUES + 1)) + "]}")


@pytest.mark.parametrize("frame", ["[" * (MAX_VALUES + 1), '{"a":' * MAX_VALUES])
def test_nesting_without_an_end_is_refused(frame: str) -> None:
    assert refused(frame)


@pytest.mark.parametrize(
    "text", ["a, b: [c] {d}", '"quoted", "twice"', "back\\slash, ", 'both\\",', "[{" * 9, "ä, ö, ü", "\\\\\\"]
)
def test_what_stands_in_a_text_does_not_count(text: str) -> None:
    for ascii_only in (True, False):
        frame = json.dumps({"text": text * 40_000}, ensure_ascii=ascii_only)
        assert not refused(frame)
        assert not refused(frame.encode())


def test_wherever_a_step_ends_the_count_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight, "MAX_VALUES", 20)
    texts = ['"', "\\", '\\"', "\\\\", ",", "[", "plain", "ä"]
    chance = random.Random(7)
    for _ in range(200):
        value = ["".join(chance.choices(texts, k=chance.randrange(6))) for _ in range(chance.randrange(5, 30))]
        frame = json.dumps({"list": value})
        # Of an object with one key and a list: two brackets that open, a colon, and what stands between.
        expected = 3 + len(value) - 1 > 20
        for step in (1, 2, 3, 7, 1_000):
            monkeypatch.setattr(weight, "_STEP", step)
            assert refused(frame) is expected, frame


def test_spaces_before_a_binary_frame_of_json_hide_none_of_its_values() -> None:
    assert refused(b" \n" * 100 + b"[" + b"0," * (MAX_VALUES + 1) + b"0]")


def test_binary_speech_weighs_nothing() -> None:
    assert not refused(b"\x01" + b",[{" * 100_000)


def test_text_of_a_frame_is_bounded_and_speech_may_be_longer() -> None:
    speech = {"type": "client_audio_append", "audio": "A" * (MAX_TEXT_CHARS + 4)}
    assert decode_json(json.dumps(speech)).type == "client_audio_append"
    picture = {"type": "client_image_append", "image": "A" * (MAX_TEXT_CHARS + 4)}
    assert decode_json(json.dumps(picture)).type == "client_image_append"
    for too_long in (
        {"type": "client_text_append", "text": "a" * MAX_TEXT_CHARS, "event_id": "mine"},
        {"type": "client_image_append", "image": "A" * (MAX_PICTURE_CHARS + 4), "event_id": "mine"},
        {**speech, "event_id": "mine", "unknown": "a" * MAX_TEXT_CHARS},
    ):
        with pytest.raises(ClientError) as error:
            decode_json(json.dumps(too_long))
        assert (error.value.code, error.value.client_event_id) == ("frame_too_large", "mine")
