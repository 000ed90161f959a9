"""RequestGuard: refuses requests of other sites, and requests without the token if there is one.

A page of any site can make a browser send requests to this machine, and can have its own name
resolve here (DNS rebinding). Both show in the headers: Host names another site, or Origin does.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

_COOKIE = "kin4d_token"
_LARGEST_MESSAGE = 2**20  # bytes; a page sends little more than the position of its slider
_patching = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class RequestGuard:
    """Decides about requests by their path and headers.

    Attributes:
        loopback: Whether only this machine's own names are allowed as Host; else also any IP
            address and the machine's name. No other name can be a rebound one.
        token: What the first request must bring in its query, "?token=..."; a cookie then brings
            it. None asks for none.
    """

    loopback: bool = True
    token: str | None = None

    def refusal(self, path: str, headers: Any) -> str | None:
        """Why a request is refused, or None.

        Args:
            path: With the query.
            headers: With `get_all(name)`.
        """
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not self._is_own(_host_name(hosts[0])):
            return "the Host header is not a name of this server"
        # A page at this address is ours, and so is a program that is no page.
        if any(urlsplit(origin).netloc.lower() != hosts[0].lower() for origin in origins):
            return "the Origin header is of another site"
        if self.token is not None and not self._has_token(path, headers):
            return "the token is missing or wrong; open the address that kin4d printed"
        return None

    def cookie(self, path: str) -> str | None:
        """The cookie that a request with the token in its query is given."""
        if self.token is None or not _same(_query_token(path), self.token):
            return None
        return f"{_COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def _is_own(self, name: str) -> bool:
        if name == "localhost":
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return not self.loopback and name == socket.gethostname().lower()
        return address.is_loopback or not self.loopback

    def _has_token(self, path: str, headers: Any) -> bool:
        given = [_query_token(path)]
        for line in headers.get_all("Cookie"):
            try:
                cookie = SimpleCookie(line).get(_COOKIE)
            except CookieError:
                continue
            given += [] if cookie is None else [cookie.value]
        return any(_same(one, self.token or "") for one in given)


@contextmanager
def guarded_server(guard: RequestGuard) -> Iterator[None]:
    """Guard the servers that are started inside; viser has no hook for it."""
    import websockets.asyncio.server as module

    serve = module.serve

    def guarded(*arguments: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            reason = guard.refusal(request.path, request.headers)
            if reason is not None:
                return connection.respond(403, f"kin4d: {reason}\n")
            response = process_request(connection, request)
            cookie = guard.cookie(request.path)
            if response is not None and cookie is not None:
                response.headers["Set-Cookie"] = cookie
            return response

        options["max_size"] = _LARGEST_MESSAGE
        return serve(*arguments, process_request=process, **options)

    with _patching:
        module.serve = guarded
        try:
            yield
        finally:
            module.serve = serve


def _host_name(host: str) -> str:
    """The name in a Host header, without port; "" if there is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _query_token(path: str) -> str:
    try:
        return parse_qs(urlsplit(path).query).get("token", [""])[0]
    except ValueError:
        return ""


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())
