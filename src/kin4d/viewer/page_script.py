"""scripted_page: adds kin4d's own scripts to the page that viser serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

SCRIPTS = ("level_of_detail.js", "software_drawing.js", "drop_file.js")
_HEAD = b"<head>"


@contextmanager
def scripted_page() -> Iterator[None]:
    """Servers that are started inside send our scripts at the head of their page; viser has no hook
    for it. What else they answer, refusals among it, stays as it is."""
    import websockets.asyncio.server as module

    serve = module.serve
    folder = files("kin4d").joinpath("assets", "page")
    texts = [folder.joinpath(name).read_text("utf-8") for name in SCRIPTS]
    scripts = "".join(f"<script>{text}</script>" for text in texts).encode()

    def scripted(*arguments: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            if request.path.partition("?")[0] not in ("/", "/index.html"):
                return process_request(connection, request)
            # Unpacked, so that it can be added to; the page is packed in itself.
            if "Accept-Encoding" in request.headers:
                del request.headers["Accept-Encoding"]
            response = process_request(connection, request)
            if response is not None and response.status_code == 200:
                response.body = response.body.replace(_HEAD, _HEAD + scripts, 1)
                del response.headers["Content-Length"]
                response.headers["Content-Length"] = str(len(response.body))
            return response

        return serve(*arguments, process_request=process, **options)

    module.serve = scripted
    try:
        yield
    finally:
        module.serve = serve
