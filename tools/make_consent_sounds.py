"""Make fixtures/audio/consent: what people say to a question for consent, in six voices, and its manifest.

    python tools/make_consent_sounds.py

Speech is synthesised as for the stimuli of listening (`make_stimuli`); noise, distance and echo are added at run time.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from realtime.audio.files import write_flac
from tools import stimulus_words as words
from tools.make_stimuli import EDGE_MS, Voices, name_of
from tools.stimulus_sounds import RATE_HZ, stored

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "audio" / "consent"
SAID = {
    "request": ("Book a table for four people on Friday.",),
    "yes": ("Yes, please.", "Yes, do it."),
    "no": ("No, thank you.", "Please don't do that."),
    "change": ("Yes, but only two.", "Make it five people."),
    "question": ("How much is it?",),
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.flac"):
        old.unlink()
    speak = Voices().speak
    edge = np.zeros(EDGE_MS * RATE_HZ // 1000)
    entries = []
    for kind, texts in SAID.items():
        for text in texts:
            for voice in (*words.TUNING_VOICES, *words.HELD_OUT_VOICES):
                pcm = stored(np.concatenate([edge, speak(voice, text), edge]))
                path = FOLDER / f"{kind}-{name_of(text)}-{voice}.flac"
                write_flac(path, pcm, RATE_HZ)
                entries.append(
                    {
                        "kind": kind,
                        "text": text,
                        "voice": voice,
                        "file": path.name,
                        "sha256": hashlib.sha256(pcm).hexdigest(),
                        "licence": "CC0",
                    }
                )
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    (FOLDER / "manifest.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    total = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{len(entries)} sounds, {total / 1e6:.2f} MB in {FOLDER}")


if __name__ == "__main__":
    main()
