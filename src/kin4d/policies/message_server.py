"""MessageServer: the transport of the openpi protocol, for whatever answers messages."""

from __future__ import annotations

import http
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


class MessageServer(ABC):
    """Answers messages over websockets.

    On connection it sends its metadata, then one answer for each message. An exception is sent as
    text and ends the connection (code 1011). `GET /healthz` answers OK.

    Args:
        host: Address to listen on.
        port: Port; 0 takes a free one, see `MessageServer.port`.
        api_key: If given, connections without it are refused.
        metadata: Sent besides the version.
        max_size: Bytes of the largest message that is accepted; None for any.
        max_connections: At a time; None for any number.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        api_key: str | None = None,
        metadata: dict[str, Any] | None = None,
        max_size: int | None = None,
        max_connections: int | None = None,
    ) -> None:
        sync: Any = require("websockets.sync.server", extra="policies", purpose="serving")
        self._connections: set[Any] = set()
        self._lock = threading.Lock()
        self._most = max_connections
        self._key = None if api_key is None else f"Api-Key {api_key}"
        self.metadata = {"kin4d": kin4d.__version__, **(metadata or {})}
        try:
            self._server = sync.serve(
                self._answer_all,
                host,
                port,
                compression=None,
                max_size=max_size,
                process_request=self._check_request,
            )
        except (OSError, OverflowError) as error:
            raise InputError(
                f"cannot listen on {host}:{port}: {error}",
                hint="another program may use the port; choose another with --port",
            ) from error
        self.host, self.port = host, int(self._server.socket.getsockname()[1])
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
        if request.path == "/healthz":
            return connection.respond(http.HTTPStatus.OK, "OK\n")
        if self._key is not None and request.headers.get("Authorization") != self._key:
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "a valid API key is needed\n")
        if self._most is not None and len(self._connections) >= self._most:
            return connection.respond(
                http.HTTPStatus.SERVICE_UNAVAILABLE, f"only {self._most} connections at a time\n"
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
