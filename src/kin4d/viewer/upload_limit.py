"""limit_uploads: files that are too large are refused by the size they announce."""

from __future__ import annotations

from typing import Any

from kin4d.errors import InputError
from kin4d.viewer.page import Page


def limit_uploads(page: Page, most: int) -> None:
    """Refuse files of more than `most` bytes before any of them is kept; viser has no hook."""
    from viser._messages import FileTransferStartUpload

    gui, server = page.gui, page.viser._websock_server
    accept = gui._handle_file_transfer_start

    def start(client_id: Any, message: Any) -> None:
        if 0 <= message.size_bytes <= most:
            accept(client_id, message)
            return
        refusal = InputError(
            f"{message.filename} is too large to be sent here",
            value=f"{message.size_bytes / 2**20:.4g} MiB",
            allowed=f"{most / 2**20:g} MiB",
            hint="run: kin4d view FILE",
        )
        page.loop.post(lambda: page.report(refusal))

    server.unregister_handler(FileTransferStartUpload, accept)
    server.register_handler(FileTransferStartUpload, start)
