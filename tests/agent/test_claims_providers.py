"""A claim without a deed, from the service of each provider: its reply is cut, and it is asked for another."""

from __future__ import annotations

import json

import pytest

from realtime.audio.playback import AcknowledgedPlayback
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.server import CLAIM_WITHHELD
from realtime.tool import Toolkit
from tests.agent.test_consent_providers import PUSH_TO_TALK, provider_call
from tests.model.providers import FAKES, Fake

ORDER = "A table for six, please."
BOOKED = "I've reserved your table for six."
SECOND = b"\x01\x02" * 24_000


def book_table(people: int) -> str:
    """Book a table."""
    return f"booked for {people}"


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
async def test_a_claim_is_cut_and_the_service_asked_for_a_correction(fake: Fake) -> None:
    toolkit = Toolkit()
    toolkit.register(book_table, claims=["I have booked the table"])
    async with provider_call(fake, toolkit, PUSH_TO_TALK, AcknowledgedPlayback(24_000), claims="checked") as made:
        made.session.receive(c.ClientTextAppendEvent(text=ORDER))
        provider = await made.service.session()
        await provider.when(lambda: ORDER in json.dumps(provider.frames))
        await fake.speak(provider, BOOKED, SECOND)
        await made.until(lambda: made.of(s.ServerAudioFlushEvent) != [])
        (event,) = made.of(s.ServerCustomEvent)
        assert (event.name, event.value["sentence"], event.value["heard"]) == (CLAIM_WITHHELD, BOOKED, False)
        await provider.when(lambda: "has succeeded in this conversation" in json.dumps(provider.frames))
        items = made.session.conversation.items()
        assert not any("reserved" in item.text for item in items if item.role == "assistant")
