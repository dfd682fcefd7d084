"""The tasks of a server, in memory and bounded: the oldest that are over go first."""

from __future__ import annotations

from collections import OrderedDict

from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import Task, TaskPushNotificationConfig, TaskState
from a2a.utils.errors import InvalidParamsError

MAX_TASKS = 2_000
MAX_TASK_BYTES = 50_000_000
"""Bytes of all tasks: one may hold the transcript of a call of hours."""
MAX_PUSH_CONFIGS = 8
"""Receivers of the notifications of one task."""
OVER = frozenset(
    (
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_REJECTED,
    )
)


class KeptReceivers(InMemoryPushNotificationConfigStore):
    """Who is notified of which task: at most `MAX_PUSH_CONFIGS` a task."""

    async def set_info(
        self, task_id: str, notification_config: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """See `PushNotificationConfigStore`. Raises InvalidParamsError for one too many."""
        others = [one for one in await self.get_info(task_id, context) if one.id != notification_config.id]
        if len(others) >= MAX_PUSH_CONFIGS:
            raise InvalidParamsError(f"a task has at most {MAX_PUSH_CONFIGS} push notification configs")
        return await super().set_info(task_id, notification_config, context)


class KeptTasks(InMemoryTaskStore):
    """Keeps the newest tasks; with a task go its `receivers`.

    Beyond `max_tasks` or `max_bytes` the oldest tasks that are over are dropped.
    """

    def __init__(
        self, receivers: KeptReceivers, *, max_tasks: int = MAX_TASKS, max_bytes: int = MAX_TASK_BYTES
    ) -> None:
        super().__init__()
        self._receivers = receivers
        self._max_tasks = max_tasks
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, tuple[int, bool, ServerCallContext]] = OrderedDict()
        """By id: its bytes, whether it is over, and for whom it is kept."""
        self._n_bytes = 0

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """See `TaskStore`."""
        await super().save(task, context)
        self._forget(task.id)
        self._kept[task.id] = task.ByteSize(), task.status.state in OVER, context
        self._n_bytes += task.ByteSize()
        if len(self._kept) > self._max_tasks or self._n_bytes > self._max_bytes:
            await self._drop_oldest(task.id)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """See `TaskStore`."""
        self._forget(task_id)
        await super().delete(task_id, context)

    def _forget(self, task_id: str) -> None:
        n_bytes, _, _ = self._kept.pop(task_id, (0, False, None))
        self._n_bytes -= n_bytes

    async def _drop_oldest(self, newest_id: str) -> None:
        over = [(task_id, owner) for task_id, (_, is_over, owner) in self._kept.items() if is_over]
        for task_id, owner in over:
            if len(self._kept) <= self._max_tasks and self._n_bytes <= self._max_bytes:
                return
            if task_id == newest_id:
                continue
            await self.delete(task_id, owner)
            if await self._receivers.get_info(task_id, owner):
                await self._receivers.delete_info(task_id, owner)
