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
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty", allowed="an XML document")
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,
    )
    try:
        tree = etree.parse(str(path), parser)
    except etree.XMLSyntaxError as error:
        raise InputError(
            f"{path} is not well-formed XML: {error.msg}",
            hint="open it in an editor at that line, or export it again",
        ) from error
    if tree.docinfo.doctype or tree.docinfo.internalDTD is not None:
        raise InputError(
            f"{path} declares a document type or entities, which are refused as unsafe",
            allowed="XML without <!DOCTYPE ...> and <!ENTITY ...>",
            hint="remove the declaration and write out what its entities stand for",
        )
    return tree.getroot()
