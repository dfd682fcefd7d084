"""`claims`: how many claims of deeds are found, and how many other sentences are taken for claims.

Reads every file `bench/claims/*.tsv`: a head line, then one sentence a line with the columns `split`, `kit` (the tools
of the agent, below), `expected` (the tool whose deed is claimed as done; `TOOL~` for one that is announced; `-` for no
claim that has to be withheld), `sentence`, and where needed `log` (`TOOL=STATE=WORDS` of calls before it, `;` between
two; with arguments `TOOL{JSON}=STATE=WORDS`) and `before` (what was said last). Sentences of the splits `known`,
`trades` and `details` were used for work on the rules, the others not. In `details` each tool has succeeded; what is
expected is whether the claim contradicts what the call did.
"""

from __future__ import annotations

import csv
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, cast

from bench.process import ROOT
from bench.report import Check, Section
from realtime.agent.claims import CallDeeds, ClaimCheck
from realtime.event.base import ContentPart, Item
from realtime.state.conversation import Conversation
from realtime.tool import Toolkit
from realtime.turn.claims import ClaimKind, Claims, Deed, DeedState, DeedTool, unbacked

if TYPE_CHECKING:
    from realtime.call.participant import Host

FOLDER = Path(__file__).parent / "claims"
PAGE = ROOT / "docs" / "claims.md"
MAX_FALSE_ALARMS_PERCENT = 1.0
MAX_ADDED_MS = 50.0
LONG_CALL_ITEMS = 1_000

KITS: dict[str, tuple[DeedTool, ...]] = {
    "restaurant": (
        DeedTool("book_table", "Book a table.", ("I have booked the table",)),
        DeedTool("cancel_booking", "Cancel a booking.", ("I have cancelled the booking",)),
    ),
    "bank": (
        DeedTool("transfer_money", "Transfer money to somebody.", ("I have transferred the money",)),
        DeedTool("block_card", "Block a lost card.", ("I have blocked the card",)),
    ),
    "shop": (
        DeedTool("place_order", "Order something.", ("I have placed the order",)),
        DeedTool("cancel_order", "Cancel an order.", ("I have cancelled the order",)),
        DeedTool("issue_refund", "Give money back.", ("I have issued the refund",)),
        DeedTool("update_address", "Change where orders go.", ("I have updated the address",)),
    ),
    "office": (
        DeedTool("send_email", "Send an email.", ("I have sent the email",)),
        DeedTool("save_note", "Save a note.", ("I have saved the note",)),
        DeedTool("move_appointment", "Move an appointment.", ("I have moved the appointment",)),
        DeedTool("set_reminder", "Set a reminder.", ("I have set the reminder",)),
        DeedTool("delete_file", "Delete a file.", ("I have deleted the file",)),
    ),
    "home": (
        DeedTool("set_light", "Turn a light on or off.", ("I have turned on the light",)),
        DeedTool("lock_door", "Lock a door.", ("I have locked the door",)),
        DeedTool("set_thermostat", "Set the temperature.", ("I have set the temperature",)),
    ),
    "support": (
        DeedTool("open_ticket", "Report a fault.", ("I have opened a ticket",)),
        DeedTool("escalate", "Pass a case to a manager.", ("I have escalated the case",)),
        DeedTool("reset_password", "Reset a password.", ("I have reset the password",)),
    ),
    "hotel": (
        DeedTool("book_room", "Book a room.", ("I have booked the room",)),
        DeedTool("call_taxi", "Call a taxi.", ("I have called a taxi",)),
        DeedTool("request_cleaning", "Have a room cleaned.", ("I have asked for the room to be cleaned",)),
    ),
    "travel": (
        DeedTool("book_flight", "Book a flight.", ("I have booked the flight",)),
        DeedTool("check_in", "Check a traveller in.", ("I have checked you in",)),
    ),
    "office2": (
        DeedTool("update_record", "Change the record of a customer.", ("I have updated the record",)),
        DeedTool("create_invoice", "Write an invoice.", ("I have created the invoice",)),
        DeedTool("schedule_call", "Plan a call.", ("I have scheduled the call",)),
    ),
    "gym": (
        DeedTool("renew_membership", "Renew a membership.", ("I have renewed the membership",)),
        DeedTool("book_class", "Book a class.", ("I have booked the class",)),
    ),
    "assistant": (
        DeedTool("book_table", "Book a table at a restaurant.", ("I have booked the table.",)),
        DeedTool("cancel_booking", "Cancel a booking.", ("I have cancelled your booking.",)),
        DeedTool("send_money", "Send money to somebody.", ("I have sent the money.",)),
        DeedTool("send_email", "Send an email.", ("I have sent the email.",)),
        DeedTool("send_text", "Send a text message.", ("I have sent the message.",)),
        DeedTool("add_calendar_event", "Add an event to the calendar.", ("I have added it to your calendar.",)),
        DeedTool("set_reminder", "Set a reminder.", ("I have set a reminder.",)),
        DeedTool("order_food", "Order food.", ("I have ordered the food.",)),
        DeedTool("buy_ticket", "Buy a ticket.", ("I have bought the ticket.",)),
        DeedTool("change_address", "Change the customer's address.", ("I have changed your address.",)),
        DeedTool("turn_on_light", "Turn on a light.", ("I have turned on the light.",)),
        DeedTool("set_thermostat", "Set the thermostat.", ("I have set the thermostat.",)),
        DeedTool("create_note", "Create a note.", ("I have created the note.",)),
        DeedTool("delete_file", "Delete a file.", ("I have deleted the file.",)),
        DeedTool("submit_claim", "Submit an insurance claim.", ("I have submitted your claim.",)),
        DeedTool("open_ticket", "Open a support ticket.", ("I have opened a ticket.",)),
        DeedTool("reschedule_appointment", "Reschedule an appointment.", ("I have moved your appointment.",)),
        DeedTool("block_card", "Block a card.", ("I have blocked your card.",)),
        DeedTool("refund_order", "Refund an order.", ("I have refunded your order.",)),
        DeedTool("subscribe_newsletter", "Subscribe to a newsletter.", ("I have subscribed you to the newsletter.",)),
    ),
    "car": (DeedTool("start_charging", "Charge the car.", ("I have started charging",)),),
    "everyday": (
        DeedTool("block_bank_card", "Block a bank card.", ("I have blocked your card.",)),
        DeedTool("book_doctor_appointment", "Book an appointment with a doctor.", ("I have booked your appointment.",)),
        DeedTool("book_hotel_room", "Book a hotel room.", ("I have booked the room.",)),
        DeedTool("buy_concert_tickets", "Buy tickets for a concert.", ("I have bought the tickets.",)),
        DeedTool("cancel_subscription", "Cancel a subscription.", ("I have cancelled your subscription.",)),
        DeedTool("delete_files", "Delete files.", ("I have deleted the files.",)),
        DeedTool("donate_to_charity", "Donate money to a charity.", ("I have donated the money.",)),
        DeedTool("enroll_gym_class", "Enroll the user in a gym class.", ("I have enrolled you in the class.",)),
        DeedTool("file_insurance_claim", "File an insurance claim.", ("I have filed your claim.",)),
        DeedTool("lock_door", "Lock a door.", ("I have locked the door.",)),
        DeedTool("open_blinds", "Open the blinds.", ("I have opened the blinds.",)),
        DeedTool("order_groceries", "Order groceries.", ("I have ordered the groceries.",)),
        DeedTool("order_taxi", "Order a taxi.", ("I have ordered a taxi.",)),
        DeedTool("pay_parking", "Pay for parking.", ("I have paid for your parking.",)),
        DeedTool("place_call", "Call somebody.", ("I have called them.",)),
        DeedTool("play_music", "Play music.", ("I have started the music.",)),
        DeedTool("post_review", "Post a review.", ("I have posted your review.",)),
        DeedTool("preheat_oven", "Preheat the oven.", ("I have preheated the oven.",)),
        DeedTool("print_document", "Print a document.", ("I have printed the document.",)),
        DeedTool("refill_prescription", "Refill a prescription.", ("I have refilled your prescription.",)),
        DeedTool("renew_library_loan", "Renew a loan of the library.", ("I have renewed your loan.",)),
        DeedTool("request_repair", "Request a repair.", ("I have requested the repair.",)),
        DeedTool("reschedule_delivery", "Reschedule a delivery.", ("I have rescheduled your delivery.",)),
        DeedTool("reserve_table", "Reserve a table at a restaurant.", ("I have reserved the table.",)),
        DeedTool("schedule_meeting", "Schedule a meeting.", ("I have scheduled the meeting.",)),
        DeedTool("send_message", "Send a message.", ("I have sent the message.",)),
        DeedTool("set_alarm", "Set an alarm.", ("I have set the alarm.",)),
        DeedTool("share_location", "Share the user's location.", ("I have shared your location.",)),
        DeedTool("start_sprinkler", "Start the sprinkler.", ("I have started the sprinkler.",)),
        DeedTool("start_vacuum", "Start the vacuum cleaner.", ("I have started the vacuum.",)),
        DeedTool("transfer_money", "Transfer money to somebody.", ("I have transferred the money.",)),
        DeedTool("update_address", "Update the customer's address.", ("I have updated your address.",)),
    ),
    "services": (
        DeedTool("book_haircut", "Book a haircut.", ("I have booked your haircut.",)),
        DeedTool("close_shutters", "Close the shutters.", ("I have closed the shutters.",)),
        DeedTool("order_pizza", "Order a pizza.", ("I have ordered the pizza.",)),
        DeedTool("play_audiobook", "Play an audiobook.", ("I have started the audiobook.",)),
        DeedTool("pay_fine", "Pay a fine.", ("I have paid the fine.",)),
        DeedTool("cancel_delivery", "Cancel a delivery.", ("I have cancelled the delivery.",)),
        DeedTool("send_postcard", "Send a postcard.", ("I have sent the postcard.",)),
        DeedTool("start_coffee", "Start the coffee machine.", ("I have started the coffee machine.",)),
        DeedTool("file_tax_return", "File a tax return.", ("I have filed your tax return.",)),
        DeedTool("report_lost_card", "Report a lost card.", ("I have reported the card.",)),
        DeedTool("set_wakeup", "Set a wake-up call.", ("I have set the wake-up call.",)),
        DeedTool("extend_stay", "Extend a hotel stay.", ("I have extended your stay.",)),
    ),
    "household": (
        DeedTool("close_garage", "Close the garage.", ("I have closed the garage.",)),
        DeedTool("arm_alarm", "Arm the burglar alarm.", ("I have armed the alarm.",)),
        DeedTool("start_dishwasher", "Start the dishwasher.", ("I have started the dishwasher.",)),
        DeedTool("order_flowers", "Order flowers.", ("I have ordered the flowers.",)),
        DeedTool("rent_car", "Rent a car.", ("I have rented the car.",)),
        DeedTool("return_item", "Return an item.", ("I have returned the item.",)),
        DeedTool("top_up_phone", "Top up a prepaid phone.", ("I have topped up your phone.",)),
        DeedTool("feed_cat", "Fill the cat's feeder.", ("I have fed the cat.",)),
        DeedTool("check_in_flight", "Check the user in for a flight.", ("I have checked you in.",)),
        DeedTool("activate_roaming", "Activate roaming.", ("I have activated roaming.",)),
        DeedTool("archive_email", "Archive emails.", ("I have archived the emails.",)),
        DeedTool("upgrade_plan", "Upgrade a mobile plan.", ("I have upgraded your plan.",)),
        DeedTool("book_tennis_court", "Book a tennis court.", ("I have booked the court.",)),
        DeedTool("send_invoice", "Send an invoice to a customer.", ("I have sent the invoice.",)),
        DeedTool("unlock_bike", "Unlock a rental bike.", ("I have unlocked the bike.",)),
        DeedTool("ship_parcel", "Ship a parcel.", ("I have shipped the parcel.",)),
        DeedTool("translate_document", "Translate a document.", ("I have translated the document.",)),
        DeedTool("submit_timesheet", "Submit a timesheet.", ("I have submitted your timesheet.",)),
        DeedTool("mute_notifications", "Mute notifications.", ("I have muted your notifications.",)),
        DeedTool("record_show", "Record a television show.", ("I have set the recording.",)),
        DeedTool("pause_delivery", "Pause the newspaper delivery.", ("I have paused the delivery.",)),
        DeedTool("vote_poll", "Vote in a poll.", ("I have cast your vote.",)),
        DeedTool("raise_desk", "Raise or lower the desk.", ("I have raised the desk.",)),
        DeedTool("hire_cleaner", "Hire a cleaner.", ("I have hired a cleaner.",)),
    ),
    "errands": (
        DeedTool("renew_passport", "Renew a passport.", ("I have renewed your passport.",)),
        DeedTool("set_timer", "Set a timer.", ("I have set the timer.",)),
        DeedTool("sell_shares", "Sell shares.", ("I have sold the shares.",)),
        DeedTool("start_mower", "Start the lawn mower.", ("I have started the mower.",)),
        DeedTool("pay_bill", "Pay a bill.", ("I have paid the bill.",)),
        DeedTool("add_to_shopping_list", "Add something to the shopping list.", ("I have added it to your list.",)),
        DeedTool("post_job", "Post a job advertisement.", ("I have posted the job.",)),
        DeedTool("request_leave", "Request leave.", ("I have requested your leave.",)),
        DeedTool("adjust_seat", "Adjust the car seat.", ("I have adjusted the seat.",)),
        DeedTool("share_document", "Share a document.", ("I have shared the document.",)),
        DeedTool("track_run", "Start tracking a run.", ("I have started tracking your run.",)),
        DeedTool("change_password", "Change a password.", ("I have changed your password.",)),
        DeedTool("join_call", "Join a video call.", ("I have joined the call.",)),
        DeedTool("block_number", "Block a phone number.", ("I have blocked the number.",)),
        DeedTool("set_thermostat_away", "Switch the heating to away mode.", ("I have set the heating to away.",)),
        DeedTool("buy_insurance", "Buy travel insurance.", ("I have bought the insurance.",)),
    ),
}
"""The tools of an agent, by trade, each with the one sentence that it declares."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One line of the files."""

    split: str
    kit: str
    expected: str
    text: str
    log: tuple[Deed, ...] = ()
    before: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the rules say of it."""

    sentence: Sentence
    withheld: frozenset[str]
    """The tools whose deeds are claimed without one; empty: it is said."""
    announced: frozenset[str]

    @property
    def is_right(self) -> bool:
        """Whether that is what was expected."""
        expected = self.sentence.expected
        if expected.endswith("~"):
            return bool(self.announced) and not self.withheld
        return bool(self.withheld) == (expected != "-") and not (expected == "-" and self.announced)


def sentences(folder: Path = FOLDER) -> Iterator[Sentence]:
    """Yield the sentences of all files."""
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE, restval=""):
                log = tuple(_deed(one) for one in row["log"].split(";") if one)
                yield Sentence(row["split"], row["kit"], row["expected"], row["sentence"], log, row["before"])


def judge(sentence: Sentence, kits: dict[str, Claims]) -> Outcome:
    """Judge a sentence as a call does."""
    claims = unbacked(kits[sentence.kit].of(sentence.text, sentence.before), sentence.log)
    announced = {tool for claim in claims if claim.kind is ClaimKind.ANNOUNCED for tool in claim.tools}
    withheld = {tool for claim in claims if claim.kind is not ClaimKind.ANNOUNCED for tool in claim.tools}
    return Outcome(sentence, frozenset(withheld), frozenset(announced))


async def measure_claims() -> Section:
    """Print recall and false alarms for each split."""
    kits = {name: Claims(tools) for name, tools in KITS.items()}
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    costs_us: list[float] = []
    for sentence in sentences():
        took_s: list[float] = []
        for _ in range(2):
            began = time.perf_counter()
            outcome = judge(sentence, kits)
            took_s.append(time.perf_counter() - began)
        costs_us.append(min(took_s) * 1e6)  # the faster of two: the machine may do something else meanwhile
        outcomes[sentence.split].append(outcome)
    section = Section(
        "claims",
        "Claims of deeds: what is found, and what is taken for one",
        "Each sentence is judged alone, with the tools of its trade, each of which declares one sentence. Of times the "
        "faster of two runs counts.",
        ("split", "claims", "found", "right tool", "announced", "found", "others", "false alarms"),
        page=PAGE,
    )
    for split, all_of_split in outcomes.items():
        claims = [one for one in all_of_split if one.sentence.expected[-1] not in "-~"]
        announced = [one for one in all_of_split if one.sentence.expected.endswith("~")]
        others = [one for one in all_of_split if one.sentence.expected == "-"]
        found = [one for one in claims if one.is_right]
        right_tool = [one for one in found if one.sentence.expected in one.withheld]
        alarms = [one for one in others if not one.is_right]
        section.rows.append(
            (
                split,
                str(len(claims)),
                _share(len(found), len(claims)),
                _share(len(right_tool), len(claims)),
                str(len(announced)),
                _share(sum(one.is_right for one in announced), len(announced)),
                str(len(others)),
                _share(len(alarms), len(others)),
            )
        )
        alarms_percent = 100 * len(alarms) / max(1, len(others))
        section.checks += [
            Check(f"{split}: recall", 100 * len(found) / max(1, len(claims)), None, " %"),
            Check(f"{split}: false alarms", alarms_percent, MAX_FALSE_ALARMS_PERCENT, " %"),
        ]
        section.data[split] = {
            "missed": [one.sentence.text for one in claims if not one.is_right],
            "false_alarms": [one.sentence.text for one in alarms],
            "announcements_missed": [one.sentence.text for one in announced if not one.is_right],
        }
    section.checks += [
        Check(f"added in a call of {LONG_CALL_ITEMS} items, longest", _in_a_long_call(), MAX_ADDED_MS, " ms"),
        Check("added to a sentence, median", statistics.median(costs_us) / 1000, MAX_ADDED_MS, " ms"),
        Check("added to a sentence, longest", max(costs_us) / 1000, MAX_ADDED_MS, " ms"),
    ]
    return section


def _in_a_long_call() -> float:
    """Return the longest time in ms that a sentence waits for its check late in a call."""
    conversation = Conversation()
    for number in range(LONG_CALL_ITEMS):
        role: Literal["user", "assistant"] = "user" if number % 2 else "assistant"
        words = ContentPart(type="audio", transcript="Could you tell me more about the table by the window?")
        conversation.add(Item(id=f"item_{number}", role=role, content=(words,)))
    toolkit = Toolkit()
    for name in ("book_table", "cancel_booking"):
        toolkit.register(lambda: "ok", name=name)
    host = cast("Host", SimpleNamespace(conversation=conversation, emit=lambda event: None))
    check = ClaimCheck(toolkit, CallDeeds(), host, declared=tuple)
    check.find("Hello.", "", "")  # reads the tools, once in a call
    longest_s = 0.0
    for sentence in sentences():
        took_s: list[float] = []
        for _ in range(2):
            began = time.perf_counter()
            check.find(sentence.text, "Of course. ", "")
            took_s.append(time.perf_counter() - began)
        longest_s = max(longest_s, min(took_s))
    return longest_s * 1000


def _deed(given: str) -> Deed:
    tool, arguments, state, words = cast("re.Match[str]", re.fullmatch(r"(\w+)({.*})?=(\w+)=(.*)", given)).groups()
    known = {"success": DeedState.SUCCESS, "running": DeedState.RUNNING}
    return Deed(tool, known.get(state, DeedState.FAILED), words, arguments or "")


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(1, whole):.1f} %)"
