"""Whatever happens in whatever order: nothing breaks, every stream is closed, all hold the same transcript."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.audio.endpoint import SpeechStarted, TurnEnded
from realtime.audio.playback import AcknowledgedPlayback, EstimatedPlayback, PlaybackClock
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import Item
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import ToolCallBlock
from realtime.testing.clock import run
from realtime.tool import Toolkit
from tests.agent.fakes import NO_DETECTOR, PROFILE, Call, FakeDetector, call, fold, told
from tests.volumes import volume

OPENED = {
    "agent_response_audio_delta": "agent_response_audio_done",
    "agent_response_audio_transcript_delta": "agent_response_audio_transcript_done",
    "agent_response_text_delta": "agent_response_text_done",
}

STEPS = [
    *("begin", "begin aside", "speak", "speak", "sound", "speak more", "write", "end sound", "finish", "fail", "tool"),
    *("user starts", "user ends", "user words"),
    *("typed", "asked", "cancel", "talk", "commit", "clear", "truncate", "delete", "acknowledge"),
    *("link lost", "link goes", "link comes", "refused"),
    *("wait 50 ms", "wait 300 ms", "wait 2 s"),
]
OF_CLIENT = {"typed", "asked", "cancel", "talk", "commit", "clear", "truncate", "delete", "acknowledge"}
IN_RESPONSE = {"announce item", "speak", "sound", "speak more", "write", "end sound", "tool"}
SENDS: dict[str, c.ClientEvent] = {
    "typed": c.ClientTextAppendEvent(text="Hello"),
    "asked": c.ClientResponseCreateEvent(),
    "cancel": c.ClientResponseCancelEvent(),
    "commit": c.ClientAudioCommitEvent(),
    "clear": c.ClientAudioClearEvent(),
}
WAITS_S = {"wait 50 ms": 0.05, "wait 300 ms": 0.3, "wait 2 s": 2.0}
GONE = m.ModelReconnectingEvent(attempt=1, retry_after_ms=0, reason="lost")
BACK = m.ModelReconnectedEvent(gap_ms=0)
REFUSED = m.ModelErrorEvent(error_type="provider_error", code="conversation_already_has_active_response", message="no")


async def slow(word: str = "") -> str:
    """Take a moment."""
    await asyncio.sleep(0.4)
    return word


class Provider:
    """Does the steps, as a provider and a client might."""

    def __init__(self, made: Call) -> None:
        self.made = made
        self.link = made.link
        self.count = 0
        self.active: str | None = None
        self.item = ""
        self.user = ""
        self.gone = False

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count}"

    async def do(self, step: str) -> None:
        made, link = self.made, self.link
        if self.gone and step not in OF_CLIENT and step != "link comes" and not step.startswith("wait"):
            return
        if step in IN_RESPONSE and self.active is None:
            await self.do("begin")
        where: dict[str, Any] = {"response_id": self.active or "", "item_id": self.item}
        match step:
            case "begin" if self.active is None:
                self.active, self.item = self.new("r"), self.new("a")
                link.say(m.ModelResponseCreatedEvent(response_id=self.active))
            case "begin aside":
                aside = self.new("aside")
                link.say(
                    m.ModelResponseCreatedEvent(response_id=aside, conversation="none"),
                    m.ModelResponseTextDeltaEvent(response_id=aside, item_id=f"{aside}_item", delta="Note."),
                    m.ModelResponseDoneEvent(response_id=aside, conversation="none"),
                )
            case "announce item":
                item = Item(id=self.item, role="assistant", status="in_progress")
                link.say(m.ModelItemAddedEvent(item=item))
            case "speak":
                link.speak(where["response_id"], 700, f"word{self.count} and more ", item_id=self.item)
            case "sound":
                link.speak(where["response_id"], 200, item_id=self.item)
            case "speak more":
                self.item = self.new("a")
                link.speak(where["response_id"], 300, "Further words. ", item_id=self.item)
            case "write":
                where["item_id"] = self.new("t")
                link.say(m.ModelResponseTextDeltaEvent(delta="Written. ", **where))
            case "end sound":
                link.say(m.ModelResponseAudioDoneEvent(**where))
            case "finish" if self.active is not None:
                link.say(m.ModelResponseDoneEvent(response_id=self.active))
                self.active = None
            case "fail" if self.active is not None:
                link.say(m.ModelResponseDoneEvent(response_id=self.active, status="cancelled"))
                self.active = None
            case "tool":
                use = ToolCallBlock(id=self.new("call"), name="slow", input="{}")
                where["item_id"] = self.new("use")
                link.say(m.ModelResponseToolUseDoneEvent(tool_use=use, **where))
            case "user starts" if not self.user:
                self.user = self.new("u")
                link.hear_start(self.user)
            case "user ends" if self.user:
                link.hear_end(self.user)
                self.user = ""
            case "user words":
                spoken = [item.id for item in made.session.conversation.items() if item.id.startswith("u_")]
                if spoken:
                    link.say(m.ModelInputTranscriptionDoneEvent(item_id=spoken[-1], transcript=f"said {self.count}"))
            case "talk":
                made.hear(300)
            case _ if step in SENDS:
                made.receive(SENDS[step])
            case "truncate" | "delete" | "acknowledge":
                self.on_item(step)
            case "link lost":
                link.say(GONE, BACK)
                self.active, self.user = None, ""
            case "link goes":
                if self.active is not None:
                    lost = {"type": "failed", "reason": "link_lost"}
                    link.say(m.ModelResponseDoneEvent(response_id=self.active, status="failed", status_details=lost))
                link.say(GONE)
                self.active, self.user, self.gone = None, "", True
            case "link comes" if self.gone:
                self.gone = False
                link.say(BACK)
            case "refused":
                link.say(REFUSED)
            case _ if step in WAITS_S:
                await asyncio.sleep(WAITS_S[step])

    def on_item(self, step: str) -> None:
        """The client does something to the last answer."""
        answers = [item.id for item in self.made.session.conversation.items() if item.role == "assistant"]
        if not answers:
            return
        if step == "truncate":
            self.made.receive(c.ClientItemTruncateEvent(item_id=answers[-1], audio_end_ms=250))
        elif step == "delete":
            self.made.receive(c.ClientItemDeleteEvent(item_id=answers[-1]))
        else:
            self.made.receive(c.ClientPlaybackAckEvent(item_id=answers[-1], played_ms=200))


def check_streams(events: list[s.ServerEvent]) -> None:
    """Whatever was opened is closed once, before its response is done; then nothing more is said of it."""
    open_streams: set[tuple[str, str, str]] = set()
    begun: set[str] = set()
    done: set[str] = set()
    for event in events:
        response_id, item_id = str(getattr(event, "response_id", "")), str(getattr(event, "item_id", ""))
        if event.type == "agent_response_created":
            begun.add(response_id)
        elif event.type in OPENED:
            assert response_id in begun - done, f"{event.type} of {response_id}"
            open_streams.add((response_id, item_id, OPENED[event.type]))
        elif event.type in OPENED.values():
            assert response_id not in done, f"{event.type} of {response_id}"
            open_streams.discard((response_id, item_id, event.type))
        elif event.type == "agent_response_done":
            assert response_id in begun - done
            done.add(response_id)
            assert not {one for one in open_streams if one[0] == response_id}
    assert begun == done


def check_items(events: list[s.ServerEvent]) -> None:
    """An item is added once, and one that was deleted does not come back."""
    added = [event.item.id for event in events if isinstance(event, s.AgentItemAddedEvent)]
    assert len(added) == len({*added}), added


def check_silence(events: list[s.ServerEvent]) -> None:
    """Of an item that was cut or withdrawn after a flush, nothing more is heard."""
    silenced: set[str] = set()
    said: set[str] = set()
    for event in events:
        if isinstance(event, s.ServerAudioFlushEvent):
            silenced |= said
        elif isinstance(event, s.AgentResponseAudioDeltaEvent):
            assert event.item_id not in silenced
            if not event.response_id.startswith("aside"):
                said.add(event.item_id)


async def play(steps: list[str], authority: str, clock: PlaybackClock, ahead_ms: int | None) -> None:
    options: dict[str, Any] = {"config": SessionConfig(turn_detection=TurnDetection(authority=authority))}  # type: ignore[arg-type]
    if authority == "server":
        heard = [event for at in range(300, 9_000, 1_200) for event in ((at, SpeechStarted(at)), (at + 600, ended(at)))]
        options["make_detector"] = lambda detection: FakeDetector(*heard)
    profile = NO_DETECTOR if authority == "server" else PROFILE
    async with call(profile=profile, toolkit=Toolkit([slow]), clock=clock, ahead_ms=ahead_ms, **options) as made:
        provider = Provider(made)
        for step in steps:
            await provider.do(step)
        await provider.do("link comes")
        await provider.do("finish")
        await asyncio.sleep(20)
        check_streams(made.log)
        check_items(made.log)
        if ahead_ms is None:
            check_silence(made.seen)
            check_streams(made.seen)
        assert fold(made.log) == told(made.session.conversation)
        assert fold(made.seen) == told(made.session.conversation)
        assert not [item for item in made.session.conversation.items() if item.status == "in_progress"]


def ended(at_ms: int) -> TurnEnded:
    return TurnEnded(start_ms=at_ms, end_ms=at_ms + 300, pcm=b"")


@settings(max_examples=volume(40, 400), deadline=None)
@given(
    steps=st.lists(st.sampled_from(STEPS), max_size=25),
    authority=st.sampled_from(["provider", "server", "client"]),
    listener=st.sampled_from(["acknowledging", "paced"]),
)
def test_every_order_of_events_leaves_the_call_whole(steps: list[str], authority: str, listener: str) -> None:
    paced = listener == "paced"
    clock = EstimatedPlayback(24_000) if paced else AcknowledgedPlayback(24_000)
    run(play(steps, authority, clock, 350 if paced else None))
