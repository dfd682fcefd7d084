"""What each family is sent: golden payloads, judged by the types and calls of the provider's own SDK."""

import json
import logging
from pathlib import Path
from typing import Any

import pybase64
import pytest

from realtime.formatter import NO_RESULT
from realtime.message import AssistantMsg, Block, Msg, ToolCallBlock, ToolCallState, ToolResultBlock, UserMsg
from tests.formatter.families import FAMILIES

Json = dict[str, Any]
CASES: dict[str, Json] = json.loads(Path(__file__).with_name("payloads.json").read_text(encoding="utf-8"))
"""By what they show, each with its messages, the options of its formatter if it has any, and the payload of families.

- A tool message holds text alone, so that what a tool shows follows it, except in Anthropic's results.
- No family takes pictures from its assistant; what it said aloud is in its text. A user's sound is to be heard.
- The system prompts come first as one: strict chat templates take one at the beginning alone.
- Ids of another family take the form that Anthropic takes, in call and result.
- Anthropic refuses a message that ends with thinking; redacted thinking goes back to it.
- Gemini refuses a call whose signature is missing, whatever stands between: it belongs to the call that it names. At
  the end of a stream Gemini sends one without words; a broken one is left out.
- Without its own calls in sight a model would repeat them for ever: without an own name all tools are the assistant's.
- Providers take nothing between a call and its result, and refuse messages without words.
- Some models count their calls anew in each response: the last result of a call counts.
"""


def as_json(payload: list[Json]) -> Any:
    """With bytes as base64."""
    return json.loads(json.dumps(payload, default=pybase64.b64encode_as_string))


@pytest.mark.parametrize("family", FAMILIES)
async def test_the_payload_is_the_one_that_the_family_takes(family: str) -> None:
    """FMT-01, FMT-02, FMT-03, FMT-04, FMT-05, FMT-06, FMT-07, FMT-08, FMT-09, FMT-12, FMT-17, FMT-18, MSG-17, MSG-53,
    MSG-54, AMB-04, AMB-41: golden payloads, judged by the SDK of the family."""
    payloads, wrong = [], {}
    for name, case in CASES.items():
        golden = next((payload for key, payload in case.items() if family in key.split()), None)
        if golden is None:
            continue
        made = getattr(FAMILIES[family], case.get("formatter", "chat"))(**case.get("options", {}))
        payloads.append(await made.format([Msg.model_validate(message) for message in case["messages"]]))
        if as_json(payloads[-1]) != golden:
            wrong[name] = (as_json(payloads[-1]), golden)
    assert not wrong, wrong
    await FAMILIES[family].judge(payloads)


@pytest.mark.parametrize("family", FAMILIES)
async def test_arguments_that_are_no_object_are_none(family: str) -> None:
    """FMT-13: they are JSON in the block and an object to the model: servers fail on a history with broken ones."""

    read = {
        "openai": lambda message: message["tool_calls"][0]["function"]["arguments"],
        "dashscope": lambda message: message["tool_calls"][0]["function"]["arguments"],
        "gemini": lambda message: message["parts"][0]["function_call"]["args"],
        "anthropic": lambda message: message["content"][0]["input"],
    }
    for arguments in ("", '{"city": "Os', "[1]", "null", '{"city": NaN}', "[" * 100_000):
        call = ToolCallBlock(id="c1", name="weather", input=arguments)
        payload = await FAMILIES[family].chat().format([AssistantMsg("Friday", [call])])
        assert read[family](payload[0]) == ("{}" if family in ("openai", "dashscope") else {})


@pytest.mark.parametrize("family", FAMILIES)
async def test_equal_ids_of_several_agents_do_not_mix(family: str) -> None:
    call, result = ToolCallBlock(id="c1", name="clock"), ToolResultBlock(id="c1", name="clock", output="12:00")
    messages = [AssistantMsg("A", [call, result]), AssistantMsg("B", [call])]
    payload = await FAMILIES[family].speakers(own_name="B").format(messages)
    assert "12:00" not in str(payload)
    assert len(payload) == 2
    await FAMILIES[family].judge([payload])


async def test_what_is_unpaired_is_reported_by_its_id(caplog: pytest.LogCaptureFixture) -> None:
    """AMB-16: by `check_pairs`, in the log."""
    unpaired: list[Block] = [
        ToolResultBlock(id="r1", name="clock", output="secret"),
        ToolCallBlock(id="c1", name="clock", state=ToolCallState.FINISHED),
    ]
    with caplog.at_level(logging.WARNING):
        asked, answered = await FAMILIES["openai"].chat().format([AssistantMsg("Friday", unpaired)])
    assert ([call["id"] for call in asked["tool_calls"]], answered["content"]) == (["c1"], NO_RESULT)
    assert [record.getMessage() for record in caplog.records] == [
        "result r1 has no call before it",
        "call c1 is finished and has no result",
    ]


async def test_many_lines_of_marks_cost_no_time() -> None:
    """Linear: the square of a hundred thousand would take minutes."""
    words = "\n" * 100_000 + "-" * 100_000
    (told,) = await FAMILIES["openai"].speakers("The conversation so far:\n").format([UserMsg("Anna", f"x{words}")])
    assert words in told["content"]


@pytest.mark.parametrize("family", FAMILIES)
async def test_only_lists_of_messages_are_formatted(family: str) -> None:
    formatter = FAMILIES[family].chat()
    with pytest.raises(TypeError, match="list of messages"):
        await formatter.format("Hello")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not str"):
        await formatter.format(["Hello"])  # type: ignore[list-item]
    assert await formatter.format([]) == []
    assert await formatter.format([UserMsg("Ada", "Hi").frozen()]) == await formatter.format([UserMsg("Ada", "Hi")])
