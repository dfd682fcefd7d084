"""Make fixtures/messages: streams of reply events and the messages they fold into, for Python and for the browser.

    python tools/make_message_fixtures.py

Each file holds `events` as on the wire, the `messages` they fold into, and `canonical`: each message as canonical JSON
(RFC 8785). Both sides have to come to the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from realtime import event as e
from realtime.message import (
    Base64Source,
    ConfirmResult,
    DataBlock,
    PermissionBehavior,
    PermissionRule,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    URLSource,
    fold_messages,
)

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "messages"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = "session1"
AUDIO = "audio/pcm;rate=24000"


class Script:
    """Events of one call, with ids that count up and 40 ms between them."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.reply_id = ""

    def add(self, event: Callable[..., Any], **fields: Any) -> None:
        """One event of the current reply, or of `reply_id`."""
        number = len(self.events) + 1
        at = (BEGIN + timedelta(milliseconds=40 * number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.events.append(event(**{"id": f"ev_{number}", "created_at": at, "reply_id": self.reply_id} | fields))

    def start(self, reply_id: str, name: str, **fields: Any) -> None:
        self.reply_id = reply_id
        self.add(e.ReplyStartEvent, session_id=SESSION, name=name, **fields)

    def end(self, **fields: Any) -> None:
        self.add(e.ReplyEndEvent, session_id=SESSION, **fields)

    def text(self, block_id: str, *deltas: str, **end: Any) -> None:
        """A whole text block."""
        self.add(e.TextBlockStartEvent, block_id=block_id)
        for delta in deltas:
            self.add(e.TextBlockDeltaEvent, block_id=block_id, delta=delta)
        self.add(e.TextBlockEndEvent, block_id=block_id, **end)

    def call(self, call_id: str, name: str, *deltas: str) -> None:
        """A whole tool call."""
        self.add(e.ToolCallStartEvent, tool_call_id=call_id, tool_call_name=name)
        for delta in deltas:
            self.add(e.ToolCallDeltaEvent, tool_call_id=call_id, delta=delta)
        self.add(e.ToolCallEndEvent, tool_call_id=call_id)

    def result(self, call_id: str, name: str, *deltas: str, state: str = "success") -> None:
        """A whole tool result of text."""
        self.add(e.ToolResultStartEvent, tool_call_id=call_id, tool_call_name=name)
        for delta in deltas:
            self.add(e.ToolResultTextDeltaEvent, tool_call_id=call_id, delta=delta)
        self.add(e.ToolResultEndEvent, tool_call_id=call_id, state=state)


def rounds(script: Script) -> None:
    """Three rounds of reasoning and acting in one reply, with usage."""
    script.start("reply_1", "Friday")
    for number, tool in enumerate(("weather", "clock"), start=1):
        script.add(e.ModelCallStartEvent, model_name="scripted")
        script.text(f"text_{number}", "Let me ", "look. ")
        script.call(f"call_{number}", tool, '{"city":', ' "Köln"}')
        script.add(e.ModelCallEndEvent, input_tokens=100 * number, output_tokens=10 * number)
        script.result(f"call_{number}", tool, "12", " °C")
    script.add(e.ModelCallStartEvent, model_name="scripted")
    script.text("text_3", "It is ", "twelve", ".")
    script.add(e.ModelCallEndEvent, input_tokens=300, output_tokens=30)
    script.end()


def interleaved(script: Script) -> None:
    """Blocks that grow at the same time; data in chunks whose base64 is padded."""
    script.start("reply_1", "Friday")
    script.add(e.TextBlockStartEvent, block_id="a")
    script.add(e.ThinkingBlockStartEvent, block_id="a")
    script.add(e.DataBlockStartEvent, block_id="a", media_type=AUDIO)
    script.add(e.TextBlockStartEvent, block_id="b")
    script.add(e.DataBlockStartEvent, block_id="b", media_type="image/png")
    for number in range(5):
        script.add(e.TextBlockDeltaEvent, block_id="a", delta=f"a{number} ")
        script.add(e.DataBlockDeltaEvent, block_id="a", data=bytes(range(number, 2 * number + 1)), media_type=AUDIO)
        script.add(e.ThinkingBlockDeltaEvent, block_id="a", delta=f"thought {number}, ")
        script.add(e.TextBlockDeltaEvent, block_id="b", delta=f"b{number} ")
        script.add(e.DataBlockDeltaEvent, block_id="b", data=bytes([255 - number] * (number % 3 + 1)))
    script.add(e.TextBlockEndEvent, block_id="b")
    script.add(e.DataBlockEndEvent, block_id="a")
    script.add(e.ThinkingBlockEndEvent, block_id="a")
    script.add(e.TextBlockEndEvent, block_id="a")
    script.add(e.DataBlockEndEvent, block_id="b")
    script.end()


def parallel_tools(script: Script) -> None:
    """Tools side by side: text, then data, then text; a link; every state; one still running at the end."""
    script.start("reply_1", "Friday")
    names = ("radar", "search", "broken", "slow", "forbidden", "background")
    for name in names:
        script.add(e.ToolCallStartEvent, tool_call_id=f"call_{name}", tool_call_name=name)
    for part in ('{"q"', ': "ü', '\\n"}'):
        for name in names:
            script.add(e.ToolCallDeltaEvent, tool_call_id=f"call_{name}", delta=part)
    for name in names:
        script.add(e.ToolCallEndEvent, tool_call_id=f"call_{name}")
    for name in names:
        script.add(e.ToolResultStartEvent, tool_call_id=f"call_{name}", tool_call_name=name)
    picture = {"tool_call_id": "call_radar", "block_id": "picture", "media_type": "image/png"}
    link = {"tool_call_id": "call_radar", "block_id": "film", "media_type": "video/mp4"}
    script.add(e.ToolResultTextDeltaEvent, tool_call_id="call_radar", delta="The ")
    script.add(e.ToolResultTextDeltaEvent, tool_call_id="call_search", delta="one ")
    script.add(e.ToolResultTextDeltaEvent, tool_call_id="call_radar", delta="radar:")
    script.add(e.ToolResultDataDeltaEvent, data=b"\x89PNG", **picture)
    script.add(e.ToolResultDataDeltaEvent, data=b"\r\n", **picture)
    script.add(e.ToolResultTextDeltaEvent, tool_call_id="call_search", delta="two")
    script.add(e.ToolResultDataDeltaEvent, url="https://example.org/film.mp4?day=1#t=3", **link)
    script.add(e.ToolResultTextDeltaEvent, tool_call_id="call_radar", delta="as of ")
    script.add(e.ToolResultTextDeltaEvent, tool_call_id="call_radar", delta="now")
    sound = {"tool_call_id": "call_slow", "block_id": "sound", "media_type": "audio/wav"}
    script.add(e.ToolResultDataDeltaEvent, data=b"RIFF", **sound)
    script.add(e.ToolResultTextDeltaEvent, tool_call_id="call_broken", delta="KeyError: 'q'")
    for name, state in zip(names, ("success", "success", "error", "interrupted", "denied", "running"), strict=True):
        script.add(e.ToolResultEndEvent, tool_call_id=f"call_{name}", state=state)
    script.text("text_1", "Done.")
    script.call("call_last", "clock", "{}")
    script.add(e.ToolResultStartEvent, tool_call_id="call_last", tool_call_name="clock")


def confirmation(script: Script) -> None:
    """One call approved as changed by the user, one refused, one not answered: the reply waits."""
    script.start("reply_1", "Friday")
    for name in ("pay", "delete", "mail", "look"):
        script.call(f"call_{name}", name, '{"amount": 5}')
    rule = PermissionRule(
        tool_name="pay", rule_content="amount<10", behavior=PermissionBehavior.ALLOW, source="session"
    )
    asked = [
        ToolCallBlock(
            id=f"call_{name}",
            name=name,
            input='{"amount": 5}',
            state=ToolCallState.ASKING,
            suggested_rules=[rule] if name == "pay" else [],
        )
        for name in ("pay", "delete", "mail")
    ]
    script.add(e.RequireUserConfirmEvent, tool_calls=asked)
    changed = ToolCallBlock(id="call_pay", name="pay_later", input='{"amount": 4}', state=ToolCallState.ASKING)
    script.add(
        e.UserConfirmResultEvent,
        confirm_results=[
            ConfirmResult(confirmed=True, tool_call=changed, rules=[rule]),
            ConfirmResult(confirmed=False, tool_call=asked[1]),
        ],
    )
    script.result("call_pay", "pay_later", "paid")
    script.result("call_delete", "delete", "The user said no.", state=ToolResultState.DENIED)


def confirmed_and_finished(script: Script) -> None:
    """A confirmation, then an external tool, in one reply that ends."""
    script.start("reply_1", "Friday")
    script.call("call_1", "open_door", "{}")
    call = ToolCallBlock(id="call_1", name="open_door", input="{}")
    script.add(e.RequireUserConfirmEvent, tool_calls=[call])
    script.add(e.UserConfirmResultEvent, confirm_results=[ConfirmResult(confirmed=True, tool_call=call)])
    script.add(e.RequireExternalExecutionEvent, tool_calls=[call])
    output: list[TextBlock | DataBlock] = [
        TextBlock(text="open", id="t1"),
        DataBlock(source=Base64Source(data=b"\x00\x01", media_type="image/jpeg"), id="d1", name="door.jpg"),
    ]
    result = ToolResultBlock(id="call_1", name="open_door", output=output)
    script.add(e.ExternalExecutionResultEvent, execution_results=[result])
    script.add(e.ExternalExecutionResultEvent, execution_results=[result])
    script.text("text_1", "The door is open.")
    script.end()


def external_waiting(script: Script) -> None:
    """Two calls with an external executor, one of them back."""
    script.start("reply_1", "Friday")
    script.call("call_1", "where", "{}")
    script.call("call_2", "camera", "{}")
    calls = [
        ToolCallBlock(id="call_1", name="where", input="{}"),
        ToolCallBlock(id="call_2", name="camera", input="{}"),
    ]
    script.add(e.RequireExternalExecutionEvent, tool_calls=calls)
    result = ToolResultBlock(id="call_2", name="camera", output="no camera", state=ToolResultState.ERROR)
    script.add(e.ExternalExecutionResultEvent, execution_results=[result])


def barge_in(script: Script) -> None:
    """A user speaks, the assistant answers and is interrupted: what was heard stays."""
    script.start("reply_u1", "Ann", role="user")
    script.add(e.DataBlockStartEvent, block_id="speech", media_type=AUDIO)
    script.add(e.DataBlockDeltaEvent, block_id="speech", data=b"\x01\x00\x02\x00")
    script.add(e.DataBlockEndEvent, block_id="speech")
    script.text("said", "How far is", " the moon?")
    script.end()
    script.start("reply_a1", "Friday")
    script.add(e.ModelCallStartEvent, model_name="scripted")
    script.call("call_1", "distance", "{}")
    script.add(e.ToolResultStartEvent, tool_call_id="call_1", tool_call_name="distance")
    script.text("spoken", "The moon is ", "three hundred and ", "eighty", text="The moon is three")
    script.add(e.TextBlockDeltaEvent, block_id="spoken", delta=" (too late)")
    script.add(e.ToolResultEndEvent, tool_call_id="call_1", state=ToolResultState.INTERRUPTED)
    script.add(e.ModelCallEndEvent, input_tokens=7, output_tokens=0)
    script.end(finished_reason="interrupted")


def replaced(script: Script) -> None:
    """What stands beside the blocks, and a message that the end puts in the place of what was said."""
    script.start("reply_1", "Friday")
    script.add(e.ThinkingBlockStartEvent, block_id="thought")
    script.add(e.ThinkingBlockDeltaEvent, block_id="thought", delta="A picture.")
    script.add(e.ThinkingBlockEndEvent, block_id="thought", extra={"signature": "c2ln", "thinking": "no"})
    link = {"url": "https://example.org/a.png", "name": "a.png"}
    script.add(e.DataBlockStartEvent, block_id="picture", media_type="image/png", **link)
    script.add(e.DataBlockDeltaEvent, block_id="picture", data=b"nowhere")
    script.add(e.DataBlockEndEvent, block_id="picture")
    script.end(message={"metadata": {"sure": 0.5}, "structured_output": {"seen": ["a"]}, "unknown": 1, "name": None})
    script.start("reply_2", "Friday")
    script.add(e.ModelCallEndEvent, input_tokens=7, output_tokens=3)
    script.text("text_1", "One, two")
    content = [
        ThinkingBlock(thinking="Hm.", id="hm", extra={"signature": "c2ln"}).model_dump(),
        TextBlock(text="You interrupted me.", id="text_2").model_dump(),
    ]
    changed = {"id": "msg_2", "content": content, "usage": None, "created_at": "2026-01-01T00:00:09.000Z"}
    script.end(finished_reason="interrupted", message=changed)
    script.start("reply_3", "Ann", role="user")
    script.text("text_1", "Hi")
    script.end(message={"metadata": {"lost": True}, "content": [ToolCallBlock(id="c", name="x").model_dump()]})


def unicode(script: Script) -> None:
    """Text of many scripts, signs that JSON escapes, and deltas that cut between joined signs."""
    script.start("reply_ü", "Frïdäy 🤖")
    script.text("text_1", "👩", "\u200d🚀", " שלום", " مرحبا", " e", "\u0301", " 日本語")
    script.text("text_2", '"quoted" \\ / \b\f\n\r\t', "\x00\x1f\x7f\u2028\u2029\ufeff\uffff")
    script.text("text_3")
    script.add(e.HintBlockEvent, block_id="hint_1", hint="<system-reminder>é</system-reminder>", source='{"label":"𝄞"}')
    script.call("call_ü", "wetter", '{"ort":"Kö', 'ln","𝄞":"\\u00e9"}')
    script.end(finished_reason="error", error="the model went away: “gone”")


def hints_and_signals(script: Script) -> None:
    """What arrives whole, and what changes nothing."""
    script.add(e.CustomEvent, name="team_updated", value={"members": ["Ann", "Friday"]})
    script.start("reply_1", "Friday")
    script.add(e.HintBlockEvent, block_id="hint_1", hint="It is noon.", source='{"label": "clock"}')
    parts: list[TextBlock | DataBlock] = [
        TextBlock(text="a picture", id="p1"),
        DataBlock(source=URLSource(url="file:///tmp/a.png", media_type="image/png"), id="p2"),
    ]
    script.add(e.HintBlockEvent, block_id="hint_2", hint=parts)
    script.add(e.CustomEvent, name="tasks_context", value={"done": 1, "share": 0.5, "left": None})
    script.add(e.CustomEvent, name="team_updated", value={}, reply_id="")
    script.add(e.RequestStopEvent, source="post_reasoning", reason="enough")
    script.add(e.UserInterruptEvent)
    script.add(e.ExceedMaxItersEvent, name="Friday")
    script.end(finished_reason="exceed_max_iters")


def several_replies(script: Script) -> None:
    """Replies that interleave, events that come twice, blocks and replies whose start was lost."""
    script.start("reply_2", "Friday")
    script.start("reply_1", "Saturday")
    for number in range(3):
        for reply_id in ("reply_1", "reply_2", "reply_0"):
            script.reply_id = reply_id
            if number == 0:
                script.add(e.TextBlockStartEvent, block_id="text")
            script.add(e.TextBlockDeltaEvent, block_id="text", delta=f"{reply_id} {number}. ")
    script.reply_id = "reply_1"
    script.add(e.TextBlockStartEvent, block_id="text")
    script.add(e.TextBlockDeltaEvent, block_id="lost", delta="nowhere")
    script.add(e.ThinkingBlockDeltaEvent, block_id="text", delta="nowhere")
    script.add(e.DataBlockDeltaEvent, block_id="lost", data=b"\x00")
    script.add(e.ToolCallDeltaEvent, tool_call_id="lost", delta="{}")
    script.add(e.ToolResultTextDeltaEvent, tool_call_id="lost", delta="nowhere")
    script.add(e.ToolResultEndEvent, tool_call_id="lost", state=ToolResultState.SUCCESS)
    script.add(e.TextBlockEndEvent, block_id="text")
    script.end()
    script.reply_id = "reply_2"
    script.end()
    script.start("reply_3", "Ann", role="user")
    script.text("text", "Hi")
    script.call("call_1", "not_for_users", "{}")
    script.add(e.ModelCallEndEvent, input_tokens=1, output_tokens=1)
    script.end()
    # Overlap: everything from the middle on comes once more.
    script.events += script.events[8:20]


SCENARIOS: tuple[Callable[[Script], None], ...] = (
    rounds,
    interleaved,
    parallel_tools,
    confirmation,
    confirmed_and_finished,
    external_waiting,
    barge_in,
    replaced,
    unicode,
    hints_and_signals,
    several_replies,
)


def fixture(scenario: Callable[[Script], None]) -> str:
    """The file of one scenario."""
    script = Script()
    scenario(script)
    messages = fold_messages(script.events)
    whole = {
        "about": " ".join((scenario.__doc__ or "").split()),
        "events": [event.model_dump() for event in script.events],
        "messages": [json.loads(message.to_json()) for message in messages],
        "canonical": [message.to_json().decode() for message in messages],
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write every file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for scenario in SCENARIOS:
        path = FOLDER / f"{scenario.__name__}.json"
        path.write_text(fixture(scenario), encoding="utf-8", newline="\n")
        print(path.name)


if __name__ == "__main__":
    main()
