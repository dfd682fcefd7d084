"""Which sentences claim a deed, which do not, and what backs them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.backed_claims import KITS, MAX_FALSE_ALARMS_PERCENT, judge, sentences
from realtime.model.local.sentences import SentenceSplitter
from realtime.turn.claims import Claim, ClaimKind, Claims, Deed, DeedState, DeedTool, denial_of, unbacked

BOOK = DeedTool("book_table", "Book a table.", ("I have booked the table",))
PAY = DeedTool("transfer_money", "Send money.", ("I have transferred the money",))
MAIL = DeedTool("send_email", "Send an email.", ("I have sent the email",))
ORDER = DeedTool("place_order", "Order something.", ("I have placed the order",))
TABLE, ALL = Claims([BOOK]), Claims([BOOK, PAY, MAIL, ORDER])
HOME = Claims(
    [
        DeedTool("open_blinds", "Open the blinds.", ("I have opened the blinds.",)),
        DeedTool("preheat_oven", "Preheat the oven.", ("I have preheated the oven.",)),
        DeedTool("lock_door", "Lock a door.", ("I have locked the door.",)),
        DeedTool("print_document", "Print a document.", ("I have printed the document.",)),
        DeedTool("donate_to_charity", "Donate money.", ("I have donated the money.",)),
        DeedTool("request_repair", "Request a repair.", ("I have requested the repair.",)),
        DeedTool("rent_car", "Rent a car.", ("I have rented the car.",)),
        DeedTool("archive_email", "Archive emails.", ("I have archived the emails.",)),
        DeedTool("cancel_subscription", "Cancel a subscription.", ("I have cancelled your subscription.",)),
    ]
)
(DONE,) = TABLE.of("I've booked the table.")
(STATE,) = TABLE.of("Your table is booked.")
(ANNOUNCED,) = TABLE.of("I'm booking it now.")
STARTED = Claim(ClaimKind.STARTED, ("book_table",))


class Row(NamedTuple):
    """A line of `claims.tsv`: the tools whose deeds a sentence claims, of those of a kit; "-" for none."""

    kit: str
    claims: str
    sentence: str


def rows_by_rule() -> dict[str, list[Row]]:
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for line in Path(__file__).with_name("claims.tsv").read_text("utf-8").splitlines()[1:]:
        rule, *row = line.split("\t")
        rows[rule].append(Row(*row))
    return rows


ROWS = rows_by_rule()
OF_KIT = {"table": TABLE, "home": HOME, "all": ALL}


def tools_of(claims: Claims, sentence: str, before: str = "") -> list[str]:
    return [tool for claim in claims.of(sentence, before) for tool in claim.tools]


@pytest.mark.parametrize("rule", ROWS)
def test_a_sentence_claims_the_deeds_of_these_tools(rule: str) -> None:
    claimed = {row: ", ".join(tools_of(OF_KIT[row.kit], row.sentence)) or "-" for row in ROWS[rule]}
    assert {row: tools for row, tools in claimed.items() if tools != row.claims} == {}


def test_a_tool_may_declare_its_claim_in_another_language() -> None:
    claims = Claims([DeedTool("tisch", "", ("Ich habe den Tisch reserviert",))])
    assert tools_of(claims, "Ihr Tisch ist gebucht.") == ["tisch"]
    assert tools_of(claims, "Your table is booked.") == ["tisch"]


def test_a_state_that_was_looked_up_may_be_told() -> None:
    claims = HOME.of("The blinds are up.")
    assert unbacked(claims, ())
    assert not unbacked(claims, [Deed("get_blinds", DeedState.SUCCESS, "The blinds are up.")])


def test_a_sentence_may_claim_two_deeds() -> None:
    claims = ALL.of("I've booked the table and emailed Ann.")
    assert [claim.tools for claim in claims] == [("book_table",), ("send_email",)]


def test_what_is_done_now_is_announced() -> None:
    now = ("I'm booking that for you now.", "Booking it now.", "Your table is being booked.")
    assert [[claim.kind for claim in TABLE.of(sentence)] for sentence in now] == [[ClaimKind.ANNOUNCED]] * 3


def test_what_is_on_its_way_has_been_started() -> None:
    (claim,) = ALL.of("Your order is on its way.")
    assert (claim.kind, claim.tools) == (ClaimKind.STARTED, ("place_order",))


def test_all_done_claims_that_of_which_was_spoken() -> None:
    assert tools_of(ALL, "All done!", "Please send Ann an email.") == ["send_email"]
    assert tools_of(ALL, "All done!", "Please write a poem.") == []
    assert len(tools_of(ALL, "All done!")) == 4


# -- what the tools declare --------------------------------------------------------------------------------------------


def test_a_verb_that_no_family_has_is_declared_and_known_in_all_forms() -> None:
    claims = Claims([DeedTool("calibrate_sensor", claims=("I have calibrated the sensor",))])
    assert tools_of(claims, "The sensor has been calibrated.") == ["calibrate_sensor"]
    assert tools_of(claims, "I calibrated it.") == ["calibrate_sensor"]
    assert claims.of("Shall I calibrate it?") == ()


def test_a_single_verb_may_be_declared() -> None:
    assert tools_of(Claims([DeedTool("tables", claims=("book",))]), "I reserved it.") == ["tables"]


def test_without_a_declaration_the_name_or_the_description_says_what_a_tool_does() -> None:
    assert tools_of(Claims([DeedTool("book_table")]), "I've reserved a table.") == ["book_table"]
    assert tools_of(Claims([DeedTool("t1", "Books a table in a restaurant.")]), "I've booked it.") == ["t1"]


def test_a_tool_that_only_looks_things_up_has_no_deed() -> None:
    names = ("get_bookings", "order_status", "find_table", "weather", "list_orders")
    assert [name for name in names if Claims([DeedTool(name, "Tell what is known.")])] == []


# -- what backs a claim ------------------------------------------------------------------------------------------------


def test_only_a_call_that_has_succeeded_backs_a_deed() -> None:
    rows = {
        (DONE, DeedState.SUCCESS): True,
        (DONE, DeedState.RUNNING): False,
        (DONE, DeedState.FAILED): False,
        (STARTED, DeedState.SUCCESS): True,
        (STARTED, DeedState.RUNNING): True,
        (STARTED, DeedState.FAILED): False,
        (ANNOUNCED, DeedState.FAILED): True,
    }
    backed = {(claim, state): unbacked([claim], [Deed("book_table", state)]) == () for claim, state in rows}
    assert backed == rows


def test_the_deed_of_another_tool_backs_nothing() -> None:
    assert unbacked([DONE], [Deed("cancel_booking", DeedState.SUCCESS, "ok")]) == (DONE,)
    assert unbacked([DONE], []) == (DONE,)


def test_what_was_looked_up_may_be_told_but_not_claimed_as_a_deed() -> None:
    found = [Deed("find_booking", DeedState.SUCCESS, "2 people, booked on May 3")]
    assert unbacked([STATE], found) == ()
    assert unbacked([DONE], found) == (DONE,)


def test_the_denial_is_in_the_words_of_the_tool() -> None:
    denials = {
        "I have booked the table": "I have not booked the table yet.",
        "I've sent the email.": "I have not sent the email yet.",
        "The order has been placed": "The order has not been placed yet.",
        "your table is booked": "Your table is not booked yet.",
        "book": "That is not done yet.",
    }
    assert {claim: denial_of(DeedTool("tool", claims=(claim,))) for claim in denials} == denials
    assert [denial for denial in denials.values() if TABLE.of(denial)] == []


# -- whatever is said --------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "I've booked the table. ",
        "Shall I book it? ",
        "It's booked, ",
        "and I've sent the email. ",
        "Of course! ",
        "You're all set for six. ",
        "Dr. Smith booked it. ",
        "That makes 3.50 dollars. ",
        "\n",
        "I booked it… ",
    ]
)


@given(st.lists(PIECES, max_size=6).map("".join), st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_deltas_of_any_size_claim_the_same_as_the_whole(text: str, sizes: list[int]) -> None:
    def claimed(deltas: list[str]) -> list[tuple[str, tuple[Claim, ...]]]:
        splitter = SentenceSplitter()
        found = [sentence for delta in deltas for sentence in splitter.push(delta)] + splitter.finish()
        return [(sentence, ALL.of(sentence)) for sentence in found]

    deltas, at, turn = [], 0, 0
    while at < len(text):
        deltas.append(text[at : at + sizes[turn % len(sizes)]])
        at, turn = at + sizes[turn % len(sizes)], turn + 1
    assert claimed(deltas) == claimed([text])


@given(st.text(max_size=200), st.text(max_size=50))
def test_no_text_is_too_strange(sentence: str, before: str) -> None:
    assert ALL.of("") == ()
    assert all(claim.tools for claim in ALL.of(sentence, before))


WORDS = sorted({word for sentence in sentences() for word in sentence.text.split()})
ASSISTANT = Claims(KITS["assistant"])


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_words_in_any_order_are_read(sentence: str) -> None:
    claims = ASSISTANT.of(sentence)
    odd = '{"when": "2026-13-45T99:99", "people": 1e400, "n": [null, {"to": "Ann"}]}'
    deeds = [Deed(tool, DeedState.SUCCESS, "ok", odd) for claim in claims for tool in claim.tools]
    assert {*unbacked(claims, deeds)} <= {*claims}


@given(st.sampled_from(["I have booked it", "Your table is booked", "I've sent the email"]), st.integers(0, 3))
def test_a_question_never_claims(sentence: str, marks: int) -> None:
    assert ALL.of(f"{sentence}?{'?' * marks}") == ()


def test_of_the_sentences_for_work_few_are_taken_for_claims_and_most_claims_are_found() -> None:
    kits = {name: Claims(tools) for name, tools in KITS.items()}
    known = [judge(sentence, kits) for sentence in sentences() if sentence.split == "known"]
    others = [one for one in known if one.sentence.expected == "-"]
    claims = [one for one in known if one.sentence.expected != "-"]
    assert 100 * sum(not one.is_right for one in others) / len(others) <= MAX_FALSE_ALARMS_PERCENT
    assert sum(one.is_right for one in claims) / len(claims) >= 0.85
