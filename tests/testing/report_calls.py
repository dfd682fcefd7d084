"""Calls for reports: real server events at chosen times, with recordings from `fixtures/audio`."""

import json
from pathlib import Path
from typing import Any

from realtime.audio.files import read_pcm16
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.state.log import Entry, Log
from realtime.testing.record import CallRecord, Lane, Mark, Played, Spoken, WireFrame

AUDIO = Path(__file__).resolve().parents[2] / "fixtures" / "audio"
IN_HZ = 16_000
OUT_HZ = 24_000
TRIP = (
    "I would like to plan a trip, perhaps to the mountains, "
    "and I need to know how cold it gets at night in the first week of October."
)


class CallWriter:
    """Writes the record of a call with one human and one agent, event by event. Times are ms of the call."""

    def __init__(self, name: str, *, human: str = "Robert", agent: str = "Anna") -> None:
        self.name = name
        self.human = human
        self.agent = agent
        self._now_ms = 0.0
        self.log = Log(lambda: self._now_ms / 1000, max_entries=1_000_000)
        self._who: dict[str, Any] = {"agent_id": "agent_1", "agent_name": agent}
        self.items: list[Item] = []
        self.played: list[Played] = []
        self.spoken: list[Spoken] = []
        self.marks: list[Mark] = []
        self.frames: list[WireFrame] = []
        self._input = bytearray()
        self._output = bytearray()
        self.at(0, s.ServerSessionCreatedEvent(session_id="demo", call_id="call_1"))
        self.at(60, s.AgentReadyEvent(**self._who))

    def at(self, ms: float, event: s.ServerEvent) -> None:
        """The event happens then, and goes over the client's wire."""
        self._now_ms = ms
        self.log.append(event)
        shown = event.model_dump()
        if isinstance(event, s.AgentResponseAudioDeltaEvent):
            shown["delta"] = f"<{len(event.delta)} bytes>"
        self.frames.append(WireFrame(ms, "client", "sent", self.human, json.dumps(shown)))

    def hears(self, ms: float, file: str, text: str, *, item: str, speech: tuple[int, int], **about: Any) -> float:
        """The human plays `file` at `ms`; the turn ends 500 ms behind its speech. Gives when."""
        pcm = read_pcm16(AUDIO / file, IN_HZ)
        _put(self._input, pcm, ms, IN_HZ)
        length_ms = len(pcm) / 2 * 1000 / IN_HZ
        self.spoken.append(Spoken(self.human, ms, ms + length_ms, text, **about))
        start, end = (round(ms + edge) for edge in speech)
        for sent_ms in range(round(ms), round(ms + length_ms), 40):
            append = {"type": "client_audio_append", "audio": "<1280 bytes>", "offset": sent_ms * 16}
            self.frames.append(WireFrame(sent_ms, "client", "received", self.human, json.dumps(append)))
        self.at(start + 120, s.AgentInputStartedEvent(item_id=item, audio_start_ms=start, **self._who))
        if about.get("barge_in"):
            self.at(start + 125, s.ServerAudioFlushEvent())
        over = end + 500
        self.at(over, s.AgentInputDoneEvent(item_id=item, audio_end_ms=end, **self._who))
        self.at(over + 2, s.AgentInputCommittedEvent(item_id=item, **self._who))
        self.at(over + 180, s.AgentInputTranscriptionDoneEvent(item_id=item, transcript=text, **self._who))
        self.items.append(_item(item, "user", text, "audio"))
        received = {"type": "server_audio_received", "offset": (over + 40) * 16, "ts_ms": over + 40}
        self.frames.append(WireFrame(over + 40, "client", "sent", self.human, json.dumps(received)))
        return over

    def types(self, ms: float, text: str, *, item: str) -> float:
        """The human types."""
        self.marks.append(Mark(ms, self.human, "typed", text))
        self.items.append(Item(id=item, role="user", content=(ContentPart(type="text", text=text),)))
        self.at(ms + 5, s.AgentItemAddedEvent(item=self.items[-1], **self._who))
        return ms + 5

    def responds(self, ms: float, response: str) -> None:
        self.at(ms, s.AgentResponseCreatedEvent(response_id=response, **self._who))
        asked = {"type": "response.create", "event_id": f"event_{ms}"}
        self.frames.append(WireFrame(ms - 1, "model", "sent", self.agent, json.dumps(asked)))

    def says(self, ms: float, file: str, text: str, *, response: str, item: str, heard_ms: int | None = None) -> float:
        """The agent says `file`, sent from `ms` on, twice as fast as it plays, heard 60 ms later, but for `heard_ms`
        cut there. Gives when it was heard to its end."""
        pcm = read_pcm16(AUDIO / file, OUT_HZ)
        where: dict[str, Any] = {"response_id": response, "item_id": item, **self._who}
        chunk = OUT_HZ * 2 * 200 // 1000
        pieces = [pcm[at : at + chunk] for at in range(0, len(pcm), chunk)]
        words = text.split(" ")
        for number, piece in enumerate(pieces):
            share = [words[place] for place in range(len(words)) if place * len(pieces) // len(words) == number]
            if share:
                delta = (" " if number else "") + " ".join(share)
                self.at(ms + number * 100, s.AgentResponseAudioTranscriptDeltaEvent(delta=delta, **where))
            audio = s.AgentResponseAudioDeltaEvent(delta=piece, format=AudioFormat.pcm16(OUT_HZ), **where)
            self.at(ms + number * 100, audio)
            provider = {"type": "response.output_audio.delta", "item_id": item, "delta": f"<{len(piece)} bytes>"}
            self.frames.append(WireFrame(ms + number * 100, "model", "received", self.agent, json.dumps(provider)))
        whole_ms = len(pcm) / 2 * 1000 / OUT_HZ
        length_ms = whole_ms if heard_ms is None else heard_ms
        _put(self._output, pcm[: round(length_ms * OUT_HZ / 1000) * 2], ms + 60, OUT_HZ)
        self.played.append(Played(self.human, item, 0, ms + 60, length_ms))
        if heard_ms is None:
            self.items.append(_item(item, "assistant", text, "audio"))
        return ms + 60 + length_ms

    def finishes(self, ms: float, text: str, *, response: str, item: str, status: Any = "completed") -> None:
        where: dict[str, Any] = {"response_id": response, "item_id": item, **self._who}
        self.at(ms, s.AgentResponseAudioDoneEvent(**where))
        self.at(ms, s.AgentResponseAudioTranscriptDoneEvent(transcript=text, **where))
        self.at(ms, s.AgentResponseDoneEvent(response_id=response, status=status, **self._who))

    def cuts(self, ms: float, heard: str, heard_ms: int, *, item: str) -> None:
        """What the human heard of an interrupted item."""
        event = s.AgentItemTruncatedEvent(item_id=item, audio_end_ms=heard_ms, transcript=heard, **self._who)
        self.at(ms, event)
        part = ContentPart(type="audio", transcript=heard)
        self.items.append(Item(id=item, role="assistant", status="incomplete", content=(part,)))

    def uses(
        self, ms: float, name: str, arguments: str, output: str, took_ms: int, *, response: str, call: str
    ) -> None:
        block = ToolCallBlock(id=call, name=name, input=arguments)
        where: dict[str, Any] = {"response_id": response, "item_id": f"item_{call}", **self._who}
        self.at(ms, s.AgentResponseToolUseDoneEvent(tool_use=block, **where))
        result = ToolResultBlock(id=call, name=name, output=output)
        self.at(ms + took_ms, s.AgentResponseToolResultEvent(tool_result=result, **where))

    def record(self, *more: Lane, **changes: Any) -> CallRecord:
        """All of it."""
        entries: tuple[Entry, ...] = tuple(self.log.read())
        lanes = (
            Lane(self.human, "human", IN_HZ, bytes(self._input)),
            Lane(self.agent, "agent", OUT_HZ, bytes(self._output)),
        )
        fields: dict[str, Any] = {
            "lanes": (*lanes, *more),
            "spoken": tuple(self.spoken),
            "played": tuple(self.played),
            "marks": tuple(self.marks),
            "frames": tuple(self.frames),
        }
        return CallRecord(name=self.name, entries=entries, items=tuple(self.items), **(fields | changes))


def _put(lane: bytearray, pcm: bytes, ms: float, rate_hz: int) -> None:
    start = round(ms * rate_hz / 1000) * 2
    lane.extend(bytes(max(0, start - len(lane))))
    lane[start : start + len(pcm)] = pcm


def _item(item_id: str, role: Any, text: str, kind: Any) -> Item:
    return Item(id=item_id, role=role, content=(ContentPart(type=kind, transcript=text),))


def interrupted_call(
    name: str = "interrupted", *, greeting: str = "Good morning, I am Robert.", tool: str = "found", slower_ms: int = 0
) -> CallRecord:
    """A greeting, a turn with a tool, an answer that is cut after 3.9 s, a turn that is typed."""
    call = CallWriter(name)
    call.responds(300, "r0")
    end = call.says(480, "hello_anna.wav", "Hello there, my name is Anna.", response="r0", item="a0")
    call.finishes(1_800, "Hello there, my name is Anna.", response="r0", item="a0")

    over = call.hears(end + 300, "hello_robert.wav", greeting, item="u1", speech=(400, 2_030))
    call.responds(over + 210, "r1")
    call.uses(over + 330, "lookup_guest", '{"name": "Robert"}', tool, 420, response="r1", call="c1")
    call.at(over + 760, s.AgentResponseDoneEvent(response_id="r1"))
    call.responds(over + 780, "r2")
    said_ms = over + 940 + slower_ms
    call.says(said_ms, "trip_pauses.flac", TRIP, response="r2", item="a2", heard_ms=3_900)

    over = call.hears(
        said_ms + 3_400, "barge_in.wav", "Stop, please. That is enough.", item="u3", speech=(400, 2_530), barge_in=True
    )
    call.cuts(over - 2_100, "I would like to plan a trip, perhaps to the", 3_900, item="a2")
    call.finishes(over - 2_090, "I would like to plan a trip, perhaps to the", response="r2", item="a2")
    call.responds(over + 190, "r3")
    question = "What is twelve times seven?"
    end = call.says(over + 430, "twelve_times_seven.wav", question, response="r3", item="a3")
    call.finishes(over + 1_500, question, response="r3", item="a3")

    sent = call.types(end + 400, "84", item="u4")
    call.responds(sent + 120, "r4")
    end = call.says(sent + 300, "set_timer.wav", "Please set a timer for five seconds.", response="r4", item="a4")
    call.finishes(end - 900, "Please set a timer for five seconds.", response="r4", item="a4")
    call.marks.append(Mark(said_ms + 3_960, call.human, "flushed", "a2"))
    call.marks.append(Mark(end + 500, call.human, "left"))
    call.at(end + 520, s.ServerSessionEndedEvent(session_id="demo", reason="client_end"))
    return call.record(wall_s=0.08)


def short_call(name: str = "short", question: str = "What time is it?") -> CallRecord:
    """One question and its answer."""
    call = CallWriter(name)
    over = call.hears(200, "what_time.wav", question, item="u1", speech=(400, 1_310))
    call.responds(over + 150, "r1")
    end = call.says(over + 400, "hello_anna.wav", "Hello there, my name is Anna.", response="r1", item="a1")
    call.finishes(over + 900, "Hello there, my name is Anna.", response="r1", item="a1")
    call.at(end + 100, s.ServerSessionEndedEvent(session_id="demo", reason="client_end"))
    return call.record(wall_s=0.02)
