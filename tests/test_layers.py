"""The import order of the package, what importing it may load, and who may touch a clock or chance."""

import ast
import json
import subprocess
import sys

from tools.lint_layers import PACKAGE, circles, clock_uses, imported_files, module_name, modules

# A core install has none of these, and none may be loaded by `import realtime`.
OPTIONAL = ["openai", "google.genai", "dashscope", "anthropic", "mcp", "mcp_types", "onnxruntime", "ctranslate2"]
OPTIONAL += ["hibari", "tokenizers", "redis"]
SOUND = ["numpy", "soxr", "soundfile"]
HEAVY = [*OPTIONAL, *SOUND, "fastapi", "starlette", "uvicorn", "cryptography", "typer", "rich", "disarm"]


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "d"}}
    assert circles(graph) == [["b", "c"]]
    assert circles({**graph, "d": {"e"}}) == [["a", "b", "c", "d", "e"]]
    files = imported_files()
    assert sum(map(len, files.values())) > len(files), "nearly every file imports another one"


CLOCK_USES = {
    "import time\ntime.monotonic()": ["time.monotonic"],
    "from time import time as wall\nclock = wall": ["time.time"],
    "import datetime as dt\ndt.datetime.now(dt.UTC)": ["datetime.datetime.now"],
    "from datetime import datetime\ndatetime.now()": ["datetime.datetime.now"],
    "from datetime import datetime\ndatetime.fromtimestamp(now)": [],
    "import random\nrandom.choice([1])": ["random.choice"],
    "from random import Random\ndef f(chance: Random): return chance.random()": [],
    "from random import Random\nRandom()": ["random.Random"],
    "import numpy as np\nnp.random.default_rng()": ["numpy.random.default_rng"],
    "class A:\n    def f(self): return self.time.time()": [],
}


def test_a_use_of_a_clock_is_seen_under_any_name() -> None:
    assert {code: [name for _, name in clock_uses([*ast.walk(ast.parse(code))])] for code in CLOCK_USES} == CLOCK_USES


def printed(code: str) -> list[str]:
    """What `code` prints as JSON, run in a fresh interpreter."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent, check=False)
    assert run.returncode == 0, run.stderr
    found: list[str] = json.loads(run.stdout)
    return found


def loaded(statements: str, unwanted: list[str]) -> list[str]:
    """Which of these modules the statements load."""
    return printed(f"import json, sys; {statements}; print(json.dumps([m for m in {unwanted} if m in sys.modules]))")


def test_importing_the_package_loads_no_sdk_no_server_no_speech_model_and_no_part_of_it() -> None:
    """Public names are loaded on first use."""
    assert loaded("import realtime", HEAVY) == []
    parts = "import json, sys, realtime; print(json.dumps([name for name in sys.modules if name[:9] == 'realtime.']))"
    assert printed(parts) == ["realtime.lazy", "realtime.version"]


def test_an_agent_loads_no_sdk_no_speech_and_no_part_of_other_agents() -> None:
    """Nor pydantic, which only structured output and the server need."""
    unwanted = ["pydantic", "realtime.model.chat", "realtime.model.local.model", "realtime.agent.react"]
    unwanted += sorted({*HEAVY} - {*SOUND})
    assert loaded("from realtime.agent import RealtimeAgent", [*unwanted, "realtime.memory"]) == []
    assert loaded("from realtime.agent import AgentBase", [*unwanted, "numpy", "realtime.call"]) == []


def test_a_server_without_rooms_loads_no_table_of_look_alikes() -> None:
    """They take 7 MB."""
    assert loaded("from realtime.server.app import create_app; create_app(lambda *_: None)", ["disarm"]) == []


IMPORT_ALL = """
import importlib, json, sys
sys.modules.update(dict.fromkeys({optional}))
failed = []
for name in {names}:
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed.append(f"{{name}}: {{error}}")
print(json.dumps(failed))
"""


def test_every_module_imports_where_no_optional_package_is_installed() -> None:
    names = [module_name(path) for path in modules() if path.stem != "__main__"]
    assert printed(IMPORT_ALL.format(optional=OPTIONAL, names=names)) == []
