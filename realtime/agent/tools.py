"""Running the tools that a model asks for: ours in a task each, the client's by waiting for its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from realtime.event.config import ToolDeclaration
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.tool import Toolkit

DEFAULT_TOOL_TIMEOUT_S = 30.0
DEFAULT_CLIENT_TOOL_TIMEOUT_S = 60.0


class ToolRunner:
    """Runs tool calls inside the agent's task group; `on_result` gets one result per call, in any order."""

    def __init__(
        self,
        group: asyncio.TaskGroup,
        toolkit: Toolkit,
        on_result: Callable[[ToolResultBlock], None],
        *,
        timeout_s: float = DEFAULT_TOOL_TIMEOUT_S,
        client_timeout_s: float = DEFAULT_CLIENT_TOOL_TIMEOUT_S,
    ) -> None:
        self._group = group
        self._toolkit = toolkit
        self._on_result = on_result
        self._timeout_s = timeout_s
        self._client_timeout_s = client_timeout_s
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asked: dict[str, asyncio.Future[ToolResultBlock]] = {}
        self._client_tools: frozenset[str] = frozenset()

    def set_client_tools(self, tools: tuple[ToolDeclaration, ...]) -> None:
        """Which tools run in the client, also where one of ours has the same name (see `RealtimeAgent`)."""
        self._client_tools = frozenset(tool.name for tool in tools)

    def start_tool(self, call: ToolCallBlock) -> None:
        """Run the call beside everything else."""
        if call.name in self._client_tools:
            # The client may answer before the task has begun.
            self._asked[call.id] = asyncio.get_running_loop().create_future()
        task = self._group.create_task(self._run(call), name=f"tool {call.name} {call.id}")
        self._tasks[call.id] = task
        task.add_done_callback(lambda _: self._forget(call.id))

    def answer_tool(self, result: ToolResultBlock) -> bool:
        """The client's answer; False where no such call is open."""
        asked = self._asked.get(result.id)
        if asked is None or asked.done():
            return False
        asked.set_result(result)
        return True

    def cancel_tools(self) -> None:
        """Stop every running call; each still yields a result, with state `interrupted`."""
        for task in [*self._tasks.values()]:
            task.cancel()

    async def _run(self, call: ToolCallBlock) -> None:
        try:
            asked = self._asked.get(call.id)
            if asked is not None:
                result = await self._ask_client(call, asked)
            else:
                result = await self._toolkit.run(call, timeout_s=self._timeout_s)
        except asyncio.CancelledError:
            self._on_result(
                ToolResultBlock(id=call.id, name=call.name, output="interrupted by the user", state="interrupted")
            )
            raise
        self._on_result(result)

    async def _ask_client(self, call: ToolCallBlock, asked: asyncio.Future[ToolResultBlock]) -> ToolResultBlock:
        try:
            async with asyncio.timeout(self._client_timeout_s):
                return await asked
        except TimeoutError:
            text = f"the client did not answer within {self._client_timeout_s:g} s"
            return ToolResultBlock(id=call.id, name=call.name, output=text, state="error")

    def _forget(self, call_id: str) -> None:
        self._tasks.pop(call_id, None)
        self._asked.pop(call_id, None)
