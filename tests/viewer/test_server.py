"""The viewer's server: own pages alone, a token for other machines, no client stalls another."""

from __future__ import annotations

import socket
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from kin4d.errors import InputError
from kin4d.request_guard import RequestGuard
from kin4d.viewer.page import Page

viser = pytest.importorskip("viser")
websockets = pytest.importorskip("websockets")
client = pytest.importorskip("websockets.sync.client")


@pytest.fixture(scope="module")
def local():
    page = Page(port=0)
    yield page
    page.close()


@pytest.fixture(scope="module")
def public():
    page = Page(port=0, host="0.0.0.0")
    yield page
    page.close()


def get(page: Page, path: str = "/", **headers: str) -> tuple[int, str]:
    """Status and head of a response to a raw request on loopback."""
    headers = {"Host": f"localhost:{page.port}", **headers}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    with socket.create_connection(("127.0.0.1", page.port), timeout=20) as stream:
        stream.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head and (some := stream.recv(65536)):
            head += some
    return int(head.split()[1]), head.decode(errors="replace")


def connect(page: Page, **options):
    protocol = f"viser-v{viser.__version__}"
    url = f"ws://localhost:{page.port}"
    return client.connect(url, subprotocols=[protocol], open_timeout=20, **options)


@pytest.mark.parametrize("host", ["localhost:{}", "127.0.0.1:{}", "[::1]:{}", "localhost"])
def test_own_names_are_answered(local, host: str) -> None:
    assert get(local, Host=host.format(local.port))[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example:{}", "127.0.0.1.evil.example", "192.168.0.7:{}", "", "[", "localhost@x"]
)
def test_rebound_names_are_refused(local, host: str) -> None:
    assert get(local, Host=host.format(local.port))[0] in (400, 403)


def test_other_origins_are_refused(local) -> None:
    own = f"http://localhost:{local.port}"
    assert get(local, Origin=own)[0] == 200
    for origin in ("http://evil.example", "null", f"http://localhost:{local.port + 1}"):
        assert get(local, Origin=origin)[0] == 403
    with connect(local, origin=own) as page:
        assert page.recv(timeout=20)
    with pytest.raises(Exception, match="403"):
        connect(local, origin="http://evil.example")


def test_other_machines_need_the_token(public) -> None:
    token = parse_qs(urlsplit(public.url).query)["token"][0]
    assert len(token) >= 32
    for path in ("/", "/?token=", f"/?token={token[:-1]}", "/?token=%00"):
        assert get(public, path)[0] == 403
    status, head = get(public, f"/?token={token}")
    assert status == 200
    cookie = next(line for line in head.split("\r\n") if line.lower().startswith("set-cookie"))
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    value = cookie.split(":", 1)[1].split(";")[0].strip()
    assert get(public, Cookie=value)[0] == 200
    assert get(public, Cookie="kin4d_token=wrong")[0] == 403
    assert get(public, Host="192.168.0.7:80", Cookie=value)[0] == 200
    assert get(public, Host="evil.example", Cookie=value)[0] == 403
    with pytest.raises(Exception, match="403"):
        connect(public)
    with connect(public, additional_headers={"Cookie": value}) as page:
        assert page.recv(timeout=20)


def test_slow_and_garbage_clients_stall_no_other(local) -> None:
    streams = [socket.create_connection(("127.0.0.1", local.port)) for _ in range(60)]
    try:
        for number, stream in enumerate(streams):
            stream.sendall((b"GET / HT", b"\x00\xff" * 500, b"", b"\r\n" * 40)[number % 4])
        with connect(local) as page:
            page.send(b"\xc1 not a message")
        with connect(local) as page:
            begun = time.monotonic()
            assert get(local)[0] == 200
            assert page.recv(timeout=20)
            assert time.monotonic() - begun < 5
    finally:
        for stream in streams:
            stream.close()
    assert get(local)[0] == 200


def test_a_client_cannot_send_what_fills_the_memory(local) -> None:
    with connect(local, max_size=None) as page:
        page.send(b"\x00" * 2**21)
        with pytest.raises(websockets.exceptions.ConnectionClosedError) as closed:
            list(page)
    assert closed.value.rcvd.code == 1009  # message too big


def test_clients_come_and_go_without_a_leak(local) -> None:
    before = threading.active_count()
    for _ in range(10):
        with connect(local) as page:
            assert page.recv(timeout=20)
    deadline = time.monotonic() + 20
    while local.viser.get_clients() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert local.viser.get_clients() == {}
    assert threading.active_count() <= before + 1


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", ""])
def test_hosts_of_others_are_refused(host: str) -> None:
    with pytest.raises(InputError, match="cannot listen"):
        Page(port=0, host=host)


class Headers(dict):
    def get_all(self, name: str) -> list[str]:
        return self.get(name, [])


def test_a_request_names_one_host() -> None:
    guard = RequestGuard()
    assert guard.refusal("/", Headers(Host=["localhost"])) is None
    for hosts in ([], ["localhost", "evil.example"]):
        assert guard.refusal("/", Headers(Host=hosts)) is not None
