"""More clients than the server may serve: every one gets a call or a refusal, and no call closes. No timing."""

import pytest

from bench import overload


@pytest.mark.night
async def test_four_times_the_clients_that_fit_are_refused_and_no_call_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload, "STEADY_S", 1.5)
    section = await overload.measure_overload(1.0, max_busy=0.05)
    found = {check.what: check.value for check in section.checks}
    assert found["clients refused with retry_after_ms"] > 0
    assert found["live calls closed, clients without an answer"] == 0, section.data["broken"]
    assert found["clients that asked"] >= overload.TIMES * found["calls that were let in"] > 0
