"""What counts as a line of product code."""

from tools.count_lines import is_product, python_lines, script_lines

PYTHON = '''"""A module
of two lines."""

import os  # why

def f(x):
    """What it does."""
    # a comment
    text = """two
lines"""
    return (
        x
    )
'''
SCRIPT = """/** What it does.
 *  More. */
import { a } from "./a";
/* one line */

// a comment
const text = "// no comment";
"""


def test_blanks_comments_and_docstrings_are_no_code() -> None:
    assert python_lines(PYTHON) == 7
    assert script_lines(SCRIPT) == 2


def test_tests_generated_and_built_files_are_no_product() -> None:
    assert is_product("realtime/room/floor.py")
    assert is_product("web/packages/messages/src/index.ts")
    for other in ("tests/test_layers.py", "web/dist/page.js", "realtime/testing/report/report.generated.js", "a.md"):
        assert not is_product(other)
    for other in ("src/protocol.generated.ts", "dist/a.js", "test/client.test.ts"):
        assert not is_product(f"web/packages/client/{other}")
