"""The engine: what deny, ask, allow and the modes make of a call."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.errors import UsageError
from realtime.message import PermissionBehavior, PermissionRule
from realtime.permission import (
    AdditionalWorkingDirectory,
    Match,
    PathPermissions,
    PermissionContext,
    PermissionDecision,
    PermissionEngine,
    PermissionMode,
    PrefixPermissions,
    ToolPermissions,
)
from realtime.permission.tools import matches_path, rules_of

ALLOW, DENY, ASK = PermissionBehavior.ALLOW, PermissionBehavior.DENY, PermissionBehavior.ASK
PAY = {"recipient": "Anna", "amount": 20}


class Tool:
    """A tool that leaves everything to rules and mode."""

    name = "pay"

    def __init__(self, permissions: ToolPermissions | None = None, *, own: PermissionDecision | None = None) -> None:
        self.permissions = permissions or ToolPermissions()
        self.own = own

    def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision | None:
        return self.own or self.permissions.check_permissions(tool_input, context)

    def check_read_only(self, tool_input: dict[str, Any]) -> bool:
        return self.permissions.check_read_only(tool_input)

    def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> Match:
        return self.permissions.match_rule(rule_content, tool_input)

    def generate_suggestions(self, tool_input: dict[str, Any]) -> list[PermissionRule]:
        return rules_of(self.name, self.permissions.suggest(tool_input))


def rule(behavior: PermissionBehavior, content: str | None = None, tool: str = "pay") -> PermissionRule:
    return PermissionRule(tool_name=tool, rule_content=content, behavior=behavior, source="test")


def decide(*rules: PermissionRule, mode: str = "default", tool: Tool | None = None, **call: Any) -> PermissionDecision:
    return PermissionEngine(rules, mode).decide(tool or Tool(), call or PAY)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("recipient==Mallory", "recipient==, and == is no operator"),
        ("amount=>10", "amount=>, and => is no operator"),
        ("amount = < 10", "amount=<, and =< is no operator"),
        ("amount<>10", "amount<>"),
        ("amount!==10", "amount!=="),
        ("recipient=~Mal.*", "recipient=~"),
        ("recipient=Anna, amount==10", "amount=="),
        ('recipient=["a, b"], amount=>=10', "amount=>="),
    ],
)
def test_an_operator_that_is_none_is_an_error_where_the_rule_is_written(content: str, told: str) -> None:
    for write in (lambda one: PermissionEngine([one]), PermissionEngine().add_rule):
        with pytest.raises(UsageError) as refused:
            write(rule(DENY, content))
        assert told in refused.value.message
        assert "= != <= >= < >" in refused.value.message


@pytest.mark.parametrize("content", ["recipient==Mallory", "amount=>100", "recipient=~M"])
def test_such_a_rule_in_a_context_counts_for_every_call(content: str) -> None:
    context = PermissionContext(deny_rules={"pay": [rule(DENY, content)]})
    assert PermissionEngine(context).decide(Tool(), PAY).denies


@pytest.mark.parametrize("content", ['recipient="=Mallory"', "path=~/notes/*", "git commit -m a==b", "recipient=a=>b"])
def test_signs_within_a_value_are_no_operators(content: str) -> None:
    assert PermissionEngine([rule(DENY, content)]).rules == [rule(DENY, content)]


def test_deny_beats_ask_and_ask_beats_allow() -> None:
    everything = [rule(ALLOW), rule(ASK), rule(DENY)]
    assert decide(*everything).denies
    assert decide(*everything[:2]).asks
    assert decide(*everything[:1]).allows
    assert decide(everything[0]).rule == everything[0]


contents = st.sampled_from([None, "*", "amount<=20", "amount>20", "recipient=Anna", "recipient=*", "nonsense", "x=1"])
rules = st.builds(rule, st.sampled_from([ALLOW, DENY, ASK]), contents, st.sampled_from(["pay", "*", "p*", "other"]))
modes = st.sampled_from([*PermissionMode])


@given(st.lists(rules), modes, st.integers(1, 40))
def test_a_rule_that_denies_never_loses(given_rules: list[PermissionRule], mode: PermissionMode, amount: int) -> None:
    call = {"recipient": "Anna", "amount": amount}
    with_denial = PermissionEngine([*given_rules, rule(DENY, "recipient=Anna")], mode)
    assert with_denial.decide(Tool(), call).denies
    assert not PermissionEngine([*given_rules, rule(ASK)], mode).decide(Tool(), call).allows


@given(st.lists(rules), modes, st.integers(1, 40))
def test_no_rule_that_allows_makes_a_call_worse(
    given_rules: list[PermissionRule], mode: PermissionMode, amount: int
) -> None:
    call = {"recipient": "Anna", "amount": amount}
    order = [DENY, ASK, ALLOW]
    before = PermissionEngine(given_rules, mode).decide(Tool(), call)
    after = PermissionEngine([*given_rules, rule(ALLOW)], mode).decide(Tool(), call)
    assert order.index(after.behavior) >= order.index(before.behavior)


@given(st.lists(rules), modes)
def test_nobody_is_asked_in_dont_ask_and_nothing_changes_in_explore(
    given_rules: list[PermissionRule], mode: PermissionMode
) -> None:
    assert not PermissionEngine(given_rules, "dont_ask").decide(Tool(), PAY).asks
    assert not PermissionEngine(given_rules, "explore").decide(Tool(), PAY).allows


@given(st.dictionaries(st.sampled_from(["recipient", "day", "note"]), st.text() | st.integers(), max_size=3))
def test_each_suggested_rule_would_have_allowed_the_call(call: dict[str, Any]) -> None:
    decision = PermissionEngine().decide(Tool(), call)
    assert decision.asks
    assert decision.suggested_rules
    for suggested in decision.suggested_rules:
        assert PermissionEngine([suggested]).decide(Tool(), call).allows


def test_a_call_that_no_rule_is_about_is_decided_by_the_mode() -> None:
    expected = {"default": ASK, "accept_edits": ASK, "explore": DENY, "bypass": ALLOW, "dont_ask": DENY}
    others = rule(ASK, "amount>20"), rule(DENY, "recipient=Bob")
    assert {mode: decide(mode=mode).behavior for mode in expected} == expected
    assert {mode: decide(*others, mode=mode).behavior for mode in expected} == expected


def test_a_danger_is_asked_for_whatever_rules_allow() -> None:
    danger = Tool(own=PermissionDecision(ASK, "a danger", "Safety check", bypass_immune=True))
    harmless = Tool(own=PermissionDecision(ASK, "rather ask"))
    expected = {"default": ASK, "accept_edits": ASK, "explore": DENY, "bypass": ALLOW, "dont_ask": DENY}
    assert {mode: decide(rule(ALLOW), mode=mode, tool=danger).behavior for mode in expected} == expected
    assert [
        mode for mode in {*expected} - {"explore"} if not decide(rule(ALLOW), mode=mode, tool=harmless).allows
    ] == []


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="yolo"):
        PermissionEngine((), "yolo")


def test_a_rule_may_be_about_several_tools_and_one_about_an_unknown_tool_does_nothing() -> None:
    assert decide(rule(DENY, tool="*")).denies
    assert decide(rule(ALLOW, tool="p*")).allows
    assert decide(rule(DENY, tool="transfer")).asks


def test_a_rule_that_cannot_be_read_allows_nothing_and_forbids_all(caplog: pytest.LogCaptureFixture) -> None:
    """It is reported once, and what it holds of a talk stays out of the log."""
    engine = PermissionEngine([rule(ALLOW, "to Anna please")])
    with caplog.at_level(logging.WARNING):
        assert engine.decide(Tool(), PAY).asks
        assert engine.decide(Tool(), PAY).asks
    (told,) = [record.getMessage() for record in caplog.records]
    assert "pay" in told
    assert "Anna" not in told
    assert decide(rule(ALLOW), rule(ASK, "amount<=")).asks
    assert decide(rule(ALLOW), rule(DENY, "amount<=")).denies


def test_rules_come_and_go() -> None:
    engine = PermissionEngine()
    engine.add_rule(rule(ALLOW, "amount<=20"))
    engine.add_rule(rule(ALLOW, "amount<=20"))
    assert engine.rules == [rule(ALLOW, "amount<=20")]
    assert not engine.remove_rule(rule(ALLOW, "amount<=21"))
    elsewhere = PermissionRule(tool_name="pay", rule_content="amount<=20", behavior=ALLOW, source="elsewhere")
    assert engine.remove_rule(elsewhere)
    assert engine.rules == []
    assert engine.context.allow_rules == {}


def test_two_engines_together_are_as_strict_as_each_of_them() -> None:
    calls, agents = PermissionEngine([rule(ALLOW)]), PermissionEngine([rule(DENY, "amount>10")], "bypass")
    joined = calls.joined(agents)
    assert joined.decide(Tool(), PAY).denies
    assert joined.decide(Tool(), {**PAY, "amount": 5}).allows
    assert joined.mode is PermissionMode.BYPASS
    assert PermissionEngine((), "explore").joined(agents).mode is PermissionMode.EXPLORE
    assert calls.rules == [rule(ALLOW)]


async def test_a_tool_with_coroutine_functions_is_decided_by_awaiting() -> None:
    class Slow(Tool):
        async def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> Match:  # type: ignore[override]
            await asyncio.sleep(0)
            return self.permissions.match_rule(rule_content, tool_input)

    engine = PermissionEngine([rule(ALLOW, "amount<=20")])
    assert (await engine.check_permission(Slow(), PAY)).allows
    with pytest.raises(UsageError, match="plain functions"):
        engine.decide(Slow(), PAY)


def test_a_coroutine_function_that_waits_for_nothing_is_decided_at_once() -> None:
    class Quick(Tool):
        async def check_read_only(self, tool_input: dict[str, Any]) -> bool:  # type: ignore[override]
            return True

    assert PermissionEngine((), "explore").decide(Quick(), PAY).allows


# -- tools with rules of their own -------------------------------------------------------------------------------------


def test_a_rule_about_files_is_a_glob_and_one_about_commands_a_beginning() -> None:
    """A row of `texts.tsv` is a pattern, a text, and whether they match ("strictly": only to deny)."""
    rows = [line.split("\t") for line in Path(__file__).with_name("texts.tsv").read_text("utf-8").splitlines()[1:]]
    commands = PrefixPermissions("command")
    told = [
        matches_path(pattern, given) if kind == "files" else commands.match_rule(pattern, {"command": given})
        for kind, pattern, given, _ in rows
    ]
    assert [(row, got) for row, got in zip(rows, told, strict=True) if str(got).lower() != row[3]] == []


def test_a_glob_that_forbids_is_about_every_way_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that allows is about the path as it is given."""
    (tmp_path / "srv" / "secrets").mkdir(parents=True)
    (tmp_path / "srv" / "public").mkdir()
    (tmp_path / "srv" / "public" / "link").symlink_to(tmp_path / "srv" / "secrets")
    monkeypatch.chdir(tmp_path / "srv")
    tool = Tool(PathPermissions("path"))
    ways = [
        ("secrets/*", "./secrets/key"),
        ("secrets/*", f"{tmp_path}/srv/secrets/key"),
        ("./secrets/*", f"{tmp_path}/srv/secrets/key"),
        ("secrets/**", "deep/secrets/a/key"),
        (f"{tmp_path}/srv/secrets/*", "secrets/key"),
        (f"{tmp_path}/srv/secrets/*", "public/../secrets/key"),
        ("../secrets/*", f"{tmp_path}/secrets/key"),
        ("secrets/*", "public/link/key"),
        ("secrets/*", "Secrets/KEY"),
        ("secrets/**", "secrets"),
        (f"{tmp_path}/srv/secrets/**", "public/link"),
        ("secrets/", "deep/secrets/a/key"),
        ("caf\u00e9/*", "cafe\u0301/key"),
    ]

    def decided(behavior: PermissionBehavior, mode: str = "default") -> list[PermissionBehavior]:
        return [decide(rule(behavior, glob), mode=mode, tool=tool, path=path).behavior for glob, path in ways]

    assert decided(DENY, "bypass") == [DENY] * len(ways)
    assert decided(ASK, "bypass") == [ASK] * len(ways)
    assert [one == ALLOW for one in decided(ALLOW)] == [True] + [False] * (len(ways) - 1)


def test_of_several_paths_one_that_is_denied_denies_all_and_only_all_that_are_allowed_are() -> None:
    tool = Tool(PathPermissions("path"))
    for paths in (["notes/a.md", "secrets/key"], ["secrets/key"], [7, "secrets/key"]):
        assert decide(rule(DENY, "secrets/*"), tool=tool, path=paths).denies
    assert decide(rule(DENY, "secrets/*"), tool=tool, path=["notes/a.md"]).asks
    assert decide(rule(ALLOW, "notes/*"), tool=tool, path=["notes/a.md", "notes/b.md"]).allows
    for others in (["notes/a.md", "b.md"], ["notes/a.md", 7], []):
        assert decide(rule(ALLOW, "notes/*"), tool=tool, path=others).asks
    assert decide(rule(ALLOW), tool=tool, path=["", "notes/a.md", ".ssh/config"]).bypass_immune


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("notes/*.md", "notes/a.md", True),
        ("notes/*.md", "notes/old/a.md", False),
        ("notes/**/*.md", "notes/a.md", True),
        ("notes/**/*.md", "notes/old/older/a.md", True),
        ("notes/**", "notes/old/a.md", True),
        ("notes/??.md", "notes/ab.md", True),
        ("notes/?.md", "notes/ab.md", False),
        ("notes/[*].md", "notes/*.md", True),
        ("notes/[*].md", "notes/a.md", False),
        # A backtracking match of these would take longer than anyone waits.
        (f"notes/{'*a' * 30}", f"notes/{'a' * 2_000}b", False),
        (f"{'**/a/' * 20}b", "a/" * 1_000, False),
        ("notes/*a*a*a*", f"notes/{'a' * 2_000}", True),
    ],
)
def test_stars_of_a_glob_are_read_side_by_side(pattern: str, path: str, fits: bool) -> None:
    assert matches_path(pattern, path) is fits


def test_a_glob_that_forbids_is_about_no_other_folder() -> None:
    tool = Tool(PathPermissions("path"))
    for path in ("/srv/mysecrets/key", "/srv/secrets.txt", "notes/a.md", "secrets/deep/key", "\0", 7):
        assert decide(rule(DENY, "secrets/*"), tool=tool, path=path).asks


def test_a_mode_that_denies_is_not_loosened_by_the_one_it_is_joined_with() -> None:
    rows = {
        ("bypass", "explore"): "explore",
        ("accept_edits", "dont_ask"): "dont_ask",
        ("dont_ask", "explore"): "explore",
        ("explore", "bypass"): "explore",
        ("default", "accept_edits"): "accept_edits",
        ("bypass", "default"): "bypass",
        ("accept_edits", "bypass"): "accept_edits",
    }
    ours, theirs = [rule(ALLOW, "amount=1")], [rule(DENY, "amount=2")]
    joined = {row: PermissionEngine(ours, row[0]).joined(PermissionEngine(theirs, row[1])) for row in rows}
    assert {row: one.mode for row, one in joined.items()} == rows
    assert [row for row, one in joined.items() if one.rules != [*theirs, *ours]] == []


def test_a_tool_for_files_may_change_those_in_the_working_directories() -> None:
    tool = Tool(PathPermissions("path"))
    folder = AdditionalWorkingDirectory("/srv/notes", "test")
    engine = PermissionEngine(PermissionContext(PermissionMode.ACCEPT_EDITS, {folder.path: folder}))
    assert engine.decide(tool, {"path": "/srv/notes/a.md"}).allows
    assert engine.decide(tool, {"path": "/srv/notes/../a.md"}).asks
    assert engine.decide(tool, {"path": "/srv/notes2/a.md"}).asks
    assert engine.decide(tool, {"path": "/srv/notes/.env"}).bypass_immune
    assert engine.decide(tool, {"path": "/srv/notes/.git/config"}).bypass_immune
    assert engine.decide(tool, {}).asks
    engine.mode = PermissionMode.DEFAULT
    asked = engine.decide(tool, {"path": "/srv/notes/a.md"})
    assert [one.rule_content for one in asked.suggested_rules or ()] == ["/srv/notes/a.md", "/srv/notes/**", None]
    reader = Tool(PathPermissions("path", reads=True))
    assert PermissionEngine((), "explore").decide(reader, {"path": "/srv/notes/.env"}).allows


def test_a_link_within_a_working_directory_to_what_may_run_code_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "notes").symlink_to(tmp_path / ".git" / "hooks")
    folder = AdditionalWorkingDirectory(str(tmp_path))
    engine = PermissionEngine(PermissionContext(PermissionMode.ACCEPT_EDITS, {folder.path: folder}))
    tool = Tool(PathPermissions("path"))
    assert engine.decide(tool, {"path": f"{tmp_path}/notes/post-commit"}).bypass_immune
    assert engine.decide(tool, {"path": f"{tmp_path}/today.md"}).allows
    assert engine.decide(tool, {"path": f"{tmp_path}/\0"}).asks


def test_a_rule_about_the_beginning_of_a_command_does_not_allow_a_further_one(caplog: pytest.LogCaptureFixture) -> None:
    """One that denies counts, and no rule is taken for a bad one."""
    tool = Tool(PrefixPermissions("command"))
    further = ("; rm -rf .", " && rm -rf .", "& rm -rf .", " | sh", " `rm -rf .`", " $(rm -rf .)", "\nrm -rf .")
    allows, denies = rule(ALLOW, "git status:*"), rule(DENY, "git status:*")
    assert decide(allows, tool=tool, command="git status -s").allows
    asked = [decide(allows, tool=tool, command=f"git status{one}") for one in further]
    assert [one.asks for one in asked] == [True] * len(further)
    assert [[rule.rule_content for rule in one.suggested_rules or ()] for one in asked] == [[None]] * len(further)
    assert [one for one in further if not decide(denies, tool=tool, command=f"git status{one}").denies] == []
    assert not caplog.records


def test_words_deny_each_command_that_has_them_and_allow_only_themselves() -> None:
    tool = Tool(PrefixPermissions("command"))
    assert decide(rule(DENY, "install"), tool=tool, command="npm install package").denies
    assert decide(rule(ALLOW, "npm install"), tool=tool, command="npm install").allows
    assert decide(rule(ALLOW, "npm install"), tool=tool, command="npm install package").asks


@given(st.text())
def test_suggestions_about_a_text_are_about_it(command: str) -> None:
    permissions = PrefixPermissions("command")
    suggested = [*permissions.suggest({"command": command})]
    assert suggested[-1] is None
    assert all(permissions.match_rule(one, {"command": command}) for one in suggested)


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_suggestions_about_a_file_are_about_it(path: str) -> None:
    permissions = PathPermissions("path")
    suggested = [*permissions.suggest({"path": path})]
    assert suggested[-1] is None
    assert all(permissions.match_rule(one, {"path": path}) for one in suggested)
