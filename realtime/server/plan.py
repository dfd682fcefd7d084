"""What to serve: an application file or a model, with settings. Survives a reload into a new process."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
from fastapi import FastAPI

from realtime.demo.room import NAME as DEMO
from realtime.demo.room import VOICES, demo_agent, demo_room
from realtime.errors import UsageError
from realtime.memory import SqliteLongTermMemory
from realtime.model.base import RealtimeModel
from realtime.model.local.chat import language_model_from_environment
from realtime.model.local.choices import choice_of
from realtime.model.local.keyless.conversationalist import Conversationalist
from realtime.model.local.keyless.product import Product
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.local.weights import WHISPER_FOLDER
from realtime.model.open import open_model
from realtime.model.services import SERVICES
from realtime.room import ChatRoom
from realtime.server.app import create_app
from realtime.server.builtin import House, product_of
from realtime.server.calls_api import Cases
from realtime.server.load import MAKE_ROOM, load_function, load_make_agent, place_and_name
from realtime.server.models import Models, page_providers
from realtime.server.remote_tools import RemoteTools
from realtime.server.rooms import Rooms
from realtime.server.settings import ServerSettings
from realtime.server.warming import Warming, embedded_model_of
from realtime.state.open import open_session

PLAN = "REALTIME_SERVE_PLAN"
"""The environment variable that carries the plan into a reloaded process."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The request given to `realtime serve`."""

    target: str | None = None
    """`app.py:make_agent` or `package.module:make_agent`; None: the built-in agent with `model`."""
    model: str | None = None
    """The built-in agent's default model; None: see `realtime.server.models.Models`."""
    room: str | None = None
    """Template of requested rooms that do not exist: `demo`, or `app.py:make_room`; None: none."""
    mcp: tuple[str, ...] = ()
    """URLs and commands of MCP servers, whose tools all agents get (`realtime.server.remote_tools`)."""
    session: str | None = None
    """Where agents keep what they know of their callers (`realtime.state.open.open_session`); None: nowhere."""
    redact: str | None = None
    """The function that takes secrets out of what is stored, as `app.py:redact`; None: all is stored."""
    memory: str | None = None
    """The file of the long-term memories of their users (`SqliteLongTermMemory`); None: there are none."""
    settings: ServerSettings = msgspec.field(default_factory=ServerSettings)
    log_level: str = "warning"

    def __repr__(self) -> str:
        return f"Plan({self.target or self.model!r})"  # the URL of its sessions may hold a password

    def put_into_environment(self) -> None:
        """Store the plan for `app_of_environment` in a child process."""
        os.environ[PLAN] = msgspec.json.encode(self).decode()


def app_of_environment(make_cases: Callable[[ServerSettings], Cases] | None = None) -> FastAPI:
    """Build the application of the plan in the environment. `make_cases` as for `app_of`."""
    plan = msgspec.json.decode(os.environ[PLAN], type=Plan)
    set_up_logging(plan.log_level)
    return app_of(plan, lambda line: logging.getLogger(__name__).warning("%s", line), make_cases)


def app_of(
    plan: Plan, say: Callable[[str], None], make_cases: Callable[[ServerSettings], Cases] | None = None
) -> FastAPI:
    """Build the application of a plan.

    `say` receives a line about each thing it loads; `make_cases` makes the object that turns calls into test cases.
    Raises UsageError where the target or the model is unavailable.
    """
    cases = make_cases(plan.settings) if make_cases is not None else None
    remote = RemoteTools(plan.mcp, say)
    redact = load_function(plan.redact, "redact") if plan.redact is not None else None
    session = open_session(plan.session) if plan.session is not None else None
    memory = partial(SqliteLongTermMemory, plan.memory) if plan.memory is not None else None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            async with remote.lifespan(app):
                yield
        finally:
            if session is not None:
                await session.aclose()

    if plan.target is not None:
        make_agent = load_make_agent(plan.target)
        warming = Warming(partial(embedded_model_of, make_agent), say)
        return create_app(
            remote.given_to(make_agent),
            plan.settings,
            cases=cases,
            rooms=_rooms(plan, None),
            lifespan=lifespan,
            warming=warming,
            session=session,
            redact=redact,
            memory=memory,
        )
    is_private = plan.settings.hosts is not None and not plan.settings.trust_forwarded
    opener = partial(_open_model, product=product_of(plan.settings))
    models = Models(plan.settings.routes, plan.model, opener=opener, offers_servers=is_private)
    _say_what_goes_out(models, plan, say)
    house = House(models, say)
    return create_app(
        remote.given_to(house.make_agent),
        plan.settings,
        info=house.info,
        offer=house.offer,
        page_providers=page_providers(stand_in=models.default),
        cases=cases,
        rooms=_rooms(plan, models),
        lifespan=lifespan,
        warming=house.warming,
        session=session,
        redact=redact,
        memory=memory,
    )


def room_name(room: str) -> str:
    """Return the id of the room of `--room`: its function's name, or `room` for `make_room`."""
    if room == DEMO:
        return DEMO
    _, function = place_and_name(room, MAKE_ROOM)
    return "room" if function == MAKE_ROOM else function


def _rooms(plan: Plan, models: Models | None) -> Rooms:
    """Create the server's rooms: the demo room by name, the room of `--room` for any name."""
    templates: dict[str, Callable[[], ChatRoom]] = {DEMO: demo_room}
    if plan.room is not None and plan.room != DEMO:
        templates[room_name(plan.room)] = load_function(plan.room, MAKE_ROOM)
    return Rooms(
        templates,
        default=room_name(plan.room) if plan.room is not None else None,
        agents={name: partial(demo_agent, name) for name in VOICES},
        choose_model=models.choose if models is not None else None,
        max_rooms=plan.settings.max_rooms,
        grace_s=plan.settings.limits.grace_s,
    )


def _say_what_goes_out(models: Models, plan: Plan, say: Callable[[str], None]) -> None:
    """Say which provider receives speech or words, and which keys are missing.

    Raises UsageError where the model of `--model` lacks its key.
    """
    unasked = plan.model is None and not plan.settings.routes
    for told in map(models.describe, models.served):
        if told["missing"] is not None and told["name"] == plan.model:
            raise UsageError(
                f"--model {plan.model} needs a key for {told['title']}: set {told['missing']}, or leave --model out",
                code="missing_api_key",
            )
        if told["missing"] is not None:
            say(f"{told['name']} cannot be called yet: set {told['missing']}.")
        elif told["provider"] in SERVICES and unasked:
            say(
                f"The only key found is for {told['title']}, so {told['model']} speaks. What is said in calls goes to "
                f"{told['heard_by']} and may cost money; `--model local` keeps it on this computer."
            )
        elif told["read_by"] is not None:
            say(f"The words of calls go to {told['read_by']}; speech stays on this computer.")


def _open_model(name: str, *, product: Product) -> RealtimeModel:
    """Open a model of the built-in agent; the embedded one needs no key and no chat endpoint.

    Its rules tell what `product` says of the server.
    """
    provider, _, choice = name.partition(":")
    if provider != "local":
        return open_model(name)
    rules = Conversationalist(product)
    language_model = choice_of(choice).open(rules) if choice else language_model_from_environment() or rules
    return LocalRealtimeModel(language_model=language_model, whisper_dir=os.environ.get(WHISPER_FOLDER) or None)


def set_up_logging(level: str) -> None:
    """Log our lines at `level` and others' from warnings on. Raises UsageError for an unknown level."""
    names = logging.getLevelNamesMapping()
    if level.upper() not in names:
        raise UsageError(f"there is no log level {level!r}: use debug, info, warning or error", code="log_level")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("realtime").setLevel(names[level.upper()])


def reload_folder(target: str | None) -> Path:
    """Return the folder to watch. Raises UsageError where there is no file to watch."""
    path = Path(target.rpartition(":")[0]) if target is not None else None
    if path is None or path.suffix != ".py":
        raise UsageError("--reload restarts when a file changes: name one, such as app.py:make_agent", code="no_file")
    return path.resolve().parent
