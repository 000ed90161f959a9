"""start_server: viser on an address of this machine, behind the request guard."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from typing import Any

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.request_guard import RequestGuard, guarded_server
from kin4d.viewer.page_script import scripted_page


@dataclass(frozen=True, eq=False)
class ViewerServer:
    """A running server.

    Attributes:
        viser: The `viser.ViserServer`.
        port: That is used.
        url: Of the page.
    """

    viser: Any
    port: int
    url: str

    def close(self) -> None:
        """Stop serving."""
        self.viser.stop()


def start_server(*, port: int = 8080, host: str = "127.0.0.1") -> ViewerServer:
    """Serve an empty page, by default to this machine alone.

    Requests that pages of other sites make are refused, see `RequestGuard`.

    Args:
        port: Of the page, or the next that is free; 0 for any.
        host: Address to listen on. Any but a loopback address serves other machines, and then
            asks for a random token, which is in `url`.
    """
    viser = require("viser", extra="viewer", purpose="the viewer")
    # The server binds in a thread of its own: a port it cannot have would hang us.
    if not 0 <= port < 2**16:
        raise InputError("there is no such port", value=port, allowed=f"0 to {2**16 - 1}")
    address = _own_address(host)
    token = None if address.is_loopback else secrets.token_urlsafe(24)
    # The guard is outermost: what it refuses is not answered by anything else.
    with guarded_server(RequestGuard(loopback=token is None, token=token)), scripted_page():
        server = viser.ViserServer(host=str(address), port=port, verbose=False)
    used: int = server.get_port()
    name = "localhost" if address.is_loopback else str(address)
    if address.is_unspecified:
        name = socket.gethostname()
    name = f"[{name}]" if ":" in name else name
    url = f"http://{name}:{used}" + ("" if token is None else f"/?token={token}")
    server.scene.set_up_direction("+z")
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    return ViewerServer(viser=server, port=used, url=url)


def _own_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address of a host name, if this machine can listen on it."""
    try:
        family, kind, _, _, where = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(where)
        return ipaddress.ip_address(where[0])
    except (OSError, UnicodeError, ValueError) as error:
        raise InputError(
            f"cannot listen on this host: {error}",
            value=host,
            allowed="an address of this machine, 127.0.0.1, or 0.0.0.0 for all of its addresses",
        ) from error
