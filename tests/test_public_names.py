"""The public names: where they lead, what type checkers see of them, the modules that the documents import."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "realtime"
LAZY = ["realtime", "realtime.a2a", "realtime.agent", "realtime.model", "realtime.model.chat", "realtime.model.local"]
"""Packages that load their names on first use."""

DOCUMENTED = {
    "realtime": "ClientEvents DashScopeRealtimeModel GeminiRealtimeModel OpenAIRealtimeModel ServerEvents",
    "realtime.a2a": "FileAgentCardResolver NacosAgentCardResolver WellKnownAgentCardResolver",
    "realtime.agent": "A2AAgent AgentBase ReActAgent ReActAgentBase RealtimeAgent UserAgent",
    "realtime.event": "ReplyEndEvent ReplyStartEvent",
    "realtime.formatter": "A2AChatFormatter DashScopeChatFormatter DashScopeMultiAgentFormatter FormatterBase "
    "GeminiChatFormatter GeminiMultiAgentFormatter OpenAIChatFormatter OpenAIMultiAgentFormatter",
    "realtime.mcp": "HttpStatefulClient HttpStatelessClient MCPToolFunction StdIOStatefulClient",
    "realtime.memory": "InMemoryMemory LongTermMemoryBase MemoryBase",
    "realtime.message": "AssistantMsg Msg SystemMsg TextBlock ToolCallBlock ToolResultBlock UserMsg",
    "realtime.model": "ChatModelBase ChatResponse DashScopeChatModel GeminiChatModel OpenAIChatModel",
    "realtime.module": "StateModule",
    "realtime.permission": "AdditionalWorkingDirectory PermissionBehavior PermissionContext PermissionDecision "
    "PermissionEngine PermissionMode PermissionRule",
    "realtime.pipeline": "ChatRoom",
    "realtime.plan": "DefaultPlanToHint InMemoryPlanStorage Plan PlanNotebook PlanStorageBase SubTask",
    "realtime.session": "JSONSession RedisSession SessionBase",
    "realtime.token": "CharTokenCounter TokenCounterBase",
    "realtime.tool": "ToolResponse Toolkit",
}
"""Names of AgentScope's documents by their modules, with `realtime` for `agentscope`."""


def test_the_modules_of_the_documents_have_their_names() -> None:
    """AGT-12 and FMT-18."""
    named = [(import_module(module), name) for module, names in DOCUMENTED.items() for name in names.split()]
    assert [f"{module.__name__}.{name}" for module, name in named if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", LAZY)
def test_a_name_that_is_loaded_on_first_use_is_what_type_checkers_see(package: str) -> None:
    home = import_module(package)
    path = PACKAGE.parent.joinpath(*package.split("."), "__init__.py")
    typed: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If):
            for one in node.body:
                assert isinstance(one, ast.ImportFrom)
                typed |= {alias.name: str(one.module) for alias in one.names}
    # What is imported at once needs no such line.
    assert {name for name in home.__all__ if not name.startswith("__")} == {*typed} | {*vars(home)} & {
        *home.__all__
    } - {"__version__"}
    for name, source in typed.items():
        assert getattr(home, name) is getattr(import_module(source), name)


def test_a_thinking_agent_with_tools_and_memory_is_made_of_public_names() -> None:
    """What the guide of agents needs is imported from the package itself."""
    import realtime

    wanted = {"AgentBase", "ReActAgent", "UserAgent", "Toolkit", "ToolResponse", "InMemoryMemory", "JSONSession", "Msg"}
    families = ("Anthropic", "DashScope", "Gemini", "OpenAI")
    wanted |= {f"{family}Chat{kind}" for family in families for kind in ("Model", "Formatter")}
    assert wanted <= {*realtime.__all__}
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchName'"):
        _ = realtime.NoSuchName
