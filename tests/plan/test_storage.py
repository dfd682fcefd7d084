"""Where plans are kept: in the process, and in a file that many users share."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from realtime.errors import StoreError, UsageError
from realtime.module import StateModule
from realtime.plan import InMemoryPlanStorage, Plan, PlanStorageBase, SqlitePlanStorage
from tests.plan.plans import subtask

Make = Callable[[Path], PlanStorageBase]


def in_memory(_: Path) -> PlanStorageBase:
    return InMemoryPlanStorage()


def in_a_file(folder: Path) -> PlanStorageBase:
    return SqlitePlanStorage(folder / "new" / "plans.db")


def plan_of(name: str) -> Plan:
    return Plan(id=f"id-{name}", name=name, description="d", expected_outcome="e", subtasks=[subtask("a")])


@pytest.mark.parametrize("make", [in_memory, in_a_file])
async def test_plans_are_kept_in_order_replaced_by_their_id_and_deleted(make: Make, tmp_path: Path) -> None:
    """PLN-11, SES-03"""
    storage = make(tmp_path)
    assert isinstance(storage, PlanStorageBase)
    assert isinstance(storage, StateModule)
    assert await storage.get_plans() == []
    for name in ("one", "two", "three"):
        await storage.add_plan(plan_of(name))
    changed = plan_of("one")
    changed.finish("done", "Gone.")
    await storage.add_plan(changed)
    assert [(plan.name, plan.state) for plan in await storage.get_plans()] == [
        *(("one", "done"), ("two", "todo"), ("three", "todo"))
    ]
    assert await storage.get_plan("id-one") == changed
    assert await storage.get_plan("strange") is None
    await storage.delete_plan("id-two")
    await storage.delete_plan("strange")
    assert [plan.name for plan in await storage.get_plans()] == ["one", "three"]


@pytest.mark.parametrize("make", [in_memory, in_a_file])
async def test_what_is_kept_stays_as_it_was(make: Make, tmp_path: Path) -> None:
    storage, plan = make(tmp_path), plan_of("one")
    await storage.add_plan(plan)
    plan.subtasks[0].finish("x")
    got = await storage.get_plan(plan.id)
    assert got is not None
    got.name = "other"
    (kept,) = await storage.get_plans()
    assert (kept.name, kept.subtasks[0].state) == ("one", "todo")


async def test_a_known_id_may_be_refused() -> None:
    storage = InMemoryPlanStorage()
    await storage.add_plan(plan_of("one"))
    with pytest.raises(ValueError, match="id-one"):
        await storage.add_plan(plan_of("one"), override=False)


async def test_the_state_of_a_storage_in_memory_holds_its_plans() -> None:
    storage, other = InMemoryPlanStorage(), InMemoryPlanStorage()
    await storage.add_plan(plan_of("one"))
    state = storage.state_dict()
    assert state == {
        "plans": {
            "id-one": plan_of("one").model_dump()
            | {
                "created_at": storage.plans["id-one"].created_at,
                "subtasks": storage.plans["id-one"].model_dump()["subtasks"],
            }
        }
    }
    other.load_state_dict(state)
    assert other.plans == storage.plans


@pytest.mark.parametrize("plans", [None, [], "x", {"id-one": None}, {"id-one": {"name": "one"}}])
async def test_a_damaged_state_is_refused_and_the_plans_stay(plans: Any) -> None:
    storage = InMemoryPlanStorage()
    await storage.add_plan(plan_of("one"))
    with pytest.raises(UsageError):
        storage.load_state_dict({"plans": plans})
    assert [*storage.plans] == ["id-one"]


async def test_each_owner_has_plans_of_its_own_in_one_file_that_outlasts_the_process(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    ann, ben = (SqlitePlanStorage(path, owner) for owner in ("ann", "ben"))
    await asyncio.gather(ann.add_plan(plan_of("one")), ben.add_plan(plan_of("two")), ann.add_plan(plan_of("three")))
    assert {plan.name for plan in await SqlitePlanStorage(str(path), "ann").get_plans()} == {"one", "three"}
    await ben.delete_plan("id-one")
    assert await ann.get_plan("id-one") is not None
    assert await ann.get_plan("id-two") is None
    assert path.stat().st_mode & 0o077 == 0
    assert ann.state_dict() == {}


async def test_a_damaged_row_is_left_out_and_the_others_are_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = SqlitePlanStorage(tmp_path / "plans.db")
    await storage.add_plan(plan_of("one"))
    await storage.add_plan(plan_of("two"))
    connection = sqlite3.connect(storage.path)
    with connection:
        connection.execute("UPDATE plans SET plan = '{' WHERE id = 'id-one'")
    connection.close()
    assert [plan.name for plan in await storage.get_plans()] == ["two"]
    assert "plan id-one is damaged" in caplog.text
    with pytest.raises(StoreError, match="damaged") as caught:
        await storage.get_plan("id-one")
    assert caught.value.code == "store_corrupt"


async def test_a_file_that_cannot_be_used_is_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("This is no database, and it is longer than a header.\n" * 40, encoding="utf-8")
    for path in (tmp_path / "text", tmp_path / "text" / "plans.db", tmp_path):
        with pytest.raises(StoreError):
            await SqlitePlanStorage(path).get_plans()


@pytest.mark.parametrize("foreign", ["CREATE TABLE other (x)", "CREATE TABLE plans (x)", "PRAGMA user_version = 9"])
async def test_a_file_of_something_else_or_a_newer_one_stays_as_it_is(foreign: str, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute(foreign)
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        await SqlitePlanStorage(path).add_plan(plan_of("one"))
    assert (caught.value.code, path.read_bytes()) == ("store_version", before)


def test_an_owner_is_a_text_that_a_file_can_hold() -> None:
    with pytest.raises(UsageError, match="owner"):
        SqlitePlanStorage("plans.db", "\ud83d")


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("add_plan", (plan_of("one"),)), ("delete_plan", ("x",)), ("get_plans", ()), ("get_plan", ("x",))],
)
async def test_a_storage_of_ones_own_implements_four_methods(method: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(NotImplementedError, match=method):
        await getattr(PlanStorageBase(), method)(*arguments)
