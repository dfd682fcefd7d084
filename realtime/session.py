"""`realtime.session`, where AgentScope has `JSONSession`: see `realtime.state.json_sessions`."""

from realtime.state.json_sessions import JSONSession as JSONSession
from realtime.state.json_sessions import SessionBase as SessionBase
