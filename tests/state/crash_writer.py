"""A process to be killed: it logs calls through a spill and says what it has logged and what is stored.

`python crash_writer.py STORE_URL SEED`. Each line on stdout is `logged SEQ` or `stored SEQ`, of every call.
"""

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

from realtime.event.base import AudioFormat
from realtime.event.server import AgentResponseAudioDeltaEvent, AgentResponseAudioTranscriptDeltaEvent
from realtime.state.log import Log
from realtime.state.open import open_store
from realtime.state.spill import Spill
from realtime.state.store import CallInfo

CALLS = ("one", "two", "three")
PCM = AudioFormat.pcm16(24_000)


async def main(url: str, seed: int) -> None:
    random, loop = Random(seed), asyncio.get_running_loop()
    spill = Spill(open_store(url), ThreadPoolExecutor(1))
    logs = {name: Log(loop.time) for name in CALLS}
    for name, log in logs.items():
        spill.add(CallInfo(call_id=name, created_at="2026-01-01T00:00:00.000Z"), log)
    where = {"response_id": "r", "item_id": "i"}
    while True:
        for log in logs.values():
            if random.random() < 0.6:
                log.append(AgentResponseAudioDeltaEvent(**where, delta=bytes(1_920), format=PCM))
            else:
                log.append(AgentResponseAudioTranscriptDeltaEvent(**where, delta=f"word {log.last_seq} " * 20))
        # Every log has as many entries.
        os.write(1, f"logged {log.last_seq}\n".encode())
        if random.random() < 0.2:
            await spill.flush()
            os.write(1, f"stored {log.last_seq}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
