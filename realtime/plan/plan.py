"""`Plan` and `SubTask`: what is to be done, step by step, and how far it is."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import Meta

from realtime.errors import BadOption
from realtime.event.decode import explain
from realtime.message.blocks import read_json
from realtime.options import check_fields
from realtime.runtime import unique_id, wall_clock_local

State = Literal["todo", "in_progress", "done", "abandoned"]
PlanState = Literal["todo", "in_progress", "done", "abandoned", "suspended"]

_MARKS = {"todo": "- [ ] ", "in_progress": "- [ ] [WIP]", "done": "- [x] ", "abandoned": "- [ ] [Abandoned]"}
_SHORT_MARKS = {"todo": "- [] ", "in_progress": "- [][WIP] ", "done": "- [x] ", "abandoned": "- [][Abandoned] "}


class SubTaskDraft(msgspec.Struct, kw_only=True):
    """One step of a plan."""

    name: Annotated[str, Meta(description="What the subtask is called, in at most 10 words.")]
    description: Annotated[str, Meta(description="What to do, with all limits and conditions.")]
    expected_outcome: Annotated[str, Meta(description="What there is once it is done, so that one can check it.")]

    def __post_init__(self) -> None:
        check_fields(self)


class SubTask(SubTaskDraft, kw_only=True):
    """One step of a plan. Times are local, `YYYY-MM-DD HH:MM:SS.mmm`. Raises BadOption for wrong values."""

    outcome: str | None = None
    """What came of it."""
    state: State = "todo"
    created_at: str = msgspec.field(default_factory=wall_clock_local)
    finished_at: str | None = None
    id: str = msgspec.field(default_factory=unique_id)
    """The same wherever it stands, and whatever it is called. AgentScope has none."""

    @property
    def is_open(self) -> bool:
        """Whether it is neither done nor abandoned."""
        return self.state in ("todo", "in_progress")

    def finish(self, outcome: str) -> None:
        """Mark it as done."""
        self.state, self.outcome, self.finished_at = "done", outcome, wall_clock_local()

    def to_oneline_markdown(self) -> str:
        """Return state and name."""
        return f"{_SHORT_MARKS[self.state]}{self.name}"

    def to_markdown(self, detailed: bool = False) -> str:
        """Return state and name; with `detailed`, all else in lines of its own."""
        lines = [f"{_MARKS[self.state]}{self.name}"]
        if detailed:
            lines.append(f"\t- Created At: {self.created_at}")
            # A plain text that became a subtask has neither.
            lines += [f"\t- Description: {self.description}"] * bool(self.description)
            lines += [f"\t- Expected Outcome: {self.expected_outcome}"] * bool(self.expected_outcome)
            lines.append(f"\t- State: {self.state}")
            if self.state == "done":
                lines += [f"\t- Finished At: {self.finished_at}", f"\t- Actual Outcome: {self.outcome}"]
        return "\n".join(lines)


class Plan(msgspec.Struct, kw_only=True):
    """What is to be done, in steps that follow each other. Times are as in SubTask.

    `subtasks` may be given as what `subtask_of` takes. Raises BadOption for wrong values.
    """

    id: str = msgspec.field(default_factory=unique_id)
    name: str
    description: str
    expected_outcome: str
    subtasks: list[SubTask]
    created_at: str = msgspec.field(default_factory=wall_clock_local)
    state: PlanState = "todo"
    """One that is done or abandoned has come to its end; a suspended one goes on later."""
    finished_at: str | None = None
    outcome: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.subtasks, list | tuple):
            self.subtasks = [subtask_of(one) for one in self.subtasks]
        check_fields(self)

    def refresh_plan_state(self) -> str:
        """Let the state follow from those of the subtasks; return a sentence about a change, else "".

        That of a plan that is done or abandoned stays.
        """
        before = self.state
        if before not in ("done", "abandoned"):
            self.state = "in_progress" if any(one.state == "in_progress" for one in self.subtasks) else "todo"
        return "" if self.state == before else f"The plan state has been updated to '{self.state}'."

    def finish(self, state: Literal["done", "abandoned"], outcome: str) -> None:
        """Bring the plan to its end."""
        self.state, self.outcome, self.finished_at = state, outcome, wall_clock_local()

    def suspend(self) -> bool:
        """Mark the plan as interrupted; return whether it was open until now."""
        is_open = self.state in ("todo", "in_progress")
        if is_open:
            self.state = "suspended"
        return is_open

    def resume(self) -> None:
        """Open a plan that was suspended or abandoned; one that is done stays so."""
        if self.state in ("suspended", "abandoned"):
            is_begun = any(one.state in ("in_progress", "done") for one in self.subtasks)
            self.state, self.outcome, self.finished_at = "in_progress" if is_begun else "todo", None, None

    def to_markdown(self, detailed: bool = False) -> str:
        """Return the plan with its subtasks, as `SubTask.to_markdown` writes them."""
        lines = [
            f"# {self.name}",
            f"**Description**: {self.description}",
            f"**Expected Outcome**: {self.expected_outcome}",
            f"**State**: {self.state}",
            f"**Created At**: {self.created_at}",
            "## Subtasks",
            *(one.to_markdown(detailed=detailed) for one in self.subtasks),
        ]
        return "\n".join(lines)

    def copy(self) -> Self:
        """Return an independent copy."""
        # Not deepcopy: it makes, and so checks, each subtask anew, which takes 100 times as long.
        made = copy.copy(self)
        made.subtasks = [copy.copy(one) for one in self.subtasks]
        return made

    def model_dump(self) -> dict[str, Any]:
        """Return the plan as JSON-safe builtins: every field, also those that are None."""
        dumped: dict[str, Any] = msgspec.to_builtins(self)
        return dumped

    @classmethod
    def model_validate(cls, dumped: Any) -> Self:
        """Return the plan that `model_dump` gave. Raises BadOption (`bad_state`) for anything else."""
        try:
            return msgspec.convert(dumped, cls)
        except msgspec.ValidationError as error:
            raise BadOption(f"this is no saved plan: {explain(error, cls)}", code="bad_state") from error


def subtask_of(given: SubTaskDraft | Mapping[str, Any] | str) -> SubTask:
    """Return the subtask that is meant: itself, one of its fields, or one of a plain text.

    A voice would rather say a list of texts than one of objects. Raises BadOption for what is none.
    """
    if isinstance(given, SubTask):
        return given
    if isinstance(given, SubTaskDraft):
        return SubTask(**msgspec.structs.asdict(given))
    if isinstance(given, str):
        text = given.strip()
        if not text:
            raise BadOption("a subtask is empty: say what to do")
        # Models write objects as text, too.
        written = _object_in(text)
        return SubTask(name=text, description="", expected_outcome="") if written is None else subtask_of(written)
    try:
        return msgspec.convert(given, SubTask)
    except msgspec.ValidationError as error:
        raise BadOption(f"this is no subtask: {explain(error, SubTask)}") from error


def _object_in(text: str) -> Mapping[str, Any] | None:
    try:
        value = read_json(text) if text.startswith("{") else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
