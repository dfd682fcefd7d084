"""Tools: plain Python functions that a model may call.

toolkit = Toolkit([get_weather])
toolkit.declarations()          # what the model is told: name, description and JSON Schema, from the function itself
await toolkit.run(call)         # one call of the model, answered by a result whatever happens
"""

from realtime.tool.toolkit import DEFAULT_TIMEOUT_S, Toolkit

__all__ = ["DEFAULT_TIMEOUT_S", "Toolkit"]
