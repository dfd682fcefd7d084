"""Shows messages of agents on the terminal, as they grow."""

from __future__ import annotations

import json
import sys

from realtime.message import DataBlock, Msg, TextBlock, ThinkingBlock

MAX_GROWING = 32
"""Messages that grow at the same time. Those that were interrupted never end: the oldest are forgotten."""


class Console:
    """Writes each message once, however often it is shown while it grows."""

    def __init__(self) -> None:
        self._written: dict[str, str] = {}
        """The words written so far of each growing message, by its id."""

    def show(self, msg: Msg, *, last: bool) -> None:
        """Write what is new of a message to stdout: its words, and at the `last` time everything else."""
        words = "\n".join(
            f"{msg.name}: {block.text}" if isinstance(block, TextBlock) else f"{msg.name} (thinking): {block.thinking}"
            for block in msg.content
            if isinstance(block, TextBlock | ThinkingBlock)
        )
        written = self._written.pop(msg.id, "")
        self._written[msg.id] = words
        if len(self._written) > MAX_GROWING:
            del self._written[next(iter(self._written))]
        # Words that changed are written again.
        text = words[len(written) :] if words.startswith(written) else f"\n{words}"
        if last:
            del self._written[msg.id]
            text += "".join(f"\n{msg.name}: {line}" for line in _lines_of_others(msg))
            text = text.lstrip("\n") if not written else text
            text += "\n" if words or text else ""
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()


def _lines_of_others(msg: Msg) -> list[str]:
    lines = []
    for block in msg.content:
        if isinstance(block, DataBlock):
            lines.append(f"[{block.source.media_type}]")
        elif not isinstance(block, TextBlock | ThinkingBlock):
            lines.append(json.dumps(block.model_dump(), ensure_ascii=False))
    return lines
