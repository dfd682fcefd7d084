"""Runs a test case: the real server, simulated pages and scripted users in one process.

Under a `VirtualLoop` every run of a case gives the same log, byte for byte; on any other loop it takes real time.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from fastapi import FastAPI

from realtime.agent import RealtimeAgent
from realtime.agent.partial_words import no_words
from realtime.call.limits import Limits
from realtime.call.session import Session
from realtime.errors import UsageError
from realtime.event.config import SessionConfig
from realtime.model.base import RealtimeModel
from realtime.options import check_options
from realtime.runtime import Runtime
from realtime.server.app import create_app
from realtime.server.calls import Calls
from realtime.server.make_agent import MakeAgent, make_agent_of
from realtime.server.settings import ServerSettings
from realtime.testing.cases.case import CASE_FILE, Case, Person, check_case, load_case
from realtime.testing.cases.stand_in import StandIn, StandInModel
from realtime.testing.cases.tools import TestToolkit, Tools
from realtime.testing.cases.used_up import notes_on
from realtime.testing.cassettes.format import FILE_NAME as CASSETTE_FILE
from realtime.testing.cassettes.format import Scrubber, audio_places, dump, parsed
from realtime.testing.cassettes.record import RecordingModel, TappedModel, both, keys_of_environment
from realtime.testing.cassettes.replay import RecordedModel, recorded_model
from realtime.testing.cassettes.tool_results import tool_results
from realtime.testing.client.page import Page
from realtime.testing.client.pair import Direction, Frame
from realtime.testing.client.steps import GREETS, Send, Step
from realtime.testing.client.user import User
from realtime.testing.clock import Cost, VirtualLoop
from realtime.testing.errors import CaseError, RunFailure, ScriptFailure
from realtime.testing.record import CallRecord, WholeLog, WireFrame

if TYPE_CHECKING:
    from realtime.testing.check.run import Run

Source = str | Path | Case | Sequence[Step]
"""A case (folder or Python), an audio file, or one user's steps."""
Model = RealtimeModel | StandIn | Literal["case", "own"]
"""`case`: the case's model, if any (`models`, or a cassette in the folder `cassette`), else the agent's own. `own`:
always the agent's own."""

M = TypeVar("M", bound=RealtimeModel)
OnStep = Callable[[int, float], None]
"""Receives a step's number, from 1, and the ms of the call."""
Leg = Literal["client", "model"]
Passed = tuple[float, Leg, Direction, str, Frame]
"""A frame: loop time, direction seen from the server, name of user or agent."""

AGENT = "Friday"
CASSETTE_FOLDER = "cassette"
LOCAL_COSTS: dict[str, Cost] = {
    "Recognizer.transcribe": lambda pcm, context="": 0.1 + len(pcm) / 32_000 * 0.035,
    "SmartTurn.completeness": 0.06,
    "HibariVoice.synthesize": 0.02,
}
"""Costs of the embedded model's parts in virtual seconds: about what they take on one core of a small server
(recognition 0.1 s and 35 ms for each second of speech, how complete a voice sounds, a response's first sentence)."""
_AUDIO = re.compile(r'("(?:audio|delta|data)": ?")([A-Za-z0-9+/=]{64,})"')
_BINARY = re.compile(r"(?:data:[^,]{0,100};base64,)?[A-Za-z0-9+/=_-]{256,}")
"""Audio or images, encoded as text."""
_MAY_BE_SECRET = re.compile(r'token"|secret|password|authorization|api.?key|cookie|credential|"config"|://', re.I)
"""Matches frames that may contain a secret; the frequent frames match nothing here and need no closer look."""


async def voice_call(source: Source, **options: Any) -> Run:
    """Play a case as `play` does; return a `Run`, which has the checks."""
    from realtime.testing.check.run import Run

    return Run(await play(source, **options))


async def play(
    source: Source,
    *,
    agent: MakeAgent | None = None,
    model: Model = "case",
    tools: Tools = "recorded",
    config: dict[str, Any] | None = None,
    folder: str | Path | None = None,
    settings: ServerSettings | None = None,
    frames: bool = True,
    on_step: OnStep | None = None,
) -> CallRecord:
    """Run a case to its end: all users do their steps and leave.

    `agent` makes the agent of the call, as for `realtime serve`; without it, a plain one uses the case's model. `model`
    is one that every agent gets, `case` (that of the case, else the agent's) or `own`.
    `config` is added to the case's call settings. `folder` is where audio files are if `source` is not a folder.
    `settings` are the server's. `frames` records every frame on the wire, for the report. `on_step` is called before
    each step of the user.

    Raises UsageError for a wrong argument, CaseError for a case that cannot be run, ScriptFailure (with the call up to
    there) where a user waited in vain, and what the server raised. Cancelling ends the call and leaves nothing behind.
    """
    case, where = _case_of(source, folder)
    if isinstance(model, StandIn):
        model = model.model(where)
    _check_options(model, tools, config)
    check_options(play, locals())
    if len(case.users) > 1:
        raise CaseError(where / CASE_FILE, "a call has one user", "Keep one of them.", place="users")
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        for job, cost in (LOCAL_COSTS | case.costs).items():
            loop.declare_cost(job, cost)
        runtime = naming_apart(Runtime.deterministic(loop.time, seed=case.seed))
    else:
        runtime = Runtime.of_loop(loop)
    stage = _Stage(case, where, agent, model, tools, frames)
    with stage.keeping_cassettes():
        return await _play(stage, runtime, config or {}, settings, on_step)


def _check_options(model: Model, tools: Tools, config: dict[str, Any] | None) -> None:
    """Raise UsageError for what would silently be something else."""
    if not isinstance(model, RealtimeModel) and model not in ("case", "own"):
        raise UsageError(f"model is a RealtimeModel, a StandIn, 'case' or 'own', not {model!r}", code="bad_model")
    if not isinstance(tools, Mapping) and tools not in ("recorded", "run"):
        raise UsageError(f"tools is 'recorded', 'run' or functions by name, not {tools!r}", code="bad_tools")
    known = SessionConfig.__struct_fields__
    if unknown := sorted({*(config or {})} - {*known}):
        raise UsageError(f"config has no {', '.join(unknown)}; it has {', '.join(known)}", code="bad_config")


async def _play(
    stage: _Stage,
    runtime: Runtime,
    config: dict[str, Any],
    settings: ServerSettings | None,
    on_step: OnStep | None,
) -> CallRecord:
    began_s = time.perf_counter()
    loop = asyncio.get_running_loop()
    case, where = stage.case, stage.folder
    settings = settings or ServerSettings(
        limits=Limits(grace_s=case.grace_s), drain_s=0.0, endpoints=(), lists_calls=False
    )
    person = case.users[0]

    def note(direction: Direction, frame: Frame) -> None:
        stage.frames.append((loop.time(), "client", direction, person.name, frame))

    async with serving(stage.make_agent, settings, runtime) as app:
        app.state.calls.on_call.append(stage.follow)
        page = Page(
            app,
            person.name,
            client=person.client,
            config=case.config | config,
            seed=case.seed,
            tap=note if stage.notes_frames else None,
        )
        stage.on_model = partial(_align, page)
        user = User(person.name, page, person.steps, where, seed=case.seed)
        if on_step is not None:
            user.on_step = lambda number: on_step(number, page.ms())
        failure: ScriptFailure | None = None
        try:
            async with asyncio.timeout(case.limit_s):
                await page.join()
                await user.run()
                await page.leave()
        except TimeoutError:
            failure = ScriptFailure(f"the case did not end within {case.limit_s:g} s")
        except ScriptFailure as error:
            failure = error
        finally:
            await page.close()
    record = None
    if stage.sessions:
        record = CallRecord(
            name=case.name,
            entries=tuple(stage.logs[0].entries),
            items=tuple(stage.sessions[0].conversation.items()),
            lanes=tuple(page.lanes()),
            spoken=tuple(user.spoken),
            played=tuple(page.played()),
            marks=tuple(user.marks),
            frames=_frames(page, stage.frames, stage.secrets),
            late_samples=page.ear.late_samples,
            wall_s=time.perf_counter() - began_s,
            folder=where,
            expected=case.expect,
            notes=notes_on(stage.models_of(StandInModel), stage.logs[0].entries, page.ms),
        )
    try:
        stage.raise_failures()
    except (CaseError, RunFailure) as error:
        error.record = record
        raise
    if failure is not None or record is None:
        failure = failure or ScriptFailure("the server made no call")
        raise failure.with_record(record) from stage.cause
    return record


def _align(page: Page, model: RealtimeModel) -> None:
    """Make the page align words and audio as the server does."""
    page.ear.aligned = model.profile.aligns_transcript


def _case_of(source: Source, folder: str | Path | None) -> tuple[Case, Path]:
    if isinstance(source, str | Path):
        case, found = load_case(source)
        return case, found if folder is None else Path(folder)
    where = Path.cwd() if folder is None else Path(folder)
    case = source if isinstance(source, Case) else Case(users=(Person(tuple(source)),), name="steps")
    check_case(case, where / CASE_FILE)
    return case, where


def naming_apart(runtime: Runtime) -> Runtime:
    """Return the runtime with ids such as `item_c4`: a scripted model counts `item_4` itself."""

    def new_id(prefix: str) -> str:
        kind, _, number = runtime.new_id(prefix).rpartition("_")
        return f"{kind}_c{number}"

    return replace(runtime, new_id=new_id)


@asynccontextmanager
async def serving(make_agent: MakeAgent, settings: ServerSettings, runtime: Runtime) -> AsyncIterator[FastAPI]:
    """Run the server's application with this runtime until the block ends."""
    app = create_app(make_agent, settings)
    calls: Calls = app.state.calls
    calls.make_runtime = lambda _: runtime
    async with app.router.lifespan_context(app):
        yield app


@dataclass(slots=True)
class _Stage:
    """Replaces the agent's parts with the case's, and follows the calls."""

    case: Case
    folder: Path
    agent: MakeAgent | None
    model: Model
    tools: Tools
    notes_frames: bool
    sessions: list[Session] = field(default_factory=list)
    logs: list[WholeLog] = field(default_factory=list)
    models: list[RealtimeModel] = field(default_factory=list)
    """The models of the agents, each once."""
    toolkits: list[TestToolkit] = field(default_factory=list)
    frames: list[Passed] = field(default_factory=list)
    """The frames of the user and of the agents' models, in order."""
    on_model: Callable[[RealtimeModel], None] = lambda _: None
    """Called with the model of each agent, before it speaks."""
    failure: CaseError | None = None
    cause: Exception | None = None
    """The exception of the agent's own function."""

    async def make_agent(self, user: str, config: SessionConfig, call_id: str) -> RealtimeAgent:
        """See `MakeAgent`. Clients learn little about an error here; the test gets all of it."""
        try:
            return await self._made(user, config, call_id)
        except CaseError as error:
            self.failure = self.failure or error
            raise
        except Exception as error:
            self.cause = error
            raise

    async def _made(self, user: str, config: SessionConfig, call_id: str) -> RealtimeAgent:
        if self.agent is None:
            made = RealtimeAgent(AGENT, "", self._model_for(AGENT, None), recognise=no_words)
        else:
            agent = await make_agent_of(self.agent, user=user, config=config, call_id=call_id)
            if not isinstance(agent, RealtimeAgent):
                raise CaseError(self.folder, "the agent is a participant of a room", "Play rooms with voice_room.")
            made = agent
            if any(isinstance(step, Send) and step.event.get("event_id") == GREETS for step in self._steps()):
                made.greeting = ""  # the exported call has it at its moment, by a request of the client
            self._check_tools(made)
            made.model = self._model_for(made.name, made.model)
        self.on_model(made.model)
        if made.model not in self.models:
            self.models.append(made.model)
            if isinstance(made.model, RecordingModel):
                made.model.hold()
        if self.notes_frames and isinstance(made.model, TappedModel):
            made.model = self._listening_to(made.model, made.name)
        by_call = tool_results(made.model.cassette) if isinstance(made.model, RecordedModel) else {}
        toolkit = TestToolkit(made.toolkit, self.tools, self.case.tools, self.folder / CASE_FILE, by_call)
        self.toolkits.append(toolkit)
        made.toolkit = toolkit
        return made

    def _steps(self) -> Iterator[Step]:
        return (step for person in self.case.users for step in person.steps)

    def _model_for(self, name: str, own: RealtimeModel | None) -> RealtimeModel:
        if isinstance(self.model, RealtimeModel):
            return self.model
        stand_in = self.case.models.get(name) or self.case.models.get("*")
        if stand_in is None and self.case.models and self.model == "case":
            problem = f"there is no model for the agent {name!r}"
            remedy = f"Name it so, or *: the case has {', '.join(self.case.models)}."
            raise CaseError(self.folder / CASE_FILE, problem, remedy, place="models")
        if stand_in is not None and (self.model == "case" or own is None):
            return stand_in.model(self.folder)
        cassette = self.folder / CASSETTE_FOLDER
        if (cassette / CASSETTE_FILE).is_file() and (self.model == "case" or own is None):
            return recorded_model(cassette)
        if own is None:
            raise CaseError(
                self.folder / CASE_FILE, "there is no model", "Give an agent, or models in the case.", place="models"
            )
        return own

    def _check_tools(self, agent: RealtimeAgent) -> None:
        """Check the case's tool names: with a wrong name, the real tool would run."""
        known = [tool.name for tool in agent.toolkit.declarations()]
        for name in self.case.tools:
            if self.tools != "run" and self.case.models and name not in {*known, *self.case.called_tools}:
                problem = f"there is no call of a tool {name!r}, and the agent {agent.name!r} has none"
                remedy = f"It has: {', '.join(known) or 'none'}."
                raise CaseError(self.folder / CASE_FILE, problem, remedy, place=f"tools.{name}")

    def _listening_to(self, model: RealtimeModel, name: str) -> RealtimeModel:
        """Return a model whose frames are recorded. Does not change the given one, which other calls may use."""
        now = asyncio.get_running_loop().time
        listening = cast(Any, copy.copy(model))
        listening.tap = both(
            lambda direction, frame, _: self.frames.append((now(), "model", direction, name, frame)), listening.tap
        )
        return cast(RealtimeModel, listening)

    def follow(self, session: Session) -> None:
        """Follow a call that begins, or resumes after its grace time."""
        log = WholeLog()
        self.sessions.append(session)
        self.logs.append(log)
        session.log.subscribe(log.read)

    @property
    def secrets(self) -> list[str]:
        """Values that must not be shown."""
        return [secret for recording in self.models_of(RecordingModel) for secret in recording.secrets]

    def models_of(self, kind: type[M]) -> list[M]:
        """Return the models of this kind."""
        return [model for model in self.models if isinstance(model, kind)]

    @contextmanager
    def keeping_cassettes(self) -> Iterator[None]:
        """Replace earlier cassettes by new recordings if the block succeeds; else say what was kept."""
        try:
            yield
        except BaseException as error:
            for recording in self.models_of(RecordingModel):
                for sentence in recording.settle(failed=True):
                    error.add_note(sentence)
            raise
        for recording in self.models_of(RecordingModel):
            recording.settle(failed=False)

    def raise_failures(self) -> None:
        """Raise the first CaseError that only the model or client learned of."""
        if self.failure is not None:
            raise self.failure
        for toolkit in self.toolkits:
            if toolkit.failures:
                raise toolkit.failures[0]
        for replay in self.models_of(RecordedModel):
            replay.check()


def _frames(page: Page, passed: Sequence[Passed], secrets: Iterable[str]) -> tuple[WireFrame, ...]:
    """Return the frames as a report shows them."""
    scrubber = Scrubber((*secrets, *keys_of_environment()))
    return tuple(
        WireFrame(page.ms(at_s), leg, direction, who, _shown(leg, frame, scrubber))
        for at_s, leg, direction, who, frame in passed
    )


def _shown(leg: Leg, frame: Frame, scrubber: Scrubber) -> str:
    """Return a frame for a report: without audio, without secrets."""
    if leg == "client":
        if isinstance(frame, bytes):
            return json.dumps({"binary": len(frame)})
        if not _MAY_BE_SECRET.search(frame):
            return _AUDIO.sub(lambda found: f'{found[1]}{_size(found[2])}"', frame)
    body = parsed(frame)
    if body is None:
        return json.dumps({"binary" if isinstance(frame, bytes) else "text": len(frame)})
    for holder, key in audio_places(body):
        if isinstance(holder[key], str):
            holder[key] = _size(holder[key])
    return dump(scrubber.clean(_without_binary(body)))


def _without_binary(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: _without_binary(value) for name, value in node.items()}
    if isinstance(node, list):
        return [_without_binary(value) for value in node]
    return _size(node) if isinstance(node, str) and _BINARY.fullmatch(node) else node


def _size(text: str) -> str:
    return f"({len(text)} characters)"
