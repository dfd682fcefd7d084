"""The locks hold what pyproject.toml asks for, by hash, and name nobody's address."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.lock import ALONE

ROOT = Path(__file__).resolve().parents[2]
PLATFORMS = ["linux-x86_64", "macos-arm64", "windows-x86_64"]
PARTS: dict[str, list[str]] = {
    "core": [],
    "test": ["openai", "gemini", "dashscope", "anthropic", "mcp", "ears", "test"],
    "speech": ["local"],
}
SYSTEMS = {"linux": "linux", "macos": "darwin", "windows": "win32"}


def lock(platform: str, part: str) -> str:
    return (ROOT / "requirements" / platform / f"{part}.txt").read_text(encoding="utf-8")


def pinned(platform: str, *parts: str) -> dict[str, str]:
    """Versions by package name in the given parts of a platform's lock."""
    text = "".join(lock(platform, part) for part in parts)
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", text, re.MULTILINE))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_dependency_is_pinned_within_its_bounds(platform: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    environment = {"sys_platform": SYSTEMS[platform.split("-")[0]], "implementation_name": "cpython"}
    for part, extras in PARTS.items():
        wanted = [text for extra in extras for text in project["optional-dependencies"][extra]]
        versions = pinned(platform, *{"core", part})
        for requirement in map(Requirement, [*project["dependencies"], *wanted]):
            if requirement.marker is None or requirement.marker.evaluate(environment):
                version = versions.get(canonicalize_name(requirement.name))
                assert version is not None, f"{requirement.name} is not locked: run tools/lock.py"
                assert requirement.specifier.contains(version, prereleases=True)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_platform_has_one_version_of_each_package_by_hash_and_names_no_address(platform: str) -> None:
    together = pinned(platform, *PARTS)
    for part in PARTS:
        assert {name: together[name] for name in pinned(platform, part)} == pinned(platform, part)
        text = lock(platform, part)
        for entry in re.split(r"^(?=[a-z0-9][a-z0-9._-]*==)", text, flags=re.MULTILINE)[1:]:
            assert "--hash=sha256:" in entry
        assert "://" not in text
        assert "index-url" not in text
    for part, entry in ALONE.items():
        assert lock(platform, part).endswith(entry), "a wheel that is locked alone stands as the tool writes it"


def test_the_lock_of_packages_of_node_names_no_address() -> None:
    for folder in ("web", "tests/tool/mcp/node"):
        assert '"resolved"' not in (ROOT / folder / "package-lock.json").read_text(encoding="utf-8")
