"""The pytest plugin: tests of voice agents in virtual time, active wherever this package is installed.

    async def test_refund_call_survives_interruption(voice_call):
        run = await voice_call("fixtures/calls/refund", agent=support_agent)
        run.agent_said("order number")

An async test that uses `voice_call`, itself or through another fixture, needs no marker: it runs on a `VirtualLoop` of
its own, under a `Guard`. All other async tests keep their loop. `@pytest.mark.virtual_time` gives any async test such
a loop.

Fixtures: `voice_call`, `voice_room`, `recorded_model`, `scripted_model`. Options: `--voice-record`, `--voice-realtime`,
`--voice-report`, `--voice-accepted`. Setting: `voice_allow`. Needs pytest-asyncio 1.4 or newer, and reports that to a
test that uses `voice_call` or `voice_room` without it. `-p no:realtime_voice` turns the plugin off. No heavy module of
the package is imported before a fixture is used.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import pickle
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from realtime.agent import RealtimeAgent
    from realtime.model.base import RealtimeModel
    from realtime.model.script import React, Step
    from realtime.model.scripted import ScriptedModel
    from realtime.testing.call import Source
    from realtime.testing.check.floor import RoomRun
    from realtime.testing.check.run import Run
    from realtime.testing.guard import Guard
    from realtime.testing.record import CallRecord
    from realtime.testing.room import Users

REPORT = "voice-report.html"
"""The path of `--voice-report` without a value."""

REALTIME_LIMIT_S = 3600.0
"""Real seconds that one call with `time="real"` may take."""

_RECORDS = pytest.StashKey[list["CallRecord"]]()
_MODELS = pytest.StashKey[list["ScriptedModel"]]()
_REPORTER = pytest.StashKey["_Reporter"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("voice", "tests of voice agents")
    group.addoption(
        "--voice-record",
        action="store_true",
        help="calls use the agents' own models, live and by the wall clock, and are recorded as cassettes",
    )
    group.addoption(
        "--voice-realtime",
        action="store_true",
        help="tests that ask for voice_call run on a real loop, by the wall clock",
    )
    group.addoption(
        "--voice-report",
        metavar="PATH",
        nargs="?",
        const=REPORT,
        help=f"write an HTML report of all calls, as --voice-report=PATH or to {REPORT}",
    )
    group.addoption(
        "--voice-accepted",
        metavar="PATH",
        help="the .json beside an earlier report: show in the report what differs from it",
    )
    parser.addini(
        "voice_allow",
        type="args",
        help="modules that may read the real clock and start threads in virtual time, with what is below them",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "virtual_time(costs=..., epoch_s=..., limit_s=..., guard=True, allow=()): run this async test and its fixtures "
        "on a VirtualLoop. `costs`, `epoch_s` and `limit_s` are the loop's; `guard=False` lets the test touch the real "
        "clock, threads, subprocesses and sockets, `allow` lets the modules that are named.",
    )
    path = config.getoption("--voice-report")
    if path is None:
        return
    if "::" in path or Path(path).is_dir() or Path(path).suffix == ".py":
        raise pytest.UsageError(f"--voice-report took {path} for the path of the report: write --voice-report={REPORT}")
    reporter = _Reporter(config, config.rootpath / path)
    config.stash[_REPORTER] = reporter
    config.pluginmanager.register(reporter, "voice-report")


def _is_asyncio_usable(config: pytest.Config) -> bool:
    """Return whether a pytest-asyncio with the hook for loop factories is active."""
    caller = getattr(config.hook, "pytest_asyncio_loop_factories", None)
    return caller is not None and caller.spec is not None


def _is_voice_test(item: pytest.Item) -> bool:
    return not {"voice_call", "voice_room"}.isdisjoint(getattr(item, "fixturenames", ()))


def _runs_by_the_wall_clock(config: pytest.Config) -> bool:
    return bool(config.getoption("--voice-realtime") or config.getoption("--voice-record"))


def _is_virtual(item: pytest.Item) -> bool:
    if _is_voice_test(item):
        return not _runs_by_the_wall_clock(item.config)
    return item.get_closest_marker("virtual_time") is not None


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None, object, object]:
    """Mark virtual-time tests for pytest-asyncio before it collects them: strict mode needs that.

    Each of these tests has a loop of its own, whatever the default, so that every call starts at 0; a test that names
    its `loop_scope` keeps it.
    """
    item = metafunc.definition
    wanted = _is_voice_test(item) or item.get_closest_marker("virtual_time") is not None
    asked = item.get_closest_marker("asyncio")
    settings: Mapping[str, Any] = {} if asked is None else asked.kwargs
    is_scoped = "loop_scope" in settings or "scope" in settings
    if wanted and not is_scoped and _is_asyncio_usable(metafunc.config) and _is_async(item):
        mark = pytest.mark.asyncio(loop_scope="function", **settings)
        mark(getattr(item.obj, "__func__", item.obj))  # tests made of this function take their markers from there
        item.add_marker(mark)
    return (yield)


def _is_async(item: pytest.Item) -> bool:
    function = getattr(item, "obj", None)
    inner = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    return inspect.iscoroutinefunction(inner)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Generator[None, Mapping[str, Callable[[], asyncio.AbstractEventLoop]] | None, Mapping[str, Callable[[], Any]]]:
    """Return the virtual loop for virtual-time tests; otherwise the project's own choice, or asyncio's loop."""
    own = yield
    if not _is_virtual(item):
        return {"asyncio": asyncio.new_event_loop} if own is None else own
    from realtime.testing.clock import VirtualLoop

    settings = {name: value for name, value in _mark_of(item).items() if name not in ("guard", "allow")}
    return {"virtual": partial(VirtualLoop, **settings) if settings else VirtualLoop}


def _mark_of(item: pytest.Item) -> Mapping[str, Any]:
    mark = item.get_closest_marker("virtual_time")
    return {} if mark is None else mark.kwargs


def _guard_of(item: pytest.Item) -> Guard | None:
    if not (_is_virtual(item) and _mark_of(item).get("guard", True)):
        return None
    from realtime.testing.guard import Guard

    return Guard(allow=[*item.config.getini("voice_allow"), *_mark_of(item).get("allow", ())])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Guard the test, and fail it for work it left behind."""
    guard = _guard_of(item)
    watched: AbstractContextManager[object] = guard or nullcontext()
    try:
        with watched:
            result = yield
    except BaseException as error:
        if guard is not None and guard.refused and guard.refused[0] not in str(error):
            error.add_note(guard.refused[0])
        for model in item.stash.get(_MODELS, []):
            for sentence in model.unfinished():
                error.add_note(sentence)
        raise
    if guard is not None and guard.refused:  # and the program has survived it
        pytest.fail(guard.summary(), pytrace=False)
    for model in item.stash.get(_MODELS, []):
        model.assert_finished()
    return result


@contextmanager
def _noting_failed(records: list[CallRecord]) -> Iterator[None]:
    """Keep the record of a failing call or room for the report."""
    try:
        yield
    except Exception as error:
        record = getattr(error, "record", None)
        if record is not None:
            records.append(record)
        raise


class VoiceCall:
    """The fixture `voice_call`: plays a call and returns its `realtime.testing.check.run.Run`."""

    def __init__(self, request: pytest.FixtureRequest, records: list[CallRecord]) -> None:
        self._request = request
        self._records = records

    async def __call__(self, source: Source, *, time: Literal["virtual", "real"] = "virtual", **options: Any) -> Run:
        """Play `source` to its end and return the run.

        `source` is the folder of a case, relative to the project or to the test, a `Case` or steps. `options` are those
        of `realtime.testing.call.voice_call`.

        `time="real"` uses the wall clock, in a thread with a loop of its own, as `--voice-realtime` does for whole
        tests. Cancelling ends the call.
        """
        from realtime.errors import UsageError
        from realtime.testing.call import voice_call
        from realtime.testing.clock import VirtualLoop, real_work

        if time not in ("virtual", "real"):
            raise UsageError(f"time is 'virtual' or 'real', not {time!r}", code="bad_time")
        source = _find(self._request, source)
        if self._request.config.getoption("--voice-record"):
            options = _recording(source, options)
        call = partial(voice_call, source, **options)
        with _noting_failed(self._records):
            if time == "real" and isinstance(asyncio.get_running_loop(), VirtualLoop):
                async with real_work(name="the call by the wall clock", limit_s=REALTIME_LIMIT_S):
                    run = await asyncio.to_thread(lambda: asyncio.run(call()))
            else:
                run = await call()
        self._records.append(run.record)
        return run


class CassetteToRecord:
    """Placeholder for `recorded_model(path)` where `--voice-record` is about to record it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"with --voice-record, recorded_model({str(self.path)!r}) is no model: give it to voice_call as `model=`, "
            "beside an agent that has the live model"
        )


def _recording(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a call that records the agents' own models.

    The cassette goes where `recorded_model` said, else into the case's `cassette` folder. A call with a given model has
    nothing to record. Raises UsageError without an agent or without a place.
    """
    from realtime.agent import RealtimeAgent
    from realtime.errors import UsageError
    from realtime.server.make_agent import make_agent_of
    from realtime.testing.cassettes.record import RecordingModel

    model = options.get("model", "case")
    if not isinstance(model, (str, CassetteToRecord)):
        return options
    agent = options.get("agent")
    if agent is None:
        raise UsageError("--voice-record records the model of an agent: give voice_call an `agent=`", code="record")
    if isinstance(model, CassetteToRecord):
        folder = model.path
    elif isinstance(source, Path) and source.is_dir():
        folder = source / "cassette"
    else:
        raise UsageError(
            f"--voice-record does not know where to record {source!r}: give voice_call a `model=recorded_model(PATH)`",
            code="record",
        )

    numbers = itertools.count(1)

    async def make_agent(**known: Any) -> RealtimeAgent:
        made = await make_agent_of(agent, **known)
        if not isinstance(made, RealtimeAgent):
            raise UsageError("--voice-record records calls with an agent, not rooms", code="record")
        made.model = RecordingModel(made.model, folder, numbers=numbers)
        return made

    return options | {"agent": make_agent, "model": "own"}


def _find(request: pytest.FixtureRequest, source: Any) -> Any:
    """Resolve a relative path below the project's root or beside the test; return anything else unchanged."""
    if not isinstance(source, (str, Path)):
        return source
    places = (request.config.rootpath / source, request.path.parent / source)
    return next((place for place in places if place.exists()), source)


@pytest.fixture
def voice_call(request: pytest.FixtureRequest) -> VoiceCall:
    """Plays a call in virtual time: `run = await voice_call("fixtures/calls/refund", agent=support_agent)`."""
    _check_usable(request, "voice_call")
    return VoiceCall(request, request.node.stash.setdefault(_RECORDS, []))


@pytest.fixture
def voice_room(request: pytest.FixtureRequest) -> Callable[..., Coroutine[Any, Any, RoomRun]]:
    """Plays a room in virtual time: `run = await voice_room({"Anna": steps, "Ben": steps}, room=support_room)`.

    The arguments are those of `realtime.testing.room.voice_room`; a relative `folder` is resolved like a call's.
    """
    from realtime.testing.room import voice_room

    _check_usable(request, "voice_room")
    records = request.node.stash.setdefault(_RECORDS, [])

    async def play(users: Users, *, folder: str | Path | None = None, **options: Any) -> RoomRun:
        with _noting_failed(records):
            run = await voice_room(users, folder=_find(request, folder), **options)
        records.append(run.record)
        return run

    return play


def _check_usable(request: pytest.FixtureRequest, fixture: str) -> None:
    if not _is_asyncio_usable(request.config):
        pytest.fail(f"{fixture} needs pytest-asyncio 1.4 or newer, but {_asyncio_found()}", pytrace=False)
    if not _is_async(request.node):
        pytest.fail(f"{fixture} is awaited, so the test that asks for it must be `async def`", pytrace=False)


def _asyncio_found() -> str:
    remedy = "run `pip install 'pytest-asyncio>=1.4'`"
    try:
        version = metadata.version("pytest-asyncio")
    except metadata.PackageNotFoundError:
        return f"it is not installed: {remedy}"
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) >= (1, 4):
        return f"{version} is installed and turned off: run pytest without `-p no:asyncio`"
    return f"{version} is installed: {remedy}"


@pytest.fixture
def recorded_model(request: pytest.FixtureRequest) -> Callable[..., RealtimeModel | CassetteToRecord]:
    """Makes a model that replays a cassette, with the arguments of `realtime.testing.recorded_model`.

    Example: `voice_call(source, agent=support_agent, model=recorded_model("cassettes/refund"))`. With `--voice-record`
    the call uses the agent's own model, and the cassette is written there.
    """
    from realtime.testing.cassettes.replay import recorded_model

    def make(path: str | Path, strict: bool = True, **options: Any) -> RealtimeModel | CassetteToRecord:
        found = _find(request, path)
        if request.config.getoption("--voice-record"):
            return CassetteToRecord(Path(found))
        return recorded_model(found, strict, **options)

    return make


@pytest.fixture
def scripted_model(request: pytest.FixtureRequest) -> Callable[..., ScriptedModel]:
    """Makes a model that follows a script, with the arguments of `realtime.ScriptedModel`.

    A passing test that leaves a list of steps unfinished fails.
    """
    from realtime.model.scripted import ScriptedModel

    models = request.node.stash.setdefault(_MODELS, [])

    def make(script: Sequence[Step] | React, **options: Any) -> ScriptedModel:
        model = ScriptedModel(script, **options)
        if not callable(script):
            models.append(model)
        return model

    return make


class _Reporter:
    """Collects the calls of all tests; writes the report at the end.

    Each test's calls go to a file in a folder that the workers of pytest-xdist share with their controller, so the
    report does not depend on the number of workers, and long runs do not fill the memory.
    """

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self._config = config
        self._path = path
        self._accepted: str | None = config.getoption("--voice-accepted")
        worker: Mapping[str, str] | None = getattr(config, "workerinput", None)
        self._is_controller = worker is None
        self._prefix = "main" if worker is None else worker["workerid"]
        self._folder = Path(tempfile.mkdtemp(prefix="voice-runs-") if worker is None else worker["voice_runs"])
        self._count = 0
        self._said = ""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["voice_runs"] = str(self._folder)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        records = item.stash.get(_RECORDS, [])
        if call.when == "call" and records:
            failure = call.excinfo.exconly(tryshort=True) if report.failed and call.excinfo is not None else None
            self._count += 1
            kept = (item.nodeid, failure, list(records))
            (self._folder / f"{self._prefix}-{self._count}.pickle").write_bytes(pickle.dumps(kept))
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if not self._is_controller:
            return
        kept = sorted((pickle.loads(path.read_bytes()) for path in self._folder.iterdir()), key=lambda one: one[0])
        shutil.rmtree(self._folder)
        if not kept:
            self._said = "no test has played a call: no report is written"
            return
        from realtime.testing.report import RunOutcome, write_report

        outcomes = []
        for test, failure, records in kept:
            for number, record in enumerate(records, 1):
                name = test if number == 1 else f"{test} ({number})"
                outcomes.append(RunOutcome(replace(record, name=name), failure))
        write_report(outcomes, self._path, accepted=self._accepted)
        self._said = f"{len(outcomes)} calls are shown in {self._path}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("voice report")
        terminalreporter.line(self._said)
