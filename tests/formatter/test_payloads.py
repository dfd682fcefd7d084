"""What each family is sent: golden payloads, judged by the types and calls of the provider's own SDK."""

import json
from pathlib import Path
from typing import Any

import pybase64
import pytest

from realtime.message import AssistantMsg, Msg, ToolCallBlock
from tests.formatter.families import FAMILIES

Json = dict[str, Any]
CASES: dict[str, Json] = json.loads(Path(__file__).with_name("payloads.json").read_text(encoding="utf-8"))
"""Each with its messages, the options of its formatter if it has any, and the payload of the families by name.

- A tool message holds text alone, so that what a tool shows follows it, except in Anthropic's results.
- No family takes pictures from its assistant; what it said aloud is in its text.
- The system prompts come first as one: strict chat templates take one at the beginning alone.
- Ids of another family take the form that Anthropic takes, in call and result.
- Anthropic refuses a message that ends with thinking; redacted thinking goes back to it.
- Gemini refuses a call whose signature is missing, whatever stands between: it belongs to the call that it names. At
  the end of a stream Gemini sends one without words; a broken one is left out.
"""


def as_json(payload: list[Json]) -> Any:
    """With bytes as base64."""
    return json.loads(json.dumps(payload, default=pybase64.b64encode_as_string))


@pytest.mark.parametrize("family", FAMILIES)
async def test_the_payload_is_the_one_that_the_family_takes(family: str) -> None:
    """FMT-01, FMT-02, FMT-03, FMT-04, FMT-05, FMT-06, FMT-07, FMT-08, FMT-09, FMT-12, FMT-17, FMT-18, MSG-17, MSG-53,
    MSG-54, AMB-04: golden payloads, judged by the SDK of the family."""
    payloads, wrong = [], {}
    for name, case in CASES.items():
        golden = next((payload for key, payload in case.items() if family in key.split()), None)
        if golden is None:
            continue
        made = getattr(FAMILIES[family], case.get("formatter", "chat"))(**case.get("options", {}))
        payloads.append(await made.format([Msg.model_validate(message) for message in case["messages"]]))
        if as_json(payloads[-1]) != golden:
            wrong[name] = (as_json(payloads[-1]), golden)
    assert wrong == {}
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
async def test_only_lists_of_messages_are_formatted(family: str) -> None:
    formatter = FAMILIES[family].chat()
    with pytest.raises(TypeError, match="list of messages"):
        await formatter.format("Hello")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not str"):
        await formatter.format(["Hello"])  # type: ignore[list-item]
    assert await formatter.format([]) == []
