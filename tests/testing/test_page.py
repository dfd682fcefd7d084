"""A simulated page in a call with the real application, in virtual time: what the model hears, what reaches the ear,
and what the server is told of it."""

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.call.limits import Limits
from realtime.client.outbox import Client
from realtime.client.speaker import OUTPUT_LATENCY_S, Speaker
from realtime.server.settings import ServerSettings
from realtime.testing.client.devices import Microphone
from realtime.testing.client.page import Page
from realtime.testing.client.steps import Network
from realtime.testing.clock import run
from realtime.testing.errors import ScriptFailure
from realtime.testing.record import write_log
from tests.testing.served import ANSWER, Hearer, answer, served, session_of, until_silent, voice

pytestmark = pytest.mark.virtual_time(limit_s=120)

T = TypeVar("T")
CLIENTS: tuple[Client, ...] = ("realtime.v1", "json", "agentscope1")
RETURNING: tuple[Client, ...] = ("realtime.v1", "json")
OF_THE_LINE = ("server_session_resumed", "server_audio_received", "server_audio_item")
"""Events that are not part of the log."""


def of(page: Page, kind: str) -> list[Any]:
    return [event for event in page.events if event["type"] == kind]


def assert_sound(page: Page) -> None:
    """Every sample was played once and in order, and each event came once and in order."""
    assert page.faults == []
    assert (page.ear.missing_samples, page.ear.late_samples) == (0, 0)
    position: dict[str, float] = {}
    ends_ms = 0.0
    for one in page.played():
        assert one.offset_ms == pytest.approx(position.get(one.item_id, 0.0))
        assert one.from_ms >= ends_ms - 0.01
        position[one.item_id] = one.offset_ms + one.ms
        ends_ms = one.from_ms + one.ms
    seqs = [event["seq"] for event in page.events if "seq" in event and event["type"] not in OF_THE_LINE]
    assert seqs == sorted(set(seqs))


def run_soon(main: Coroutine[Any, Any, T]) -> T:
    """`run`, for a call of some seconds."""

    async def limited() -> T:
        async with asyncio.timeout(60):
            return await main

    return run(limited())


async def joined(app: Any, **options: Any) -> Page:
    """A page in its call."""
    page = Page(app, **options)
    await page.join()
    return page


def words(app: Any) -> list[tuple[str | None, str]]:
    return [(item.role, item.text) for item in session_of(app).conversation.items()]


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("client", CLIENTS)
async def test_what_is_said_is_heard_and_what_is_answered_is_played(client: Client, direct: bool) -> None:
    hearer = Hearer()
    async with served(hearer) as app:
        page = await joined(app, client=client, direct=direct)
        page.say(voice(1_000))
        await asyncio.sleep(2)
        await until_silent(page)
        (speech,) = page.ear.speech.values()
        assert words(app) == [("user", "what time is it"), ("assistant", ANSWER)]
        assert page.ear.heard_ms(speech.item_id) == (2_000 if client != "agentscope1" else 2_300)
        assert session_of(app).audience.played_ms(speech.item_id) >= 2_000
        human, agent = page.lanes()
        await page.leave()
    assert_sound(page)
    assert human.pcm == bytes(hearer.heard)
    assert (human.kind, agent.kind, agent.speaker) == ("human", "agent", "Friday")
    (played,) = page.played()
    begin = round(played.from_ms * 24) * 2
    assert not any(agent.pcm[:begin])
    assert agent.pcm[begin:].strip(b"\0"), "the answer is where it was heard"
    assert len(agent.pcm) == begin + round(played.ms * 24) * 2
    assert page.events[-1]["type"] == "server_session_ended"


async def test_speech_stands_in_the_stream_where_it_was_said_to_the_sample() -> None:
    hearer = Hearer()
    async with served(hearer) as app:
        page = await joined(app, background=0.0)
        began_s = asyncio.get_running_loop().time()
        await asyncio.sleep(0.1234)
        first, second = voice(100), voice(70, seed=2)
        begin_s, end_s = page.say(first)
        assert page.say(second) == pytest.approx((end_s, end_s + 0.07))
        await asyncio.sleep(1)
        await page.leave()
    assert begin_s - began_s == pytest.approx(0.1234, abs=1 / 16_000)
    begin = round((begin_s - began_s) * 16_000) * 2
    both = first + second
    assert hearer.heard[begin : begin + len(both)] == both
    assert not any(hearer.heard[:begin])
    assert not any(hearer.heard[begin + len(both) :])


async def test_what_a_busy_machine_had_not_sent_when_the_page_leaves_is_sent_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hearer = Hearer()
    async with served(hearer) as app:
        page = await joined(app, background=0.0)
        speech = voice(500)
        page.say(speech)
        loop = asyncio.get_running_loop()
        on_time = loop.time
        monkeypatch.setattr(loop, "time", lambda: on_time() + 0.6)
        await page.leave()
    assert speech in bytes(hearer.heard)


@given(
    says=st.lists(st.tuples(st.integers(0, 900), st.integers(1, 1_500)), max_size=6),
    starts=st.integers(0, 300),
)
def test_a_microphone_gives_every_sample_that_is_said_once_and_whole_frames_only(
    says: list[tuple[int, int]], starts: int
) -> None:
    microphone, expected, at = Microphone(0.0, 0), bytearray(20_000 * 2), 0
    for number, (gap, n_samples) in enumerate(says, 1):
        pcm = bytes([number, 1]) * n_samples
        at = microphone.say(pcm, at + gap)
        expected[at * 2 : (at + n_samples) * 2] = pcm
        at += n_samples if gap else 0
        for _ in range(starts % 3):
            assert len(microphone.next_frame()) == 1_280
    while microphone.position < 20_000 - 640:
        microphone.next_frame()
    assert microphone.pcm() == bytes(expected[: microphone.position * 2])


@pytest.mark.parametrize("client", RETURNING)
async def test_the_server_is_told_what_was_heard_ten_times_a_second_and_at_the_end(client: Client) -> None:
    async with served(Hearer([answer(3.0)])) as app:
        page = await joined(app, client=client)
        page.say(voice(500))
        await asyncio.sleep(1)
        (speech,) = page.ear.speech.values()
        for _ in range(20):
            await asyncio.sleep(0.1)
            behind_ms = page.ear.heard_ms(speech.item_id) - session_of(app).audience.played_ms(speech.item_id)
            assert -1 <= behind_ms <= 160
        await until_silent(page)
        assert session_of(app).audience.played_ms(speech.item_id) == 3_000
        await page.leave()


@pytest.mark.parametrize(
    ("client", "round_trip_ms"),
    [*((client, 0) for client in CLIENTS), *((client, ms) for client in RETURNING for ms in (100, 300))],
)
async def test_after_a_flush_no_more_sounds_than_is_on_its_way_to_the_ear_however_far_away_the_page_is(
    client: Client, round_trip_ms: int
) -> None:
    """And the interrupted answer ends where it fell silent."""
    async with served(Hearer([answer(5.0)], [])) as app:
        page = await joined(app, client=client)
        page.uplink.network = Network(delay_ms=round_trip_ms)
        page.say(voice(500))
        await asyncio.sleep(2.5)
        page.say(voice(500, seed=2))
        await asyncio.sleep(5)
        (speech,) = page.ear.speech.values()
        (cut,) = (item for item in session_of(app).conversation.items() if item.role == "assistant")
        ((flushed_ms, _),) = page.flushes
        (played,) = page.played()
        truncated, told = of(page, "agent_item_truncated"), of(page, "server_playback")
        await page.leave()
    assert speech.flushed
    assert page.faults == []
    assert played.from_ms + played.ms == pytest.approx(flushed_ms + OUTPUT_LATENCY_S * 1_000, abs=0.1)
    assert ANSWER.startswith(cut.text)
    assert cut.text != ANSWER
    assert len(page.lanes()[1].pcm) // 2 == pytest.approx((played.from_ms + played.ms) * 24, abs=2)
    if client not in RETURNING:
        return
    assert abs(truncated[0]["audio_end_ms"] - played.ms) <= 40
    assert len(truncated) == 1
    assert [one["played_ms"] for one in told] == sorted(one["played_ms"] for one in told)
    assert told[0]["played_ms"] <= 200
    assert abs(told[-1]["played_ms"] - played.ms) <= 40
    for one in told[:-1]:
        # When that much was heard, the page had said so much: at the network's distance from now.
        heard_at_ms = played.from_ms + one["played_ms"]
        assert one["input_offset"] / 16 == pytest.approx(heard_at_ms, abs=120)
        assert not one["estimated"]


@given(
    doings=st.lists(
        st.tuples(
            st.sampled_from(["play", "wait", "pause", "resume", "flush"]), st.integers(0, 2), st.integers(1, 3_000)
        ),
        max_size=30,
    )
)
def test_a_speaker_plays_each_item_from_its_beginning_without_holes_and_nothing_after_its_flush(
    doings: list[tuple[str, int, int]],
) -> None:
    speaker, now = Speaker(), 0.0
    given_samples = [0, 0, 0]
    flushed: dict[str, float] = {}
    for what, number, amount in doings:
        item = f"item_{number}"
        match what:
            case "play" if item not in flushed:
                begin = given_samples[number]
                pcm = b"".join(at.to_bytes(2, "little") for at in range(begin, begin + amount))
                speaker.play(item, begin, pcm, now)
                given_samples[number] += amount
            case "wait":
                now += amount / 24_000 * 3
            case "pause":
                speaker.pause(now)
            case "resume":
                speaker.resume(now)
            case "flush":
                speaker.flush([item], now)
                flushed.setdefault(item, now)
    speaker.resume(now)
    silent_at = speaker.ends_at()
    assert silent_at is not None
    positions = dict.fromkeys(("item_0", "item_1", "item_2"), 0)
    ends_s = 0.0
    for item, offset, from_s, pcm in speaker.runs():
        samples = [int.from_bytes(pcm[at : at + 2], "little") for at in range(0, len(pcm), 2)]
        assert samples == list(range(positions[item], positions[item] + len(samples)))
        assert offset == positions[item] or not samples
        positions[item] += len(samples)
        assert from_s >= ends_s - 1e-4
        ends_s = from_s + len(samples) / 24_000
        assert item not in flushed or ends_s <= flushed[item] + OUTPUT_LATENCY_S + 1e-4
    for number, (item, played) in enumerate(positions.items()):
        assert speaker.heard(item, max(now, silent_at) + 1) == played
        assert item in flushed or played == given_samples[number]


@pytest.mark.parametrize("noticed", [True, False])
@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("client", RETURNING)
async def test_a_page_that_comes_back_loses_no_sample_either_way(client: Client, direct: bool, noticed: bool) -> None:
    hearer = Hearer([answer(4.0, pace=2.0)])
    async with served(hearer) as app:
        page = await joined(app, client=client, direct=direct)
        page.say(voice(1_000))
        for sleep_s, away_s in [(0.5, 0.3), (1.3, 0.0), (0.31, 1.0), (0.02, 2.0)]:
            await asyncio.sleep(sleep_s)
            page.lose(noticed=noticed)
            await asyncio.sleep(away_s)
            await page.come_back()
        await until_silent(page)
        assert words(app) == [("user", "what time is it"), ("assistant", ANSWER)]
        assert session_of(app).audience.played_ms(next(iter(page.ear.speech))) == 4_000
        human, _ = page.lanes()
        await page.leave()
    assert_sound(page)
    assert sum(one.ms for one in page.played()) == pytest.approx(4_000)
    assert human.pcm == bytes(hearer.heard)


@pytest.mark.parametrize("noticed", [True, False])
async def test_a_page_is_silent_while_it_is_away_and_says_again_once_what_was_typed_meanwhile(noticed: bool) -> None:
    async with served(Hearer([answer(4.0, pace=8.0)])) as app:
        page = await joined(app)
        page.say(voice(500))
        await asyncio.sleep(2)
        page.lose(noticed=noticed)
        lost_ms = page.ms()
        assert page.ear.silent_at is None
        page.send({"type": "client_text_append", "text": "while away"})
        await asyncio.sleep(2)
        await page.come_back()
        await until_silent(page)
        first = page.played()[0]
        users = [text for role, text in words(app) if role == "user"]
        await page.leave()
    assert first.from_ms + first.ms == pytest.approx(lost_ms + 80, abs=0.1)
    assert users == ["what time is it", "while away"]


@pytest.mark.parametrize(
    ("client", "away_s", "told"), [("realtime.v1", 5, "invalid_resume_token"), ("agentscope1", 0, "resume_token")]
)
async def test_a_page_does_not_come_back_after_its_grace_time_and_one_of_agentscope_never(
    client: Client, away_s: float, told: str
) -> None:
    async with served(settings=ServerSettings(drain_s=0.0, limits=Limits(grace_s=1.0))) as app:
        page = await joined(app, client=client)
        page.lose()
        await asyncio.sleep(away_s)
        with pytest.raises(ScriptFailure, match=told):
            await page.come_back()
        await page.close()


async def test_lost_frames_are_silence_in_their_place_and_the_call_goes_on() -> None:
    hearer = Hearer()
    async with served(hearer) as app:
        page = await joined(app, background=0.0, seed=3)
        await asyncio.sleep(0.2)
        page.uplink.network = Network(loss=0.2)
        page.say(voice(2_000))
        await asyncio.sleep(4)
        page.uplink.network = Network()
        await until_silent(page)
        human = page.lanes()[0].pcm
        assert words(app)[-1] == ("assistant", ANSWER)
        await page.leave()
    assert page.uplink.lost_frames > 5
    said = [human[at : at + 1_280] for at in range(0, len(human), 1_280)]
    heard = [bytes(hearer.heard[at : at + 1_280]) for at in range(0, len(human), 1_280)]
    assert len(said) == len(heard)
    holes = sum(a != b for a, b in zip(said, heard, strict=True))
    assert 0 < holes <= page.uplink.lost_frames
    assert all(a == b or not any(b) for a, b in zip(said, heard, strict=True))


async def test_a_slow_network_is_heard_later_and_in_order() -> None:
    hearer = Hearer()
    async with served(hearer) as app:
        page = await joined(app)
        page.uplink.network = Network(delay_ms=300, jitter_ms=200)
        page.say(voice(1_000))
        await asyncio.sleep(1)
        assert len(hearer.heard) <= 0.7 * 32_000
        await asyncio.sleep(1)
        page.uplink.network = Network()
        await asyncio.sleep(1)
        human = page.lanes()[0].pcm
        assert hearer.heard == human[: len(hearer.heard)]
        assert len(hearer.heard) >= 2.9 * 32_000
        await page.leave()


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("client", CLIENTS)
def test_the_same_seed_gives_the_same_frames_and_the_same_log(client: Client, direct: bool) -> None:
    async def main(seed: int) -> tuple[list[Any], bytes]:
        wire: list[Any] = []
        async with served() as app:
            page = Page(app, client=client, seed=seed, direct=direct, tap=lambda *what: wire.append(what))
            await page.join()
            page.uplink.network = Network(loss=0.1, jitter_ms=50)
            page.say(voice(1_000))
            await asyncio.sleep(2)
            if client != "agentscope1":
                page.lose()
                await asyncio.sleep(0.5)
                await page.come_back()
            await until_silent(page)
            log = write_log(session_of(app).log.read())
            await page.leave()
        return wire, log

    first, again, other = run_soon(main(1)), run_soon(main(1)), run_soon(main(2))
    assert first == again
    assert first[0] != other[0]


async def test_pages_that_start_apart_send_their_frames_apart() -> None:
    loop = asyncio.get_running_loop()
    times: list[float] = []
    async with served() as app:
        began_s = loop.time()
        tap = lambda way, frame: times.append(loop.time() - began_s) if type(frame) is bytes else None  # noqa: E731
        page = await joined(app, starts_after_ms=13.0, tap=tap)
        await asyncio.sleep(0.2)
        await page.leave()
    assert times[0] == pytest.approx(0.053)
    assert [after - before for before, after in itertools.pairwise(times)] == pytest.approx([0.04] * (len(times) - 1))


async def test_a_refused_call_or_socket_is_told_with_the_servers_reason() -> None:
    async with served(settings=ServerSettings(drain_s=0.0, max_calls=1, token="secret")) as app:
        stranger = Page(app)
        with pytest.raises(ConnectionRefusedError, match="1008"):
            await stranger.join()
        await stranger.close()
        first, second = Page(app, query="token=secret"), Page(app, "user2", query="token=secret")
        await first.join()
        with pytest.raises(ScriptFailure, match="server_full"):
            await second.join()
        await second.close()
        await first.leave()


async def test_a_call_that_the_server_ends_is_over_for_the_page() -> None:
    async with served() as app:
        page = await joined(app)
        await session_of(app).end("test")
        await asyncio.sleep(1)
        assert page.is_over
        assert of(page, "server_session_ended")[0]["reason"] == "test"
        await page.leave()
