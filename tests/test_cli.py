"""The command `realtime`, run as its users run it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

import realtime
from realtime.call.limits import Limits
from realtime.cli import COMMANDS, command_line, main, spread_tls
from realtime.commands.serve import announce, embedders_of, origins_of, routes_of, store_url, writable_folder
from realtime.errors import UsageError
from realtime.server import doctor
from realtime.server.load import load_make_agent
from realtime.server.plan import PLAN, Plan, reload_folder, room_name
from realtime.server.settings import ServerSettings
from realtime.state.json_files import JsonFileStore
from realtime.state.open import open_store
from realtime.state.sqlite import SqliteStore
from realtime.state.store import CallInfo, Change
from tests.model.local.chat_endpoint import DONE, chat_endpoint, words
from tests.server.harness import serving
from tests.volumes import HANG_S

AGENT_FILE = """
from realtime import RealtimeAgent, ScriptedModel
from helpers import NAME

def make_agent():
    return RealtimeAgent(NAME, "You are Friday.", ScriptedModel([]))

async def broken():
    raise RuntimeError("the secret is 4711")
"""

Run = Callable[..., "Served"]
Ended = Callable[..., tuple[int, str]]


class Served:
    """A running `realtime serve`, once it has printed its address."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.lines: list[str] = []
        self.address = ""
        for line in process.stdout:
            self.lines.append(line.rstrip("\n"))
            if re.fullmatch(r"https?://\S+", self.lines[-1]):
                self.address = self.lines[-1]
                return
        pytest.fail("the server printed no address:\n" + "\n".join(self.lines))

    def ready(self, path: str = "ws/u/s", query: str = "") -> dict[str, object]:
        """Make a call; the answer `agent_ready`, or the first error."""
        address = self.address.split("?")[0].rstrip("/").replace("http", "ws", 1)
        with connect(f"{address}/{path}{query}", compression=None) as client:
            client.send(json.dumps({"type": "client_session_create"}))
            while True:
                event: dict[str, object] = json.loads(client.recv(timeout=HANG_S))
                if event["type"] in ("agent_ready", "agent_error"):
                    return event

    def end(self) -> int:
        """Ask it to end; its exit code."""
        self.process.terminate()
        return self.process.wait(timeout=HANG_S)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Start `realtime serve` with these words in an empty folder."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> Served:
        command = [sys.executable, "-m", "realtime", "serve", *words]
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(tmp_path),
        )
        started.append(process)
        return Served(process)

    yield start
    for process in started:
        if sys.platform != "win32":
            # A reloading server has a child that holds the pipe.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.communicate()


def environment(folder: Path) -> dict[str, str]:
    return dict(
        os.environ, PYTHONUNBUFFERED="1", XDG_CACHE_HOME=str(folder / "cache"), XDG_DATA_HOME=str(folder / "data")
    )


def realtime_says(*words: str, cwd: Path) -> tuple[int, str]:
    """Exit code and output of the command."""
    command = [sys.executable, "-m", "realtime", *words]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=environment(cwd), check=False, timeout=HANG_S
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ended:
    """Run the command in this process, in an empty folder; its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run_to_its_end(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["realtime", *words])
        with pytest.raises(SystemExit) as caught:
            main()
        printed = capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return caught.value.code, printed.out + printed.err

    return run_to_its_end


# -- finding commands --------------------------------------------------------------------------------------------------


def test_help_lists_every_command() -> None:
    shown = CliRunner().invoke(command_line(["--help"]), ["--help"]).output
    assert [name for name in COMMANDS if not re.search(rf"^\W*{name} ", shown, re.MULTILINE)] == []


def test_a_command_loads_no_web_server_unless_it_serves() -> None:
    code = "import realtime.cli, sys; realtime.cli.command_line([sys.argv[1]]); print('fastapi' in sys.modules)"

    def loads(name: str) -> str:
        return subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True).stdout

    loaded = {name: loads(name).strip() for name in ("serve", "calls", "score", "export")}
    assert loaded == {"serve": "True", "calls": "False", "score": "False", "export": "False"}


# -- serving -----------------------------------------------------------------------------------------------------------


def test_serve_prints_one_address_and_ends_well(run: Run) -> None:
    """CARD-01: the server command runs."""
    served = run("--port", "0", "--model", "scripted")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", served.address)
    with urllib.request.urlopen(f"{served.address}/api/info", timeout=HANG_S) as answer:
        assert json.load(answer)["model"]["provider"] == "scripted"
    assert served.end() == 0
    assert served.process.stdout is not None
    rest = served.process.stdout.read()
    assert "Traceback" not in rest
    assert "http" not in rest


def test_serve_tells_of_a_taken_port_and_takes_the_next(run: Run) -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        served = run("--port", str(port), "--model", "scripted")
        assert f"Port {port} is taken by another program" in "\n".join(served.lines)
        assert served.address != f"http://127.0.0.1:{port}"


def test_serve_runs_an_agent_file_and_what_lies_beside_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("NAME = 'Friday'\n")
    (tmp_path / "app.py").write_text(AGENT_FILE)
    assert run("app.py:make_agent", "--port", "0").ready()["agent_name"] == "Friday"


def test_a_broken_make_agent_is_an_error_event_for_its_developer_and_its_traceback_stays_here(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "helpers.py").write_text("NAME = 'Friday'\n")
    (tmp_path / "app.py").write_text(AGENT_FILE)
    served = run("app.py:broken", "--port", "0")
    told = served.ready()
    assert told["code"] == "agent_failed"
    assert "RuntimeError: the secret is 4711" in told["message"]
    assert "Traceback" not in json.dumps(told)
    served.end()
    assert served.process.stdout is not None
    assert "RuntimeError: the secret is 4711" in served.process.stdout.read()


@pytest.mark.night
def test_a_changed_file_is_taken_up_with_reload(run: Run, tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("NAME = 'Friday'\n")
    (tmp_path / "app.py").write_text(AGENT_FILE)
    served = run("app.py:make_agent", "--port", "0", "--reload")
    assert served.ready()["agent_name"] == "Friday"
    (tmp_path / "helpers.py").write_text("NAME = 'Saturday the second'\n")
    assert served.process.stdout is not None
    deadline = time.monotonic() + 60
    name: object = None
    while name != "Saturday the second" and time.monotonic() < deadline:
        try:
            name = served.ready()["agent_name"]
        except (OSError, EOFError, TimeoutError, WebSocketException):
            # Between the two processes nobody answers.
            time.sleep(0.05)  # noqa: TID251  (the file is another process's)
    assert name == "Saturday the second"
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(timeout=HANG_S) in (0, -signal.SIGINT, 130)


def test_a_token_is_made_and_is_part_of_the_one_address(run: Run) -> None:
    served = run("--port", "0", "--host", "0.0.0.0", "--token", "auto", "--model", "scripted")
    query = re.fullmatch(r"http://[\d.]+:\d+/(\?token=[\w-]{24,})", served.address)
    assert query is not None
    assert served.ready(query=query[1])["type"] == "agent_ready"
    with pytest.raises(Exception, match="1008"):
        served.ready()


def test_a_token_of_one_s_own_opens_the_server_and_is_not_printed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a token of one's own\n")
    served = run("--port", "0", "--token-file", "token", "--model", "scripted", "--log-level", "debug")
    assert re.fullmatch(r"http://[\d.]+:\d+", served.address)
    assert served.ready(query="?token=a+token+of+one%27s+own")["type"] == "agent_ready"
    assert served.end() == 0
    assert served.process.stdout is not None
    told = "\n".join([*served.lines, served.process.stdout.read()])
    assert "open the page with ?token=... in its address" in told
    assert "of one's own" not in told
    assert "of+one" not in told


def test_tls_self_serves_https(run: Run, tmp_path: Path) -> None:
    served = run("--port", "0", "--tls", "self", "--model", "scripted")
    assert served.address.startswith("https://127.0.0.1:")
    assert (tmp_path / "cache" / "realtime" / "tls" / "self-signed.key").is_file()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("serve", "--host", "0.0.0.0"), "--token auto"),
        (("serve", "--host", "0.0.0.0", "--token", "too short"), "at least 16 characters"),
        (("serve", "--token-file", "nothing"), "--token-file nothing cannot be read"),
        (("serve", "nothing.py:make_agent"), "there is no file"),
        (("serve", "--model", "no-such-model"), "there is no model 'no-such-model'"),
        (("serve", "--route", "gpt"), "--route takes PATTERN=NAME"),
        (("serve", "--mcp", "no-such-program --x"), "there is no such program. Install it, or give its path"),
        (("serve", "--route", "gpt*=no-such-model"), "there is no model 'no-such-model'"),
        (("serve", "--route", "*=local", "--route", "gpt*=scripted"), "no name takes the route 'gpt*'"),
        (("serve", "--endpoints", "soap"), "there is no endpoint 'soap'; there are openai"),
        (("serve", "--front", "soap"), "there is no endpoint 'soap'; there are openai"),
        (("serve", "--tls", "cert.pem"), "--tls CERT KEY"),
        (("serve", "--tls", "cert.pem", "key.pem"), "there is no file cert.pem"),
        (("serve", "--reload"), "--reload restarts when a file changes"),
        (("serve", "--log-level", "loud"), "there is no log level 'loud'"),
        (("serve", "--room", "demo", "--room", "app.py:office"), "--room is given twice"),
        (("serve", "--model=local", "--model", "scripted"), "--model is given twice"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_sentence(words: tuple[str, ...], sentence: str, ended: Ended) -> None:
    code, said = ended(*words)
    assert code == 1
    assert sentence in said
    assert said.count("\n") == 1


def test_insecure_says_what_it_risks(run: Run) -> None:
    served = run("--port", "0", "--host", "0.0.0.0", "--insecure", "--model", "scripted")
    assert "everyone who reaches 0.0.0.0 can talk with the agent at your cost" in "\n".join(served.lines)


def test_the_version_is_printed(tmp_path: Path) -> None:
    assert realtime_says("--version", cwd=tmp_path) == (0, f"realtime {realtime.__version__}\n")


def test_serve_says_before_anything_else_who_hears_the_calls(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "DASHSCOPE_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-4711")
    said = "\n".join(run("--port", "0").lines)
    assert "The only key found is for OpenAI, so gpt-realtime-2.1 speaks." in said
    assert "goes to OpenAI and may cost money; `--model local` keeps it on this computer." in said
    assert "4711" not in said


def test_a_model_without_its_key_is_named_at_the_start(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    served = run("--port", "0", "--model", "scripted", "--route", "gem*=gemini")
    assert "gemini cannot be called yet: set GEMINI_API_KEY." in served.lines


# -- parts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "spread"),
    [
        (["serve"], ["serve"]),
        (["serve", "--tls", "self", "app.py"], ["serve", "--tls", "self", "app.py"]),
        (["serve", "--tls", "c.pem", "k.pem", "app.py"], ["serve", "--tls", "c.pem", "--tls-key", "k.pem", "app.py"]),
        (["serve", "--tls", "c.pem", "--port", "1"], ["serve", "--tls", "c.pem", "--port", "1"]),
        (["serve", "--tls"], ["serve", "--tls"]),
    ],
)
def test_tls_takes_one_word_or_two(words: list[str], spread: list[str]) -> None:
    assert spread_tls(words) == spread


def test_routes_keep_their_order_and_the_first_of_a_pattern() -> None:
    words = ["gpt-*=gemini", " qwen* = local", "*=openai:gpt-realtime", "gpt-*=local"]
    assert [*routes_of(words).items()] == [("gpt-*", "gemini"), ("qwen*", "local"), ("*", "openai:gpt-realtime")]


@pytest.fixture
def agent_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "agents_of_mine.py"
    path.write_text(
        "from realtime import RealtimeAgent\nfrom realtime.model.scripted import ScriptedModel, echo_bot\n"
        "def make_agent(): ...\ndef other(): ...\nnumber = 3\n"
        "def weird(foo, call_id, bar=1, *more, **rest): ...\n"
        "friday = RealtimeAgent('Friday', '', ScriptedModel(echo_bot()))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return path


@pytest.mark.parametrize(
    "target",
    ["{path}:make_agent", "{path}", "agents_of_mine.py:make_agent", "agents_of_mine:make_agent"],
)
def test_a_function_is_found_in_a_file_or_a_module(agent_file: Path, target: str) -> None:
    assert load_make_agent(target.format(path=agent_file)).__name__ == "make_agent"


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("{path}:make_nothing", "it has: make_agent, other, weird"),
        ("{path}:friday", "is an agent: name a function that makes one"),
        ("{path}:weird", "wants foo: a function that makes an agent is given user, known_user, config, call_id"),
        ("{path}:number", "'number' in .*agents_of_mine.py is no function but 3"),
        ("nowhere.at.all:make_agent", "there is no module 'nowhere.at.all'"),
    ],
)
def test_a_function_that_is_not_there_is_one_sentence(agent_file: Path, target: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        load_make_agent(target.format(path=agent_file))


def test_what_python_cannot_read_is_one_sentence_with_its_place(agent_file: Path) -> None:
    agent_file.write_text("def make_agent(:\n    return 1\n")
    with pytest.raises(UsageError, match=r"agents_of_mine\.py, line 1: .*") as caught:
        load_make_agent(str(agent_file))
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("option", ["--recordings", "--cases"])
def test_a_folder_that_cannot_be_written_is_told_before_anything_is_served(
    tmp_path: Path, ended: Ended, option: str
) -> None:
    (tmp_path / "file").write_text("")
    assert ended("serve", option, "file/below") == (1, f"{option} cannot write into file/below: Not a directory\n")
    assert writable_folder(tmp_path / "new" / "one", option) == str(tmp_path / "new" / "one")
    assert [*(tmp_path / "new" / "one").iterdir()] == []


def test_an_exception_in_the_file_comes_through(agent_file: Path) -> None:
    agent_file.write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        load_make_agent(str(agent_file))


def test_a_module_that_the_file_imports_and_nobody_has_installed_is_one_sentence(agent_file: Path) -> None:
    agent_file.write_text("import no_such_module_at_all\n")
    with pytest.raises(UsageError, match=r"agents_of_mine\.py imports 'no_such_module_at_all', which is not installed"):
        load_make_agent(str(agent_file))


def test_a_store_that_cannot_be_written_is_told_before_anything_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for url in (f"sqlite:{tmp_path}/file/calls.sqlite", f"file:{tmp_path}/file/calls"):
        with pytest.raises(UsageError, match=f"--store cannot write to {url}: "):
            store_url(url, print)
    said: list[str] = []
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    assert store_url(None, said.append) == "memory:"
    assert said[0].startswith(f"Calls are kept in memory only: nothing can be written to {tmp_path}/file/realtime/")


def test_a_folder_of_calls_that_another_server_writes_is_refused_with_a_sentence(tmp_path: Path) -> None:
    other = JsonFileStore(tmp_path)
    other.write([Change("theirs", CallInfo(call_id="theirs"))])
    with pytest.raises(UsageError, match="another process keeps its calls in this folder: give each server a folder"):
        store_url(f"file:{tmp_path}", print)
    other.close()
    assert store_url(f"file:{tmp_path}", print) == f"file:{tmp_path}"


def test_calls_that_take_more_than_ten_gigabytes_are_told_when_serving_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteStore, "n_bytes", lambda _: 12_000_000_000)
    said: list[str] = []
    store_url(f"sqlite:{tmp_path}/calls", said.append, is_bounded=True)
    assert said == []
    store_url(f"sqlite:{tmp_path}/calls", said.append)
    assert said == ["Stored calls take 12.0 GB: --keep-days and --keep-gb delete the oldest."]


class Started(Exception):
    """The server would serve now."""


@pytest.mark.parametrize(
    ("words", "keep_s", "keep_bytes"),
    [
        ((), None, None),
        (("--keep-days", "7"), 604_800.0, None),
        (("--keep-days", "0.5", "--keep-gb", "1.5"), 43_200.0, 1_500_000_000),
        (("--keep-gb", "0"), None, 0),
    ],
)
def test_the_days_and_gigabytes_that_are_kept_are_those_of_the_command_line(
    words: tuple[str, ...], keep_s: float | None, keep_bytes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[Plan] = []

    def start(plan: Plan, *_: object) -> None:
        plans.append(plan)
        raise Started

    monkeypatch.setattr("realtime.commands.serve.app_of", start)
    result = CliRunner().invoke(command_line(["serve"]), ["serve", "--store", "memory:", *words])
    assert isinstance(result.exception, Started)
    assert [(plan.settings.keep_s, plan.settings.keep_bytes) for plan in plans] == [(keep_s, keep_bytes)]


def test_sound_state_and_memory_have_a_time_each_and_need_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[Plan] = []

    def start(plan: Plan, *_: object) -> None:
        plans.append(plan)
        raise Started

    monkeypatch.setattr("realtime.commands.serve.app_of", start)
    places = {"sound": ("--recordings", str(tmp_path)), "session": ("--session", "file:s"), "memory": ("--memory", "m")}
    times = {kind: (f"--keep-{kind}-days", "2") for kind in places}
    for kind in places:
        refused = CliRunner().invoke(command_line(["serve"]), ["serve", "--store", "memory:", *times[kind]])
        assert isinstance(refused.exception, UsageError)
        assert f"{times[kind][0]} needs " in refused.exception.message
        assert places[kind][0] in refused.exception.message
    words = [word for kind in places for word in (*places[kind], *times[kind])]
    result = CliRunner().invoke(command_line(["serve"]), ["serve", "--store", "memory:", *words])
    assert isinstance(result.exception, Started)
    (settings,) = [plan.settings for plan in plans]
    assert {settings.keep_sound_s, settings.keep_session_s, settings.keep_memory_s} == {172_800.0}
    assert (settings.sessions, settings.memory) == ("file:s", "m")


@pytest.mark.parametrize("words", [("--keep-days", "-1"), ("--keep-gb", "-0.1"), ("--keep-gb", "many")])
def test_fewer_than_no_days_or_gigabytes_are_refused_with_a_sentence(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(command_line(["serve"]), ["serve", "--store", "memory:", *words])
    assert result.exit_code == 2
    assert f"Invalid value for '{words[0]}'" in result.output


@pytest.mark.parametrize("scheme", ["sqlite", "file"])
def test_trying_a_store_leaves_nothing_in_it(tmp_path: Path, scheme: str) -> None:
    url = store_url(f"{scheme}:{tmp_path}/calls", print)
    assert url == f"{scheme}:{tmp_path}/calls"
    store = open_store(url)
    assert store.calls("") == []
    store.close()


def test_an_origin_that_no_browser_sends_is_refused() -> None:
    assert (
        origins_of(["https://shop.example", "http://localhost:3000", "*"], "--allow-origin")[1]
        == "http://localhost:3000"
    )
    for word in ("foo", "shop.example", "localhost:9311"):
        with pytest.raises(UsageError, match="--allow-origin takes an origin, such as"):
            origins_of([word], "--allow-origin")


def test_an_origin_has_no_path_and_its_slash_does_no_harm() -> None:
    assert embedders_of(["http://localhost:9311/"]) == ("http://localhost:9311",)
    with pytest.raises(UsageError, match="which has no path: https:"):
        embedders_of(["https://shop.example/talk"])


def test_pages_that_embed_are_named_one_by_one() -> None:
    assert embedders_of(["https://shop.example", "http://localhost:5173"])[0] == "https://shop.example"
    for word in ("*", "shop.example"):
        with pytest.raises(UsageError, match="--allow-embed takes"):
            embedders_of([word])


@pytest.mark.parametrize(
    ("room", "name"),
    [("demo", "demo"), ("app.py:office", "office"), ("app.py:make_room", "room"), ("app.py", "room")],
)
def test_a_room_has_the_name_of_its_function(room: str, name: str) -> None:
    assert room_name(room) == name


def test_both_addresses_are_told_of_an_agent_and_a_room(capsys: pytest.CaptureFixture[str]) -> None:
    announce("http://127.0.0.1:8000/?token=t", "app.py:office", alone=False)
    told = capsys.readouterr().out.splitlines()
    assert "http://127.0.0.1:8000/?token=t" in told
    assert "http://127.0.0.1:8000/room.html?room=office&token=t" in told
    announce("http://127.0.0.1:8000/", "demo")
    assert capsys.readouterr().out.splitlines()[:2] == ["Talk to it at:", "http://127.0.0.1:8000/room.html?room=demo"]


def test_reload_watches_the_folder_of_the_file(agent_file: Path) -> None:
    assert reload_folder(f"{agent_file}:make_agent") == agent_file.parent
    with pytest.raises(UsageError, match=r"app\.py:make_agent"):
        reload_folder("package.module:make_agent")


def test_a_plan_survives_the_trip_through_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ServerSettings(
        limits=Limits(grace_s=3),
        token="secret",
        allowed_origins=("https://a.example",),
        routes={"gpt-*": "gemini", "*": "local"},
        endpoints=("openai",),
    )
    plan = Plan(target="app.py:make_agent", settings=settings, model="scripted")
    monkeypatch.setenv(PLAN, "")
    plan.put_into_environment()
    assert msgspec.json.decode(os.environ[PLAN], type=Plan) == plan


# -- doctor ------------------------------------------------------------------------------------------------------------


def test_doctor_tells_what_is_there_and_never_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-4711")
    code, said = realtime_says("doctor", cwd=tmp_path)
    assert code == 0
    for part in ("Python", "import name", "page", "recognition", "voice", "OpenAI", "Chromium", "uvloop"):
        assert part in said
    assert "OPENAI_API_KEY is set" in " ".join(said.split())
    assert "4711" not in said


def test_doctor_names_the_variables_of_each_provider_and_whether_they_are_set() -> None:
    found = {one.name: one for one in doctor.examine({"GOOGLE_API_KEY": "4711", "OPENAI_BASE_URL": "http://u:pw@x"})}
    assert found["Gemini"].available
    assert found["Gemini"].detail == (
        "GEMINI_API_KEY is not set, GOOGLE_API_KEY is set, GOOGLE_GEMINI_BASE_URL is not set"
    )
    assert not found["OpenAI"].available
    assert found["OpenAI"].detail == "OPENAI_API_KEY is not set, OPENAI_BASE_URL is set"
    assert not found["chat endpoint"].available
    assert "REALTIME_LLM_BASE_URL is not set, REALTIME_LLM_MODEL is not set" in found["chat endpoint"].detail
    assert found["DashScope"].fix == "export DASHSCOPE_API_KEY=..."


@pytest.mark.parametrize(
    ("told", "name", "sentence"),
    [
        ({"OPENAI_API_KEY": "sk-a\nb4711"}, "OpenAI", "the key in OPENAI_API_KEY has a line end"),
        ({"OPENAI_API_KEY": "Bearer sk-4711"}, "OpenAI", "the key in OPENAI_API_KEY has a blank"),
        ({"GEMINI_API_KEY": "4711", "GOOGLE_GEMINI_BASE_URL": "ftp://x"}, "Gemini", "GOOGLE_GEMINI_BASE_URL is to be"),
        ({"REALTIME_LLM_PROVIDER": "opnai"}, "chat endpoint", "REALTIME_LLM_PROVIDER is one of"),
        ({"REALTIME_LLM_IMAGES": "ja"}, "chat endpoint", "REALTIME_LLM_IMAGES is 1 or 0, not 'ja'"),
        ({"REALTIME_LLM_IMAGES": "2"}, "chat endpoint", "REALTIME_LLM_IMAGES is 1 or 0, not '2'"),
        ({"REALTIME_EARS": "slow"}, "embedded settings", "REALTIME_EARS is fast or better, not 'slow'"),
        ({"REALTIME_SPECULATION": "on"}, "embedded settings", "REALTIME_SPECULATION is off, words or speech, not 'on'"),
    ],
)
async def test_doctor_fails_for_a_setting_that_no_call_could_use_and_dials_nothing(
    told: dict[str, str], name: str, sentence: str
) -> None:
    finding = next(one for one in doctor.examine(told) if one.name == name)
    assert (finding.available, finding.needed) == (False, True)
    assert sentence in finding.detail
    assert "4711" not in finding.detail
    assert await doctor.try_keys(told) == []


LLM = {"REALTIME_LLM_PROVIDER": "gemini", "REALTIME_LLM_MODEL": "m"}


@pytest.mark.parametrize(
    ("told", "available", "detail"),
    [
        ({"REALTIME_LLM_BASE_URL": "http://x/v1", "REALTIME_LLM_MODEL": "llama3.2"}, True, "_PROVIDER is not set"),
        ({"REALTIME_LLM_BASE_URL": "http://x/v1"}, False, "REALTIME_LLM_MODEL is not set"),
        (LLM | {"GOOGLE_API_KEY": "4711"}, True, "_PROVIDER is set"),
        (LLM, False, "set GEMINI_API_KEY or GOOGLE_API_KEY"),
        (LLM | {"REALTIME_LLM_PROVIDER": "mistral"}, False, "one of openai, dashscope"),
    ],
)
def test_doctor_says_what_a_language_model_lacks(told: dict[str, str], available: bool, detail: str) -> None:
    found = next(one for one in doctor.examine(told) if one.name == "chat endpoint")
    assert found.available is available
    assert detail in found.detail
    assert "4711" not in found.detail


async def test_doctor_tries_a_key_where_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong key is one sentence that names the variable to set."""
    async with serving(settings=ServerSettings(token="right", drain_s=0)) as place:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{place.url}/v1")
        told = {}
        for key in ("right", "wrong"):
            monkeypatch.setenv("OPENAI_API_KEY", key)
            (told[key],) = await doctor.try_keys({"OPENAI_API_KEY": key})
    assert told["right"].available
    assert (told["wrong"].name, told["wrong"].available) == ("OpenAI online", False)
    assert told["wrong"].detail == "OpenAI refused the key: set OPENAI_API_KEY to a valid one"


async def test_doctor_asks_the_chat_endpoint_where_it_is_asked_to() -> None:
    async with chat_endpoint() as endpoint:
        endpoint.will(*words("Hello."), DONE)
        told = {"REALTIME_LLM_BASE_URL": endpoint.base_url, "REALTIME_LLM_MODEL": "llama3.2"}
        (found,) = await doctor.try_chat(told)
        assert (found.available, found.detail[:12]) == (True, "llama3.2 at ")
    (found,) = await doctor.try_chat(told)
    assert (found.available, found.needed) == (False, True)
    assert "REALTIME_LLM_BASE_URL" in found.detail
    assert await doctor.try_chat({}) == []


def test_doctor_says_what_a_missing_thing_would_give() -> None:
    found = {one.name: one for one in doctor.examine({"REALTIME_WHISPER_DIR": "/nowhere"})}
    openai = found["OpenAI"]
    assert (openai.available, openai.fix) == (False, "export OPENAI_API_KEY=...")
    assert "OpenAI" in openai.gives
    assert not found["recognition"].available
    assert "understands" in found["recognition"].gives
    assert found["Python"].available


@pytest.mark.parametrize(
    ("variable", "part"),
    [("REALTIME_SMART_TURN_DIR", "end of a turn"), ("REALTIME_WHISPER_DIR", "recognition")],
)
@pytest.mark.parametrize("folder", ["/nowhere", "here", "~/models"])
def test_doctor_names_the_variable_whose_folder_lacks_a_part_and_fails(variable: str, part: str, folder: str) -> None:
    found = next(one for one in doctor.examine({variable: folder}) if one.name == part)
    assert (found.available, found.needed) == (False, True)
    assert found.detail.startswith(f"{variable} is {folder}, but ")
    assert found.fix == f"correct {variable}, or leave it out"


def test_doctor_notices_another_owner_of_the_import_name(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = {"realtime": ["realtime-voice-agent", "realtime"]}
    monkeypatch.setattr(doctor.importlib.metadata, "packages_distributions", lambda: owners)
    clash = next(one for one in doctor.examine({}) if one.name == "import name")
    assert (clash.available, clash.needed) == (False, True)
    assert "also installed by realtime" in clash.detail
    assert "environment of its own" in clash.fix


def test_doctor_ends_with_what_was_asked_for_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_key() -> list[doctor.Finding]:
        return [doctor.Finding("OpenAI online", False, "it refused the key", "calls to OpenAI", needed=True)]

    monkeypatch.setattr("realtime.commands.doctor.examine", list)
    monkeypatch.setattr("realtime.commands.doctor.try_keys", no_key)
    said = CliRunner().invoke(command_line(["doctor"]), ["doctor", "--online"])
    assert said.exit_code == 1
    assert said.output.splitlines()[-1] == "Not well: OpenAI online: it refused the key"
