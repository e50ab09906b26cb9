"""The server of `skipline explore`: on the loopback interface, for whoever has the token.

A run is a request whose answer comes line by line: the checked scenario, then a step each. It ends
when the page closes the connection. Runs beside each other are threads, and simulate outside of
Python's lock: as many as the machine has cores go on at the same time.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from skipline import _core, atomic
from skipline.explorer import page

HOST = "127.0.0.1"
_MOST_REQUEST_BYTES = 8 << 20
_MOST_FILE_BYTES = 512 << 20
_JSON_LINES = "application/x-ndjson"


class Explorer(ThreadingHTTPServer):
    """Serves the page and its runs on a free port; `address` opens it."""

    daemon_threads = True

    def __init__(self, files: Path) -> None:
        self.token = secrets.token_urlsafe(24)
        self.files = files
        super().__init__((HOST, 0), _Handler)

    @property
    def address(self) -> str:
        """The address of the page, without the part that opens a scenario."""
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no traces of connections that the page has closed."""


@contextmanager
def started() -> Iterator[Explorer]:
    """Yield a server that listens; files that the page gives it are kept until the end."""
    with TemporaryDirectory(prefix="skipline-explore-") as folder, Explorer(Path(folder)) as server:
        yield server


class _Handler(BaseHTTPRequestHandler):
    server: Explorer
    server_version = "skipline"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with the page, if its address has the token, or one of its files."""
        asked = urlsplit(self.path)
        if not self._is_ours():
            return
        if asked.path != "/":
            found = page.asset(asked.path.removeprefix("/"))
            if found is None:
                self._refuse(HTTPStatus.NOT_FOUND, "no such file")
            else:
                self._send(*found)
            return
        if not self._has_token(parse_qs(asked.query).get("token", [""])[0]):
            told = "the address has no valid token; open the one that skipline explore printed"
            self._refuse(HTTPStatus.FORBIDDEN, told)
            return
        self._send(page.with_token(self.server.token), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """Answer a run, a fact or a file, if the request has the token."""
        if not self._is_ours():
            return
        if not self._has_token(self.headers.get("X-Skipline-Token", "")):
            self._refuse(HTTPStatus.FORBIDDEN, "the request has no valid token")
            return
        kind, _, name = self.path.removeprefix("/").partition("/")
        limit = _MOST_FILE_BYTES if kind == "file" else _MOST_REQUEST_BYTES
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > limit:
            told = f"a request has a length, of {limit} bytes at most"
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, told)
            return
        body = self.rfile.read(int(length))
        if kind == "file":
            self._keep(unquote(name), body)
            return
        text = body.decode(errors="replace")
        if kind == "run":
            self._run(text)
        elif kind == "fact":
            self._answer(_core.explorer_fact(name, text))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "no such request")

    def _run(self, request: str) -> None:
        self.send_response(HTTPStatus.OK)
        self._end_headers(_JSON_LINES)

        def report(line: str) -> bool:
            try:
                self.wfile.write(line.encode() + b"\n")
                self.wfile.flush()
            except OSError:
                return False  # the page has other wishes
            return True

        _core.explorer_run(request, report)

    def _answer(self, text: str | None) -> None:
        if text is None:
            self._refuse(HTTPStatus.NOT_FOUND, "no answer")
        else:
            self._send(text.encode(), "text/plain; charset=utf-8")

    def _keep(self, name: str, content: bytes) -> None:
        if not name or Path(name).name != name:
            self._refuse(HTTPStatus.BAD_REQUEST, f"{name}: not the name of a file alone")
            return
        atomic.write(self.server.files / name, content)
        self._send(b"", "text/plain; charset=utf-8")

    def _is_ours(self) -> bool:
        """Refuse requests under other names: a page elsewhere may have one that leads here."""
        if self.headers.get("Host") == f"{HOST}:{self.server.server_port}":
            return True
        self._refuse(HTTPStatus.FORBIDDEN, f"the address begins with http://{HOST}")
        return False

    def _has_token(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self.server.token.encode())

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", str(len(content)))
        self._end_headers(kind)
        with suppress(OSError):
            self.wfile.write(content)

    def _refuse(self, status: HTTPStatus, told: str) -> None:
        content = f"{told}\n".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self._end_headers("text/plain; charset=utf-8")
        with suppress(OSError):
            self.wfile.write(content)

    def _end_headers(self, kind: str) -> None:
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base
        """Print nothing: the address is all that is printed."""
