"""docs/protocol.md names every error code and close code that a client can meet, and no others."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
# What a client meets: not what the models say among themselves, nor the tools of tests.
SOURCES = [path for path in (ROOT / "realtime").rglob("*.py") if "testing" not in path.relative_to(ROOT).parts]


@functools.cache
def package() -> tuple[set[str], list[tuple[str, ast.Call]]]:
    """Every text in the package, and every call with the name of what is called."""
    texts: set[str] = set()
    calls: list[tuple[str, ast.Call]] = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                calls.append((node.func.id if isinstance(node.func, ast.Name) else node.func.attr, node))
    return texts, calls


def table(head: str) -> set[str]:
    """The first column of the table whose head begins like this."""
    rows = GUIDE.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    assert rows
    return {name for row in rows for name in re.findall(r"\w+", row.split("|")[1])}


def test_the_guide_lists_every_error_code_that_a_client_can_cause() -> None:
    codes = {
        keyword.value.value
        for name, call in package()[1]
        if name == "ClientError"
        for keyword in call.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
    }
    assert codes - table("code of a `client_error`") == set()


def test_the_guide_lists_no_error_code_that_does_not_exist() -> None:
    assert table("code of a `client_error`") - package()[0] == set()


def test_the_guide_lists_the_close_codes_that_the_server_uses() -> None:
    used = {
        str(call.args[0].value)
        for name, call in package()[1]
        if name == "close" and call.args and isinstance(call.args[0], ast.Constant) and type(call.args[0].value) is int
    }
    assert used <= table("close code")


def test_the_guide_lists_the_reasons_of_a_goodbye() -> None:
    assert table("reason") <= package()[0]
