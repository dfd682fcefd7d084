"""Hooks: functions of the application that run before and after an agent's core functions.

`AgentMeta` wraps each core function that a class defines. The outermost wrapper of a call runs the hooks, so an
override that calls `super().reply(...)` runs them once. A hook that calls its own core function is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, ClassVar

from realtime.agent.tasks import TimeUp, bounded
from realtime.errors import UsageError
from realtime.message import Msg
from realtime.module import StateModule

HOOK_TIMEOUT_S = 1.0
"""Seconds that an `async` hook has, unless the agent says otherwise."""
HOOK_GRACE_S = 0.1
"""Seconds that a hook has for its end once it is cancelled."""

CORE_FUNCTIONS = ("reply", "print", "observe", "_reasoning", "_acting")
_OUTPUTS: dict[str, type] = {"reply": Msg, "reasoning": Msg, "acting": dict, "print": type(None), "observe": type(None)}
"""What a post-hook may return where the core function returned None."""

Hook = Callable[..., Any]


class StopReply(Exception):
    """Raised by a hook to end the reply early.

    What was said so far is the answer. `reason` is for readers of its stream.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.source = ""
        """The name of the hook, or of the tool."""
        self.point = ""
        """The core function where it happened: `reasoning`, `acting`, `reply`, ..."""
        self.output: Any = None
        """What the core function returned, where a post-hook stops."""


class AgentMeta(type):
    """The metaclass of agents: wraps the core functions, so that their hooks run."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> AgentMeta:
        wrapped = {key: _wrapped(namespace[key]) for key in CORE_FUNCTIONS if key in namespace}
        return super().__new__(mcs, name, bases, {**namespace, **wrapped, "_class_hooks": {}}, **options)


class Hooked(StateModule, metaclass=AgentMeta):
    """An object whose core functions have hooks.

    Those of an instance run for it alone, those of a class for the class and its subclasses.

    A pre-hook `(self, kwargs)` gets all arguments by name, and returns others or None. A post-hook
    `(self, kwargs, output)` returns another output or None. Both get copies of messages, may be plain or `async`, and
    run in order of registration: those of the instance, then those of its class and its base classes.

    `hook_timeout_s`: seconds for an `async` hook; None: no limit. A plain one that blocks cannot be ended. A hook that
    raises, hangs, calls its own core function or returns something of another type ends the call with a UsageError that
    names it.
    """

    supported_hook_types: ClassVar[list[str]] = []
    hook_timeout_s: float | None = HOOK_TIMEOUT_S
    _class_hooks: ClassVar[dict[str, dict[str, Hook]]]
    _instance_hooks: dict[str, dict[str, Hook]]

    def __init__(self) -> None:
        super().__init__()
        self._instance_hooks = {}

    def register_instance_hook(self, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Add a hook to this instance; one of the same type and name is replaced. Raises UsageError."""
        self._instance_hooks_of(hook_type)[hook_name] = hook

    def remove_instance_hook(self, hook_type: str, hook_name: str) -> None:
        """Remove a hook from this instance. Raises UsageError where there is none of this name."""
        _remove(self._instance_hooks_of(hook_type), hook_type, hook_name, self)

    def clear_instance_hooks(self, hook_type: str | None = None) -> None:
        """Remove the hooks of one type from this instance; None: of all types."""
        for one in self.supported_hook_types if hook_type is None else [hook_type]:
            self._instance_hooks_of(one).clear()

    @classmethod
    def register_class_hook(cls, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Add a hook to all instances of this class and its subclasses. Raises UsageError."""
        cls._class_hooks_of(hook_type)[hook_name] = hook

    @classmethod
    def remove_class_hook(cls, hook_type: str, hook_name: str) -> None:
        """Remove a hook of this class. Raises UsageError where there is none of this name."""
        _remove(cls._class_hooks_of(hook_type), hook_type, hook_name, cls)

    @classmethod
    def clear_class_hooks(cls, hook_type: str | None = None) -> None:
        """Remove the hooks of one type from this class; None: of all types. Those of base classes stay."""
        for one in cls.supported_hook_types if hook_type is None else [hook_type]:
            cls._class_hooks_of(one).clear()

    def _instance_hooks_of(self, hook_type: str) -> dict[str, Hook]:
        self._check_hook_type(hook_type)
        if "_instance_hooks" not in self.__dict__:
            raise UsageError(f"{type(self).__name__}.__init__ has to call super().__init__() first")
        return self._instance_hooks.setdefault(hook_type, {})

    @classmethod
    def _class_hooks_of(cls, hook_type: str) -> dict[str, Hook]:
        cls._check_hook_type(hook_type)
        return cls._class_hooks.setdefault(hook_type, {})

    @classmethod
    def _check_hook_type(cls, hook_type: str) -> None:
        if hook_type not in cls.supported_hook_types:
            known = ", ".join(cls.supported_hook_types)
            raise UsageError(f"{cls.__name__} has no hooks of type {hook_type!r}: {known}", code="unknown_hook_type")

    def _hooks(self, hook_type: str) -> list[tuple[str, Hook]]:
        """Return the hooks that run, in order."""
        return [hook for table in self._hook_tables() for hook in table.get(hook_type, {}).items()]

    def _hook_tables(self) -> list[dict[str, dict[str, Hook]]]:
        """Return the hooks by type: of the instance, then of its classes; tables without any are left out."""
        tables = [self.__dict__.get("_instance_hooks")]
        tables += [cls.__dict__.get("_class_hooks") for cls in type(self).__mro__]
        return [table for table in tables if table]

    async def _call_reply(self, core: Core, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `reply`, the outermost call of it."""
        return await self._call_hooked(core, args, kwargs)

    async def _call_hooked(self, core: Core, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the core function with its hooks before and after it."""
        frame = _Frame(self, core)
        token = _FRAMES.set((*_FRAMES.get(), frame))
        try:
            before, after = self._hooks(f"pre_{core.point}"), self._hooks(f"post_{core.point}")
            if not before and not after:
                return await core.function(self, *args, **kwargs)
            given = core.bind(self, args, kwargs)
            for name, hook in before:
                returned = await self._run_hook(frame, f"pre_{core.point}", name, hook, _copied(given))
                if returned is not None:
                    core.check_given(f"{name!r} (pre_{core.point} of {type(self).__name__})", given, returned)
                    given = returned
            output = await core.call(self, given)
            for name, hook in self._hooks(f"post_{core.point}"):
                arguments = (_copied(given), _copied(output))
                try:
                    returned = await self._run_hook(frame, f"post_{core.point}", name, hook, *arguments)
                except StopReply as stop:
                    stop.output = output
                    raise
                if returned is not None:
                    core.check_output(f"{name!r} (post_{core.point} of {type(self).__name__})", output, returned)
                    output = returned
            return output
        finally:
            frame.is_active = False
            _FRAMES.reset(token)

    async def _run_hook(self, frame: _Frame, hook_type: str, name: str, hook: Hook, *arguments: Any) -> Any:
        title = f"hook {name!r} ({hook_type} of {type(self).__name__})"
        frame.hook = title
        try:
            returned = hook(self, *arguments)
            if inspect.isawaitable(returned):
                returned = await bounded(returned, self.hook_timeout_s, grace_s=HOOK_GRACE_S)
            return returned
        except StopReply as stop:
            stop.source, stop.point = name, frame.core.point
            raise
        except TimeUp:
            limit = f"{self.hook_timeout_s:g} s"
            raise UsageError(
                f"{title} has not returned within {limit}: see `hook_timeout_s`", code="hook_timeout"
            ) from None
        except Exception as error:
            if isinstance(error, UsageError) and error.code == "hook_recursion":
                raise
            raise UsageError(f"{title} raised {type(error).__name__}: {error}", code="hook_failed") from error
        finally:
            frame.hook = None


class Core:
    """One definition of a core function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.point = function.__name__.lstrip("_")
        """The core function in the names of its hooks."""

    @cached_property
    def _parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters after `self`."""
        return dict([*inspect.signature(self.function).parameters.items()][1:])

    def bind(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return all arguments by name, defaults included. Raises TypeError for a call that does not fit."""
        bound = inspect.signature(self.function).bind(agent, *args, **kwargs)
        bound.apply_defaults()
        return dict([*bound.arguments.items()][1:])

    def call(self, agent: Any, given: Mapping[str, Any]) -> Any:
        """Call the function with arguments by name."""
        signature = inspect.signature(self.function)
        first = next(iter(signature.parameters))
        ordered = {name: given[name] for name in self._parameters if name in given}
        bound = inspect.BoundArguments(signature, {first: agent, **ordered})
        return self.function(*bound.args, **bound.kwargs)

    def check_given(self, hook: str, before: Mapping[str, Any], returned: Any) -> None:
        """Raise UsageError where a pre-hook returned anything but arguments of the function."""
        if not isinstance(returned, dict):
            raise _bad(hook, f"a dict of arguments or None, not {type(returned).__name__}")
        if unknown := [str(name) for name in returned if name not in self._parameters]:
            raise _bad(hook, f"arguments of {self.function.__name__}: it takes no {', '.join(unknown)}")
        for name, parameter in self._parameters.items():
            if name not in returned:
                is_required = parameter.default is parameter.empty
                if is_required and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                    raise _bad(hook, f"all arguments of {self.function.__name__}: {name} is missing")
            elif not _fits(before.get(name), returned[name]):
                expected, found = type(before[name]).__name__, type(returned[name]).__name__
                raise _bad(hook, f"{name} as {expected}, not {found}")

    def check_output(self, hook: str, before: Any, returned: Any) -> None:
        """Raise UsageError where a post-hook changed the type of the output."""
        expected = _OUTPUTS[self.point] if before is None else type(before)
        if isinstance(before, Msg):
            expected = Msg
        if not isinstance(returned, expected):
            wanted = "None" if expected is type(None) else f"{expected.__name__} or None"
            raise _bad(hook, f"{wanted}, not {type(returned).__name__}")


@dataclass(eq=False, slots=True)
class _Frame:
    """A call of a core function that this context is within."""

    agent: object
    core: Core
    hook: str | None = None
    """The hook that runs now."""
    is_active: bool = True
    """False once the call is over: tasks that it began still have the frame."""


_FRAMES: ContextVar[tuple[_Frame, ...]] = ContextVar("agent_frames", default=())


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    core = Core(function)
    types = f"pre_{core.point}", f"post_{core.point}"

    @wraps(function)
    async def wrapper(self: Hooked, *args: Any, **kwargs: Any) -> Any:
        for frame in reversed(_FRAMES.get()):
            if frame.agent is self and frame.core.point == core.point and frame.is_active:
                if frame.hook is not None:
                    raise UsageError(
                        f"{frame.hook} calls {function.__name__}, which it belongs to: that would never end",
                        code="hook_recursion",
                    )
                if core.point == "reply" and frame.core is core:
                    break
                # An override that calls `super()`, or itself: the hooks of this call run already.
                return await function(self, *args, **kwargs)
        if core.point == "reply":
            return await self._call_reply(core, args, kwargs)
        if any(table.get(types[0]) or table.get(types[1]) for table in self._hook_tables()):
            return await self._call_hooked(core, args, kwargs)
        return await function(self, *args, **kwargs)

    return wrapper


def _copied(value: Any) -> Any:
    """Return a copy that a hook may change: of messages, and of lists and dicts with their content."""
    match value:
        case Msg():
            return value.copy()
        case dict():
            return {key: _copied(one) for key, one in value.items()}
        case list():
            return [_copied(one) for one in value]
        case tuple():
            return tuple(map(_copied, value))
        case _:
            return value


def _fits(before: Any, after: Any) -> bool:
    """Whether an argument may become `after`: None, or of the same type; messages may become one or several."""
    if before is None or after is None:
        return True
    if is_messages(before):
        return is_messages(after)
    return isinstance(after, list | tuple if isinstance(before, list | tuple) else type(before))


def is_messages(value: Any) -> bool:
    """Whether this is a message, or a list of messages."""
    return isinstance(value, Msg) or (isinstance(value, list) and all(isinstance(one, Msg) for one in value))


def _bad(hook: str, expected: str) -> UsageError:
    return UsageError(f"hook {hook} has to return {expected}", code="bad_hook_return")


def _remove(hooks: dict[str, Hook], hook_type: str, hook_name: str, owner: object) -> None:
    if hook_name not in hooks:
        title = owner.__name__ if isinstance(owner, type) else f"this {type(owner).__name__}"
        raise UsageError(f"{title} has no {hook_type} hook {hook_name!r}", code="unknown_hook")
    del hooks[hook_name]
