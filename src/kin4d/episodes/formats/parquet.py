"""Parquet tables read, with their size checked first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kin4d.extras import require
from kin4d.files import existing_file
from kin4d.reading import Budget, reading


def read_table(path: Path, *, episode: int | None = None, extra: str = "episodes") -> Any:
    """A parquet file as a pyarrow table: all of it, or the rows of one episode."""
    parquet = require("pyarrow.parquet", extra=extra, purpose="reading parquet tables")
    filters = None if episode is None else [("episode_index", "=", episode)]
    path = existing_file(path)
    with reading(path, "parquet file"):
        budget = Budget(path)
        with parquet.ParquetFile(path) as file:
            for group in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(group)
                for column in range(rows.num_columns):
                    chunk = rows.column(column)
                    # Equal values take no room in the file: each counts as a number as well.
                    size = max(chunk.total_uncompressed_size, 8 * chunk.num_values)
                    budget.spend(size, f"column '{chunk.path_in_schema}'")
        return parquet.read_table(path, filters=filters)
