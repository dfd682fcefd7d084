"""The built-in language model, through the interface of every language model."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event.base import ContentPart, Item
from realtime.event.config import ToolDeclaration
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.local.keyless.conversationalist import Conversationalist, respond_to
from realtime.model.local.keyless.names import learned_name, own_name
from realtime.model.local.keyless.product import Product
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = tuple(ToolDeclaration(name=name) for name in ("get_time", "get_date", "calculate", "set_timer"))
WEATHER = ToolDeclaration(name="get_weather", parameters=CITY)


def message(role: Any, text: str) -> Item:
    return Item(id=f"{role}-{text}", role=role, content=(ContentPart(type="text", text=text),))


def talk(*texts: str, tools: tuple[ToolDeclaration, ...] = TOOLS, instructions: str = "") -> list[Reply]:
    """The answer to the last of the user's and the agent's turns, given by turns."""
    history = [message("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(texts)]
    return respond_to(Prompt(instructions, history, tools))


def said(replies: list[Reply]) -> str:
    return " ".join(reply.text for reply in replies if isinstance(reply, ReplyText))


def called(replies: list[Reply]) -> list[tuple[str, dict[str, Any]]]:
    return [(reply.name, json.loads(reply.arguments)) for reply in replies if isinstance(reply, ReplyToolCall)]


async def test_it_fulfils_the_interface_of_a_language_model() -> None:
    replies = [reply async for reply in Conversationalist().respond(Prompt(history=[message("user", "Hello.")]))]
    assert said(replies).startswith("Hello. I'm Heart.")


def test_it_greets_where_nobody_has_said_anything() -> None:
    assert said(respond_to(Prompt())) == "Hello! I'm Heart. What can I do for you?"
    assert said(respond_to(Prompt("Your name is Friday. Be brief."))) == "Hello! I'm Friday. What can I do for you?"


def test_the_name_before_a_line_of_a_room_is_nobodys_word() -> None:
    assert "Ann" not in said(talk("[Ann]: The lamp is green.", tools=()))
    assert said(talk("[Ann]: (speaks)", "", "What is my name?", tools=())) == "Your name is Ann."
    lines = ["[Ann]: My name is Annabel.", "[Ben]: What is my name?", "[Ann]: What is my name?"]
    history = [message("user", line) for line in lines]
    assert said(respond_to(Prompt(history=history[:2]))) == "Your name is Ben."
    assert said(respond_to(Prompt(history=history))) == "Your name is Annabel."


def test_it_tells_of_a_better_mind_to_whom_it_can_be_given() -> None:
    assert "The operator of this server can give me a language model" in said(talk("Who are you?"))
    built_in = said(respond_to(Prompt(history=[message("user", "Who are you?")]), Product()))
    assert built_in.endswith("Ask me how to add a free language model.")
    asked = said(respond_to(Prompt(history=[message("user", "How do I add a free language model?")]), Product()))
    assert "REALTIME_LLM_BASE_URL" in asked


def test_instructions_to_say_something_are_followed_word_for_word() -> None:
    assert (
        said(respond_to(Prompt('Say exactly: "Your timer is done."', [message("user", "Hello")])))
        == "Your timer is done."
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hello, my name is Marcelo.", "Marcelo"),
        ("Hi, I'm Pete.", "Pete"),
        ("hi i'm called jo", "Jo"),
        ("Call me Ishmael.", "Ishmael"),
        ("My name's Zoë, hello!", "Zoë"),
        ("Good morning, I am Robert.", "Robert"),
        ("This is Katie speaking.", "Katie"),
        ("I'm fine, thank you.", None),
        ("I'm going to give this a try.", None),
        ("I am Sure of it.", None),
        ("I'm English.", None),
        ("Call me back later.", None),
        ("My name is not important.", None),
    ],
)
def test_names_are_told_from_states(text: str, name: str | None) -> None:
    assert learned_name([text]) == name


def test_the_newest_name_counts_and_is_used() -> None:
    assert said(talk("I'm Pete.", "Nice to meet you.", "Sorry, my name is Paul.")).startswith("Nice to meet you, Paul.")
    assert said(talk("I'm Pete.", "Hello.", "What's my name?")) == "Your name is Pete."
    assert said(talk("What's my name?")) == "You have not told me yet. What is your name?"
    assert said(talk("I'm Pete.", "Hello.", "Thank you!")).startswith("You're welcome, Pete.")
    assert said(talk("I'm Pete.", "Hello.", "Goodbye.")).startswith("Goodbye, Pete.")


def test_its_own_name_comes_from_the_instructions() -> None:
    assert own_name("You are Friday, a butler.") == "Friday"
    assert own_name("You are a helpful assistant.") == "Heart"
    assert said(talk("What's your name?", instructions="your name is otto")) == "I'm Otto. And you?"


@pytest.mark.parametrize(
    ("instructions", "agent_name", "name"),
    [("Be brief.", "Robin", "Robin"), ("Your name is Otto.", "Robin", "Otto"), ("Be brief.", "agent", "Heart")],
)
def test_where_they_name_none_it_is_that_of_the_agent(instructions: str, agent_name: str, name: str) -> None:
    assert said(respond_to(Prompt(instructions, agent_name=agent_name))) == f"Hello! I'm {name}. What can I do for you?"


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("What time is it?", [("get_time", {})]),
        ("what's the time", [("get_time", {})]),
        ("Tell me the date of today.", [("get_date", {})]),
        ("What day is it?", [("get_date", {})]),
        ("What time is it, and what's the date?", [("get_time", {}), ("get_date", {})]),
        ("What is twelve times seven?", [("calculate", {"expression": "12 * 7"})]),
        ("Please set a timer for five seconds.", [("set_timer", {"seconds": 5.0})]),
        ("Set a timer for 1 hour and 30 minutes.", [("set_timer", {"seconds": 5400.0})]),
        ("Set a timer for half an hour.", [("set_timer", {"seconds": 1800.0})]),
        ("Set a 10 minute timer.", [("set_timer", {"seconds": 600.0})]),
        ("Wake me in twenty minutes.", [("set_timer", {"seconds": 1200.0})]),
        ("Set a timer for two and a half minutes.", [("set_timer", {"seconds": 150.0})]),
        ("Set a timer for an hour and a half.", [("set_timer", {"seconds": 5400.0})]),
        ("Set a timer for one hundred and twenty seconds.", [("set_timer", {"seconds": 120.0})]),
        ("Set a timer for three quarters of an hour.", [("set_timer", {"seconds": 2700.0})]),
        ("Cancel my timer of 5 minutes.", []),
        ("Remind me in 5 minutes to stop the oven.", [("set_timer", {"seconds": 300.0})]),
    ],
)
def test_useful_things_are_done_through_tools(text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert called(talk(text)) == calls


def test_an_introduction_and_a_question_are_both_answered() -> None:
    replies = talk("Hello, I'm Anna. What time is it?")
    assert said(replies) == "Nice to meet you, Anna."
    assert called(replies) == [("get_time", {})]


def test_without_the_tool_it_says_so_and_calls_nothing() -> None:
    replies = talk("What time is it?", tools=())
    assert called(replies) == []
    assert "tool for the time" in said(replies)


def test_somebody_elses_tool_is_called_by_the_words_of_its_name() -> None:
    assert called(talk("What's the weather in Paris?", tools=(WEATHER,))) == [("get_weather", {"city": "Paris"})]
    assert called(talk("What's the weather?", tools=(WEATHER,))) == []


def tool(name: str, **types: str) -> ToolDeclaration:
    """A tool of a client, all of whose arguments are required."""
    properties = {argument: {"type": kind} for argument, kind in types.items()}
    return ToolDeclaration(name=name, parameters={"properties": properties, "required": [*types]})


COLOUR, LIGHT, LIST, GATE = (
    tool("change_colour", colour="string"),
    tool("turn_on_light", room="string"),
    tool("add_to_list", item="string"),
    tool("open_gate"),
)


@pytest.mark.parametrize(
    ("text", "offered", "arguments"),
    [
        ("Change the colour of the page to red.", COLOUR, {"colour": "red"}),
        ("Please set the page colour to light blue", COLOUR, {"colour": "light blue"}),
        ("can you make the color dark green please", COLOUR, {"colour": "dark green"}),
        ("Could you change the page color to Green now?", COLOUR, {"colour": "Green"}),
        ("I'd like the colour to be yellow", COLOUR, {"colour": "yellow"}),
        ("Change the color to purple.", tool("setColor", color="string"), {"color": "purple"}),
        ("switch on the light in the kitchen", LIGHT, {"room": "kitchen"}),
        ("Turn on the light in the living room.", LIGHT, {"room": "living room"}),
        ("add milk and bread to my list", LIST, {"item": "milk and bread"}),
        ("What's the weather in the city of Paris?", WEATHER, {"city": "Paris"}),
        ("open the gate please", GATE, {}),
    ],
)
def test_a_clients_tool_is_called_with_the_words_that_are_meant(
    text: str, offered: ToolDeclaration, arguments: dict[str, Any]
) -> None:
    for tools in ((offered,), (*TOOLS, offered)):
        assert called(talk(text, tools=tools)) == [(offered.name, arguments)]


@pytest.mark.parametrize(
    "text",
    [
        "What colour is the page?",
        "what is my favourite colour",
        "my favourite colour is green",
        "What is a gate?",
        "What's the colour of the sky?",
        "Do you know how to change the colour?",
        "I changed the colour to red",
    ],
)
def test_what_only_speaks_of_a_tools_subject_calls_nothing(text: str) -> None:
    assert called(talk(text, tools=(COLOUR, LIGHT, LIST, GATE))) == []


@pytest.mark.parametrize(
    ("text", "offered", "question"),
    [
        ("turn on the lights", LIGHT, "In which room?"),
        ("Change the colour", COLOUR, "Which colour?"),
        ("what's the weather like", WEATHER, "In which city?"),
    ],
)
def test_a_tool_that_is_there_wins_over_a_refusal_and_what_it_lacks_is_asked_for(
    text: str, offered: ToolDeclaration, question: str
) -> None:
    assert said(talk(text, tools=(offered,))) == question
    assert question not in said(talk(text, tools=()))


def test_arguments_are_heard_by_their_type() -> None:
    schema = {
        "properties": {"level": {"type": "integer"}, "room": {"enum": ["kitchen", "hall"]}},
        "required": ["level", "room"],
    }
    lights = ToolDeclaration(name="setLights", parameters=schema)
    asked = "Set the lights to seven in the Kitchen."
    assert called(talk(asked, tools=(lights,))) == [("setLights", {"level": 7, "room": "kitchen"})]


def test_several_numbers_are_heard_in_order() -> None:
    asked = "What is the sum of twelve and 30?"
    sums = tool("get-sum", a="number", b="integer")
    assert called(talk(asked, tools=(sums,))) == [("get-sum", {"a": 12, "b": 30})]
    assert called(talk("What is the sum of twelve?", tools=(sums,))) == []


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": ["city"], "required": "city"},
        {"properties": {"city": True, "level": None}, "required": ["city", 7]},
        {"properties": {"city": {"type": ["string"], "enum": None}}, "required": ["city", "level"]},
    ],
)
def test_a_schema_that_is_none_is_no_mistake_of_the_call(parameters: dict[str, Any]) -> None:
    declared = ToolDeclaration(name="get_weather", parameters=parameters)
    assert talk("What's the weather in Paris?", tools=(declared,)) != []


def results(*results: tuple[str, str, str], state: Any = "success") -> list[Item]:
    """The history of tool calls (name, arguments, output) that have all returned."""
    calls = [
        Item(id=f"i{at}", type="tool_call", tool_call=ToolCallBlock(id=f"c{at}", name=name, input=arguments))
        for at, (name, arguments, _) in enumerate(results)
    ]
    returned = [
        Item(
            id=f"r{at}",
            type="tool_result",
            tool_result=ToolResultBlock(id=f"c{at}", name=name, output=out, state=state),
        )
        for at, (name, _, out) in enumerate(results)
    ]
    return [message("user", "please"), *calls, *returned]


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (("get_time", "{}", "3:45 PM"), "It is 3:45 PM."),
        (("get_date", "{}", "Monday, June 1, 2026"), "Today is Monday, June 1, 2026."),
        (("calculate", '{"expression": "12 * 7"}', "84"), "12 times 7 is 84."),
        (("calculate", "{}", "Dividing by zero has no answer."), "Dividing by zero has no answer."),
        (("get_weather", "{}", '{"sky": "clear", "degrees": 18.5}'), "sky: clear, degrees: 18.5."),
        (("look", "{}", '["a", true, null]'), "a, yes, nothing."),
        (("do", "{}", ""), "Done."),
    ],
)
def test_results_are_told_in_sentences(result: tuple[str, str, str], sentence: str) -> None:
    assert said(respond_to(Prompt(history=results(result)))) == sentence


def test_several_results_are_told_in_order_and_failures_plainly() -> None:
    both = results(("get_time", "{}", "3:45 PM"), ("get_date", "{}", "Monday"))
    assert said(respond_to(Prompt(history=both))) == "It is 3:45 PM. Today is Monday."
    assert (
        said(respond_to(Prompt(history=results(("x", "{}", "trace"), state="error"))))
        == "That did not work, I'm afraid."
    )


def test_a_refused_call_is_no_failure() -> None:
    refused = results(("book_table", "{}", "the user refused: No, thank you."), state="denied")
    assert said(respond_to(Prompt(history=refused))) == "I have not done it."


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Who are you?", "small voice built into this server"),
        ("Are you a real person?", "a program and no person"),
        ("How do I get a better model?", "The operator of this server"),
        ("What can you do?", "the time, the date or a sum"),
        ("Help.", "learn your name"),
        ("Can you hear me?", "Yes, I hear you well"),
        ("How are you?", "very well"),
        ("Count to five.", "1, 2, 3, 4, 5."),
        ("Count to a million.", "from one to 50"),
        ("Tell me a joke.", ""),
        ("Stop, please. That is enough.", "Okay."),
        ("Repeat after me, good old Anna.", "good old Anna."),
        ("No.", "What else?"),
        ("", "did not catch that"),
        ("...", "did not catch that"),
    ],
)
def test_small_talk(text: str, part: str) -> None:
    assert part in said(talk(text))


def test_the_last_answer_is_repeated() -> None:
    assert said(talk("Hi.", "It is 3:45 PM.", "Can you repeat that?")) == "It is 3:45 PM."
    assert said(talk("Repeat that.")) == "I have not said anything yet."


def test_what_it_has_no_rule_for_is_owned_up_to_without_an_echo() -> None:
    lamp = said(talk("Turn on the living room lamp."))
    assert "can't" in lamp
    assert "living" not in lamp
    assert "moonstone" not in said(talk("Who stole the moonstone?"))
    assert len(said(talk("word " * 100)).split()) < 30


@given(st.text(max_size=200), st.text(max_size=60))
def test_every_text_has_an_answer(text: str, instructions: str) -> None:
    replies = respond_to(Prompt(instructions, [message("user", text)], TOOLS))
    assert replies
    assert all(json.loads(reply.arguments) is not None for reply in replies if isinstance(reply, ReplyToolCall))
