"""Files that messages name: only those below one folder are read, and no name stops the conversation."""

import logging
import os
from pathlib import Path

import pytest

from realtime.formatter import OpenAIChatFormatter
from realtime.formatter.media import MAX_FILE_BYTES
from realtime.message import AssistantMsg, DataBlock, HintBlock, ToolCallBlock, ToolResultBlock, URLSource, UserMsg

UNREAD = "[image/png, which cannot be read]"
SHOWN = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}


def shows(url: str) -> DataBlock:
    return DataBlock(source=URLSource(url=url, media_type="image/png"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a picture, beside a secret."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "a b.png").write_bytes(b"\x89PNG")
    (tmp_path / "secret.png").write_bytes(b"secret")
    return folder


async def test_a_file_below_the_folder_is_put_into_the_payload(folder: Path) -> None:
    """FMT-17: as base64; from a message, a hint and a tool's result."""
    block = shows((folder / "a b.png").as_uri())
    agent = [
        HintBlock(hint=[block]),
        ToolCallBlock(id="c1", name="draw"),
        ToolResultBlock(id="c1", name="draw", output=[block]),
    ]
    payload = await OpenAIChatFormatter(local_files=folder).format(
        [UserMsg("Ada", [block]), AssistantMsg("Friday", agent)]
    )
    assert payload[0] == payload[1] == {"role": "user", "content": [SHOWN]}
    assert payload[-1]["content"][1] == SHOWN


async def test_a_file_elsewhere_and_any_without_a_folder_is_not_read(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A client could name any file of the server. The model reads that it cannot be read; the log holds no name."""
    (folder / "link.png").symlink_to(folder.parent / "secret.png")
    names = [
        (folder.parent / "secret.png").as_uri(),
        f"{folder.as_uri()}/../secret.png",
        f"{folder.as_uri()}/%2e%2e/secret.png",
        f"{folder.as_uri()}/link.png",
        f"file://elsewhere{folder}/a%20b.png",
        f"{folder.as_uri()}/missing.png",
        f"{folder.as_uri()}/a%00b.png",
        folder.as_uri(),
    ]
    with caplog.at_level(logging.WARNING):
        payload = await OpenAIChatFormatter(local_files=folder).format([UserMsg("Ada", [*map(shows, names)])])
    assert payload == [{"role": "user", "content": "\n".join([UNREAD] * len(names))}]
    assert len(caplog.records) == len(names)
    assert not any(".png" in record.getMessage() for record in caplog.records)
    payload = await OpenAIChatFormatter().format([UserMsg("Ada", [shows((folder / "a b.png").as_uri())])])
    assert payload == [{"role": "user", "content": UNREAD}]
    assert "there is no `local_files`" in caplog.text


async def test_neither_a_pipe_nor_a_huge_file_is_read(folder: Path) -> None:
    """Reading a pipe would block the server until a writer appears."""
    os.mkfifo(folder / "pipe.png")
    with (folder / "huge.png").open("wb") as huge:
        huge.truncate(MAX_FILE_BYTES + 1)
    message = UserMsg("Ada", [shows((folder / name).as_uri()) for name in ("pipe.png", "huge.png")])
    payload = await OpenAIChatFormatter(local_files=folder).format([message])
    assert payload == [{"role": "user", "content": f"{UNREAD}\n{UNREAD}"}]


async def test_a_data_url_may_be_plain_and_a_broken_one_is_named() -> None:
    plain = DataBlock(source=URLSource(url="data:text/plain,a%20b", media_type="text/plain"))
    broken = [shows(f"data:image/png;base64,{data}") for data in ("?", "a")]
    payload = await OpenAIChatFormatter().format([UserMsg("Ada", [plain, *broken])])
    file = '<file name="text/plain">\na b\n</file>'
    assert payload == [{"role": "user", "content": f"{file}\n{UNREAD}\n{UNREAD}"}]
