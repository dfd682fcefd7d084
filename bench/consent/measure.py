"""Measure consent by voice: labelled answers, voices in real calls, and many calls with noise and bystanders.

Needs the extra `local`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from bench.consent.answers import OF_OUTSIDER, Labelled, Set, labelled_answers, tally, wrong
from bench.consent.runs import KINDS, Case, Played, generated_cases, play_case, spoken_cases
from bench.listen import players
from bench.process import ROOT
from bench.report import Check, Section
from realtime.server.folders import cache_folder
from realtime.turn.answers import Answer

PAGE = ROOT / "docs" / "consent.md"
COUNT = 1_000
AGREEING_SHARE = 0.2
"""Generated calls in which the user says yes at last, as a share of those in which without consent."""
WORKERS = 2
TITLES: dict[Set, str] = {
    "known": "known",
    "heldout": "held out",
    "outsider": "an outsider's",
    "outsider_2": "an outsider's, second half",
    "outsider_3": "another outsider's, known half",
    "unseen": "another outsider's, unseen half",
}
HEADER = ("what", "answers, calls", "right", "false consents")
HOW = (
    "Words: the answers of bench/consent/answers.tsv, written before any list of words was tuned on them; lists and "
    "rules were tuned on the known ones only, the held out ones are counted. The author of both is the same. "
    "An outsider's: 714 answers by someone who had not seen the reader; at their first run 57 % of the English "
    "agreements were read as such, and five answers as a false yes. Half of them (by questions) then improved the "
    "rules, after which 78 % of the other half were right, and 37 % of its certain changes; then that half improved "
    "them as well. Another outsider wrote 601: at their first run 41 % of the agreements were read as such. One half "
    "(by questions) then improved the rules. The other is unseen but for one answer: its only false yes, 下午吧, "
    "led to a repair. "
    "Certain: of the changes that name one argument, those whose new arguments are right. Six voices: "
    "fixtures/audio/consent, synthesised (three pitches of one voice, three voices of formant synthesis), in wordings "
    "that the embedded recogniser understands in all six: of eleven that were tried four are misheard in at least one "
    'of the formant voices ("go ahead" as "go to bed", "three" as "free"), and then the question is asked again. '
    "Echo: -12 dB, 120 ms late. Bystander: another voice says yes, 10 dB below, with 0.3 s of reverberation. "
    "Generated: each call differs by seed in voice, line (clean, telephone, noise at 15 dB), echo (in three of ten, "
    "-6 to -40 dB, 40 to 250 ms late) and in one to three disturbances: a bystander who says yes 10 to 16 dB below "
    "the user, noises and tics, side talk as loud as the user, a lost socket, and before the end of the question a "
    "near yes or a backchannel. Then the user says nothing, no, or asks something. A yes at last is said once, 1.5 s "
    "after the last disturbance; in the row below it is said once more where the question is asked again. All calls "
    "are whole: server, embedded voice with its detector, recogniser and synthesis, default options, a page that "
    "plays; audio is real, time is virtual, recognition is looked up by hash of the sound. Only the language model "
    "is a stand-in; it calls the tool at the first turn. A false consent is a call of the tool without an "
    "agreement."
)


async def measure_consent(
    say: Callable[[str], None] = lambda _: None,
    *,
    count: int = COUNT,
    quick: bool = False,
    words: Path | None = None,
    workers: int = WORKERS,
) -> Section:
    """Read the labelled answers, and play the calls. `words` is the file of kept transcripts."""
    file = words or cache_folder() / "bench-listen.sqlite3"
    return await asyncio.to_thread(_measure, say, 40 if quick else count, quick, file, workers)


def _measure(say: Callable[[str], None], count: int, quick: bool, file: Path, workers: int) -> Section:
    section = Section("consent", "Measured", HOW, HEADER, page=PAGE)
    _read_answers(section, say)
    with players(workers, partial(play_case, file=file)) as play:
        spoken = [case for kind in KINDS for case in spoken_cases(kind)]
        played = [*_reported(play(spoken[:: 4 if quick else 1]), say)]
        for kind in KINDS:
            _add_row(section, f"six voices: {kind}", [one for one in played if one.name == kind])
        section.checks.append(Check("six voices: wrong", sum(not one.is_right for one in played), 0))
        alone = _generated(section, f"generated: without consent, {count}", generated_cases(count), play, say)
        share = round(count * AGREEING_SHARE)
        agreed = _generated(
            section, f"generated: a yes at last, {share}", generated_cases(share, consents=True), play, say
        )
        right_again = sum(one.is_right_again for one in agreed)
        name = "generated: the same, or again once it is asked again"
        section.rows.append((name, str(len(agreed)), str(right_again), str(_false(agreed))))
    every = [*played, *alone, *agreed]
    section.checks += [
        Check(f"false consents in {len(alone)} generated calls", _false(alone), 0),
        Check(f"false consents in all {len(every)} calls", _false(every), 0),
        Check("generated: a yes at last is heard", sum(one.is_right for one in agreed) / len(agreed), None),
        Check("generated: it is heard once it is said again", right_again / len(agreed), None),
    ]
    section.data["wrong"] = [asdict(one) for one in every if not one.is_right or one.is_false_consent]
    section.data["disturbances"] = Counter(name for one in alone for name in one.name.split(", ")[0].split("+"))
    return section


def _read_answers(section: Section, say: Callable[[str], None]) -> None:
    every = [*labelled_answers()]
    for line in wrong("known"):
        say(f"known: {line}")
    for set_, title in TITLES.items():
        answers = [one for one in every if one.set == set_]
        if not answers:
            continue
        for answer in Answer:
            _add_words(section, f"words, {title}: {answer}", [one for one in answers if one.answers[0] is answer])
        for language in ("en", "de", "es", "zh"):
            _add_words(
                section, f"words, {title}: {language}", [one for one in answers if one.asked.language == language]
            )
        counted = tally(answers)
        is_own = set_ not in OF_OUTSIDER
        section.checks += [
            Check(f"words, {title}: false yes", counted.false_yes, 0),
            Check(f"words, {title}: right", counted.right / counted.answers, 0.9 if is_own else None, at_least=True),
            Check(
                f"words, {title}: certain and right",
                counted.sure_right / counted.sure,
                0.85 if is_own else None,
                at_least=True,
            ),
        ]


def _add_words(section: Section, name: str, answers: list[Labelled]) -> None:
    counted = tally(answers)
    section.rows.append((name, str(counted.answers), str(counted.right), str(counted.false_yes)))


def _generated(
    section: Section,
    name: str,
    cases: Iterator[Case],
    play: Callable[[Sequence[Case]], Iterator[Played]],
    say: Callable[[str], None],
) -> list[Played]:
    say(name)
    played = [*_reported(play([*cases]), say)]
    _add_row(section, name.rpartition(",")[0], played)
    return played


def _reported(played: Iterator[Played], say: Callable[[str], None]) -> Iterator[Played]:
    """Yield calls as they end; those that went wrong are said."""
    for one in played:
        if not one.is_right or one.is_false_consent:
            say(f"{'FALSE CONSENT' if one.is_false_consent else 'wrong'}: {one.name}: {one.outcome}")
        yield one


def _add_row(section: Section, name: str, played: Sequence[Played]) -> None:
    right = sum(one.is_right for one in played)
    section.rows.append((name, str(len(played)), str(right), str(_false(played))))


def _false(played: Sequence[Played]) -> int:
    return sum(one.is_false_consent for one in played)
