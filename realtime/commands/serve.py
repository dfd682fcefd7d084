"""The command `serve`: options, checks of them, and what is printed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, MutableMapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated
from urllib.parse import urlsplit

import typer
from fastapi import FastAPI

from realtime.call.limits import Limits
from realtime.commands.common import own_store
from realtime.errors import StoreError, UsageError
from realtime.model.chat.families import FAMILIES
from realtime.model.credentials import is_loopback
from realtime.model.local.chat import API_KEY, BASE_URL, MODEL, PROVIDER, choice_in
from realtime.model.services import SERVICES
from realtime.server import plan as planning
from realtime.server import runner
from realtime.server.admission import DEFAULT_MAX_BUSY
from realtime.server.calls_api import Cases
from realtime.server.endpoints import ENDPOINTS, endpoints_for
from realtime.server.gate import LOOPBACK_HOSTS
from realtime.server.plan import Plan, app_of, reload_folder, set_up_logging
from realtime.server.retention import DAY_S, MUCH_BYTES
from realtime.server.settings import ServerSettings
from realtime.state.open import open_session, open_store
from realtime.state.sessions import SessionWriter
from realtime.state.store import CallInfo, Change

FACTORY = "realtime.commands.serve:app_of_environment"
"""Makes the application in a process that `--reload` starts."""


def serve(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[app.py:make_agent]", help="Your agents; default: the built-in one.", show_default=False
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on. Beyond loopback a token is needed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes any free port.")] = 8000,
    strict_port: Annotated[bool, typer.Option("--strict-port", help="Fail if the port is taken.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"The built-in agent's model: local, {', '.join(SERVICES)}, PROVIDER:NAME, scripted. Default: "
            "the only provider that has a key, else local.",
        ),
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="[PROVIDER:]MODEL",
            help=f"The embedded model's language model; PROVIDER: {', '.join(FAMILIES)}, else the server that "
            "REALTIME_LLM_BASE_URL names. Default: what REALTIME_LLM_PROVIDER and REALTIME_LLM_MODEL say.",
        ),
    ] = None,
    route: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN=NAME",
            help="Maps client model names to models, such as 'gpt-*=gemini'. Repeatable; the first match decides.",
        ),
    ] = None,
    mcp: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL|COMMAND",
            help="Give the agent the tools of an MCP server: its streamable HTTP URL, or the command that starts it, "
            "quoted as in a shell. Repeatable.",
        ),
    ] = None,
    allow_client_mcp: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="Let OpenAI clients name MCP servers at this host in their tools; https, except on loopback. Private "
            "addresses count only where they are named. Repeatable.",
        ),
    ] = None,
    room: Annotated[
        str | None,
        typer.Option(metavar="demo | app.py:office", help="Open a room for several people and agents."),
    ] = None,
    endpoints: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help=f"Other services' protocols to serve: {','.join(ENDPOINTS)}, or none. Default: all on loopback "
            "or with a token, else none.",
        ),
    ] = None,
    a2a: Annotated[
        bool, typer.Option("--a2a", help="Let other agents write to yours, and to the people in calls (A2A).")
    ] = False,
    a2a_push: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="Another host that may be notified of their tasks; those at public addresses may be. Repeatable.",
        ),
    ] = None,
    endpoints_formerly: Annotated[str | None, typer.Option("--front", hidden=True)] = None,
    token: Annotated[
        str | None,
        typer.Option(help="Token that clients must send; `auto` makes one. Default: REALTIME_TOKEN."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the token, which keeps it out of process lists.")
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Disable authentication.")] = False,
    tls: Annotated[str | None, typer.Option(metavar="self | CERT KEY", help="Serve HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(hidden=True)] = None,
    allow_origin: Annotated[list[str] | None, typer.Option(help="Another origin that may call. Repeatable.")] = None,
    allow_embed: Annotated[
        list[str] | None,
        typer.Option(help="Another origin whose pages may call, and embed the page or the button. Repeatable."),
    ] = None,
    brand: Annotated[
        Path | None,
        typer.Option(metavar="FILE.css", exists=True, dir_okay=False, help="Colours and fonts of the pages."),
    ] = None,
    connect_origin: Annotated[
        list[str] | None, typer.Option(help="Another server that the page may connect to. Repeatable.")
    ] = None,
    trust_proxy: Annotated[
        bool, typer.Option("--trust-proxy", help="Trust X-Forwarded-For and X-Forwarded-Proto.")
    ] = False,
    max_calls_per_address: Annotated[int, typer.Option(min=1)] = 8,
    max_calls: Annotated[int, typer.Option(min=1)] = 1_000,
    max_connections_per_address: Annotated[
        int, typer.Option(min=1, help="Open connections per address, beside those of its calls.")
    ] = 64,
    max_busy: Annotated[
        float, typer.Option(min=0.01, max=1, help="Share of a core that calls may use; more are refused. 1: all.")
    ] = DEFAULT_MAX_BUSY,
    grace: Annotated[float, typer.Option(min=0, help="Seconds that a call waits for a lost client.")] = 30.0,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where calls are stored: sqlite:FILE, file:FOLDER, memory: or none. Default: sqlite in your "
            "data folder.",
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where agents keep what they know of callers whose client token names them: json:FOLDER, sqlite:FILE "
            "or redis://HOST:PORT/DB. Default: nowhere.",
        ),
    ] = None,
    keep_days: Annotated[
        float | None, typer.Option(min=0, help="Delete calls this many days after their end. Default: never.")
    ] = None,
    keep_gb: Annotated[
        float | None,
        typer.Option(min=0, help="Delete the oldest ended calls beyond this many GB, recordings included."),
    ] = None,
    keep_sound_days: Annotated[
        float | None, typer.Option(min=0, help="Delete recordings sooner than their calls, after this many days.")
    ] = None,
    keep_session_days: Annotated[
        float | None, typer.Option(min=0, help="Delete sessions this many days after they were saved. Default: never.")
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your program's long-term memory; for --keep-memory-days."),
    ] = None,
    remember: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Let agents remember, from call to call, what callers say whose client token names them: a SQLite "
            "file. Default: nowhere.",
        ),
    ] = None,
    keep_memory_days: Annotated[
        float | None, typer.Option(min=0, help="Forget memories after this many days. Default: never.")
    ] = None,
    recordings: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Record calls whose client requests it.")
    ] = None,
    redact: Annotated[
        str | None,
        typer.Option(
            metavar="app.py:redact",
            help="A function that gets each text before it is stored and returns it without its secrets.",
        ),
    ] = None,
    record_webhook: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Send the records of calls there when these are over, signed with the secret in "
            "REALTIME_WEBHOOK_SECRET.",
        ),
    ] = None,
    allow_webhook_address: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS[:PORT]",
            help="A private address that the host of --record-webhook may lead to. Repeatable.",
        ),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the page saves test cases of calls, such as fixtures/calls. Default: as downloads.",
        ),
    ] = None,
    idle: Annotated[float, typer.Option(min=1, help="Seconds without speech after which a call ends.")] = 300.0,
    call_limit: Annotated[float, typer.Option(min=1, help="Seconds after which every call ends.")] = 3_600.0,
    drain: Annotated[
        float, typer.Option(min=0, help="Seconds that calls may continue after a stop signal; 0 with --reload.")
    ] = 10.0,
    reload: Annotated[bool, typer.Option("--reload", help="Restart when the folder of app.py changes.")] = False,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
) -> None:
    """Serve calls, and a page to call from."""
    set_up_logging(log_level)
    if llm is not None:
        choose_language_model(llm, os.environ)
    given = runner.given_token(token, token_file, os.environ)
    shown = runner.token_for(host, given, insecure=insecure, behind_proxy=trust_proxy)
    guarded = shown.value is not None or (is_loopback(host) and not trust_proxy)
    if not guarded:
        place = "your proxy" if trust_proxy else host
        typer.secho(f"Insecure: everyone who reaches {place} can talk with the agent at your cost.", fg="yellow")
    if cases is not None and not guarded:
        raise UsageError("--cases lets callers write files here: give a --token too", code="token_needed")
    check_place("--keep-sound-days", keep_sound_days, "--recordings FOLDER", recordings)
    check_place("--keep-session-days", keep_session_days, "--session URL", session)
    if memory is not None and remember is not None:
        raise UsageError(
            "give --remember FILE, or --memory FILE for a program that remembers itself", code="bad_option"
        )
    memory = memory or remember
    check_place("--keep-memory-days", keep_memory_days, "--remember FILE, or --memory FILE", memory)
    if remember is not None:
        writable_folder(remember.parent, "--remember")
    if memory is not None:
        check_memories(memory, "--remember" if remember is not None else "--memory")
    settings = ServerSettings(
        limits=Limits(grace_s=grace, idle_s=idle, call_s=call_limit),
        max_calls_per_address=max_calls_per_address,
        max_calls=max_calls,
        max_connections_per_address=max_connections_per_address,
        token=shown.value,
        allowed_origins=origins_of(allow_origin or [], "--allow-origin"),
        embed_origins=embedders_of(allow_embed or []),
        brand=str(brand.resolve()) if brand is not None else None,
        client_mcp_hosts=tuple(allow_client_mcp or ()),
        connect_origins=origins_of(connect_origin or [], "--connect-origin"),
        max_busy=max_busy,
        hosts=LOOPBACK_HOSTS if is_loopback(host) else None,
        trust_forwarded=trust_proxy,
        drain_s=0 if reload else drain,
        routes=routes_of(route or []),
        store=store_url(store, say=typer.echo, is_bounded=keep_gb is not None),
        keep_s=seconds_of(keep_days),
        keep_sound_s=seconds_of(keep_sound_days),
        sessions=session,
        keep_session_s=seconds_of(keep_session_days),
        memory=str(memory) if memory is not None else None,
        keep_memory_s=seconds_of(keep_memory_days),
        keep_bytes=round(keep_gb * 1e9) if keep_gb is not None else None,
        lists_calls=guarded,
        recordings=writable_folder(recordings, "--recordings"),
        record_webhook=record_webhook,
        record_webhook_addresses=tuple(allow_webhook_address or ()),
        cases_to=writable_folder(cases, "--cases"),
        a2a=a2a,
        a2a_push_hosts=tuple(a2a_push or ()),
        endpoints=endpoints_for(endpoints_formerly if endpoints is None else endpoints, guarded=guarded),
    )
    if target is not None and model is not None:
        typer.secho(f"--model applies to the built-in agent: {target} chooses its own.", fg="yellow")
    plan = Plan(
        target=target,
        model=model,
        room=room,
        mcp=tuple(mcp or ()),
        session=session_url(session),
        redact=redact,
        memory=str(remember) if remember is not None else None,
        settings=settings,
        log_level=log_level,
    )
    files = tls_files(tls, tls_key)
    folder = reload_folder(target) if reload else None
    if folder is not None:
        plan.put_into_environment()
    config = runner.uvicorn_config(
        FACTORY if reload else app_of(plan, typer.echo, _cases), tls=files, reload_folder=folder
    )
    bound = runner.open_socket(host, port, strict=strict_port, say=typer.echo)
    address = runner.address_of(bound, host, tls=files is not None, token=shown.value if shown.is_made_here else None)
    if shown.value is not None and not shown.is_made_here:
        typer.echo("Clients must send your token: open the page with ?token=... in its address.")
    with bound:
        runner.run(config, bound, say=typer.echo, on_started=lambda: announce(address, room, alone=target is None))


def check_place(option: str, days: float | None, needed: str, place: object) -> None:
    """Raise UsageError for a time to keep what has no place."""
    if days is not None and place is None:
        raise UsageError(f"{option} needs {needed}, which says where to look", code="bad_option")


def seconds_of(days: float | None) -> float | None:
    """Return the seconds of days."""
    return None if days is None else days * DAY_S


def choose_language_model(llm: str, environment: MutableMapping[str, str]) -> None:
    """Write `--llm` into the environment, where embedded models look.

    A reloaded process inherits it. Address and key of another provider or server go; a key alone is for this one.
    Raises UsageError for half a choice.
    """
    name, colon, model = llm.partition(":")
    if colon and name in FAMILIES:
        before = environment.get(PROVIDER, "").strip().lower()
        if before != name and (before or environment.get(BASE_URL)):
            left_out = [one for one in (BASE_URL, API_KEY) if environment.pop(one, "")]
            if left_out:
                typer.secho(f"--llm names {name}: {' and '.join(left_out)} belong to another one.", fg="yellow")
        environment[PROVIDER] = name
    elif not (environment.get(PROVIDER) or environment.get(BASE_URL)):
        raise UsageError(
            f"--llm takes PROVIDER:MODEL with {', '.join(FAMILIES)} as PROVIDER, not {llm[:80]!r}; "
            f"a model alone is one of the server that {BASE_URL} names, and {BASE_URL} is not set",
            code="llm_provider",
        )
    else:
        model = llm
    environment[MODEL] = model
    choice_in(environment)


def app_of_environment() -> FastAPI:
    """Build the application of the plan that the parent process left."""
    return planning.app_of_environment(_cases)


def _cases(settings: ServerSettings) -> Cases:
    """Make the object that turns this server's calls into test cases."""
    from realtime.testing.cases.desk import CaseDesk

    return CaseDesk(recordings=settings.recordings, folder=settings.cases_to)


def routes_of(words: Sequence[str]) -> dict[str, str]:
    """Parse `--route PATTERN=NAME` options, in order. Raises UsageError for another form."""
    routes: dict[str, str] = {}
    for word in words:
        pattern, _, name = (part.strip() for part in word.partition("="))
        if not pattern or not name:
            raise UsageError(f"--route takes PATTERN=NAME, such as '*=openai:gpt-realtime', not {word!r}", code="route")
        routes.setdefault(pattern, name)
    return routes


def origins_of(words: Sequence[str], option: str) -> tuple[str, ...]:
    """Return the origins of an option, without a last slash.

    Raises UsageError for what no browser sends as an origin."""
    return tuple(_origin_of(word, option) for word in words)


def _origin_of(word: str, option: str) -> str:
    parts = urlsplit(word)
    if word == "*":
        return word
    if not (parts.scheme and parts.netloc):
        raise UsageError(f"{option} takes an origin, such as https://shop.example, not {word!r}", code="origin")
    origin = f"{parts.scheme}://{parts.netloc}"
    if word.removesuffix("/") != origin:
        raise UsageError(f"{option} takes an origin, which has no path: {origin}, not {word!r}", code="origin")
    return origin


def embedders_of(words: Sequence[str]) -> tuple[str, ...]:
    """Check the origins of `--allow-embed`. Raises UsageError for `*`: every page could then frame the server's own."""
    if "*" in words:
        raise UsageError(
            "--allow-embed takes each origin by name, such as https://shop.example, not '*'", code="origin"
        )
    return origins_of(words, "--allow-embed")


def store_url(url: str | None, say: Callable[[str], None], *, is_bounded: bool = False) -> str | None:
    """Return the store of `--store`, after checking that it can be written.

    The check is early because the first call would be too late. Without the option, it is a file in the user's data
    folder, or memory where that cannot be written (`say` explains why). Raises UsageError for an unknown store and for
    a named one that cannot be written.
    """
    if url == "none":
        return None
    place = url or own_store()
    store, probe = open_store(place), f"probe-{os.getpid()}"
    try:
        store.write([Change(probe, info=CallInfo(call_id=probe))])
        store.delete(probe)
        if not is_bounded and (n_bytes := store.n_bytes()) > MUCH_BYTES:
            say(f"Stored calls take {n_bytes / 1e9:.1f} GB: --keep-days and --keep-gb delete the oldest.")
    except StoreError as error:
        if url is not None:
            raise UsageError(f"--store cannot write to {url}: {error}", code="no_store") from error
        say(f"Calls are kept in memory only: nothing can be written to {place.partition(':')[2]} ({error}).")
        return "memory:"
    finally:
        store.close()
    return place


def session_url(url: str | None) -> str | None:
    """Return the URL of `--session`, after checking that it can be used.

    Raises UsageError where it cannot: the first caller would be too late.
    """
    if url is None:
        return None

    async def probe() -> None:
        session = open_session(url)
        try:
            await SessionWriter(session, f"probe-{os.getpid()}").load("agent")
        finally:
            await session.aclose()

    try:
        asyncio.run(probe())
    except StoreError as error:
        raise UsageError(f"--session cannot be used: {error}", code="no_session") from error
    scheme, _, path = url.partition(":")
    if scheme in ("json", "file", "sqlite"):
        place = Path(path).expanduser()
        writable_folder(place.parent if scheme == "sqlite" else place, "--session")
    return url


def check_memories(path: Path, option: str) -> None:
    """Raise UsageError for a file that is none of long-term memories: calls would remember nothing, one by one."""
    from realtime.memory import SqliteLongTermMemory

    async def probe() -> None:
        memory = SqliteLongTermMemory(path, f"probe-{os.getpid()}")
        try:
            await memory.remembered(1)
        finally:
            await memory.aclose()

    try:
        if path.exists():
            asyncio.run(probe())
    except StoreError as error:
        raise UsageError(f"{option} cannot be used: {error}", code="no_memory") from error


def writable_folder(folder: Path | None, option: str) -> str | None:
    """Return the folder of an option, created if missing.

    Raises UsageError where it cannot be written: the first call that needs it would be too late to notice.
    """
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"{option} cannot write into {folder}: {error.strerror}", code="no_folder") from error
    return str(folder)


def announce(address: str, room: str | None = None, *, alone: bool = True) -> None:
    """Print the URLs of the page and the room, one per line.

    With `alone`, the room's URL replaces the page's.
    """
    if room is None or not alone:
        typer.echo("Talk to it at:")
        typer.secho(address, bold=True)
    if room is not None:
        parts = urlsplit(address)
        query = "&".join(filter(None, (f"room={planning.room_name(room)}", parts.query)))
        typer.echo("Talk to it at:" if alone else "The room is at:")
        typer.secho(parts._replace(path="/room.html", query=query).geturl(), bold=True)
    typer.secho("Ctrl+C ends it.", dim=True)


def tls_files(tls: str | None, key: Path | None) -> runner.TlsFiles | None:
    """Return the certificate of `--tls`. Raises UsageError where it is unavailable."""
    if tls is None:
        return None
    if tls == "self":
        from realtime.server.tls import self_signed

        files = self_signed()
        typer.echo(f"Serving with the self-signed certificate {files.certificate}; browsers will ask you to accept it.")
        return files
    if key is None:
        raise UsageError("--tls takes `self`, or a certificate and its key: --tls CERT KEY", code="tls_key")
    for path in (Path(tls), key):
        if not path.is_file():
            raise UsageError(f"there is no file {path}", code="no_file")
    return runner.TlsFiles(Path(tls), key)
