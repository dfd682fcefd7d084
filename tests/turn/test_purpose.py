"""What words over a reply are for; the model was fitted to other utterances, by other hands."""

from pathlib import Path

import numpy as np
import pytest

from realtime.turn.interruption import ASSENT, MAYBE_ASIDE, Evidence, Interruption, Verdict
from realtime.turn.purpose import FOR_AGENT, Model, Purpose, model
from realtime.turn.small_talk import tokens_of
from tools.fit_purpose import Utterance, fit, utterances

UNSEEN = utterances(Path(__file__).with_name("over_replies_unseen.tsv"))

OTHER_LANGUAGES = """Warte mal, ich habe noch eine Frage.
Das ist ja interessant.
Was kostet denn das Zimmer?
Espera, tengo otra pregunta.
No me lo puedo creer.
Attendez, je voudrais autre chose.
C'est magnifique, continuez.
等一下，我还有一个问题。"""


def test_of_unseen_utterances_few_for_the_agent_go_by_and_most_others_do() -> None:
    found: dict[str, list[bool]] = {}
    for one in UNSEEN:
        judged = Interruption().judge(Evidence(voiced_ms=900, ended=True, words=one.text, words_ms=900))
        found.setdefault(Purpose._fields[one.purpose], []).append(judged.verdict is Verdict.DISMISS)
    assert np.mean(found["agent"]) <= 0.02
    assert np.mean(found["assent"]) >= 0.8
    assert np.mean(found["beside"]) >= 0.28


def test_the_beginning_of_an_utterance_for_the_agent_is_seldom_taken_for_another() -> None:
    begun = [" ".join(one.text.split()[:4]) for one in UNSEEN if one.purpose == 0 and len(one.text.split()) > 4]
    held = np.mean([model().purpose_of(words, is_over=False).agent < MAYBE_ASIDE[1] for words in begun])
    assert held <= 0.05


@pytest.mark.parametrize("words", OTHER_LANGUAGES.splitlines())
def test_words_of_another_language_are_for_the_agent(words: str) -> None:
    assert model().purpose_of(words) == model().purpose_of(words, is_over=False) == FOR_AGENT


@pytest.mark.parametrize("words", ["", "Mhm.", "Berlin.", "A B C", "and so on " * 5])
def test_of_a_single_word_and_of_long_words_nothing_is_said(words: str) -> None:
    assert model().purpose_of(words) == FOR_AGENT


def test_what_names_the_agent_or_has_words_of_the_talk_is_not_said_to_someone_beside() -> None:
    words = "Mum, can you get the kettle?"
    assert model().purpose_of(words).beside > 0.7
    assert model().purpose_of(words, names=("Mum",)) == FOR_AGENT
    assert model().purpose_of(words, tokens_of("You can get the time for it.")).beside > 0.7
    assert model().purpose_of(words, tokens_of("A kettle boils.")).beside == 0


@pytest.mark.night
def test_the_weights_are_those_of_the_utterances() -> None:
    fitted = fit(utterances())
    same = [_is_aside(one, fitted) == _is_aside(one, model()) for one in UNSEEN]
    assert np.mean(same) >= 0.99


def _is_aside(one: Utterance, by: Model) -> bool:
    return by.purpose_of(one.text).agent < ASSENT
