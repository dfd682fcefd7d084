"""UserAgent: a user's words from the terminal, from a socket, or from a class of the application."""

import asyncio
import builtins
import json
from collections.abc import Callable
from typing import Any, Literal

import pytest
import websockets
from pydantic import BaseModel, Field, ValidationError, model_validator
from websockets.asyncio.server import ServerConnection

from realtime.agent import TerminalUserInput, UserAgent, UserInputBase, UserInputData, UserInputQueue
from realtime.agent.user_input import MAX_WAITING
from realtime.errors import UsageError
from realtime.message import Base64Source, DataBlock, Msg, TextBlock
from tests.agent.thinking import react, requests_of, say

pytestmark = pytest.mark.virtual_time


class Choice(BaseModel):
    thinking: str = Field(min_length=1, max_length=10)
    decision: Literal["apple", "banana", "cherry"]
    amount: int = 1
    tags: list[str] = []


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Lets the user type these lines; gives the list of what stood before them."""

    def lines(*given: str) -> list[str]:
        left, hints = iter(given), []

        def read(hint: str = "") -> str:
            hints.append(hint)
            return next(left)

        monkeypatch.setattr(builtins, "input", read)
        return hints

    return lines


def quiet(user: UserAgent) -> UserAgent:
    user.set_console_output_enabled(False)
    return user


async def test_a_user_types_in_the_terminal(types: Callable[..., list[str]], capsys: Any) -> None:
    """AGT-07, AMB-61"""
    hints = types("Hi!")
    said = await UserAgent("Alice")(Msg("Friday", "Hello", "assistant"))
    assert (said.name, said.role, said.get_text_content(), said.metadata) == ("Alice", "user", "Hi!", {})
    assert hints == ["User Input: "]
    assert capsys.readouterr().out == "Alice: Hi!\n"


async def test_agents_and_a_user_take_turns_until_one_leaves(types: Callable[..., list[str]]) -> None:
    """AGT-10: the printed loop."""
    types("Hi!", "How are you?", "exit")
    user, agent = quiet(UserAgent(name="user")), react(say("Hello."), say("Well."))
    msg = None
    while True:
        msg = await user(msg)
        if msg.get_text_content() == "exit":
            break
        msg = await agent(msg)
    assert requests_of(agent)[-1].texts == ["Be brief.", "Hi!", "Hello.", "How are you?"]


async def test_the_fields_of_an_object_are_asked_for_one_by_one(types: Callable[..., list[str]], capsys: Any) -> None:
    """What is optional is left out with enter."""
    hints = types("Hi!", "", "far too long a thought", "sth", "kiwi", "apple", "two", "2", '["a", "b"]')
    said = await quiet(UserAgent("Alice"))(structured_model=Choice)
    expected = {"thinking": "sth", "decision": "apple", "amount": 2, "tags": ["a", "b"]}
    assert (said.get_text_content(), said.metadata, said.structured_output) == ("Hi!", expected, expected)
    assert [hint.split()[0] for hint in hints[1:]] == [*["thinking"] * 3, *["decision"] * 2, *["amount"] * 2, "tags"]
    complaints = capsys.readouterr().out
    assert all(word in complaints for word in ("at least 1 character", "'banana' or 'cherry'", "valid integer"))
    types("Hi!", "sth", "apple", "", "")
    said = await quiet(UserAgent("Alice"))(structured_model=Choice)
    assert said.metadata == {"thinking": "sth", "decision": "apple", "amount": 1, "tags": []}


async def test_fields_that_do_not_fit_together_are_asked_for_again(
    types: Callable[..., list[str]], capsys: Any
) -> None:
    class Span(BaseModel):
        first: int
        last: int

        @model_validator(mode="after")
        def in_order(self) -> "Span":
            if self.last < self.first:
                raise ValueError("last comes before first")
            return self

    types("Hi!", "2", "1", "1", "2")
    assert (await quiet(UserAgent("Alice"))(structured_model=Span)).metadata == {"first": 1, "last": 2}
    assert "last comes before first" in capsys.readouterr().out


class Says(UserInputBase):
    """Input that an application makes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[Any] = []

    async def __call__(self, agent_id: str, agent_name: str, *args: Any, **kwargs: Any) -> UserInputData:
        self.asked.append((agent_id, agent_name, kwargs))
        return UserInputData([TextBlock(text=self.text)])


async def test_another_input_method_takes_the_place_of_the_terminal() -> None:
    """AMB-61: for one agent, or for all of a class."""

    class Guest(UserAgent):
        pass

    own, shared = Says("from here"), Says("from there")
    one, other = quiet(Guest("Alice")), quiet(Guest("Bob"))
    one.override_instance_input_method(own)
    Guest.override_class_input_method(shared)
    assert ((await one()).get_text_content(), (await other()).get_text_content()) == ("from here", "from there")
    assert own.asked == [(one.id, "Alice", {"structured_model": None})]
    assert isinstance(UserAgent("Carol")._input_method, TerminalUserInput)
    for override in (one.override_instance_input_method, Guest.override_class_input_method):
        with pytest.raises(UsageError, match="an input method is a UserInputBase, not str"):
            override("text")  # type: ignore[arg-type]


async def test_a_queue_takes_pictures_checks_objects_and_has_a_bound() -> None:
    source = UserInputQueue()
    user = quiet(UserAgent("Alice"))
    user.override_instance_input_method(source)
    picture = DataBlock(source=Base64Source(data=b"\x89PNG", media_type="image/png"))
    source.put([TextBlock(text="Look:"), picture])
    assert [block.type for block in (await user()).content] == ["text", "data"]
    source.put("Hi!", {"thinking": "sth", "decision": "apple"})
    assert (await user(structured_model=Choice)).metadata["amount"] == 1
    source.put("Hi!")
    with pytest.raises(ValidationError):
        await user(structured_model=Choice)
    for number in range(MAX_WAITING + 1):
        source.put(str(number))
    assert (await user()).get_text_content() == "1"


async def test_a_user_who_is_interrupted_has_said_nothing() -> None:
    user = quiet(UserAgent("Alice"))
    user.override_instance_input_method(UserInputQueue())
    task = asyncio.create_task(user())
    await asyncio.sleep(1)
    await user.interrupt()
    said = await task
    assert (said.role, said.content, said.metadata) == ("user", [], {"_is_interrupted": True})
    await user.observe(said)


@pytest.mark.virtual_time(guard=False)
async def test_a_users_words_come_over_a_web_socket() -> None:
    """AMB-61: a page talks with an agent over loopback."""

    async def serve(socket: ServerConnection) -> None:
        source = UserInputQueue()
        user, agent = quiet(UserAgent("Alice")), react(say("Hello."), say("Well."))
        user.override_instance_input_method(source)

        async def read() -> None:
            async for frame in socket:
                source.put(json.loads(frame)["text"])

        reader = asyncio.create_task(read())
        msg = None
        while (msg := await user(msg)).get_text_content() != "exit":
            msg = await agent(msg)
            await socket.send(json.dumps({"text": msg.get_text_content()}))
        reader.cancel()

    async with websockets.serve(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with websockets.connect(f"ws://127.0.0.1:{port}") as page:
            answers = []
            for text in ("Hi!", "How are you?"):
                await page.send(json.dumps({"text": text}))
                answers.append(json.loads(await page.recv())["text"])
            await page.send(json.dumps({"text": "exit"}))
            await page.wait_closed()
    assert answers == ["Hello.", "Well."]
