"""The only user of a call, whom questions for consent ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from realtime.agent.answer_turns import WORDS_S
from realtime.agent.consent import Consents
from realtime.agent.context import AgentContext
from realtime.agent.controller import Controller
from realtime.agent.settings import AgentSpec, RunSettings
from realtime.agent.tools import ToolRunner
from realtime.call.asked import Asked, Person
from realtime.call.participant import Host, OwnCall
from realtime.event.server import ServerEvent
from realtime.turn.machine import Signal


class AskedUser:
    """The user of one call, who alone may answer: an `Asked` of one `Person`. `sound` is where a recording would be."""

    id = ""
    words_s = WORDS_S

    def __init__(self, context: AgentContext, controller: Controller, own: OwnCall, sound: str) -> None:
        self._ears = context.ears
        self._forgets = context.profile.supports_item_delete
        self._controller = controller
        self._turns = controller.turns
        self._own = own
        self._sound = sound

    # -- `Person` ------------------------------------------------------------------------------------------------------

    @property
    def position_ms(self) -> int:
        """See `Person`."""
        return self._controller.input.position_ms

    def played_ms(self, item_id: str) -> int:
        """See `Person`."""
        return self._ears.played_ms(item_id)

    def unplayed_ms(self) -> int:
        """See `Person`."""
        return self._ears.unplayed_ms()

    # -- `Asked` -------------------------------------------------------------------------------------------------------

    @property
    def is_silent(self) -> bool:
        """See `Asked`."""
        return self._ears.unplayed_ms() <= 0

    @property
    def is_free(self) -> bool:
        """See `Asked`."""
        return self.is_silent

    @property
    def is_held_up(self) -> bool:
        """See `Asked`."""
        return self._controller.interruptions.current is not None

    def why_not(self, call_id: str) -> str:
        """See `Asked`."""
        if not self._own.takes_unasked:
            return "this client does not expect an agent that speaks unasked"
        return "" if self._controller.input.received_samples else "this client has sent no sound"

    def people(self, call_id: str) -> Sequence[Person]:
        """See `Asked`."""
        return (self,)

    def only(self, call_id: str) -> str | None:
        """See `Asked`."""
        return None

    def name_of(self, call_id: str, person_id: str) -> str | None:
        """See `Asked`."""
        return self._controller.user_turns.user_name

    def follow(self, follow: Callable[[ServerEvent, str], None]) -> Callable[[], None]:
        """See `Asked`."""
        return self._own.follow(partial(_told, follow))

    def let_pass(self, *, is_theirs: bool) -> None:
        """See `Asked`."""
        if not is_theirs:
            self._turns.turn.stands_alone()  # the user does not go on with it
        self._turns.signal(Signal.RESPONSE_DONE)

    def respond(self, beside: Callable[[], None] | None) -> None:
        """See `Asked`."""
        if beside is None:
            self._turns.respond_to_turn()
        else:
            beside()
            self._turns.signal(Signal.RESPONSE_DONE)

    def forget(self, turn_ids: Iterable[str], *, typed: bool) -> None:
        """See `Asked`."""
        for turn_id in turn_ids:
            pieces = (turn_id,) if typed else self._controller.user_turns.turn_of(turn_id).piece_ids
            self._turns.forget_answer(pieces)

    @property
    def recording(self) -> str | None:
        """See `Asked`."""
        return self._sound if self._own.is_recorded() else None


def _told(follow: Callable[[ServerEvent, str], None], event: ServerEvent) -> None:
    follow(event, "")


def consents_of(
    spec: AgentSpec, settings: RunSettings, host: Host, context: AgentContext, controller: Controller, tools: ToolRunner
) -> Consents:
    """Return the questions of an agent, in a call or a room."""

    def why_silent() -> str:
        profile = context.profile
        if controller.turn.responder == "provider":
            return "the provider answers each turn by itself"
        if not (profile.says_given_words or profile.responds_beside_tools or profile.takes_provisional_results):
            return "this model says nothing while its tool call is open"
        if "audio" not in settings.for_model(spec.name).output_modalities:
            return "this agent writes, and does not speak"
        if settings.config.input_audio_transcription is False:
            return "the words of the user are not transcribed in this call"
        return ""

    asked: Asked | None = host.asked
    if asked is None:
        assert host.own is not None, "an agent is in a call of its own, or in a room"
        asked = AskedUser(context, controller, host.own, f"/api/calls/{host.call_id}/sound")
    return Consents(
        context,
        controller,
        tools,
        asked,
        tool_of=spec.toolkit.tools.get,
        silence_s=spec.consent_silence_s,
        instructions=lambda: settings.for_model(spec.name).instructions,
        why_silent=why_silent,
        own=host.own,
    )
