"""A call as text: what a line says, which lines are shown, and that no log breaks it."""

from hypothesis import given

from realtime.testing.check.reading import Reading
from realtime.testing.check.timeline import MAX_LINES, WIDTH, Timeline, bar
from realtime.testing.record import CallRecord, Mark
from tests.testing.hand_made import Hand, any_record, support_call

WHOLE = """\
     1.000 s  Ann           voice begins, turn 1
     1.000 s  Ann           (script) speaks, ██████████ 2.00 s: "Where is my order?"
     3.000 s  Ann           voice ends    ██████████ 2.00 s
     3.500 s  Ann           end of turn 1, 500 ms later
     3.600 s  Ann           understood: "Where is my order?"
     3.600 s  Friday        answer begins [r1]
     3.610 s  Friday        calls lookup_order({"id": "A-17"})
     3.620 s  Friday        answer completed [r1]
     3.720 s  Friday        lookup_order success: found
     3.800 s  Friday        answer begins [r2]
     3.900 s  Friday        first sound leaves  ███████████████ 3.00 s  "It arrives on Monday"
     3.950 s  Friday        first sound at the ear
     4.650 s  Friday        answer completed, 60 tokens [r2]
     5.020 s  Ann           voice begins, turn 2
     5.020 s  Ann           (script) interrupts, ████████████████████ 3.98 s: "Thanks"
     5.100 s  call          flush (speech_started): interruption 1
     5.100 s  Friday        cut at 1150 ms, heard: "It"
     5.180 s  Friday        last sound at the ear  ██████ 1.23 s
     5.180 s  Ann           silence at the ear, 160 ms after the interruption began
     5.300 s  Ann           left"""


def short_call() -> Hand:
    call = Hand()
    call.speaks(1_000, 3_000, "Where is my order?", item="u1")
    call.calls_tool(3_600, "lookup_order", '{"id": "A-17"}', call="c1", response="r1")
    call.answers(3_800, "It arrives on Monday", response="r2", length_ms=3_000, heard_ms=1_230, tokens=(40, 20))
    call.speaks(5_020, 9_000, "Thanks", item="u2", flush="speech_started")
    call.cut(5_100, "r2", "It", 1_150)
    call.marks.append(Mark(5_300, "Ann", "left"))
    call.events = [one for one in call.events if one[0] <= 5_200]
    return call


def test_a_line_tells_when_who_and_what() -> None:
    assert str(Timeline(Reading(short_call().record()))) == WHOLE


def test_only_the_seconds_around_a_place_are_shown_and_the_place_is_marked() -> None:
    timeline = Timeline(Reading(support_call().record()))
    shown = timeline.around(7_080, around_ms=100).splitlines()
    assert shown[0].endswith("lines before")
    assert shown[-1].endswith("lines after")
    assert [line[:12] for line in shown if line.startswith(">")] == [">    7.080 s"]
    assert all(6.9 <= float(line[2:10]) <= 7.2 for line in shown[1:-1])


def test_places_far_apart_are_both_marked() -> None:
    timeline = Timeline(Reading(support_call().record()))
    marked = [line for line in timeline.around(1_000, 8_810).splitlines() if line.startswith(">")]
    assert [line[2:12].strip() for line in marked] == ["1.000 s", "8.800 s"]


def test_a_long_call_is_shortened_away_from_the_place() -> None:
    call = Hand()
    for number in range(100):
        call.answers(number * 20, "word", response=f"r{number:03}", length_ms=20)
    shown = Timeline(Reading(call.record())).around(1_000).splitlines()
    assert len(shown) <= MAX_LINES + 2
    assert any(line.startswith(">    1.000 s") for line in shown)
    assert shown[0].strip().startswith("...")


def test_wide_letters_do_not_make_a_line_too_wide() -> None:
    call = Hand()
    call.speaks(0, 1_000, "订" * 200, item="u1", who="安娜" * 10)
    call.put(1_700, *[])
    for line in str(Timeline(Reading(call.record()))).splitlines():
        assert sum(2 if ord(char) > 0x2FFF else 1 for char in line) <= WIDTH


def test_a_bar_grows_with_the_time_spoken_and_has_an_end() -> None:
    assert bar(50) == "█ 0.05 s"
    assert bar(1_000) == "█████ 1.00 s"
    assert len(bar(600_000)) == len(bar(60_000)) + 1


def test_a_call_in_which_nothing_happened() -> None:
    assert Timeline(Reading(CallRecord("empty", (), ()))).around(100) == "  (nothing happened)"


@given(any_record())
def test_every_log_has_a_timeline(record: CallRecord) -> None:
    timeline = Timeline(Reading(record))
    assert [line.ms for line in timeline.lines] == sorted(line.ms for line in timeline.lines)
    for text in (str(timeline), timeline.around(1_000), timeline.around()):
        assert all(len(line) <= WIDTH for line in text.splitlines())
