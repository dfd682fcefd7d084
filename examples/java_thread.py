"""Begin a conversation with a thread of AgentScope Java, and give it back with what was said since. Needs no key.

python examples/java_thread.py
"""

import asyncio
import json

from realtime import RealtimeAgent, UserMsg
from realtime.interop import dump, items_of, load
from realtime.model.scripted import ScriptedModel, echo_bot

THREAD = """[
  {"id": "msg_1", "name": "Ann", "role": "USER", "content": [{"type": "text", "text": "How is the weather?"}],
   "metadata": {}, "timestamp": "2026-01-15T10:30:00Z"},
  {"id": "msg_2", "name": "Friday", "role": "ASSISTANT", "metadata": {}, "timestamp": "2026-01-15T10:30:01Z",
   "content": [{"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}}]},
  {"id": "msg_3", "name": null, "role": "TOOL", "metadata": {}, "timestamp": "2026-01-15T10:30:02Z",
   "content": [{"type": "tool_result", "toolUseId": "call_1", "output": [{"type": "text", "text": "Sunny."}]}]}
]"""


async def main() -> list[dict[str, object]]:
    thread = load(THREAD, dialect="java1")
    agent = RealtimeAgent("Friday", "Be brief.", ScriptedModel(echo_bot("It is sunny in Oslo.", seconds=0.1)))
    agent.conversation = items_of(thread)
    await agent.start(lambda event: None)
    question = UserMsg("Ann", "So, how is it?")
    thread += [question, await agent(question)]
    await agent.stop()
    theirs = dump(thread, dialect="java1")
    assert theirs[:3] == json.loads(THREAD)
    for message in theirs:
        print(message["role"], message["content"])
    return theirs


if __name__ == "__main__":
    asyncio.run(main())
