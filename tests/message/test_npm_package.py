"""The npm packages of `web/packages`: what `npm pack` gives runs and type-checks where it is installed."""

import json
import re
import tarfile
import tomllib
from pathlib import Path

import pytest

from tests.npm import TSC, pack, run_node

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "web/packages"
PUBLISHED = ("client", "messages")
GUIDES = (
    ROOT / "docs/messages.md",
    ROOT / "docs/web-client.md",
    *(PACKAGES / name / "README.md" for name in PUBLISHED),
)

USE = """
import { Msg, foldMessages, readReplyEvent } from "@realtime-voice/messages";
import { readFileSync } from "node:fs";
const { events } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(foldMessages(events.map(readReplyEvent)).map((message) => message.toCanonicalJson())));
"""


def code_blocks(guide: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", guide.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the packed packages are installed."""
    if not TSC.is_file():
        pytest.skip("web/node_modules is not installed (make test does it)")
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text('{"type": "module"}')
    scope = folder / "node_modules/@realtime-voice"
    scope.mkdir(parents=True)
    for name in PUBLISHED:
        with tarfile.open(pack(PACKAGES / name, folder)) as archive:
            archive.extractall(folder, filter="data")
        (folder / "package").rename(scope / name)
    return folder


def module_for_module() -> set[str]:
    """A script and its types for each source."""
    sources = PACKAGES / "messages" / "src"
    modules = {path.relative_to(sources).as_posix() for path in sources.rglob("*.ts") if ".d." not in path.name}
    return {f"dist/{module.removesuffix('.ts')}{suffix}" for module in modules for suffix in (".js", ".d.ts")}


def as_served() -> set[str]:
    """What the server serves at `/client/`."""
    served = ROOT / "web/dist/client"
    return {f"dist/{path.relative_to(served).as_posix()}" for path in served.rglob("*") if path.is_file()}


BUILT = {"messages": module_for_module, "client": as_served}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_package_holds_code_types_and_the_license_and_nothing_else(project: Path, name: str) -> None:
    installed = project / "node_modules/@realtime-voice" / name
    names = {path.relative_to(installed).as_posix() for path in installed.rglob("*") if path.is_file()}
    assert names == BUILT[name]() | {"package.json", "README.md", "LICENSE"}
    assert (installed / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    description = json.loads((installed / "package.json").read_text())
    python = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert description["version"] == python["project"]["version"]
    assert "dependencies" not in description


def test_the_client_package_imports_nothing_but_itself() -> None:
    sources = (PACKAGES / "client/src").rglob("*.ts")
    sources = (path for path in sources if path.name != "react.ts")
    imported = {name for path in sources for name in re.findall(r'from "([^"]+)"', path.read_text(encoding="utf-8"))}
    assert len(imported) > 10
    assert {name for name in imported if not name.startswith(("./", "../"))} == set()


def test_the_client_package_can_be_imported_where_there_is_no_page(project: Path) -> None:
    """A server that draws pages imports it, too, and makes clients that call nothing."""
    (project / "draw.js").write_text(
        'import { RealtimeClient } from "@realtime-voice/client"; console.log(new RealtimeClient().state);'
    )
    assert run_node(["draw.js"], project) == "idle\n"


def test_the_installed_package_folds_as_python_does(project: Path) -> None:
    fixture = (ROOT / "fixtures/messages/rounds.json").read_text(encoding="utf-8")
    (project / "use.js").write_text(USE)
    assert json.loads(run_node(["use.js"], project, fixture)) == json.loads(fixture)["canonical"]


@pytest.mark.parametrize("resolution", [("nodenext", "nodenext"), ("esnext", "bundler")], ids=lambda each: str(each[1]))
def test_the_printed_samples_are_sound_typescript(project: Path, resolution: tuple[str, str]) -> None:
    samples = [sample for guide in GUIDES for sample in code_blocks(guide, "ts")]
    assert len(samples) >= len(GUIDES)
    files = [f"sample_{number}.ts" for number in range(len(samples))]
    for name, sample in zip(files, samples, strict=True):
        (project / name).write_text(sample, encoding="utf-8")
    module, resolves = resolution
    options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2023,dom,dom.asynciterable"]
    run_node([str(TSC), *options, "--module", module, "--moduleResolution", resolves, *files], project)


def test_the_printed_python_sample_runs() -> None:
    samples = code_blocks(ROOT / "docs/messages.md", "python")
    assert samples
    for sample in samples:
        exec(compile(sample, "docs/messages.md", "exec"), {})
