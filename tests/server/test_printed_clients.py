"""The programs that the quickstart prints for the SDKs of other services, run as they stand but for the address."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from realtime.server.tls import self_signed
from tests.server.harness import serving
from tests.volumes import HANG_S

QUICKSTART = Path(__file__).resolve().parents[2] / "docs" / "quickstart.md"
ANSWER = "I heard you."


def printed(containing: str) -> str:
    """The Python block that holds these words."""
    blocks = QUICKSTART.read_text(encoding="utf-8").split("```python\n")[1:]
    return next(block.partition("```")[0] for block in blocks if containing in block)


def prints(code: str, folder: Path) -> str:
    """What the program prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("containing", ["AsyncOpenAI", "OmniRealtimeConversation"])
async def test_a_printed_client_gets_an_answer(containing: str, tmp_path: Path) -> None:
    async with serving() as place:
        code = printed(containing).replace("127.0.0.1:8000", place.url.removeprefix("http://"))
        assert await asyncio.to_thread(prints, code, tmp_path) == ANSWER


async def test_the_printed_client_of_google_gets_an_answer_over_a_self_made_certificate(tmp_path: Path) -> None:
    tls = self_signed(tmp_path)
    async with serving(tls=tls) as place:
        code = printed("genai.Client").replace("127.0.0.1:8000", place.url.removeprefix("https://"))
        assert await asyncio.to_thread(prints, code, tls.certificate.parent) == ANSWER
