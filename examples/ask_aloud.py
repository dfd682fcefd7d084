"""Ask an agent a question aloud, from Python: `python examples/ask_aloud.py http://127.0.0.1:8000 question.wav`."""

import asyncio
import sys

from realtime.audio.files import read_pcm16
from realtime.client import INPUT_HZ, Call, connect
from realtime.event import SessionConfig


def doors_of(floor: int) -> str:
    """Count the doors of a floor of this house.

    Args:
        floor: 0 is the ground floor.
    """
    return f"{4 + floor} doors"


async def print_captions(call: Call) -> None:
    """Print what each side has said, once it is said."""
    printed: set[str] = set()
    async for _ in call:
        for caption in call.captions():
            if caption.done and caption.item_id not in printed:
                printed.add(caption.item_id)
                print(f"{caption.role}: {caption.heard}")


async def main(url: str, recording: str) -> None:
    config = SessionConfig(instructions="You look after a house. Answer in one sentence.")
    async with connect(url, config=config, tools=[doors_of]) as call:
        captions = asyncio.create_task(print_captions(call))
        await call.speak(read_pcm16(recording, INPUT_HZ))
        print("answer:", await call.answered())
        captions.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
