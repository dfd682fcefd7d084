"""The bench of tool calls: its files, and what it counts."""

import asyncio

from bench.tool_calls.measure import cases, heard, measure_tool_calls, outcome_of
from bench.tool_calls.tools import AGENTS, EVERY_TOOL


def test_every_case_expects_a_tool_of_its_agent_with_arguments_that_it_has() -> None:
    for case in cases():
        if case.expected is not None:
            tools = {tool.name: tool for tool in AGENTS[case.agent]}
            name, arguments = case.expected
            assert arguments.keys() <= tools[name].parameters["properties"].keys(), case
            assert {*tools[name].parameters.get("required", ())} <= arguments.keys(), case


def test_half_of_the_cases_are_held_out_and_each_half_has_some_without_a_call() -> None:
    for split in ("tuned", "held_out"):
        expected = [case.expected for case in cases() if case.split == split]
        assert len(expected) >= 30
        assert expected.count(None) >= 10
    assert len(EVERY_TOOL) >= 15


def test_right_wrong_and_missing_calls_are_told_apart() -> None:
    booked = next(case for case in cases() if case.turns == ("Book a table for four people on Friday.",))
    assert outcome_of(booked, EVERY_TOOL).verdict == "right"
    assert outcome_of(booked, ()).verdict == "none"
    other = next(case for case in cases() if case.expected is None)
    assert outcome_of(other, EVERY_TOOL).verdict == "right"


def test_a_recogniser_without_punctuation_keeps_what_is_part_of_a_word() -> None:
    assert heard("Track order A-17, I'm late: it's $40.50!") == "track order a-17 i'm late it's $40.50"


def test_the_limits_are_kept() -> None:
    section = asyncio.run(measure_tool_calls())
    assert {row[0] for row in section.rows} == {"tuned", "held out"}
    assert all(check.kept for check in section.checks)
