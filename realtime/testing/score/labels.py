"""Labels of a call: what sounded on the user's side, and what it was.

    fixtures/calls/refund/labels.json
        [{"id": "bc-017", "class": "backchannel", "on_ms": 14220, "off_ms": 14610, "text": "mm-hmm"}]

Detectors cannot tell these classes apart; only who made the call knows them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

import msgspec

from realtime.testing.errors import CaseError
from realtime.texts import as_utf8

LABELS_FILE = "labels.json"

LabelClass = Literal["turn", "interruption", "backchannel", "tic", "side", "noise", "hold"]
CLASSES: tuple[LabelClass, ...] = get_args(LabelClass)
TAKES_FLOOR: frozenset[LabelClass] = frozenset({"turn", "interruption"})
"""What the agent has to answer."""
ASKS_NOTHING: tuple[LabelClass, ...] = ("backchannel", "tic", "side", "noise")
"""What must not stop a reply."""


class Label(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename={"kind": "class"}):
    """A sound of the user's side.

    `on_ms` to `off_ms` of the call is when it arrived at the server.

    `turn`: speech to the silent agent, its pauses included. `interruption`: speech that takes the floor from the
    agent. `backchannel`: assent that leaves the floor ("mm-hm"). `tic`: cough, laugh, breath. `side`: speech to someone
    else; `far` where the voice is not the user's. `noise`: no voice. `hold`: a pause inside a turn or an interruption,
    from the end of the voice to its return.
    """

    id: str
    kind: LabelClass
    on_ms: float
    off_ms: float
    text: str | None = None
    far: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.on_ms < self.off_ms:
            raise ValueError(f"{self.id} lasts from {self.on_ms} to {self.off_ms} ms")


def in_order(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return the labels by onset."""
    return tuple(sorted(labels, key=lambda label: (label.on_ms, label.off_ms, label.id)))


def read_labels(file: Path) -> tuple[Label, ...]:
    """Read a file of labels. Raises CaseError where it holds anything else."""
    try:
        return in_order(msgspec.json.decode(as_utf8(file.read_bytes()), type=list[Label]))
    except OSError as error:
        raise CaseError(file, error.strerror or str(error), "Name a file of labels.") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise CaseError(file, str(error), "Correct it there; docs/listening.md describes the labels.") from None


def labels_in(folder: Path | None) -> tuple[Label, ...] | None:
    """Return the labels beside a call; None where there are none."""
    file = None if folder is None else folder / LABELS_FILE
    return read_labels(file) if file is not None and file.is_file() else None
