"""XML from strangers: parsed without expanding entities, reading other files or the network."""

from __future__ import annotations

from pathlib import Path

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from kin4d.errors import InputError
from kin4d.files import existing_file


def parse_xml(path: str | Path) -> etree._Element:
    """Root element of an XML file, comments removed.

    A document type declaration is refused: robots and meshes need none, and entity definitions in
    it can make a small file expand to gigabytes or pull in other files.
    """
    path = existing_file(path)
    data = path.read_bytes()
    if not data:
        raise InputError(f"{path} is empty", allowed="an XML document")
    # Without the zeros of wide encodings. A parser would expand entities in attributes at once.
    if b"<!DOCTYPE" in data.replace(b"\0", b""):
        raise _unsafe(path)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise InputError(
            f"{path} is not well-formed XML: {error.msg}",
            hint="open it in an editor at that line, or export it again",
        ) from error
    if root.getroottree().docinfo.doctype:
        raise _unsafe(path)
    return root


def _unsafe(path: Path) -> InputError:
    return InputError(
        f"{path} declares a document type or entities, which are refused as unsafe",
        allowed="XML without <!DOCTYPE ...> and <!ENTITY ...>",
        hint="remove the declaration and write out what its entities stand for",
    )
