"""A RealtimeAgent with a plan notebook: its tools, its hint, its events, and where its plan stays."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.plan_of_call import KEPT_S
from realtime.errors import BadTool
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model import base
from realtime.model.script import CallTools, Speak, SpeechEnd, SpeechStart, Step, Wait
from realtime.model.scripted import ScriptedModel
from realtime.plan import Plan, PlanNotebook, PlanStorageBase, SqlitePlanStorage
from realtime.plan.news import TELL
from realtime.tool import Toolkit
from tests.agent.fakes import NO_DETECTOR, Call, FakeDetector, FakeModel, call
from tests.agent.test_background_tools import asked, hints
from tests.agent.test_resumption import LONG_VOICE, reply, sound
from tests.agent.test_selective_interruption import FakeEar
from tests.agent.test_tools import ask_tools, results
from tests.plan.plans import make_plan, notebook_with, states

pytestmark = pytest.mark.virtual_time

CREATE = (
    "c1",
    "create_plan",
    json.dumps({"name": "Trip", "description": "Go.", "expected_outcome": "Gone.", "subtasks": ["Book", "Pack"]}),
)
FINISH = ("c2", "finish_subtask", '{"subtask_idx": 0, "subtask_outcome": "Booked."}')

BOOKED = "The subtask 'Book' is done. Its outcome: Booked."
PACKING = "The subtask 'Pack' is in progress."
PACKED = "The subtask 'Pack' is done. Its outcome: Packed."
OVER = "The plan 'Trip' is done. Its outcome: Gone."


def plans(made: Call) -> list[Any]:
    """The plans that listeners were told of: the states of their subtasks."""
    told = [one.value["plan"] for one in made.of(s.ServerCustomEvent) if one.name == "plan_updated"]
    return [plan and [one["state"] for one in plan["subtasks"]] for plan in told]


async def acts(made: Call, *calls: tuple[str, str, str]) -> None:
    for one in calls:
        ask_tools(made, one)
        await asyncio.sleep(1)
    assert {state for _, state, _ in results(made)} == {"success"}


async def test_the_voice_makes_a_plan_and_follows_it() -> None:
    """PLN-29 and REA-36: each change is an event, and the one hint for the plan replaces the one before."""
    async with call(plan_notebook=PlanNotebook()) as made:
        first = made.link.settings
        assert [tool.name for tool in first.tools][:2] == ["view_subtasks", "update_subtask_state"]
        assert "create a plan first" in first.instructions
        await acts(made, CREATE, FINISH)
        assert plans(made) == [["todo", "todo"], ["done", "in_progress"]]
        hints = [update.settings.instructions for update in made.link.got(base.SessionUpdate)]
        assert [hint.count("<system-hint>") for hint in hints] == [1, 1]
        assert "subtask_idx=0" in hints[0]
        assert "index 1, 'Pack', is 'in_progress'" in hints[1]
        kinds = [type(message).__name__ for message in made.link.sent]
        assert kinds[-3:] == ["SessionUpdate", "ToolResult", "ResponseCreate"]
        await acts(made, ("c3", "finish_plan", '{"state": "done", "outcome": "Gone."}'))
        assert plans(made)[-1] is None


async def test_after_fifty_changes_the_context_still_has_one_hint() -> None:
    """It stands in the instructions, and no item of the conversation has one."""
    step = {"description": "As it says.", "expected_outcome": "Done."}
    given = [{"subtask_idx": 0, "action": "add", "subtask": {"name": f"Step {n}", **step}} for n in range(50)]
    changes = [(f"r{n}", "revise_current_plan", json.dumps(one)) for n, one in enumerate(given)]
    async with call(plan_notebook=PlanNotebook()) as made:
        await acts(made, CREATE, *changes)
        told = [update.settings.instructions for update in made.link.got(base.SessionUpdate)]
        assert len(told) == 51
        assert {one.count("<system-hint>") for one in told} == {1}
        assert "- [ ] Step 49" in told[-1]
        assert not [item for item in made.session.conversation.items() if "<system-hint>" in item.text]


async def test_the_hint_follows_the_clients_instructions_too() -> None:
    notebook = await notebook_with("todo")
    async with call(plan_notebook=notebook, config=SessionConfig(instructions="Be a pirate.")) as made:
        told = made.link.settings.instructions
        assert told.startswith("Be a pirate.\n\n<system-hint>The current plan:")
        assert plans(made) == [["todo"]]


async def test_each_call_has_a_plan_of_its_own() -> None:
    """The users of two calls do not see each other's plans. A hook of the program may be called as the event is."""
    notebook = PlanNotebook()
    heard: list[PlanNotebook] = []
    notebook.register_plan_change_hook("plan_updated", lambda one, plan: heard.append(one))
    async with call(plan_notebook=notebook) as ann, call(plan_notebook=notebook) as ben:
        await acts(ann, CREATE, ("c2", *CREATE[1:]))
        await acts(ben, ("c1", "view_historical_plans", "{}"))
        assert "There are no historical plans." in results(ben)[-1][2]
        assert plans(ben) == []
        assert len(plans(ann)) == 2
    assert (notebook.current_plan, notebook.state_dict()["storage"]) == (None, {"plans": {}})
    assert len(heard) == 2
    assert heard[0] is not notebook


@pytest.mark.parametrize(
    ("announce", "by_model", "by_program"),
    [("never", "", []), ("milestones", BOOKED, [PACKED, OVER]), ("all", f"{BOOKED} {PACKING}", [PACKED, OVER])],
)
async def test_what_is_done_is_told_by_the_reply_that_follows_or_in_the_next_silence(
    announce: Any, by_model: str, by_program: list[str]
) -> None:
    """What the model's own tool changes, its result asks for; it is asked for no words twice."""
    async with call(plan_notebook=PlanNotebook(announce=announce)) as made:
        await acts(made, CREATE, FINISH)
        assert results(made)[-1][2].partition("is activated. ")[2] == (f"{by_model} {TELL}" if by_model else "")
        assert hints(made) == []
        notebook = made.agent.spec.plan_notebook
        assert notebook is not None
        made.link.reply(1_000)
        n_asked = asked(made)
        await notebook.finish_subtask(1, "Packed.")
        await notebook.finish_plan("done", "Gone.")
        await asyncio.sleep(0.5)
        assert (hints(made), asked(made)) == ([], n_asked), "the agent speaks"
        await asyncio.sleep(1)
        assert hints(made) == [f"<system-reminder>\n{news} {TELL}\n</system-reminder>" for news in by_program]
        assert asked(made) == n_asked + bool(by_program)


async def test_a_milestone_is_not_told_over_the_user_nor_after_the_call() -> None:
    """Said by the user meanwhile: the reply to that may tell it, and none is asked for besides."""
    async with call(plan_notebook=await notebook_with("in_progress", "todo", announce="milestones")) as made:
        notebook = made.agent.spec.plan_notebook
        assert notebook is not None
        made.link.hear_start("u1")
        await notebook.finish_subtask(0, "Found.")
        await asyncio.sleep(5)
        assert (hints(made), asked(made)) == ([], 0)
        made.link.hear_end("u1", 900, "Never mind.")
        made.link.reply(500)
        await asyncio.sleep(2)
        assert len(hints(made)) == 1
        assert asked(made) == 1
    await notebook.finish_subtask(1, "Late.")
    assert notebook.on_news is None


class Planner:
    """A model that follows its hint: it says what it reads there, and marks the subtask that it is asked about."""

    def __init__(self) -> None:
        self.hint = ""
        self.heard: list[str] = []
        """What the user is to say next."""
        self.has_asked = False

    def __call__(self, message: base.ModelInput) -> list[Step]:
        match message:
            case base.SessionUpdate(settings=settings):
                self.hint = settings.instructions
            case base.AudioAppend() if self.heard:
                return [SpeechStart(0), Wait(500), SpeechEnd(500, self.heard.pop(0)), *self.answer()]
            case base.ResponseCreate() if self.has_asked:
                return [Speak("Let us go on.", 1, pace=1)]
            case base.ResponseCreate():
                return [Speak("First I book the train, then I pack.", 10, pace=1, wait=False)]
        return []

    def answer(self) -> list[Step]:
        if self.heard:
            return [Speak("It is noon.", 1, pace=1)]
        found = re.search(r"index (\d+), '\w+', is 'in_progress'", self.hint)
        assert found is not None
        self.has_asked = True
        return [CallTools((("update_subtask_state", {"subtask_idx": int(found[1]), "state": "in_progress"}),))]


async def test_a_digression_suspends_the_plan_and_where_were_we_goes_on_at_its_subtask() -> None:
    """PLN-07 and AMB-39, in a call: interrupt, another topic, the plan goes on."""
    planner = Planner()
    model: Any = ScriptedModel(planner)
    async with call(model=model, plan_notebook=await notebook_with("done", "in_progress", "todo")) as made:
        notebook = made.agent.spec.plan_notebook
        assert notebook is not None
        made.receive(c.ClientResponseCreateEvent())
        await asyncio.sleep(2)
        planner.heard = ["What time is it?", "Where were we?"]
        made.hear()
        await asyncio.sleep(0.2)
        assert notebook.is_suspended
        assert "it is suspended" in planner.hint
        await asyncio.sleep(4)
        assert notebook.is_suspended, "the plan waits for as long as the user wants"
        made.hear()
        await asyncio.sleep(3)
        assert states(notebook) == ["done", "in_progress", "todo"]
        assert "it is suspended" not in planner.hint
        told = [one.value["plan"]["state"] for one in made.of(s.ServerCustomEvent) if one.name == "plan_updated"]
        assert told == ["todo", "suspended", "in_progress"]
        assert made.transcript()[-1] == ("assistant", "Let us go on.")


@pytest.mark.parametrize(
    ("event", "suspends"),
    [
        (c.ClientTextAppendEvent(text="What time is it?"), True),
        (c.ClientResponseCancelEvent(), True),
        (c.ClientResponseCreateEvent(), False),
    ],
    ids=lambda given: str(getattr(given, "type", given)),
)
async def test_a_reply_that_is_cut_in_writing_or_by_a_button_suspends_the_plan(
    event: c.ClientEvent, suspends: bool
) -> None:
    """Another response that the client asks for is no interruption. In silence there is nothing to interrupt."""
    async with call(plan_notebook=await notebook_with("in_progress")) as made:
        notebook = made.agent.spec.plan_notebook
        assert notebook is not None
        for speaks in (False, True):
            if speaks:
                made.link.begin_speaking(5_000, "First the train.")
                await asyncio.sleep(1)
            made.receive(event)
            await asyncio.sleep(0.1)
            assert notebook.is_suspended is (speaks and suspends)


async def test_a_voice_without_words_that_cut_the_reply_leaves_the_plan_as_it_was() -> None:
    for was_suspended in (False, True):
        notebook = await notebook_with("in_progress", "todo")
        if was_suspended:
            await notebook.suspend()
        found = FakeDetector(*LONG_VOICE)
        config = SessionConfig(turn_detection=TurnDetection(authority="server", interruption="selective"))
        async with call(
            profile=NO_DETECTOR,
            config=config,
            make_detector=lambda _, found=found: found,
            recognise=FakeEar(None),
            plan_notebook=notebook,
        ) as made:
            of_call = made.agent.spec.plan_notebook
            assert of_call is not None
            await reply(made)
            await sound(made, 0, 3_500)
            assert of_call.is_suspended, "the voice has taken the floor"
            made.link.say(
                m.ModelInputCommittedEvent(item_id="item_1"),
                m.ModelInputTranscriptionFailedEvent(item_id="item_1", code="failed", message="no words"),
            )
            await asyncio.sleep(0.1)
            assert of_call.is_suspended is was_suspended


async def test_a_plan_outlasts_its_call_in_a_storage_that_does(tmp_path: Path) -> None:
    notebook = PlanNotebook(storage=SqlitePlanStorage(tmp_path / "plans.db", "ann"))
    async with call(plan_notebook=notebook) as made:
        await acts(made, CREATE, FINISH)
    (kept,) = await notebook.storage.get_plans()
    assert (kept.state, [one.state for one in kept.subtasks]) == ("suspended", ["done", "in_progress"])
    recover = ("c1", "recover_historical_plan", json.dumps({"plan_id": kept.id}))
    async with call(plan_notebook=notebook) as made:
        await acts(made, recover)
        assert plans(made) == [["done", "in_progress"]]


async def test_an_agent_without_a_server_uses_the_notebook_itself() -> None:
    """Its state holds the plan, and the program goes on with it."""
    notebook = PlanNotebook()
    agent = RealtimeAgent("Robin", "Be brief.", FakeModel(), plan_notebook=notebook)
    out: list[Any] = []
    await agent.start(out.append)
    await make_plan(notebook, ["Book"])
    await agent.stop()
    assert [one.value["plan"]["name"] for one in out if isinstance(one, s.ServerCustomEvent)] == ["Trip"]
    assert agent.state_dict()["plan_notebook"] == notebook.state_dict()
    await notebook.finish_plan("done", "x")
    again = RealtimeAgent("Robin", "Be brief.", FakeModel(), plan_notebook=PlanNotebook())
    again.load_state_dict(agent.state_dict())
    assert again.plan_notebook is not None
    assert [plan.name for plan in await again.plan_notebook.storage.get_plans()] == ["Trip"]


async def test_an_agent_that_gets_its_call_back_has_its_plan_still(tmp_path: Path) -> None:
    """Meanwhile the events tell the plan of the other agent; that one is kept at the end of the call."""
    theirs = PlanNotebook(storage=SqlitePlanStorage(tmp_path / "plans.db"))
    friday = RealtimeAgent("Friday", "Be nice.", FakeModel(), plan_notebook=PlanNotebook())
    ben = RealtimeAgent("Ben", "You are Ben.", FakeModel(), plan_notebook=theirs, transfers=[friday])
    friday.transfers = (ben,)
    out: list[Any] = []
    await friday.start(out.append)
    assert friday.plan_notebook is not None
    await make_plan(friday.plan_notebook, ["Book", "Pack"])
    bens = (await friday.transfer_to("Ben")).plan_notebook
    assert bens is not None
    await make_plan(bens, ["Pay", "Ship", "Bill"])
    await friday.plan_notebook.suspend()
    again = await friday.transfer_to("Friday")
    assert again.plan_notebook is friday.plan_notebook
    await friday.stop()
    told = [one.value["plan"] for one in out if isinstance(one, s.ServerCustomEvent) and one.name == "plan_updated"]
    assert [len(plan["subtasks"]) for plan in told] == [2, 3, 2]
    assert [plan["state"] for plan in told] == ["todo", "todo", "suspended"]
    assert [(plan.id, plan.state) for plan in await theirs.storage.get_plans()] == [(told[1]["id"], "suspended")]


async def test_a_storage_that_hangs_or_fails_ends_no_call_late(caplog: pytest.LogCaptureFixture) -> None:
    class Hanging(PlanStorageBase):
        async def add_plan(self, plan: Plan) -> None:
            await asyncio.Event().wait()

    async with call(plan_notebook=await notebook_with("todo", storage=Hanging())) as made:
        assert plans(made) == [["todo"]]
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - began < KEPT_S + 1
    async with call(plan_notebook=await notebook_with("todo", storage=PlanStorageBase())) as made:
        assert plans(made) == [["todo"]]
    assert "the plans of a call were not stored within 5 s" in caplog.text
    assert "a storage of plans failed" in caplog.text


def test_a_taken_name_is_refused_before_any_call() -> None:
    def create_plan() -> str:
        """Make some plan."""
        return "made"

    with pytest.raises(BadTool, match="create_plan"):
        RealtimeAgent("Robin", "", FakeModel(), toolkit=Toolkit([create_plan]), plan_notebook=PlanNotebook())
