"""Settings of a Gemini Live connection: which can change while it is open."""

from __future__ import annotations

from typing import Any

from realtime.event.model import ModelSessionUpdatedEvent
from realtime.model.base import Settings
from realtime.model.gemini import shapes

CHANGES_LIVE = "gemini-3.8"
"""How the names of models begin that take such a message."""
_LIVE = frozenset({"systemInstruction", "tools"})
"""What a message can change, at models that take it."""


class SessionSettings:
    """The settings in force: as we know them, and as the setup says them."""

    def __init__(self, model: str, *, voice: str | None, transcribes_input: bool) -> None:
        self._model = model
        self._voice = voice
        self._transcribes_input = transcribes_input
        self._setup: dict[str, Any] = {}
        self.current = Settings()
        self.transcribes = False
        """The words of the user are asked for."""
        self.is_manual = False
        """We mark the turns, not the provider's detector."""

    def begin(self, settings: Settings) -> dict[str, Any]:
        """Put the settings in force; returns the setup that says them."""
        self._apply(settings, self._write(settings))
        return self._setup

    def change(self, settings: Settings) -> dict[str, Any] | None:
        """Put the settings in force; returns the `contextUpdate` that says them, empty where nothing changes.

        Returns `None`, and changes nothing, where only a new connection can take them.
        """
        before, after = self._setup, self._write(settings)
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        if not changed <= _LIVE or (changed and not self._model.startswith(CHANGES_LIVE)):
            return None
        self._apply(settings, after)
        update: dict[str, Any] = {}
        if "systemInstruction" in changed:
            update["systemInstruction"] = after.get("systemInstruction", {"parts": [{"text": ""}], "role": "user"})
        if "tools" in changed:
            update["tools"] = {"tools": after.get("tools", [])}
        return update

    def event(self) -> ModelSessionUpdatedEvent:
        """The settings in force as an event: the service does not echo them."""
        return ModelSessionUpdatedEvent(settings=shapes.read_settings(self.current, self.current.voice or self._voice))

    def _write(self, settings: Settings) -> dict[str, Any]:
        return shapes.write_setup(
            settings,
            model=self._model,
            voice=settings.voice or self._voice,
            transcribes_input=self._transcribes_input and settings.input_audio_transcription,
            blocking_tools=self._model.startswith("gemini-3.8") and "thinking" not in self._model,
        )

    def _apply(self, settings: Settings, setup: dict[str, Any]) -> None:
        self.current, self._setup = settings, setup
        self.transcribes = self._transcribes_input and settings.input_audio_transcription
        self.is_manual = shapes.is_manual(setup)
