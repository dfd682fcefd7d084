"""Plans: a notebook from which an agent works through a task step by step."""

from realtime.plan.hint import DefaultPlanToHint
from realtime.plan.news import Announce
from realtime.plan.notebook import PlanNotebook
from realtime.plan.plan import Plan, SubTask, SubTaskDraft
from realtime.plan.storage import InMemoryPlanStorage, PlanStorageBase, SqlitePlanStorage

__all__ = [
    "Announce",
    "DefaultPlanToHint",
    "InMemoryPlanStorage",
    "Plan",
    "PlanNotebook",
    "PlanStorageBase",
    "SqlitePlanStorage",
    "SubTask",
    "SubTaskDraft",
]
