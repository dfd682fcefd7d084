"""A reply that was cut by a voice without words goes on where it stopped, and each word of it is there once."""

import asyncio
from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.agent.resumption import BACK_MS, KEPT_BYTES, KeptSpeech, Played, SpokenPart, renamed
from realtime.audio.endpoint import SpeechStarted, TurnEnded
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.model import base
from realtime.state.truncation import Spoken
from realtime.turn.responses import SORRY, UNCLEAR_S
from tests.agent.fakes import WORDS, Call
from tests.agent.test_selective_interruption import LEAVES, ONSET_MS, FakeEar, by_provider, by_server, decisions, hear

pytestmark = pytest.mark.virtual_time

RATE_HZ = 24_000
REPLY_MS = 10_000
LONG_VOICE = ((1_100, SpeechStarted(ONSET_MS)), (3_400, TurnEnded(ONSET_MS, 2_900, b"")))


async def reply(made: Call, ms: int = REPLY_MS, *, is_whole: bool = True) -> str:
    """A reply begins, and a second of it is played."""
    made.receive(c.ClientTextAppendEvent(text="Count, please."))
    response_id = made.link.begin()
    item_id = made.link.speak(response_id, ms, WORDS)
    if is_whole:
        made.link.finish(response_id, WORDS)
    await asyncio.sleep(1)
    return item_id


async def sound(made: Call, from_ms: int, until_ms: int) -> None:
    """The client's audio goes on in real time."""
    for at_ms in range(from_ms + 100, until_ms + 1, 100):
        hear(made, at_ms)
        await asyncio.sleep(0.1)


def spoken(made: Call) -> list[str]:
    return [text for who, text in made.transcript() if who == "assistant"]


def is_whole(made: Call) -> bool:
    """Each word of the reply was said once."""
    return " ".join(spoken(made)).split() == WORDS.split()


def worded(made: Call, text: str) -> None:
    """The model has found these words in the voice."""
    made.link.say(m.ModelInputTranscriptionDoneEvent(item_id="item_1", transcript=text))


async def cut_by_a_voice(made: Call) -> None:
    """A long voice without known words interrupts, and its turn ends."""
    await sound(made, 0, 1_100)
    made.link.hear_start("item_1", ONSET_MS)
    await sound(made, 1_100, 3_000)
    assert decisions(made)[-1] == ("confirmed", "speech")
    made.link.hear_end("item_1", 2_900)


async def test_a_voice_without_words_lets_the_reply_go_on_with_each_word_once() -> None:
    async with by_provider(ear=FakeEar(None)) as made:
        item_id = await reply(made)
        await cut_by_a_voice(made)
        cut = made.of(s.AgentItemTruncatedEvent)[-1]
        worded(made, "")
        assert decisions(made)[-1] == ("dismissed", "no_words")
        assert is_whole(made)
        assert spoken(made)[0] == cut.transcript
        created = made.of(s.AgentResponseCreatedEvent)[-1]
        assert created.metadata == {"resumes": item_id}
        played = [one for one in made.of(s.AgentResponseAudioDeltaEvent) if one.response_id == created.response_id]
        sounded_ms = sum(len(one.delta) for one in played) / 48
        assert REPLY_MS - cut.audio_end_ms <= sounded_ms <= REPLY_MS - cut.audio_end_ms + BACK_MS
        assert [message.item_id for message in made.link.got(base.ItemDelete)] == ["item_1"]
        told = made.link.got(base.ItemCreate)[-1].item
        assert (told.role, told.text) == ("assistant", spoken(made)[1])
        made.check_heard_truth()


async def test_the_response_to_such_a_turn_is_cancelled_and_never_heard() -> None:
    async with by_provider(ear=FakeEar(None)) as made:
        await reply(made)
        await cut_by_a_voice(made)
        made.link.say(m.ModelInputTranscriptionDoneEvent(item_id="item_1", transcript="Mm-hmm."))
        assert decisions(made)[-1] == ("dismissed", "backchannel")
        response_id = made.link.begin_speaking(1_000, "Pardon?")
        assert [message.response_id for message in made.link.got(base.ResponseCancel)] == [response_id]
        made.link.finish(response_id, "Pardon?", status="cancelled")
        assert "Pardon?" not in spoken(made)
        assert is_whole(made)


async def test_a_stop_word_is_final_even_where_the_model_hears_no_word() -> None:
    async with by_provider(ear=FakeEar("Stop.")) as made:
        await reply(made)
        await sound(made, 0, 1_100)
        made.link.hear_start("item_1", ONSET_MS)
        await sound(made, 1_100, 2_000)
        assert decisions(made)[-1] == ("confirmed", "stop_words")
        made.link.hear_end("item_1", 1_900, "")
        await asyncio.sleep(2 * UNCLEAR_S)
        assert decisions(made)[-1] == ("confirmed", "stop_words")
        assert len(spoken(made)) == 1


@pytest.mark.parametrize(
    "event",
    [None, c.ClientResponseCancelEvent(), c.ClientTextAppendEvent(text="Thanks.")],
    ids=["words", "cancel", "text"],
)
async def test_words_or_what_the_client_asks_for_meanwhile_end_the_reply_for_good(event: c.ClientEvent | None) -> None:
    async with by_provider(ear=FakeEar(None)) as made:
        await reply(made)
        await cut_by_a_voice(made)
        if event is not None:
            made.receive(event)
        worded(made, "" if event else "What about the huts?")
        await asyncio.sleep(2 * UNCLEAR_S)
        assert decisions(made)[-1] == ("confirmed", "speech")
        assert len(spoken(made)) == 1
        if event is None:
            made.link.reply(1_000, "They are closed.")
            assert spoken(made)[-1] == "They are closed."


async def test_words_that_never_come_let_the_reply_go_on_before_two_seconds_of_silence_and_interrupt_it_late() -> None:
    async with by_provider(ear=FakeEar(None)) as made:
        await reply(made)
        await cut_by_a_voice(made)
        await asyncio.sleep(UNCLEAR_S - 0.1)
        assert len(spoken(made)) == 1
        await asyncio.sleep(0.6)
        assert decisions(made)[-1] == ("dismissed", "undecided")
        assert is_whole(made)
        asked = len(made.link.got(base.ResponseCreate))
        worded(made, "What about the huts?")
        assert len(made.of(s.ServerAudioFlushEvent)) == 2
        assert len(made.link.got(base.ResponseCreate)) == asked + 1
        assert WORDS.startswith(" ".join(spoken(made)))


async def test_the_response_that_runs_or_has_failed_when_the_words_are_missing_is_taken_back() -> None:
    for fails in (False, True):
        async with by_provider(ear=FakeEar(None)) as made:
            await reply(made)
            await cut_by_a_voice(made)
            response_id = made.link.begin()
            where = {"response_id": response_id, "item_id": "pardon"}
            made.link.say(m.ModelResponseAudioTranscriptDeltaEvent(delta="Pardon?", **where))
            if fails:
                made.link.say(m.ModelResponseDoneEvent(response_id=response_id, status="failed"))
            worded(made, "")
            cancelled = [message.response_id for message in made.link.got(base.ResponseCancel)]
            assert cancelled == ([] if fails else [response_id])
            assert is_whole(made)
            made.receive(c.ClientAudioCommitEvent())
            assert len(made.of(s.ServerAudioFlushEvent)) == 1


async def test_a_failed_recognition_lets_the_reply_go_on_where_the_server_finds_the_turns() -> None:
    async with by_server(*LONG_VOICE, ear=FakeEar(None)) as made:
        await reply(made)
        await sound(made, 0, 3_500)
        assert decisions(made)[-1] == ("confirmed", "speech")
        made.link.say(
            m.ModelInputCommittedEvent(item_id="item_1"),
            m.ModelInputTranscriptionFailedEvent(item_id="item_1", code="failed", message="no words"),
        )
        assert decisions(made)[-1] == ("dismissed", "no_words")
        assert is_whole(made)


async def test_what_was_not_generated_is_requested_behind_the_rest() -> None:
    async with by_provider(ear=FakeEar(None)) as made:
        await reply(made, 5_000, is_whole=False)
        await cut_by_a_voice(made)
        made.link.finish("resp_1", WORDS, status="cancelled")
        asked = len(made.link.got(base.ResponseCreate))
        worded(made, "")
        assert len(made.link.got(base.ResponseCreate)) == asked + 1
        rest, note = (message.item for message in made.link.got(base.ItemCreate)[-2:])
        assert (rest.role, note.role) == ("assistant", "system")
        assert WORDS.startswith(" ".join(spoken(made)))
        await asyncio.sleep(1)
        dropped, goes_on = made.link.begin(), made.link.begin()
        made.link.speak(dropped, 1_000, "Pardon?")
        made.link.speak(goes_on, 1_000, "and that was all.")
        made.link.finish(goes_on, "and that was all.")
        assert spoken(made)[2:] == ["and that was all."]
        assert len(made.of(s.ServerAudioFlushEvent)) == 1, "it plays behind the rest"


async def test_a_second_voice_without_words_lets_it_go_on_again() -> None:
    async with by_provider(ear=FakeEar(None)) as made:
        await reply(made)
        await cut_by_a_voice(made)
        worded(made, "")
        await sound(made, 3_000, 4_000)
        made.link.hear_start("item_2", 3_900)
        await sound(made, 4_000, 6_000)
        assert decisions(made)[-1] == ("confirmed", "speech")
        made.link.hear_end("item_2", 5_900, "")
        assert decisions(made)[-1] == ("dismissed", "no_words")
        assert len(spoken(made)) == 3
        assert is_whole(made)


async def test_where_nothing_is_left_an_agent_that_says_given_words_asks_once() -> None:
    says = msgspec.structs.replace(LEAVES, says_given_words=True)
    async with by_provider(ear=FakeEar(None), profile=says) as made:
        for number, asks in ((1, [SORRY]), (2, [])):
            start_ms = made.agent.received_samples // 16
            await reply(made, 1_300)
            before = len(made.link.got(base.ResponseCreate))
            made.link.hear_start(f"item_{number}", start_ms)
            await sound(made, start_ms, start_ms + 1_900)
            made.link.hear_end(f"item_{number}", start_ms + 1_800, "")
            assert [one.say for one in made.link.got(base.ResponseCreate)[before:] if one.say] == asks


def voice(ms: int, seed: int) -> bytes:
    """Noise in words of 300 ms, with a silence of 60 ms behind each."""
    samples = np.random.default_rng(seed).integers(-9_000, 9_000, ms * RATE_HZ // 1000)
    samples[np.arange(len(samples)) % (360 * 24) >= 300 * 24] = 0
    return samples.astype("<i2").tobytes()


def parts_of(text: str, pcm: bytes, *, chunk_ms: int, aligned: bool) -> list[SpokenPart]:
    """One item as a model sends it: all words first, or each word before its audio."""
    words = [f"{word} " for word in text.split()]
    chunks = [pcm[at : at + chunk_ms * 48] for at in range(0, len(pcm), chunk_ms * 48)]
    per_word = -(-len(chunks) // len(words))
    parts: list[SpokenPart] = []
    for number, word in enumerate(words):
        parts.append(m.ModelResponseAudioTranscriptDeltaEvent(response_id="r", item_id="i", delta=word))
        if aligned:
            parts += map(audio, chunks[number * per_word : (number + 1) * per_word])
    return parts if aligned else [*parts, *map(audio, chunks)]


def audio(pcm: bytes) -> m.ModelResponseAudioDeltaEvent:
    return m.ModelResponseAudioDeltaEvent(response_id="r", item_id="i", delta=pcm, format=AudioFormat.pcm16(RATE_HZ))


@given(
    ms=st.integers(400, 6_000),
    share=st.floats(0, 1),
    chunk_ms=st.sampled_from([20, 50, 200]),
    aligned=st.booleans(),
    trims=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_no_word_and_no_sound_is_lost_or_doubled_at_any_cut(
    ms: int, share: float, chunk_ms: int, aligned: bool, trims: int, seed: int
) -> None:
    text, pcm, cut_ms = WORDS.strip(), voice(ms, seed), int(ms * share)
    kept, words = KeptSpeech(), Spoken(aligned=aligned)
    kept.parts += parts_of(text, pcm, chunk_ms=chunk_ms, aligned=aligned)
    for part in kept.parts:
        if isinstance(part, m.ModelResponseAudioDeltaEvent):
            words.audio_ms += len(part.delta) / 48
        else:
            words.add_text(part.delta)
    words.audio_complete = True
    said = words.truncation(cut_ms).transcript
    for number in range(trims):
        kept.trim(partial(lambda played_ms, _: played_ms, cut_ms * (number + 1) // trims), RATE_HZ)
    rest = [*renamed(kept.rest(lambda _: Played(len(said), cut_ms), RATE_HZ), "s", lambda prefix: f"{prefix}_2")]
    told = "".join(one.delta for one in rest if isinstance(one, m.ModelResponseAudioTranscriptDeltaEvent))
    assert f"{said} {told}".split() == text.split()
    sounds = b"".join(one.delta for one in rest if isinstance(one, m.ModelResponseAudioDeltaEvent))
    assert pcm.endswith(sounds)
    again_ms = len(sounds) / 48 - (ms - cut_ms)
    assert -1 <= again_ms <= 340, (
        "no more than the word that was cut: 300 ms, and a frame of 20 ms before and behind it"
    )
    assert {(one.response_id, one.item_id) for one in rest} <= {("s", "item_2")}


def test_speech_too_far_ahead_is_not_kept() -> None:
    kept = KeptSpeech()
    second = audio(bytes(48_000))
    for _ in range(KEPT_BYTES // len(second.delta)):
        kept.parts.append(second)
        if len(kept.parts) >= kept.look_at:
            kept.trim(lambda _: 0, RATE_HZ)
    assert len(kept.parts) == KEPT_BYTES // len(second.delta)
    kept.parts.append(second)
    kept.trim(lambda _: 0, RATE_HZ)
    assert kept.parts == []
    kept.parts.append(second)
    assert kept.rest(lambda _: Played(0, 0), RATE_HZ) == []


def test_little_of_what_was_played_is_kept_and_all_words() -> None:
    kept, n_words, come_ms = KeptSpeech(), 0, 0
    for part in parts_of(WORDS * 4, voice(20_000, 0), chunk_ms=40, aligned=True):
        kept.parts.append(part)
        if isinstance(part, m.ModelResponseAudioDeltaEvent):
            come_ms += len(part.delta) // 48
        else:
            n_words += 1
        if len(kept.parts) >= kept.look_at:
            kept.trim(partial(lambda come_ms, _: come_ms, come_ms), RATE_HZ)
        sounds = [one for one in kept.parts if isinstance(one, m.ModelResponseAudioDeltaEvent)]
        assert sum(len(one.delta) for one in sounds) <= (BACK_MS + 18 * 40) * 48
        assert len(kept.parts) - len(sounds) == n_words


def test_an_item_that_was_played_whole_does_not_go_on() -> None:
    kept = KeptSpeech()
    kept.parts += [audio(bytes(4_800)), msgspec.structs.replace(audio(bytes(9_600)), item_id="j")]
    rest = kept.rest(lambda item_id: None if item_id == "i" else Played(0, 0), RATE_HZ)
    assert [one.item_id for one in rest] == ["j"]
