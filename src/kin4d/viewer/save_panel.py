"""SavePanel: what is shown as files, sent to the browser that asks."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kin4d.viewer.page import Page

Writer = Callable[[Path], None]
"""Writes files into an empty folder."""


def add_save_panel(page: Page, name: str, writers: Mapping[str, Writer]) -> dict[str, Any]:
    """A button for each way of saving.

    Args:
        page: Where.
        name: Of files, without suffix.
        writers: By label. Several files are sent as one zip archive.

    Returns:
        The buttons by label.
    """
    buttons = {}
    with page.gui.add_folder("Save", order=5):
        for label, write in writers.items():
            buttons[label] = page.gui.add_button(label)
            page.on_click(buttons[label], _sender(page, file_stem(name), write))
    return buttons


def file_stem(name: str) -> str:
    """A name that is safe as a file's."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._") or "object"


def packed(write: Writer, name: str) -> tuple[str, bytes]:
    """Name and content of the one file that `write` makes, or of a zip of all of them."""
    with tempfile.TemporaryDirectory(prefix="kin4d-") as folder:
        write(Path(folder))
        files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
        if len(files) == 1:
            return files[0].name, files[0].read_bytes()
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.relative_to(folder).as_posix())
        return f"{name}.zip", buffer.getvalue()


def _sender(page: Page, name: str, write: Writer) -> Callable[[Any], None]:
    def send(client: Any) -> None:
        if client is None:
            return
        file, content = packed(write, name)
        client.send_file_download(file, content, save_immediately=True)
        page.notice("saved", f"{file}, {len(content) / 1e6:.2g} MB")

    return send
