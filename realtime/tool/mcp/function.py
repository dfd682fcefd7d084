"""One function of a server, as an object: in a toolkit it is a tool, and it may be called alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from realtime.errors import ToolError
from realtime.tool.context import ToolContext
from realtime.tool.mcp.content import response_of
from realtime.tool.mcp.remote_call import RemoteCall
from realtime.tool.mcp.schema import Budget, model_name, model_schema
from realtime.tool.output import failed, within_limits
from realtime.tool.registered import ToolObject, ToolOptions, schema_of

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

TOLD_CHARS = 1_024
"""Characters of a description that models get: OpenAI refuses a request with a longer one."""
CONTEXT = "__tool_context__"
"""The parameter with the context of the call; no remote function may have it."""


class Calls(Protocol):
    """What calls a function of a server: a client."""

    name: str

    async def call(self, function: str, arguments: dict[str, Any], call: RemoteCall) -> CallToolResult:
        """Call a remote function; cancelling tells the server. Raises ToolError with what went wrong."""
        ...


class MCPToolFunction(ToolObject):
    """A function of an MCP server.

    Called with the arguments that `json_schema` describes, it returns a ToolResponse, also where something goes wrong
    (`state` is `error`). With `wrap_tool_result=False` it returns the CallToolResult of the SDK, and raises ToolError
    where there is none. `timeout`: how many seconds a call may take, as long as it likes for None; a toolkit has a
    limit of its own. While a user is asked, that time stands still. Cancelling tells the server. Models get the first
    1,024 characters of its description. `budget`: of the list that the tool is in.

    In a toolkit it asks the user before each call if the server says that it destroys something, and it is read-only if
    the server says so. Raises ValueError for a tool that cannot be described to a model.
    """

    def __init__(
        self,
        client: Calls,
        tool: Tool,
        wrap_tool_result: bool = True,
        *,
        timeout: float | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.mcp_name = client.name
        self.name = tool.name
        """The name at the server; `tool_name` is the one for models."""
        self.description = tool.description or tool.title or ""
        parameters = model_schema(tool.input_schema, budget)
        parameters["properties"].pop(CONTEXT, None)
        self.tool_name = model_name(tool.name)
        self.json_schema = schema_of(self.tool_name, self.description[:TOLD_CHARS], parameters)
        self.wrap_tool_result = wrap_tool_result
        self.timeout = timeout
        hints = tool.annotations
        read_only = hints is not None and hints.read_only_hint is True
        self.tool_options = ToolOptions(
            json_schema=self.json_schema,
            read_only=read_only,
            confirm=hints is not None and hints.destructive_hint is True and not read_only,
            stops_with_reply=True,
            mcp_name=client.name,
        )
        self._client = client

    async def __call__(self, /, *, __tool_context__: ToolContext[Any] | None = None, **arguments: Any) -> Any:
        """Call the function at the server."""
        call = RemoteCall(self.mcp_name, __tool_context__, self.timeout)
        try:
            result = await self._client.call(self.name, arguments, call)
        except ToolError as error:
            if not self.wrap_tool_result:
                raise
            return failed(error.message)
        if not self.wrap_tool_result:
            return result
        response = response_of(result)
        # A toolkit keeps to the limits itself, and says what it cuts.
        return within_limits(response) if __tool_context__ is None else response
