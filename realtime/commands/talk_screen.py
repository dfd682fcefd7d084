"""What `realtime talk` shows: captions in step with the voice, and how loud both sides are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from realtime.audio.pcm import power_of
from realtime.client import Caption
from realtime.client.call import State

QUIET_DB = -60.0
BAR_CELLS = 16
SHOWN = 6
"""Unfinished captions that are shown at once."""
FALL = 0.85
"""A level's share that stays per block: bars fall slowly enough to read."""


class Meter:
    """A level that rises at once and falls slowly."""

    def __init__(self) -> None:
        self._level = 0.0

    def hear(self, pcm: bytes) -> None:
        """Take the next block."""
        self._level = max(math.sqrt(power_of(pcm)) / 32_768, self._level * FALL)

    def bar(self) -> str:
        """Return the level as a bar."""
        level_db = 20 * math.log10(max(self._level, 1e-6))
        cells = round(BAR_CELLS * max(0.0, 1 - level_db / QUIET_DB))
        return "█" * cells + "·" * (BAR_CELLS - cells)


class TalkScreen:
    """Prints finished turns; on a terminal, shows running ones below.

    Without styles, as in a pipe, words say what was not heard.
    """

    def __init__(self, console: Console) -> None:
        self.you, self.agent = Meter(), Meter()
        self._console = console
        self._printed: dict[str, None] = {}
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

    def __enter__(self) -> TalkScreen:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, captions: Sequence[Caption], state: State) -> None:
        """Show the call as it is now."""
        open_ones = self._print_finished(captions)
        if self._live is not None:
            told = {"reconnecting": "the network is away: trying again", "over": "the call is over"}.get(state, "")
            levels = Text.assemble(
                ("  you ", "dim"), (self.you.bar(), "cyan"), ("  agent ", "dim"), (self.agent.bar(), "magenta"),
                (f"  {told}" if told else "  Ctrl+C ends the call", "yellow" if told else "dim"),
            )  # fmt: skip
            self._live.update(Group(*map(line_of, open_ones[-SHOWN:]), levels), refresh=True)

    def finish(self, captions: Sequence[Caption]) -> None:
        """Print what is not printed yet, as it stands."""
        for caption in captions:
            if caption.item_id not in self._printed:
                self._print(caption)

    def _print_finished(self, captions: Sequence[Caption]) -> list[Caption]:
        waiting = [one for one in captions if one.item_id not in self._printed]
        while waiting and waiting[0].done:
            self._print(waiting.pop(0))
        return waiting

    def _print(self, caption: Caption) -> None:
        self._printed[caption.item_id] = None
        self._console.print(line_of(caption) if self._console.color_system is not None else plain_line_of(caption))


def plain_line_of(caption: Caption) -> Text:
    """Return a caption at the end of its turn, in words: "agent: One two (not heard: three.)"."""
    rest = _rest(caption).strip()
    said = " ".join(filter(None, (caption.heard.rstrip(), f"(not heard: {rest})" if rest else "")))
    return Text(f"{_who(caption)}: {said}")


def line_of(caption: Caption) -> Text:
    """Return a caption as a line: dim where it is not heard yet, struck where it never will be."""
    style = "bold cyan" if caption.role == "user" else "bold magenta"
    return Text.assemble((f"{_who(caption)}: ", style), *_parts(caption))


def _who(caption: Caption) -> str:
    return "you" if caption.role == "user" else caption.name or "agent"


def _rest(caption: Caption) -> str:
    return caption.text[len(caption.heard) :]


def _parts(caption: Caption) -> Iterator[tuple[str, str]]:
    yield caption.heard, ""
    if rest := _rest(caption):
        yield rest, "strike dim" if caption.cut else "dim"
