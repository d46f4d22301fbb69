"""The server of `--web` pages: whom it serves, and what hostile clients get."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gen4emu.debugger_web.app import page_files
from gen4emu.loopback import server as server_module
from gen4emu.loopback.server import Server
from gen4emu.loopback.websocket import CloseCode, WebSocket, accept_value
from tests.loopback.client import KEY, Client, exchange, frame, handshake, request, status


class Echo:
    """A service that says what it heard."""

    def __init__(self) -> None:
        self.left = 0

    def attached(self, client: WebSocket) -> None:
        client.send('{"kind": "hello"}')

    def received(self, client: WebSocket, message: dict[str, Any]) -> None:
        client.send(json.dumps({"heard": message}))

    def detached(self) -> None:
        self.left += 1


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(page_files(), Echo())
    found.start()
    yield found
    found.close("the test has ended")


def signed_in(server: Server) -> Client:
    client = Client(server.url)
    assert client.sign_in() == {"kind": "hello"}
    return client


# --- files ------------------------------------------------------------------------------------------------------------
def test_it_listens_on_the_loopback_address_only(server: Server) -> None:
    assert server._listener.socket.getsockname() == ("127.0.0.1", server.port)


def test_files_come_with_a_strict_policy(server: Server) -> None:
    answer = exchange(server.port, request(server.port))
    assert status(answer) == 200 and b"<!DOCTYPE html>" in answer
    policy = next(line for line in answer.split(b"\r\n") if line.startswith(b"Content-Security-Policy: ")).decode()
    assert "default-src 'none'" in policy and "unsafe" not in policy and f"ws://127.0.0.1:{server.port};" in policy
    assert b"X-Content-Type-Options: nosniff" in answer and b"Access-Control" not in answer


def test_no_file_knows_the_token(server: Server) -> None:
    assert len(server.token) >= 43, "256 bits"
    for path in server.files:
        assert server.token.encode() not in exchange(server.port, request(server.port, path))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "evil.example:{port}", "127.0.0.1:{port}.evil.example",
                                  None])
def test_another_host_is_refused(server: Server, host: str | None) -> None:
    host = host and host.format(port=server.port)
    assert status(exchange(server.port, request(server.port, Host=host))) == 403
    assert status(exchange(server.port, handshake(server.port, Host=host))) == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://localhost:{port}",
                                    "http://127.0.0.1", None])
def test_another_origin_is_refused(server: Server, origin: str | None) -> None:
    origin = origin and origin.format(port=server.port)
    assert status(exchange(server.port, handshake(server.port, Origin=origin))) == 403


@pytest.mark.parametrize("path", ["/../../../../etc/passwd", "/debug/../../app.py", "/%2e%2e/%2e%2e/etc/passwd",
                                  "//etc/passwd", "/debug/%2e%2e/server.py", "/debug", "/debug.html",
                                  "/?a", "*", "/\\..\\x"])
def test_only_listed_paths_are_served(server: Server, path: str) -> None:
    answer = exchange(server.port, request(server.port, path))
    assert status(answer) == 404 and b"root:" not in answer


@pytest.mark.parametrize("header", [{"Upgrade": "h2c"}, {"Connection": "keep-alive"}, {"Sec_WebSocket_Version": "8"},
                                    {"Sec_WebSocket_Key": "short"}, {"Sec_WebSocket_Key": None}])
def test_a_malformed_handshake_is_refused(server: Server, header: dict[str, str | None]) -> None:
    assert status(exchange(server.port, handshake(server.port, **header))) == 400


@pytest.mark.parametrize("data", [b"\0\1\2\3\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n",
                                  b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200,
                                  b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\n\r\n"])
def test_malformed_requests_end(server: Server, data: bytes) -> None:
    try:
        answer = exchange(server.port, data + b"\r\n")
    except ConnectionResetError:
        answer = b""
    assert b" 200 " not in answer.split(b"\r\n")[0]
    assert status(exchange(server.port, request(server.port))) == 200, "it still serves"


# --- the token --------------------------------------------------------------------------------------------------------
def test_the_handshake_answers_the_key(server: Server) -> None:
    assert accept_value("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "RFC 6455, 1.3"
    with Client(server.url) as client:
        assert f"Sec-WebSocket-Accept: {accept_value(KEY)}\r\n".encode() in client.head


@pytest.mark.parametrize("message", [{"token": "x"}, {"token": ""}, {"token": None}, {"token": 7}, {}, [], "text", 5,
                                     {"token": "\ud800"}, {"token": "\u00e9"}, {"command": "help"}])
def test_a_wrong_token_ends_the_connection(server: Server, message: Any) -> None:
    with Client(server.url) as client:
        client.send(message)
        assert client.close_code() == CloseCode.NOT_ALLOWED


def test_almost_the_token_ends_the_connection(server: Server) -> None:
    with Client(server.url) as client:
        client.send({"token": server.token[:-1]})
        assert client.close_code() == CloseCode.NOT_ALLOWED


def test_one_page_at_a_time_and_the_second_may_take_over(server: Server) -> None:
    with signed_in(server) as first:
        with Client(server.url) as second:
            assert second.sign_in() == {"kind": "busy"}
            assert second.close_code() == CloseCode.NOT_ALLOWED
        first.send({"a": 1})
        assert json.loads(first.receive()[1]) == {"heard": {"a": 1}}
        with Client(server.url) as third:
            assert third.sign_in(take_over=True) == {"kind": "hello"}
            assert first.close_code() == CloseCode.TAKEN_OVER
            third.send({"b": 2})
            assert json.loads(third.receive()[1]) == {"heard": {"b": 2}}


def test_a_page_that_is_loaded_again_waits_for_its_old_socket(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_RELOAD_SECONDS", 60.0)
    first = signed_in(server)
    with Client(server.url) as second:
        second.send({"token": server.token})
        assert not select.select([second.connection], [], [], 0.2)[0], "the first is still there"
        first.connection.close()
        assert json.loads(second.receive()[1]) == {"kind": "hello"}


# --- frames -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("data", "code"), [
    (frame(1, b"{}", masked=False), CloseCode.PROTOCOL),
    (frame(1, b"{}", first=0xC0), CloseCode.PROTOCOL),
    (frame(3, b"{}"), CloseCode.PROTOCOL),
    (frame(0, b"{}"), CloseCode.PROTOCOL),
    (frame(1, b"{", first=0) + frame(1, b"}"), CloseCode.PROTOCOL),
    (frame(9, b"x", first=0), CloseCode.PROTOCOL),
    (frame(9, b"x" * 126), CloseCode.PROTOCOL),
    (frame(1, b"{}", wide=2), CloseCode.PROTOCOL),
    (frame(1, b"{}", wide=8), CloseCode.PROTOCOL),
    (frame(1, b"", first=0) + frame(0, b"", first=0) * 20, CloseCode.PROTOCOL),
    (frame(8, b"\x03"), CloseCode.PROTOCOL),
    (frame(2, b"{}"), CloseCode.UNSUPPORTED),
    (frame(1, b"\xff{}"), CloseCode.NOT_UTF8),
    (frame(1, b"not json"), CloseCode.UNSUPPORTED),
    (frame(1, b"[]"), CloseCode.UNSUPPORTED),
    (frame(1, b"[" * 60_000), CloseCode.UNSUPPORTED),
    (frame(1, b" " * 65_537), CloseCode.TOO_LARGE),
    (frame(1, b" " * 40_000, first=0) + frame(0, b" " * 40_000), CloseCode.TOO_LARGE),
    (b"\x81\xff\x7f" + b"\xff" * 7 + b"\0\0\0\0", CloseCode.TOO_LARGE),
    (b"\x81\xff" + b"\xff" * 8 + b"\0\0\0\0", CloseCode.PROTOCOL),
    (frame(8, b"\x03\xe8bye"), CloseCode.NORMAL),
])
def test_a_malformed_frame_ends_the_connection(server: Server, data: bytes, code: CloseCode) -> None:
    with signed_in(server) as client:
        client.raw(data)
        assert client.close_code() == code
    with signed_in(server):
        pass


def test_pieces_and_pings_are_understood(server: Server) -> None:
    with signed_in(server) as client:
        client.raw(frame(1, b'{"a"', first=0) + frame(9, b"ping") + frame(0, b": 1", first=0) + frame(0, b"}"))
        assert client.receive() == (10, b"ping")
        assert json.loads(client.receive()[1]) == {"heard": {"a": 1}}


@pytest.mark.parametrize("size", [100, 200, 60_000])
def test_messages_of_every_length_code(server: Server, size: int) -> None:
    with signed_in(server) as client:
        client.send({"a": "x" * size})
        assert json.loads(client.receive()[1]) == {"heard": {"a": "x" * size}}


# --- slow clients -----------------------------------------------------------------------------------------------------
@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little patience, so that tests end."""
    monkeypatch.setattr(server_module, "_SECONDS", 1.2)
    monkeypatch.setattr(server_module._Handler, "timeout", 1.2)


def test_a_slow_request_is_abandoned(hasty: None, server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        start = time.monotonic()
        try:
            while time.monotonic() - start < 15:
                connection.sendall(b"G")
                time.sleep(0.1)
        except OSError:
            pass
        assert time.monotonic() - start < 10


def test_a_client_without_a_first_message_is_abandoned(hasty: None, server: Server) -> None:
    with Client(server.url) as client, pytest.raises((EOFError, ConnectionResetError)):
        client.receive()


def test_half_a_frame_is_abandoned_and_an_idle_client_is_not(hasty: None, server: Server) -> None:
    with signed_in(server) as client:
        time.sleep(1.8)
        client.send({})
        assert json.loads(client.receive()[1]) == {"heard": {}}
        client.raw(frame(1, b"{}")[:3])
        with pytest.raises((EOFError, ConnectionResetError)):
            client.receive()


def test_a_client_that_reads_nothing_is_abandoned(hasty: None) -> None:
    left, right = socket.socketpair()
    with left, right:
        left.settimeout(0.3)
        client = WebSocket(left, 1 << 16)
        assert client.send(b"x") is True
        assert client.send(bytes(64 << 20)) is False
        assert client.send(b"x") is False


def test_many_connections_leave_room_after_they_have_gone(hasty: None, server: Server) -> None:
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(60)]
    for one in held:
        one.close()
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            if status(exchange(server.port, request(server.port))) == 200:
                return
        except (OSError, IndexError):
            time.sleep(0.1)
    raise AssertionError("the server does not recover")
