"""Plays a case or a recording to an agent, for `realtime replay`."""

from __future__ import annotations

import asyncio
from datetime import UTC
from functools import partial
from pathlib import Path

from realtime.errors import UsageError
from realtime.model.base import RealtimeModel
from realtime.model.local.keyless.skills import make_skills
from realtime.model.open import open_model
from realtime.runtime import Runtime
from realtime.server.builtin import HouseAgent
from realtime.server.make_agent import MakeAgent
from realtime.testing.call import Model, play
from realtime.testing.cassettes.replay import RecordedModel, recorded_model
from realtime.testing.clock import VirtualLoop
from realtime.testing.errors import CaseError, RunFailure
from realtime.testing.record import CallRecord
from realtime.tool import Toolkit

CASSETTE_FILE = "cassette.jsonl"


def replay(
    source: str | Path,
    *,
    agent: MakeAgent | None = None,
    model: str | None = None,
    real_time: bool = False,
    frames: bool = False,
) -> CallRecord:
    """Play a folder's case; or speak an audio file and await the response.

    `model` is a name as for `realtime serve --model`, or a cassette's folder, replayed leniently; without it, the
    case's own model, else the agent's. Without `agent`, a named model gets the agent of `realtime serve`, others a
    plain one. Time is virtual unless `real_time`: a real provider needs that. `frames` records the wire frames.

    Raises CaseError and ScriptFailure as `play` does, UsageError for an unavailable model.
    """
    chosen: Model = "case" if model is None else _model(model)
    if agent is None and isinstance(chosen, RealtimeModel) and not isinstance(chosen, RecordedModel):
        agent = partial(_ReplayedHouseAgent, chosen) if real_time else partial(_TimelessHouseAgent, chosen)
    loop_factory = asyncio.new_event_loop if real_time else VirtualLoop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(play(source, agent=agent, model=chosen, frames=frames))


def judged_replay(source: str | Path, *, agent: MakeAgent | None = None) -> tuple[CallRecord, str | None]:
    """Play the case in a folder for a report; return the call and its failure, if any.

    Raises CaseError and ScriptFailure where there is no call to show.
    """
    try:
        return replay(source, agent=agent, frames=True), None
    except (CaseError, RunFailure) as error:
        if error.record is None:
            raise
        return error.record, str(error)


class _ReplayedHouseAgent(HouseAgent):
    """The built-in agent without its greeting: in a case or a recording, the user begins."""

    def __init__(self, model: RealtimeModel) -> None:
        super().__init__(model)
        self.greeting = ""


class _TimelessHouseAgent(_ReplayedHouseAgent):
    """The same on the call's clock, for repeatable responses."""

    def __init__(self, model: RealtimeModel) -> None:
        super().__init__(model)
        wall_now = Runtime.deterministic(asyncio.get_running_loop().time).wall_now
        self.toolkit = Toolkit(make_skills(wall_now, zone=UTC, on_timer=self._timers.set))


def _model(name: str) -> RealtimeModel:
    folder = Path(name)
    if (folder / CASSETTE_FILE).is_file():
        return recorded_model(folder, strict=False)
    if folder.is_dir():
        raise UsageError(f"there is no {CASSETTE_FILE} in {folder}: name a cassette's folder, or a model", code="model")
    return open_model(name)
