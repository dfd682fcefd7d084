"""Runs one test file of upstream through the shim: `python -m tests.judges.agentscope.run FILE`.

Its last line on stdout is a JSON object: each test with "" where it passed, else with what went wrong in one line.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
import unittest
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.judges.agentscope import finder

Raised = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


class Outcomes(unittest.TestResult):
    """Collects the outcome of each test by `Class.method`. Tracebacks go to stderr."""

    def __init__(self) -> None:
        super().__init__()
        self.by_test: dict[str, str] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.by_test[_name(test)] = ""

    def addError(self, test: unittest.TestCase, err: Raised) -> None:
        self._fails(test, err)

    def addFailure(self, test: unittest.TestCase, err: Raised) -> None:
        self._fails(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Raised | None) -> None:
        if err is not None:
            self._fails(test, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.by_test[_name(test)] = f"skipped: {reason}"

    def _fails(self, test: unittest.TestCase, err: Raised) -> None:
        sys.stderr.write("".join(traceback.format_exception(*err)))
        said = "".join(traceback.format_exception_only(err[1])).strip()
        self.by_test[_name(test)] = said.splitlines()[0]


def _name(test: Any) -> str:
    return ".".join(test.id().split(".")[-2:])


def main(path: Path) -> None:
    """Run the tests of a file. Raises what its import raises."""
    finder.install()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outcomes = Outcomes()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(outcomes)
    sys.stdout.write(f"\n{json.dumps(outcomes.by_test)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
