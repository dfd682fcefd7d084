"""Read a thread of AgentScope Python 1.x, as `Msg.to_dict()` gives it, and write it again. Needs no key.

python examples/agentscope1_thread.py
"""

from realtime.interop import dump, load
from realtime.message import Msg

AT = "2026-01-15 11:30:00.000"
THREAD = [
    {"id": "a", "name": "Ann", "role": "user", "content": "Book a table.", "metadata": {}, "timestamp": AT},
    {
        "id": "b",
        "name": "Friday",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c", "name": "book", "input": {"people": 4}}],
        "metadata": {},
        "timestamp": AT,
    },
    {
        "id": "d",
        "name": "system",
        "role": "system",
        "content": [{"type": "tool_result", "id": "c", "name": "book", "output": "Booked."}],
        "metadata": {},
        "timestamp": AT,
    },
]


def main() -> list[Msg]:
    messages = load(THREAD, dialect="agentscope1")
    for message in messages:
        print(message.name, [block.type for block in message.content])
    assert dump(messages, dialect="agentscope1") == THREAD
    return messages


if __name__ == "__main__":
    main()
