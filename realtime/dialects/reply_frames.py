"""Maps the input frames of the reply vocabulary to client events.

A client that follows the reply events of its call sends these beside the client events on its socket:
USER_CONFIRM_RESULT, EXTERNAL_EXECUTION_RESULT and USER_INTERRUPT. One frame may settle several calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event.halves import decoded
from realtime.event.reply import (
    INPUT_EVENTS,
    ExternalExecutionResultEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
    read_reply_event,
)

TYPES = frozenset(str(event.__struct_config__.tag) for event in INPUT_EVENTS)


class ReplyFrames:
    """Reads frames that `decode_json` does not know, and keeps their further events."""

    def __init__(self) -> None:
        self._rest: Sequence[c.ClientEvent] = ()

    def read(self, frame: str, refusal: ClientError) -> c.ClientEvent:
        """The first event of an input frame. Raises `refusal` for any other frame, ClientError for a wrong one."""
        self._rest = ()
        if refusal.code != "unknown_event":
            raise refusal
        fields: dict[str, Any] = decoded(msgspec.json.decode, frame)
        if fields["type"] not in TYPES:
            raise refusal
        label = _text(fields, "event_id") or _text(fields, "id")
        try:
            first, *self._rest = _events(fields, session_id=_text(fields, "session_id"), event_id=label)
        except ValueError as error:
            raise ClientError(str(error), code="invalid_event", client_event_id=label) from error
        return first

    def more(self) -> Sequence[c.ClientEvent]:
        """The further events of the frame that was read last, in order; once."""
        rest, self._rest = self._rest, ()
        return rest


def _events(fields: dict[str, Any], *, session_id: str | None, event_id: str | None) -> list[c.ClientEvent]:
    """The events of a frame, at least one; those after the first are `<event_id>/1`, ... Raises ValueError."""
    read = read_reply_event(fields)
    events: list[c.ClientEvent] = []
    match read:
        case UserConfirmResultEvent():
            for answer in read.confirm_results:
                call = answer.tool_call
                events.append(
                    c.ClientToolResultEvent(
                        id=call.id,
                        name=call.name,
                        output="",
                        confirmed=answer.confirmed,
                        tool_call=call,
                        rules=answer.rules,
                    )
                )
        case ExternalExecutionResultEvent():
            events += [
                c.ClientToolResultEvent(id=one.id, name=one.name, output=one.output, state=one.state)
                for one in read.execution_results
            ]
        case UserInterruptEvent():
            events.append(c.ClientResponseCancelEvent(response_id=read.reply_id))
        case _:
            raise ValueError(f"{read.type} does not go to the server")
    if not events:
        raise ValueError(f"{read.type} answers no call")
    return [
        msgspec.structs.replace(
            event, session_id=session_id, event_id=f"{event_id}/{place}" if event_id and place else event_id
        )
        for place, event in enumerate(events)
    ]


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None
