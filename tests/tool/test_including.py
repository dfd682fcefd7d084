"""A toolkit that has the tools of another one as well."""

from realtime.message import ToolCallBlock
from realtime.tool import Toolkit


def clock() -> str:
    """Tell the time."""
    return "noon"


def weather() -> str:
    """Tell the weather."""
    return "rain"


async def said(toolkit: Toolkit, name: str) -> str:
    return (await toolkit.run(ToolCallBlock(id="c", name=name, input="{}"))).output_text()


async def test_it_has_them_and_follows_what_changes_there_later() -> None:
    shared, own = Toolkit([clock]), Toolkit()
    own.include(shared)
    call = own.for_call()
    assert await said(call, "clock") == "noon"
    shared.register(weather)
    assert await said(call, "weather") == "rain"
    shared.remove_tool_function("clock")
    assert [*own.tools] == [*call.tools] == ["weather"]


async def test_its_own_tools_precede_and_stay() -> None:
    def clock() -> str:
        """Tell my time."""
        return "mine"

    own, shared = Toolkit([clock]), Toolkit()
    own.include(shared)
    shared.register(globals()["clock"])
    assert await said(own, "clock") == "mine"
    shared.remove_tool_function("clock")
    assert await said(own, "clock") == "mine"


async def test_groups_come_along_and_are_switched_in_each_call() -> None:
    shared, own = Toolkit(), Toolkit()
    shared.create_tool_group("travel", "Journeys.")
    shared.register(weather, group="travel")
    own.include(shared)
    own.include(shared)
    first, second = own.for_call(), own.for_call()
    first.update_tool_groups(["travel"], active=True)
    assert [one.name for one in first.declarations()] == ["weather"]
    assert second.declarations() == ()
    assert own.tools.keys() == {"weather"}
