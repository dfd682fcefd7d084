"""The hooks and fixtures of `tests/conftest.py`, each run on a small suite of its own."""

from pathlib import Path

import pytest

from tests import volumes

CONFTEST = Path(__file__).resolve().parent.parent / "conftest.py"


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty folder with our conftest, in which neither this run's settings nor its environment count."""
    for name in ("REALTIME_RECORDINGS", "REALTIME_REQUIRE_ALL", "REALTIME_ALLOW_SKIP", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini("""
        [pytest]
        asyncio_mode = auto
        asyncio_default_fixture_loop_scope = function
        filterwarnings = error
        addopts = --strict-markers
    """)
    return pytester


SKIPPING = """
    import pytest

    @pytest.mark.skip(reason="no browser here")
    def test_one(): ...

    @pytest.mark.skip(reason="no browser here")
    def test_two(): ...

    def test_three():
        pytest.skip("no key")

    @pytest.mark.xfail(reason="known", strict=True)
    def test_four():
        assert False

    def test_five(): ...
"""


def test_the_run_closes_with_what_was_skipped_and_why(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it=SKIPPING)
    result = suite.runpytest()
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1, skipped=3, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "*= skipped, and why =*",
            "   2  no browser here",
            "   1  no key",
            "",
            "*= 1 passed, 3 skipped, 1 xfailed in *",
        ],
        consecutive=True,
    )


def test_a_module_that_skips_itself_is_in_the_table_and_a_run_without_skips_says_so(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it="import pytest\npytest.importorskip('no_such_module')\ndef test_one(): ...")
    result = suite.runpytest()
    result.stdout.fnmatch_lines(["   1  could not import 'no_such_module'*"])
    suite.makepyfile(test_it="def test_one(): ...")
    suite.runpytest().stdout.fnmatch_lines(["nothing was skipped"])


def test_where_all_is_required_a_skip_fails_the_run_but_one_that_is_allowed_by_its_reason(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REALTIME_REQUIRE_ALL", "1")
    suite.makepyfile(test_it="def test_one(): ...")
    assert suite.runpytest().ret == pytest.ExitCode.OK
    suite.makepyfile(test_it=SKIPPING)
    result = suite.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["   1  no key", "      test_it.py::test_three"], consecutive=True)
    result.stdout.fnmatch_lines(["FAILED: 3 skipped, and REALTIME_REQUIRE_ALL=1 does not allow it"])
    monkeypatch.setenv("REALTIME_ALLOW_SKIP", "REALTIME_RECORDINGS is not set")
    assert suite.runpytest().ret == pytest.ExitCode.TESTS_FAILED
    suite.makepyfile(test_it=USING_RECORDINGS)
    assert suite.runpytest().ret == pytest.ExitCode.OK


USING_RECORDINGS = """
    def test_one(recordings_dir):
        assert (recordings_dir / "audio").is_dir()
        assert recordings_dir.is_absolute()
"""


def test_a_test_on_recordings_gets_their_folder_or_is_skipped_visibly(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(USING_RECORDINGS)
    suite.runpytest().stdout.fnmatch_lines(["   1  REALTIME_RECORDINGS is not set *"])
    suite.mkdir("audio")
    monkeypatch.setenv("REALTIME_RECORDINGS", ".")
    suite.runpytest().stdout.fnmatch_lines(["   1  REALTIME_RECORDINGS=. holds no recordings"])
    suite.mkdir("recordings")
    suite.runpytest().assert_outcomes(passed=1)


def test_the_folder_of_our_own_fixtures_stands_beside_the_tests(fixtures_dir: Path) -> None:
    assert fixtures_dir == CONFTEST.parent.parent / "fixtures"


@pytest.mark.parametrize("mark", ["", "@pytest.mark.virtual_time"])
def test_a_task_left_behind_fails_the_test_that_left_it(suite: pytest.Pytester, mark: str) -> None:
    suite.makepyfile(f"""
        import asyncio, pytest

        {mark}
        async def test_leaking():
            asyncio.create_task(asyncio.Event().wait(), name="forgotten")
            await asyncio.sleep(0)

        {mark}
        async def test_clean():
            task = asyncio.create_task(asyncio.Event().wait())
            task.cancel()
    """)
    result = suite.runpytest()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_leaking*", "the test left tasks pending: forgotten *"])


def test_a_thread_left_behind_fails_the_test_that_left_it(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile("""
        import asyncio, threading

        stop = threading.Event()

        async def test_leaking():
            threading.Thread(target=stop.wait, name="forgotten").start()

        async def test_clean():
            stop.set()
            await asyncio.to_thread(int)
    """)
    monkeypatch.setattr(volumes, "HANG_S", 0.01)
    result = suite.runpytest()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_leaking*", "the test left threads running: forgotten"])


def test_what_fixtures_own_is_counted_after_they_are_gone_and_a_module_may_take_the_watch_off(
    suite: pytest.Pytester,
) -> None:
    suite.makepyfile(
        test_fixture="""
        import asyncio, threading, pytest

        @pytest.fixture
        async def server():
            task = asyncio.create_task(asyncio.Event().wait())
            stop = threading.Event()
            thread = threading.Thread(target=stop.wait)
            thread.start()
            yield
            task.cancel()
            stop.set()

        async def test_with_a_server(server): ...
        """,
        test_unwatched="""
        import asyncio, pytest

        @pytest.fixture
        def no_leaks(): ...

        async def test_leaking():
            asyncio.create_task(asyncio.Event().wait())
        """,
    )
    suite.runpytest().assert_outcomes(passed=2)


def test_a_marked_module_shares_the_virtual_loop_with_its_fixtures_and_no_test_of_it_hangs(
    suite: pytest.Pytester,
) -> None:
    suite.makepyfile("""
        import asyncio, pytest

        pytestmark = pytest.mark.virtual_time

        @pytest.fixture
        async def began_s():
            await asyncio.sleep(3600)
            return asyncio.get_running_loop().time()

        async def test_one(began_s):
            assert asyncio.get_running_loop().time() == began_s == 3600

        def test_plain(): ...

        async def test_stuck():
            await asyncio.Event().wait()
    """)
    result = suite.runpytest("-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*::test_one PASSED*"])
    result.stdout.fnmatch_lines(["*DeadlockError: the test waits for something that will never happen*"])
