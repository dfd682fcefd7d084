"""The commands of the test kit: replay | record | export | report | import-cassette."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from realtime.commands.common import PROVIDERS, calls_of, kit_errors, known_provider, recorded_in, whole_id
from realtime.errors import UsageError
from realtime.server.load import load_make_agent
from realtime.state.store import is_call_id


def replay(
    source: Annotated[str, typer.Argument(metavar="FILE | FOLDER", help="A recording to speak, or a test case.")],
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="app.py:make_agent",
            help="Your agent; default: that of `realtime serve` where --model names a model, else a plain one.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME | CASSETTE",
            help="local, scripted, a provider's, or the folder of a cassette; default: the case's own, else the "
            "agent's.",
        ),
    ] = None,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Use the wall clock: needed to call a real provider.")
    ] = False,
) -> None:
    """Play a recording or a test case to an agent; print the call's events as JSON lines."""
    from realtime.testing.replay import replay as play

    make_agent = load_make_agent(agent) if agent is not None else None
    if make_agent is None and model is None and not Path(source).is_dir():
        model = "local"
    with kit_errors():
        record = play(source, agent=make_agent, model=model, real_time=real_time)
    sys.stdout.buffer.write(record.log_bytes())
    sys.stdout.flush()


def record_provider(
    provider: Annotated[str, typer.Option(help="The protocol to record.", metavar=PROVIDERS, callback=known_provider)],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder for cassettes, one subfolder per session.")],
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes any free port.")] = 9000,
    url: Annotated[str | None, typer.Option(help="The provider's URL; default: its public one.")] = None,
) -> None:
    """Proxy between your program and a provider, recording cassettes. Keys are not kept."""
    from realtime.testing.cassettes.proxy import record_proxy

    def tell(bound: int) -> None:
        typer.echo("Let your program call this address in place of the provider's:")
        typer.secho(f"ws://127.0.0.1:{bound}", bold=True)
        typer.secho("Ctrl+C ends it.", dim=True)

    with kit_errors():
        asyncio.run(record_proxy(provider, to, port=port, url=url, on_ready=tell))


def export(
    call_id: Annotated[str, typer.Argument(metavar="CALL", help="The id of the call, or its beginning.")],
    folder: Annotated[
        Path | None, typer.Argument(help="A new folder for the case; with --format a file, default: standard output.")
    ] = None,
    store: Annotated[str | None, typer.Option(metavar="URL", help="Where calls are kept (as for serve).")] = None,
    recordings: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the sound of calls is kept (as for serve).")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="Write the messages for another project instead.")
    ] = None,
) -> None:
    """Make a test case of a stored call, or write its messages.

    With `--format` the messages are in the form of another project."""
    if dialect is not None:
        _export_messages(call_id, folder, store, dialect)
        return
    if folder is None:
        raise UsageError("name a new folder for the case, or a format of messages: --format", code="no_folder")
    from realtime.testing.cases.case import read_case
    from realtime.testing.cases.export import export_call

    with kit_errors(), calls_of(store) as calls:
        call_id = whole_id(calls, call_id)
        export_call(calls, call_id, folder, recordings=recorded_in(recordings, call_id))
    typer.echo(read_case(folder).about)
    typer.echo(f"{folder}: read case.json, correct what is expected there, and write the test:")
    name = re.sub(r"\W", "_", folder.name)
    typer.echo(
        f'''
from app import make_agent  # the function that makes your agent


async def test_{name}(voice_call):
    run = await voice_call("{folder}", agent=make_agent)
    run.meets_expectations()
'''
    )


def _export_messages(call_id: str, file: Path | None, store: str | None, dialect: str) -> None:
    """Write the messages of a stored call as JSON. Raises UsageError for an unknown call or dialect."""
    import json

    from realtime.interop import DIALECTS, dump
    from realtime.interop.calls import messages_of

    if dialect not in DIALECTS:
        raise UsageError(f"a format is one of {', '.join(DIALECTS)}, not {dialect!r}", code="unknown_format")
    with kit_errors(), calls_of(store) as calls:
        call_id = whole_id(calls, call_id)
        info = calls.call(call_id)
        if info is None:
            raise UsageError(f"there is no call {call_id}", code="unknown_call")
        written = json.dumps(dump(messages_of(info, calls.read(call_id)), dialect), ensure_ascii=False, indent=2)
        if file is None:
            typer.echo(written)
        else:
            file.write_text(f"{written}\n", encoding="utf-8")


def report(
    source: Annotated[str, typer.Argument(metavar="CALL | FOLDER", help="A stored call, or a test case.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The page to write.")] = Path("report.html"),
    agent: Annotated[
        str | None, typer.Option(metavar="app.py:make_agent", help="Your agent, to run a case with.")
    ] = None,
    store: Annotated[str | None, typer.Option(metavar="URL", help="Where calls are kept (as for serve).")] = None,
    recordings: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the sound of calls is kept (as for serve).")
    ] = None,
) -> None:
    """Draw a call: who spoke when, what was heard, latencies. One file that opens offline."""
    from realtime.testing.cases.stored import record_of
    from realtime.testing.replay import judged_replay
    from realtime.testing.report import RunOutcome, write_report

    failure: str | None = None
    with kit_errors():
        if _is_played(Path(source)):
            record, failure = judged_replay(source, agent=load_make_agent(agent) if agent is not None else None)
        elif Path(source).is_dir():
            record = record_of(source, recordings=recordings)
        elif not is_call_id(source):
            raise UsageError(f"there is no folder {source}, and it is not the id of a call either", code="no_folder")
        else:
            with calls_of(store) as calls:
                source = whole_id(calls, source)
                record = record_of(calls, source, recordings=recorded_in(recordings, source))
        write_report([record if failure is None else RunOutcome(record, failure)], to)
    typer.echo(str(to))
    if failure is not None:
        raise UsageError(failure, code="case")


def _is_played(path: Path) -> bool:
    """Whether it is a case or audio file, not a call's folder."""
    from realtime.call.recording.sound import RECORDING_FILE
    from realtime.testing.cases.case import CASE_FILE
    from realtime.testing.cases.stored import LOG_FILES

    if not path.is_dir():
        return path.exists()
    return (path / CASE_FILE).is_file() or not any((path / name).is_file() for name in (*LOG_FILES, RECORDING_FILE))


def import_cassette(
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Frames as JSON lines, or a recording of pydantic-ai (.yaml)."),
    ],
    folder: Annotated[Path, typer.Argument(help="A new folder for the cassette, such as fixtures/cassettes/refund.")],
    provider: Annotated[
        str | None,
        typer.Option(
            help="The protocol of the frames; default: openai or gemini as the frames show.",
            metavar=PROVIDERS,
            callback=known_provider,
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model; default: the one that the frames name.")] = None,
) -> None:
    """Make a cassette of frames that another program recorded. Keys are not kept."""
    from realtime.testing.cassettes.imported import import_cassette as read

    with kit_errors():
        made = read(source, folder, provider=provider, model=model)
    steps = ", ".join(f"Type({text!r}), WaitUntilHeard()" for text in made.typed) or "WaitUntilHeard()"
    imports = "Type, WaitUntilHeard" if made.typed else "WaitUntilHeard"
    name = re.sub(r"\W", "_", folder.name)
    typer.echo(f"{folder}: {made.frames} frames. The test:")
    typer.echo(
        f'''
from app import make_agent  # the function that makes your agent
from realtime.testing import {imports}


async def test_{name}(voice_call, recorded_model):
    model = recorded_model("{folder}", strict=False)
    run = await voice_call([{steps}], agent=make_agent, model=model)
'''
    )
