"""Each fact of a call has one writer in the product; everything else asks it."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from realtime.turn.machine import Turn
from realtime.turn.responses import Ledger, Request, Response, RoomLedger, ServiceLedger

PACKAGE = Path(__file__).resolve().parent.parent / "realtime"
MODEL_LINKS = {"model/_link_session.py", "model/_one_request.py", "model/wire.py"}
TEST_TOOLS = "testing/"
"""They read calls from outside and rebuild what they check."""


def product_files(word: str = "") -> Iterator[tuple[str, ast.Module]]:
    """The name and the syntax tree of each module of the product that holds this word."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        text = path.read_text(encoding="utf-8")
        if word in text and not name.startswith(TEST_TOOLS):
            yield name, ast.parse(text)


def files_that_call(name: str) -> set[str]:
    """The modules that call this class or function, by its own name or as an attribute."""
    return {
        module
        for module, tree in product_files(name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) == name
    }


def files_with_classes_that_have(*methods: str) -> set[str]:
    """The modules with a class that defines all of these methods."""
    return {
        module
        for module, tree in product_files(max(methods, key=len))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and {*methods} <= {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    }


def test_truncation_has_one_rule_and_one_writer() -> None:
    assert files_that_call("AgentItemTruncatedEvent") == {"state/truncation.py"}
    assert files_that_call("Spoken") == {"state/conversation.py"}
    assert files_that_call("truncation") == {"state/conversation.py"}, "the rule is asked by the conversation alone"
    interruptions = {"agent/reply_items.py", "room/agent_participant.py"}
    readers = {"agent/heard.py", "agent/saying.py"}
    assert files_that_call("portion_played") == interruptions | readers, "all ask the same rule"


def test_there_is_one_conversation() -> None:
    assert files_with_classes_that_have("add", "delete", "set_transcript") == {"state/conversation.py"}
    assert files_with_classes_that_have("add", "delete", "items") == {"state/conversation.py"}


def writes_of(owners: Iterable[str], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(module, target) of each assignment to one of these attributes of something that has an owner's name."""
    wanted, known = {*owners}, {*names}
    for module, tree in product_files():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del) and node.attr in known:
                owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
                if owner.lstrip("_") in wanted:
                    yield module, ast.unparse(node)


def test_turn_state_has_one_writer() -> None:
    assert [*writes_of({"turn"}, (field.name for field in fields(Turn)))] == []
    assert files_that_call("Turn") == {"agent/turn_taking.py"}, "one holder"


def test_responses_have_one_writer() -> None:
    names = {field.name for kind in (Request, Response) for field in fields(kind)}
    names |= {*vars(Ledger()), *vars(ServiceLedger()), *vars(RoomLedger())}
    elsewhere = [
        one for one in writes_of({"response", "request", "ledger", "responses"}, names) if one[0] != "turn/responses.py"
    ]
    assert elsewhere == []
    holders = {"turn/responses.py", "agent/turn_taking.py", "room/agent_participant.py", *MODEL_LINKS}
    for kind in ("Ledger", "ServiceLedger", "RoomLedger", "Request"):
        assert files_that_call(kind) <= holders


def test_deadlines_of_responses_stand_in_the_ledger() -> None:
    """A number of seconds that a response is waited for has one home."""
    deadlines = {"UNANSWERED_S", "GIVEN_UP_S", "FORGOTTEN_S", "ERROR_BEFORE_LOSS_S", "LOST_REQUEST_S", "SILENCE_S"}
    deadlines |= {"ANSWER_S", "REFUSED_S", "FAILED_S"}
    parts = ("model/", "turn/", "call/", "agent/", "room/")
    homes = {
        (module, target.id)
        for module, tree in product_files()
        if module.startswith(parts)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in deadlines
    }
    assert homes == {("turn/responses.py", name) for name in deadlines}
