"""Scenes in files: YAML or JSON, and MJCF."""
