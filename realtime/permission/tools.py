"""How the rules of one tool are matched and suggested."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from realtime.message import PermissionBehavior, PermissionRule
from realtime.options import checked
from realtime.permission.context import PermissionContext, PermissionMode
from realtime.permission.decision import Match, PermissionDecision
from realtime.permission.pattern import is_whole, matches, matches_text, pattern_of

SUGGESTED = "suggested"
"""The source of a suggested rule."""
MAX_SUGGESTED_CHARS = 500
"""A longer pattern is not suggested: who could read it?"""


class ToolPermissions:
    """The permissions of a tool: conditions on its arguments (`realtime.permission.pattern`).

    Subclasses override what is different. The methods return at once, and never change their arguments.
    """

    def check_permissions(self, tool_input: Mapping[str, Any], context: PermissionContext) -> PermissionDecision | None:
        """Return the tool's own decision; None leaves it to rules and mode. A rule that denies or asks comes first."""
        return None

    def check_read_only(self, tool_input: Mapping[str, Any]) -> bool:
        """Return whether this call changes nothing: then it runs in every mode."""
        return False

    def match_rule(
        self, rule_content: str | None, tool_input: Mapping[str, Any], known: Collection[str] | None = None
    ) -> Match:
        """Return whether a rule is about this call.

        `strictly` where it is only if it denies or asks; None where it cannot be read. `known` are the names of the
        tool's arguments; None: any.
        """
        return matches(rule_content, tool_input, known)

    def suggest(self, tool_input: Mapping[str, Any]) -> Iterable[str | None]:
        """Yield the patterns to suggest for a call, narrowest first; None is the whole tool."""
        exact = pattern_of(tool_input)
        if exact is not None and len(exact) <= MAX_SUGGESTED_CHARS:
            yield exact
            amounts = [name for name, value in tool_input.items() if _is_amount(name, value)]
            if len(amounts) == 1 and (smaller := pattern_of(tool_input, up_to=amounts[0])) is not None:
                yield smaller
        yield None


_NO_AMOUNT = frozenset(
    (
        *("id", "number", "nr", "no", "code", "key", "pin", "phone", "zip", "index", "version"),
        *("year", "month", "week", "day", "hour", "minute", "time"),
    )
)
"""Last words of names of numbers that do not say how much: less is not within more."""


def _is_amount(name: str, value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and value > 0 and name.rpartition("_")[2].lower() not in _NO_AMOUNT


def rules_of(tool_name: str, patterns: Iterable[str | None]) -> list[PermissionRule]:
    """Return rules that allow calls of a tool, as suggestions."""
    allow = PermissionBehavior.ALLOW
    return [
        PermissionRule(tool_name=tool_name, rule_content=pattern, behavior=allow, source=SUGGESTED)
        for pattern in patterns
    ]


_FURTHER = (";", "&", "|", "`", "$(", "\n", "\r")
"""Begins a further command in a shell."""


class PrefixPermissions(ToolPermissions):
    """Rules about how one text argument begins.

    It may be the command of a shell. `git commit:*` and `git commit *` are about texts that are these words or go on
    after them, and `*` stands for any characters elsewhere, too. A pattern without `*` allows only the text that it is;
    it denies or asks for each that contains it, as in AgentScope.

    They are no shell: where a text that begins as the pattern does has a further command behind it (`;`, `&`, `|`, a
    backtick, `$(`, a new line), the rule allows nothing, and one that denies or asks counts.
    """

    @checked()
    def __init__(self, argument: str) -> None:
        self.argument = argument

    def match_rule(
        self, rule_content: str | None, tool_input: Mapping[str, Any], known: Collection[str] | None = None
    ) -> Match:
        """See `ToolPermissions.match_rule`."""
        if is_whole(rule_content):
            return True
        text = " ".join(str(tool_input.get(self.argument, "")).split())
        pattern = rule_content or ""
        if "*" not in pattern:
            return text == pattern or ("strictly" if pattern in text else False)
        words = pattern.removesuffix(":*").removesuffix(" *")
        raw = str(tool_input.get(self.argument, "")).strip()
        # `git status;` are the same words as `git status ;`.
        for one in (text, " ".join(re.sub(r"[;&|`]|\$\(", r" \g<0> ", raw).split())):
            if matches_text(f"{words} *" if words != pattern else words, one) or one == words:
                return "strictly" if any(raw.count(one) > pattern.count(one) for one in _FURTHER) else True
        return False

    def suggest(self, tool_input: Mapping[str, Any]) -> Iterable[str | None]:
        """See `ToolPermissions.suggest`: the first two words, then the first one.

        Neither where a further command is behind them.
        """
        words = str(tool_input.get(self.argument, "")).split()
        found = [f"{words[0]}:*"] if words else []
        if len(words) > 1 and re.fullmatch(r"[\w-]+", words[1]) and not words[1].startswith("-"):
            found.insert(0, f"{words[0]} {words[1]}:*")
        yield from (one for one in found if self.match_rule(one, tool_input) is True)
        yield None


class PathPermissions(ToolPermissions):
    """Rules about the path of a file: globs such as `notes/**` or `*.md`, where `**` also stands for folders.

    A rule that allows is about the path as the tool gets it. One that denies or asks is also about where that leads, by
    links and from the current folder, and a relative glob is then about such a folder anywhere: `secrets/*` denies
    `/srv/secrets/key`. It does not tell capitals from small letters, as some file systems do not; `secrets/**` and
    `secrets/` are then about that folder and all in it. The argument may be a list of paths: one allowed path allows
    none of the others, and one that is denied denies all.

    In `accept_edits` and `dont_ask` the tool runs without a question on files in the working directories. Files that
    could run code or hold secrets are asked for in any case (not in `bypass`). With `reads`, it only reads.
    """

    risky_files: Collection[str] = frozenset(
        (
            *(".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile"),
            *(".netrc", ".npmrc", ".pypirc", ".env", ".envrc"),
        )
    )
    """Names of files, in lower case; `.env.` with any ending is one too."""
    risky_folders: Collection[str] = frozenset((".git", ".ssh", ".vscode", ".idea"))

    @checked()
    def __init__(self, argument: str, *, reads: bool = False) -> None:
        self.argument = argument
        self.reads = reads

    def check_read_only(self, tool_input: Mapping[str, Any]) -> bool:
        """See `ToolPermissions.check_read_only`."""
        return self.reads

    def check_permissions(self, tool_input: Mapping[str, Any], context: PermissionContext) -> PermissionDecision | None:
        """See `ToolPermissions.check_permissions`."""
        paths = self._paths(tool_input)
        for path in paths:
            if path and self.is_risky(path):
                return PermissionDecision(
                    PermissionBehavior.ASK,
                    f"{path} may run code or hold secrets",
                    "Safety check: a file that may run code or hold secrets",
                    bypass_immune=True,
                )
        edits = context.mode in (PermissionMode.ACCEPT_EDITS, PermissionMode.DONT_ASK)
        if edits and paths and all(path and is_inside(path, context) for path in paths):
            return PermissionDecision(
                PermissionBehavior.ALLOW,
                f"{', '.join(paths)} is in a working directory",
                "The file is in a working directory",
            )
        return None

    def match_rule(
        self, rule_content: str | None, tool_input: Mapping[str, Any], known: Collection[str] | None = None
    ) -> Match:
        """See `ToolPermissions.match_rule`."""
        if is_whole(rule_content):
            return True
        pattern, paths = rule_content or "", self._paths(tool_input)
        if paths and all(matches_path(pattern, path) for path in paths):
            return True
        return "strictly" if any(_leads_to(pattern, path) for path in paths) else False

    def suggest(self, tool_input: Mapping[str, Any]) -> Iterable[str | None]:
        """See `ToolPermissions.suggest`: this file, then its folder."""
        path = tool_input.get(self.argument)
        if isinstance(path, str) and path:
            exact = re.sub(r"([*?\[])", r"[\1]", os.path.normpath(os.path.expanduser(path)))
            folder, slash, _ = exact.rpartition("/")
            found = [exact, f"{folder}/**"] if slash else [f"./{exact}"]
            yield from (one for one in found if matches_path(one, path))
        yield None

    def _paths(self, tool_input: Mapping[str, Any]) -> list[str]:
        """Return the paths of a call: of an argument that is a text or a list.

        What is no text in a list is "".
        """
        given = tool_input.get(self.argument)
        if isinstance(given, str):
            return [given]
        return [one if isinstance(one, str) else "" for one in given] if isinstance(given, list) else []

    def is_risky(self, path: str) -> bool:
        """Return whether a file may run code or hold secrets: by its path, or where links lead."""
        return self._is_risky(os.path.normpath(path)) or ("\0" not in path and self._is_risky(real_path(path)))

    def _is_risky(self, path: str) -> bool:
        *folders, name = (part.lower() for part in PurePath(path).parts or ("",))
        return (
            name in self.risky_files
            or name.startswith(".env.")
            or any(part in self.risky_folders for part in (*folders, name))
        )


def real_path(path: str) -> str:
    """Return the absolute path, with links followed. Raises ValueError for a path with a NUL."""
    return os.path.realpath(os.path.expanduser(path))


def is_inside(path: str, context: PermissionContext) -> bool:
    """Return whether a path is in a working directory, with links followed."""
    if "\0" in path:
        return False
    real = real_path(path)
    folders = (real_path(folder) for folder in context.working_directories)
    return any(real == folder or real.startswith(os.path.join(folder, "")) for folder in folders)


def matches_path(pattern: str, path: str) -> bool:
    """Return whether a path is that of a glob. One without a slash is about files of that name in any folder.

    `..` is resolved first, so that no path leaves the folder of its pattern.
    """
    path = os.path.normpath(os.path.expanduser(path))
    if "/" not in pattern and pattern != "**":
        path = PurePath(path).name
    return _fits(os.path.expanduser(pattern.removeprefix("./")), path)


def _leads_to(pattern: str, path: str) -> bool:
    """Return whether a path may be that of a glob that forbids."""
    pattern = os.path.expanduser(pattern)
    folder = pattern.removesuffix("**").rstrip("/")
    globs = {folder, f"{folder}/**"} if folder and pattern.endswith(("/", "/**")) else {pattern}
    patterns = globs | {os.path.abspath(one) for one in globs}
    if not os.path.isabs(pattern):
        patterns |= {f"**/{os.path.normpath(one)}" for one in globs}
    path = os.path.expanduser(path)
    paths = {path, os.path.abspath(path)} if "\0" in path else {path, os.path.abspath(path), real_path(path)}
    return any(matches_path(_folded(one), _folded(other)) for one in patterns for other in paths)


def _folded(path: str) -> str:
    """Return a path as some file systems compare it.

    They tell neither capitals nor ways to write an accent.
    """
    return unicodedata.normalize("NFC", path.casefold())


@lru_cache(maxsize=256)
def _tokens(pattern: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\*\*/|\*\*|\*|\?|\[[*?\[]\]|.", pattern, re.DOTALL))


def _fits(pattern: str, path: str) -> bool:
    """Whether a path is that of a glob: `**` is any path, `*` and `?` stay within a folder.

    All readings go on side by side: many stars and a long path take no longer than their product.
    """
    tokens = _tokens(pattern)
    places = _onward(tokens, {0})
    for char in path:
        places = _onward(tokens, {next_one for place in places for next_one in _read(tokens, place, char)})
        if not places:
            return False
    return len(tokens) in places


def _onward(tokens: Sequence[str], places: set[int]) -> set[int]:
    """Add the places behind tokens that may stand for nothing."""
    for place in sorted(places):
        while 0 <= place < len(tokens) and tokens[place] in ("*", "**", "**/"):
            place += 1
            places.add(place)
    return places


def _read(tokens: Sequence[str], place: int, char: str) -> Iterator[int]:
    """Yield where a glob may go on behind a character; ~place is inside a `**/`, which ends with a `/`."""
    if place < 0:
        yield place
        if char == "/":
            yield ~place + 1
        return
    token = tokens[place] if place < len(tokens) else ""
    match token:
        case "**/":
            yield from _read(tokens, ~place, char)
        case "**":
            yield place
        case "*" | "?":
            if char != "/":
                yield place + (token == "?")
        case _:
            if token and char == (token[1] if len(token) == 3 else token):
                yield place + 1
