"""Say which import points the wrong way, and who else touches a clock or chance."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.sources import nodes_of

PACKAGE = Path(__file__).resolve().parent.parent / "realtime"
LAYOUT = PACKAGE.parent / "docs" / "architecture.md"

# Top-level names by height; an import goes strictly downwards. Names of one row do not import each other.
LAYERS: list[set[str]] = [
    {"errors", "version", "lazy"},
    {"runtime"},
    {"module"},
    {"exits", "options", "slices", "certificates", "texts"},
    {"websocket", "message"},
    {"event", "permission"},
    {"audio", "state", "tool", "token", "formatter"},
    {"client", "memory", "plan"},
    {"turn"},
    {"model"},
    {"call"},
    {"agent"},
    {"room"},
    {"a2a"},
    {"interop"},
    {"dialects"},
    {"demo"},
    {"server"},
    {"commands"},
    {"cli"},
    {"__main__", "mcp", "pipeline", "session"},
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
_SOURCES = {*CLOCKS_AND_CHANCE, *(name.partition(".")[0] for name in CHANCE_MODULES)}


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


@cache
def imports_of(path: Path) -> list[Import]:
    """Every import of a part of `realtime` in a module, absolute or relative, typing-only ones included."""
    package = ["realtime", *path.relative_to(PACKAGE).parent.parts]
    nodes = nodes_of(path)
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            # `from realtime import event` names a part, `from realtime.event import X` has named it already.
            yield from (f"{source}.{alias.name}" for alias in node.names)

    return [
        Import(
            target if "." in target else "realtime.__init__",
            any(one.lineno < node.lineno <= (one.end_lineno or 0) for one in functions),
            node.lineno,
        )
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in targets(node)
        if target.split(".")[0] == "realtime"
    ]


def unplaced() -> list[str]:
    """The parts of the package that have no row in LAYERS."""
    return sorted({top_name(path) for path in modules()} - set(HEIGHT) - WITHOUT_HEIGHT)


def wrong_imports() -> Iterator[str]:
    """Yield the imports that do not point downwards."""
    for path in modules():
        source = top_name(path)
        if source in WITHOUT_HEIGHT:
            continue
        for one in imports_of(path):
            # The package file is loaded before any of its parts.
            downwards = one.target == "__init__" or HEIGHT.get(one.target, len(LAYERS)) < HEIGHT.get(source, 0)
            if one.target != source and not downwards and not (one.lazy and (source, one.target) in LAZY_EXCEPTIONS):
                yield f"{path.relative_to(PACKAGE)}:{one.line} imports realtime.{one.target}"


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


def imported_files() -> dict[str, set[str]]:
    """The files that each file imports: inside functions, for type checkers, and package files by name as well."""
    files = {module_name(path): path for path in modules()}
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        imported = [one.name for one in imports_of(path)]
        # What is no file is a name inside one.
        targets = {one if one in files else one.rpartition(".")[0] for one in imported}
        graph[name] = (targets & set(files)) - {name}
    return graph


def forbidden(dotted: str, called: bool) -> bool:
    """Whether a fully resolved name reads a clock, makes an id or draws from chance by itself."""
    if dotted == "random.Random":
        return called
    module, _, name = dotted.partition(".")
    return name in CLOCKS_AND_CHANCE.get(module, ()) or dotted.startswith(CHANCE_MODULES)


def clock_uses(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """(line, full name) of every forbidden name a module refers to, whatever alias it was imported under."""
    known: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                known[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            known.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    known = {name: full for name, full in known.items() if full.partition(".")[0] in _SOURCES}
    if not known:
        return
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            root, _, rest = ast.unparse(node).partition(".")
            if root in known:
                dotted = known[root] + ("." + rest if rest else "")
                if forbidden(dotted, id(node) in called):
                    yield node.lineno, dotted


def foreign_clock_uses() -> Iterator[str]:
    """Yield the uses of clocks, ids and chance by any but their owners."""
    for path in modules():
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(CLOCK_OWNERS):
            for line, dotted in clock_uses(nodes_of(path)):
                yield f"{name}:{line} uses {dotted}"


def wrong_layout() -> Iterator[str]:
    """Yield how the layout of the architecture differs from the parts, and their order from the layers."""
    layout = LAYOUT.read_text(encoding="utf-8").partition("## The layout")[2].partition("\n## ")[0]
    parts = re.findall(r"`realtime/(\w+)(?:/|\.py)`(?=[^|\n]*\|[^|\n]*\|[^|\n]*\|)", layout)
    heights = {name: height for height, names in enumerate(LAYERS) for name in names}
    built = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix != ".typed"}
    # The last row re-exports, by the documented names.
    for name in set(parts) ^ (built - {"__init__", "__pycache__"} - LAYERS[-1]):
        yield f"{LAYOUT.name}: realtime/{name} is missing in the layout, or in the package"
    ordered = [heights[name] for name in parts if name in heights]
    if ordered != sorted(ordered):
        yield f"{LAYOUT.name}: the layout is not in the order of the layers"


def complaints() -> list[str]:
    """What is wrong in the package."""
    found = [f"give realtime.{name} a row in LAYERS" for name in unplaced()]
    found += wrong_imports()
    found += [f"these import each other in a circle: {', '.join(one)}" for one in circles(imported_files())]
    found += foreign_clock_uses()
    found += wrong_layout()
    return found
