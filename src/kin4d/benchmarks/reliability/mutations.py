"""Damage to files: bytes at random, and structure where the format is known."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator

_NUMBERS = (0, -1, 1, 2, 3, 7, 255, 65536, 2**31, 2**40, 2**63, -(2**63), 10**400, 0.5, 1e-300,
            1e300, float("nan"), float("inf"), -float("inf"))  # fmt: skip
_WORDS = ("", "a", "..", "../../../../etc/passwd", "/etc/passwd", "a\0b", "ä\n", "nan", "1e999",
          "package://etc/passwd", "{0.__class__}", "0x10", "-1", "é" * 300, "true")  # fmt: skip


def mutate(folder: Path, rng: Rng) -> str:
    """Damage one file below `folder`; says which and how."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size)
    file = files[rng.integers(len(files))]
    structural = STRUCTURE.get(file.suffix.lower())
    way = "bytes"
    if structural is not None and rng.random() < 0.6:
        way = "structure"
        try:
            data = structural(file.read_bytes(), rng)
        except (OverflowError, ValueError, TypeError, struct.error, KeyError):
            way, data = "bytes", mutate_bytes(file.read_bytes(), rng)
    else:
        data = mutate_bytes(file.read_bytes(), rng)
    if rng.random() < 0.01:
        file.unlink()
        return f"{file.relative_to(folder)} removed"
    file.write_bytes(data)
    return f"{file.relative_to(folder)} {way}"


def mutate_bytes(data: bytes, rng: Rng) -> bytes:
    """A few flips, cuts, copies and insertions."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = (
            int(rng.integers(len(out) + 1))
            if rng.random() < 0.6
            else int(rng.integers(1 + min(len(out), 200)))
        )
        size = int(2 ** rng.uniform(0, 6))
        how = int(rng.integers(6))
        if how == 0 and at < len(out):
            out[at] ^= 1 << int(rng.integers(8))
        elif how == 1:
            out[at : at + size] = rng.bytes(size)
        elif how == 2:
            del out[at : at + size]
        elif how == 3:
            source = int(rng.integers(len(out) + 1))
            out[at:at] = out[source : source + size]
        elif how == 4:
            number = int(rng.choice([0, 1, 127, 255, 65535, 2**31 - 1, 2**32 - 1]))
            out[at : at + 4] = struct.pack(rng.choice(["<I", ">I"]), number)
        elif rng.random() < 0.3:
            del out[at:]
    return bytes(out)


def mutate_value(value: Any, rng: Rng) -> Any:
    """One place in a tree of JSON values changed."""
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        keys = (
            list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        )
        for key in keys:
            places.append((one, key))
            waiting.append(one[key])
    if not places:
        return _odd_value(value, rng)
    for _ in range(int(rng.integers(1, 3))):
        # Deep trees hold many numbers; names near the root matter as much.
        parent, key = places[int(len(places) * rng.random() ** 2)]
        how = rng.random()
        if how < 0.15:
            if isinstance(parent, dict):
                parent.pop(key, None)
            elif len(parent) > key:
                del parent[key]
        elif isinstance(parent, dict) and how < 0.2:
            parent[f"{key}x"] = parent.get(key)
        elif isinstance(parent, dict) or key < len(parent):
            parent[key] = _odd_value(
                parent.get(key) if isinstance(parent, dict) else parent[key], rng
            )
    return value


def _odd_value(value: Any, rng: Rng) -> Any:
    how = int(rng.integers(8))
    if how < 3 or (isinstance(value, int | float) and how < 5):
        return _NUMBERS[rng.integers(len(_NUMBERS))]
    if how == 3:
        return _WORDS[rng.integers(len(_WORDS))]
    if how == 4:
        nested: Any = value
        for _ in range(int(rng.choice([1, 2, 900, 60_000]))):
            nested = [nested]
        return nested
    if how == 5 and isinstance(value, list | str):
        return value * int(rng.choice([0, 2, 50]))
    return [None, [], {}, True, [value, value], {"a": value}, [[]], "x"][rng.integers(8)]


def _json(data: bytes, rng: Rng) -> bytes:
    return _dumps(mutate_value(json.loads(data), rng)).encode()


def _json_lines(data: bytes, rng: Rng) -> bytes:
    lines = data.splitlines()
    at = int(rng.integers(len(lines)))
    lines[at] = _json(lines[at], rng)
    return b"\n".join(lines)


def _dumps(value: Any) -> str:
    """JSON of any depth: the encoder of the standard library gives up at a thousand."""

    def plain(one: Any) -> str:
        chain = 0
        while isinstance(one, list) and len(one) == 1:
            one, chain = one[0], chain + 1
        if isinstance(one, dict):
            body = ",".join(f"{json.dumps(str(k))}:{plain(v)}" for k, v in one.items())
            return "[" * chain + "{" + body + "}" + "]" * chain
        if isinstance(one, list):
            return "[" * chain + "[" + ",".join(map(plain, one)) + "]" + "]" * chain
        return "[" * chain + json.dumps(one) + "]" * chain

    return plain(value)


def _xml(data: bytes, rng: Rng) -> bytes:
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

    root = etree.fromstring(data)
    elements = list(root.iter())
    for _ in range(int(rng.integers(1, 3))):
        one = elements[rng.integers(len(elements))]
        other = elements[rng.integers(len(elements))]
        how = int(rng.integers(8))
        names = list(one.keys())
        if how < 4 and names:
            name = names[rng.integers(len(names))]
            word = (
                str(_NUMBERS[rng.integers(len(_NUMBERS))])
                if rng.random() < 0.6
                else str(_WORDS[rng.integers(len(_WORDS))])
            )
            parts = one.get(name).split()
            if len(parts) > 1 and rng.random() < 0.7:
                parts[rng.integers(len(parts))] = word
                word = " ".join(parts)
            one.set(name, word.replace("\0", ""))
        elif how == 4 and names:
            del one.attrib[names[rng.integers(len(names))]]
        elif how == 5 and one.getparent() is not None:
            one.getparent().remove(one)
        elif how == 6 and one not in other.iter() and other not in one.iter() and len(one):
            other.append(one)
        elif how == 7:
            if one.text and one.text.strip():
                parts = one.text.split()
                parts[rng.integers(len(parts))] = str(_NUMBERS[rng.integers(len(_NUMBERS))])
                one.text = " ".join(parts)
            else:
                one.tag = other.tag if isinstance(other.tag, str) else one.tag
    return etree.tostring(root)


def _text(data: bytes, rng: Rng) -> bytes:
    lines = data.decode("utf-8", "replace").splitlines()
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(lines)))
        words = lines[at].replace(",", " ,").split(" ")
        how = int(rng.integers(4))
        if how == 0:
            words[rng.integers(len(words))] = str(_NUMBERS[rng.integers(len(_NUMBERS))])
        elif how == 1:
            words[rng.integers(len(words))] = _WORDS[rng.integers(len(_WORDS))]
        elif how == 2:
            words *= int(rng.choice([0, 2, 30]))
        else:
            other = int(rng.integers(len(lines)))
            lines[at], lines[other] = lines[other], lines[at]
            continue
        lines[at] = " ".join(words)
    return "\n".join(lines).encode()


def _array(array: np.ndarray, rng: Rng) -> np.ndarray:
    """Of another shape, type or content."""
    how = int(rng.integers(8))
    if array.ndim == 0 and array.dtype.kind == "U":
        try:
            return np.array(_dumps(mutate_value(json.loads(str(array)), rng)))
        except ValueError:
            return np.array(_WORDS[rng.integers(len(_WORDS))])
    if how == 0:
        return array[..., None] if rng.random() < 0.5 else array.reshape(-1)
    if how == 1:
        return array[:0] if array.ndim else np.empty(0)
    if how == 2:
        return array.astype(rng.choice(["f2", "f4", "i1", "i8", "u1", "U3", "c8", "?", "S4"]))
    if how == 3 and array.size:
        out = np.array(array, np.float64 if array.dtype.kind in "fiub" else array.dtype).copy()
        out.reshape(-1)[rng.integers(out.size)] = rng.choice([np.nan, np.inf, -1, 1e300, 2**40])
        return out
    if how == 4:
        return np.array(rng.choice([0, -1, 1e18]))
    if how == 5 and array.ndim:
        return np.concatenate([array, array])
    if how == 6:
        return np.array([["x"]])
    return (
        np.moveaxis(array, 0, -1) if array.ndim > 1 else array[::-1] if array.ndim else array[None]
    )


def _npz(data: bytes, rng: Rng) -> bytes:
    import zipfile

    stream = BytesIO()
    with np.load(BytesIO(data)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name = list(arrays)[rng.integers(len(arrays))]
    how = int(rng.integers(5))
    if how == 0:
        del arrays[name]
    elif how < 4:
        arrays[name] = _array(arrays[name], rng)
    np.savez(stream, **arrays)
    if how < 4:
        return stream.getvalue()
    # A member whose header asks for more than there is.
    shape = ",".join(str(int(rng.choice([1, 7, 10**5, 10**9]))) for _ in range(rng.integers(1, 4)))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape},), }}\n".encode()
    with zipfile.ZipFile(stream, "w") as out:
        for key, array in arrays.items():
            part = BytesIO()
            np.save(part, array)
            body = part.getvalue()
            if key == name:
                body = b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + b"\0" * 16
            out.writestr(f"{key}.npy", body)
    return stream.getvalue()


def _npy(data: bytes, rng: Rng) -> bytes:
    stream = BytesIO()
    np.save(stream, _array(np.load(BytesIO(data)), rng))
    return stream.getvalue()


def _glb(data: bytes, rng: Rng) -> bytes:
    size = struct.unpack_from("<I", data, 12)[0]
    text = _json(data[20 : 20 + size], rng)
    text += b" " * (-len(text) % 4)
    rest = data[20 + size :]
    head = struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text) + len(rest), len(text), b"JSON")
    return head + text + rest


def _safetensors(data: bytes, rng: Rng) -> bytes:
    """The header, or the metadata inside it, which is JSON in JSON."""
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + size])
    if rng.random() < 0.8:
        inner = json.loads(header["__metadata__"]["kin4d"])
        header["__metadata__"]["kin4d"] = _dumps(mutate_value(inner, rng))
        text = json.dumps(header).encode()
    else:
        text = _dumps(mutate_value(header, rng)).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def _hdf5(data: bytes, rng: Rng) -> bytes:
    import h5py

    stream = BytesIO(data)
    with h5py.File(stream, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        one: Any = file[names[rng.integers(len(names))]]
        parent, key = one.parent, str(one.name).rpartition("/")[2]
        how = int(rng.integers(5))
        if isinstance(one, h5py.Group):
            if how < 2:
                del parent[key]
                if how:
                    parent[key] = 3.0
            for owner in (one, file["data"]) if how >= 2 else ():
                for name in list(owner.attrs):
                    try:
                        value = _dumps(mutate_value(json.loads(str(owner.attrs[name])), rng))
                    except (ValueError, TypeError):
                        value = _WORDS[rng.integers(len(_WORDS))].replace("\0", "")
                    owner.attrs[name] = value[:60_000] if rng.random() < 0.9 else 3
        else:
            values = one[()]
            del parent[key]
            if how == 0:
                parent.create_dataset(
                    key, (10**6, 10**6), "f8", chunks=(64, 64), compression="gzip"
                )
            elif how == 1:
                parent.create_group(key)
            elif how < 4:
                array = _array(values, rng)
                parent[key] = array.astype("S") if array.dtype.kind == "U" else array
    return stream.getvalue()


def _parquet(data: bytes, rng: Rng) -> bytes:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    table = parquet.read_table(BytesIO(data))
    at = int(rng.integers(table.num_columns))
    name, cells = table.column_names[at], table.column(at).to_pylist()
    how = int(rng.integers(6))
    if how == 0:
        table = table.remove_column(at)
    elif how == 1:
        table = table.slice(0, int(rng.integers(table.num_rows)))
    else:
        odd: Any = [None] * len(cells)
        if how == 2:
            cells[rng.integers(len(cells))] = None
            odd = cells
        elif how == 3:
            odd = [_WORDS[rng.integers(len(_WORDS))] for _ in cells]
        elif how == 4:
            odd = [float(rng.choice([np.nan, np.inf, -1, 1e300, 2**40])) for _ in cells]
        elif how == 5:
            odd = [[1.0] * int(rng.integers(4)) for _ in cells]
        table = table.set_column(at, name, arrow.array(odd))
    stream = BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


def _tfrecord(data: bytes, rng: Rng) -> bytes:
    from kin4d.benchmarks.reliability.valid_files import tfrecord

    size = struct.unpack_from("<Q", data)[0]
    return tfrecord([mutate_bytes(data[12 : 12 + size], rng)])


STRUCTURE: Mapping[str, Callable[[bytes, Rng], bytes]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".gltf": _json,
    ".glb": _glb,
    ".urdf": _xml,
    ".srdf": _xml,
    ".xml": _xml,
    ".dae": _xml,
    ".npz": _npz,
    ".npy": _npy,
    ".safetensors": _safetensors,
    ".hdf5": _hdf5,
    ".parquet": _parquet,
    ".tfrecord": _tfrecord,
    ".obj": _text,
    ".off": _text,
    ".mtl": _text,
    ".csv": _text,
    ".txt": _text,
}
"""By suffix: the bytes of a file to those of a damaged one."""
