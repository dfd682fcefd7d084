"""The command `talk`: a call from the terminal."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from realtime.audio.files import ChannelError, read_pcm16, write_wav
from realtime.client import INPUT_HZ, OUTPUT_HZ, Call, connect
from realtime.client.sound_device import SoundDevice, open_sound_device, require_sound_device
from realtime.commands.talk_screen import TalkScreen
from realtime.errors import CallError, UsageError
from realtime.event import SessionConfig
from realtime.event.config import AudioSettings

ANSWER_S = 60.0
"""Seconds for the answer to a recording."""
NO_ANSWER = f"the agent did not answer within {ANSWER_S:g} s: is there speech in the recording?"


def talk(
    url: Annotated[
        str | None,
        typer.Argument(help="The server, as it prints its address; default: one of its own.", show_default=False),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model of the server; without URL as with `serve --model`.")
    ] = None,
    token: Annotated[str | None, typer.Option(help="The server's token, if its address does not have it.")] = None,
    instructions: Annotated[str | None, typer.Option(help="What the agent is to do.")] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="WAV", help="Speak this recording instead of the microphone, and hang up.")
    ] = None,
    channel: Annotated[
        int | None, typer.Option(metavar="N", help="The channel of --file to speak, from 0: your side of a call.")
    ] = None,
    save: Annotated[Path | None, typer.Option(metavar="WAV", help="Write what the agent says to this file.")] = None,
) -> None:
    """Talk with an agent in the terminal. Ctrl+C ends the call."""
    if file is None:
        # Before a model is loaded for nothing.
        require_sound_device()
    speech = _read(file, channel) if file is not None else None
    if save is not None:
        _require_writable(save)
    console = Console(highlight=False, soft_wrap=True)
    config = SessionConfig(
        instructions=instructions,
        model_provider=model if url is not None else None,
        # A terminal has no canceller of its own: its microphone hears the loudspeaker.
        audio=AudioSettings(echo_cancellation="off" if speech is not None else "server"),
    )
    with _own_server(model) if url is None else nullcontext((url, token)) as (address, secret):
        conversation = _Conversation(console, config, speech)
        try:
            asyncio.run(conversation.hold(address, secret))
        except KeyboardInterrupt:
            pass
        except CallError as error:
            raise UsageError(error.message, code=error.code) from error
        finally:
            conversation.report(save)


class _Conversation:
    def __init__(self, console: Console, config: SessionConfig, speech: bytes | None) -> None:
        self._console = console
        self._config = config
        self._speech = speech
        self._screen = TalkScreen(console)
        self._call: Call | None = None
        self._heard = bytearray()

    async def hold(self, address: str, token: str | None) -> None:
        """Talk until the call ends; cancelling hangs up."""
        if self._speech is None:
            with open_sound_device(self._hear) as device:
                await self._talk(address, token, device)
        else:
            await self._talk(address, token, None)

    async def _talk(self, address: str, token: str | None, device: SoundDevice | None) -> None:
        latency_s = device.output_latency_s if device is not None else 0.0
        async with connect(
            address, config=self._config, user="terminal", token=token, output_latency_s=latency_s
        ) as call:
            self._call = call
            told = " ".join(dict.fromkeys(filter(None, (call.model.get("provider"), call.model.get("model")))))
            model = f", model: {told}" if told else ""
            self._console.print(f"[dim]You are talking with {call.agent_name or 'the agent'}{model}.[/dim]")
            if device is not None:
                self._console.print(
                    "[dim]Headphones are best. Over loudspeakers the server removes the agent's voice from your "
                    "microphone.[/dim]"
                )
            with self._screen:
                playing = asyncio.create_task(self._play(call, device))
                try:
                    await (self._ask(call) if device is None else self._until_over(call, device))
                finally:
                    playing.cancel()
                    await asyncio.wait([playing])
                    self._screen.finish(call.captions())

    def _hear(self, pcm: bytes) -> None:
        self._screen.you.hear(pcm)
        if self._call is not None and self._call.state in ("open", "reconnecting"):
            self._call.send_audio(pcm)

    async def _play(self, call: Call, device: SoundDevice | None) -> None:
        n_blocks = 0
        async for block in call.audio:
            if device is not None:
                device.play(block)
            self._heard += block
            self._screen.agent.hear(block)
            n_blocks += 1
            if n_blocks % 3 == 0:
                self._screen.show(call.captions(), call.state)

    async def _ask(self, call: Call) -> None:
        assert self._speech is not None
        try:
            async with asyncio.timeout(len(self._speech) / 2 / INPUT_HZ + ANSWER_S):
                await call.speak(self._speech)
                if await call.answered():
                    return
        except TimeoutError:
            pass
        raise UsageError(NO_ANSWER, code="no_answer")

    async def _until_over(self, call: Call, device: SoundDevice) -> None:
        lost = asyncio.create_task(device.lost.wait())
        over = asyncio.create_task(_read_on(call))
        try:
            await asyncio.wait([lost, over], return_when=asyncio.FIRST_COMPLETED)
            if over.done():
                return over.result()
            raise UsageError("the microphone or the loudspeaker is gone: plug it in, and talk again", code="no_device")
        finally:
            lost.cancel()
            over.cancel()
            await asyncio.wait([lost, over])

    def report(self, save: Path | None) -> None:
        """Say how the call ended, and write what was heard."""
        call = self._call
        if call is not None:
            why = f" ({call.end_reason})" if call.end_reason not in (None, "client_end") else ""
            self._console.print(f"[dim]The call is over{why}.[/dim]")
        if save is not None:
            samples = np.frombuffer(bytes(self._heard), "<i2")
            sounding = np.flatnonzero(samples)
            sound = samples[sounding[0] : sounding[-1] + 1].tobytes() if len(sounding) else b""
            try:
                write_wav(save, sound, OUTPUT_HZ)
            except OSError as error:
                raise _cannot_save(save, error) from error


async def _read_on(call: Call) -> None:
    async for _ in call:
        pass


def _read(file: Path, channel: int | None) -> bytes:
    try:
        pcm = read_pcm16(file, INPUT_HZ, channel=channel)
    except OSError as error:
        raise UsageError(f"--file cannot read {file}: {error.strerror}", code="no_file") from error
    except ChannelError as error:
        raise UsageError(f"--file {error}. Choose with --channel", code="no_channel") from error
    except ValueError as error:
        raise UsageError(f"--file takes a recording: {error}", code="no_audio") from error
    if not pcm:
        raise UsageError(f"--file takes a recording: {file} holds no sound", code="no_audio")
    return pcm


def _require_writable(file: Path) -> None:
    """Try now what is written after the call."""
    is_new = not file.exists()
    try:
        file.open("ab").close()
        if is_new:
            file.unlink()
    except OSError as error:
        raise _cannot_save(file, error) from error


def _cannot_save(file: Path, error: OSError) -> UsageError:
    return UsageError(f"--save cannot write {file}: {error.strerror}", code="no_file")


@contextmanager
def _own_server(model: str | None) -> Iterator[tuple[str, str | None]]:
    """Serve the built-in agent in this process, for this call alone; yields its address and its token."""
    from realtime.server import runner
    from realtime.server.plan import Plan, app_of, set_up_logging
    from realtime.server.settings import ServerSettings

    set_up_logging("warning")
    token = runner.token_for("127.0.0.1", "auto", insecure=False)
    settings = ServerSettings(token=token.value, drain_s=0, endpoints=())
    started, failed = threading.Event(), list[BaseException]()
    bound = runner.open_socket("127.0.0.1", 0, strict=True, say=typer.echo)
    app = app_of(Plan(model=model or "local", settings=settings), typer.echo)
    server = runner.Server(runner.uvicorn_config(app), on_started=started.set)

    def serve() -> None:
        try:
            server.run([bound])
        except BaseException as error:
            failed.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=serve, name="realtime server", daemon=True)
    with bound:
        thread.start()
        try:
            started.wait()
            if failed:
                raise failed[0]
            yield runner.address_of(bound, "127.0.0.1", tls=False, token=None), token.value
        finally:
            server.should_exit = True
            thread.join()
