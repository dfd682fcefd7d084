"""A web site of somebody else: pages at an origin of their own, under any policy."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTENT_TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript", "css": "text/css"}


class Site:
    """The files of a site by path, and the policy under which they are sent. Both may change while it is served."""

    def __init__(self) -> None:
        self.address = ""
        self.files: dict[str, bytes] = {}
        self.policy: str | None = None

    def put(self, files: Mapping[str, str | bytes]) -> None:
        for name, text in files.items():
            self.files[f"/{name}"] = text.encode() if isinstance(text, str) else text


@contextmanager
def served(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[ThreadingHTTPServer]:
    """A server of this handler in a thread, until the block ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def site() -> Iterator[Site]:
    """A site without files, until the block ends."""
    made = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            body = made.files.get("/index.html" if path == "/" else path)
            self.send_response(200 if body is not None else 404)
            ending = "html" if path == "/" else path.rpartition(".")[2]
            self.send_header("Content-Type", CONTENT_TYPES.get(ending, "application/octet-stream"))
            if made.policy is not None:
                self.send_header("Content-Security-Policy", made.policy)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with served(Handler) as server:
        made.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield made
