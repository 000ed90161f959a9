"""Parquet tables as LeRobot keeps them: fixed-length lists, and images as encoded bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.files import atomic_path
from kin4d.geometry.io.texture import decode_stack


def _arrow(module: str = "pyarrow") -> Any:
    return require(module, extra="episodes", purpose="LeRobot's parquet tables")


def column(table: Any, name: str, path: Path) -> np.ndarray:
    """A column as an array [T, ...]; NaN and rows of different lengths are an `InputError`."""
    if name not in table.column_names:
        raise InputError(f"{path} has no column '{name}'", value=table.column_names)
    try:
        values = np.array(table[name].to_pylist())
    except ValueError:
        raise InputError(f"rows of '{name}' in {path} differ in length") from None
    if values.dtype == object:
        raise InputError(f"'{name}' in {path} has empty cells")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise InputError(f"'{name}' in {path} holds NaN or infinite values: first in row {row}")
    return values


def write_table(columns: Mapping[str, Any], features: Mapping[str, Any], path: Path) -> None:
    """Write columns [T, ...] of LeRobot features as parquet that `datasets` opens as it is.

    Args:
        columns: Arrays, or lists of PNG bytes for features of dtype "image".
        features: Of meta/info.json; those of dtype "video" are not in tables.
        path: Target.
    """
    arrow, parquet = _arrow(), _arrow("pyarrow.parquet")
    arrays, described = {}, {}
    for name, feature in features.items():
        dtype, size = feature["dtype"], int(np.prod(feature["shape"]))
        if dtype == "video":
            continue
        if dtype == "image":
            kind = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
            cells = [{"bytes": one, "path": None} for one in columns[name]]
            arrays[name] = arrow.array(cells, kind)
            described[name] = {"_type": "Image"}
            continue
        values = np.asarray(columns[name], dtype).reshape(-1)
        plain = arrow.array(values, arrow.from_numpy_dtype(values.dtype))
        value = {"dtype": dtype, "_type": "Value"}
        if size == 1:
            arrays[name], described[name] = plain, value
        else:
            arrays[name] = arrow.FixedSizeListArray.from_arrays(plain, size)
            described[name] = {"feature": value, "length": size, "_type": "Sequence"}
    metadata = {"huggingface": json.dumps({"info": {"features": described}})}
    table = arrow.table(arrays).replace_schema_metadata(metadata)
    with atomic_path(path) as temporary:
        parquet.write_table(table, temporary, compression="snappy")


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path, *, index: str | None = None) -> None:
    """Write rows of plain values as parquet.

    Args:
        rows: All with the same names.
        path: Target.
        index: The column that pandas takes for the index.
    """
    arrow, parquet = _arrow(), _arrow("pyarrow.parquet")
    table = arrow.Table.from_pylist([dict(row) for row in rows])
    if index is not None:
        others = [name for name in table.column_names if name != index]
        kinds = dict.fromkeys(others, ("int64", "int64")) | {index: ("unicode", "object")}
        metadata = {
            "index_columns": [index],
            "column_indexes": [],
            "columns": [
                {"name": name, "field_name": name, "pandas_type": kinds[name][0],
                 "numpy_type": kinds[name][1], "metadata": None}
                for name in (*others, index)
            ],
            "creator": {"library": "pyarrow", "version": arrow.__version__},
            "pandas_version": "2.0.0",
        }  # fmt: skip
        table = table.select([*others, index])
        table = table.replace_schema_metadata({"pandas": json.dumps(metadata)})
    with atomic_path(path) as temporary:
        parquet.write_table(table, temporary, compression="snappy")


def encode_images(images: np.ndarray) -> list[bytes]:
    """PNG bytes of each of [T, H, W] uint8 or uint16, or [T, H, W, 3] uint8."""
    from PIL import Image

    encoded = []
    for image in images:
        stream = BytesIO()
        Image.fromarray(image).save(stream, format="PNG", compress_level=3)
        encoded.append(stream.getvalue())
    return encoded


def decode_images(table: Any, name: str) -> np.ndarray:
    """[T, H, W] or [T, H, W, 3] of a column of encoded images."""
    cells = [cell["bytes"] for cell in table[name].to_pylist()]
    return decode_stack(cells, name=f"column '{name}'")
