"""The client that MCP's conformance suite tests: `python conformance_client.py URL`; it calls every tool, once.

Exit code 1 where a tool fails.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from realtime.mcp import HttpStatefulClient
from realtime.message import ToolCallBlock
from realtime.tool import Toolkit

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}


async def accept(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Agree to what the server proposes."""
    return {}


async def main(url: str) -> int:
    """Connect, call every tool, and close."""
    client = HttpStatefulClient("conformance", "streamable_http", url, on_elicit=accept)
    await client.connect()
    try:
        toolkit = Toolkit()
        await toolkit.register_mcp_client(client)
        states = []
        for name in [*toolkit.tools]:
            arguments = json.dumps(ARGUMENTS.get(name, {}))
            result = await toolkit.run(ToolCallBlock(id=name, name=name, input=arguments))
            sys.stdout.write(f"{name}: {result.state}: {result.output_text()}\n")
            states.append(result.state)
        return 0 if all(state == "success" for state in states) else 1
    finally:
        await client.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
