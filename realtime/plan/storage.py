"""Where plans are kept that an agent does not follow at present."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from realtime.errors import BadOption, StoreError, UsageError
from realtime.module import StateModule
from realtime.options import checked
from realtime.plan.plan import Plan
from realtime.state.files import in_thread
from realtime.state.sqlite_file import SqliteFile, Tables
from realtime.texts import fits_utf8

logger = logging.getLogger(__name__)

T = TypeVar("T")


class PlanStorageBase(StateModule):
    """Keeps plans by their ids, in the order of their first addition."""

    async def add_plan(self, plan: Plan) -> None:
        """Keep a plan; it replaces the one with its id."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `add_plan`")

    async def delete_plan(self, plan_id: str) -> None:
        """Remove a plan. Nothing happens where there is none of this id."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `delete_plan`")

    async def get_plans(self) -> list[Plan]:
        """Return all plans."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `get_plans`")

    async def get_plan(self, plan_id: str) -> Plan | None:
        """Return a plan; None if there is none of this id."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `get_plan`")


class InMemoryPlanStorage(PlanStorageBase):
    """Keeps plans in the process. Its state holds them, so they are saved with a session.

    It keeps and gives copies: a plan that is recovered and changed is kept as it was until it is added again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.plans: dict[str, Plan] = {}
        self.register_state("plans", _to_json, _from_json)

    async def add_plan(self, plan: Plan, override: bool = True) -> None:
        """See `PlanStorageBase.add_plan`. Raises ValueError for a known id unless `override`."""
        if plan.id in self.plans and not override:
            raise ValueError(f"there is a plan with the ID {plan.id!r} already")
        self.plans[plan.id] = plan.copy()

    async def delete_plan(self, plan_id: str) -> None:
        """See `PlanStorageBase.delete_plan`."""
        self.plans.pop(plan_id, None)

    async def get_plans(self) -> list[Plan]:
        """See `PlanStorageBase.get_plans`."""
        return [plan.copy() for plan in self.plans.values()]

    async def get_plan(self, plan_id: str) -> Plan | None:
        """See `PlanStorageBase.get_plan`."""
        plan = self.plans.get(plan_id)
        return None if plan is None else plan.copy()


def _to_json(plans: dict[str, Plan]) -> dict[str, Any]:
    return {plan_id: plan.model_dump() for plan_id, plan in plans.items()}


def _from_json(saved: Any) -> dict[str, Plan]:
    if not isinstance(saved, dict):
        raise BadOption(f"plans are an object with their ids, not a {type(saved).__name__}", code="bad_state")
    return {plan_id: Plan.model_validate(plan) for plan_id, plan in saved.items()}


_PLANS = Tables(
    "plans",
    1,
    {
        0: [
            "CREATE TABLE plans (number INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, id TEXT NOT NULL, "
            "plan BLOB NOT NULL, UNIQUE (owner, id))"
        ]
    },
    kind=0x72_74_50_4C,
)
_PUT = """INSERT INTO plans (owner, id, plan) VALUES (?, ?, ?)
ON CONFLICT (owner, id) DO UPDATE SET plan = excluded.plan"""


class SqlitePlanStorage(PlanStorageBase):
    """Keeps plans in the SQLite file `path`; the first use makes it, readable by its owner only.

    It is a file of its own (see `SqliteFile`). Many users may share it: each storage has the plans of its `owner`
    alone. Several processes may use it at a time. The plans stay in the file: the state of this storage, which a
    session saves, is empty. What the disk or SQLite refuses raises StoreError. A row that cannot be read is left out of
    `get_plans`, and logged.
    """

    @checked()
    def __init__(self, path: str | os.PathLike[str], owner: str = "") -> None:
        super().__init__()
        if not fits_utf8(owner):
            raise UsageError("the owner of plans is a text that UTF-8 can hold", code="invalid_id")
        self.path = Path(path)
        self.owner = owner

    async def add_plan(self, plan: Plan) -> None:
        """See `PlanStorageBase.add_plan`."""
        row = (self.owner, plan.id, msgspec.json.encode(plan))
        await self._run(lambda connection: connection.execute(_PUT, row))

    async def delete_plan(self, plan_id: str) -> None:
        """See `PlanStorageBase.delete_plan`."""
        delete = "DELETE FROM plans WHERE owner = ? AND id = ?"
        await self._run(lambda connection: connection.execute(delete, (self.owner, plan_id)))

    async def get_plans(self) -> list[Plan]:
        """See `PlanStorageBase.get_plans`."""
        rows = await self._rows("SELECT id, plan FROM plans WHERE owner = ? ORDER BY number", self.owner)
        plans = []
        for plan_id, written in rows:
            try:
                plans.append(_read(plan_id, written))
            except StoreError as error:
                logger.warning("%s: it is left out", error)
        return plans

    async def get_plan(self, plan_id: str) -> Plan | None:
        """See `PlanStorageBase.get_plan`. Raises StoreError for one that is damaged."""
        rows = await self._rows("SELECT id, plan FROM plans WHERE owner = ? AND id = ?", self.owner, plan_id)
        return _read(*rows[0]) if rows else None

    async def forget(self) -> int:
        """Remove all plans of the owner, also those that cannot be read; return how many there were.

        The words are gone from the file then. Raises StoreError.
        """
        delete = "DELETE FROM plans WHERE owner = ?"
        n_plans = await self._run(lambda connection: connection.execute(delete, (self.owner,)).rowcount)
        # Plans that grew may have left parts of themselves in their old pages.
        await in_thread(self._use, SqliteFile.scrub)
        return n_plans

    async def _rows(self, query: str, *values: str) -> list[tuple[str, bytes]]:
        return await self._run(lambda connection: connection.execute(query, values).fetchall())

    async def _run(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `act`, in a thread and in one transaction."""
        return await in_thread(self._use, lambda file: file.write(act))

    def _use(self, act: Callable[[SqliteFile], T]) -> T:
        # A storage is made for each user, and has no end: no connection stays open.
        file = SqliteFile(self.path, _PLANS)
        try:
            return act(file)
        finally:
            file.close()


def _read(plan_id: str, written: bytes) -> Plan:
    try:
        return msgspec.json.decode(written, type=Plan)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(f"plan {plan_id} is damaged", code="store_corrupt", retryable=False) from error
