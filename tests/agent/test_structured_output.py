"""Structured output: an object beside the text, valid or asked for again."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from realtime.agent import ReActAgent
from realtime.errors import UsageError
from realtime.event import reply as r
from realtime.message import Msg, TextBlock, ToolCallBlock, UserMsg
from tests.agent.thinking import HELLO, call, react, remembered, requests_of, say, shape, stream, weather

pytestmark = pytest.mark.virtual_time


class PersonInfo(BaseModel):
    """The printed class."""

    name: str = Field(description="The person's name")
    description: str = Field(description="A one-sentence description")
    age: int = Field(description="The person's age")
    honors: list[str] = Field(description="A list of honors")


EINSTEIN: dict[str, Any] = {
    "name": "Albert Einstein",
    "description": "A physicist.",
    "age": 76,
    "honors": ["Nobel Prize"],
}
ASKED = UserMsg("user", "Introduce Einstein")


def give(call_id: str = "c", **fields: Any) -> ToolCallBlock:
    return call("generate_response", call_id, **fields)


async def test_an_answer_has_an_object_and_text() -> None:
    """REA-28, REA-29, REA-30, AMB-17"""
    agent = react([TextBlock(text="Einstein was a physicist."), give(**EINSTEIN)])
    answer = await agent(ASKED, structured_model=PersonInfo)
    assert {name: answer.metadata[name] for name in EINSTEIN} == EINSTEIN
    assert {*answer.metadata} == {"name", "description", "age", "honors"}
    assert answer.structured_output == EINSTEIN
    assert answer.get_text_content() == "Einstein was a physicist."
    assert answer.finished_reason == "completed"
    assert (await remembered(agent))[-1].to_json() == answer.to_json()
    request = requests_of(agent)[0]
    assert (request.tools, request.options["tool_choice"]) == (["generate_response"], "required")
    assert request.options["tools"][0]["function"]["parameters"]["required"] == [*EINSTEIN]


async def test_an_object_without_text_is_followed_by_text() -> None:
    """REA-30"""
    agent = react([give(**EINSTEIN)], say("A physicist."))
    answer = await agent(ASKED, structured_model=PersonInfo)
    assert (answer.get_text_content(), answer.structured_output) == ("A physicist.", EINSTEIN)
    second = requests_of(agent)[1]
    assert (second.tools, second.options["tool_choice"]) == ([], "none")
    assert "Now say your answer" in second.texts[-1]
    assert len(await remembered(agent)) == 2, "the hint is not remembered"


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (give(name="Albert"), "Field required"),
        (give(**{**EINSTEIN, "age": "old"}), "valid integer"),
        (ToolCallBlock(id="c", name="generate_response", input='{"name": "Al'), "not a JSON object"),
        (ToolCallBlock(id="c", name="generate_response", input="[1]"), "not a JSON object"),
    ],
)
async def test_an_invalid_object_is_asked_for_again(bad: ToolCallBlock, complaint: str) -> None:
    """REA-31"""
    agent = react([bad], [TextBlock(text="There."), give(**EINSTEIN)])
    answer = await agent(ASKED, structured_model=PersonInfo)
    assert answer.structured_output == EINSTEIN
    wrong, right = answer.get_content_blocks("tool_result")
    assert (wrong.state, right.state) == ("error", "success")
    assert complaint in wrong.output_text()
    assert complaint in str(requests_of(agent)[1].messages[-1]["content"])


async def test_a_model_that_forgets_the_object_is_reminded_and_asking_again_has_an_end() -> None:
    """REA-31: after the last round there is no object. Readers of the stream get what there is."""
    agent = react(say("A physicist."), [give(**EINSTEIN)], say("As I said."))
    events = await stream(agent, ASKED, structured_model=PersonInfo)
    end = events[-1]
    assert isinstance(end, r.ReplyEndEvent)
    assert end.message == {"metadata": EINSTEIN, "structured_output": EINSTEIN}
    assert (await remembered(agent))[-1].structured_output == EINSTEIN
    second = requests_of(agent)[1]
    assert "generate_response" in second.texts[-1]
    assert second.options["tool_choice"] == "required"
    agent = react([give(name="Albert")], max_iters=3)
    answer = await agent(ASKED, structured_model=PersonInfo)
    assert len(requests_of(agent)) == 4
    assert (answer.structured_output, answer.metadata) == (None, {})
    assert answer.finished_reason == "exceed_max_iters"


async def test_the_tool_for_the_object_is_there_beside_others_only_when_one_is_asked_for() -> None:
    agent = react([call("get_weather", city="Bern")], [give(**EINSTEIN)], say("Rainy."), toolkit=weather())
    answer = await agent(ASKED, structured_model=PersonInfo)
    assert answer.structured_output == EINSTEIN
    assert requests_of(agent)[0].tools == ["get_weather", "generate_response"]
    await agent(HELLO)
    assert agent.finish_function_name == "generate_response"
    assert requests_of(agent)[-1].tools == ["get_weather"]
    assert agent.finish_function_name not in agent.toolkit.tools
    unasked = await react([give(**EINSTEIN)], say("Sorry."))(ASKED)
    assert shape(unasked.content)[1].startswith("tool_result: error There is no tool named 'generate_response'")
    with pytest.raises(UsageError, match="structured_model is a class of pydantic, not <class 'int'>"):
        await agent(ASKED, structured_model=int)


async def test_an_interrupted_reply_has_no_object_but_a_result_for_its_call() -> None:
    async def interrupt(self: Any, *_: Any) -> None:
        await self.interrupt()

    agent = react([give(**EINSTEIN)], say("A physicist."))
    agent.register_instance_hook("post_acting", "interrupt", interrupt)
    answer = await agent(ASKED, structured_model=PersonInfo)
    assert answer.metadata == {"_is_interrupted": True}
    assert (await remembered(agent))[1].check_pairs() == []


async def test_a_subclass_may_take_the_object_in_its_own_way() -> None:
    class Shouts(ReActAgent):
        def generate_response(self, /, **kwargs: Any) -> Any:
            return super().generate_response(**{**kwargs, "name": kwargs["name"].upper()})

    agent = react([TextBlock(text="There."), give(**EINSTEIN)], agent_class=Shouts)
    answer: Msg = await agent(ASKED, structured_model=PersonInfo)
    assert answer.metadata["name"] == "ALBERT EINSTEIN"
    with pytest.raises(UsageError, match="gives no reply now"):
        agent.generate_response(name="x")
