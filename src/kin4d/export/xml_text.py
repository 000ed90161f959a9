"""Numbers and elements of XML files."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree


def numbers(values: Iterable[float]) -> str:
    """Numbers in full, with blanks between them; no minus before zeros."""
    return " ".join(f"{float(value) + 0.0:.17g}" for value in values)


def document(root: ElementTree.Element) -> str:
    """An indented XML document."""
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
