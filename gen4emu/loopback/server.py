"""A web server for one user of this machine: static files, and one web socket that needs a token.

It listens on 127.0.0.1 only.  The token is in the fragment of the page's address, which browsers send to no server, and
comes back in the first message of the socket.  The checks of Host and Origin keep out other sites that the
same browser shows, also those whose name leads to 127.0.0.1.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Protocol

from gen4emu.loopback.websocket import CloseCode, WebSocket, accept_value, is_key

_ADDRESS = "127.0.0.1"
_SECONDS = 10.0  # that a request, a frame, or the first message may take
_RELOAD_SECONDS = 2.0  # until another page counts as open
_MOST_CONNECTIONS = 32
_MOST_MESSAGE_BYTES = 1 << 16
_TOKEN_BYTES = 32
SOCKET_PATH = "/socket"


@dataclass(frozen=True, slots=True)
class File:
    """A file that every browser may read: it holds nothing of a trace or a program."""

    type: str
    data: bytes


class Service(Protocol):
    """The application behind the socket."""

    def attached(self, client: WebSocket) -> None:
        """A client has shown the token; it replaces the one before."""

    def received(self, client: WebSocket, message: dict[str, Any]) -> None:
        """A message of the client: a JSON object."""

    def detached(self) -> None:
        """The client has left."""


class Server:
    """Serves in threads of its own, from `start` to `close`."""

    def __init__(self, files: Mapping[str, File], service: Service, port: int = 0) -> None:
        """`port` 0 takes a free one.  Raises OSError if the port is in use."""
        self.files, self.service = files, service
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._listener = _Listener(self, port)
        self.port: int = self._listener.server_address[1]
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.1,), daemon=True)
        self._left = threading.Condition()  # a client has
        self._client: WebSocket | None = None

    @property
    def host(self) -> str:
        return f"{_ADDRESS}:{self.port}"

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://{self.host}/#token={self.token}"

    def start(self) -> None:
        self._thread.start()

    def discard(self) -> None:
        """Instead of `start`: free the port."""
        self._listener.server_close()

    def close(self, reason: str) -> None:
        """End; the page shows the reason."""
        self._listener.shutdown()
        self._listener.server_close()
        with self._left:
            client, self._client = self._client, None
        if client is not None:
            client.close(CloseCode.GOING_AWAY, reason)

    @property
    def headers(self) -> dict[str, str]:
        policy = (f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src ws://{self.host}; "
                  "img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        return {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
                "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
                "Cross-Origin-Opener-Policy": "same-origin"}

    # --- the socket -----------------------------------------------------------------------------------------------
    def talk(self, client: WebSocket, first_message: Callable[[], str | None]) -> None:
        """Serve a socket until it closes."""
        message = _object(first_message())
        token = message.get("token") if message is not None else None
        if not isinstance(token, str) or not hmac.compare_digest(
                token.encode(errors="surrogatepass"), self.token.encode()):
            client.close(CloseCode.NOT_ALLOWED, "wrong token")
            return
        if not self._take(client, take_over=message is not None and message.get("take_over") is True):
            client.send(json.dumps({"kind": "busy"}))
            client.close(CloseCode.NOT_ALLOWED, "another page is open")
            return
        try:
            self.service.attached(client)
            while (text := client.receive()) is not None:
                message = _object(text)
                if message is None:
                    client.close(CloseCode.UNSUPPORTED, "a message is a JSON object")
                    return
                self.service.received(client, message)
        finally:
            with self._left:
                is_last = self._client is client
                if is_last:
                    self._client = None
                    self._left.notify_all()
            if is_last:
                self.service.detached()

    def _take(self, client: WebSocket, take_over: bool) -> bool:
        """Make a client the only one.  A page that is loaded again may come before its old socket is seen to close."""
        with self._left:
            if not take_over:
                self._left.wait_for(lambda: self._client is None, _RELOAD_SECONDS)
            before = self._client
            if before is not None and not take_over:
                return False
            self._client = client
        if before is not None:
            before.close(CloseCode.TAKEN_OVER, "another page has taken over")
        return True


def _object(text: str | None) -> dict[str, Any] | None:
    try:
        found = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class _Listener(ThreadingMixIn, TCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = _MOST_CONNECTIONS

    def __init__(self, owner: Server, port: int) -> None:
        self.owner = owner
        self._free = threading.Semaphore(_MOST_CONNECTIONS)
        super().__init__((_ADDRESS, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that disconnects during a request."""


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    server_version, sys_version = "gen4emu", ""
    protocol_version = "HTTP/1.1"
    timeout = _SECONDS  # of every read and write
    rbufsize = 0  # what follows a handshake belongs to the socket

    def log_message(self, format: str, *arguments: Any) -> None:
        """Do nothing: there is no log."""

    def handle_one_request(self) -> None:
        # One slow byte after the other would keep a thread for ever.
        watch = threading.Timer(_SECONDS, self._abandon)
        watch.daemon = True
        self._watch = watch
        watch.start()
        try:
            super().handle_one_request()
        finally:
            watch.cancel()

    def _abandon(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        owner = self.server.owner
        self.close_connection = True
        if self.headers.get_all("Host") != [owner.host]:
            self._refuse(HTTPStatus.FORBIDDEN)
        elif self.path == SOCKET_PATH:
            self._upgrade(owner)
        elif (file := owner.files.get(self.path)) is not None:
            self._answer(HTTPStatus.OK, file)
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def _refuse(self, status: HTTPStatus) -> None:
        self._answer(status, File("text/plain; charset=utf-8", f"{status.phrase}\n".encode()))

    def _answer(self, status: HTTPStatus, file: File) -> None:
        self.send_response(status)
        for name, value in self.server.owner.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", file.type)
        self.send_header("Content-Length", str(len(file.data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(file.data)

    def _upgrade(self, owner: Server) -> None:
        """The opening handshake (RFC 6455, 4.2)."""
        headers = self.headers
        if headers.get_all("Origin") != [f"http://{owner.host}"]:
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        connection = [text.strip().lower() for text in headers.get("Connection", "").split(",")]
        key = headers.get("Sec-WebSocket-Key", "").strip()
        if (headers.get("Upgrade", "").lower() != "websocket" or "upgrade" not in connection
                or headers.get("Sec-WebSocket-Version", "").strip() != "13" or not is_key(key)):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        self.send_response(HTTPStatus.SWITCHING_PROTOCOLS)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept_value(key))
        self.end_headers()
        self.wfile.flush()
        client = WebSocket(self.connection, _MOST_MESSAGE_BYTES)

        def first_message() -> str | None:
            found = client.receive()  # before the watch ends the connection
            self._watch.cancel()
            return found

        owner.talk(client, first_message)
