"""Tools: Python functions that a model may call.

toolkit = Toolkit([get_weather])
toolkit.declarations()          # name, description and JSON Schema for the model, from the function itself
await toolkit.run(call)         # runs one call of the model; always returns a result
"""

from realtime.tool.context import ToolContext
from realtime.tool.response import ToolResponse
from realtime.tool.toolkit import DEFAULT_TIMEOUT_S, Toolkit

__all__ = ["DEFAULT_TIMEOUT_S", "ToolContext", "ToolResponse", "Toolkit"]
