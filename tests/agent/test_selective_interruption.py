"""A voice over a reply, decided by the agent: the reply goes on until the voice shows that it takes the floor."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import numpy as np
import pytest

from realtime.agent.overlap import silent_ms
from realtime.audio.endpoint import SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model import base
from tests.agent.fakes import NO_DETECTOR, PROFILE, Call, FakeDetector, call

pytestmark = pytest.mark.virtual_time

ONSET_MS = 1_000
LEAVES = msgspec.structs.replace(PROFILE, leaves_responses=True)


class FakeEar:
    """Recognises what it is told, at once or when the test says so."""

    def __init__(self, *words: str | None, waits: bool = False) -> None:
        self.words = list(words)
        self.waits = waits
        self.clips_ms: list[int] = []
        self.waiting: list[Callable[[str | None], None]] = []

    def __call__(self, pcm: bytes, rate_hz: int, then: Callable[[str | None], None]) -> None:
        self.clips_ms.append(len(pcm) * 500 // rate_hz)
        if self.waits:
            self.waiting.append(then)
        else:
            then(self.words.pop(0) if len(self.words) > 1 else self.words[0])


def by_server(*found: tuple[int, Any], ear: FakeEar | None, **wanted: Any) -> AbstractAsyncContextManager[Call]:
    """A call in which our detector finds these things."""
    detection = TurnDetection(authority="server", **{"interruption": "selective"} | wanted)
    detector = FakeDetector(*found)
    return call(
        profile=NO_DETECTOR,
        config=SessionConfig(turn_detection=detection),
        make_detector=lambda _: detector,
        recognise=ear or (lambda pcm, hz, then: then(None)),
    )


def by_provider(
    *, ear: FakeEar | None = None, profile: base.Profile = LEAVES, listener: dict[str, Any] | None = None, **wanted: Any
) -> AbstractAsyncContextManager[Call]:
    """A call in which the provider's detector finds the turns."""
    detection = TurnDetection(**{"interruption": "selective"} | wanted)
    return call(
        profile=profile,
        config=SessionConfig(turn_detection=detection),
        listener=listener,
        recognise=ear or (lambda pcm, hz, then: then(None)),
    )


async def reply(made: Call, ms: int = 10_000) -> str:
    """A reply begins, and a second of it is played."""
    made.receive(c.ClientTextAppendEvent(text="Tell me about the mountains."))
    item_id = made.link.reply(ms, "The nights are cold and the days are still warm.")
    await asyncio.sleep(1)
    return item_id


def hear(made: Call, until_ms: int, *, amplitude: int = 8_000, rate_hz: int = 16_000) -> None:
    """The client's audio goes on up to this position."""
    while (at_ms := made.agent.received_samples * 1000 // rate_hz) < until_ms:
        n_samples = min(20, until_ms - at_ms) * rate_hz // 1000
        voice = np.random.default_rng(at_ms).integers(-amplitude // 2, amplitude // 2 + 1, n_samples)
        pcm = voice.astype("<i2").tobytes()  # not periodic: then it would resemble the fake reply
        made.receive(c.ClientAudioAppendEvent(audio=pcm, format=AudioFormat.pcm16(rate_hz)))


def decisions(made: Call) -> list[tuple[str, str]]:
    return [(event.state, event.reason) for event in made.of(s.AgentInterruptionEvent)]


def gains(made: Call) -> list[float]:
    return [event.gain_db for event in made.of(s.ServerAudioGainEvent)]


VOICE = ((1_100, SpeechStarted(ONSET_MS)), (1_700, SpeechPaused(1_450, b"")), (2_000, TurnEnded(ONSET_MS, 1_450, b"")))


async def test_a_stop_word_silences_the_reply_while_the_voice_lasts_and_the_model_hears_it_from_its_onset() -> None:
    ear = FakeEar("Stop.")
    async with by_server((1_100, SpeechStarted(ONSET_MS)), (2_300, TurnEnded(ONSET_MS, 1_800, b"")), ear=ear) as made:
        await reply(made)
        hear(made, 1_500)
        assert decisions(made)[-1] == ("confirmed", "stop_words")
        assert ear.clips_ms == [590], "320 ms of the voice and what precedes it"
        assert len(made.of(s.ServerAudioFlushEvent)) == 1
        assert len(made.of(s.AgentItemTruncatedEvent)) == 1
        assert len(made.link.heard_bytes()) / 32 >= 500, "the voice so far, with its soft start"
        hear(made, 2_400)
        assert len(made.link.got(base.AudioCommit)) == 1
        assert len(made.link.got(base.ResponseCreate)) == 2


async def test_a_decision_that_comes_behind_the_voice_makes_it_a_whole_turn() -> None:
    ear = FakeEar(waits=True)
    async with by_server(*VOICE, ear=ear) as made:
        await reply(made)
        hear(made, 2_080)
        assert decisions(made) == [("possible", "")]
        hear(made, 2_200)
        assert decisions(made)[1:] == [("dismissed", "short")], "400 ms after it was found over"
        assert made.link.got(base.AudioCommit) == []
        ear.waiting.pop(0)("Louder, please.")
        assert decisions(made)[-1] == ("confirmed", "words")
        sent = [type(message) for message in made.link.sent[-3:]]
        assert sent == [base.AudioAppend, base.AudioCommit, base.ResponseCreate]
        started, done = made.of(s.AgentInputStartedEvent)[-1], made.of(s.AgentInputDoneEvent)[-1]
        assert (started.audio_start_ms, done.audio_end_ms) == (ONSET_MS, 1_450)


@pytest.mark.parametrize(
    ("voice_ms", "words", "decided"),
    [
        (700, None, ("confirmed", "speech")),
        (450, None, ("dismissed", "short")),
        (450, "Yeah.", ("dismissed", "backchannel")),
        (700, "Tell me", ("confirmed", "words")),
    ],
)
async def test_a_voice_whose_last_words_are_late_is_decided_400_ms_after_it_was_found_over(
    voice_ms: int, words: str | None, decided: tuple[str, str]
) -> None:
    ear = FakeEar(waits=True)
    end_ms = ONSET_MS + voice_ms
    found = (1_100, SpeechStarted(ONSET_MS)), (end_ms + 250, SpeechPaused(end_ms, b""))
    async with by_server(*found, ear=ear) as made:
        await reply(made)
        hear(made, ONSET_MS + 400)
        if words is not None:
            ear.waiting.pop(0)(words)  # of the first 0.4 s
        hear(made, end_ms + 620)
        is_known = words == "Tell me"
        assert decisions(made) == [("possible", ""), *[decided] * is_known]
        hear(made, end_ms + 740)
        assert decisions(made) == [("possible", ""), decided]


async def test_a_backchannel_that_goes_on_into_a_question_interrupts() -> None:
    found = (1_100, SpeechStarted(ONSET_MS)), (1_600, SpeechPaused(1_350, b"")), (1_800, SpeechResumed())
    async with by_server(*found, ear=FakeEar(*["Yeah."] * 4, "Yeah, but the huts")) as made:
        await reply(made)
        hear(made, 1_700)
        assert decisions(made)[-1] == ("dismissed", "backchannel")
        hear(made, 2_500)
        assert decisions(made)[1:] == [("dismissed", "backchannel"), ("possible", ""), ("confirmed", "stop_words")]
        assert gains(made) == [-15.0, 0.0, -15.0]


async def test_a_sound_lowers_the_reply_before_a_voice_is_found_in_it() -> None:
    async with by_server((1_120, SpeechStarted(ONSET_MS)), ear=FakeEar(waits=True)) as made:
        item_id = await reply(made)
        hear(made, ONSET_MS, amplitude=20)
        assert gains(made) == []
        hear(made, ONSET_MS + 40)
        assert [(event.gain_db, event.item_id) for event in made.of(s.ServerAudioGainEvent)] == [(-15.0, item_id)]
        assert decisions(made) == []
        hear(made, 1_500)
        assert gains(made) == [-15.0]
        assert decisions(made) == [("possible", "")]


async def test_a_sound_without_a_voice_lowers_the_reply_for_a_moment_and_only_once() -> None:
    async with by_server(ear=FakeEar(waits=True)) as made:
        await reply(made)
        hear(made, ONSET_MS, amplitude=20)
        hear(made, ONSET_MS + 80)
        hear(made, ONSET_MS + 400, amplitude=20)
        assert gains(made) == [-15.0]
        hear(made, ONSET_MS + 440, amplitude=20)
        assert gains(made) == [-15.0, 0.0]
        hear(made, ONSET_MS + 500)
        hear(made, ONSET_MS + 2_000, amplitude=20)
        assert gains(made) == [-15.0, 0.0]
        hear(made, ONSET_MS + 2_040, amplitude=20_000)
        assert gains(made) == [-15.0, 0.0, -15.0]
        assert decisions(made) == []


@pytest.mark.parametrize(
    ("takes_gain", "wanted", "lowered"),
    [
        (True, {}, [-15.0]),
        (False, {}, []),
        (True, {"authority": "client"}, []),
        (True, {"interruption": "immediate"}, []),
        (True, {"interruption": "off"}, []),
    ],
    ids=["lowered", "cannot", "client", "immediate", "off"],
)
async def test_a_sound_lowers_the_reply_where_voices_are_decided_and_a_client_can_play_it_quieter(
    takes_gain: bool, wanted: dict[str, Any], lowered: list[float]
) -> None:
    async with by_provider(ear=FakeEar(waits=True), listener={"takes_gain": takes_gain}, **wanted) as made:
        await reply(made)
        hear(made, ONSET_MS, amplitude=20)
        hear(made, ONSET_MS + 100)
        assert gains(made) == lowered


@pytest.mark.parametrize("gone", [True, False], ids=["the client is gone", "the reply is at its end"])
async def test_a_lowered_reply_gets_its_level_back_also_at_its_end_and_without_a_client_that_lowers_it(
    gone: bool,
) -> None:
    async with by_provider(ear=FakeEar(waits=True)) as made:
        await reply(made, 10_000 if gone else 1_200)
        hear(made, ONSET_MS, amplitude=20)
        hear(made, ONSET_MS + 60)
        assert gains(made) == [-15.0]
        if gone:
            made.listener.takes_gain = False
        await asyncio.sleep(0 if gone else 1)
        hear(made, ONSET_MS + (600 if gone else 80), amplitude=20)
        assert gains(made) == [-15.0, 0.0]


SHORT = (1_100, SpeechStarted(ONSET_MS)), (1_450, SpeechPaused(1_300, b"")), (1_900, TurnEnded(ONSET_MS, 1_300, b""))


@pytest.mark.parametrize(("found", "decision"), [(VOICE, ("confirmed", "speech")), (SHORT, ("dismissed", "short"))])
async def test_without_a_recogniser_the_length_of_the_voice_decides(found: Any, decision: tuple[str, str]) -> None:
    async with by_server(*found, ear=None) as made:
        await reply(made)
        hear(made, 3_000)
        assert decisions(made) == [("possible", ""), decision]


async def test_a_voice_far_below_the_users_own_does_not_interrupt() -> None:
    found = (
        (200, SpeechStarted(100)),
        (1_000, TurnEnded(100, 900, b"")),
        (3_100, SpeechStarted(3_000)),
        (4_500, TurnEnded(3_000, 4_000, b"")),
    )
    async with by_server(*found, ear=FakeEar("Put it over there")) as made:
        hear(made, 1_100)
        made.link.reply(10_000, "The nights are cold.")
        hear(made, 2_900, amplitude=0)
        await asyncio.sleep(1)
        hear(made, 5_000, amplitude=800)
        assert decisions(made) == [("possible", ""), ("dismissed", "far_voice")]


@pytest.mark.parametrize(
    ("event", "decision", "commits"),
    [
        (c.ClientAudioCommitEvent(), ("confirmed", "commit"), 1),
        (c.ClientAudioClearEvent(), ("dismissed", "cleared"), 0),
    ],
    ids=["commit", "clear"],
)
async def test_a_commit_or_a_clear_of_the_client_is_a_decision(
    event: c.ClientEvent, decision: tuple[str, str], commits: int
) -> None:
    async with by_server(*VOICE, ear=FakeEar("Mm.", waits=True)) as made:
        await reply(made)
        hear(made, 1_300)
        made.receive(event)
        assert decisions(made)[-1] == decision
        assert len(made.link.got(base.AudioCommit)) == commits


@pytest.mark.parametrize(("mode", "n_flushes"), [("immediate", 1), ("off", 0), ("selective", 0)])
async def test_the_other_modes_decide_nothing_and_a_voice_in_silence_needs_no_decision(
    mode: str, n_flushes: int
) -> None:
    async with by_server(*VOICE, ear=FakeEar("Mm."), interruption=mode) as made:
        if mode != "selective":
            await reply(made)
        hear(made, 2_100)
        assert decisions(made) == []
        assert len(made.of(s.ServerAudioFlushEvent)) == n_flushes
        assert len(made.link.got(base.AudioCommit)) == 1


async def test_the_provider_only_finds_the_turns_and_we_create_the_responses() -> None:
    """One that cannot leave them to us stops at each voice."""
    async with by_provider() as made:
        detection = made.link.settings.turn_detection
        assert isinstance(detection, TurnDetection)
        assert (detection.create_response, detection.interrupt_response) == (False, False)
        hear(made, 1_000)
        made.link.hear_start("item_1", 100)
        made.link.hear_end("item_1", 900, "Good morning.")
        assert len(made.link.got(base.ResponseCreate)) == 1
        assert made.link.got(base.AudioCommit) == []
    async with by_provider(profile=PROFILE) as made:
        await voice_begins(made)
        assert decisions(made) == []
        assert len(made.of(s.ServerAudioFlushEvent)) == 1


async def voice_begins(made: Call) -> None:
    """Over a reply, as the provider finds it."""
    await reply(made)
    hear(made, 1_100)
    made.link.hear_start("item_1", ONSET_MS)


async def test_a_backchannel_is_deleted_at_the_provider() -> None:
    async with by_provider(ear=FakeEar("Mm-hmm.")) as made:
        await voice_begins(made)
        hear(made, 1_900)
        made.link.hear_end("item_1", 1_400)
        hear(made, 2_000)
        made.link.say(m.ModelInputTranscriptionDoneEvent(item_id="item_1", transcript="Mm-hmm."))
        assert decisions(made) == [("possible", ""), ("dismissed", "backchannel")]
        assert [message.item_id for message in made.link.got(base.ItemDelete)] == ["item_1"]
        assert [who for who, _ in made.transcript()] == ["user", "assistant"]
        assert len(made.link.got(base.ResponseCreate)) == 1, "that of the typed turn"


async def two_pieces(made: Call, first: str, ear: FakeEar) -> None:
    """A voice over a reply is undecided in its pause, in which the provider finds an end, and goes on."""
    await voice_begins(made)
    hear(made, 1_500)
    made.link.hear_end("item_1", 1_350)
    hear(made, 1_700)
    made.link.hear_start("item_2", 1_600)
    made.link.say(m.ModelInputTranscriptionDoneEvent(item_id="item_1", transcript=first))
    hear(made, 2_100)
    assert decisions(made) == [("possible", "")]
    assert len(ear.waiting) == 1


async def test_a_backchannel_in_two_pieces_is_no_turn_and_both_are_deleted() -> None:
    ear = FakeEar(waits=True)
    async with by_provider(ear=ear) as made:
        await two_pieces(made, "Mm-hmm.", ear)
        made.link.hear_end("item_2", 2_000, "Yeah.")
        hear(made, 2_200)
        ear.waiting.pop()("Mm-hmm.")
        hear(made, 2_500)
        ear.waiting.pop()("Mm-hmm. Yeah.")
        assert decisions(made) == [("possible", ""), ("dismissed", "backchannel")]
        assert [message.item_id for message in made.link.got(base.ItemDelete)] == ["item_1", "item_2"]
        assert [event.type for event in made.seen if event.type.startswith("agent_input")] == []
        assert [who for who, _ in made.transcript()] == ["user", "assistant"]
        made.link.hear_start("next", 2_400)
        made.link.hear_end("next", 2_500, "Stop.")
        assert made.transcript()[-1] == ("user", "Stop."), "the next voice is one of its own"


@pytest.mark.parametrize("lasts", [False, True], ids=["decided behind it", "decided while it lasts"])
async def test_an_interruption_in_two_pieces_is_one_turn_of_all_its_words_and_answered_once(lasts: bool) -> None:
    ear = FakeEar(waits=True)
    async with by_provider(ear=ear) as made:
        await two_pieces(made, "Mm-hmm.", ear)
        words = "Which huts are open?"
        if lasts:
            ear.waiting.pop()(f"Mm-hmm. {words}")
            assert len(made.link.got(base.ResponseCreate)) == 1
            made.link.hear_end("item_2", 2_300, words)
        else:
            made.link.hear_end("item_2", 2_300, words)
        assert decisions(made)[-1] == ("confirmed", "words")
        assert made.transcript()[-1] == ("user", f"Mm-hmm. {words}")
        assert len(made.link.got(base.ResponseCreate)) == 2
        assert made.link.got(base.ItemDelete) == []
        turn = [event for event in made.seen if isinstance(event, (s.AgentInputStartedEvent, s.AgentInputDoneEvent))]
        assert [event.type.rpartition("_")[2] for event in turn] == ["started", "done", "started", "done"]
        assert len({event.item_id for event in turn}) == 1
        assert len(made.of(s.AgentInputCommittedEvent)) == 1


async def test_an_interruption_in_two_pieces_that_asks_for_nothing_is_taken_back_with_both() -> None:
    ear = FakeEar(waits=True)
    async with by_provider(ear=ear) as made:
        await two_pieces(made, "Mm-hmm.", ear)
        ear.waiting.pop()("Mm-hmm. Tell me more")
        hear(made, 2_200)
        assert decisions(made)[-1] == ("confirmed", "words")
        made.link.hear_end("item_2", 2_300, "Yeah.")
        assert decisions(made)[-1] == ("dismissed", "backchannel")
        assert [message.item_id for message in made.link.got(base.ItemDelete)] == ["item_1", "item_2"]


async def test_an_interruption_cancels_the_response_that_the_provider_goes_on_with() -> None:
    async with by_provider(ear=FakeEar("Wait.")) as made:
        made.receive(c.ClientTextAppendEvent(text="Tell me."))
        response_id = made.link.begin_speaking(5_000, "The nights are cold.")
        await asyncio.sleep(1)
        hear(made, 1_100)
        made.link.hear_start("item_1", ONSET_MS)
        hear(made, 1_500)
        assert decisions(made)[-1] == ("confirmed", "stop_words")
        assert [message.response_id for message in made.link.got(base.ResponseCancel)] == [response_id]
        made.link.hear_end("item_1", 1_400, "Wait.")
        assert ("user", "Wait.") in made.transcript()
        assert len(made.link.got(base.ResponseCreate)) == 2


@pytest.mark.parametrize("words", ["Stop.", None])
async def test_where_nothing_recognises_the_providers_words_decide_about_a_short_voice(words: str | None) -> None:
    """Those that it never says leave the reply alone."""
    async with by_provider() as made:
        await voice_begins(made)
        hear(made, 1_400)
        made.link.hear_end("item_1", 1_350)
        assert decisions(made) == [("possible", "")]
        if words is None:
            hear(made, 5_000)
            assert decisions(made) == [("possible", ""), ("dismissed", "undecided")]
        else:
            made.link.say(m.ModelInputTranscriptionDoneEvent(item_id="item_1", transcript=words))
            assert decisions(made)[-1] == ("confirmed", "stop_words")
            assert ("user", words) in made.transcript()


async def test_a_link_lost_in_the_middle_restores_the_level() -> None:
    async with by_provider(ear=FakeEar("", waits=True)) as made:
        await voice_begins(made)
        hear(made, 1_500)
        made.link.say(m.ModelReconnectingEvent(attempt=1, retry_after_ms=0, reason="gone"))
        assert decisions(made)[-1] == ("dismissed", "link_lost")
        assert gains(made) == [-15.0, 0.0]


def test_a_voice_is_silent_though_something_faint_goes_on_behind_it() -> None:
    """A hum that dies away: a second and a half later nothing of the clip was loud."""

    def tone(ms: int, gain: float) -> bytes:
        times = np.arange(16 * ms) / 16_000
        return (gain * 32_767 * np.sin(2 * np.pi * 200 * times)).astype("<i2").tobytes()

    voice, faint = tone(400, 0.3), tone(1_500, 0.003)
    silent, loud_db = silent_ms(voice + tone(300, 0.003), 16_000)
    assert (silent, round(loud_db)) == (300, -13)
    assert silent_ms(faint, 16_000)[0] == 0
    assert silent_ms(faint, 16_000, loud_db)[0] == 1_500
