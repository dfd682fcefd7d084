"""Small mistakes in a module, made mechanically, and whether its unit tests notice them.

`python -m tests.mutants MODULE TESTS` prints the names of the mistakes that TESTS do not notice, one a line.
Each runs in a fork of a process that has loaded what the tests need: 0.2 s. The tests get no conftest and no plugin.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import io
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
LONGEST_S = 10
"""Of CPU time: a mistake may cause an endless loop. The tests take less than one."""
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd,
}
OTHER_CALLS = {"min": "max", "max": "min", "all": "any", "any": "all"}


@dataclass(frozen=True)
class Mutant:
    """A module's source with one mistake; `name` says where, what was there, and what is there now."""

    name: str
    source: str


def mutants(module: str) -> list[Mutant]:
    """Return every mistake in the module: another comparison, condition, sum or constant, a statement left out."""
    text = _source_of(module)
    names: Counter[str] = Counter()
    found = []
    for at in range(sum(1 for _ in ast.walk(ast.parse(text)))):
        for change in range(_MOST_CHANGES):
            tree = _parsed(text)
            name = _Mistake(tree, at).make(change)
            if name is None:
                break
            names[name] += 1
            suffix = f" ({names[name]})" if names[name] > 1 else ""
            found.append(Mutant(name + suffix, ast.unparse(ast.fix_missing_locations(tree))))
    return found


def unnoticed(module: str, tests: Path) -> list[str]:
    """Return which of the mistakes the tests do not notice; the tests run in processes of their own."""
    command = [sys.executable, "-m", "tests.mutants", module, str(tests)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout.splitlines()


_MOST_CHANGES = 8


def _parsed(text: str) -> ast.Module:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        # The parser uses one node for all operators of a kind.
        if isinstance(node, ast.BoolOp | ast.BinOp):
            node.op = type(node.op)()
        elif isinstance(node, ast.Compare):
            node.ops = [type(op)() for op in node.ops]
    return tree


class _Mistake:
    """One place of a module's tree."""

    def __init__(self, tree: ast.Module, at: int) -> None:
        self._node = [*ast.walk(tree)][at]
        self._parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}

    def make(self, change: int) -> str | None:
        """Make the change of that number in the tree; returns its name, None if there is no such change."""
        if any(self._is_no_code(node) for node in self._ancestors()):
            return None
        found = [*self._changes()][change : change + 1]
        if not found:
            return None
        new, field, index = found[0]
        parent = self._parents[self._node]
        before = _line(self._shown())
        old = getattr(parent, field)
        if index is None:
            setattr(parent, field, new)
        else:
            old[index] = new
        return f"{self._where()}: {before} -> {_line(self._shown(new))}"

    def _changes(self) -> Iterator[tuple[ast.AST, str, int | None]]:
        node, place = self._node, self._place()
        if place is None:
            return
        for new in self._replacements(node):
            yield new, *place

    def _replacements(self, node: ast.AST) -> Iterator[ast.AST]:
        if type(node) in OPPOSITES:
            yield OPPOSITES[type(node)]()
        match node:
            case ast.Constant(value=bool() as value):
                yield ast.Constant(not value)
            case ast.Constant(value=int() | float() as value):
                yield ast.Constant(value + 1 if isinstance(value, int) else round(value * 1.1, 6) or 0.1)
                yield ast.Constant(value - 1 if isinstance(value, int) else round(value * 0.9, 6) or -0.1)
            case ast.Constant(value=str() as value) if value:
                yield ast.Constant("")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield operand
            case ast.Name(id=name) if name in OTHER_CALLS:
                yield ast.Name(OTHER_CALLS[name], ast.Load())
            case ast.Expr() | ast.Assign() | ast.AugAssign() if self._is_in_a_function():
                yield ast.Pass()
            case _:
                pass
        parent = self._parents.get(node)
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and node is parent.test:
            yield ast.Constant(False)
            if not isinstance(parent, ast.While):
                yield ast.Constant(True)

    def _place(self) -> tuple[str, int | None] | None:
        parent = self._parents.get(self._node)
        if parent is None:
            return None
        for field, value in ast.iter_fields(parent):
            if value is self._node:
                return field, None
            if isinstance(value, list):
                for index, one in enumerate(value):
                    if one is self._node:
                        return field, index
        return None

    def _ancestors(self) -> Iterator[ast.AST]:
        node: ast.AST | None = self._node
        while node is not None:
            yield node
            node = self._parents.get(node)

    def _is_no_code(self, node: ast.AST) -> bool:
        """Whether nothing depends on what is below: documentation, types, imports."""
        parent = self._parents.get(node)
        match node, parent:
            case ast.Import() | ast.ImportFrom(), _:
                return True
            case ast.Expr(value=ast.Constant()), _:
                return True
            case ast.Subscript(value=ast.Name(id="Literal")), _:
                return True
            case _, ast.arg() | ast.AnnAssign() if node is parent.annotation:
                return True
            case _, ast.FunctionDef() if node is parent.returns or node in parent.decorator_list:
                return True
            case _, ast.ClassDef() if node in parent.decorator_list:
                return True
            case _:
                return False

    def _is_in_a_function(self) -> bool:
        return any(isinstance(node, ast.FunctionDef) for node in self._ancestors())

    def _where(self) -> str:
        names = [node.name for node in self._ancestors() if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        return ".".join(reversed(names)) or "module"

    def _shown(self, new: ast.AST | None = None) -> str:
        """Show the mistake with what is around it."""
        shown = self._node if new is None else new
        parent = self._parents[self._node]
        is_in_expression = isinstance(parent, ast.expr) and not isinstance(parent, ast.Tuple | ast.List | ast.Set)
        if is_in_expression or isinstance(parent, ast.Assign | ast.AnnAssign | ast.Return | ast.keyword):
            shown = parent
        return ast.unparse(ast.fix_missing_locations(shown))


def _line(text: str) -> str:
    return " ".join(text.split())[:100]


def _source_of(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def _is_noticed(module: str, source: str, tests: str, configuration: str) -> bool:
    """Run the tests with the mistake, in a fork."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            _put_in_place(module, source)
            import pytest

            words = ["-x", "-q", "-c", configuration, "--rootdir", str(ROOT), "--noconftest", "-p", "no:cacheprovider"]
            code = int(pytest.main([*words, "--import-mode=importlib", tests]))
    except BaseException:
        code = 1
    os._exit(code)


def _put_in_place(name: str, source: str) -> None:
    """Let whoever imports the module from now on get one of this source."""
    module = ModuleType(name)
    module.__file__ = sys.modules[name].__file__  # the words that it reads lie beside it
    package, _, own = name.rpartition(".")
    sys.modules[name] = module
    setattr(sys.modules[package], own, module)
    exec(compile(source, f"{name} with a mistake", "exec"), module.__dict__)


def _main(module: str, tests: str) -> None:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    # Loaded once, before the forks: what the tests need, and what the module imports.
    for needed in ("pytest", "hypothesis", "hypothesis.strategies", module):
        importlib.import_module(needed)
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as configuration:
        configuration.write("[pytest]\n")
        configuration.flush()
        if _is_noticed(module, _source_of(module), tests, configuration.name):
            sys.exit(f"{tests} fails without a mistake")
        for mutant in mutants(module):
            if not _is_noticed(module, mutant.source, tests, configuration.name):
                sys.stdout.write(f"{mutant.name}\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
