"""The import order of the package, what importing it may load, and who may touch a clock or chance."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "realtime"

# Top-level names by height; an import goes strictly downwards. Names of one row do not import each other.
LAYERS: list[set[str]] = [
    {"errors", "version", "lazy"},
    {"runtime"},
    {"module"},
    {"slices"},
    {"websocket", "message"},
    {"event", "permission"},
    {"audio", "state", "tool", "token", "formatter", "memory"},
    {"client"},
    {"turn"},
    {"model"},
    {"call"},
    {"agent"},
    {"room"},
    {"dialects"},
    {"demo"},
    {"server"},
    {"commands"},
    {"cli"},
    {"__main__", "pipeline", "session"},
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}

# Upward imports that are allowed inside a function, each with its reason.
LAZY_EXCEPTIONS = {
    ("commands", "testing"): "commands that record, replay and save cases are made of the test tools",
}

# The public package re-exports lazily and the test tools look at everything: neither has a height.
WITHOUT_HEIGHT = {"__init__", "testing"}

# Where time, ids and chance come from. Everything else is given them.
CLOCK_OWNERS = ("runtime.py", "websocket.py", "demo/", "server/", "commands/", "testing/")
CLOCKS_AND_CHANCE = {
    "time": {
        *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "sleep"),
        *("localtime", "gmtime", "ctime", "thread_time"),
    },
    "uuid": {"uuid1", "uuid4", "uuid6", "uuid7"},
    "os": {"urandom"},
    "datetime": {"datetime.now", "datetime.utcnow", "datetime.today", "date.today"},
}
CHANCE_MODULES = ("random.", "secrets.", "numpy.random.")

# A core install has none of these, and none may be loaded by `import realtime`.
OPTIONAL = ["openai", "google.genai", "dashscope", "anthropic", "onnxruntime", "ctranslate2", "hibari", "tokenizers"]
HEAVY = [
    *OPTIONAL,
    "fastapi",
    "starlette",
    "uvicorn",
    "numpy",
    "soxr",
    "soundfile",
    "cryptography",
    "typer",
    "rich",
    "disarm",
]


class Import(NamedTuple):
    """One import of `name`, a dotted name below `realtime`; `lazy` where it stands inside a function."""

    name: str
    lazy: bool
    line: int

    @property
    def target(self) -> str:
        """The part of `realtime` that is imported."""
        return self.name.split(".")[1]


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def top_name(path: Path) -> str:
    """The name below `realtime` a module belongs to: `agent` for agent/x.py, `turn` for turn.py."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> list[Import]:
    """Every import of a part of `realtime` in a module, absolute or relative, typing-only ones included."""
    package = ["realtime", *path.relative_to(PACKAGE).parent.parts]

    def targets(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            # `from realtime import event` names a part, `from realtime.event import X` has named it already.
            yield from (f"{source}.{alias.name}" for alias in node.names)

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            for target in targets(child):
                if target.split(".")[0] == "realtime":
                    name = target if "." in target else "realtime.__init__"
                    yield Import(name, lazy, getattr(child, "lineno", 0))
            yield from walk(child, lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    return list(walk(ast.parse(path.read_text(encoding="utf-8")), False))


def test_every_module_has_a_place_in_the_order() -> None:
    unknown = {top_name(path) for path in modules()} - set(HEIGHT) - WITHOUT_HEIGHT
    assert not unknown, f"give these a row in LAYERS: {sorted(unknown)}"


def test_imports_point_one_way() -> None:
    wrong = []
    for path in modules():
        source = top_name(path)
        if source in WITHOUT_HEIGHT:
            continue
        for one in imports_of(path):
            # The package file is loaded before any of its parts.
            downwards = one.target == "__init__" or HEIGHT.get(one.target, len(LAYERS)) < HEIGHT[source]
            if one.target != source and not downwards and not (one.lazy and (source, one.target) in LAZY_EXCEPTIONS):
                wrong.append(f"{path.relative_to(PACKAGE)}:{one.line} imports realtime.{one.target}")
    assert not wrong, "\n".join(wrong)


def module_name(path: Path) -> str:
    """The dotted name under which a file is imported."""
    parts = ["realtime", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = lowest[node] = len(index)
        stack.append(node)
        for target in graph[node]:
            if target not in index:
                visit(target)
            if target in stack:
                lowest[node] = min(lowest[node], lowest[target])
        if lowest[node] == index[node]:
            place = stack.index(node)
            component = stack[place:]
            del stack[place:]
            if len(component) > 1:
                found.append(sorted(component))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "d"}}
    assert circles(graph) == [["b", "c"]]
    assert circles({**graph, "d": {"e"}}) == [["a", "b", "c", "d", "e"]]


def test_no_files_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for type checkers count, and so do package files that are imported by name."""
    files = {module_name(path): path for path in modules()}
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        imported = [one.name for one in imports_of(path)]
        # What is no file is a name inside one.
        targets = {one if one in files else one.rpartition(".")[0] for one in imported}
        graph[name] = (targets & set(files)) - {name}
    assert sum(map(len, graph.values())) > len(files), "nearly every file imports another one"
    assert circles(graph) == []


def run_python(code: str) -> list[str]:
    """What `code` printed as JSON, run in a fresh interpreter."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent, check=False)
    assert run.returncode == 0, run.stderr
    found: list[str] = json.loads(run.stdout)
    return found


def test_importing_the_package_loads_no_sdk_no_server_and_no_speech_model() -> None:
    code = f"import json, sys, realtime; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    assert run_python(code) == []


def test_importing_the_package_loads_no_part_of_it() -> None:
    """Public names are loaded on first use."""
    code = "import json, sys, realtime; print(json.dumps([name for name in sys.modules if name[:9] == 'realtime.']))"
    assert run_python(code) == ["realtime.lazy", "realtime.version"]


@pytest.mark.parametrize(
    ("name", "unneeded"),
    [
        (
            "RealtimeAgent",
            ["realtime.model.chat", "realtime.model.local.model", "realtime.agent.react", "realtime.memory"],
        ),
        (
            "AgentBase",
            ["numpy", "realtime.agent.react", "realtime.model.chat", "realtime.model.local.model", "realtime.call"],
        ),
    ],
)
def test_an_agent_loads_no_sdk_no_speech_and_no_part_of_other_agents(name: str, unneeded: list[str]) -> None:
    """Nor pydantic, which only structured output and the server need."""
    unwanted = [*sorted({*HEAVY} - {"numpy", "soxr", "soundfile"}), "pydantic", *unneeded]
    code = (
        f"import json, sys; from realtime.agent import {name};"
        f"print(json.dumps([name for name in {unwanted} if name in sys.modules]))"
    )
    assert run_python(code) == []


def test_a_server_without_rooms_loads_no_table_of_look_alikes() -> None:
    """They take 7 MB."""
    code = (
        "import json, sys; from realtime.server.app import create_app; create_app(lambda *_: None);"
        "print(json.dumps([name for name in ('disarm',) if name in sys.modules]))"
    )
    assert run_python(code) == []


def test_every_module_imports_where_no_optional_package_is_installed() -> None:
    names = [".".join(["realtime", *path.relative_to(PACKAGE).with_suffix("").parts]) for path in modules()]
    wanted = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    code = (
        "import importlib, json, sys\n"
        f"sys.modules.update(dict.fromkeys({OPTIONAL}))\n"
        "failed = []\n"
        f"for name in {wanted}:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except ImportError as error:\n"
        "        failed.append(f'{name}: {error}')\n"
        "print(json.dumps(failed))\n"
    )
    assert run_python(code) == []


def forbidden(dotted: str, called: bool) -> bool:
    """Whether a fully resolved name reads a clock, makes an id or draws from chance by itself."""
    if dotted == "random.Random":
        return called
    module, _, name = dotted.partition(".")
    return name in CLOCKS_AND_CHANCE.get(module, ()) or dotted.startswith(CHANCE_MODULES)


def clock_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, full name) of every forbidden name a module refers to, whatever alias it was imported under."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                known[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            known.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            root, _, rest = ast.unparse(node).partition(".")
            if root in known:
                dotted = known[root] + ("." + rest if rest else "")
                if forbidden(dotted, id(node) in called):
                    yield node.lineno, dotted


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import time\ntime.monotonic()", ["time.monotonic"]),
        ("from time import time as wall\nclock = wall", ["time.time"]),
        ("import datetime as dt\ndt.datetime.now(dt.UTC)", ["datetime.datetime.now"]),
        ("from datetime import datetime\ndatetime.now()", ["datetime.datetime.now"]),
        ("from datetime import datetime\ndatetime.fromtimestamp(now)", []),
        ("import random\nrandom.choice([1])", ["random.choice"]),
        ("from random import Random\ndef f(chance: Random): return chance.random()", []),
        ("from random import Random\nRandom()", ["random.Random"]),
        ("import numpy as np\nnp.random.default_rng()", ["numpy.random.default_rng"]),
        ("class A:\n    def f(self): return self.time.time()", []),
    ],
)
def test_a_use_of_a_clock_is_seen_under_any_name(code: str, found: list[str]) -> None:
    assert [name for _, name in clock_uses(ast.parse(code))] == found


def test_only_the_owners_touch_clocks_ids_and_chance() -> None:
    wrong = []
    for path in modules():
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(CLOCK_OWNERS):
            uses = clock_uses(ast.parse(path.read_text(encoding="utf-8")))
            wrong += [f"{name}:{line} uses {dotted}" for line, dotted in uses]
    assert not wrong, "\n".join(wrong)
