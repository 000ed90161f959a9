"""XML from strangers."""

from __future__ import annotations

import pytest

from kin4d.errors import InputError
from kin4d.geometry.io.safe_xml import parse_xml


def test_elements_come_without_comments(tmp_path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("<a><!-- no --><b c='1'/></a>")
    (child,) = parse_xml(path)
    assert child.get("c") == "1"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-32"])
def test_document_types_are_refused_in_any_encoding(tmp_path, encoding) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes('<!DOCTYPE a [<!ENTITY x "y">]><a b="&x;"/>'.encode(encoding))
    with pytest.raises(InputError, match="entities"):
        parse_xml(path)


def test_what_is_not_xml_says_so(tmp_path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"\x00\xff\x13")
    with pytest.raises(InputError, match="not well-formed"):
        parse_xml(path)
