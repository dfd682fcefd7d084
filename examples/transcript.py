"""Follow a call of a running server, live or ended, and print its bubbles as they grow.

python examples/transcript.py http://127.0.0.1:8000 USER CALL_ID
"""

import sys
import urllib.parse
import urllib.request

from realtime.event.reply import ReplyEndEvent, ReplyStartEvent, read_reply_event
from realtime.message import AssistantMsg, Msg, UserMsg


def follow(server: str, user: str, call_id: str) -> list[Msg]:
    """The messages of the call; returns when it is over."""
    asked = urllib.parse.urlencode({"user": user, "vocabulary": "reply"})
    messages: dict[str, Msg] = {}
    with urllib.request.urlopen(f"{server}/api/calls/{call_id}/events?{asked}") as stream:
        for line in stream:
            if not line.startswith(b"data: "):
                continue
            event = read_reply_event(line.removeprefix(b"data: "))
            if isinstance(event, ReplyStartEvent):
                kind = UserMsg if event.role == "user" else AssistantMsg
                messages[event.reply_id] = kind(name=event.name, content=[], id=event.reply_id)
            elif event.reply_id in messages:
                message = messages[event.reply_id]
                message.append_event(event)
                if isinstance(event, ReplyEndEvent):
                    print(f"{message.name}: {message.get_text_content() or ''}")
    return [*messages.values()]


if __name__ == "__main__":
    follow(*sys.argv[1:4])
