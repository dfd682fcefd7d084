"""An agent's tools in a test case: run, replayed from the recorded call, or replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from realtime.event.config import ToolDeclaration
from realtime.message import ToolCallBlock, ToolResultBlock, ToolResultState
from realtime.permission import PermissionDecision, PermissionEngine
from realtime.testing.cases.case import Returned
from realtime.testing.cassettes.format import parsed
from realtime.testing.errors import CaseError
from realtime.tool import Toolkit

Tools = Literal["recorded", "run"] | Mapping[str, Callable[..., Any]]
"""`recorded`: a tool with results in the case returns them, and a call with a result in a cassette returns that; others
run. `run`: all run. Functions by name replace the agent's own and get the model's arguments; all others as with
`recorded`."""


class TestToolkit(Toolkit):
    """The agent's toolkit with the same declarations and other results.

    `recorded` are the results of the case by tool name, `by_call` those of a cassette by call id. Raises CaseError for
    a function that replaces a tool the agent does not have.
    """

    __test__ = False

    def __init__(
        self,
        real: Toolkit,
        tools: Tools,
        recorded: Mapping[str, Sequence[Returned]],
        file: Path,
        by_call: Mapping[str, Returned] | None = None,
    ) -> None:
        super().__init__(permissions=real.permissions)
        self._real = real
        self._stubs = Toolkit()
        if not isinstance(tools, str):
            for name, function in tools.items():
                if name not in real:
                    known = ", ".join(tool.name for tool in real.declarations()) or "none"
                    problem = f"the agent has no tool {name!r}"
                    raise CaseError("the function in place of a tool", problem, f"It has: {known}.", place="tools")
                self._stubs.register(function, name=name)
        self._recorded = {} if tools == "run" else {name: [*results] for name, results in recorded.items()}
        self._by_call = {} if tools == "run" else by_call or {}
        self._file = file
        self.failures: list[CaseError] = []
        """Calls without a result: the run fails with the first."""

    def for_call(self) -> TestToolkit:
        """See `Toolkit.for_call`."""
        made = super().for_call()
        made._real = self._real.for_call()
        made.background = made._real.background
        return made

    def on_change(self, listener: Callable[[], object]) -> Callable[[], None]:
        """See `Toolkit.on_change`: the agent's own tools change."""
        return self._real.on_change(listener)

    def __contains__(self, name: object) -> bool:
        return name in self._real

    def __len__(self) -> int:
        return len(self._real)

    def declarations(self) -> tuple[ToolDeclaration, ...]:
        """See `Toolkit.declarations`."""
        return self._real.declarations()

    def decide(self, call: ToolCallBlock, permissions: PermissionEngine | None = None) -> PermissionDecision:
        """See `Toolkit.decide`: a replaced tool also waits for the user's consent."""
        self._real.permissions = self.permissions  # those of the call
        return self._real.decide(call, permissions)

    async def run(self, call: ToolCallBlock, *, timeout_s: float | None = None, failure: str = "") -> ToolResultBlock:
        """See `Toolkit.run`. A call without a recorded result is noted and fails."""
        if call.name in self._stubs:
            return await self._stubs.run(call, timeout_s=timeout_s)
        if call.name in self._recorded:
            returned = self._take(call)
        elif call.id in self._by_call:
            returned = self._by_call[call.id]
        else:
            return await self._real.run(call, timeout_s=timeout_s, failure=failure)
        if returned.after_ms:
            await asyncio.sleep(returned.after_ms / 1000)
        output = returned.output
        text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        return ToolResultBlock(id=call.id, name=call.name, output=text, state=ToolResultState(returned.state))

    def _take(self, call: ToolCallBlock) -> Returned:
        results = self._recorded[call.name]
        arguments = parsed(call.input or "{}")
        for number, returned in enumerate(results):
            if returned.arguments is None or returned.arguments == arguments:
                return results.pop(number)
        failure = CaseError(
            self._file,
            f"the recorded call has no result left for {call.name}({call.input})",
            'Add one, give a function (tools={"name": function}), or let it run (tools="run").',
            place=f"tools.{call.name}",
        )
        self.failures.append(failure)
        return Returned(str(failure), state="error")
