"""Tools: declared from functions, run for the model, answered whatever happens."""

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import partial, wraps
from ipaddress import ip_address
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import numpy as np
import pydantic
import pytest

from realtime.errors import UsageError
from realtime.event import ToolDeclaration
from realtime.message import DataBlock, TextBlock, ToolCallBlock, ToolResultBlock, URLSource
from realtime.tool import Toolkit

pytestmark = pytest.mark.virtual_time()


def get_weather(city: str, days: int = 1) -> str:
    """The weather in a city.

    Args:
        city: The city's English name.
        days: How many days ahead.
    """
    return f"{city}: rain for {days} days"


async def wait_for(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return f"waited {seconds:g} s"


async def run(toolkit: Toolkit, name: str, text: str = "", **options: Any) -> ToolResultBlock:
    return await toolkit.run(ToolCallBlock(id="call_1", name=name, input=text), **options)


def result(name: str, output: Any, state: Any = "success") -> ToolResultBlock:
    return ToolResultBlock(id="call_1", name=name, output=output, state=state)


def test_a_tool_is_declared_by_its_function() -> None:
    assert Toolkit([get_weather]).declarations() == (
        ToolDeclaration(
            name="get_weather",
            description="The weather in a city.",
            parameters={
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The city's English name."},
                    "days": {"type": "integer", "description": "How many days ahead.", "default": 1},
                },
                "required": ["city"],
            },
        ),
    )


def test_tools_are_declared_in_the_order_they_were_added_also_by_a_decorator() -> None:
    toolkit = Toolkit([wait_for])
    toolkit.register(get_weather, name="weather", description="How it will be.")

    @toolkit.register
    def double(number: int) -> int:
        return 2 * number

    assert double(4) == 8
    declared = [("wait_for", ""), ("weather", "How it will be."), ("double", "")]
    assert [(tool.name, tool.description) for tool in toolkit.declarations()] == declared
    assert ("weather" in toolkit, "get_weather" in toolkit, len(toolkit)) == (True, False, 3)


def test_what_cannot_be_a_tool_is_refused() -> None:
    toolkit = Toolkit([get_weather])
    refusals: list[tuple[Any, dict[str, Any], str]] = [
        (get_weather, {}, "there is a tool named 'get_weather' already"),
        (lambda: None, {}, "'<lambda>' cannot name a tool"),
        (wait_for, {"name": "wait for"}, "'wait for' cannot name a tool"),
        (wait_for, {"name": "w" * 65}, "cannot name a tool"),
    ]
    for function, options, sentence in refusals:
        with pytest.raises(UsageError, match=sentence) as refusal:
            toolkit.register(function, **options)
        assert refusal.value.code == "bad_tool"
    assert len(toolkit) == 1


def test_the_user_is_asked_before_a_call_that_could_run() -> None:
    toolkit = Toolkit([wait_for], confirm=[get_weather])
    toolkit.register(get_weather, name="later", confirm=True)
    assert [one.name for one in toolkit.declarations()] == ["wait_for", "get_weather", "later"]
    asks = {
        ("get_weather", '{"city": "Rome"}'): True,
        ("later", '{"city": "Rome"}'): True,
        ("wait_for", '{"seconds": 1}'): False,
        ("get_weather", '{"days": 2}'): False,
        ("nowhere", "{}"): False,
    }
    assert {one: toolkit.decide(ToolCallBlock(id="c1", name=one[0], input=one[1])).asks for one in asks} == asks


class Greeter:
    """Greets."""

    def __init__(self, greeting: str) -> None:
        self.greeting = greeting

    def greet(self, name: str) -> str:
        return f"{self.greeting}, {name}!"

    async def __call__(self, name: str) -> str:
        return self.greet(name)


async def test_functions_methods_objects_partials_and_wrapped_functions_are_tools() -> None:
    @wraps(wait_for)
    def wrapped(seconds: float) -> Any:
        return wait_for(seconds)

    toolkit = Toolkit([Greeter("Hello").greet, Greeter("Good day"), partial(get_weather, days=7), wrapped])
    assert [tool.name for tool in toolkit.declarations()] == ["greet", "Greeter", "get_weather", "wait_for"]
    assert await run(toolkit, "greet", '{"name": "Ada"}') == result("greet", "Hello, Ada!")
    assert await run(toolkit, "Greeter", '{"name": "Ada"}') == result("Greeter", "Good day, Ada!")
    assert (await run(toolkit, "get_weather", '{"city": "Oslo"}')).output == "Oslo: rain for 7 days"
    assert (await run(toolkit, "wait_for", '{"seconds": 1}')).output == "waited 1 s"


@dataclass
class Forecast:
    day: date
    degrees: list[float]


class Wind(pydantic.BaseModel):
    knots: int


RAIN = TextBlock(text="rain", id="b1")
RADAR = DataBlock(source=URLSource(url="https://example.org/radar.png", media_type="image/png"), id="b2")


class Printed:
    def __str__(self) -> str:
        return "printed"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")


LOOP: list[object] = []
LOOP.append(LOOP)


RETURNED: list[tuple[object, object]] = [
    ("text", "text"),
    ("", ""),
    (None, "done"),
    (7, "7"),
    (True, "true"),
    ({"ü": [1, 2.5, None]}, '{"ü":[1,2.5,null]}'),
    ([], "[]"),
    (["a", "b"], '["a","b"]'),
    (Forecast(date(2026, 1, 2), [1.5]), '{"day":"2026-01-02","degrees":[1.5]}'),
    (Wind(knots=12), '{"knots":12}'),
    ([Wind(knots=12)], '[{"knots":12}]'),
    (RAIN, [RAIN]),
    ([RAIN, RADAR], [RAIN, RADAR]),
    ((RADAR,), [RADAR]),
    ("half a pair: \ud83d", "half a pair: ?"),
    (["half a pair: \ud83d"], '["half a pair: ?"]'),
    (np.int64(3), "3"),
    (np.float32(1.5), "1.5"),
    (np.bool_(True), "true"),
    (np.array([[1, 2], [3, 4]]), "[[1,2],[3,4]]"),
    (np.array([1 + 2j]), '["(1+2j)"]'),
    (np.zeros(20_000), "[0. 0. 0. ... 0. 0. 0.]"),
    ({"degrees": np.float64(2.5), "at": PurePosixPath("a/b")}, '{"degrees":2.5,"at":"a/b"}'),
    (PurePosixPath("/srv/x"), "/srv/x"),
    (float("nan"), "nan"),
    (1 + 2j, "(1+2j)"),
    (Fraction(1, 2), "1/2"),
    (ip_address("192.0.2.1"), "192.0.2.1"),
    (ValueError("bad"), "bad"),
    (range(3), "range(0, 3)"),
    (MappingProxyType({"a": 1}), '{"a":1}'),
    ({(1, 2): 3}, "{(1, 2): 3}"),
    (2**70, "1180591620717411303424"),
    (Printed(), "printed"),
    ([Printed()], '["printed"]'),
    (Forecast(date(2026, 1, 2), Printed()), '{"day":"2026-01-02","degrees":"printed"}'),
    (Unprintable(), "<Unprintable>"),
    (LOOP, "[[...]]"),
]


@pytest.mark.parametrize(("returned", "output"), RETURNED, ids=lambda one: type(one).__name__)
async def test_what_a_tool_returns_becomes_text_blocks_or_json(returned: object, output: object) -> None:
    async def tool() -> object:
        return returned

    assert await run(Toolkit([tool]), "tool") == result("tool", output)


async def test_an_unknown_tool_is_an_error_that_lists_the_known_ones() -> None:
    """MSG-57: unknown tool -> tool_result with state `error`."""
    answer = await run(Toolkit([get_weather, wait_for]), "get_wether", "{}")
    assert answer == result(
        "get_wether", "There is no tool named 'get_wether'. There are: get_weather, wait_for.", "error"
    )
    assert (await run(Toolkit(), "x")).output == "There is no tool named 'x'. There are: none."


async def test_wrong_arguments_are_an_error_and_the_function_is_not_called() -> None:
    called = []

    def tool(city: str) -> None:
        called.append(city)

    answer = await run(Toolkit([tool]), "tool", '{"city": 5}')
    assert answer == result("tool", "The arguments of tool are wrong: Expected `str`, got `int` at `city`", "error")
    assert called == []


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("never mind")


MISSING_FILE = OSError(2, "No such file or directory", "/home/ann/orders")
FAILURES: list[tuple[BaseException, str]] = [
    (ValueError("no such city"), "tool failed: ValueError: no such city"),
    (SystemExit(2), "tool failed: SystemExit: 2"),
    (KeyError("Oslo"), "tool failed: KeyError: 'Oslo'"),
    (ValueError("half a pair: \ud83d"), "tool failed: ValueError: half a pair: ?"),
    (MISSING_FILE, "tool failed: FileNotFoundError: No such file or directory"),
    (ImportError("no x in y (/lib/y.py)", name="y", path="/lib/y.py"), "tool failed: ImportError: y"),
]


async def test_an_exception_is_an_error_that_says_what_happened() -> None:
    raised: list[BaseException] = [ValueError()]

    def plain() -> None:
        raise raised[0]

    async def asynchronous() -> None:
        raise raised[0]

    toolkit = Toolkit([plain, asynchronous])
    for raised[0], text in FAILURES:
        for name in ("plain", "asynchronous"):
            assert await run(toolkit, name) == result(name, text.replace("tool", name), "error")
    raised[0] = asyncio.CancelledError()
    within = result("asynchronous", "asynchronous was cancelled from within", "error")
    assert await run(toolkit, "asynchronous") == within


async def test_an_exception_that_cannot_say_what_it_is_or_says_too_much_is_still_an_error() -> None:
    errors: list[Exception] = [Unspeakable(), ValueError("x" * 1_000_000)]

    def tool() -> None:
        raise errors.pop(0)

    toolkit = Toolkit([tool])
    answer = await run(toolkit, "tool")
    assert answer.state == "error"
    assert "Unspeakable" in answer.output_text()
    assert len((await run(toolkit, "tool")).output) == 1_000


async def test_a_tool_that_takes_too_long_is_an_error_unless_it_has_no_limit() -> None:
    answer = await run(Toolkit([wait_for]), "wait_for", '{"seconds": 61}', timeout_s=60)
    assert answer == result("wait_for", "wait_for gave no result within 60 s", "error")
    assert asyncio.get_running_loop().time() == pytest.approx(60)
    assert (await run(Toolkit([wait_for]), "wait_for", '{"seconds": 3000}', timeout_s=None)).state == "success"


async def test_a_timeout_within_the_tool_is_not_taken_for_ours() -> None:
    async def tool() -> None:
        async with asyncio.timeout(1):
            await asyncio.sleep(2)

    assert (await run(Toolkit([tool]), "tool", timeout_s=60)).output == "tool failed: TimeoutError"


async def test_cancelling_a_run_cancels_the_function() -> None:
    ended = []

    async def tool() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("ended")

    running = asyncio.create_task(run(Toolkit([tool]), "tool"))
    await asyncio.sleep(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended == ["ended"]


async def test_calls_run_at_the_same_time() -> None:
    toolkit = Toolkit([wait_for])
    calls = [ToolCallBlock(id=f"call_{n}", name="wait_for", input='{"seconds": 5}') for n in range(3)]
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(toolkit.run(call)) for call in calls]
    assert [task.result().id for task in running] == ["call_0", "call_1", "call_2"]
    assert asyncio.get_running_loop().time() == pytest.approx(5)


async def test_logs_hold_no_arguments_and_no_results(caplog: pytest.LogCaptureFixture) -> None:
    def tool(city: str) -> None:
        raise KeyError(city)

    caplog.set_level(logging.DEBUG)
    toolkit = Toolkit([tool, get_weather, wait_for])
    await run(toolkit, "tool", '{"city": "Wuppertal"}')
    await run(toolkit, "get_weather", '{"city": "Wuppertal"}')
    await run(toolkit, "get_weather", '{"Wuppertal": 1}')
    await run(toolkit, "wait_for", '{"seconds": 77777}', timeout_s=1)
    assert "KeyError" in caplog.text
    assert "call_1" in caplog.text
    assert "Wuppertal" not in caplog.text
    assert "77777" not in caplog.text


class TestInThreads:
    """Plain functions on a real loop with a real executor."""

    def test_a_plain_function_runs_in_the_given_executor_with_the_callers_context(self) -> None:
        user: ContextVar[str] = ContextVar("user")

        def tool() -> str:
            return f"{user.get()} on {threading.current_thread().name}"

        async def call() -> ToolResultBlock:
            user.set("Ada")
            return await run(Toolkit([tool], executor=executor), "tool")

        with ThreadPoolExecutor(1, thread_name_prefix="tools") as executor:
            assert asyncio.run(call()).output == "Ada on tools_0"

    @pytest.mark.parametrize("error", [ValueError("broken"), StopIteration("broken"), SystemExit("broken")], ids=repr)
    def test_no_exception_of_a_thread_is_lost(self, error: BaseException) -> None:
        def tool() -> None:
            raise error

        with ThreadPoolExecutor(1) as executor:
            answer = asyncio.run(run(Toolkit([tool], executor=executor), "tool"))
        assert answer == result("tool", f"tool failed: {type(error).__name__}: broken", "error")

    def test_a_blocking_function_is_left_behind_when_its_time_is_up(self) -> None:
        release = threading.Event()

        def tool() -> str:
            release.wait(120)
            return "late"

        with ThreadPoolExecutor(1) as executor:
            answer = asyncio.run(run(Toolkit([tool], executor=executor), "tool", timeout_s=0.01))
            release.set()
        assert answer == result("tool", "tool gave no result within 0.01 s", "error")
