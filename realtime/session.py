"""`realtime.session`, where AgentScope has its sessions: see `realtime.state.sessions`."""

from realtime.state.json_sessions import JSONSession as JSONSession
from realtime.state.redis_sessions import RedisSession as RedisSession
from realtime.state.sessions import SessionBase as SessionBase
from realtime.state.sqlite_sessions import SqliteSession as SqliteSession
