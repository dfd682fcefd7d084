"""The bench of codecs runs each of them and says what it cost. No timing."""

from bench.codecs import measure_codecs, ways


async def test_every_codec_dialect_and_sdk_is_measured() -> None:
    section = await measure_codecs(runs=2, rounds=1)
    assert [row[0] for row in section.rows] == [way.name for way in ways()]
    assert {row[0].rpartition(" ")[2] for row in section.rows} >= {"codec", "dialect"}
    assert {check.what for check in section.checks} == {
        f"{verb}, {way.name}" for way in ways() if way.ours for verb in ("decode", "encode")
    }
