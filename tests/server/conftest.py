"""What the tests of the server share."""

import pytest

from realtime.server.runner import TlsFiles
from realtime.server.tls import self_signed


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    """A certificate of this machine's loopback."""
    return self_signed(tmp_path_factory.mktemp("tls"), ["127.0.0.1"])
