"""The built-in agent of a server: a name, a model and a few tools."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from realtime.agent import RealtimeAgent
from realtime.agent.run import AgentRun
from realtime.agent.settings import AgentSpec
from realtime.call.participant import Host
from realtime.errors import ProviderError
from realtime.event.base import ResponseOverrides
from realtime.event.client import ClientResponseCreateEvent
from realtime.event.config import SessionConfig
from realtime.message import HintBlock
from realtime.model.base import RealtimeModel
from realtime.model.local.choices import Found, find_servers
from realtime.model.local.keyless.product import Product, StoreKind
from realtime.model.local.keyless.skills import make_skills, say_duration
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.services import SERVICES
from realtime.server.app import ModelOffer, ServerInfo
from realtime.server.models import Models
from realtime.server.retention import DAY_S
from realtime.server.settings import ServerSettings
from realtime.server.warming import Warming
from realtime.tool import Toolkit

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_AGAIN_S = 10.0
"""How long the language models found on this computer stay on offer."""
NAME = "Heart"
INSTRUCTIONS = (
    "Your name is Heart. You are a friendly voice assistant. You speak, so answer in one to three short sentences, "
    "without lists, markup or emoji. Use the tools for the time, the date, sums and timers."
)

GREETING = (
    "Greet the user in one short sentence: say your name, and name two or three things to try, such as the time, a "
    "sum, a timer or a joke."
)
SUGGESTIONS = (
    "What can you do?",
    "What time is it, and what is seven times eight?",
    "Set a timer for ten seconds.",
    "Remember that my dog is called Rex.",
    "Tell me a joke.",
)
"""Prompts to try with the built-in agent."""


class HouseAgent(RealtimeAgent):
    """Greets, tells time and date, calculates, and announces timers by voice. Its timers end with it.

    It greets clients that expect it (`greets`); never with the scripted model, which says what its script holds.
    """

    def __init__(self, model: RealtimeModel, *, greets: bool = True) -> None:
        self._timers = Timers()
        skills = make_skills(time.time, on_timer=self._timers.set)
        super().__init__(
            NAME,
            INSTRUCTIONS,
            model,
            toolkit=Toolkit(skills),
            client_may_replace_tools=True,
            greeting=GREETING if greets and model.profile.provider != "scripted" else "",
            suggestions=SUGGESTIONS,
        )

    def run(self) -> AgentRun:
        """See `RealtimeAgent.run`. Timers ring in the latest run."""
        return HouseRun(self.spec, self._timers)

    def another(self) -> HouseAgent:
        """See `RealtimeAgent.another`. The new agent has the same tools and its own timers."""
        agent = HouseAgent(self.model)
        agent.name, agent.sys_prompt, agent.agent_id = self.name, self.sys_prompt, self.agent_id
        agent.greeting = self.greeting
        return agent


class HouseRun(AgentRun):
    """The built-in agent in one call."""

    def __init__(self, spec: AgentSpec, timers: Timers) -> None:
        super().__init__(spec)
        self._timers = timers
        timers.run = self

    async def join(self, host: Host, config: SessionConfig) -> None:
        """See `AgentRun.join`. The error for a rejected key names the variable that holds it."""
        try:
            await super().join(host, config)
        except ProviderError as error:
            service = SERVICES.get(self.spec.model.profile.provider)
            if error.code != "invalid_api_key" or service is None:
                raise
            raise service.refused_key(os.environ) from error

    def retire(self) -> list[HintBlock]:
        """See `AgentRun.retire`."""
        self._timers.stop()
        return super().retire()

    async def leave(self, reason: str) -> None:
        """See `AgentRun.leave`."""
        self._timers.stop()
        await super().leave(reason)


class Timers:
    """Timers that an agent rings by voice."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._handles: set[asyncio.TimerHandle] = set()
        self.run: AgentRun | None = None
        """Where they ring; None once its call is over."""

    def set(self, seconds: float) -> None:
        """Set a timer, from any thread: plain functions run in one."""
        self._loop.call_soon_threadsafe(self._start, seconds)

    def stop(self) -> None:
        """Cancel all timers, and release the run."""
        for handle in self._handles:
            handle.cancel()
        self._handles.clear()
        self.run = None

    def _start(self, seconds: float) -> None:
        run = self.run
        if run is None:
            return

        def ring() -> None:
            self._handles.discard(handle)
            words = f"Your timer is up: {say_duration(seconds)} have passed."
            run.receive(ClientResponseCreateEvent(response=ResponseOverrides(instructions=f"Say exactly: {words}")))

        handle = self._loop.call_later(seconds, ring)
        self._handles.add(handle)


def product_of(settings: ServerSettings, environment: Mapping[str, str] = os.environ) -> Product:
    """Return what the keyless model may say of such a server."""
    store: StoreKind = "disk"
    if settings.store is None:
        store = "none"
    elif settings.store.startswith("memory:"):
        store = "memory"
    return Product(
        store=store,
        keep_days=settings.keep_s / DAY_S if settings.keep_s is not None else None,
        keep_gb=settings.keep_bytes / 1e9 if settings.keep_bytes is not None else None,
        records=settings.recordings is not None,
        lists_calls=settings.lists_calls,
        ready=tuple(service.title for service in SERVICES.values() if service.has_key(environment)),
    )


class House:
    """The built-in agents of one server.

    Where calls get the embedded model by default, it loads while the server already answers. `say` receives a line
    about what is loading and what is missing.
    """

    def __init__(
        self,
        models: Models,
        say: Callable[[str], None],
        find_servers: Callable[[], Sequence[Found]] = find_servers,
    ) -> None:
        self._models = models
        self._find_servers = find_servers
        self._running: Sequence[Found] = ()
        self._look_again_s = 0.0
        self.warming = Warming(self._embedded, say)

    def make_agent(self, config: SessionConfig, greets: bool = True) -> RealtimeAgent:
        """Make the agent of one call. Raises what `Models.choose` raises."""
        return HouseAgent(self._models.choose(config), greets=greets)

    async def info(self) -> ServerInfo:
        """Describe the default model, once its abilities are known."""
        await self.warming.loaded()
        model = self._models.open(self._models.default)
        described = RealtimeAgent(NAME, INSTRUCTIONS, model, suggestions=SUGGESTIONS).describe()
        return ServerInfo(model=described, notices=self.warming.missing, agent_name=NAME)

    async def offer(self) -> ModelOffer:
        """Describe the models on offer, once their abilities are known.

        Looks for language models of other programs on this computer, if calls may choose them: at most every
        `LOOK_AGAIN_S`, since each page asks when it opens.
        """
        await self.warming.loaded()
        if not self._models.offers_servers:
            return ModelOffer(default=self._models.default, models=self._models.offered())
        if time.monotonic() >= self._look_again_s:
            self._look_again_s = time.monotonic() + LOOK_AGAIN_S
            self._running = await self._off_the_loop(self._find_servers)
        return ModelOffer(
            default=self._models.default, models=await self._off_the_loop(self._models.offered, self._running)
        )

    def _embedded(self) -> LocalRealtimeModel | None:
        opened = map(self._models.open, self._models.served)
        return next((one for one in opened if isinstance(one, LocalRealtimeModel)), None)

    async def _off_the_loop(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)
