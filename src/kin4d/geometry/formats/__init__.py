"""Mesh files and what they refer to, format by format; `kin4d.geometry.mesh_io` is the door."""
