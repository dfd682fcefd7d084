"""Other humans' live voices in a room, played as they come. Pure: time is an argument."""

from __future__ import annotations

import numpy as np

from realtime.client.speaker import Speaker

JITTER_S = 0.06
"""How much later than it came a voice begins: what the network may be late afterwards."""


class LiveVoices:
    """Plays each voice on a speaker of its own. `latency_s` is the time from a block to the ear."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._speakers: dict[str, Speaker] = {}

    def play(self, item_id: str, offset: int, pcm: bytes, now: float) -> None:
        """Queue a voice's next sound; after silence it waits a moment, so that what follows may be late."""
        speaker = self._speakers.get(item_id)
        if speaker is None:
            speaker = self._speakers[item_id] = Speaker(self._latency_s, forgets=True)
        ends_s = (speaker.ends_at() or 0.0) - self._latency_s
        speaker.play(item_id, offset, pcm, now if ends_s > now else now + JITTER_S)

    def mix_into(self, block: bytes, from_s: float, length_ms: int) -> bytes:
        """Return the block with what is heard of the voices then."""
        heard = [speaker.audible(from_s, length_ms) for speaker in self._speakers.values()]
        sounding = [np.frombuffer(pcm, "<i2").astype(np.int32) for pcm in heard if any(pcm)]
        if not sounding:
            return block
        mixed = sum(sounding, np.frombuffer(block, "<i2").astype(np.int32))
        return np.clip(mixed, -32_768, 32_767).astype("<i2").tobytes()

    def leave(self, participant_id: str) -> None:
        """Forget the voice of a participant who has left."""
        for item_id in [one for one in self._speakers if one.startswith(f"{participant_id}.")]:
            del self._speakers[item_id]
