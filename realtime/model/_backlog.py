"""Messages to a model that wait for a link: bounded, in order, without those that a new link voids."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from realtime.event.base import Item
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ItemDelete,
    ModelInput,
    ResponseCancel,
    ResponseCreate,
    ToolResult,
)


class Backlog:
    """A queue that drops only its oldest audio, beyond `max_audio_bytes`: see `overflowed`."""

    __slots__ = ("_max_audio_bytes", "_max_controls", "_n_controls", "audio_bytes", "dropped_audio_bytes", "messages")

    def __init__(self, *, max_audio_bytes: int, max_controls: int) -> None:
        self._max_audio_bytes = max_audio_bytes
        self._max_controls = max_controls
        self.messages: list[ModelInput] = []
        """What waits, oldest first."""
        self._n_controls = 0
        self.audio_bytes = 0
        self.dropped_audio_bytes = 0

    @property
    def overflowed(self) -> bool:
        """Whether more messages wait than are allowed, audio aside."""
        return self._n_controls > self._max_controls

    def keep(self, message: ModelInput) -> None:
        """Add a message."""
        self.messages.append(message)
        if type(message) is AudioAppend:
            self.audio_bytes += len(message.pcm)
            while self.audio_bytes > self._max_audio_bytes:
                self._drop_oldest_audio()
        else:
            self._n_controls += 1

    def pop(self) -> ModelInput:
        """Take out the oldest message. Raises IndexError if there is none."""
        message = self.messages.pop(0)
        if type(message) is AudioAppend:
            self.audio_bytes -= len(message.pcm)
        else:
            self._n_controls -= 1
        return message

    def clear(self) -> None:
        """Drop all messages."""
        self.messages.clear()
        self.audio_bytes = self._n_controls = 0

    def forget_asked(self) -> None:
        """The link is lost: the sender asks again where it still matters (see `Connection`)."""

        def still_needed(message: ModelInput) -> bool:
            match message:
                case ResponseCreate(overrides=overrides):
                    return overrides is not None and overrides.conversation == "none"
                case AudioAppend() | AudioCommit() | AudioClear() | ResponseCancel():
                    return False
                case _:
                    return True

        self._filter(still_needed)
        self.audio_bytes = 0

    def forget(self, kind: type[ModelInput]) -> None:
        """Drop this kind of message: a new session opens with its latest value. Later ones still wait."""
        self._filter(lambda message: type(message) is not kind)

    def forget_restored(self, items: Sequence[Item], *, link_was_lost: bool) -> None:
        """A new session was opened with these items: drop messages that they already hold or make void."""
        item_ids = {item.id for item in items}
        results = {item.tool_result.id for item in items if item.tool_result is not None}

        def still_needed(message: ModelInput) -> bool:
            match message:
                case ItemCreate(item=item):
                    return item.id not in item_ids
                case ToolResult(result=result):
                    return result.id not in results
                case ItemDelete(item_id=item_id):
                    return item_id in item_ids
                case ResponseCancel():
                    return not link_was_lost  # of responses that died with the link
                case _:
                    return True

        self._filter(still_needed)

    def _filter(self, still_needed: Callable[[ModelInput], bool]) -> None:
        self.messages = [message for message in self.messages if still_needed(message)]
        self._n_controls = sum(type(message) is not AudioAppend for message in self.messages)

    def _drop_oldest_audio(self) -> None:
        for index, message in enumerate(self.messages):
            if type(message) is AudioAppend:
                del self.messages[index]
                self.audio_bytes -= len(message.pcm)
                self.dropped_audio_bytes += len(message.pcm)
                return
