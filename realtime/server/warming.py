"""Loads the embedded model while the server already answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from realtime.model.local import LocalRealtimeModel

logger = logging.getLogger(__name__)


class Warming:
    """The loading of the embedded model that `find` returns.

    `say` receives a line about what is loading and what is missing.
    """

    def __init__(self, find: Callable[[], LocalRealtimeModel | None], say: Callable[[str], None]) -> None:
        self.missing: tuple[str, ...] = ()
        """A sentence for each part that this machine lacks."""
        self._find = find
        self._say = say
        self._loading: asyncio.Task[None] | None = None

    @property
    def ready(self) -> bool:
        """Whether a call need not wait for the model to load."""
        return self._loading is None or self._loading.done()

    async def loaded(self) -> None:
        """Wait until the model is loaded, or cannot be."""
        if self._loading is not None:
            await asyncio.wait([self._loading])

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Load the model while the server runs."""
        model = self._find()
        if model is not None:
            self._loading = asyncio.create_task(self._load(model), name="loading the embedded model")
        try:
            yield
        finally:
            if self._loading is not None:
                self._loading.cancel()
                await asyncio.wait([self._loading])

    async def _load(self, model: LocalRealtimeModel) -> None:
        began = time.monotonic()
        try:
            self.missing = await model.warm_up(lambda step: self._say(f"Loading the embedded model: {step} ..."))
        except Exception:
            logger.exception("the embedded model could not be loaded")
            self.missing = ("The embedded model could not be loaded: the server's log says why.",)
        for sentence in self.missing:
            self._say(f"Missing: {sentence}")
        if self.missing:
            self._say("Without that, everything else works; `realtime doctor` tells more.")
        self._say(f"The embedded model is ready after {time.monotonic() - began:.1f} s. It understands English only.")


def embedded_model_of(make_agent: Callable[..., object]) -> LocalRealtimeModel | None:
    """Return a model with the parts that a program's agents need; None: none embedded.

    Its agents are not made before there is a call, so this reads what the function names.
    """
    namespace = getattr(make_agent, "__globals__", {})
    code = getattr(make_agent, "__code__", None)
    names, constants = getattr(code, "co_names", ()), getattr(code, "co_consts", ())
    made = [one for one in namespace.values() if isinstance(one, LocalRealtimeModel)]
    if made:
        return made[0]
    opens = "open_model" in names and any(isinstance(one, str) and one.startswith("local") for one in constants)
    is_named = (
        opens or LocalRealtimeModel.__name__ in names or any(one is LocalRealtimeModel for one in namespace.values())
    )
    return LocalRealtimeModel() if is_named else None
