"""The pytest plugin, each part run on a small suite of its own."""

import subprocess
import sys
from functools import partial
from importlib import metadata
from pathlib import Path
from textwrap import dedent

import pytest

import realtime.testing
from realtime.testing import plugin

# Compiled modules can be loaded once per process; what a suite of its own imports is forgotten at its end.
for _name in realtime.testing.__all__:
    getattr(realtime.testing, _name)

WORKERS_LIMIT_S = 120.0
"""How long a run with workers may take: one that hangs has to say so."""

OPTIONS = ("--voice-record", "--voice-realtime", "--voice-report", "--voice-accepted", "voice_allow")
HEAVY = ("numpy", "fastapi", "starlette", "soundfile", "soxr", "msgspec", "cryptography", "uvicorn", "websockets")

AGENT = dedent("""
    import asyncio
    import time
    from pathlib import Path

    import pytest

    from realtime import RealtimeAgent, ScriptedModel
    from realtime.model.scripted import echo_bot
    from realtime.testing import Silence, Type, VirtualLoop, WaitUntilHeard, real_work

    STEPS = [Type("hello"), WaitUntilHeard()]

    def agent():
        return RealtimeAgent("Friday", "", ScriptedModel(echo_bot()))

    def loop():
        return asyncio.get_running_loop()

    def is_virtual():
        return isinstance(loop(), VirtualLoop)
""")

CALLS = """
    async def test_first(voice_call):
        run = await voice_call(STEPS, agent=agent)
        run.agent_said("I heard you")
        Path("first.log").write_bytes(run.record.log_bytes())

    async def test_second(voice_call):
        await asyncio.sleep(0.1)
        run = await voice_call([*STEPS, *STEPS], agent=agent)
        Path("second.log").write_bytes(run.record.log_bytes())

    async def test_wrong(voice_call):
        run = await voice_call(STEPS, agent=agent)
        run.agent_said("Goodbye")
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project, in strict mode, in which neither this run's settings nor its environment count."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    configure(pytester)
    return pytester


def write(suite: pytest.Pytester, tests: str, above: str = AGENT) -> None:
    suite.makepyfile(test_it=above + dedent(tests))


def configure(suite: pytest.Pytester, mode: str = "strict", **more: str) -> None:
    settings = {"asyncio_mode": mode, "asyncio_default_fixture_loop_scope": "function", "filterwarnings": "error"}
    lines = [f"{name} = {value}" for name, value in (settings | more).items()]
    suite.makeini("\n".join(["[pytest]", "addopts = --strict-markers", *lines]))


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_a_test_that_asks_for_voice_call_needs_no_marker_and_others_keep_their_loop(
    suite: pytest.Pytester, mode: str
) -> None:
    configure(suite, mode)
    write(
        suite,
        """
        async def test_call(voice_call):
            assert is_virtual()
            run = await voice_call(STEPS, agent=agent)
            run.agent_said("I heard you")

        @pytest.fixture
        def call(voice_call):
            return voice_call

        async def test_call_through_a_fixture(call):
            assert is_virtual()

        class TestCalls:
            @pytest.mark.parametrize("number", [1, 2])
            async def test_call_of_a_class(self, voice_call, number):
                assert is_virtual() and loop().time() == 0

        @pytest.mark.virtual_time
        async def test_marked():
            await asyncio.sleep(3600)
            assert loop().time() == 3600

        @pytest.mark.asyncio
        async def test_other():
            assert not is_virtual()

        def test_plain(): ...
    """,
    )
    result = suite.runpytest("-v")
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(["*::test_call PASSED*", "*TestCalls::test_call_of_a_class[[]1] PASSED*"])


def test_a_project_may_choose_the_loop_of_its_other_tests(suite: pytest.Pytester) -> None:
    suite.makeconftest("""
        import asyncio

        class OwnLoop(asyncio.SelectorEventLoop): ...

        def pytest_asyncio_loop_factories(config, item):
            return {"own": OwnLoop}
    """)
    write(
        suite,
        """
        @pytest.mark.asyncio
        async def test_other():
            assert type(loop()).__name__ == "OwnLoop"

        async def test_call(voice_call):
            assert is_virtual()
    """,
    )
    suite.runpytest().assert_outcomes(passed=2)


def test_a_call_has_its_own_loop_where_others_share_one(suite: pytest.Pytester) -> None:
    configure(suite, "auto", asyncio_default_test_loop_scope="session", asyncio_default_fixture_loop_scope="session")
    write(
        suite,
        """
        @pytest.fixture(scope="session")
        async def shared():
            yield loop()

        async def test_first(shared):
            assert loop() is shared and not is_virtual()

        async def test_call(voice_call):
            assert is_virtual() and loop().time() == 0
            await asyncio.sleep(1)

        @pytest.mark.asyncio
        async def test_other_call(voice_call):
            assert is_virtual() and loop().time() == 0

        async def test_second(shared):
            assert loop() is shared and not is_virtual()
    """,
    )
    suite.runpytest().assert_outcomes(passed=4)


@pytest.mark.parametrize("order", [["test_first", "test_second"], ["test_second", "test_first"]])
@pytest.mark.parametrize("workers", [[], pytest.param(["-n", "2"], marks=pytest.mark.night)])
def test_calls_are_the_same_in_any_order_and_on_several_workers(
    suite: pytest.Pytester, order: list[str], workers: list[str]
) -> None:
    write(suite, CALLS)
    suite.runpytest("test_it.py::test_first").assert_outcomes(passed=1)
    first = (suite.path / "first.log").read_bytes()
    suite.runpytest("test_it.py::test_second").assert_outcomes(passed=1)
    second = (suite.path / "second.log").read_bytes()
    run = partial(suite.runpytest_subprocess, timeout=WORKERS_LIMIT_S) if workers else suite.runpytest
    run(*workers, *(f"test_it.py::{name}" for name in order)).assert_outcomes(passed=2)
    assert (suite.path / "first.log").read_bytes() == first
    assert (suite.path / "second.log").read_bytes() == second
    assert len(second) > len(first) > 0


def test_what_touches_the_real_clock_fails_with_place_and_remedy(suite: pytest.Pytester) -> None:
    write(
        suite,
        """
        async def test_looking(voice_call):
            time.monotonic()

        async def test_survived(voice_call):
            try:
                time.monotonic()
            except AssertionError:
                pass

        async def test_misled(voice_call):
            try:
                time.monotonic()
            except AssertionError:
                raise ValueError("something else") from None

        async def test_declared(voice_call):
            async with real_work(1.0):
                time.monotonic()
            assert loop().time() == 1.0

        @pytest.mark.virtual_time(guard=False)
        async def test_unguarded(voice_call):
            time.monotonic()

        @pytest.mark.virtual_time(allow=["test_it"])
        async def test_allowed(voice_call):
            time.monotonic()
    """,
    )
    result = suite.runpytest()
    result.assert_outcomes(passed=3, failed=3)
    place = "test_it.py:* in {}: time.monotonic() reads the real clock in virtual time, *Remedy: *event loop*"
    for test in ("test_looking", "test_survived", "test_misled"):
        result.stdout.fnmatch_lines(["*" + place.format(test)])
    configure(suite, voice_allow="test_it other")
    suite.runpytest("-k", "looking").assert_outcomes(passed=1, deselected=5)


def test_options_marker_and_setting_are_explained(suite: pytest.Pytester) -> None:
    told = suite.runpytest("--help").stdout
    told.fnmatch_lines_random([f"*{name}*" for name in OPTIONS])
    suite.runpytest("--markers").stdout.fnmatch_lines(["@pytest.mark.virtual_time(*"])


def test_the_same_test_or_one_of_its_calls_runs_by_the_wall_clock(suite: pytest.Pytester) -> None:
    write(
        suite,
        """
        STEPS = [Type("hello"), Silence(60)]
        virtual = []

        def noting_agent():
            virtual.append(is_virtual())
            return agent()

        async def test_all(voice_call, request):
            await voice_call(STEPS, agent=noting_agent)
            by_the_wall_clock = request.config.getoption("--voice-realtime")
            assert [is_virtual(), virtual.pop()] == [not by_the_wall_clock] * 2

        async def test_one_call(voice_call):
            run = await voice_call(STEPS, agent=noting_agent, time="real")
            assert not virtual.pop()
            assert run.record.items[0].text == "hello"

        @pytest.mark.virtual_time
        async def test_marked():
            assert is_virtual()
    """,
    )
    suite.runpytest("--voice-realtime").assert_outcomes(passed=3)
    suite.runpytest().assert_outcomes(passed=3)


def test_a_case_is_found_from_the_project_and_from_beside_the_test(suite: pytest.Pytester) -> None:
    for folder in ("calls/one", "tests/calls/two"):
        (suite.path / folder).mkdir(parents=True)
        (suite.path / folder / "case.json").write_text(
            '{"version": 1, "users": [{"steps": [{"do": "type", "text": "hello"}]}]}', encoding="utf-8"
        )
    (suite.path / "tests/test_it.py").write_text(
        "from realtime import RealtimeAgent, ScriptedModel\n"
        "from realtime.model.scripted import echo_bot\n"
        "async def test_calls(voice_call):\n"
        "    for case in ('calls/one', 'calls/two'):\n"
        "        run = await voice_call(case, agent=lambda: RealtimeAgent('Friday', '', ScriptedModel(echo_bot())))\n"
        "        assert run.record.folder.name == case[-3:]\n",
        encoding="utf-8",
    )
    suite.runpytest().assert_outcomes(passed=1)


def test_a_script_that_is_not_followed_to_its_end_or_used_up_fails_the_test(suite: pytest.Pytester) -> None:
    write(
        suite,
        """
        from realtime.model.script import Expect, Speak
        from realtime.model.base import ItemCreate, ResponseCreate

        ONE_TURN = [Expect(ItemCreate), Expect(ResponseCreate)]

        async def call(voice_call, model, steps=(Type("hello"),)):
            await voice_call([*steps], agent=lambda: RealtimeAgent("Friday", "", model))

        async def test_unfinished(voice_call, scripted_model):
            await call(voice_call, scripted_model([*ONE_TURN, Expect(ItemCreate)]))

        async def test_finished(voice_call, scripted_model):
            await call(voice_call, scripted_model(ONE_TURN))

        async def test_reacting(voice_call, scripted_model):
            await call(voice_call, scripted_model(echo_bot()))

        async def test_used_up(voice_call, scripted_model):
            await call(voice_call, scripted_model([*ONE_TURN, Speak("Nine.")]), [*STEPS, *STEPS])

        def test_without_a_call(scripted_model):
            scripted_model([Expect(ItemCreate)])
    """,
    )
    result = suite.runpytest()
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines_random(
        [
            "*the script stopped before*",
            "*no connection was made*",
            "*the script was used up when more was asked of it*ResponseCreate*",
        ]
    )


LIVE = AGENT + dedent("""
    import msgspec
    from realtime.errors import UsageError
    from realtime.model.scripted import PROFILE

    class LiveModel(ScriptedModel):
        dial, tap = None, None

        def __init__(self):
            super().__init__(echo_bot(), profile=msgspec.structs.replace(PROFILE, provider="openai"))

    def live_agent():
        model = LiveModel()
        model.dial = lambda *_: None
        return RealtimeAgent("Friday", "", model)
""")


def test_recording_uses_the_agents_own_model_live_and_writes_the_cassette(suite: pytest.Pytester) -> None:
    (suite.path / "case").mkdir()
    (suite.path / "case/case.json").write_text(
        '{"version": 1, "users": [{"steps": [{"do": "type", "text": "hello"}]}]}', encoding="utf-8"
    )
    write(
        suite,
        """
        async def test_named(voice_call, recorded_model):
            assert not is_virtual()
            await voice_call([Type("hello")], agent=live_agent, model=recorded_model("cassettes/named"))

        async def test_of_a_case(voice_call):
            await voice_call("case", agent=live_agent)

        async def test_with_a_model_of_its_own(voice_call):
            await voice_call([Type("hello")], agent=agent, model=ScriptedModel(echo_bot()))

        async def test_nowhere(voice_call):
            await voice_call([Type("hello")], agent=live_agent)

        async def test_nobody(voice_call, recorded_model):
            await voice_call([Type("hello")], model=recorded_model("cassettes/nobody"))

        def test_misplaced(recorded_model):
            with pytest.raises(AttributeError, match="give it to voice_call"):
                recorded_model("cassettes/misplaced").connect
    """,
        LIVE,
    )
    result = suite.runpytest("--voice-record")
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(["*does not know where to record*model=recorded_model(PATH)*"])
    result.stdout.fnmatch_lines(["*give voice_call an `agent=`*"])
    made = {str(path.parent.relative_to(suite.path)) for path in suite.path.rglob("cassette.jsonl")}
    assert made == {str(Path("cassettes/named")), str(Path("case/cassette"))}


def test_recording_anew_in_a_call_that_fails_keeps_the_cassette_and_says_so(suite: pytest.Pytester) -> None:
    above = LIVE + dedent("""
        from realtime.testing import WaitFor

        class HeardModel(LiveModel):
            async def connect(self, **known):
                self.tap("sent", '{"type": "hello"}', 0)
                return await super().connect(**known)

        def heard_agent():
            model = HeardModel()
            model.dial = lambda *_: None
            return RealtimeAgent("Friday", "", model)
    """)
    cassettes = []
    for steps, passed in (("[]", 1), ('[WaitFor("unheard_of", timeout_ms=50)]', 0)):
        write(
            suite,
            f"""
            async def test_it(voice_call, recorded_model):
                await voice_call([Type("hello"), *{steps}], agent=heard_agent, model=recorded_model("kept"))
            """,
            above,
        )
        result = suite.runpytest("--voice-record")
        result.assert_outcomes(passed=passed, failed=1 - passed)
        cassettes.append((suite.path / "kept/cassette.jsonl").read_bytes())
    assert cassettes[0] == cassettes[1]
    assert not (suite.path / "kept.recording").exists()
    result.stdout.fnmatch_lines(["*the cassette in *kept is kept as it was, this recording is not"])


def test_what_a_test_asks_for_in_vain_is_told_with_a_remedy(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_it(recorded_model): recorded_model('no/such')\ndef test_plain(voice_call): ...")
    result = suite.runpytest("--voice-report")
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "*CaseError: *such*",
            "voice_call is awaited, so the test that asks for it must be `async def`",
            "no test has played a call: no report is written",
        ]
    )
    assert not (suite.path / plugin.REPORT).exists()


def test_without_pytest_asyncio_only_a_test_that_needs_it_fails(suite: pytest.Pytester) -> None:
    suite.makeini("[pytest]\naddopts = --strict-markers -p no:asyncio")
    suite.makepyfile("def test_plain(): ...\nasync def test_call(voice_call): ...")
    result = suite.runpytest_subprocess()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["voice_call needs pytest-asyncio 1.4 or newer, but * is installed and turned off: *"])


def test_an_old_or_missing_pytest_asyncio_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> str:
        raise metadata.PackageNotFoundError

    for version, found in ((lambda _: "1.2.0", "1.2.0 is installed: run `pip"), (missing, "it is not installed")):
        monkeypatch.setattr(metadata, "version", version)
        assert plugin._asyncio_found().startswith(found)
        assert "pip install 'pytest-asyncio>=1.4'" in plugin._asyncio_found()


def test_nothing_heavy_is_imported_before_a_fixture_is_used(suite: pytest.Pytester) -> None:
    suite.makepyfile(f"""
        import sys

        def test_it():
            assert "realtime.testing.plugin" in sys.modules
            assert [name for name in {HEAVY} if name in sys.modules] == []
    """)
    suite.runpytest_subprocess("-p", "realtime_voice").assert_outcomes(passed=1)


def test_all_public_names_exist_and_importing_the_kit_imports_nothing_heavy() -> None:
    assert all(getattr(realtime.testing, name) is not None for name in realtime.testing.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = realtime.testing.no_such_name
    code = f"import sys, realtime.testing; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("workers", [[], pytest.param(["-n", "2"], marks=pytest.mark.night)])
def test_the_report_shows_the_calls_of_all_tests_and_their_failures(suite: pytest.Pytester, workers: list[str]) -> None:
    write(suite, CALLS)
    run = partial(suite.runpytest_subprocess, timeout=WORKERS_LIMIT_S) if workers else suite.runpytest
    result = run(*workers, "--voice-report=out/report.html")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(['*CheckFailed: The agent did not say "Goodbye"*', "*first sound*"])
    result.stdout.fnmatch_lines(["*= voice report =*", f"3 calls are shown in *{Path('out/report.html')}"])
    page = (suite.path / "out/report.html").read_text(encoding="utf-8")
    for told in ("test_it.py::test_first", "test_it.py::test_second", "test_it.py::test_wrong", "did not say"):
        assert told in page
    accepted = suite.runpytest("--voice-report=again.html", "--voice-accepted=out/report.json")
    accepted.stdout.fnmatch_lines(["3 calls are shown in *again.html"])
    assert (suite.path / "again.json").read_bytes() == (suite.path / "out/report.json").read_bytes()


def test_the_report_lists_a_room_that_failed(suite: pytest.Pytester) -> None:
    write(
        suite,
        """
        async def test_room(voice_room):
            agents = [RealtimeAgent("Bob", "", ScriptedModel(echo_bot()))]
            await voice_room({"Anna": [Silence(100), WaitUntilHeard(timeout_ms=1_000)]}, agents=agents)
    """,
    )
    result = suite.runpytest("--voice-report")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["1 calls are shown in *"])
    page = (suite.path / plugin.REPORT).read_text(encoding="utf-8")
    assert "test_it.py::test_room" in page
    assert "step 2 of Anna" in page


def test_a_test_is_not_taken_for_the_path_of_the_report(suite: pytest.Pytester) -> None:
    path = suite.makepyfile("def test_it(): ...")
    result = suite.runpytest("--voice-report", str(path))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--voice-report took *: write --voice-report=voice-report.html"])
