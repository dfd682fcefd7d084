"""A Redis server of the tests' own: in memory, on a Unix socket, without a port."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def redis_server(folder: Path) -> Iterator[Path]:
    """Yield the socket of a running server; the test is skipped where none is installed."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    path = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    with subprocess.Popen(["redis-server", *options], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            said = []
            for line in server.stdout:
                said.append(line)
                if "ready to accept connections at" in line:
                    break
            else:
                pytest.fail(f"redis-server does not start: {''.join(said[-5:])}")
            yield path
        finally:
            server.terminate()
