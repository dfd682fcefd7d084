"""Voice conversations with agents over WebSockets.

Public names are loaded on first use: importing the package loads no provider SDK, no web framework, no speech model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.lazy import on_first_use
from realtime.version import __version__

if TYPE_CHECKING:
    from realtime.agent import AgentBase as AgentBase
    from realtime.agent import Delegate as Delegate
    from realtime.agent import ReActAgent as ReActAgent
    from realtime.agent import RealtimeAgent as RealtimeAgent
    from realtime.agent import UserAgent as UserAgent
    from realtime.call.limits import Limits as Limits
    from realtime.event import ClientEvents as ClientEvents
    from realtime.event import ModelEvents as ModelEvents
    from realtime.event import ServerEvents as ServerEvents
    from realtime.event import SessionConfig as SessionConfig
    from realtime.event import TurnDetection as TurnDetection
    from realtime.formatter import AnthropicChatFormatter as AnthropicChatFormatter
    from realtime.formatter import DashScopeChatFormatter as DashScopeChatFormatter
    from realtime.formatter import GeminiChatFormatter as GeminiChatFormatter
    from realtime.formatter import OpenAIChatFormatter as OpenAIChatFormatter
    from realtime.memory import InMemoryMemory as InMemoryMemory
    from realtime.memory import LongTermMemoryBase as LongTermMemoryBase
    from realtime.memory import RedisMemory as RedisMemory
    from realtime.memory import SqliteLongTermMemory as SqliteLongTermMemory
    from realtime.message import AssistantMsg as AssistantMsg
    from realtime.message import Msg as Msg
    from realtime.message import SystemMsg as SystemMsg
    from realtime.message import UserMsg as UserMsg
    from realtime.model.chat import AnthropicChatModel as AnthropicChatModel
    from realtime.model.chat import DashScopeChatModel as DashScopeChatModel
    from realtime.model.chat import GeminiChatModel as GeminiChatModel
    from realtime.model.chat import OpenAIChatModel as OpenAIChatModel
    from realtime.model.failover import failover as failover
    from realtime.model.gemini.model import GeminiRealtimeModel as GeminiRealtimeModel
    from realtime.model.local.model import LocalRealtimeModel as LocalRealtimeModel
    from realtime.model.open import open_model as open_model
    from realtime.model.openai_family.dashscope import DashScopeRealtimeModel as DashScopeRealtimeModel
    from realtime.model.openai_family.openai import OpenAIRealtimeModel as OpenAIRealtimeModel
    from realtime.model.scripted import ScriptedModel as ScriptedModel
    from realtime.permission import PermissionEngine as PermissionEngine
    from realtime.permission import PermissionMode as PermissionMode
    from realtime.permission import PermissionRule as PermissionRule
    from realtime.plan import PlanNotebook as PlanNotebook
    from realtime.room import ChatRoom as ChatRoom
    from realtime.server.a2a_router import a2a_router as a2a_router
    from realtime.server.app import create_app as create_app
    from realtime.server.router import voice_router as voice_router
    from realtime.server.settings import ServerSettings as ServerSettings
    from realtime.session import JSONSession as JSONSession
    from realtime.session import RedisSession as RedisSession
    from realtime.session import SqliteSession as SqliteSession
    from realtime.token import CharTokenCounter as CharTokenCounter
    from realtime.tool import ToolContext as ToolContext
    from realtime.tool import Toolkit as Toolkit
    from realtime.tool import ToolResponse as ToolResponse

_WHERE = {
    "AgentBase": "realtime.agent",
    "AnthropicChatFormatter": "realtime.formatter",
    "AnthropicChatModel": "realtime.model.chat",
    "AssistantMsg": "realtime.message",
    "CharTokenCounter": "realtime.token",
    "ChatRoom": "realtime.room",
    "ClientEvents": "realtime.event",
    "DashScopeChatFormatter": "realtime.formatter",
    "DashScopeChatModel": "realtime.model.chat",
    "DashScopeRealtimeModel": "realtime.model.openai_family.dashscope",
    "Delegate": "realtime.agent",
    "GeminiChatFormatter": "realtime.formatter",
    "GeminiChatModel": "realtime.model.chat",
    "GeminiRealtimeModel": "realtime.model.gemini.model",
    "InMemoryMemory": "realtime.memory",
    "JSONSession": "realtime.session",
    "Limits": "realtime.call.limits",
    "LocalRealtimeModel": "realtime.model.local.model",
    "LongTermMemoryBase": "realtime.memory",
    "ModelEvents": "realtime.event",
    "Msg": "realtime.message",
    "OpenAIChatFormatter": "realtime.formatter",
    "OpenAIChatModel": "realtime.model.chat",
    "OpenAIRealtimeModel": "realtime.model.openai_family.openai",
    "PermissionEngine": "realtime.permission",
    "PermissionMode": "realtime.permission",
    "PermissionRule": "realtime.permission",
    "PlanNotebook": "realtime.plan",
    "ReActAgent": "realtime.agent",
    "RealtimeAgent": "realtime.agent",
    "RedisMemory": "realtime.memory",
    "RedisSession": "realtime.session",
    "ScriptedModel": "realtime.model.scripted",
    "ServerEvents": "realtime.event",
    "ServerSettings": "realtime.server.settings",
    "SessionConfig": "realtime.event",
    "SqliteLongTermMemory": "realtime.memory",
    "SqliteSession": "realtime.session",
    "SystemMsg": "realtime.message",
    "ToolContext": "realtime.tool",
    "ToolResponse": "realtime.tool",
    "Toolkit": "realtime.tool",
    "TurnDetection": "realtime.event",
    "UserAgent": "realtime.agent",
    "UserMsg": "realtime.message",
    "a2a_router": "realtime.server.a2a_router",
    "create_app": "realtime.server.app",
    "failover": "realtime.model.failover",
    "open_model": "realtime.model.open",
    "voice_router": "realtime.server.router",
}

__all__ = [*_WHERE, "__version__"]
__getattr__ = on_first_use(__name__, _WHERE)
