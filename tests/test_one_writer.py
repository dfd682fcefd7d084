"""Each fact of a call has one writer in the product; everything else asks it."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "realtime"
TEST_TOOLS = "testing/"
"""They read calls from outside and rebuild what they check."""


def product_files() -> Iterator[tuple[str, ast.Module]]:
    """The name and the syntax tree of each module of the product."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(TEST_TOOLS):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def files_that_call(name: str) -> set[str]:
    """The modules that call this class or function, by its own name or as an attribute."""
    return {
        module
        for module, tree in product_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) == name
    }


def files_with_classes_that_have(*methods: str) -> set[str]:
    """The modules with a class that defines all of these methods."""
    return {
        module
        for module, tree in product_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and {*methods} <= {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    }


def test_truncation_has_one_rule_and_one_writer() -> None:
    assert files_that_call("AgentItemTruncatedEvent") == {"state/truncation.py"}
    assert files_that_call("Spoken") == {"state/conversation.py"}
    assert files_that_call("truncation") == {"state/conversation.py"}, "the rule is asked by the conversation alone"
    callers = {"agent/responses.py", "room/agent_participant.py"}
    assert files_that_call("portion_played") == callers, "both live interruptions ask the same rule"


def test_there_is_one_conversation() -> None:
    assert files_with_classes_that_have("add", "delete", "set_transcript") == {"state/conversation.py"}
    assert files_with_classes_that_have("add", "delete", "items") == {"state/conversation.py"}
