"""`realtime serve --mcp`: what its words mean, and what the served agents get."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from realtime.cli import command_line
from realtime.errors import UsageError
from realtime.model.local import model as local_model
from realtime.model.local.engine import SpeechEngine
from realtime.server import remote_tools
from realtime.server.doctor import try_servers
from realtime.server.plan import Plan, app_of
from realtime.server.remote_tools import addresses_of
from realtime.server.settings import ServerSettings
from tests.model.local.stand_ins import stand_in_parts
from tests.real_loop import settled
from tests.server.harness import Client, serving_app
from tests.tool.mcp.hostile_http import hostile

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
HOSTILE = ROOT / "tests" / "tool" / "mcp" / "hostile.py"


PYTHON = Path(sys.executable).stem
COMMANDS = [
    # the words behind the program, the name, and the words of the command
    ("'/a b/weather.py' --city 'New York'", "weather", ["/a b/weather.py", "--city", "New York"]),
    ("-m shop_tools", "shop_tools", ["-m", "shop_tools"]),
    ("-c 'import shop; shop.run()'", PYTHON, ["-c", "import shop; shop.run()"]),
    ("run -y @acme/orders@1.2.3 --all", "orders", ["run", "-y", "@acme/orders@1.2.3", "--all"]),
    # The name has nothing of what options hold.
    ("run -i --rm --env TOKEN=secret ghcr.io/acme/orders:1", "orders:1", None),
    ("run --token secret -y @acme/orders", "orders", None),
    ("run --token=secret -y orders", "orders", None),
    ("run TOKEN=secret orders", "orders", None),
    ("--token secret", PYTHON, None),
]


def test_a_command_is_quoted_as_in_a_shell_and_named_by_what_it_runs() -> None:
    for words, name, command in COMMANDS:
        (address,) = addresses_of([f"{sys.executable} {words}"])
        assert (address.name, address.url) == (name, ""), words
        assert command is None or [*address.command[1:]] == command, words
        assert "secret" not in repr(address), words


def test_variables_before_a_command_are_for_it_alone() -> None:
    (address,) = addresses_of([f"API_KEY='a b' MODE= {sys.executable} weather.py"])
    assert address.environment == {"API_KEY": "a b", "MODE": ""}
    assert address.command == (sys.executable, "weather.py")


def test_each_address_has_a_name_of_its_own_and_a_url_that_of_its_host_without_secrets() -> None:
    command = f"{sys.executable} weather.py"
    secret = "https://user:pass@mcp.example.org/mcp?key=secret"
    addresses = addresses_of([command, command, "http://127.0.0.1:1/mcp", "http://127.0.0.1:1/x", secret])
    names = ["weather", "weather-2", "127.0.0.1:1", "127.0.0.1:1-2", "mcp.example.org"]
    assert [address.name for address in addresses] == names
    assert addresses[-1].url == secret


MISTAKES = {
    "": "takes the URL of an MCP server, or the command",
    "KEY=value": "takes the URL of an MCP server, or the command",
    "no-such-program --x": "there is no such program. Install it",
    "python 'half": "No closing quotation",
    "ws://127.0.0.1/mcp": "not one of ws",
    "file:///etc/passwd": "not one of file",
    "http:///mcp": "takes the http or https URL",
}


def test_what_is_no_address_is_refused_with_what_to_do() -> None:
    for words, told in MISTAKES.items():
        with pytest.raises(UsageError, match=told) as refused:
            addresses_of([words])
        assert refused.value.code == "mcp_address"


# -- a server with such tools ------------------------------------------------------------------------------------------

SHOP = EXAMPLES / "mcp_server.py"


async def hears_the_opening_hours(client: Client) -> None:
    """Ask behind the greeting, and get the answer of the shop's tool."""
    await client.until("agent_response_audio_transcript_done")
    await client.send({"type": "client_text_append", "text": "What are the opening hours on Friday?"})
    done = await client.until("agent_response_audio_transcript_done")
    assert done["transcript"] == "On Friday the shop is open from ten to six."


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The embedded model of `realtime serve` with stand-ins for ears and voice."""
    engine = SpeechEngine(lambda progress: stand_in_parts())
    monkeypatch.setattr(local_model, "engine_of_loop", lambda whisper_dir: engine)
    yield
    engine.close()


def plan(*mcp: str, target: str | None = None) -> Plan:
    return Plan(target=target, model=None if target else "local", mcp=mcp, settings=ServerSettings(drain_s=0))


@pytest.mark.usefixtures("keyless")
async def test_the_keyless_agent_calls_the_tools_of_a_command() -> None:
    said: list[str] = []
    app = app_of(plan(f"{sys.executable} {SHOP}"), said.append)
    async with serving_app(app) as place:
        await settled(lambda: any("gives 1 tool." in line for line in said))
        assert "The MCP server 'mcp_server' gives 1 tool." in said
        async with place.client() as client:
            await client.make_call()
            await hears_the_opening_hours(client)


async def test_an_agent_of_ones_own_gets_them_beside_its_own_tools(tmp_path: Path) -> None:
    app_file = tmp_path / "app_with_tools.py"
    app_file.write_text(
        "from realtime import RealtimeAgent, Toolkit\n"
        "from realtime.model.scripted import ScriptedModel, echo_bot\n"
        "def lights() -> str:\n    'Switch the lights.'\n    return 'on'\n"
        "agents = []\n"
        "def make_agent():\n"
        "    agents.append(RealtimeAgent('Ann', '', ScriptedModel(echo_bot()), toolkit=Toolkit([lights])))\n"
        "    return agents[-1]\n",
        encoding="utf-8",
    )
    said: list[str] = []
    async with hostile("echo") as (_, url):
        app = app_of(plan(url, f"{sys.executable} {HOSTILE} echo", target=str(app_file)), said.append)
        async with serving_app(app) as place:
            await settled(lambda: sum("gives 2 tools" in line for line in said) == 2)
            async with place.client() as client:
                await client.make_call()
                (agent,) = sys.modules["app_with_tools"].agents
                first, second = sorted({name.removesuffix("echo") for name in agent.toolkit.tools if "echo" in name})
    assert next(iter(agent.toolkit.tools)) == "lights"
    # Whichever server came second has its name before its tools.
    assert (first, second) in (("", "hostile_"), ("", f"_{url.split('/')[2].replace('.', '_').replace(':', '_')}_"))
    assert len(agent.toolkit) == 5
    assert any(f"named {second}..., since another server has tools of the same names" in line for line in said)


@pytest.mark.usefixtures("keyless")
async def test_a_server_that_is_down_is_told_once_and_dialled_until_it_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A call that runs by then gets its tools, too."""
    monkeypatch.setattr(remote_tools, "FIRST_WAIT_S", 0.05)
    missing = tmp_path / "later.py"
    said: list[str] = []
    app = app_of(plan(f"{sys.executable} {missing}"), said.append)
    async with serving_app(app) as place, place.client() as client:
        await client.make_call()
        await settled(lambda: any("No tools yet" in line for line in said))
        shutil.copy(SHOP, missing)
        await settled(lambda: any("gives 1 tool." in line for line in said))
        await hears_the_opening_hours(client)
    (down,) = [line for line in said if line.startswith("No tools yet")]
    assert "the MCP server 'later' cannot be reached" in down
    assert "Start it, or correct --mcp; it is dialled again." in down


async def test_the_doctor_connects_where_it_is_asked_to() -> None:
    found = await try_servers(
        [f"{sys.executable} {SHOP}", "http://127.0.0.1:9/mcp", f"{sys.executable} {HOSTILE} exits_at_once"]
    )
    assert [(one.name, one.available) for one in found] == [
        ("MCP server mcp_server", True),
        ("MCP server 127.0.0.1:9", False),
        ("MCP server hostile", False),
    ]
    assert found[0].detail == "opening_hours"
    assert found[1].detail == "the MCP server '127.0.0.1:9' cannot be reached: Connection refused"
    assert found[2].detail == "the MCP server 'hostile' cannot be reached: its process has ended with exit code 3"


async def test_the_doctor_names_few_of_many_tools_and_prints_nothing_that_steers_a_terminal() -> None:
    (found,) = await try_servers([f"{sys.executable} {HOSTILE} thousands"])
    assert found.detail.startswith("echo, echo_0, ")
    assert found.detail.endswith("echo_18 and 492 more")
    (found,) = await try_servers([f"{sys.executable} {HOSTILE} steers"])
    assert found.detail == "echo, red, abc"


def test_the_doctor_fails_where_a_server_that_it_is_asked_about_cannot_be_reached() -> None:
    for word, code, told in (
        (f"{sys.executable} {SHOP}", 0, ""),
        ("http://127.0.0.1:9/mcp", 1, "start the server, or correct the URL"),
        (f"{sys.executable} {HOSTILE} exits_at_once", 1, "run it by itself and read what it says"),
    ):
        result = CliRunner().invoke(command_line(["doctor"]), ["doctor", "--mcp", word])
        assert (result.exit_code, told in " ".join(result.output.split())) == (code, True), word
