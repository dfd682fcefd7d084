"""The calls of a server as messages of other agents reach them: running ones, new ones, and what they leave behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from realtime.a2a.call_executor import Caller
from realtime.agent import RealtimeAgent
from realtime.agent.run import AgentRun
from realtime.call.listener import EventDialect, Listener, QueueSink
from realtime.call.session import Session
from realtime.errors import ClientError, public_error
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime
from realtime.server.calls import Calls, CallSlot
from realtime.server.make_agent import MakeAgent, make_agent_of
from realtime.server.settings import ServerSettings
from realtime.state.log import Entry

logger = logging.getLogger(__name__)

SESSION_ID = "a2a"
"""The label of conversations that other agents begin."""
TEXT = ("text",)


class A2aCalls:
    """See `realtime.a2a.call_executor.Switchboard`. `make_agent` makes the agents of conversations in text."""

    def __init__(self, make_agent: MakeAgent, calls: Calls, settings: ServerSettings) -> None:
        self._make_agent = make_agent
        self._calls = calls
        self._settings = settings
        self._begun: dict[str, str] = {}
        """Running conversations and the addresses that began them.

        The one that has waited longest for a message comes first.
        """

    def new_id(self) -> str:
        """See `Switchboard`."""
        return self._runtime().new_id("call")

    def running(self, call_id: str, caller: Caller) -> Session | None:
        """See `Switchboard`. A message to a conversation makes it the one that is left last."""
        session = self._calls.sessions.get(call_id)
        if session is None or session.is_ending or not _may_have(session.owner, caller):
            return None
        if call_id in self._begun:
            self._begun[call_id] = self._begun.pop(call_id)
        return session

    async def is_over(self, call_id: str, caller: Caller) -> bool:
        """See `Switchboard`."""
        archive = self._calls.archive
        if not caller.sees_records or archive is None or call_id in self._calls.sessions:
            return False
        return await archive.info(call_id) is not None

    async def entries(self, call_id: str) -> Sequence[Entry]:
        """See `Switchboard`."""
        return await self._calls.archive.entries(call_id) if self._calls.archive is not None else []

    async def sound_url(self, call_id: str, caller: Caller) -> str | None:
        """See `Switchboard`. The address is that of the calls API, which asks for the server's token."""
        recordings, archive = self._calls.recordings, self._calls.archive
        if recordings is None or archive is None or not recordings.has(call_id):
            return None
        info = await archive.info(call_id)
        if info is None:
            return None
        return f"{caller.base_url}/api/calls/{quote(call_id)}/sound?user={quote(info.owner)}"

    async def begin(self, call_id: str, user: str, caller: Caller) -> Session:
        """See `Switchboard`."""
        slot = await self._slot(caller.address)
        try:
            if (waiting := self._calls.admission.enter(slot)) is not None:
                await waiting
            return await self._open(call_id, user, caller, slot)
        except BaseException:
            slot.leave()
            raise

    async def _slot(self, address: str) -> CallSlot:
        """Take a slot; where this address has too many calls, its conversation that was left longest ago ends."""
        try:
            return self._calls.take_slot(address)
        except ClientError as error:
            oldest = next((call_id for call_id, begun_by in self._begun.items() if begun_by == address), None)
            if error.code != "too_many_calls" or oldest is None:
                raise
            await self._calls.sessions[oldest].end("superseded")
            return self._calls.take_slot(address)

    async def _open(self, call_id: str, user: str, caller: Caller, slot: CallSlot) -> Session:
        config = SessionConfig()
        made: Any = await make_agent_of(self._make_agent, user=user, config=config, call_id=call_id, greets=False)
        if not isinstance(made, RealtimeAgent):
            raise ClientError("this server has no agent that answers in text", code="unsupported_response")
        remembered, callers = None, self._calls.callers
        if callers is not None and caller.user is not None:
            remembered = await callers.begin(made, caller.user)
            made = remembered.agent
        runtime = self._runtime()
        participant: AgentRun = made.run()
        if "text" in participant.spec.model.profile.output_modalities:
            config = msgspec.structs.replace(config, output_modalities=TEXT)
        session = Session(
            participant=participant,
            runtime=runtime,
            session_id=SESSION_ID,
            call_id=call_id,
            limits=self._settings.limits,
            owner=user,
        )
        session.config = config
        slot.fill(session)
        if remembered is not None:
            remembered.follow(session)
        if self._calls.archive is not None:
            self._calls.archive.keep(session, None)
        self._begun[call_id] = caller.address
        session.on_ended.append(self._ended)
        listener = Listener(sink=QueueSink(_unread), dialect=EventDialect(), runtime=runtime, takes_unasked=False)
        session.on_ended.append(lambda ended: ended.detach(listener, for_good=True))
        session.attach(listener)
        try:
            await session.start(config)
        except Exception as error:
            logger.warning("could not start the agent of %s: %s", call_id, public_error(error).code)
            raise
        return session

    def _ended(self, session: Session) -> None:
        self._begun.pop(session.call_id, None)

    def _runtime(self) -> Runtime:
        return self._calls.make_runtime(asyncio.get_running_loop())


def _may_have(owner: str, caller: Caller) -> bool:
    return caller.user is None or caller.user == owner


def _unread(event: object) -> None:
    """Take an event that no one reads: the log has it."""
