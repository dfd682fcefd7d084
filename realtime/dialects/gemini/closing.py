"""How a Gemini Live session is closed: the close codes and the sentences of the service, then ours.

The protocol has no error frames.
"""

from __future__ import annotations

from realtime.dialects.gemini.client import INVALID, UNSUPPORTED, reason
from realtime.event import server as s

DEADLINE = (1011, "Deadline expired before operation could complete.")
UNAVAILABLE = (1011, "The service is currently unavailable.")
NOT_FOUND = "Requested entity was not found."

_ENDING = {
    "invalid_argument": INVALID,
    "not_supported": UNSUPPORTED,
    "invalid_config": INVALID,
    "frame_too_large": INVALID,
    "too_many_values": INVALID,
    "unsupported_audio_format": INVALID,
    "unsupported_modality": UNSUPPORTED,
    "unsupported_turn_detection": UNSUPPORTED,
}
"""Errors of the client that end the session."""
_QUOTA = ("too_many_calls", "rate_limit_exceeded", "insufficient_quota")
_UNAVAILABLE = (
    "draining",
    "overloaded",
    "server_full",
    "provider_unavailable",
    "resume_under_way",
    "store_failed",
    "call_elsewhere",
)
_NO_SUCH_HANDLE = ("invalid_resume_token", "resume_token_expired", "session_ended")


def ends_session(event: s.AgentErrorEvent) -> bool:
    """Whether this error of the client ends the session."""
    return event.error_type == "client_error" and event.code in _ENDING


def after_error(event: s.AgentErrorEvent, model: str | None) -> tuple[int, str]:
    """The close code and the reason if this error ends the session. `model` is the one that the setup names."""
    if ends_session(event):
        close_code = _ENDING[event.code]
        return close_code, reason(close_code, event.message)
    if event.code in _NO_SUCH_HANDLE:
        return 1008, _cut(f"{NOT_FOUND} {event.message}")
    if event.code in _QUOTA:
        return 1011, _cut(f"You exceeded your current quota. {event.message}")
    if event.code in _UNAVAILABLE:
        return 1011, _cut(f"{UNAVAILABLE[1]} {event.message}")
    if event.code == "model_not_found" and model is not None:
        sentence = "is not found for API version v1beta, or is not supported for bidiGenerateContent."
        return 1008, _cut(f"{model[:32]} {sentence}")
    return 1011, _cut(f"Internal error encountered. {event.message}")


def after_call(ended_by: str) -> tuple[int, str] | None:
    """Return close code and reason for a call's end; `None` if an error already said it."""
    match ended_by:
        case "agent_failed":
            return None
        case "call_limit" | "shutdown":
            return DEADLINE
        case "idle":
            return 1000, "Nobody spoke for too long."
        case _:
            return UNAVAILABLE


def _cut(reason: str) -> str:
    """At most what a close frame takes."""
    return reason.encode()[:123].decode(errors="ignore")
