"""Which sentences claim a deed, which do not, and what backs them."""

from __future__ import annotations

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


def tools_of(claims: Claims, sentence: str, before: str = "") -> list[str]:
    return [tool for claim in claims.of(sentence, before) for tool in claim.tools]


@pytest.mark.parametrize(
    "sentence",
    [
        "I've booked the table.",
        "I booked it.",
        "We have booked you a table for six.",
        "That's booked.",
        "You're booked in for eight.",
        "Your table has been reserved.",
        "I just reserved a table under your name.",
        "I went ahead and booked it.",
        "I've managed to get you a table.",
        "I've got you booked for Friday.",
        "I can confirm that your table is booked.",
        "No problem, I've booked it.",
        "I've checked the calendar and booked you in.",
        "I've booked it, anything else?",
        "Booked!",
        "Table booked for six.",
        "You're all set for six.",
        "You're down for six.",
        "The reservation has gone through.",
        "That's you booked in for Friday.",
        "That's your table booked.",
        "Consider your table booked.",
        "Um, I've, I've booked it.",
        "Table for two, eight o'clock, booked.",
        "What I've done is book you a table.",
        "I took the liberty of booking you a table.",
        "Anything else, now that I've booked the table?",
        "You're free to go now that it's booked.",
        "I found the one you mentioned and booked it.",
        "The good news is, I've booked the table.",
        "The letter says no, but I've booked it.",
        "I’ve booked the table.",
        "ive booked the table",
    ],
)
def test_a_deed_is_claimed_in_any_tense_person_and_voice(sentence: str) -> None:
    assert tools_of(TABLE, sentence) == ["book_table"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Shall I book the table?",
        "Have I booked it for you?",
        "So you're booked for six, right?",
        "I'll book it.",
        "I'm going to book it.",
        "I would have booked it.",
        "I can book it for you.",
        "Let me get that booked.",
        "I have not booked it.",
        "I haven't booked anything yet.",
        "It is not booked yet.",
        "I couldn't book it.",
        "If I booked it for seven, would that do?",
        "Once it's booked, you'll get a text.",
        "I'll tell you when it's booked.",
        "Just say yes and it's booked.",
        "You booked a table yesterday.",
        "You have booked twice.",
        "Your wife has booked a table.",
        "The table was booked by your wife.",
        "The table was booked by Anna.",
        "She said she had booked it.",
        'The letter says "I have booked the table".',
        "The letter says, your table has been booked.",
        "The headline is, table booked.",
        "She said, and I quote, consider it booked.",
        "Your table has been booked, the app claims.",
        "Call them as soon as it's booked.",
        "By the time it's booked, you'll get a code.",
        "The moment it's booked, you'll get a text.",
        "Had I booked the table, you'd know.",
        "First you confirm, then it's booked.",
        "I read it back, you say yes, and then it's booked.",
        "Two clicks and it's booked.",
        "Then you're booked, if you like.",
        "It's booked if nobody calls.",
        "Booked under the old name, it would have been lost.",
        "Well-booked tables are rare.",
        "Booked for when, exactly?",
        "Booked the table, did they?",
        "Booked it yourself, well done.",
        "It was booked last week.",
        "Tables are booked online.",
        "A table is booked within minutes.",
        "We book tables every day.",
        "We're fully booked.",
        "That table is already booked.",
        "Booking it now would cost ten dollars.",
        "It seems that your table has been booked.",
        "Which table should be booked?",
        "No table is booked.",
        "Who booked it?",
        "Of course.",
        "Ho prenotato il tavolo.",
        "",
    ],
)
def test_other_sentences_claim_nothing(sentence: str) -> None:
    assert TABLE.of(sentence) == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "Ich habe Ihnen einen Tisch für vier reserviert.",
        "Ihr Tisch wurde für Freitag reserviert.",
        "Tisch reserviert, Freitag um acht.",
        "Erledigt.",
        "He reservado la mesa.",
        "La mesa ha sido reservada para el viernes.",
        "Ya reservé la mesa.",
        "Listo.",
        "我已经帮您订好了四人桌。",
        "您的座位已经订好了。",
        "搞定了。",
    ],
)
def test_a_deed_is_claimed_in_german_spanish_and_chinese_too(sentence: str) -> None:
    assert tools_of(TABLE, sentence) == ["book_table"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Soll ich den Tisch reservieren?",
        "Ich habe den Tisch noch nicht gebucht.",
        "Ihre Frau hat einen Tisch reserviert.",
        "Wenn der Tisch reserviert ist, bekommen Sie eine Nachricht.",
        "Dann ist der Tisch gebucht, wenn Sie ja sagen.",
        "Puedo reservar una mesa.",
        "Su esposa ha reservado una mesa.",
        "Todavía no he reservado la mesa.",
        "要我帮您订桌子吗？",
        "我还没有订。",
        "您太太已经订了位子。",
    ],
)
def test_other_sentences_in_german_spanish_and_chinese_claim_nothing(sentence: str) -> None:
    assert TABLE.of(sentence) == ()


def test_a_tool_may_declare_its_claim_in_another_language() -> None:
    claims = Claims([DeedTool("tisch", "", ("Ich habe den Tisch reserviert",))])
    assert tools_of(claims, "Ihr Tisch ist gebucht.") == ["tisch"]
    assert tools_of(claims, "Your table is booked.") == ["tisch"]


@pytest.mark.parametrize(
    "sentence",
    [
        "All done, table's yours.",
        "They've squeezed you in at nine.",
        "Our system has just reserved a table for you.",
        "That's the reservation taken care of.",
        "There's now a table under your name.",
        "You are good to go for Friday.",
        "Table for two people booked.",
        "If he asks, I've already booked it.",
        "I've programmed a booking for Friday.",
    ],
)
def test_a_deed_is_claimed_by_states_half_sentences_and_what_others_did_for_the_agent(sentence: str) -> None:
    assert "book_table" in tools_of(TABLE, sentence)


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


@pytest.mark.parametrize(
    ("sentence", "tool"),
    [
        ("The blinds are up.", "open_blinds"),
        ("The shutters on the south side are open now.", "open_blinds"),
        ("The oven's heating up.", "preheat_oven"),
        ("Preheating to two hundred.", "preheat_oven"),
        ("The front door's locked.", "lock_door"),
        ("It's printing.", "print_document"),
        ("I donated fifty in your name.", "donate_to_charity"),
        ("The donation went through.", "donate_to_charity"),
        ("Your gift is with the shelter.", "donate_to_charity"),
        ("The building manager has your report.", "request_repair"),
        ("A plumber's coming tomorrow morning.", "request_repair"),
        ("I rented you a Golf.", "rent_car"),
        ("I archived all two hundred of them.", "archive_email"),
        ("FilmBox is cancelled.", "cancel_subscription"),
    ],
)
def test_the_state_that_a_deed_leaves_claims_it(sentence: str, tool: str) -> None:
    assert tool in tools_of(HOME, sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The blinds are closed.",
        "The front door is unlocked.",
        "The door is locked at night.",
        "I've checked, the door is locked.",
        "The oven's still warm.",
        "The printer's out of paper.",
        "The oven is off.",
        "A plumber could come tomorrow morning.",
        "Your neighbour knows about the leak.",
        "It's up to you.",
        "The landlord has your deposit.",
        "Friday is cancelled until noon.",
        "Printing it costs ten cents a page.",
    ],
)
def test_other_states_claim_nothing(sentence: str) -> None:
    assert tools_of(HOME, sentence) == []


def test_a_state_that_was_looked_up_may_be_told() -> None:
    claims = HOME.of("The blinds are up.")
    assert unbacked(claims, ())
    assert not unbacked(claims, [Deed("get_blinds", DeedState.SUCCESS, "The blinds are up.")])


@pytest.mark.parametrize(
    ("sentence", "tool"),
    [
        ("I've wired fifty euros to Ann.", "transfer_money"),
        ("I've sent the money.", "transfer_money"),
        ("I've sent Ann the email.", "send_email"),
        ("I let him know.", "send_email"),
        ("Your order has been submitted.", "place_order"),
        ("I've reserved it.", "book_table"),
    ],
)
def test_the_words_say_whose_deed_it_is(sentence: str, tool: str) -> None:
    assert tools_of(ALL, sentence) == [tool]


def test_a_sentence_may_claim_two_deeds() -> None:
    claims = ALL.of("I've booked the table and emailed Ann.")
    assert [claim.tools for claim in claims] == [("book_table",), ("send_email",)]


@pytest.mark.parametrize(
    "sentence", ["I'm booking that for you now.", "Booking it now.", "Your table is being booked."]
)
def test_what_is_done_now_is_announced(sentence: str) -> None:
    (claim,) = TABLE.of(sentence)
    assert claim.kind is ClaimKind.ANNOUNCED


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


@pytest.mark.parametrize("name", ["get_bookings", "order_status", "find_table", "weather", "list_orders"])
def test_a_tool_that_only_looks_things_up_has_no_deed(name: str) -> None:
    assert not Claims([DeedTool(name, "Tell what is known.")])


# -- what backs a claim ------------------------------------------------------------------------------------------------

(DONE,) = TABLE.of("I've booked the table.")
(STATE,) = TABLE.of("Your table is booked.")
STARTED = Claim(ClaimKind.STARTED, ("book_table",))
(ANNOUNCED,) = TABLE.of("I'm booking it now.")


@pytest.mark.parametrize(
    ("claim", "state", "is_backed"),
    [
        (DONE, DeedState.SUCCESS, True),
        (DONE, DeedState.RUNNING, False),
        (DONE, DeedState.FAILED, False),
        (STARTED, DeedState.SUCCESS, True),
        (STARTED, DeedState.RUNNING, True),
        (STARTED, DeedState.FAILED, False),
        (ANNOUNCED, DeedState.FAILED, True),
    ],
)
def test_only_a_call_that_has_succeeded_backs_a_deed(claim: Claim, state: DeedState, is_backed: bool) -> None:
    assert (unbacked([claim], [Deed("book_table", state)]) == ()) is is_backed


def test_the_deed_of_another_tool_backs_nothing() -> None:
    assert unbacked([DONE], [Deed("cancel_booking", DeedState.SUCCESS, "ok")]) == (DONE,)
    assert unbacked([DONE], []) == (DONE,)


def test_what_was_looked_up_may_be_told_but_not_claimed_as_a_deed() -> None:
    found = [Deed("find_booking", DeedState.SUCCESS, "2 people, booked on May 3")]
    assert unbacked([STATE], found) == ()
    assert unbacked([DONE], found) == (DONE,)


@pytest.mark.parametrize(
    ("claim", "denial"),
    [
        ("I have booked the table", "I have not booked the table yet."),
        ("I've sent the email.", "I have not sent the email yet."),
        ("The order has been placed", "The order has not been placed yet."),
        ("your table is booked", "Your table is not booked yet."),
        ("book", "That is not done yet."),
    ],
)
def test_the_denial_is_in_the_words_of_the_tool(claim: str, denial: str) -> None:
    assert denial_of(DeedTool("tool", claims=(claim,))) == denial
    assert TABLE.of(denial) == ()


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
