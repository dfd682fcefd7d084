"""What agents remember of the users who call them: loaded when a call begins, saved while it goes on."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from realtime.agent import RealtimeAgent
from realtime.agent.heard import items_from_json, items_to_json
from realtime.agent.run import AgentRun
from realtime.call.session import Session
from realtime.errors import BadOption, RealtimeError, StoreError, UsageError
from realtime.event import server as s
from realtime.event.base import Item
from realtime.runtime import unique_id
from realtime.state.redaction import Redaction
from realtime.state.sessions import MAX_ID_BYTES, SessionWriter, StoredSession

logger = logging.getLogger(__name__)

AGENT = "agent"
"""The name of the agent's state in its session."""
KEPT_ITEMS = 200
"""Items of the conversation that are kept, the newest: every call pays for what it begins with."""
LOAD_S = 2.0
"""Seconds that a call waits for what is remembered of its user."""
CLOSE_S = 5.0
"""Seconds that the end of a server waits for saving."""
SETTINGS = frozenset(("name", "sys_prompt", "voice", "greeting", "fillers", "idle_prompt_s", "turn_detection"))
"""Parts of a state that the program decides: a caller gets those of its present version."""
_RANDOM_ID = re.compile("item_[0-9A-Za-z]{16,}")
"""Ids of items that no other call has: ours, and those of providers."""
_ID_NAMES = frozenset(("id", "item_id", "_last_reply_id", "recorded_ids"))
"""Under which names a state has ids of items."""
_NO_WORDS = _ID_NAMES | {"state", "created_at", "finished_at", "role", "type", "timestamp"}
"""Names under which a state has no words of a conversation."""
_NOTABLE = (s.AgentResponseDoneEvent, s.AgentItemAddedEvent, s.AgentInputTranscriptionDoneEvent, s.ServerCustomEvent)
"""Events after which there may be something to remember."""


class CallerSessions:
    """The sessions of a server's callers, one for each user and agent.

    Of several calls of one user that go on at once, the first to save is remembered; the others get an event.
    """

    def __init__(self, session: StoredSession, redaction: Redaction | None = None) -> None:
        if not isinstance(session, StoredSession):
            raise BadOption(
                "session is a JSONSession, SqliteSession or RedisSession, or of a subclass of StoredSession, "
                f"not a {type(session).__name__}"
            )
        self._session = session
        self.redaction = redaction
        """Takes secrets out of what is saved; None: all is saved."""
        self._open: set[CallerSession] = set()
        """Those of calls that go on, or are being saved."""
        self._latest: dict[tuple[str, str], CallerSession] = {}
        """Of these, the latest of each user and agent."""

    async def begin(self, made: RealtimeAgent, user: str) -> CallerSession:
        """Return the session of a call that begins; its agent knows what it knew of this user.

        Where that cannot be loaded, the agent begins afresh, what is stored stays, and the log says why.
        """
        key = _id_of(user), _id_of(made.name)
        if (before := self._latest.get(key)) is not None:
            await before.give_way()
        agent, writer = _copy_of(made), None
        try:
            writer = SessionWriter(self._session, key[1], key[0])
            async with asyncio.timeout(LOAD_S):
                state = await writer.load(AGENT)
            if state is not None:
                _restore(agent, state)
        except Exception as error:
            logger.warning(
                "user %r is not remembered by %r, and this call begins afresh and is not saved: %s. What is stored "
                "stays: repair it or move it away",
                user,
                made.name,
                _reason(error),
            )
            agent, writer = _copy_of(made), None
        return CallerSession(self, key, agent, writer)

    def opened(self, one: CallerSession) -> None:
        """Keep the session of a call that has begun."""
        self._open.add(one)
        self._latest[one.key] = one

    def closed(self, one: CallerSession) -> None:
        """Drop the session of a call that is over and saved."""
        self._open.discard(one)
        if self._latest.get(one.key) is one:
            del self._latest[one.key]

    async def close(self) -> None:
        """Wait until all calls that are over are saved."""
        saving = [task for one in self._open if (task := one.saving) is not None]
        if saving:
            await asyncio.wait(saving, timeout=CLOSE_S)


class CallerSession:
    """The session of one call: saves its agent at the end of each reply, and at the end of the call.

    `agent` knows what was remembered of the user. `writer` is None where nothing can be saved.
    """

    def __init__(
        self, callers: CallerSessions, key: tuple[str, str], agent: RealtimeAgent, writer: SessionWriter | None
    ) -> None:
        self.key = key
        self.agent = agent
        self.saving: asyncio.Task[None] | None = None
        """What is being saved, in the background; None where nothing is."""
        self._writer = writer
        self._callers = callers
        self._call: Session | None = None
        self._run: AgentRun | None = None
        """The run of `agent`; None where another one began with the call."""
        self._is_due = self._is_notable = self._has_failed = False
        self._unfollow: Callable[[], None] = _nothing

    def follow(self, call: Session) -> None:
        """Save the agent while this call goes on, and when it ends."""
        self._callers.opened(self)
        self._call, run = call, call.participant
        self._run = run if isinstance(run, AgentRun) and run.spec.origin is self.agent.origin else None
        self._unfollow = call.log.subscribe(self._take, audio=False)
        call.on_ended.append(self._ended)

    async def give_way(self) -> None:
        """Another call of this user begins: be saved before, and no more where the user has left this one."""
        call = self._call
        is_left = call is not None and (call.is_deserted or call.is_ending)
        if is_left:
            # The end of a call may take a while, such as for its record: the next one does not wait for it.
            self._save()
        if self.saving is not None:
            await asyncio.wait([self.saving], timeout=LOAD_S)
        if call is None or not is_left or self._writer is None:
            return
        if call.is_ending:
            self._writer = None  # all that was said in it is saved
        else:
            self._lose()

    def _take(self, event: s.ServerEvent) -> None:
        if isinstance(event, _NOTABLE):
            self._is_notable = True
            if isinstance(event, s.AgentResponseDoneEvent):
                self._save()

    def _ended(self, _: Session) -> None:
        self._unfollow()
        self._unfollow = _nothing
        self._save()
        if self.saving is None:
            self._leave()

    def _leave(self) -> None:
        """The call is over, and saved."""
        self._call = self._run = None
        self._callers.closed(self)

    def _save(self) -> None:
        """Begin to save what there is to remember."""
        # A call in which nothing was said has nothing to save over another one.
        self._is_due = self._is_notable and self._writer is not None
        if self._is_due and self.saving is None:
            self.saving = asyncio.create_task(self._save_all(), name="saving a caller's session")

    async def _save_all(self) -> None:
        try:
            while self._is_due and self._writer is not None:
                self._is_due = False
                await self._save_once(self._writer)
        finally:
            self.saving = None
            if self._call is not None and self._call.end_reason is not None:
                self._leave()

    async def _save_once(self, writer: SessionWriter) -> None:
        try:
            state, redaction = self._state(), self._callers.redaction
            if redaction is not None:
                parts = {name: one for name, one in state.items() if name not in SETTINGS}
                state |= await asyncio.to_thread(_redacted, parts, redaction)
            await writer.save(AGENT, state)
            self._has_failed = False
        except StoreError as error:
            if error.code == "session_taken":
                self._lose()
            else:
                self._fail(error)
        except Exception as error:
            self._fail(error)

    def _state(self) -> dict[str, Any]:
        """Return the agent's state, with what was heard in the whole call."""
        assert self._call is not None
        agent = (cast(RealtimeAgent, self._run.spec) if self._run is not None else self.agent).another()
        # Whichever agent has the call now; converted apart, since a check of each of its values takes longest.
        present = self._call.participant
        heard = present.heard() if isinstance(present, AgentRun) else ()
        agent.conversation = ()
        return {**agent.state_dict(), "conversation": items_to_json(_latest(heard))}

    def _lose(self) -> None:
        """Another call of this user is what is remembered."""
        self._writer = None
        self._tell(
            StoreError(
                "another call of the same user goes on and is the one that is remembered: this one is not",
                code="session_taken",
                retryable=False,
            )
        )

    def _fail(self, error: Exception) -> None:
        """Report once what cannot be saved: the next reply tries again."""
        if not self._has_failed:
            self._has_failed = True
            what = f"this call could not be saved, and is tried again after the next reply: {_reason(error)}"
            self._tell(StoreError(what, code="session_not_saved", retryable=True))

    def _tell(self, error: StoreError) -> None:
        call = self._call
        assert call is not None
        logger.warning("call %s of user %r: %s", call.call_id, call.owner, error)
        if call.end_reason is None:
            call.complain(error)


def _redacted(state: dict[str, Any], redaction: Redaction) -> dict[str, Any]:
    """Return parts of a state without secrets."""
    heard = redaction.items(items_from_json(state.pop("conversation")))
    return {**redaction.value(state, _NO_WORDS), "conversation": items_to_json(heard)}


def _nothing() -> None:
    """Stand in for the function that ends following a log."""


def _id_of(name: str) -> str:
    """Return an id that can name a file: names may hold any characters, such as those of `auth0|17`."""
    written = quote(name, safe="@+", errors="surrogatepass")
    if written != written.strip("."):
        written = written.replace(".", "%2E")
    if len(written) <= MAX_ID_BYTES:
        return written
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _copy_of(made: RealtimeAgent) -> RealtimeAgent:
    """Return the agent with a state of its own: the program may give one agent to all calls."""
    agent = made.another()
    agent.is_redialled = True
    if agent.plan_notebook is not None:
        agent.plan_notebook = agent.plan_notebook.for_call()
    return agent


def _restore(agent: RealtimeAgent, state: Any) -> None:
    """Give the agent what was remembered. Raises an error of any kind for the state of something else."""
    if not isinstance(state, Mapping) or "conversation" not in state:
        raise UsageError("it is not the state of a RealtimeAgent", code="bad_state")
    kept = {name: one for name, one in _with_free_ids(state).items() if name not in SETTINGS}
    agent.load_state_dict(kept, strict=False)
    agent.conversation = _latest(agent.conversation)


def _with_free_ids(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state with new ids for items of a client.

    It may number its items anew in each call.
    """
    items = state["conversation"]
    ids = [item.get("id") for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    chosen = {one: f"item_{unique_id()}" for one in ids if isinstance(one, str) and not _RANDOM_ID.fullmatch(one)}

    def renamed(value: Any, name: str) -> Any:
        if isinstance(value, Mapping):
            return {key: renamed(one, key) for key, one in value.items()}
        if isinstance(value, list):
            return [renamed(one, name) for one in value]
        return chosen.get(value, value) if name in _ID_NAMES and isinstance(value, str) else value

    return {name: renamed(one, name) for name, one in state.items()} if chosen else dict(state)


def _latest(items: Sequence[Item]) -> Sequence[Item]:
    """Return the newest items, from a turn of the user on: no result is left without its call."""
    if len(items) <= KEPT_ITEMS:
        return items
    kept = items[-KEPT_ITEMS:]
    begin = next((place for place, one in enumerate(kept) if one.type == "message" and one.role == "user"), len(kept))
    return kept[begin:]


def _reason(error: Exception) -> str:
    """Return why a session cannot be used, without what is in it."""
    if isinstance(error, TimeoutError):
        return f"its store did not answer within {LOAD_S:g} s"
    return (
        str(error)
        if isinstance(error, RealtimeError)
        else f"it is not the state of this agent ({type(error).__name__})"
    )
