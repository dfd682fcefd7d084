"""What a voice over a reply means, from evidence alone."""

import random
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.turn.interruption import DUCK_DB, DUCK_RAMP_MS, RESTORE_RAMP_MS, Evidence, Interruption, Verdict
from realtime.turn.small_talk import (
    BACKCHANNELS,
    TAKES_FLOOR,
    is_hum,
    phrases_of,
    repeats,
    resembles,
    tokens_of,
    without_repeated,
)

C, D, H = Verdict.CONFIRM, Verdict.DISMISS, Verdict.HOLD


def judged(
    voiced_ms: int = 500, words: str | None = None, settings: Interruption | None = None, **known: object
) -> str:
    """Return verdict and reason; the words cover the whole voice and a recogniser is at work."""
    known = {"words_expected": True, "words_ms": voiced_ms} | known
    found = (settings or Interruption()).judge(Evidence(voiced_ms=voiced_ms, words=words, **known))  # type: ignore[arg-type]
    return f"{found.verdict} {found.reason}".strip()


@pytest.mark.parametrize("language", BACKCHANNELS)
def test_a_whole_backchannel_of_any_language_is_dismissed_and_held_until_then(language: str) -> None:
    for phrase in BACKCHANNELS[language].split(", "):
        assert judged(words=phrase) == "hold", phrase
        assert judged(words=phrase, ended=True) == "dismiss backchannel", phrase


@pytest.mark.parametrize("language", TAKES_FLOOR)
def test_words_that_take_the_floor_confirm_at_once_also_behind_a_backchannel(language: str) -> None:
    for phrase in TAKES_FLOOR[language].split(", "):
        assert judged(voiced_ms=250, words=phrase) == "confirm stop_words", phrase
        assert judged(words=f"{BACKCHANNELS[language].split(', ')[0]}, {phrase}") == "confirm stop_words", phrase


SAID = {
    "en": ("makes sense", "hold on"),
    "de": ("genau", "warte"),
    "fr": ("bien sûr", "attendez"),
    "es": ("por supuesto", "espere"),
    "it": ("va bene", "aspetta"),
    "pt": ("entendi", "chega"),
    "zh": ("明白", "等一下"),
    "ja": ("なるほど", "待って"),
}


def test_each_language_has_words_of_assent_and_words_that_take_the_floor() -> None:
    assert BACKCHANNELS.keys() == TAKES_FLOOR.keys() == SAID.keys()
    for assent, takes in SAID.values():
        assert judged(words=assent, ended=True) == "dismiss backchannel"
        assert judged(words=takes) == "confirm stop_words"


def test_the_longer_of_two_readings_wins() -> None:
    assert judged(words="No way.", ended=True) == "dismiss backchannel"
    assert judged(words="No way, stop.", ended=True) == "confirm stop_words"
    assert judged(words="Um momento", ended=True) == "confirm stop_words"
    assert judged(words="Yeah, show me the weather", ended=True) == "confirm words"


def test_a_phrase_has_at_most_six_words() -> None:
    six, seven = "one two three four five six", "one two three four five six seven"
    assert judged(words=six, settings=Interruption(backchannels=[six]), ended=True) == "dismiss backchannel"
    assert judged(words=seven, settings=Interruption(backchannels=[seven]), ended=True) == "confirm words"


def test_words_are_told_apart_by_letters_alone() -> None:
    assert tokens_of("That’s (really) good -- Mm-hm, C'est_la vie!") == [
        "that's",
        "really",
        "good",
        "mm",
        "hm",
        "c'est",
        "la",
        "vie",
    ]
    assert tokens_of("bien su\u0302r") == ["bien", "s\u00fbr"]
    assert phrases_of(["go on, , I see", "ok"]) == {("go", "on"), ("i", "see"), ("ok",)}


def test_the_last_s_of_a_word_in_a_phrase_is_no_evidence() -> None:
    for spelling in ("Make sense.", "That make sense", "Sound good.", "That right."):
        assert judged(words=spelling, ended=True) == "dismiss backchannel"
    assert judged(words="Hold ons.") == "confirm stop_words"
    assert judged(words="Cools.", ended=True) == "confirm words", "one word is too little to guess from"


@pytest.mark.parametrize(
    "word", ["mm", "hm", "mhm", "uhhuh", "ahah", "mama", "um", "uh", "erm", "ah", "oh", "eh", "ähm"]
)
def test_hums_and_fillers_are_hums(word: str) -> None:
    assert is_hum(word)
    assert not is_hum(f"{word}x")


@pytest.mark.parametrize(
    "spelling",
    [
        "Mm-hmm.",
        "Mhm",
        "MMM",
        "Mm-mm.",
        "M-hm",
        "Uh-huh.",
        "Uh huh",
        "Aha.",
        "Ah.",
        "Huh?",
        "Hmm...",
        "Um, yeah",
        "Mama.",
    ],
)
def test_hums_are_hums_however_recognition_spells_them(spelling: str) -> None:
    assert judged(words=spelling, ended=True) == "dismiss backchannel"


@pytest.mark.parametrize("words", ["What about tomorrow?", "Put it in the kitchen", "Okay, tell me about the huts"])
def test_other_words_take_the_floor(words: str) -> None:
    assert judged(words=words).startswith("confirm")


def test_few_words_of_a_young_voice_may_be_half_of_a_hum_or_misheard() -> None:
    assert judged(voiced_ms=599, words="Momentum") == "hold"
    assert judged(voiced_ms=600, words="Momentum") == "confirm words"
    assert judged(voiced_ms=449, words="That's not") == "hold"
    assert judged(voiced_ms=449, words="That's not", ended=True) == "confirm words"
    assert judged(voiced_ms=450, words="Momentum zwei") == "confirm words"
    assert judged(voiced_ms=320, words="Momentum zwei drei") == "confirm words"
    assert judged(voiced_ms=400, words="Louder.", ended=True) == "confirm words"


def test_a_voice_that_seems_over_is_dismissed_before_its_detector_says_so() -> None:
    assert judged(words="Okay", silent_ms=159) == "hold"
    assert judged(words="Okay", silent_ms=160) == "dismiss backchannel"
    assert judged(words="", silent_ms=160) == "dismiss no_words"
    assert judged(words="Okay", words_ms=499, silent_ms=160) == "hold", "its last sound may be a word"
    assert judged(words="Okay", silent_ms=160, is_answer_expected=True) == "hold", "it may be the answer"
    assert judged(words="Louder", silent_ms=160) == "hold", "one word is not dismissed for being short"
    assert judged(400, words_expected=False, silent_ms=160) == "hold", "without words only its end can tell"


def test_a_voice_without_words_asks_for_nothing() -> None:
    assert judged(words="") == "hold"
    assert judged(words="", ended=True) == "dismiss no_words"


def test_a_pause_is_no_end_until_the_words_cover_the_voice() -> None:
    assert judged(voiced_ms=600, words="Yeah", words_ms=599, ended=True) == "hold"
    assert judged(voiced_ms=600, words="Yeah", words_ms=600, ended=True) == "dismiss backchannel"


def test_a_voice_that_lasts_and_is_never_understood_takes_the_floor_in_the_end() -> None:
    assert judged(voiced_ms=1_499) == "hold"
    assert judged(voiced_ms=1_500) == "confirm speech"
    for words in ("", "Mm-hm."):
        assert judged(voiced_ms=3_999, words=words) == "hold"
        assert judged(voiced_ms=4_000, words=words) == "confirm speech"


def test_an_okay_is_the_beginning_of_more_once_a_look_covers_it_or_should_have() -> None:
    assert judged(voiced_ms=720, words="Okay", words_ms=720) == "confirm speech"
    assert judged(voiced_ms=919, words="Okay", words_ms=719) == "hold", "the next word may be another okay"
    assert judged(voiced_ms=920, words="Okay", words_ms=719) == "confirm speech"


def test_an_okay_that_goes_on_is_the_beginning_of_more_unless_it_paused() -> None:
    assert judged(voiced_ms=719, words="Okay") == "hold"
    assert judged(voiced_ms=720, words="Okay") == "confirm speech"
    assert judged(voiced_ms=809, words="Exactly") == "hold", "a longer word"
    assert judged(voiced_ms=1_459, words="Yeah, yeah, okay") == "hold"
    assert judged(voiced_ms=1_460, words="Yeah, yeah, okay") == "confirm speech"
    assert judged(voiced_ms=3_999, words="Okay", has_paused=True) == "hold"
    assert judged(voiced_ms=4_000, words="Okay", has_paused=True) == "confirm speech"
    assert judged(voiced_ms=850, words="Okay", words_ms=700, ended=True) == "hold", "more of it is to be understood"


@pytest.mark.parametrize(
    ("voiced_ms", "ended", "found"),
    [
        (499, False, "hold"),
        (499, True, "dismiss short"),
        (500, False, "confirm speech"),
        (700, True, "confirm speech"),
    ],
)
def test_without_words_length_decides(voiced_ms: int, ended: bool, found: str) -> None:
    assert judged(voiced_ms, ended=ended, words_expected=False) == found


def test_what_is_not_known_is_as_if_it_had_not_happened() -> None:
    assert Evidence(voiced_ms=1) == Evidence(
        voiced_ms=1,
        ended=False,
        silent_ms=0,
        has_paused=False,
        words=None,
        words_expected=False,
        words_ms=0,
        level_db=None,
        echo=None,
        played=(),
        played_ms=0,
        is_answer_expected=False,
        addressed=None,
    )
    assert Interruption().judge(Evidence(voiced_ms=500)).reason == "speech"


def test_a_reply_is_lowered_at_once_and_comes_back_slowly() -> None:
    assert (DUCK_DB, DUCK_RAMP_MS, RESTORE_RAMP_MS) == (-15.0, 60, 250)


def test_a_voice_far_below_the_users_usual_level_comes_from_elsewhere() -> None:
    assert judged(voiced_ms=300, words="Show me the cheaper one", level_db=-14.0) == "dismiss far_voice"
    assert judged(voiced_ms=299, words="Put it over", level_db=-14.0) == "confirm words", "too short to know its level"
    assert judged(voiced_ms=299, words="Put it", level_db=-6.0, ended=True) == "dismiss far_voice"
    assert judged(voiced_ms=200, words="Put it", level_db=-14.0, silent_ms=100) == "dismiss far_voice", (
        "its pause counts"
    )
    assert judged(voiced_ms=300, words="mm-hm", level_db=-12.0, ended=True) == "dismiss backchannel", "hums are quiet"
    assert judged(voiced_ms=600, words="Show me the cheaper one", level_db=-5.9) == "confirm words"
    assert judged(voiced_ms=600, words="Friday, what else?", level_db=-12.0, addressed=True).startswith("confirm")


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        ({"unlike": 1.0}, "confirm words"),
        ({"unlike": 1.1}, "dismiss far_voice"),
        ({"unlike": 0.5, "level_db": -14.0}, "dismiss far_voice"),
        ({"unlike": 0.5, "level_db": -13.9}, "confirm words"),
        ({}, "hold"),
        ({"voiced_ms": 899}, "hold"),
        ({"voiced_ms": 900}, "dismiss far_voice"),
        ({"voiced_ms": 900, "others_heard": False, "level_db": -7.5}, "dismiss far_voice"),
        ({"voiced_ms": 900, "others_heard": False, "level_db": -7.4}, "confirm words"),
        ({"ended": True, "others_heard": False, "level_db": -7.4}, "confirm words"),
        ({"ended": True, "others_heard": False}, "dismiss far_voice"),
        ({"words": "Stop.", "unlike": 2.0}, "confirm stop_words"),
        ({"words": "Um, stop it"}, "confirm stop_words"),
        ({"words": "Wait a bit", "unlike": 2.0}, "confirm stop_words"),
        ({"words": "Stop.", "level_db": -14.0}, "dismiss far_voice"),
    ],
)
def test_of_a_quieter_voice_its_timbre_decides_and_whether_anyone_else_was_heard(
    evidence: dict[str, Any], found: str
) -> None:
    assert judged(**{"voiced_ms": 600, "words": "Show me the cheaper one", "level_db": -9.0} | evidence) == found


def test_calls_without_backchannels_of_their_own_share_one_set() -> None:
    assert Interruption().backchannels is Interruption().backchannels


def test_an_echo_is_no_voice_of_the_user() -> None:
    played = tokens_of("The nights are cold and the days are still warm.")
    assert judged(words="are cold and the days", played=played) == "dismiss echo_words"
    assert judged(words="are the days cold in spring", played=played).startswith("confirm")
    assert judged(words="what", echo=0.6) == "dismiss echo"
    assert judged(words="what", echo=0.59) == "confirm stop_words"


NO_ECHO = ("confirm words", "hold")
"""Two words may become a remark to someone beside."""


@pytest.mark.parametrize(
    "misheard",
    [
        "And it should be cost full pounds for a grown-up and half of that for a time.",
        "harbor too",
        "And the tickets cost well pounds.",
    ],
)
def test_before_a_user_was_heard_what_sounds_like_the_reply_is_taken_for_it(misheard: str) -> None:
    """A recogniser mishears an echo in noise."""
    played = tokens_of(
        "I can tell you about the harbour too. The boats leave at nine in the morning, and the ticket costs twelve "
        "pounds for a grown up and half of that for a child."
    )
    assert judged(words=misheard, played=played) in NO_ECHO
    for echo in (None, 0.4):
        assert judged(words=misheard, played=played, user_heard=False, echo=echo) == "dismiss echo_words"
    assert judged(words=misheard, played=played, user_heard=False, echo=0.39) in NO_ECHO, "surely no echo"


@pytest.mark.parametrize(
    "said",
    ["Stop.", "no, no, the other one", "that is enough, thank you", "is there a train as well", "¿por qué lo dices?"],
)
def test_a_user_may_begin_with_an_interruption(said: str) -> None:
    played = tokens_of(
        "The mountains in October are a quiet place. The nights are cold and the days are still warm, and most of the "
        "huts have closed for the winter. If you like to walk alone, it is the best time of the year."
    )
    assert judged(words=said, played=played, user_heard=False).startswith("confirm")


def test_the_fewest_edits_within_a_text_are_found() -> None:
    """Against the textbook's table, for any letters."""

    def fewest(pattern: str, text: str) -> int:
        row = [*range(len(pattern) + 1)]
        best = row[-1]
        for letter in text:
            before, row[0] = row[0], 0
            for at, other in enumerate(pattern, 1):
                kept = row[at]
                row[at] = min(row[at] + 1, row[at - 1] + 1, before + (letter != other))
                before = kept
            best = min(best, row[-1])
        return best

    chance = random.Random(1)

    def letters(n: int) -> str:
        return "".join(chance.choices("abc", k=n))

    for _ in range(600):
        pattern = letters(chance.randint(8, 18))
        misheard = [*pattern]
        for _ in range(chance.randint(0, len(pattern) // 2)):
            at = chance.randrange(len(misheard))
            misheard[at : at + chance.randint(0, 1)] = letters(chance.randint(0, 1))
            misheard = misheard or ["a"]
        text = letters(chance.randint(0, 5)) + "".join(misheard) + letters(chance.randint(0, 5))
        assert resembles([pattern], [text]) == (fewest(pattern, text) <= 0.42 * len(pattern) - 1.5), (pattern, text)
    assert resembles(["abcdefghijklmnopqrstuvwxy"], ["zbzdzfzhzjzlznzpzrstuvwxy"]), "nine of 25 are just few enough"
    assert not any(resembles(["abcdefgh"], [misheard]) for misheard in ("hbcdefgz", "zbcdefgz"))
    assert not resembles(["abcabca"], ["abcabca"]), "so few letters resemble a part of any sentence"


def test_a_voice_after_the_reply_is_the_last_of_its_echo_or_the_users() -> None:
    assert judged(voiced_ms=200, after_reply=True) == "hold"
    assert judged(voiced_ms=200, after_reply=True, echo=0.4) == "hold"
    assert judged(voiced_ms=200, after_reply=True, echo=0.39) == "confirm speech"
    assert judged(voiced_ms=599, after_reply=True, echo=0.5) == "hold"
    assert judged(voiced_ms=600, after_reply=True, echo=0.5) == "confirm speech"
    assert judged(voiced_ms=600, after_reply=True, echo=0.6) == "dismiss echo"
    assert judged(voiced_ms=150, after_reply=True, ended=True) == "confirm speech"
    assert judged(voiced_ms=900, after_reply=True, ended=True, echo=0.7) == "dismiss echo"
    assert judged(words="yes", after_reply=True, ended=True, settings=Interruption(protect_ms=500)) == "confirm speech"


@pytest.mark.parametrize(
    ("heard", "left"),
    [
        ("Are still warm. Stop, please.", "Stop, please."),
        ("the days are, still, warm", ""),
        ("The days are steel warm, and what about June?", "and what about June?"),
        ("Warm.", "Warm."),
        ("What about June?", "What about June?"),
        ("", ""),
    ],
)
def test_words_of_the_reply_at_the_beginning_are_dropped(heard: str, left: str) -> None:
    assert without_repeated(heard, tokens_of("The nights are cold and the days are still warm")) == left


@pytest.mark.parametrize("mark", ["'", "’"])
def test_an_apostrophe_of_either_form_repeats_the_other(mark: str) -> None:
    assert without_repeated(f"It{mark}s not far. Stop.", tokens_of("it's not far")) == "Stop."
    assert without_repeated("It's not far. Stop.", tokens_of(f"It{mark}s not far")) == "Stop."
    assert without_repeated(unicodedata.normalize("NFD", "Très bien. Stop."), tokens_of("Très bien")) == "Stop."


def test_an_expected_answer_is_no_backchannel() -> None:
    assert judged(words="Yes.", ended=True, is_answer_expected=True) == "confirm answer"
    assert judged(words="Mm, yes.", ended=True, is_answer_expected=True) == "confirm answer"
    assert judged(words="Yes.", is_answer_expected=True) == "hold", "more may follow"
    assert judged(words="Mm-hm.", ended=True, is_answer_expected=True) == "dismiss backchannel"


def test_settings_narrow_what_interrupts() -> None:
    assert (
        judged(words="Louder.", settings=Interruption(backchannels=["louder, please go on"]), ended=True)
        == "dismiss backchannel"
    )
    three = Interruption(min_words=3)
    assert judged(words="Tell me", settings=three, ended=True) == "dismiss few_words"
    assert judged(words="Tell me", settings=three) == "hold"
    assert judged(words="Tell me more", settings=three) == "confirm words"
    assert (Interruption().min_words, Interruption().protect_ms) == (1, 0)
    protected = Interruption(protect_ms=1_000)
    assert judged(words="Stop", settings=protected, played_ms=900) == "hold"
    assert judged(words="Stop", settings=protected, played_ms=900, ended=True) == "dismiss protected"
    assert judged(words="Stop", settings=protected, played_ms=1_000) == "confirm stop_words"
    assert judged(voiced_ms=700, words_expected=False, settings=Interruption(min_speech_ms=800)) == "hold"


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        ({"words": "Mum, can"}, "hold"),
        ({"words": "Mum, can you"}, "hold"),
        ({"words": "Somebody is", "ended": True}, "confirm words"),
        ({"ended": True}, "dismiss side_talk"),
        ({"ended": True, "words_ms": 899}, "hold"),
        ({"ended": True, "words_ms": 899, "is_late": True}, "dismiss side_talk"),
        ({"silent_ms": 160}, "dismiss side_talk"),
        ({"silent_ms": 159}, "hold"),
        ({"voiced_ms": 3_999}, "hold"),
        ({"voiced_ms": 4_000}, "confirm words"),
        ({"ended": True, "is_answer_expected": True}, "confirm answer"),
        ({"ended": True, "names": ("Mum",)}, "confirm words"),
        ({"ended": True, "talk": ("kettle",)}, "confirm words"),
        ({"ended": True, "addressed": True}, "confirm addressed"),
        ({"words": "What a lovely story.", "ended": True}, "dismiss backchannel"),
        ({"words": "Lovely, show me the first"}, "confirm words"),
    ],
)
def test_a_remark_to_someone_beside_is_held_while_it_lasts_and_dismissed_at_its_end(
    evidence: dict[str, Any], found: str
) -> None:
    assert judged(**{"voiced_ms": 900, "words": "Mum, can you get the kettle?"} | evidence) == found


def test_an_assent_whose_last_look_is_late_goes_by_unless_it_lasted_too_long_for_one() -> None:
    known = {"words": "Yeah.", "ended": True, "words_ms": 300}
    assert judged(voiced_ms=719, **known) == "hold"
    assert judged(voiced_ms=699, is_late=True, **known) == "dismiss backchannel"
    assert judged(voiced_ms=699, is_late=True, **known | {"words": ""}) == "dismiss no_words"
    assert judged(voiced_ms=700, is_late=True, **known) == "confirm speech"


@pytest.mark.parametrize(
    "word", ["Stop", "Warte", "Attends", "Espera", "Aspetta", "Pare", "等一下", "待って", "Stop it"]
)
def test_an_order_to_stop_counts_from_afar_in_each_language(word: str) -> None:
    assert judged(voiced_ms=600, words=word, level_db=-9.0) == "confirm stop_words"
    assert judged(voiced_ms=600, words=f"Um, {word}", level_db=-9.0) == "confirm stop_words"
    assert judged(voiced_ms=900, words=f"Tell {word}", level_db=-9.0) == "dismiss far_voice"


@given(st.text(max_size=60), st.integers(0, 5_000), st.booleans(), st.one_of(st.none(), st.floats(-60, 30)))
def test_any_evidence_gets_a_verdict(words: str, voiced_ms: int, ended: bool, level_db: float | None) -> None:
    found = Interruption().judge(
        Evidence(voiced_ms=voiced_ms, ended=ended, words=words, words_ms=voiced_ms, level_db=level_db)
    )
    assert found.reason or found.verdict is H
    assert not ended or found.verdict is not H, "what is over and known is decided"


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=2, max_size=8))
def test_any_part_of_what_was_played_repeats_it(played: list[str]) -> None:
    assert repeats(played, ["x", *played, "y"])
    assert not repeats(["z"] * len(played), played)


def test_four_words_of_five_repeat_what_was_played() -> None:
    played = tokens_of("The nights are cold and the days are still warm")
    assert repeats(["nights", "are", "cold", "and", "wet"], played)
    assert not repeats(["nights", "are", "cold", "today"], played), "three of four"
    assert not repeats(["cold", "are", "nights", "the"], played), "another order"
    assert not repeats(["cold"], played)
    assert repeats(["cold", "and"], played)
    assert repeats(["the", "nights"], played)
    assert not repeats(["the", "wet"], played)
    assert not repeats(["cold", "and"], [])


def test_words_to_an_agent_take_the_floor_and_words_to_another_human_do_not() -> None:
    assert judged(words="Mm-hm, Alice", addressed=True) == "confirm addressed"
    assert judged(words="Ben, stop", addressed=False) == "dismiss side_talk"
    assert judged(words="tell me more", addressed=None) == "confirm words"


def test_whom_unknown_words_are_to_says_nothing() -> None:
    assert judged(words=None, addressed=True) == "hold"
    assert judged(words="", addressed=False) == "hold"


def test_a_laugh_that_is_heard_as_one_letter_again_and_again_has_no_words() -> None:
    assert judged(voiced_ms=600, words="T-t-t-t", ended=True) == "dismiss backchannel"
    assert judged(voiced_ms=600, words="A B C", ended=True) == "confirm words"


def test_a_single_young_word_may_be_the_beginning_of_another_name() -> None:
    assert judged(voiced_ms=599, words="Will", addressed=False) == "hold"
    assert judged(voiced_ms=600, words="Will", addressed=False) == "dismiss side_talk"
    assert judged(voiced_ms=320, words="Will", addressed=False, ended=True) == "dismiss side_talk"
    assert judged(voiced_ms=320, words="Bob tell", addressed=True) == "confirm addressed"


def test_an_agent_that_is_called_from_far_away_is_called() -> None:
    assert judged(words="Bob, listen", addressed=True, level_db=-20.0) == "confirm addressed"
    assert judged(words="Ben, listen", addressed=False, level_db=-20.0) == "dismiss far_voice"


def test_an_echo_that_names_an_agent_is_an_echo() -> None:
    assert judged(words="ask Bob", addressed=True, echo=0.9) == "dismiss echo"


def test_only_the_newest_forty_words_of_a_reply_are_repeated() -> None:
    played = ["alpha", "beta", *(f"w{number}" for number in range(38))]
    assert without_repeated("Alpha beta. Stop.", played) == "Stop."
    assert without_repeated("Alpha beta. Stop.", [*played, "more"]) == "Alpha beta. Stop."


@pytest.mark.parametrize(
    ("words", "verdict"), [("T-t", "dismiss backchannel"), ("T", "confirm words"), ("Tt tt", "confirm words")]
)
def test_a_laugh_is_the_same_single_letter_at_least_twice(words: str, verdict: str) -> None:
    assert judged(voiced_ms=700, words=words, ended=True) == verdict
