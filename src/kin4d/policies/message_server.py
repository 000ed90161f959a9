"""MessageServer: the transport of the openpi protocol, for whatever answers messages."""

from __future__ import annotations

import hmac
import http
import ipaddress
import logging
import secrets
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import kin4d
from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.policies.array_messages import pack_message, unpack_message
from kin4d.request_guard import RequestGuard

# Whoever sends garbage could fill a log: websockets writes fifty lines for every such connection.
_SILENT = logging.Logger("kin4d.messages", logging.CRITICAL + 1)


class MessageServer(ABC):
    """Answers messages over websockets.

    On connection it sends its metadata, then one answer for each message. An exception is sent as
    text and ends the connection (code 1011). `GET /healthz` answers OK. Requests that pages of
    other sites make are refused.

    Args:
        host: Address to listen on. Any but a loopback address serves other machines, and then
            there is always a key.
        port: Port; 0 takes a free one, see `MessageServer.port`.
        api_key: Connections without it are refused. None for none on a loopback address, and for
            a random one elsewhere.
        metadata: Sent besides the version.
        max_size: Bytes of the largest message that is accepted.
        max_connections: At a time.

    Attributes:
        api_key: That connections need, or None.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        api_key: str | None = None,
        metadata: dict[str, Any] | None = None,
        max_size: int = 2**26,
        max_connections: int = 64,
    ) -> None:
        sync: Any = require("websockets.sync.server", extra="policies", purpose="serving")
        self._connections: set[Any] = set()
        self._lock = threading.Lock()
        self._most = max_connections
        self.metadata = {"kin4d": kin4d.__version__, **(metadata or {})}
        try:
            self._server = sync.serve(
                self._answer_all,
                host,
                port,
                compression=None,
                max_size=max_size,
                logger=_SILENT,
                process_request=self._check_request,
            )
        except (OSError, OverflowError) as error:
            raise InputError(
                f"cannot listen on {host}:{port}: {error}",
                hint="another program may use the port; choose another with --port",
            ) from error
        address, self.port = self._server.socket.getsockname()[:2]
        self.host, self._is_loopback = host, ipaddress.ip_address(address).is_loopback
        self.api_key = api_key
        if api_key is None and not self._is_loopback:
            self.api_key = secrets.token_urlsafe(24)
        self._thread: threading.Thread | None = None

    @abstractmethod
    def open_session(self) -> Callable[[Any], Any]:
        """What answers the messages of a new connection."""

    @property
    def address(self) -> str:
        """For clients."""
        return f"ws://{self.host}:{self.port}"

    def serve_forever(self) -> None:
        """Answer until `close` is called, or Ctrl-C."""
        self._server.serve_forever()

    def close(self) -> None:
        """Stop listening and end all connections."""
        self._server.shutdown()
        for connection in list(self._connections):
            connection.close(1001, "the server is going away")

    def __enter__(self) -> Self:
        """Answer in a thread of its own."""
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _check_request(self, connection: Any, request: Any) -> Any:
        status, reason = http.HTTPStatus, None
        # Elsewhere a name may be any, for no page of another site knows the key.
        if self._is_loopback:
            reason = RequestGuard().refusal(request.path, request.headers)
        elif request.headers.get_all("Origin"):
            reason = "pages are not served"
        if reason is not None:
            return connection.respond(status.FORBIDDEN, f"kin4d: {reason}\n")
        if request.path == "/healthz":
            return connection.respond(status.OK, "OK\n")
        given = "\n".join(request.headers.get_all("Authorization")).encode(errors="replace")
        if self.api_key is not None and not hmac.compare_digest(
            given, f"Api-Key {self.api_key}".encode()
        ):
            return connection.respond(status.UNAUTHORIZED, "a valid API key is needed\n")
        if len(self._connections) >= self._most:
            return connection.respond(
                status.SERVICE_UNAVAILABLE, f"only {self._most} connections at a time\n"
            )
        return None

    def _answer_all(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        self._connections.add(connection)
        try:
            connection.send(pack_message(self.metadata))
            answer_one = self.open_session()
            for data in connection:
                try:
                    if isinstance(data, str):
                        raise InputError("a request is a binary frame", value=data[:40])
                    answer = pack_message(answer_one(unpack_message(data)))
                except Exception:
                    # Whatever goes wrong is for the client to read.
                    connection.send(traceback.format_exc())
                    connection.close(1011, "the request failed")
                    return
                connection.send(answer)
        except ConnectionClosed:
            return
        finally:
            self._connections.discard(connection)
