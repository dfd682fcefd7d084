"""A process to be killed: it logs a call through a spill and prints what it has logged, as fast as it can be read.

`python crash_writer.py STORE_URL SEED`. Each line on stdout: the last `seq`, the time it was logged in monotonic ms,
and by how much the latest steps came too late, in ms: the machine's share of a loss, not the store's.
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

STEP_S = 0.005
CALLS = ("one", "two", "three")
PCM = AudioFormat.pcm16(24_000)


async def main(url: str, seed: int) -> None:
    random, loop = Random(seed), asyncio.get_running_loop()
    spill = Spill(open_store(url), ThreadPoolExecutor(1))
    logs = {name: Log(loop.time) for name in CALLS}
    for name, log in logs.items():
        spill.add(CallInfo(call_id=name, created_at="2026-01-01T00:00:00.000Z"), log)
    words = 0
    while True:
        began_s = loop.time()
        for log in logs.values():
            if random.random() < 0.6:
                log.append(AgentResponseAudioDeltaEvent(response_id="r", item_id="i", delta=bytes(1_920), format=PCM))
            else:
                words += 1
                log.append(
                    AgentResponseAudioTranscriptDeltaEvent(response_id="r", item_id="i", delta=f"word {words} " * 20)
                )
        # Every log has as many entries.
        os.write(1, f"{log.last_seq} {began_s * 1000:.1f} ".encode())
        await asyncio.sleep(STEP_S)
        os.write(1, f"{(loop.time() - began_s - STEP_S) * 1000:.1f}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
