"""What a store gets of texts with secrets: whole items, deltas, tools, and a function that fails."""

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.errors import BadOption
from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.permission.accepted import PERMISSION_UPDATED
from realtime.state.log import AudioRun, Entry
from realtime.state.redaction import MARK, MAX_STUCK, Redaction, _Alignment
from realtime.state.store import CallInfo, Change, decode_entry, encode_entry, merged

SECRET = "4111 2222 3333"
WHO: dict[str, str] = {"agent_id": "a1", "agent_name": "Luigi"}


def numbers_out(text: str) -> str:
    return re.sub(r"\d[\d ]{2,}\d", "[number]", text)


def everything_out(text: str) -> str:
    return "***"


def numbered(*events: Any) -> list[Entry]:
    return [msgspec.structs.replace(one, seq=seq) for seq, one in enumerate(events, 1)]


def spoken(*deltas: str, heard: str | None = None) -> list[Any]:
    part = {"response_id": "r1", "item_id": "i1", **WHO}
    pieces = [s.AgentResponseAudioTranscriptDeltaEvent(delta=one, **part) for one in deltas]
    whole = "".join(deltas) if heard is None else heard
    return [*pieces, s.AgentResponseAudioTranscriptDoneEvent(transcript=whole, **part)]


def heard(*deltas: str, interim: str | None = None) -> list[Any]:
    pieces = [s.AgentInputTranscriptionDeltaEvent(item_id="u1", delta=one, interim=interim, **WHO) for one in deltas]
    return [*pieces, s.AgentInputTranscriptionDoneEvent(item_id="u1", transcript="".join(deltas), **WHO)]


class Kept:
    """A store that notes everything that it ever got."""

    def __init__(self, redact: Callable[[str], str] = numbers_out, **options: Any) -> None:
        self.redaction = Redaction(redact, **options)
        self.ever: list[bytes] = []
        self.entries: list[Entry] = []
        self.info: CallInfo | None = None

    def write(self, entries: list[Entry], info: CallInfo | None = None, *, fails: bool = False) -> None:
        change = Change("c1", info, entries)
        self.redaction.apply([change])
        if fails:
            return
        self.ever += [change.lines, msgspec.json.encode(change.info)]
        self.entries = merged([*self.entries, *map(decode_entry, change.lines.splitlines())])
        self.info = change.info or self.info
        self.redaction.wrote([change])

    def deltas(self) -> list[str]:
        return [one.delta for one in self.entries if hasattr(one, "delta") and isinstance(one.delta, str)]

    def holds(self, word: str) -> bool:
        return any(word.encode() in one for one in self.ever)


@pytest.mark.parametrize("batches", [1, 2, 100])
@pytest.mark.parametrize(
    ("events", "deltas", "whole"),
    [
        (spoken("Your ", "card is 41", "11 22", "22 3333."), ["Your ", "card is [number]", "", "."], "[number]."),
        (spoken("Nothing ", "to hide."), ["Nothing ", "to hide."], "Nothing to hide."),
        (heard("It is 4111 ", "2222", " 3333", interim="4111"), ["It is [number]", "", ""], "It is [number]"),
        (spoken("4111 ", "2222 3333 and on", heard="4111 22"), ["[number]", " and on"], '"transcript":"[number]"'),
    ],
    ids=["spoken", "nothing", "heard", "cut in the secret"],
)
def test_a_secret_that_is_split_over_deltas_is_never_stored(
    batches: int, events: list[Any], deltas: list[str], whole: str
) -> None:
    kept, entries = Kept(), numbered(*events)
    size = -(-len(entries) // batches)
    for at in range(0, len(entries), size):
        kept.write(entries[at : at + size])
    assert "".join(kept.deltas()) == "".join(deltas)
    assert [one.seq for one in kept.entries] == [one.seq for one in entries]
    assert whole.encode() in encode_entry(kept.entries[-1])
    assert [word for word in ("4111", "2222", "3333") if kept.holds(word)] == []


def test_words_of_which_nothing_is_taken_out_stay_in_their_places() -> None:
    kept = Kept()
    kept.write(numbered(*spoken("Come ", "on ", "Friday.")))
    assert kept.deltas() == ["Come ", "on ", "Friday."]


def test_a_write_that_failed_is_repeated_with_all_words() -> None:
    kept, entries = Kept(), numbered(*spoken("Call ", "me on 41", "11 2222."))
    kept.write(entries[:2])
    kept.write(entries[2:], fails=True)
    kept.write(entries[2:])
    assert "".join(kept.deltas()) == "Call me on [number]."


def test_words_that_were_never_complete_are_not_stored() -> None:
    kept = Kept()
    kept.write(numbered(*spoken("My pin is 41", "11")[:-1]))
    assert kept.deltas() == ["", ""]
    failed = s.AgentInputTranscriptionFailedEvent(item_id="u1", code="c", message="no", **WHO)
    other = Kept()
    other.write(numbered(*heard("41", "11")[:-1], failed))
    assert other.deltas() == ["", ""]
    assert not kept.holds("11")
    assert not other.holds("11")


def item(**more: Any) -> Item:
    return Item(id="i9", role="user", **more)


CALL = ToolCallBlock(id="t1", name="pay", input=f'{{"card": "{SECRET}", "n": 4111}}')
EVENTS: list[tuple[Any, str]] = [
    # an event with a secret, a word of what is stored of it
    (s.AgentItemAddedEvent(item=item(content=(ContentPart(type="text", text=f"It is {SECRET}."),)), **WHO), "It is ["),
    (s.AgentItemDoneEvent(item=item(type="tool_call", tool_call=CALL), **WHO), '{\\"card\\": \\"[number]\\"'),
    (
        s.AgentResponseToolUseDeltaEvent(response_id="r", item_id="i", tool_use=CALL, delta=SECRET, **WHO),
        '"name":"pay"',
    ),
    (s.AgentToolProgressEvent(tool_call_id="t1", delta=SECRET, **WHO), '"delta":""'),
    (
        s.AgentResponseToolResultEvent(
            tool_result=ToolResultBlock(id="t1", name="pay", output=f"paid with {SECRET}"), **WHO
        ),
        "paid with [number]",
    ),
    (s.ServerCustomEvent(name="call_record", value={"record": {"card": SECRET, "no": [SECRET]}}), '["[number]"]'),
    (s.ServerCustomEvent(name="found", value={SECRET: 1}), '"[number]":1'),
    (s.ServerCustomEvent(name=PERMISSION_UPDATED, value={"rules": [SECRET]}), '"value":{}'),
    (
        s.ServerSessionUpdatedEvent(session_id="s1", config={"instructions": SECRET, "voice": "alloy"}),
        '"voice":"alloy"',
    ),
    (s.AgentErrorEvent(error_type="e", code="c", message=f"no {SECRET}", **WHO), "no [number]"),
]


@pytest.mark.parametrize(("event", "word"), EVENTS, ids=[type(row[0]).__name__ for row in EVENTS])
def test_each_text_of_other_events_is_redacted(event: Any, word: str) -> None:
    kept = Kept()
    kept.write(numbered(event))
    assert not kept.holds("2222")
    assert kept.holds(word)


@pytest.mark.parametrize("redact", [everything_out, lambda text: ""])
def test_what_the_program_reads_survives_a_function_that_takes_out_everything(redact: Callable[[str], str]) -> None:
    kept = Kept(redact)
    run = AudioRun(seq=1, last_seq=1, ts_ms=0, last_ts_ms=0, item_id="i1", offset_bytes=0, n_bytes=9)
    entries = numbered(run, *(event for event, _ in EVENTS), *spoken("a ", "b"), *heard("c"))
    kept.write(entries)
    assert [(type(one), one.seq) for one in kept.entries] == [(type(one), one.seq) for one in entries]


def test_the_description_of_a_call_has_the_first_words_without_secrets_also_where_they_are_cut() -> None:
    kept = Kept()
    long = "x" * 132 + " " + SECRET
    entry = s.AgentItemAddedEvent(item=item(content=(ContentPart(type="text", text=long),)), **WHO)
    info = CallInfo(call_id="c1", first_words=long[:139] + "…", config={"instructions": SECRET, "voice": "v"})
    kept.write(numbered(entry), info)
    assert kept.info is not None
    assert kept.info.first_words is not None
    assert "4111" not in kept.info.first_words
    assert kept.info.config == {"instructions": "[number]", "voice": "v"}
    resumed = Kept()
    resumed.write([], CallInfo(call_id="c1", first_words="[number] it was", last_seq=9))
    assert resumed.info is not None
    assert resumed.info.first_words == "[number] it was"


def raising(text: str) -> str:
    raise ValueError(text)


@pytest.mark.parametrize("redact", [raising, lambda text: None, lambda text: text.encode()])
def test_a_text_that_cannot_be_redacted_is_not_stored_and_a_mark_says_so(
    redact: Any, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept(redact)
    kept.write(numbered(*spoken("It is 41", "11 2222."), EVENTS[0][0]), CallInfo(call_id="c1", first_words=SECRET))
    assert kept.deltas() == ["", ""]
    assert kept.holds(MARK)
    assert not kept.holds("11")
    assert "texts are not stored" in caplog.text
    assert "2222" not in caplog.text


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    go_on = threading.Event()
    yield go_on
    go_on.set()


def test_a_function_that_is_stuck_stores_nothing_and_is_not_asked_without_end(stuck: threading.Event) -> None:
    asked: list[str] = []

    def hangs(text: str) -> str:
        asked.append(text)
        stuck.wait()
        return text

    redaction = Redaction(hangs, limit_s=0.01)
    assert [redaction.text(f"text {number}") for number in range(MAX_STUCK + 3)] == [MARK] * (MAX_STUCK + 3)
    assert len(asked) == MAX_STUCK


async def later(text: str) -> str:
    return text


@pytest.mark.parametrize("redact", ["app.py:redact", None, later])
def test_what_is_no_function_of_a_text_is_refused(redact: Any) -> None:
    with pytest.raises(BadOption, match="redact is a plain function"):
        Redaction(redact)


@given(st.text("ab12 ", max_size=30), st.integers(0, 30))
def test_places_rise_and_nothing_of_the_redacted_text_is_lost(raw: str, at: int) -> None:
    redacted = numbers_out(raw)
    whole = _Alignment(raw, redacted)
    places = [whole.place(one) for one in range(len(raw) + 1)]
    assert places == sorted(places)
    assert redacted[: whole.place(len(raw))] == redacted
    assert raw != redacted or places == [*range(len(raw) + 1)]
