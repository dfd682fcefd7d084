"""StateModule: registered attributes and nested modules, saved as JSON and restored."""

import copy
import json
from typing import Any

import pytest

from realtime.agent import AgentBase, UserAgent
from realtime.memory import InMemoryMemory, LongTermMemoryBase, MemoryBase
from realtime.message import Msg, UserMsg
from realtime.module import StateModule
from realtime.tool import Toolkit


class MyMemory(StateModule):
    """The printed memory."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []
        self.register_state("messages")


class MyAgent(StateModule):
    """The printed agent."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = MyMemory()
        self.name = "Friday"
        self.mood = "good"
        self.register_state("name")


def test_a_subclass_has_the_state_that_it_registers() -> None:
    """SES-01, SES-06: plain JSON; what is not registered is no part of it."""
    state = MyMemory().state_dict()
    assert json.loads(json.dumps(state)) == {"messages": []}


def test_a_nested_module_is_part_of_the_state() -> None:
    """SES-08: the printed agent with its memory."""
    agent, other = MyAgent(), MyAgent()
    agent.memory.messages.append("Hi")
    agent.name, agent.mood = "Saturday", "bad"
    saved = json.loads(json.dumps(agent.state_dict()))
    assert saved == {"memory": {"messages": ["Hi"]}, "name": "Saturday"}
    other.load_state_dict(saved)
    assert (other.name, other.memory.messages, other.mood) == ("Saturday", ["Hi"], "good")
    saved["memory"]["messages"].append("changed later")
    agent.memory.messages.append("changed too")
    assert other.memory.messages == ["Hi"]


def test_an_attribute_is_registered_with_or_without_conversions() -> None:
    """SES-04"""

    class Keeps(StateModule):
        def __init__(self) -> None:
            super().__init__()
            self.count = 1
            self.last = UserMsg("user", "Hi")
            self.register_state("count")
            self.register_state("last", Msg.model_dump, Msg.model_validate)

    one, other = Keeps(), Keeps()
    one.count = 2
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert (other.count, other.last.to_json()) == (2, one.last.to_json())
    with pytest.raises(AttributeError):
        one.register_state("missing")


@pytest.mark.parametrize("value", [object(), {1, 2}, UserMsg("user", "Hi"), [b"bytes"]])
def test_an_attribute_without_a_json_form_needs_a_conversion(value: Any) -> None:
    """SES-05"""
    module = MyMemory()
    module.value = value  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"'value' has no JSON form .* give a `custom_to_json`"):
        module.register_state("value")
    assert module.state_dict() == {"messages": []}


def test_a_missing_name_is_an_error_or_stays_as_it_was() -> None:
    """SES-07: strict is the default, and changes nothing then."""
    agent = MyAgent()
    agent.memory.messages.append("Hi")
    with pytest.raises(KeyError, match=r"the state of a MyAgent lacks name, memory\.messages"):
        agent.load_state_dict({"memory": {}})
    with pytest.raises(KeyError, match=r"lacks memory\.messages"):
        agent.load_state_dict({"name": "Saturday", "memory": {}})
    assert agent.name == "Friday"
    agent.load_state_dict({"name": "Saturday", "memory": {}, "unknown": 1}, strict=False)
    assert (agent.name, agent.memory.messages) == ("Saturday", ["Hi"])


def test_a_module_that_is_replaced_or_deleted_is_so_in_the_state() -> None:
    agent = MyAgent()
    agent.memory = "none"  # type: ignore[assignment]
    assert agent.state_dict() == {"name": "Friday"}
    agent.memory = MyMemory()
    with pytest.raises(ValueError, match="'memory' is a StateModule: it is part of the state already"):
        agent.register_state("memory")
    del agent.memory, agent.name
    assert agent.state_dict() == {}


def test_a_module_set_before_the_base_is_made_says_so() -> None:
    class Forgets(StateModule):
        def __init__(self) -> None:
            self.memory = MyMemory()

    with pytest.raises(AttributeError, match=r"Forgets.__init__ calls super\(\).__init__\(\) before it sets 'memory'"):
        Forgets()


def test_agents_memories_and_toolkits_are_modules() -> None:
    """SES-02"""
    for module in (UserAgent("Alice"), AgentBase(), MemoryBase(), InMemoryMemory(), LongTermMemoryBase(), Toolkit()):
        assert isinstance(module, StateModule)
        json.dumps(module.state_dict())


def test_a_copy_registers_attributes_for_itself() -> None:
    module = MyMemory()
    twin: Any = copy.copy(module)
    twin.more = [1]
    twin.register_state("more")
    twin.inner = MyMemory()
    assert {"more", "inner"} <= twin.state_dict().keys()
    assert {"more", "inner"}.isdisjoint(module.state_dict())
