"""The bench of claims: its files, and what it counts."""

import asyncio

import pytest

from bench.backed_claims import KITS, judge, measure_claims, sentences
from bench.claims_in_time import Heard
from realtime.turn.claims import Claims


def test_every_sentence_is_of_a_known_trade_and_expects_one_of_its_tools() -> None:
    for sentence in sentences():
        names = {tool.name for tool in KITS[sentence.kit]}
        assert sentence.expected == "-" or sentence.expected.removesuffix("~") in names, sentence
        assert sentence.text
        assert sentence.split


def test_there_are_enough_sentences_of_each_kind() -> None:
    expected = [sentence.expected for sentence in sentences()]
    assert sum(one != "-" for one in expected) >= 250
    assert sum(one == "-" for one in expected) >= 700
    assert len({one for one in expected if one[-1] not in "-~"}) >= 8


@pytest.mark.night
def test_what_is_found_and_what_is_taken_for_a_claim_are_both_told() -> None:
    section = asyncio.run(measure_claims())
    told = [check.what for check in section.checks]
    assert {"heldout: recall", "heldout: false alarms", "known: recall", "known: false alarms"} <= {*told}
    assert {row[0] for row in section.rows} >= {"known", "heldout"}
    assert all(check.kept for check in section.checks if check.what.endswith("false alarms"))


def test_a_log_that_backs_a_claim_makes_it_no_claim() -> None:
    kits = {name: Claims(tools) for name, tools in KITS.items()}
    backed = [one for one in sentences() if one.log and one.expected == "-"]
    assert backed
    assert all(judge(one, kits).is_right for one in backed)


def test_a_claim_is_cut_in_time_where_not_a_word_of_it_was_heard() -> None:
    assert Heard(100, 2_000).in_time
    assert not Heard(101, 2_000).in_time
