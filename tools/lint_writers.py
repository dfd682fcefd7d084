"""Say which fact of a call has a second writer. Everything else asks the one."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TypeVar

from realtime.turn.machine import Turn
from realtime.turn.responses import Ledger, Request, Response, RoomLedger, ServiceLedger
from tools.sources import nodes_of, tree_of

Node = TypeVar("Node", bound=ast.AST)
PACKAGE = Path(__file__).resolve().parent.parent / "realtime"
MODEL_LINKS = {"model/_link_session.py", "model/_one_request.py", "model/wire.py"}
TEST_TOOLS = "testing/"
"""They read calls from outside and rebuild what they check."""


DEADLINES = {"UNANSWERED_S", "GIVEN_UP_S", "FORGOTTEN_S", "ERROR_BEFORE_LOSS_S", "LOST_REQUEST_S", "SILENCE_S"}
DEADLINES |= {"ANSWER_S", "REFUSED_S", "FAILED_S"}
"""The numbers of seconds that a response is waited for."""
CALLED_IN: dict[str, set[str]] = {
    # Truncation has one rule, which the conversation alone asks, and one writer; interruptions and readers ask how much
    # was played.
    "AgentItemTruncatedEvent": {"state/truncation.py"},
    "Spoken": {"state/conversation.py"},
    "truncation": {"state/conversation.py"},
    "portion_played": {"agent/reply_items.py", "room/agent_participant.py", "agent/heard.py", "agent/saying.py"},
    "Turn": {"agent/turn_taking.py"},
}
"""By name of a class or function: the modules that call it."""


@cache
def product_files() -> dict[str, Path]:
    """Each module of the product, by its name."""
    names = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    return {name: path for name, path in names.items() if not name.startswith(TEST_TOOLS)}


@cache
def product_nodes(kind: type[Node]) -> list[tuple[str, Node]]:
    """The nodes of one kind in the whole product, each with its module."""
    return [
        (module, node) for module, path in product_files().items() for node in nodes_of(path) if isinstance(node, kind)
    ]


def files_that_call(name: str) -> set[str]:
    """The modules that call this class or function, by its own name or as an attribute."""
    return {
        module
        for module, node in product_nodes(ast.Call)
        if (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) == name
    }


def files_with_classes_that_have(*methods: str) -> set[str]:
    """The modules with a class that defines all of these methods."""
    return {
        module
        for module, node in product_nodes(ast.ClassDef)
        if {*methods} <= {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    }


def writes_of(owners: Iterable[str], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(module, target) of each assignment to one of these attributes of something that has an owner's name."""
    wanted, known = {*owners}, {*names}
    for module, node in product_nodes(ast.Attribute):
        if isinstance(node.ctx, ast.Store | ast.Del) and node.attr in known:
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if owner.lstrip("_") in wanted:
                yield module, ast.unparse(node)


def homes_of_deadlines() -> set[tuple[str, str]]:
    """The modules in which a deadline of responses stands, with its name."""
    parts = ("model/", "turn/", "call/", "agent/", "room/")
    return {
        (module, target.id)
        for module, path in product_files().items()
        if module.startswith(parts)
        for node in tree_of(path).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in DEADLINES
    }


def complaints() -> Iterator[str]:
    """Yield what has another writer than its own, or another home."""
    for name, modules in CALLED_IN.items():
        if files_that_call(name) != modules:
            yield f"{name} is called in {sorted(files_that_call(name))}, not in {sorted(modules)}"
    for methods in (("add", "delete", "set_transcript"), ("add", "delete", "items")):
        if files_with_classes_that_have(*methods) != {"state/conversation.py"}:
            yield f"there is one conversation, and one class with {', '.join(methods)}"
    for module, target in writes_of({"turn"}, (field.name for field in fields(Turn))):
        yield f"{module} writes {target}: only the turn machine writes the state of a turn"
    names = {field.name for kind in (Request, Response) for field in fields(kind)}
    names |= {*vars(Ledger()), *vars(ServiceLedger()), *vars(RoomLedger())}
    for module, target in writes_of({"response", "request", "ledger", "responses"}, names):
        if module != "turn/responses.py":
            yield f"{module} writes {target}: only the ledger writes responses"
    holders = {"turn/responses.py", "agent/turn_taking.py", "room/agent_participant.py", *MODEL_LINKS}
    for kind in ("Ledger", "ServiceLedger", "RoomLedger", "Request"):
        for module in files_that_call(kind) - holders:
            yield f"{module} makes a {kind}: it is no holder of one"
    for module, name in homes_of_deadlines() ^ {("turn/responses.py", name) for name in DEADLINES}:
        yield f"{name} stands in {module}, or is missing: deadlines of responses stand in the ledger"
