"""Mesh files and their assets, format by format; `kin4d.geometry.io.mesh_file` is the entry."""
