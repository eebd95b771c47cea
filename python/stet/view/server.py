"""The page and its connection, on loopback alone.

The page's files are no secret. Its connection is: who opens it must know the token, which is in the page's address
behind '#' and so in no request for the page; must come from the page itself (Origin); and must call this machine by a
loopback name (Host), so that no other site can get here through a name that it makes point to us.
"""

from __future__ import annotations

import contextlib
import hmac
import http
import logging
import secrets
import threading
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import messages

_PAGE = Path(__file__).with_name("page")
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
_MOST_READERS = 128
_WRONG = "This address is of another run (a wrong token): open the one that this run has printed"
# Who knocks and talks nonsense is turned away without a word on the run's terminal, unless logging is set up.
_LOGGER = logging.getLogger("stet.view.server")
_LOGGER.addHandler(logging.NullHandler())
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; img-src blob:; frame-ancestors 'none'; base-uri 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Server:
    """Serves the page at `url` until close(); `handle` gets each connection that may see the run."""

    def __init__(self, handle: Callable[[Any], None], port: int = 0) -> None:
        from websockets.sync.server import serve

        self.token = secrets.token_urlsafe(24)
        self._files = {"/" + file.name: file for file in _PAGE.iterdir() if file.suffix in _TYPES}
        self._files["/"] = _PAGE / "index.html"
        self._server = serve(
            handle, "127.0.0.1", port, process_request=self._admit, compression=None, max_size=messages.MOST_BYTES,
            max_queue=4, close_timeout=1, server_header=None, backlog=128, logger=_LOGGER)
        self.port: int = self._server.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/#{self.token}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="stet.view server", daemon=True)
        self._thread.start()

    def close(self, reason: str = "the run has ended") -> None:
        try:
            self._server.shutdown(reason=reason)
        except RuntimeError:  # when the program ends, no thread of a pool starts any more: one after the other
            for connection in list(self._server.connections):
                with contextlib.suppress(Exception):
                    connection.close(1001, reason)
        self._thread.join()

    def _admit(self, connection, request):
        """None: the connection may be opened; else what is sent instead."""
        hosts = [f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")]
        host, origin = (request.headers.get_all(name) for name in ("Host", "Origin"))
        if len(host) != 1 or host[0] not in hosts:
            return _respond(connection, http.HTTPStatus.FORBIDDEN, "another host")
        path, _, query = request.path.partition("?")
        if path not in ("/socket", "/token"):
            file = self._files.get(path)
            if file is None:
                return _respond(connection, http.HTTPStatus.NOT_FOUND, "no such page")
            return _respond(connection, http.HTTPStatus.OK, file.read_bytes(), _TYPES[file.suffix])
        if path == "/socket" and origin != ["http://" + host[0]]:
            return _respond(connection, http.HTTPStatus.FORBIDDEN, "another origin")
        token = urllib.parse.parse_qs(query).get("token", [""])[0]
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            return _respond(connection, http.HTTPStatus.FORBIDDEN, _WRONG)
        if path == "/token":  # the page asks why a connection was not opened, which a browser does not tell it
            return _respond(connection, http.HTTPStatus.OK, "the right token")
        if len(self._server.connections) >= _MOST_READERS:
            return _respond(connection, http.HTTPStatus.SERVICE_UNAVAILABLE, "too many readers")
        return None


def _respond(connection, status, body, kind="text/plain"):
    response = connection.respond(status, "")
    response.body = body if isinstance(body, bytes) else body.encode()
    for name in ("Content-Length", "Content-Type"):
        del response.headers[name]
    response.headers["Content-Length"] = str(len(response.body))
    response.headers["Content-Type"] = kind + "; charset=utf-8"
    for name, value in _HEADERS.items():
        response.headers[name] = value
    return response
