"""No claim without a deed, in calls of the embedded model and of models whose transcript is followed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.delegate import Delegate
from realtime.agent.phrases import SAY_EXACTLY
from realtime.audio.playback import AcknowledgedPlayback, WallClockPlayback
from realtime.errors import UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import UsageDetail
from realtime.event.server import CLAIM_WITHHELD
from realtime.message import ToolCallBlock
from realtime.model.base import ItemTruncate, ResponseCancel, ResponseCreate
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall, ReplyUsage
from realtime.model.scripted import ScriptedModel
from realtime.tool import Toolkit
from tests.agent.fakes import Call, FakeConnection, call
from tests.agent.spoken import Spoken, spoken
from tests.agent.test_tools import ask_tools
from tests.agent.thinking import call as tool_call
from tests.agent.thinking import react, say

pytestmark = pytest.mark.virtual_time

BOOKED = "I've reserved your table for six."
DENIED = "I have not booked the table yet."


class Booking:
    """Tools of a restaurant; `fails` is what booking raises, `takes_s` how long it takes."""

    def __init__(self, *, fails: str = "", takes_s: float = 0.0, **options: Any) -> None:
        self.fails = fails
        self.takes_s = takes_s
        self.booked: list[int] = []
        self.toolkit = Toolkit()
        self.toolkit.register(self.book_table, claims=["I have booked the table"], **options)
        self.toolkit.register(self.opening_hours, read_only=True)

    async def book_table(self, people: int) -> str:
        """Book a table."""
        await asyncio.sleep(self.takes_s)
        if self.fails:
            raise RuntimeError(self.fails)
        self.booked.append(people)
        return "ok"

    def opening_hours(self) -> str:
        """Tell when the restaurant is open."""
        return "6 to 11"


class Scripted:
    """A language model that gives its answers in order, the last one again and again."""

    name = "scripted"
    takes_images = False

    def __init__(self, *answers: Sequence[Reply]) -> None:
        self.answers = answers
        self.prompts: list[Prompt] = []

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        self.prompts.append(prompt)
        for piece in self.answers[min(len(self.prompts), len(self.answers)) - 1]:
            await asyncio.sleep(0.01)
            yield piece
        yield ReplyUsage(1, 1, UsageDetail())

    @property
    def hints(self) -> list[str]:
        """The last item of each prompt, where it is a hint."""
        return [prompt.history[-1].text for prompt in self.prompts if prompt.history[-1].role == "system"]


def words(text: str) -> list[Reply]:
    return [ReplyText(f"{word} ") for word in text.split()]


def books(people: int = 6) -> Reply:
    return ReplyToolCall("book_table", f'{{"people": {people}}}')


def talk(model: Any, **options: Any) -> AbstractAsyncContextManager[Spoken]:
    """A call whose client plays all it gets."""
    return spoken(model, clock=WallClockPlayback(24_000), **options)


def withheld(log: Sequence[s.ServerEvent]) -> list[dict[str, Any]]:
    return [event.value for event in log if isinstance(event, s.ServerCustomEvent) and event.name == CLAIM_WITHHELD]


def transcript(one: Spoken) -> list[str]:
    return [item.text for item in one.session.conversation.items() if item.role == "assistant"]


async def turn(one: Spoken, text: str = "A table for six, please.", responses: int = 1) -> None:
    """The user types; returns when so many responses are over and all is said."""
    done = len(one.of(s.AgentResponseDoneEvent))
    one.type(text)
    await one.until(s.AgentResponseDoneEvent, done + responses)
    await asyncio.sleep(4)


# -- the embedded voice ------------------------------------------------------------------------------------------------


async def test_a_claim_without_a_deed_is_never_spoken_and_the_model_corrects_itself() -> None:
    model, booking = Scripted(words(f"Of course. {BOOKED} Goodbye."), words("I need your name first.")), Booking()
    async with talk(model, toolkit=booking.toolkit, claims="checked") as one:
        await turn(one)
        assert one.said() == ["Of course.", "I need your name first."]
        assert transcript(one) == ["Of course.", "I need your name first."]
        (event,) = withheld(one.log)
    assert event["sentence"] == BOOKED
    assert event["tools"] == ["book_table"]
    assert event["heard"] is False
    assert event["correction"] == ""
    assert event["item_id"] == one.of(s.AgentResponseAudioTranscriptDeltaEvent)[0].item_id
    assert BOOKED in model.hints[0]
    assert not any("reserved" in str(event.model_dump()) for event in one.log if event.type != "server_custom")


async def test_it_is_spoken_where_the_log_has_the_deed() -> None:
    model, booking = Scripted([books()], words(BOOKED)), Booking()
    async with talk(model, toolkit=booking.toolkit, claims="checked") as one:
        await turn(one, responses=2)
        assert one.said() == [BOOKED]
        assert withheld(one.log) == []
    assert booking.booked == [6]


async def test_a_call_with_other_details_backs_no_claim_and_the_model_is_told_so() -> None:
    wrong, right = "Your table for eight people is booked.", "Your table for four is booked."
    model = Scripted([books(4)], words(wrong), words(right))
    async with talk(model, toolkit=Booking().toolkit, claims="checked") as one:
        await turn(one, responses=2)
        assert one.said() == [right]
        assert [event["sentence"] for event in withheld(one.log)] == [wrong]
    assert "no successful call of book_table in this conversation did exactly that" in model.hints[0]


async def test_a_model_that_insists_on_other_details_is_given_words_that_deny_only_them() -> None:
    model = Scripted([books(4)], words("I booked a second table."))
    async with talk(model, toolkit=Booking().toolkit, claims="checked") as one:
        await turn(one, responses=2)
        assert one.said() == ["Not exactly that was done."]


async def test_nothing_is_checked_unless_it_is_asked_for() -> None:
    async with talk(Scripted(words(BOOKED)), toolkit=Booking().toolkit) as one:
        await turn(one)
        assert one.said() == [BOOKED]


async def test_a_claim_before_its_call_is_dropped_and_the_call_made() -> None:
    model = Scripted([*words(f"One moment. {BOOKED}"), books()], words(BOOKED))
    booking = Booking()
    async with talk(model, toolkit=booking.toolkit, claims="checked") as one:
        await turn(one, responses=2)
        assert one.said() == ["One moment.", BOOKED]
        assert len(withheld(one.log)) == 1
    assert model.hints == []
    assert booking.booked == [6]


async def test_a_claim_behind_its_call_waits_for_the_result() -> None:
    model, booking = Scripted([books(), *words(BOOKED)], words(BOOKED)), Booking(takes_s=0.5)
    async with talk(model, toolkit=booking.toolkit, claims="checked") as one:
        await turn(one, responses=2)
        assert one.said() == [BOOKED]
        assert len(model.prompts) == 2
    assert booking.booked == [6]


async def test_a_call_that_failed_backs_nothing() -> None:
    model = Scripted([books()], words(BOOKED), words("That did not work, I am sorry."))
    async with talk(model, toolkit=Booking(fails="no table").toolkit, claims="checked") as one:
        await turn(one, responses=2)
        assert one.said() == ["That did not work, I am sorry."]
        assert [event["tools"] for event in withheld(one.log)] == [["book_table"]]


async def test_a_refused_call_backs_nothing() -> None:
    model = Scripted([books()], words(BOOKED), words("As you wish, it is not booked."))
    booking = Booking(confirm=True)
    async with talk(model, toolkit=booking.toolkit, claims="checked") as one:
        one.type("A table for six, please.")
        asked = await one.until(s.AgentResponseToolUseDoneEvent)
        call_id, name = asked.tool_use.id, asked.tool_use.name
        one.receive(c.ClientToolResultEvent(id=call_id, name=name, output="", confirmed=False))
        await one.until(s.AgentResponseDoneEvent, 2)
        await asyncio.sleep(1)
        assert one.said() == ["As you wish, it is not booked."]
    assert booking.booked == []


async def test_the_correction_is_asked_for_once_then_fixed_words_are_said_then_nothing() -> None:
    """A model that insists is not asked in a loop."""
    model = Scripted(words(BOOKED))
    async with talk(model, toolkit=Booking().toolkit, claims="checked") as one:
        await turn(one)
        assert one.said() == [DENIED]
        assert [event["correction"] for event in withheld(one.log)] == ["", DENIED]
        assert len(model.prompts) == 2
        await turn(one, "Really?")
        assert one.said() == [DENIED, DENIED]
        assert len(model.prompts) == 4


async def test_the_model_may_call_instead_of_correcting_itself() -> None:
    model, booking = Scripted(words(BOOKED), [books()], words("Now it is booked.")), Booking()
    async with talk(model, toolkit=booking.toolkit, claims="checked") as one:
        await turn(one, responses=2)
        assert one.said() == ["Now it is booked."]
    assert booking.booked == [6]


async def test_the_hint_stays_out_of_the_history() -> None:
    model = Scripted(words(BOOKED), words("Your name, please?"), words("Thank you."))
    async with talk(model, toolkit=Booking().toolkit, claims="checked") as one:
        await turn(one)
        await turn(one, "Ann.")
    told = [item.text for item in model.prompts[-1].history]
    assert told == ["A table for six, please.", "Your name, please?", "Ann."]


async def test_an_announced_deed_needs_its_call() -> None:
    """Models say so before they call: it is spoken at once, and corrected where no call follows."""
    announced = "I'm booking that for you now."
    model = Scripted([*words(announced), books()], words(BOOKED), words(announced), words("I still need a name."))
    booking = Booking()
    async with talk(model, toolkit=booking.toolkit, claims="checked") as one:
        await turn(one, responses=2)
        assert one.said() == [announced, BOOKED]
        assert withheld(one.log) == []
    other = Scripted(words(announced), words("I still need a name."))
    async with talk(other, toolkit=Booking().toolkit, claims="checked") as one:
        await turn(one)
        assert one.said() == [announced, "I still need a name."]
        assert [event["heard"] for event in withheld(one.log)] == [True]


async def test_all_done_claims_what_was_spoken_of() -> None:
    model = Scripted(words("All done!"), words("Your name, please?"), words("All done!"))
    async with talk(model, toolkit=Booking().toolkit, claims="checked") as one:
        await turn(one, "Please book me a table.")
        await turn(one, "Write me a poem about rain.")
        assert one.said() == ["Your name, please?", "All done!"]


async def test_a_tool_in_the_background_backs_that_it_is_on_its_way_and_then_that_it_is_done() -> None:
    gate = asyncio.Event()
    toolkit = Toolkit()

    async def order_pizza() -> str:
        """Order a pizza."""
        await gate.wait()
        return "ordered"

    toolkit.register(order_pizza, background=True, announce="silently", claims=["I have ordered the pizza"])
    model = Scripted(
        [ReplyToolCall("order_pizza", "{}")],
        words("Your pizza is on its way."),
        words("I've ordered the pizza."),
        words("It is still under way."),
        words("I've ordered the pizza."),
    )
    async with talk(model, toolkit=toolkit, claims="checked") as one:
        await turn(one, "A pizza, please.", responses=2)
        assert one.said() == ["Your pizza is on its way."]
        await turn(one, "And?")
        assert one.said()[1:] == ["It is still under way."]
        gate.set()
        await asyncio.sleep(1)
        await turn(one, "And now?")
        assert one.said()[2:] == ["I've ordered the pizza."]


async def test_the_tools_of_a_thinking_agent_count() -> None:
    booking = Booking()
    agent = react(
        [tool_call("book_table", people=6)], say(BOOKED), say("I've booked another one."), toolkit=booking.toolkit
    )
    async with talk(agent, claims="checked") as one:
        await turn(one, responses=2)
        assert one.said() == [BOOKED]
    lying = react(say(BOOKED), say("I have not done it yet."), toolkit=Booking().toolkit)
    async with talk(lying, claims="checked") as one:
        await turn(one)
        assert one.said() == ["I have not done it yet."]
        assert len(withheld(one.log)) == 1


async def test_the_tools_of_a_delegate_count() -> None:
    booking = Booking()
    office = react([tool_call("book_table", people=6)], say("It is booked."), toolkit=booking.toolkit)
    delegate = Delegate(office, "ask_the_office", "Knows all about tables.", background=False)
    ask = ReplyToolCall("ask_the_office", '{"query": "a table for six"}')
    model = Scripted(words(BOOKED), words("Let me ask."), [ask], words(BOOKED))
    async with talk(model, toolkit=Toolkit([delegate]), claims="checked") as one:
        await turn(one)
        assert one.said() == ["Let me ask."]
        await turn(one, "Please do.", responses=2)
        assert one.said() == ["Let me ask.", BOOKED]
    assert booking.booked == [6]


def test_the_program_of_the_guide_runs() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "claims.md").read_text("utf-8")
    names: dict[str, Any] = {}
    exec(guide.split("```python\n")[1].split("```")[0], names)
    assert names["agent"].claims == "checked"
    assert names["toolkit"].tools["book_table"].claims == ("I have booked the table",)


async def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="claims is one of 'off', 'checked', not 'always'"):
        RealtimeAgent("Robin", "", ScriptedModel([]), claims="always")  # type: ignore[arg-type]


# -- by transcript -----------------------------------------------------------------------------------------------------

FIRST = "Of course, let me look at our calendar for Friday. "


def plays(made: Call, item_id: str, played_ms: int) -> None:
    made.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=played_ms))


def flushed(made: Call) -> list[str | None]:
    return [event.reason for event in made.of(s.ServerAudioFlushEvent)]


async def answers(made: Call, item_id: str, played_ms: int) -> None:
    """The client answers a flush."""
    made.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=played_ms, flushed=True))
    await asyncio.sleep(0.01)


def checked(**options: Any) -> Any:
    return call(
        clock=AcknowledgedPlayback(24_000),
        claims="checked",
        **({"toolkit": Booking().toolkit} | options),
    )


def begin_reply(made: Call) -> tuple[FakeConnection, str, str]:
    """A response of 6 s begins: an innocent sentence of 3 s, then a claim."""
    link = made.link
    made.receive(c.ClientTextAppendEvent(text="A table for six, please."))
    response_id = link.begin()
    item_id = link.speak(response_id, 3_000, FIRST)
    link.speak(response_id, 3_000, f"{BOOKED} ")
    return link, response_id, item_id


async def test_the_reply_is_cut_before_the_claim_and_the_model_asked_for_another() -> None:
    async with checked() as made:
        link, response_id, item_id = begin_reply(made)
        plays(made, item_id, 500)
        await asyncio.sleep(1)
        assert flushed(made) == []
        plays(made, item_id, 2_000)
        await asyncio.sleep(1)
        plays(made, item_id, 2_760)
        await asyncio.sleep(1)
        assert flushed(made) == [CLAIM_WITHHELD]
        assert link.got(ResponseCancel) == [ResponseCancel(response_id)]
        await answers(made, item_id, 2_900)
        (request,) = link.got(ResponseCreate)[1:]
        assert request.overrides is not None
        assert request.overrides.instructions is not None
        assert request.overrides.instructions.startswith("Be nice.")
        assert BOOKED in request.overrides.instructions
        (cut,) = link.got(ItemTruncate)
        assert cut.audio_end_ms == 2_900
        assert cut.heard_text in FIRST
        (event,) = withheld(made.seen)
        assert event["heard"] is False
        assert event["item_id"] == item_id
        link.reply(1_000, "I still need your name.")
        await asyncio.sleep(2)
        said = [text for who, text in made.transcript() if who == "assistant"]
        assert said[0] in FIRST
        assert said[1] == "I still need your name."


async def test_a_claim_that_begins_the_reply_is_not_heard_at_all() -> None:
    async with checked() as made:
        made.receive(c.ClientTextAppendEvent(text="A table for six, please."))
        response_id = made.link.begin()
        item_id = made.link.speak(response_id, 2_000, f"{BOOKED} ")
        assert flushed(made) == [CLAIM_WITHHELD]
        await answers(made, item_id, 0)
        assert [text for who, text in made.transcript() if who == "assistant"] == []
        assert withheld(made.seen)[0]["heard"] is False


async def test_a_claim_that_is_played_already_is_corrected_at_once() -> None:
    async with checked() as made:
        made.receive(c.ClientTextAppendEvent(text="A table for six, please."))
        response_id = made.link.begin()
        item_id = made.link.speak(response_id, 2_000, BOOKED.removesuffix("."))
        plays(made, item_id, 1_900)
        made.link.finish(response_id, BOOKED)
        await asyncio.sleep(1)
        await answers(made, item_id, 2_000)
        assert withheld(made.seen)[0]["heard"] is True
        assert len(made.link.got(ResponseCreate)) == 2
        assert [text for who, text in made.transcript() if who == "assistant"] == [BOOKED]


async def test_a_deed_in_the_log_lets_the_claim_be_heard() -> None:
    async with checked() as made:
        made.receive(c.ClientTextAppendEvent(text="A table for six, please."))
        ask_tools(made, ("call_1", "book_table", '{"people": 6}'))
        await asyncio.sleep(1)
        made.link.reply(2_000, BOOKED)
        await asyncio.sleep(3)
        assert withheld(made.seen) == []
        assert flushed(made) == []


async def test_a_deed_that_is_done_before_its_claim_is_heard_lets_it_be_heard() -> None:
    async with checked() as made:
        link, response_id, item_id = begin_reply(made)
        plays(made, item_id, 100)
        where = {"response_id": response_id, "item_id": "call_item"}
        block = ToolCallBlock(id="call_1", name="book_table", input='{"people": 6}')
        link.say(m.ModelResponseToolUseDoneEvent(tool_use=block, **where))
        link.finish(response_id, FIRST + BOOKED)
        await asyncio.sleep(1)
        plays(made, item_id, 5_000)
        await asyncio.sleep(1)
        assert flushed(made) == []
        assert withheld(made.seen) == []


async def test_a_claim_whose_call_still_runs_is_cut_and_the_result_told() -> None:
    gate = asyncio.Event()
    toolkit = Toolkit()

    async def book_table(people: int) -> str:
        """Book a table."""
        await gate.wait()
        return "ok"

    toolkit.register(book_table, claims=["I have booked the table"])
    async with checked(toolkit=toolkit) as made:
        link, response_id, item_id = begin_reply(made)
        block = ToolCallBlock(id="call_1", name="book_table", input='{"people": 6}')
        link.say(m.ModelResponseToolUseDoneEvent(tool_use=block, response_id=response_id, item_id="call_item"))
        link.finish(response_id, FIRST + BOOKED)
        plays(made, item_id, 100)
        plays(made, item_id, 3_400)
        await asyncio.sleep(5)
        assert flushed(made) == [CLAIM_WITHHELD]
        await answers(made, item_id, 3_400)
        assert len(link.got(ResponseCreate)) == 1
        gate.set()
        await asyncio.sleep(1)
        assert len(link.got(ResponseCreate)) == 2


async def test_a_user_who_interrupts_before_the_claim_hears_no_correction() -> None:
    async with checked() as made:
        link, _, item_id = begin_reply(made)
        plays(made, item_id, 500)
        made.receive(c.ClientTextAppendEvent(text="No, wait."))
        await answers(made, item_id, 600)
        await asyncio.sleep(10)
        assert withheld(made.seen) == []
        assert [request.overrides for request in link.got(ResponseCreate)] == [None, None]


async def test_a_model_that_insists_is_given_the_words_and_then_left_alone() -> None:
    async with checked() as made:
        made.receive(c.ClientTextAppendEvent(text="A table for six, please."))
        for _ in range(3):
            response_id = made.link.begin()
            item_id = made.link.speak(response_id, 1_000, f"{BOOKED} ")
            await answers(made, item_id, 0)
            made.link.finish(response_id, BOOKED, status="cancelled")
        asked = [request.overrides for request in made.link.got(ResponseCreate)]
        assert asked[0] is None
        assert asked[1] is not None
        assert asked[2] is not None
        assert asked[2].instructions == f"{SAY_EXACTLY}{DENIED}"
        assert len(asked) == 3
        assert [event["correction"] for event in withheld(made.seen)] == ["", DENIED, ""]


async def test_an_announcement_without_a_call_is_corrected_after_it() -> None:
    async with checked() as made:
        made.receive(c.ClientTextAppendEvent(text="A table for six, please."))
        made.link.reply(1_000, "I'm booking that for you now.")
        assert len(made.link.got(ResponseCreate)) == 2
        assert withheld(made.seen)[0]["heard"] is True
        assert flushed(made) == []


async def test_words_in_any_pieces_are_found_at_the_same_place() -> None:
    for size in (1, 3, 7, 200):
        async with checked() as made:
            made.receive(c.ClientTextAppendEvent(text="A table for six, please."))
            response_id = made.link.begin()
            item_id = made.link.speak(response_id, 100)
            whole = f"{FIRST}{BOOKED} "
            for start in range(0, len(whole), size):
                made.link.speak(response_id, 0, whole[start : start + size])
            made.link.speak(response_id, 5_900)
            plays(made, item_id, 100)
            assert flushed(made) == []
            plays(made, item_id, 3_000)
            await asyncio.sleep(10)
            assert flushed(made) == [CLAIM_WITHHELD]
            assert withheld(made.seen)[0]["sentence"] == BOOKED
