"""A claim without a deed, from the service of each provider: its reply is cut, and it is asked for another."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from realtime.agent.realtime import RealtimeAgent
from realtime.audio.playback import AcknowledgedPlayback
from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.event.server import CLAIM_WITHHELD
from realtime.runtime import Runtime
from realtime.tool import Toolkit
from tests.agent.fakes import ListSink, listener_into
from tests.model.providers import FAKES, Fake

BOOKED = "I've reserved your table for six."
SECOND = b"\x01\x02" * 24_000


def book_table(people: int) -> str:
    """Book a table."""
    return f"booked for {people}"


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
async def test_a_claim_is_cut_and_the_service_asked_for_a_correction(fake: Fake) -> None:
    toolkit = Toolkit()
    toolkit.register(book_table, claims=["I have booked the table"])
    async with fake.service() as service:
        runtime = Runtime()
        agent = RealtimeAgent("Friday", "Be nice.", fake.model(service), toolkit=toolkit, claims="checked")
        session = Session(participant=agent.run(), runtime=runtime, session_id="session1")
        view = listener_into(ListSink(), runtime, clock=AcknowledgedPlayback(24_000))
        session.attach(view)
        told: list[s.ServerEvent] = []
        news = asyncio.Event()

        def note(event: s.ServerEvent) -> None:
            told.append(event)
            news.set()

        session.log.subscribe(note)
        await session.start(SessionConfig(turn_detection=TurnDetection(authority="client")))

        async def until(holds: Any) -> None:
            async with asyncio.timeout(20):
                while not holds():
                    news.clear()
                    await news.wait()

        try:
            session.receive(c.ClientTextAppendEvent(text="A table for six, please."))
            link = await service.session()
            await link.when(lambda: "A table for six" in json.dumps(link.frames))
            await fake.speak(link, BOOKED, SECOND)
            await until(lambda: any(isinstance(event, s.ServerAudioFlushEvent) for event in told))
            (event,) = [one for one in told if isinstance(one, s.ServerCustomEvent)]
            assert event.name == CLAIM_WITHHELD
            assert event.value["sentence"] == BOOKED
            assert event.value["heard"] is False
            await link.when(lambda: "has succeeded in this conversation" in json.dumps(link.frames))
            items = session.conversation.items()
            assert not any("reserved" in item.text for item in items if item.role == "assistant")
        finally:
            await session.end("test_over")
            session.detach(view)
