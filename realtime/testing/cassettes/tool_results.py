"""What the tools of a recorded session returned: it was sent to the provider, so it stands in the cassette."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from realtime.testing.cases.case import Returned
from realtime.testing.cassettes.format import Cassette, FrameLine


def tool_results(cassette: Cassette) -> dict[str, Returned]:
    """By the id of the call, with the time that it took. Whether it failed is told by Gemini alone: of the others a
    failure is a result like any, with the words of the failure."""
    results: dict[str, Returned] = {}
    called_ms: dict[str, int] = {}
    for line in cassette.lines:
        if not isinstance(line, FrameLine) or line.frame is msgspec.UNSET:
            continue
        if line.dir == "received":
            called_ms.update((call_id, line.at_ms) for call_id in _named(line.frame))
            continue
        for call_id, returned in _sent(line.frame):
            after_ms = line.at_ms - called_ms.get(call_id, line.at_ms)
            results.setdefault(call_id, msgspec.structs.replace(returned, after_ms=after_ms))
    return results


def _sent(frame: Any) -> Iterator[tuple[str, Returned]]:
    """The results in a frame of ours."""
    match frame:
        case {"item": {"type": "function_call_output", "call_id": str(call_id), "output": output}}:
            yield call_id, Returned(output)
        case {"toolResponse": {"functionResponses": [*responses]}}:
            for response in responses:
                match response:
                    case {"id": str(call_id), "response": {"error": output}}:
                        yield call_id, Returned(output, state="error")
                    case {"id": str(call_id), "response": {"output": output}}:
                        yield call_id, Returned(output)
                    case _:
                        pass
        case _:
            pass


def _named(node: Any) -> Iterator[str]:
    """The ids in a frame of the provider: the last that names a call before its result is when it was complete."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name in ("call_id", "id") and isinstance(value, str):
                yield value
            yield from _named(value)
    elif isinstance(node, list):
        for value in node:
            yield from _named(value)
