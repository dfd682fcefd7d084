"""Voices by name, as the services' own pages and SDKs list them."""

from __future__ import annotations

from difflib import get_close_matches

from realtime.errors import UsageError
from realtime.model.base import Profile

OPENAI = ("alloy", "ash", "ballad", "coral", "echo", "sage", "shimmer", "verse", "marin", "cedar")
# fmt: off
GEMINI = (
    "Puck", "Charon", "Kore", "Fenrir", "Zephyr", "Leda", "Orus", "Aoede",
    "Callirrhoe", "Autonoe", "Enceladus", "Iapetus", "Umbriel", "Algieba", "Despina", "Erinome",
    "Algenib", "Rasalgethi", "Laomedeia", "Achernar", "Alnilam", "Schedar", "Gacrux", "Pulcherrima",
    "Achird", "Zubenelgenubi", "Vindemiatrix", "Sadachbia", "Sadaltager", "Sulafat",
)
# fmt: on
QWEN_FIRST = ("Cherry", "Serena", "Ethan", "Chelsie")
QWEN_NEWER = ("Tina", *QWEN_FIRST)
QWEN = (*QWEN_NEWER, "longanlingxin")
"""All of them; `realtime.model.openai_family.dashscope_shapes` says which family of models has which."""

_OF_SERVICES = frozenset((*OPENAI, *GEMINI, *QWEN))


def is_voice_of_a_service(name: str) -> bool:
    """Return whether a known service has a voice of this name."""
    return name in _OF_SERVICES


def known_voice(voice: str | None, profile: Profile) -> str | None:
    """Return the voice. Raises UsageError for one that the model does not have.

    A service may have more than we know of: there, only what looks like a slip is refused.
    """
    if voice is None or not profile.voices or voice in profile.voices or is_voice_of_a_service(voice):
        return voice
    if profile.provider == "local" or get_close_matches(voice.lower(), map(str.lower, profile.voices), 1, 0.75):
        raise UsageError(
            f"there is no voice {voice!r}; {profile.model} has {', '.join(profile.voices)}", code="bad_voice"
        )
    return voice


def voice_here(wanted: str | None, profile: Profile) -> str | None:
    """The voice to ask this model for; `None`, its own voice, where only another service has one of that name.

    Programs written for one service name its voices, some always, at any model; a service refuses a voice that it does
    not have, with all settings beside it. A name that no service is known to have passes: it may be new, or custom.
    """
    if not profile.voices or wanted in profile.voices or wanted not in _OF_SERVICES:
        return wanted
    return None
