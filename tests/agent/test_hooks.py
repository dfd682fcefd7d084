"""Hooks: around each core function, of instances and classes, once, in order, and never without an end."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from realtime.agent import AgentBase, ReActAgent, ReActAgentBase
from realtime.agent.hooks import HOOK_GRACE_S
from realtime.errors import UsageError
from realtime.message import AssistantMsg, Msg, UserMsg
from tests.agent.thinking import HELLO, call, ends_in, react, requests_of, say, weather

pytestmark = pytest.mark.virtual_time


class Echo(AgentBase):
    """Answers with what it hears."""

    def __init__(self) -> None:
        super().__init__("Echo")
        self.heard: list[Msg] = []
        self.log: list[str] = []
        self.set_console_output_enabled(False)

    async def reply(self, msg: Msg, times: int = 1, *more: str, loud: bool = False, **rest: Any) -> Msg:
        self.log.append("reply")
        return AssistantMsg(self.name, (msg.get_text_content() or "") * times)

    async def observe(self, msg: Any) -> None:
        self.log.append("observe")
        self.heard.append(msg)

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
        return AssistantMsg(self.name, "Interrupted.")


def noting(word: str, *, returns: str = "nothing") -> Callable[..., Any]:
    """A hook that writes `word` into the agent's log; `returns` nothing, or what it gets last."""

    def hook(self: Any, kwargs: dict[str, Any], *output: Any) -> Any:
        self.log.append(word)
        return None if returns == "nothing" else output[0] if output else kwargs

    return hook


def prefix(self: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    msg = kwargs["msg"]
    msg.content = "[reviewed] " + msg.content
    return {**kwargs, "msg": msg}


async def test_a_hook_changes_what_the_core_function_gets() -> None:
    """HOK-01, HOK-13, AMB-35: the printed hook, which puts text before the words."""
    agent = Echo()
    agent.register_instance_hook(hook_type="pre_reply", hook_name="add_prefix", hook=prefix)
    msg = UserMsg("user", "Hi")
    assert (await agent(msg)).get_text_content() == "[reviewed] Hi"
    assert msg.get_text_content() == "Hi", "the hook changes a copy"


async def test_hooks_run_before_and_after_reply_print_and_observe() -> None:
    """HOK-02, HOK-03, HOK-04, HOK-05, AGT-04"""
    agent = Echo()
    for point in ("reply", "print", "observe"):
        for when in ("pre", "post"):
            agent.register_instance_hook(f"{when}_{point}", "note", noting(f"{when} {point}"))
    await agent(HELLO)
    await agent.observe(HELLO)
    await agent.print(HELLO)
    assert agent.log == [
        *("pre reply", "reply", "post reply"),
        *("pre observe", "observe", "post observe"),
        *("pre print", "post print"),
    ]


async def test_hooks_run_before_and_after_reasoning_and_acting() -> None:
    """HOK-06, HOK-07, AGT-05, AGT-06: on the agents that reason and act; others refuse them."""
    agent = react([call("get_weather", city="Oslo")], say("Rain."), toolkit=weather())
    log: list[str] = []
    for hook_type in ReActAgent.supported_hook_types:
        agent.register_instance_hook(hook_type, "note", lambda *_, word=hook_type: log.append(word))
    await agent(HELLO)
    await agent.observe(HELLO)
    without_prints = [word for word in log if "print" not in word]
    rounds = ["pre_reasoning", "post_reasoning", "pre_acting", "post_acting", "pre_reasoning", "post_reasoning"]
    assert without_prints == ["pre_reply", *rounds, "post_reply", "pre_observe", "post_observe"]
    assert {word for word in log if "print" in word} == {"pre_print", "post_print"}
    for point in ("reasoning", "acting"):
        with pytest.raises(UsageError, match=f"Echo has no hooks of type 'pre_{point}'"):
            Echo().register_instance_hook(f"pre_{point}", "note", noting("never"))
        with pytest.raises(UsageError, match="no hooks of type"):
            AgentBase.register_class_hook(f"post_{point}", "note", noting("never"))
    assert ReActAgentBase.supported_hook_types == ReActAgent.supported_hook_types


class Louder(Echo):
    """Overrides `reply` and calls what it overrides."""

    async def reply(self, *args: Any, **kwargs: Any) -> Msg:
        answer = await super().reply(*args, **kwargs)
        answer.content = (answer.get_text_content() or "") + "!"
        return answer


class Loudest(Louder):
    async def reply(self, *args: Any, **kwargs: Any) -> Msg:
        return await super().reply(*args, **kwargs)


async def test_an_override_has_hooks_which_run_once() -> None:
    """HOK-08"""
    agent = Loudest()
    agent.register_instance_hook("pre_reply", "note", noting("pre"))
    agent.register_instance_hook("post_reply", "note", noting("post"))
    assert (await agent(HELLO)).get_text_content() == "Hello!"
    assert agent.log == ["pre", "reply", "post"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_hook_may_return_something_or_nothing(is_async: bool) -> None:
    """HOK-09, HOK-10, HOK-14, HOK-19: plain or async; None leaves things as they are."""
    agent = Echo()

    def as_needed(plain: Callable[..., Any]) -> Callable[..., Any]:
        async def hook(self: Any, *arguments: Any) -> Any:
            await asyncio.sleep(0.1)
            return plain(self, *arguments)

        return hook if is_async else plain

    def change(self: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**kwargs, "times": 2}

    def replace(self: Any, kwargs: dict[str, Any], output: Msg) -> Msg:
        return AssistantMsg("Echo", f"<{output.get_text_content()}>")

    agent.register_instance_hook("pre_reply", "none", as_needed(noting("pre")))
    agent.register_instance_hook("post_reply", "none", as_needed(noting("post")))
    assert (await agent(HELLO)).get_text_content() == "Hello"
    agent.register_instance_hook("pre_reply", "change", as_needed(change))
    agent.register_instance_hook("post_reply", "replace", as_needed(replace))
    assert (await agent(HELLO)).get_text_content() == "<HelloHello>"


async def test_all_arguments_arrive_by_name() -> None:
    """HOK-11: positional ones, defaults, and what the function takes beyond its names."""
    agent = Echo()
    got: list[dict[str, Any]] = []

    def take(self: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        got.append(kwargs)
        return {**kwargs, "times": 3}

    agent.register_instance_hook("pre_reply", "take", take)
    answer = await agent(HELLO, 2, "a", "b", loud=True, tone="calm")
    expected = {"msg": HELLO, "times": 2, "more": ("a", "b"), "loud": True, "rest": {"tone": "calm"}}
    assert got == [expected]
    assert answer.get_text_content() == "HelloHelloHello"
    await agent(HELLO)
    assert got[1] == {"msg": HELLO, "times": 1, "more": (), "loud": False, "rest": {}}
    with pytest.raises(TypeError, match="missing a required argument: 'msg'"):
        await agent()


async def test_the_next_hook_gets_the_last_thing_that_a_hook_returned() -> None:
    """HOK-12: what a hook that returns None did to its copy is gone."""
    agent = Echo()
    got: list[str | None] = []

    def append(word: str, *, returns: bool) -> Callable[..., Any]:
        def hook(self: Any, kwargs: dict[str, Any], *output: Any) -> Any:
            msg = output[0] if output else kwargs["msg"]
            got.append(msg.get_text_content())
            msg.content = f"{msg.get_text_content()}{word}"
            return (msg if output else kwargs) if returns else None

        return hook

    for when in ("pre", "post"):
        for place, returns in enumerate([True, False, True]):
            agent.register_instance_hook(f"{when}_reply", str(place), append(str(place), returns=returns))
    assert (await agent(UserMsg("user", ""))).get_text_content() == "0202"
    assert got == ["", "0", "0", "02", "020", "020"]


async def test_an_instance_has_hooks_of_its_own() -> None:
    """HOK-15, HOK-16, HOK-17: added by name, replaced by name, removed by name, cleared by type or all."""
    one, other = Echo(), Echo()
    one.register_instance_hook("pre_reply", "note", noting("first"))
    one.register_instance_hook("pre_reply", "note", noting("second"))
    await one(HELLO)
    await other(HELLO)
    assert (one.log, other.log) == (["second", "reply"], ["reply"])
    one.remove_instance_hook("pre_reply", "note")
    with pytest.raises(UsageError, match="this Echo has no pre_reply hook 'note'"):
        one.remove_instance_hook("pre_reply", "note")
    for hook_type in ("pre_reply", "post_reply"):
        one.register_instance_hook(hook_type, "one", noting(hook_type))
        one.register_instance_hook(hook_type, "two", noting(hook_type))
    one.clear_instance_hooks("pre_reply")
    await one(HELLO)
    assert one.log[2:] == ["reply", "post_reply", "post_reply"]
    one.clear_instance_hooks()
    await one(HELLO)
    assert one.log[5:] == ["reply"]


async def test_class_hooks_are_those_of_a_class_and_its_subclasses() -> None:
    """HOK-20: not those of its base or of its sisters; they run after the instance's."""

    class Left(Echo):
        pass

    class Right(Echo):
        pass

    class Lower(Left):
        pass

    Left.register_class_hook("pre_reply", "note", noting("left"))
    Lower.register_class_hook("pre_reply", "note", noting("lower"))
    logs = []
    for cls in (Echo, Left, Right, Lower):
        agent = cls()
        agent.register_instance_hook("pre_reply", "note", noting("own"))
        await agent(HELLO)
        logs.append(agent.log[:-1])
    assert logs == [["own"], ["own", "left"], ["own"], ["own", "lower", "left"]]
    Lower.remove_class_hook("pre_reply", "note")
    with pytest.raises(UsageError, match="Lower has no pre_reply hook 'note'"):
        Lower.remove_class_hook("pre_reply", "note")
    Left.clear_class_hooks()
    lower = Lower()
    await lower(HELLO)
    assert lower.log == ["reply"]


async def use(agent: Echo, function: str) -> None:
    await getattr(agent, function)(HELLO)


async def test_a_hook_that_calls_its_own_function_is_an_error() -> None:
    """HOK-18, AMB-36: also through a chain of awaits and tasks; afterwards all is as before."""
    agent = Echo()
    for when in ("pre", "post"):
        for point, from_hook in (("reply", "reply"), ("reply", "__call__"), ("print", "print"), ("observe", "observe")):

            async def hook(self: Echo, *_: Any, again: str = from_hook) -> None:
                await asyncio.create_task(use(self, again))

            agent.register_instance_hook(f"{when}_{point}", "loop", hook)
            with pytest.raises(UsageError, match=f"hook 'loop' \\({when}_{point} of Echo\\) calls {point}") as error:
                await ends_in(1, use(agent, point))
            assert error.value.code == "hook_recursion"
            agent.clear_instance_hooks()
            await use(agent, point)


async def test_a_hook_of_reasoning_or_acting_that_calls_it_is_an_error() -> None:
    agent = react([call("get_weather", city="Oslo")], say("Rain."), toolkit=weather())

    async def reason_again(self: Any, kwargs: dict[str, Any]) -> None:
        await self._reasoning(**kwargs)

    async def act_again(self: Any, kwargs: dict[str, Any], output: Any) -> None:
        await self._acting(**kwargs)

    agent.register_instance_hook("pre_reasoning", "loop", reason_again)
    with pytest.raises(UsageError, match="calls _reasoning, which it belongs to"):
        await agent(HELLO)
    agent.clear_instance_hooks()
    agent.register_instance_hook("post_acting", "loop", act_again)
    with pytest.raises(UsageError, match="calls _acting, which it belongs to"):
        await agent(HELLO)
    agent.clear_instance_hooks()
    assert (await agent(HELLO)).get_text_content() == "Rain."


async def test_a_hook_may_call_other_functions_of_its_agent_and_a_task_that_it_left_behind_its_own() -> None:
    agent = Echo()
    later: list[asyncio.Task[None]] = []

    async def others(self: Echo, kwargs: dict[str, Any]) -> None:
        await self.observe(kwargs["msg"])
        await self.print(kwargs["msg"])

    async def call_later(self: Echo, kwargs: dict[str, Any]) -> None:
        async def wait_and_observe() -> None:
            await asyncio.sleep(5)
            await self.observe(kwargs["msg"])

        if not later:
            later.append(asyncio.create_task(wait_and_observe()))

    agent.register_instance_hook("pre_reply", "others", others)
    agent.register_instance_hook("pre_observe", "note", noting("pre observe"))
    agent.register_instance_hook("pre_observe", "later", call_later)
    await agent(HELLO)
    assert agent.log == ["pre observe", "observe", "reply"]
    await later[0]
    assert agent.log[3:] == ["pre observe", "observe"]


@pytest.mark.parametrize("swallows", [False, True])
async def test_a_hook_that_hangs_ends_as_an_error_within_a_second(swallows: bool) -> None:
    """HOK-18: also one that ignores its cancellation, which is left behind."""
    agent = Echo()
    goes_on = asyncio.Event()

    async def hang(self: Any, kwargs: dict[str, Any]) -> None:
        while not goes_on.is_set():
            try:
                await goes_on.wait()
            except asyncio.CancelledError:
                if not swallows:
                    raise

    agent.register_instance_hook("pre_reply", "hang", hang)
    began = asyncio.get_running_loop().time()
    with pytest.raises(UsageError, match=r"hook 'hang' .* has not returned within 1 s") as error:
        await agent(HELLO)
    assert error.value.code == "hook_timeout"
    assert asyncio.get_running_loop().time() - began == pytest.approx(1 + swallows * HOOK_GRACE_S)
    goes_on.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_the_limit_of_time_can_be_changed() -> None:
    agent = Echo()

    async def slow(self: Any, kwargs: dict[str, Any]) -> None:
        await asyncio.sleep(5)

    agent.register_instance_hook("pre_reply", "slow", slow)
    agent.hook_timeout_s = 10
    await agent(HELLO)
    agent.hook_timeout_s = None
    await agent(HELLO)
    agent.hook_timeout_s = 0.5
    with pytest.raises(UsageError, match=r"within 0\.5 s"):
        await agent(HELLO)


async def test_a_hook_that_raises_is_an_error_with_its_name() -> None:
    agent = Echo()

    def fail(self: Any, *_: Any) -> None:
        raise KeyError("city")

    async def cancel_itself(self: Any, *_: Any) -> None:
        raise asyncio.CancelledError

    for hook_type, hook, match in (
        ("pre_reply", fail, "hook 'bad' \\(pre_reply of Echo\\) raised KeyError: 'city'"),
        ("post_reply", fail, "hook 'bad' \\(post_reply of Echo\\) raised KeyError"),
        ("pre_reply", cancel_itself, "raised RuntimeError: it was cancelled from within"),
    ):
        agent.register_instance_hook(hook_type, "bad", hook)
        with pytest.raises(UsageError, match=match) as error:
            await agent(HELLO)
        assert error.value.code == "hook_failed"
        assert error.value.__cause__ is not None
        agent.clear_instance_hooks()


BAD_RETURNS: list[tuple[str, Any, str]] = [
    ("pre_reply", "text", "a dict of arguments or None, not str"),
    ("pre_reply", {"msg": HELLO, "mood": 1}, "it takes no mood"),
    ("pre_reply", {"times": 2}, "msg is missing"),
    ("pre_reply", {"msg": "text"}, "msg as Msg, not str"),
    ("pre_reply", {"msg": HELLO, "times": "two"}, "times as int, not str"),
    ("post_reply", "text", "return Msg or None, not str"),
    ("post_reply", {"msg": HELLO}, "return Msg or None, not dict"),
    ("post_observe", HELLO, "return None, not Msg"),
]


async def test_a_hook_that_changes_a_type_is_an_error_with_its_name() -> None:
    for hook_type, returned, match in BAD_RETURNS:
        agent = Echo()
        agent.register_instance_hook(hook_type, "bad", lambda *_, returned=returned: returned)
        with pytest.raises(UsageError, match=f"hook 'bad' .*{match}") as error:
            await (agent(HELLO) if "reply" in hook_type else agent.observe(HELLO))
        assert error.value.code == "bad_hook_return"


async def test_a_hook_may_make_one_message_of_several_or_several_of_one() -> None:
    agent = react(say("Yes."))

    def double(self: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**kwargs, "msg": [kwargs["msg"], UserMsg("user", "and bye")]}

    agent.register_instance_hook("pre_reply", "double", double)
    await agent(HELLO)
    assert requests_of(agent)[0].texts == ["Be brief.", "Hello", "and bye"]


async def test_without_hooks_nothing_is_copied_or_bound() -> None:
    class Uncopied(Msg):
        def copy(self) -> Msg:
            raise AssertionError("a message was copied")

    agent = Echo()
    msg = Uncopied("user", "Hi", "user")
    await agent(msg)
    await agent.observe(msg)
    agent.register_instance_hook("pre_print", "other", noting("pre print"))
    await agent.observe(msg)
    agent.register_instance_hook("pre_observe", "copies", noting("pre observe"))
    with pytest.raises(AssertionError, match="a message was copied"):
        await agent.observe(msg)


async def test_a_class_that_forgets_its_base_is_told_so() -> None:
    class Forgetful(Echo):
        def __init__(self) -> None:
            pass

    with pytest.raises(UsageError, match=r"Forgetful.__init__ has to call super\(\).__init__\(\) first"):
        Forgetful().register_instance_hook("pre_reply", "note", noting("never"))
