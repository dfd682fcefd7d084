"""A reply that a voice without words has cut goes on over a real socket."""

import numpy as np

from realtime.agent import RealtimeAgent
from realtime.agent.partial_words import no_words
from realtime.event import model as m
from tests.agent.fakes import WORDS, FakeModel
from tests.agent.test_selective_interruption import LEAVES
from tests.server.harness import Client, audio_append, serving

VOICE_MS = 1_900


def voice(seed: int) -> bytes:
    """100 ms of noise; not periodic, then it would resemble the fake reply."""
    return np.random.default_rng(seed).integers(-4_000, 4_000, 1_600).astype("<i2").tobytes()


async def spoken(client: Client) -> str:
    """The final words of the next item of the agent."""
    done = await client.until("agent_item_done")
    while done["item"]["role"] != "assistant":
        done = await client.until("agent_item_done")
    return str(done["item"]["content"][0]["transcript"])


async def test_the_rest_of_a_cut_reply_comes_as_a_response_that_names_the_cut_item() -> None:
    model = FakeModel(LEAVES)
    async with (
        serving(lambda: RealtimeAgent("Friday", "", model, recognise=no_words)) as place,
        place.client() as client,
    ):
        await client.make_call(turn_detection={"interruption": "selective"})
        await client.send({"type": "client_text_append", "text": "Count, please."})
        await client.until("agent_item_done")
        item_id = model.link.reply(10_000, WORDS)
        await client.until("agent_response_done")
        await client.send({"type": "client_playback_ack", "item_id": item_id, "played_ms": 1_000})
        await client.send(audio_append(voice(0)))
        while not model.link.heard_bytes():
            await client.send({"type": "client_item_retrieve", "item_id": item_id})
            await client.until("agent_item_retrieved")
        model.link.hear_start("item_1", 0)
        await client.until("agent_interruption")
        for number in range(1, VOICE_MS // 100):
            await client.send(audio_append(voice(number)))
        await client.until("server_audio_flush")
        await client.send({"type": "client_playback_ack", "item_id": item_id, "played_ms": 3_000, "flushed": True})
        cut = await client.until("agent_item_truncated")
        model.link.hear_end("item_1", VOICE_MS)
        model.link.say(m.ModelInputTranscriptionDoneEvent(item_id="item_1", transcript=""))
        created = await client.until("agent_response_created")
        assert created["metadata"] == {"resumes": item_id}
        rest = await spoken(client)
        assert f"{cut['transcript']} {rest}".split() == WORDS.split()
