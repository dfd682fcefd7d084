"""Whatever happens in a call, in whatever order: its reply events are well formed and tell the words that count."""

import asyncio
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from realtime.audio.endpoint import SpeechStarted
from realtime.audio.playback import AcknowledgedPlayback, EstimatedPlayback
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.event.reply import AgentEvent
from realtime.message import Msg, fold_messages
from realtime.state.conversation import Conversation
from realtime.state.replies import ReplyProjection, messages
from realtime.testing.clock import run
from realtime.tool import Toolkit
from tests.agent.fakes import NO_DETECTOR, PROFILE, FakeDetector, call
from tests.agent.test_any_order import STEPS, Provider, ended, slow
from tests.message.reply_grammar import check_replies
from tests.volumes import volume

CLIENT_CORRECTS = {"truncate", "delete", "user words"}
"""Steps by which a client or a late provider changes words that were final."""


def iso(ts_ms: int) -> str:
    """A time of the call."""
    return f"2026-01-01T00:{ts_ms // 60_000:02}:{ts_ms // 1000 % 60:02}.{ts_ms % 1000:03}Z"


def words_of(said: list[Msg]) -> dict[str, str]:
    """The words by the item they belong to, those of hints too."""
    blocks = [block for message in said for block in message.get_content_blocks("text")]
    hints = {hint.id: str(hint.hint).strip() for message in said for hint in message.get_content_blocks("hint")}
    return {block.id: block.text.strip() for block in blocks if block.text.strip()} | hints


def words_in(conversation: Conversation) -> dict[str, str]:
    """The same as the call knows it."""
    return {item.id: item.text for item in conversation.items() if item.text}


def order_of(said: list[Msg]) -> list[str]:
    """Who said something, in order."""
    return [message.role for message in said]


def independent_texts(events: list[AgentEvent]) -> dict[tuple[str, str], str]:
    """An aggregator by hand: the text of each block by (reply_id, block_id)."""
    texts: dict[tuple[str, str], str] = {}
    for event in events:
        data = event.model_dump()
        if data["type"] == "TEXT_BLOCK_DELTA":
            key = (data["reply_id"], data["block_id"])
            texts[key] = texts.get(key, "") + data["delta"]
        elif data["type"] == "TEXT_BLOCK_END" and data["text"] is not None:
            texts[data["reply_id"], data["block_id"]] = data["text"]
    return texts


def check_checkpoints(events: list[AgentEvent]) -> None:
    """From a snapshot at any place, and what follows with some overlap, come the same messages."""
    whole = [message.to_json() for message in fold_messages(events)]
    for cut in range(0, len(events), max(1, len(events) // 7)):
        kept = {message.id: Msg.from_json(message.to_json()) for message in fold_messages(events[:cut])}
        seen = {event.id for event in events[:cut]}
        for event in events[max(0, cut - 5) :]:
            if event.reply_id in kept:
                if event.id not in seen:
                    kept[event.reply_id].append_event(event)
            elif event.type == "REPLY_START":
                kept[event.reply_id] = Msg.from_events([event])
        assert [message.to_json() for message in kept.values()] == whole


async def play(steps: list[str], authority: str, paced: bool) -> None:
    options: dict[str, Any] = {"config": SessionConfig(turn_detection=TurnDetection(authority=authority))}  # type: ignore[arg-type]
    if authority == "server":
        heard = [event for at in range(300, 9_000, 1_200) for event in ((at, SpeechStarted(at)), (at + 600, ended(at)))]
        options["make_detector"] = lambda detection: FakeDetector(*heard)
    profile = NO_DETECTOR if authority == "server" else PROFILE
    clock = EstimatedPlayback(24_000) if paced else AcknowledgedPlayback(24_000)
    async with call(
        profile=profile, toolkit=Toolkit([slow]), clock=clock, ahead_ms=350 if paced else None, **options
    ) as made:
        provider = Provider(made)
        for step in steps:
            await provider.do(step)
        await provider.do("link comes")
        await provider.do("finish")
        await asyncio.sleep(20)
    log = made.log
    live = ReplyProjection("session1", created_at_of=iso)
    events = [event for one in log for event in live.push(one)]
    check_replies(events)
    stored = ReplyProjection("session1", created_at_of=iso)
    without_sound = [one for one in log if not isinstance(one, s.AgentResponseAudioDeltaEvent)]
    assert events == [event for one in without_sound for event in stored.push(one)]

    said = messages(events)
    assert words_of(said) == words_in(made.session.conversation)
    texts = independent_texts(events)
    folded = fold_messages(events)
    assert texts == {(one.id, block.id): block.text for one in folded for block in one.get_content_blocks("text")}
    if not CLIENT_CORRECTS & {*steps}:
        assert words_of(folded) == words_in(made.session.conversation)
    for message in folded:
        assert message.finished_at is not None
        assert message.check_pairs() == []
    check_checkpoints(events)

    with_sound = ReplyProjection("session1", created_at_of=iso, keeps_audio=True)
    check_replies([event for one in log for event in with_sound.push(one)])
    hasty_reader = ReplyProjection("session1", created_at_of=iso)
    check_replies([event for one in log for event in (*hasty_reader.push(one), *hasty_reader.settle())])


@settings(max_examples=volume(30, 300), deadline=None)
@example(steps=["tool", "typed"], authority="provider", paced=False)
@given(
    steps=st.lists(st.sampled_from(STEPS), max_size=25),
    authority=st.sampled_from(["provider", "server", "client"]),
    paced=st.booleans(),
)
def test_reply_events_tell_the_words_of_the_conversation(steps: list[str], authority: str, paced: bool) -> None:
    """REC-01, REC-02, REC-25, REC-29, EVT-08, EVT-13, EVT-43, AMB-58: the grammar holds, an independent aggregator
    agrees, the messages are the same from every checkpoint, and their words are those of the conversation, from the log
    alone."""
    run(play(steps, authority, paced))
