"""The agent card of a server of ours: who answers, where, in which versions of the protocol. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentProvider,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

from realtime.version import __version__

VERSIONS = ("1.0", "0.3")
"""Versions of the protocol that are served, newest first: clients take the first that they know."""
BINDINGS = ("JSONRPC", "HTTP+JSON")
"""Bindings of each version, the preferred one first."""
TEXT = "text/plain"
JSON = "application/json"
SCHEME = "token"
"""The name of the security scheme."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """Something that other agents may ask for."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


CONVERSATION = Skill(
    id="conversation",
    name="Conversation",
    description="Answers messages in text. Each message of a context goes on with the same conversation.",
    tags=("chat", "text"),
)
ASK_A_PERSON = Skill(
    id="ask-a-person",
    name="Ask a person in a call",
    description="A message whose contextId is the id of a running voice call is spoken to the person in it; the task "
    "ends with what they answer.",
    tags=("voice", "call", "human"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardText:
    """What a card says of its agent. Everyone may read it: instructions do not belong here."""

    name: str = "Voice agent"
    description: str = "An agent that people talk with by voice. Other agents write to it, or to a person in a call."
    version: str = __version__
    organization: str = ""
    """Who provides it; with `organization_url`."""
    organization_url: str = ""
    documentation_url: str = ""
    icon_url: str = ""
    skills: Sequence[Skill] = field(default=(CONVERSATION, ASK_A_PERSON))


def own_card(text: CardText, url: str, *, needs_token: bool) -> AgentCard:
    """Return the card of an agent at `url`, in both versions.

    `needs_token`: requests carry a bearer token.
    """
    card = AgentCard(
        name=text.name,
        description=text.description,
        version=text.version,
        documentation_url=text.documentation_url or None,
        icon_url=text.icon_url or None,
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
            for version in VERSIONS
            for binding in BINDINGS
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=[TEXT],
        default_output_modes=[TEXT, JSON],
        skills=[
            AgentSkill(
                id=skill.id,
                name=skill.name,
                description=skill.description,
                tags=skill.tags,
                examples=skill.examples,
            )
            for skill in text.skills
        ],
    )
    if text.organization:
        card.provider.CopyFrom(AgentProvider(organization=text.organization, url=text.organization_url))
    if needs_token:
        bearer = HTTPAuthSecurityScheme(scheme="bearer", description="The server's token, or a client token.")
        card.security_schemes[SCHEME].CopyFrom(SecurityScheme(http_auth_security_scheme=bearer))
        card.security_requirements.append(SecurityRequirement(schemes={SCHEME: StringList()}))
    return card
