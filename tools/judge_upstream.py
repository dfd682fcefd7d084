"""AgentScope's own tests, run against this project: `python tools/judge_upstream.py CLONE [FILE ...]`.

CLONE is a folder with AgentScope's repository (branch v1, or main: the files that it has of those below). Each of its
test files runs unmodified in a process and a folder of its own, through the import shim in `tests/judges/agentscope`,
without keys of providers. Prints what passed, and the reason for each test that did not
(`tests/judges/agentscope/reasons.toml`). Exits with 1 where a test fails without a reason, or passes in spite of one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REASONS = ROOT / "tests/judges/agentscope/reasons.toml"
FILES = (
    "hook_test",
    "session_test",
    *("toolkit_basic_test", "toolkit_meta_tool_test", "toolkit_middleware_test", "toolkit_async_execution_test"),
    *("tool_test", "react_agent_test", "memory_compression_test", "memory_test"),
    *("formatter_openai_test", "formatter_dashscope_test", "formatter_gemini_test", "formatter_anthropic_test"),
    *("formatter_deepseek_test", "formatter_ollama_test", "formatter_openai_response_test"),
    *("model_openai_test", "model_dashscope_test", "model_gemini_test", "model_anthropic_test"),
    *("token_char_test", "token_openai_test", "token_anthropic_test", "user_input_test"),
    *("plan_test", "tablestore_session_test", "tablestore_memory_test", "memory_reme_test", "mem0_utils_test"),
    *("a2a_agent_test", "a2a_resolver_test", "formatter_a2a_test"),
)
FILES_OF_MAIN = ("permission_engine_test", "permission_mode_test", "permission_bash_parser_test")
"""Those of branch main: files of one name have other tests there."""
TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Verdict:
    """What became of one file: each test with "" where it passed, else with what went wrong."""

    file: str
    outcomes: Mapping[str, str]
    reasons: Mapping[str, str]

    @property
    def title(self) -> str:
        """The file and how many of its tests passed."""
        passed = sum(not wrong for wrong in self.outcomes.values())
        return f"{self.file}: {passed} of {len(self.outcomes)}"

    def lines(self) -> list[str]:
        """The title, and a line for each test that did not pass or that has a reason not to."""
        told = [self.title]
        for test, wrong in self.outcomes.items():
            reason = self._reason(test)
            if wrong and reason is not None:
                told.append(f"  {test}: {reason}")
            elif wrong:
                told.append(f"  {test}: UNEXPECTED: {wrong}")
            elif reason is not None:
                told.append(f"  {test}: PASSES in spite of: {reason}")
        return told

    @property
    def is_as_expected(self) -> bool:
        """Whether exactly the tests with a reason did not pass."""
        is_one = bool(self.outcomes)
        return is_one and all(bool(wrong) is (self._reason(test) is not None) for test, wrong in self.outcomes.items())

    def _reason(self, test: str) -> str | None:
        return self.reasons.get(test, self.reasons.get(f"{test.partition('.')[0]}.*"))


def judge(path: Path, reasons: Mapping[str, str]) -> Verdict:
    """Run one test file of upstream. One that cannot be run has no outcomes; stderr says why."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"HOME": folder, "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "tests.judges.agentscope.run", str(path.resolve())]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"{path.name} did not end within {TIMEOUT_S:g} s\n")
            return Verdict(path.stem, {}, reasons)
    if done.returncode:
        sys.stderr.write(done.stderr)
    outcomes = {} if done.returncode else json.loads(done.stdout.splitlines()[-1])
    return Verdict(path.stem, outcomes, reasons)


def main(clone: str, files: Iterable[str] = ()) -> int:
    """Judge the files; return the exit code."""
    reasons = tomllib.loads(REASONS.read_text("utf-8"))
    code = 0
    for file in [*files] or _files_of(Path(clone)):
        verdict = judge(Path(clone) / "tests" / f"{file.removesuffix('.py')}.py", reasons.get(file, {}))
        print("\n".join(verdict.lines()), flush=True)
        code |= not verdict.is_as_expected
    return code


def _files_of(clone: Path) -> Iterable[str]:
    """Return the files to judge in a clone; branch main is the one that has permissions."""
    return FILES_OF_MAIN if (clone / "tests" / f"{FILES_OF_MAIN[0]}.py").exists() else FILES


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
